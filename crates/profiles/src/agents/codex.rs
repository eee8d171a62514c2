//! Codex.

use super::{captured, measured};
use crate::types::{
    ConfigFile, ConfigFormat, Fact, Header, Marker, NameLimit, NameLimitEffect, Naming, Profile, Root,
    StandingKind,
};

pub(crate) const CODEX: Profile = Profile {
    id: "codex",
    name: "Codex",
    naming: Some(measured(Naming {
        prefix: "mcp__",
        separator: "__",
        kept: "_-",
        lowercase_label: false,
        label_max: None,
        namespace: true,
        exclusive: true,
    })),
    name_limit: Some(Fact {
        value: NameLimit { chars: 64, bare: false, beyond: NameLimitEffect::Shortened },
        date: "2026-04",
        source: "https://github.com/openai/codex codex-rs/codex-mcp/src/mcp_tool_names.rs",
    }),
    description_cut: None,
    instructions_cut: None,
    builtin_tools: None,
    system_hints: &[captured("You are Codex,"), measured("You are a coding agent running in the Codex CLI")],
    headers: &[
        measured(Header { name: "thread-id", starts_with: "" }),
        measured(Header { name: "user-agent", starts_with: "codex_" }),
        measured(Header { name: "originator", starts_with: "codex_" }),
    ],
    standing: &[
        Fact {
            value: Marker {
                open: "# AGENTS.md instructions for ",
                close: Some("</INSTRUCTIONS>"),
                kinds: &[],
                otherwise: StandingKind::MemoryFile,
            },
            date: "2026-04",
            source: "https://github.com/openai/codex codex-rs/core/src/context/user_instructions.rs",
        },
        Fact {
            value: Marker {
                open: "<user_instructions>",
                close: Some("</user_instructions>"),
                kinds: &[],
                otherwise: StandingKind::MemoryFile,
            },
            date: "2025-10",
            source: "the form before `# AGENTS.md instructions for`, in public transcripts",
        },
        Fact {
            value: Marker {
                open: "<environment_context>",
                close: Some("</environment_context>"),
                kinds: &[],
                otherwise: StandingKind::Environment,
            },
            date: "2026-04",
            source: "https://github.com/openai/codex codex-rs/core/src/context/environment_context.rs",
        },
    ],
    sections: &[],
    defers: None,
    paging: None,
    list_changed: Some(measured(false)),
    client_names: &[measured("codex-mcp-client")],
    placeholder: None,
    leave_out: None,
    configs: &[Fact {
        value: ConfigFile {
            root: Root::Home,
            path: ".codex/config.toml",
            format: ConfigFormat::Toml,
            key: "mcp_servers",
        },
        date: "2026-11",
        source: "https://developers.openai.com/codex/mcp",
    }],
    memory_files: &["AGENTS.md", "AGENTS.override.md"],
};
