//! What is pinned of each lever: whether it is on where nobody says anything, and what one that is off waits for.

/// What is pinned of one lever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// Whether it is on by default.
    pub on: bool,
    /// What must be shown before it is. Empty for those that are.
    pub gate: &'static str,
}

/// The test that holds [`KNOWN`] against the levers.
pub const PINNED_BY: &str = "deadweight-scorecard::sessions pins::defaults_are_pinned";

const fn on(name: &'static str) -> Known {
    Known { name, on: true, gate: "" }
}

const fn off(name: &'static str, gate: &'static str) -> Known {
    Known { name, on: false, gate }
}

/// All that is pinned.
pub const KNOWN: &[Known] = &[
    on("passthrough"),
    on("prune-tools"),
    off(
        "defer-tools",
        "the agents that use it show what the provider's search answers, and models find tools with it as surely as in a list",
    ),
    on("steady-prefix"),
    off(
        "server-edit",
        "what it clears can be had back, or whole sessions show that it pays for its cache writes",
    ),
    off("recover-bound", "whole sessions show that what a model thought and no longer has is not missed"),
    on("dedup"),
    on("elide-results"),
    on("compact-history"),
    on("place-breakpoints"),
];

/// What is pinned of a lever.
#[must_use]
pub fn of(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}
