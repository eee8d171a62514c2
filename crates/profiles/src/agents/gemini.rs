//! gemini-cli, and qwen-code which grew out of it.

use super::{announced, captured, measured};
use crate::types::{
    ConfigFile, ConfigFormat, Fact, Header, LeaveOut, Marker, NameLimit, NameLimitEffect, Naming, Paging,
    Placeholder, Profile, Root, StandingKind,
};

const DOCUMENTS: &str = "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md";

pub(crate) const GEMINI_CLI: Profile = Profile {
    id: "gemini-cli",
    name: "gemini-cli",
    naming: Some(measured(Naming {
        prefix: "mcp_",
        separator: "_",
        kept: "_-.",
        lowercase_label: false,
        label_max: None,
        namespace: false,
        exclusive: true,
    })),
    name_limit: Some(Fact {
        value: NameLimit { chars: 63, bare: false, beyond: NameLimitEffect::Shortened },
        date: "2026-03",
        source: "https://github.com/google-gemini/gemini-cli packages/core/src/tools/mcp-tool.ts",
    }),
    description_cut: None,
    instructions_cut: None,
    builtin_tools: None,
    system_hints: &[
        measured("You are a non-interactive CLI agent specializing in software engineering tasks"),
        captured("You are Gemini CLI"),
    ],
    headers: &[measured(Header { name: "user-agent", starts_with: "GeminiCLI" })],
    standing: &[
        measured(Marker {
            open: "<session_context>",
            close: Some("</session_context>"),
            kinds: &[],
            otherwise: StandingKind::Environment,
        }),
        Fact {
            value: Marker {
                open: "This is the Gemini CLI. We are setting up the context for our chat.",
                close: None,
                kinds: &[],
                otherwise: StandingKind::Environment,
            },
            date: "2025-12",
            source: "the form before `<session_context>`, in public transcripts",
        },
    ],
    sections: &[],
    defers: Some(measured(false)),
    paging: Some(measured(Paging::UpTo(1))),
    list_changed: Some(measured(true)),
    client_names: &[measured("gemini-cli-mcp-client")],
    placeholder: Some(Fact {
        // It speaks to Gemini alone, some versions of which refuse an object whose `properties` are empty.
        value: Placeholder { schema: r#"{"type":"object","additionalProperties":true}"#, envelope: None },
        date: "2026-11",
        source: "issue threads on Gemini's function declarations",
    }),
    leave_out: Some(Fact {
        value: LeaveOut::Names { file: "~/.gemini/settings.json", members: &["tools", "exclude"] },
        date: "2026-11",
        source: "https://geminicli.com/docs/reference/configuration",
    }),
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: ".gemini/settings.json",
                format: ConfigFormat::Jsonc,
                key: "mcpServers",
            },
            date: "2026-11",
            source: DOCUMENTS,
        },
        Fact {
            value: ConfigFile {
                root: Root::Home,
                path: ".gemini/settings.json",
                format: ConfigFormat::Jsonc,
                key: "mcpServers",
            },
            date: "2026-11",
            source: DOCUMENTS,
        },
    ],
    memory_files: &["GEMINI.md"],
};

pub(crate) const QWEN_CODE: Profile = Profile {
    id: "qwen-code",
    name: "qwen-code",
    naming: Some(measured(Naming {
        prefix: "mcp__",
        separator: "__",
        kept: "_-.",
        lowercase_label: false,
        label_max: None,
        namespace: false,
        exclusive: true,
    })),
    name_limit: None,
    description_cut: None,
    instructions_cut: None,
    builtin_tools: None,
    system_hints: &[measured("You are Qwen Code")],
    headers: &[measured(Header { name: "user-agent", starts_with: "QwenCode/" })],
    standing: &[
        measured(Marker {
            open: "<system-reminder>",
            close: Some("</system-reminder>"),
            kinds: &[
                ("The following skills are available for use with the Skill tool", StandingKind::Skills),
                ("reachable through `tool_search` and `tool_call`", StandingKind::ToolNames),
                ("supplied by the MCP server", StandingKind::ServerInstructions),
                (
                    "This is the Qwen Code. We are setting up the context for our chat.",
                    StandingKind::Environment,
                ),
                ("The current date is:", StandingKind::Environment),
            ],
            otherwise: StandingKind::Reminder,
        }),
        Fact {
            value: Marker {
                open: "This is the Qwen Code. We are setting up the context for our chat.",
                close: None,
                kinds: &[],
                otherwise: StandingKind::Environment,
            },
            date: "2026-04",
            source: "https://github.com/QwenLM/qwen-code packages/core/src/utils/environmentContext.ts",
        },
    ],
    sections: &[],
    defers: Some(measured(true)),
    paging: None,
    list_changed: Some(measured(false)),
    client_names: &[announced("qwen-c")],
    placeholder: None,
    leave_out: Some(Fact {
        value: LeaveOut::Names { file: "~/.qwen/settings.json", members: &["tools", "exclude"] },
        date: "2026-11",
        source: "https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings",
    }),
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: ".qwen/settings.json",
                format: ConfigFormat::Jsonc,
                key: "mcpServers",
            },
            date: "2026-11",
            source: "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
        },
        Fact {
            value: ConfigFile {
                root: Root::Home,
                path: ".qwen/settings.json",
                format: ConfigFormat::Jsonc,
                key: "mcpServers",
            },
            date: "2026-11",
            source: "https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp/",
        },
    ],
    memory_files: &["QWEN.md", "AGENTS.md"],
};
