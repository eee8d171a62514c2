//! Claude Code, Codex and two SDKs, straight to a scripted provider and through `deadweight run`: the provider sees the same, and
//! what is told at the end is what it billed. All clients: `cargo xtask soak gateway`.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use xtask::fixtures::Layout;
use xtask::{soak, test};

fn holds(layout: Layout) {
    layout.client().install().unwrap();
    let line = soak::gateway::one(layout, &test::deadweight().unwrap());
    assert!(line.is_ok(), "{}", line.unwrap_err());
}

#[test]
fn claude_code() {
    holds(Layout::Claude);
}

#[test]
fn codex() {
    holds(Layout::Codex);
}

#[test]
fn sdks() {
    let line = soak::gateway::sdks(&test::deadweight().unwrap());
    assert!(line.is_ok(), "{}", line.unwrap_err());
}
