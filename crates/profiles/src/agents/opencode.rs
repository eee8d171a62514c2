//! opencode.

use super::{captured, measured};
use crate::types::{
    ConfigFile, ConfigFormat, Fact, Header, LeaveOut, NameLimit, NameLimitEffect, Naming, Placeholder,
    Profile, Root,
};

pub(crate) const OPENCODE: Profile = Profile {
    id: "opencode",
    name: "opencode",
    naming: Some(measured(Naming {
        prefix: "",
        separator: "_",
        kept: "_-",
        lowercase_label: false,
        label_max: None,
        namespace: false,
        exclusive: false,
    })),
    name_limit: Some(Fact {
        value: NameLimit { chars: 64, bare: false, beyond: NameLimitEffect::Refused },
        date: "2026-11",
        source: "it forms `label_name` without a bound (packages/opencode/src/mcp/index.ts); OpenAI-style providers refuse more than 64",
    }),
    description_cut: None,
    instructions_cut: None,
    builtin_tools: Some(Fact {
        value: &[
            "apply_patch",
            "bash",
            "batch",
            "codesearch",
            "edit",
            "glob",
            "grep",
            "invalid",
            "list",
            "lsp",
            "multiedit",
            "patch",
            "plan_enter",
            "plan_exit",
            "question",
            "read",
            "skill",
            "task",
            "todoread",
            "todowrite",
            "webfetch",
            "websearch",
            "write",
        ],
        date: "2026-11",
        source: "https://opencode.ai/docs/tools and the tools of 1.18 on the wire",
    }),
    system_hints: &[captured("You are opencode"), captured("You are OpenCode")],
    headers: &[
        measured(Header { name: "user-agent", starts_with: "opencode/" }),
        measured(Header { name: "x-session-id", starts_with: "" }),
    ],
    standing: &[],
    sections: &[],
    defers: Some(measured(false)),
    paging: None,
    list_changed: Some(measured(true)),
    client_names: &[measured("opencode")],
    placeholder: Some(Fact {
        // It closes every schema of a server's tool (`additionalProperties: false`), open ones too, so that one without
        // properties would say that there are no arguments.
        value: Placeholder {
            schema: r#"{"type":"object","properties":{"arguments":{"type":"object","properties":{},"additionalProperties":true}}}"#,
            envelope: Some("arguments"),
        },
        date: "2026-11-30",
        source: "the code of opencode 1.18.33, where it makes its own tools of a server's",
    }),
    leave_out: Some(Fact {
        value: LeaveOut::Members {
            file: "~/.config/opencode/opencode.json",
            members: &["permission"],
            value: "\"deny\"",
        },
        date: "2026-11",
        source: "https://opencode.ai/docs/tools",
    }),
    configs: &[
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: "opencode.json",
                format: ConfigFormat::Jsonc,
                key: "mcp",
            },
            date: "2026-11",
            source: "https://opencode.ai/docs/config",
        },
        Fact {
            value: ConfigFile {
                root: Root::Project,
                path: "opencode.jsonc",
                format: ConfigFormat::Jsonc,
                key: "mcp",
            },
            date: "2026-11",
            source: "https://opencode.ai/docs/config",
        },
        Fact {
            value: ConfigFile {
                root: Root::XdgConfig,
                path: "opencode/opencode.json",
                format: ConfigFormat::Jsonc,
                key: "mcp",
            },
            date: "2026-11",
            source: "https://opencode.ai/docs/config",
        },
    ],
    memory_files: &["AGENTS.md", "CLAUDE.md"],
};
