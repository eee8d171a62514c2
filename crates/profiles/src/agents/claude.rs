//! Claude Code and Claude Desktop.

use super::{announced, captured, measured};
use crate::types::{
    ConfigFile, ConfigFormat, Fact, Header, LeaveOut, Marker, NameLimit, NameLimitEffect, Naming, Paging,
    Profile, Root, StandingKind,
};

const DOCUMENTS: &str = "https://code.claude.com/docs/en/mcp";

pub(crate) const CLAUDE_CODE: Profile = Profile {
    id: "claude-code",
    name: "Claude Code",
    naming: Some(measured(Naming {
        prefix: "mcp__",
        separator: "__",
        kept: "_-",
        lowercase_label: false,
        label_max: None,
        namespace: false,
        exclusive: true,
    })),
    name_limit: Some(Fact {
        value: NameLimit { chars: 64, bare: false, beyond: NameLimitEffect::Refused },
        date: "2026-05",
        source: "https://github.com/anthropics/claude-code/issues/19882",
    }),
    description_cut: Some(measured(2_048)),
    instructions_cut: Some(measured(2_048)),
    builtin_tools: None,
    system_hints: &[
        measured("x-anthropic-billing-header: cc_version="),
        measured("You are a Claude agent, built on Anthropic's Claude Agent SDK"),
        captured("You are Claude Code, Anthropic's official CLI for Claude"),
    ],
    headers: &[
        measured(Header { name: "x-claude-code-session-id", starts_with: "" }),
        measured(Header { name: "user-agent", starts_with: "claude-cli/" }),
    ],
    standing: &[
        measured(Marker {
            open: "<system-reminder>",
            close: Some("</system-reminder>"),
            kinds: &[
                ("The following deferred tools are now available via ToolSearch", StandingKind::ToolNames),
                ("The following skills are available for use with the Skill tool", StandingKind::Skills),
                ("# MCP Server Instructions", StandingKind::ServerInstructions),
                ("# claudeMd", StandingKind::MemoryFile),
                ("Codebase and user instructions are shown below", StandingKind::MemoryFile),
                (
                    "As you answer the user's questions, you can use the following context",
                    StandingKind::Environment,
                ),
            ],
            otherwise: StandingKind::Reminder,
        }),
        Fact {
            value: Marker {
                open: "<available-deferred-tools>",
                close: Some("</available-deferred-tools>"),
                kinds: &[],
                otherwise: StandingKind::ToolNames,
            },
            date: "2026-03",
            source: "requests of Claude Code 2.1.31 in public captures",
        },
    ],
    sections: &[
        measured(("# Environment", StandingKind::Environment)),
        measured(("The following deferred tools are now available via ToolSearch", StandingKind::ToolNames)),
        measured(("Available agent types for the Agent tool", StandingKind::Agents)),
        measured(("# MCP Server Instructions", StandingKind::ServerInstructions)),
        measured(("The following skills are available for use with the Skill tool", StandingKind::Skills)),
        measured(("Today's date is ", StandingKind::Environment)),
    ],
    defers: Some(measured(true)),
    paging: Some(measured(Paging::UpTo(20))),
    list_changed: Some(measured(true)),
    client_names: &[measured("claude-code")],
    placeholder: None,
    leave_out: Some(Fact {
        value: LeaveOut::Names { file: "~/.claude/settings.json", members: &["permissions", "deny"] },
        date: "2026-11",
        source: "https://code.claude.com/docs/en/settings",
    }),
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: ".mcp.json",
                format: ConfigFormat::Json,
                key: "mcpServers",
            },
            date: "2026-11",
            source: DOCUMENTS,
        },
        Fact {
            value: ConfigFile {
                root: Root::Home,
                path: ".claude.json",
                format: ConfigFormat::Json,
                key: "mcpServers",
            },
            date: "2026-11",
            source: DOCUMENTS,
        },
    ],
    memory_files: &["CLAUDE.md", "CLAUDE.local.md"],
};

pub(crate) const CLAUDE_DESKTOP: Profile = Profile {
    id: "claude-desktop",
    name: "Claude Desktop",
    naming: None,
    name_limit: None,
    description_cut: None,
    instructions_cut: None,
    builtin_tools: None,
    system_hints: &[],
    headers: &[],
    standing: &[],
    sections: &[],
    defers: None,
    paging: None,
    list_changed: None,
    client_names: &[announced("claude-ai")],
    placeholder: None,
    leave_out: None,
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::MacApplicationSupport,
                path: "Claude/claude_desktop_config.json",
                format: ConfigFormat::Json,
                key: "mcpServers",
            },
            date: "2026-11",
            source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        },
        Fact {
            value: ConfigFile {
                root: Root::WindowsAppData,
                path: "Claude/claude_desktop_config.json",
                format: ConfigFormat::Json,
                key: "mcpServers",
            },
            date: "2026-11",
            source: "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        },
    ],
    memory_files: &[],
};
