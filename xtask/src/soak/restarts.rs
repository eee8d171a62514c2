//! A thousand reconnects, restarts of servers and of proxies: the tests of the lists, longer than a test may take.

use crate::Result;
use crate::shell::{self, cargo};

pub(super) fn run() -> Result {
    let mut test = cargo();
    test.args(["test", "--release", "--locked", "--package", "deadweight-cli", "--test", "proxy", "lists"]);
    // A thousand connections on each of two surfaces.
    shell::run(test.env("DEADWEIGHT_RECONNECTS", "1000"))
}
