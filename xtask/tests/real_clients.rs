//! Claude Code, Codex and two SDKs, straight to a scripted provider and through `deadweight run`, cut off from the network:
//! the provider sees the same, and what is told at the end is what it billed. All clients: `cargo xtask soak gateway`.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::process::Command;
use xtask::soak::gateway::TESTED;
use xtask::test;

fn holds(which: &[&str]) {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_xtask"));
    soak.args(["soak", "gateway"]).args(which).env("DEADWEIGHT_BIN", test::deadweight().unwrap());
    let output = soak.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(!output.stdout.is_empty(), "nothing was tried: {told}");
}

#[test]
fn clients() {
    for layout in TESTED {
        holds(&["--client", &layout.name()]);
    }
}

#[test]
fn sdks() {
    holds(&["--sdks"]);
}
