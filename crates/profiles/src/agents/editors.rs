//! Agents that live in an editor.

use super::announced;
use crate::types::{ConfigFile, ConfigFormat, Fact, NameLimit, NameLimitEffect, Naming, Profile, Root};

pub(crate) const CURSOR: Profile = Profile {
    id: "cursor",
    name: "Cursor",
    naming: None,
    name_limit: Some(Fact {
        // A label of 1 and a name of 59 characters was hidden, as 60 in all.
        value: NameLimit { chars: 59, bare: true, beyond: NameLimitEffect::Hidden },
        date: "2026-02-27",
        source: "https://github.com/ComposioHQ/composio/issues/2788",
    }),
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
    client_names: &[announced("cursor")],
    placeholder: None,
    leave_out: None,
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: ".cursor/mcp.json",
                format: ConfigFormat::Json,
                key: "mcpServers",
            },
            date: "2026-11",
            source: "https://cursor.com/docs/context/mcp",
        },
        Fact {
            value: ConfigFile {
                root: Root::Home,
                path: ".cursor/mcp.json",
                format: ConfigFormat::Json,
                key: "mcpServers",
            },
            date: "2026-11",
            source: "https://cursor.com/docs/context/mcp",
        },
    ],
    memory_files: &["AGENTS.md", ".cursorrules"],
};

const VSCODE_TYPES: &str =
    "https://github.com/microsoft/vscode src/vs/workbench/contrib/mcp/common/mcpTypes.ts";
const VSCODE_DOCUMENTS: &str = "https://code.visualstudio.com/docs/copilot/chat/mcp-servers";

pub(crate) const VSCODE: Profile = Profile {
    id: "vscode",
    name: "VS Code",
    naming: Some(Fact {
        value: Naming {
            prefix: "mcp_",
            separator: "_",
            kept: "_-.",
            lowercase_label: true,
            label_max: Some(13),
            namespace: false,
            exclusive: true,
        },
        date: "2026-07",
        source: VSCODE_TYPES,
    }),
    name_limit: Some(Fact {
        value: NameLimit { chars: 64, bare: false, beyond: NameLimitEffect::Shortened },
        date: "2026-07",
        source: VSCODE_TYPES,
    }),
    description_cut: None,
    instructions_cut: None,
    builtin_tools: None,
    system_hints: &[Fact {
        value: "You are an expert AI programming assistant, working with a user in the VS Code editor",
        date: "2026-07",
        source: "https://github.com/microsoft/vscode-copilot-chat src/extension/prompts",
    }],
    headers: &[],
    standing: &[],
    sections: &[],
    defers: None,
    paging: None,
    list_changed: None,
    client_names: &[announced("visual studio code")],
    placeholder: None,
    leave_out: None,
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: ".vscode/mcp.json",
                format: ConfigFormat::Jsonc,
                key: "servers",
            },
            date: "2026-11",
            source: VSCODE_DOCUMENTS,
        },
        Fact {
            value: ConfigFile {
                root: Root::XdgConfig,
                path: "Code/User/mcp.json",
                format: ConfigFormat::Jsonc,
                key: "servers",
            },
            date: "2026-11",
            source: VSCODE_DOCUMENTS,
        },
        Fact {
            value: ConfigFile {
                root: Root::MacApplicationSupport,
                path: "Code/User/mcp.json",
                format: ConfigFormat::Jsonc,
                key: "servers",
            },
            date: "2026-11",
            source: VSCODE_DOCUMENTS,
        },
        Fact {
            value: ConfigFile {
                root: Root::WindowsAppData,
                path: "Code/User/mcp.json",
                format: ConfigFormat::Jsonc,
                key: "servers",
            },
            date: "2026-11",
            source: VSCODE_DOCUMENTS,
        },
    ],
    memory_files: &[".github/copilot-instructions.md", "AGENTS.md"],
};

pub(crate) const WINDSURF: Profile = Profile {
    id: "windsurf",
    name: "Windsurf",
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
    client_names: &[announced("windsurf")],
    placeholder: None,
    leave_out: None,
    configs: &[Fact {
        value: ConfigFile {
            root: Root::Home,
            path: ".codeium/windsurf/mcp_config.json",
            format: ConfigFormat::Json,
            key: "mcpServers",
        },
        date: "2026-11",
        source: "https://docs.windsurf.com/windsurf/cascade/mcp",
    }],
    memory_files: &["AGENTS.md", ".windsurfrules"],
};
