//! How the histories begin that agents go on with after they have compacted one.

/// The beginning of such a summary, in one agent's words.
pub(crate) struct Opening {
    /// The agents that write it.
    #[allow(dead_code, reason = "the table is also documentation")]
    pub(crate) agents: &'static str,
    /// What the text begins with, white space before it aside.
    pub(crate) begins: &'static str,
    /// When this was so, and where it is said.
    #[allow(dead_code, reason = "the table is also documentation")]
    pub(crate) source: (&'static str, &'static str),
}

/// What is known. A client that is not in here is recognised by what it keeps of the old history.
pub(crate) const OPENINGS: &[Opening] = &[
    Opening {
        agents: "claude-code",
        begins: "This session is being continued from a previous conversation",
        source: ("2026-11", "public transcripts and readers of Claude Code's transcript files"),
    },
    Opening {
        agents: "codex",
        begins: "Another language model started to solve this problem and produced a summary",
        source: ("2026-11", "openai/codex, templates/compact/summary_prefix.md"),
    },
    Opening {
        agents: "gemini-cli, qwen-code",
        begins: "<state_snapshot>",
        source: ("2026-11", "google-gemini/gemini-cli, packages/core, the prompts of its compression"),
    },
    Opening {
        agents: "opencode",
        begins: "What did we do so far?",
        source: ("2026-11", "opencode's message builder, as other clients of its sessions repeat it"),
    },
    Opening {
        agents: "aider",
        begins: "I spoke to you previously about a number of things.",
        source: ("2026-11", "Aider-AI/aider, aider/prompts.py, summary_prefix"),
    },
];

/// Whether a text is the beginning of a compacted history.
pub(crate) fn opens(text: &str) -> bool {
    let text = text.trim_start();
    OPENINGS.iter().any(|opening| text.starts_with(opening.begins))
}
