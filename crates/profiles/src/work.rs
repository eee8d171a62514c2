//! What agents' tools do to files, which of their results stay in use, and the words with which agents ask for a summary.

use crate::Fact;

/// Names of tools that read one file.
pub const READS: Fact<&[&str]> = Fact {
    value: &["Read", "read", "read_file", "ReadFile", "view", "open_file", "cat"],
    date: "2026-11",
    source: "the tools that Claude Code, Codex, opencode, gemini-cli and qwen-code send, measured; editors' documentation",
};

/// Names of tools that change one file.
pub const CHANGES: Fact<&[&str]> = Fact {
    value: &[
        "Edit",
        "MultiEdit",
        "Write",
        "NotebookEdit",
        "edit",
        "multiedit",
        "write",
        "edit_file",
        "write_file",
        "replace",
        "str_replace",
        "create_file",
        "search_replace",
        "patch",
    ],
    date: "2026-11",
    source: READS.source,
};

/// Members in which those tools name the file.
pub const PATHS: Fact<&[&str]> = Fact {
    value: &["file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "filename"],
    date: "2026-11",
    source: READS.source,
};

/// Members by which those tools read a part of a file.
pub const PARTS: Fact<&[&str]> = Fact {
    value: &["offset", "limit", "start_line", "end_line", "line_range", "view_range", "pages", "range"],
    date: "2026-11",
    source: READS.source,
};

/// Tools whose results are worked by for as long as the conversation lasts: skills that were loaded, plans that were
/// agreed on.
pub const KEEPS: Fact<&[&str]> = Fact {
    value: &["Skill", "skill", "ExitPlanMode", "exit_plan_mode", "activate_skill", "load_skill"],
    date: "2026-11",
    source: "the tools that Claude Code, opencode and gemini-cli send, measured; opencode keeps `skill` from its own pruning",
};

/// What stands in the last message of a request by which an agent has its history summed up.
pub const SUMMARY_REQUESTS: &[Fact<&str>] = &[
    Fact {
        value: "Your task is to create a detailed summary of",
        date: "2026-11",
        source: "Claude Code, in public transcripts and in programs that recognise its compaction",
    },
    Fact {
        value: "CONTEXT CHECKPOINT COMPACTION",
        date: "2026-11",
        source: "openai/codex, core/templates/compact/prompt.md",
    },
    Fact {
        value: "Provide a detailed prompt for continuing our conversation above",
        date: "2026-11",
        source: "opencode, packages/opencode/src/session/compaction.ts",
    },
    Fact {
        value: "generate the <state_snapshot>",
        date: "2026-11",
        source: "google-gemini/gemini-cli, packages/core, chatCompressionService",
    },
    Fact {
        value: "*Briefly* summarize this partial conversation about programming",
        date: "2026-11",
        source: "Aider-AI/aider, aider/prompts.py",
    },
];
