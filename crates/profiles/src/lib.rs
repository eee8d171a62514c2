//! What is known of each agent, dated and sourced. Data only.
//!
//! Agents change. Each fact says when it was true and who says so; where nothing is known the field is `None`, and
//! whoever reads it must not guess. There is no logic here beyond looking a profile up by its id.

mod agents;
pub mod memory;
pub mod models;
mod types;
pub mod work;

pub use types::{
    ConfigFile, ConfigFormat, Fact, Header, LeaveOut, Marker, NameLimit, NameLimitEffect, Naming, Paging,
    Placeholder, Profile, Root, StandingKind,
};

/// Every profile, the most common agents first.
pub const ALL: &[&Profile] = &[
    &agents::claude::CLAUDE_CODE,
    &agents::codex::CODEX,
    &agents::opencode::OPENCODE,
    &agents::gemini::GEMINI_CLI,
    &agents::gemini::QWEN_CODE,
    &agents::editors::CURSOR,
    &agents::editors::VSCODE,
    &agents::editors::WINDSURF,
    &agents::claude::CLAUDE_DESKTOP,
    &agents::aider::AIDER,
];

/// The profile with this id (`claude-code`, `codex`, …).
pub fn by_id(id: &str) -> Option<&'static Profile> {
    ALL.iter().copied().find(|profile| profile.id == id)
}

/// The request headers in which agents name their sessions, the most telling first. A sub-agent and the request that
/// asks for a title send the same one as the session they belong to.
pub const SESSION_HEADERS: &[Fact<&str>] = &[
    seen("x-claude-code-session-id", "measured: Claude Code 2.1.332"),
    seen("session-id", "measured: Codex 0.171"),
    seen("session_id", "Codex before 0.100, in public issue threads"),
    seen("x-session-id", "measured: opencode 1.18"),
    seen("thread-id", "measured: Codex 0.171"),
    seen("conversation_id", "Codex before 0.100, in public issue threads"),
];

/// Agents' own tools by which they do their work, in lower case: reading, writing, searching, running, and finding other tools.
/// That a session has not called one of them says nothing about the next session.
pub const WORKING_TOOLS: Fact<&[&str]> = Fact {
    value: &[
        "agent",
        "apply_patch",
        "bash",
        "bashoutput",
        "edit",
        "exec_command",
        "glob",
        "grep",
        "list",
        "list_directory",
        "multiedit",
        "patch",
        "read",
        "read_file",
        "replace",
        "run_shell_command",
        "search_file_content",
        "shell",
        "task",
        "todowrite",
        "tool_search",
        "toolsearch",
        "update_plan",
        "write",
        "write_file",
        "write_stdin",
    ],
    date: "2026-11",
    source: "the tools that Claude Code, Codex, opencode and gemini-cli send, measured",
};

/// Names that agents put into `tools` for what they have not loaded: entries that nobody calls and nobody can leave out.
pub const CLIENT_STUBS: Fact<&[&str]> = Fact {
    value: &["DeferredToolPlaceholder"],
    date: "2026-11",
    source: "requests of Claude Code with its own tool search on",
};

/// The agent whose own tool search a variable switches, by its id; that variable, and the values that switch it off.
pub const TOOL_SEARCH: Fact<(&str, &str, &[&str])> = Fact {
    value: ("claude-code", "ENABLE_TOOL_SEARCH", &["false", "0", "no", "off"]),
    date: "2026-11",
    source: "https://code.claude.com/docs/en/mcp#scale-with-mcp-tool-search",
};

const fn seen(value: &'static str, source: &'static str) -> Fact<&'static str> {
    Fact { value, date: "2026-11", source }
}

/// The input schema that a tool without its schema is shown with to an agent of which nothing else is known. Anthropic
/// wants an object without combinators, OpenAI's validators want `properties`, and libraries that close a schema which
/// does not say whether it is open leave this one as it is.
pub const PLACEHOLDER: Fact<Placeholder> = Fact {
    value: Placeholder {
        schema: r#"{"type":"object","properties":{},"additionalProperties":true}"#,
        envelope: None,
    },
    date: "2026-11",
    source: "the providers' documented tool formats, and what the AI SDK does to schemas",
};

/// The profile of the agent that calls itself `name` in `clientInfo`: of all names known, the longest that `name` begins
/// with, whatever the case.
pub fn by_client_name(name: &str) -> Option<&'static Profile> {
    let name = name.to_lowercase();
    let known =
        ALL.iter().flat_map(|profile| profile.client_names.iter().map(move |fact| (*profile, fact.value)));
    known
        .filter(|(_, known)| name.starts_with(known))
        .max_by_key(|(_, known)| known.len())
        .map(|(profile, _)| profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_the_name_it_gives() {
        let id = |name| by_client_name(name).map(|profile| profile.id);
        assert_eq!(id("claude-code"), Some("claude-code"));
        assert_eq!(id("claude-ai"), Some("claude-desktop"));
        assert_eq!(id("gemini-cli-mcp-client-github"), Some("gemini-cli"));
        assert_eq!(id("Visual Studio Code - Insiders"), Some("vscode"));
        assert_eq!(id("claude"), None);
        assert_eq!(id(""), None);
    }

    #[test]
    fn names_of_clients_are_lower_case_and_belong_to_one_agent() {
        let mut names: Vec<_> =
            ALL.iter().flat_map(|profile| profile.client_names).map(|fact| fact.value).collect();
        assert!(names.iter().all(|name| *name == name.to_lowercase() && !name.is_empty()));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
