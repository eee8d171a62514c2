//! A thousand reconnects, restarts of servers and of proxies: the tests of the lists, longer.

use crate::shell::{self, cargo};
use crate::{Result, tools};

pub(super) fn run() -> Result {
    tools::ensure(&[tools::NEXTEST])?;
    let mut nextest = cargo();
    nextest.args(["nextest", "run", "--locked", "--package", "deadweight-cli", "--test", "proxy", "lists"]);
    // A thousand connections on each of two surfaces.
    nextest.args(["--no-capture"]).env("DEADWEIGHT_RECONNECTS", "1000");
    shell::run(&mut nextest)
}
