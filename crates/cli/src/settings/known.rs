//! Every setting of the proxy and of the gateway: where it can be written, and what it means. `docs/mcp.md` and
//! `docs/gateway.md` list the same; a test holds them together.

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Surface,
    Lazy,
    Eager,
    SchemaBudget,
    Optimistic,
    MaxResult,
    RevealOnLoad,
    Trust,
    Lock,
    Ledger,
    Model,
    Token,
    Config,
    Listen,
    Upstream,
    GatewayToken,
    HoldKeys,
    AllowHost,
    AllowOrigin,
    Drain,
    Otlp,
    KeepBodies,
    Retention,
    Profile,
    Lever,
    LeverRoute,
    Holdout,
    Decisions,
    Deny,
    Allow,
    ThinkingBound,
    EditSubscription,
    AcceptLoss,
    ElideFirstSend,
    CompactWhenFull,
    HourBreakpoints,
    LateTools,
}

/// The table of `deadweight.toml` that a setting stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// `[mcp]`
    Mcp,
    /// `[gateway]`
    Gateway,
    /// `[levers]`
    Levers,
}

/// What a project's own file may say: it comes with code from somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InProject {
    /// Anything.
    Anything,
    /// `off` only.
    Off,
    /// Nothing.
    Nothing,
}

/// One setting, and where it can be written. The first place of these that says something readable counts; pins of all
/// places count together.
#[derive(Debug)]
#[cfg_attr(not(test), allow(dead_code, reason = "the guide is held against all of it"))]
pub(super) struct Known {
    pub(super) key: Key,
    pub(super) table: Table,
    /// Its name in the table.
    pub(super) name: &'static str,
    /// The flag.
    pub(super) flag: Option<&'static str>,
    /// The variable.
    pub(super) variable: Option<&'static str>,
    pub(super) in_project: InProject,
    /// What it takes.
    pub(super) takes: &'static str,
    /// What holds where nobody says anything.
    pub(super) default: &'static str,
    /// What it means.
    pub(super) meaning: &'static str,
}

/// All of them.
pub(super) const KNOWN: [Known; 38] = [
    Known {
        key: Key::Surface,
        table: Table::Mcp,
        name: "surface",
        flag: Some("--surface"),
        variable: None,
        in_project: InProject::Anything,
        takes: "`auto`, `eager`, `stubs` or `search`",
        default: "auto",
        meaning: "how tools are listed: as they are, without schemas, or three tools of our own in their place",
    },
    Known {
        key: Key::Lazy,
        table: Table::Mcp,
        name: "lazy",
        flag: None,
        variable: Some("DEADWEIGHT_LAZY"),
        in_project: InProject::Anything,
        takes: "`0` or `1` (in a file, `false` or `true`)",
        default: "1",
        meaning: "the off-switch: exactly `0` lists every tool as it is, whatever else is set",
    },
    Known {
        key: Key::Eager,
        table: Table::Mcp,
        name: "eager",
        flag: Some("--eager"),
        variable: Some("DEADWEIGHT_EAGER"),
        in_project: InProject::Anything,
        takes: "names with commas (in a file, an array): servers, `server/tool`, tools, or `*`",
        default: "none",
        meaning: "pins: what stays as it is however large it is; those of all places count together",
    },
    Known {
        key: Key::SchemaBudget,
        table: Table::Mcp,
        name: "schema_budget",
        flag: Some("--schema-budget"),
        variable: Some("DEADWEIGHT_SCHEMA_BUDGET"),
        in_project: InProject::Anything,
        takes: "a number of bytes",
        default: "4096",
        meaning: "descriptions and schemas of a server up to this size stay as they are (the servers of one aggregate share \
                  it, the smallest first); 0 defers whatever is larger than its stub",
    },
    Known {
        key: Key::Optimistic,
        table: Table::Mcp,
        name: "optimistic",
        flag: Some("--optimistic"),
        variable: None,
        in_project: InProject::Anything,
        takes: "`all`, `declared` or `never`",
        default: "declared",
        meaning: "which valid calls run though the tool's schema was not loaded: all, those of tools that say they \
                  destroy nothing, or none",
    },
    Known {
        key: Key::MaxResult,
        table: Table::Mcp,
        name: "max_result",
        flag: Some("--max-result"),
        variable: None,
        in_project: InProject::Anything,
        takes: "a number of bytes, or 0 for no bound",
        default: "0",
        meaning: "results above this size are cut, and can be read on with `read_result`",
    },
    Known {
        key: Key::RevealOnLoad,
        table: Table::Mcp,
        name: "reveal_on_load",
        flag: Some("--reveal-on-load"),
        variable: None,
        in_project: InProject::Anything,
        takes: "`true` or `false`",
        default: "false",
        meaning: "a loaded tool's schema is put into the list too, and the client is told; this costs the prompt cache",
    },
    Known {
        key: Key::Trust,
        table: Table::Mcp,
        name: "trust",
        flag: Some("--trust"),
        variable: None,
        in_project: InProject::Anything,
        takes: "`show` or `quarantine`",
        default: "show",
        meaning: "what becomes of tools whose definition is not the one in the lock",
    },
    Known {
        key: Key::Lock,
        table: Table::Mcp,
        name: "lock",
        flag: Some("--lock"),
        variable: None,
        in_project: InProject::Anything,
        takes: "a file",
        default: "deadweight.lock, where there is one",
        meaning: "the lock whose policy (`eager`, `defer`, `deny`) and reviewed definitions count",
    },
    Known {
        key: Key::Ledger,
        table: Table::Mcp,
        name: "ledger",
        flag: Some("--ledger"),
        variable: Some("DEADWEIGHT_LEDGER"),
        in_project: InProject::Off,
        takes: "a SQLite file, or `off`",
        default: "deadweight/ledger.sqlite in the user's data folder",
        meaning: "where calls are recorded: server, tool, sizes, time and outcome, never arguments or results",
    },
    Known {
        key: Key::Model,
        table: Table::Mcp,
        name: "model",
        flag: Some("--model"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "a folder",
        default: "none",
        meaning: "a local sentence-embedding model (safetensors, BERT family) that searches ask for a second opinion; \
                  nothing is ever fetched",
    },
    Known {
        key: Key::Token,
        table: Table::Mcp,
        name: "token",
        flag: Some("--token"),
        variable: Some("DEADWEIGHT_TOKEN"),
        in_project: InProject::Nothing,
        takes: "a text",
        default: "none",
        meaning: "with `--http`: what clients must send as `Authorization: Bearer`; needed on any address but loopback",
    },
    Known {
        key: Key::Config,
        table: Table::Mcp,
        name: "config",
        flag: Some("--config"),
        variable: Some("DEADWEIGHT_CONFIG"),
        in_project: InProject::Nothing,
        takes: "an MCP config file",
        default: "none",
        meaning: "the servers, where the call names none",
    },
    Known {
        key: Key::Listen,
        table: Table::Gateway,
        name: "listen",
        flag: Some("--listen"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "an address; a port alone is one of this machine, 0 a free one",
        default: "127.0.0.1:8787",
        meaning: "where the gateway listens; other machines only with a token",
    },
    Known {
        key: Key::Upstream,
        table: Table::Gateway,
        name: "upstream",
        flag: Some("--upstream"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "`PROVIDER=URL` (in a file, a table of URLs), several times",
        default: "the providers’ own; none for bedrock and vertex",
        meaning: "where a provider is asked: https, or this machine",
    },
    Known {
        key: Key::GatewayToken,
        table: Table::Gateway,
        name: "token",
        flag: Some("--token"),
        variable: Some("DEADWEIGHT_TOKEN"),
        in_project: InProject::Nothing,
        takes: "a text",
        default: "none",
        meaning: "what clients must send as `x-deadweight-token`; needed on any address but loopback",
    },
    Known {
        key: Key::HoldKeys,
        table: Table::Gateway,
        name: "hold_keys",
        flag: Some("--hold-keys"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "the keys in `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` and `GEMINI_API_KEY` are sent in place of what clients send; clients send the token where their key would be",
    },
    Known {
        key: Key::AllowHost,
        table: Table::Gateway,
        name: "allow_host",
        flag: Some("--allow-host"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "names with commas (in a file, an array)",
        default: "none",
        meaning: "names under which the gateway may be asked, besides localhost and addresses",
    },
    Known {
        key: Key::AllowOrigin,
        table: Table::Gateway,
        name: "allow_origin",
        flag: Some("--allow-origin"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "origins with commas (in a file, an array)",
        default: "none",
        meaning: "web pages that may ask, besides those on this machine",
    },
    Known {
        key: Key::Drain,
        table: Table::Gateway,
        name: "drain",
        flag: Some("--drain"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "a number of seconds",
        default: "30",
        meaning: "how long requests that are under way may take to end when the gateway is told to stop",
    },
    Known {
        key: Key::Otlp,
        table: Table::Gateway,
        name: "otlp",
        flag: Some("--otlp"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "the base address of an OpenTelemetry collector (`http://127.0.0.1:4318`)",
        default: "none",
        meaning: "whom metrics and spans are told, over OTLP; nobody else is told anything",
    },
    Known {
        key: Key::Ledger,
        table: Table::Gateway,
        name: "ledger",
        flag: Some("--ledger"),
        variable: Some("DEADWEIGHT_LEDGER"),
        in_project: InProject::Off,
        takes: "a SQLite file, or `off`",
        default: "deadweight/ledger.sqlite in the user's data folder",
        meaning: "where requests are recorded: sizes, hashes, names, times, usage and money, no text of a prompt; the same \
                  setting as `ledger` in `[mcp]`",
    },
    Known {
        key: Key::KeepBodies,
        table: Table::Gateway,
        name: "keep_bodies",
        flag: Some("--keep-bodies"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "keeps whole bodies of requests and answers, prompts and all, in files of this user's alone beside the ledger: \
                  for 7 days, and 2 GB at most",
    },
    Known {
        key: Key::Retention,
        table: Table::Gateway,
        name: "retention",
        flag: Some("--retention"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "a number of days, or 0 for ever",
        default: "90",
        meaning: "how long `gateway` and `run` keep what the ledger has; older lines go when they start, and once an hour, counted from the last line that is a day old (so that a clock that is wrong for a day costs nothing)",
    },
    Known {
        key: Key::Profile,
        table: Table::Levers,
        name: "profile",
        flag: Some("--profile"),
        variable: Some("DEADWEIGHT_PROFILE"),
        in_project: InProject::Nothing,
        takes: "`faithful`, `default` or `lean`",
        default: "default",
        meaning: "what may be changed in requests: nothing; what loses nothing, and what is cut with a way back; the opt-ins too",
    },
    Known {
        key: Key::Lever,
        table: Table::Levers,
        name: "lever",
        flag: Some("--lever"),
        variable: Some("DEADWEIGHT_LEVERS"),
        in_project: InProject::Nothing,
        takes: "`NAME=on` or `NAME=off`, several with commas (in a file, an array)",
        default: "as the profile has it",
        meaning: "levers switched one by one, by [their names](levers.md)",
    },
    Known {
        key: Key::LeverRoute,
        table: Table::Levers,
        name: "routes",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "in a file, a table of `PROVIDER = \"PROFILE\"`, or a table of settings for each provider",
        default: "none",
        meaning: "what holds for a provider in the place of what holds for all: its `profile`, any lever by its name, and any switch below",
    },
    Known {
        key: Key::Holdout,
        table: Table::Levers,
        name: "holdout",
        flag: Some("--holdout"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "a share such as `10%`",
        default: "0%",
        meaning: "sessions that are left as they are, always the same ones, to hold the others against them; the ledger marks them `held_out`",
    },
    Known {
        key: Key::Decisions,
        table: Table::Levers,
        name: "decisions",
        flag: Some("--decisions"),
        variable: None,
        in_project: InProject::Nothing,
        takes: "`on` or `off`",
        default: "on",
        meaning: "whether decisions are written down, beside the ledger; `off`: nothing new is decided that would have to be",
    },
    Known {
        key: Key::Deny,
        table: Table::Levers,
        name: "deny",
        flag: None,
        variable: None,
        in_project: InProject::Anything,
        takes: "names with `*`, with commas (in a file, an array)",
        default: "none",
        meaning: "tools that the model is not offered; those of all places count together, and with them what `deadweight.lock` denies",
    },
    Known {
        key: Key::Allow,
        table: Table::Levers,
        name: "allow",
        flag: None,
        variable: None,
        in_project: InProject::Anything,
        takes: "names with `*`, with commas (in a file, an array)",
        default: "all",
        meaning: "when there are any, all other tools are denied",
    },
    Known {
        key: Key::ThinkingBound,
        table: Table::Levers,
        name: "thinking_bound",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "messages may be changed at their first send for models that bind their thinking to what stands before it; should the journal be lost, the provider may refuse such a conversation",
    },
    Known {
        key: Key::EditSubscription,
        table: Table::Levers,
        name: "edit_subscription",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "traffic that a subscription pays for may be changed",
    },
    Known {
        key: Key::AcceptLoss,
        table: Table::Levers,
        name: "accept_loss",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "results may be cut without a way back",
    },
    Known {
        key: Key::ElideFirstSend,
        table: Table::Levers,
        name: "elide_first_send",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "large results may be cut when they are sent for the first time",
    },
    Known {
        key: Key::CompactWhenFull,
        table: Table::Levers,
        name: "compact_when_full",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "a history may be compacted while it is cached: when the model's window is nearly full, and only if that pays for itself soon; the record says after how many requests",
    },
    Known {
        key: Key::HourBreakpoints,
        table: Table::Levers,
        name: "hour_breakpoints",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "breakpoints that are placed for a client may be for an hour and not for five minutes, from when a conversation's pauses have shown that this pays",
    },
    Known {
        key: Key::LateTools,
        table: Table::Levers,
        name: "late_tools",
        flag: None,
        variable: None,
        in_project: InProject::Nothing,
        takes: "`true` or `false`",
        default: "false",
        meaning: "your account has the beta for tools that change in mid-conversation: tools that arrive late are told of where they arrive, and what is cached stays",
    },
];

impl Key {
    pub(super) fn known(self) -> &'static Known {
        // The list holds every key; the test below says so.
        KNOWN.iter().find(|known| known.key == self).unwrap_or(&KNOWN[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Key; 37] = [
        Key::Surface,
        Key::Lazy,
        Key::Eager,
        Key::SchemaBudget,
        Key::Optimistic,
        Key::MaxResult,
        Key::RevealOnLoad,
        Key::Trust,
        Key::Lock,
        Key::Ledger,
        Key::Model,
        Key::Token,
        Key::Config,
        Key::Listen,
        Key::Upstream,
        Key::GatewayToken,
        Key::HoldKeys,
        Key::AllowHost,
        Key::AllowOrigin,
        Key::Drain,
        Key::Otlp,
        Key::KeepBodies,
        Key::Retention,
        Key::Profile,
        Key::Lever,
        Key::LeverRoute,
        Key::Holdout,
        Key::Decisions,
        Key::Deny,
        Key::Allow,
        Key::ThinkingBound,
        Key::EditSubscription,
        Key::AcceptLoss,
        Key::ElideFirstSend,
        Key::CompactWhenFull,
        Key::HourBreakpoints,
        Key::LateTools,
    ];

    #[test]
    fn every_key_is_known() {
        for key in ALL {
            assert_eq!(key.known().key, key);
        }
    }

    #[test]
    fn the_guides_list_every_setting() {
        for known in &KNOWN {
            let (guide, file) = match known.table {
                Table::Mcp => (include_str!("../../../../docs/mcp.md"), "docs/mcp.md"),
                Table::Gateway | Table::Levers => {
                    (include_str!("../../../../docs/gateway.md"), "docs/gateway.md")
                }
            };
            let or_none = |word: Option<&str>| word.map_or("—".to_owned(), |word| format!("`{word}`"));
            let project = match known.in_project {
                InProject::Anything => "yes",
                InProject::Off => "only `off`",
                InProject::Nothing => "no",
            };
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let row = format!(
                "| `{}` | {} | {} | {} | {} | {} | {} |",
                known.name,
                or_none(known.flag),
                or_none(known.variable),
                project,
                known.takes,
                known.default,
                words(known.meaning)
            );
            assert!(guide.contains(&row), "{file} lacks this line:\n{row}");
        }
    }
}
