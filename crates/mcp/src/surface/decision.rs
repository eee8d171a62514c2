//! What was decided about each server and tool, and why: for `--explain`, `mcp status` and the files that keep decisions.

use super::pins::PinSource;
use super::stub::Size;
use deadweight_lock::PolicyKind;
use serde_json::{Value, json};

/// The list that is served in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Every definition as it is.
    Eager,
    /// Deferred tools as stubs.
    Stubs,
    /// Deferred tools not at all.
    Search,
}

impl Shape {
    /// Its name in output and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Stubs => "stubs",
            Self::Search => "search",
        }
    }

    /// The shape of this name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Eager, Self::Stubs, Self::Search].into_iter().find(|shape| shape.name() == text)
    }
}

/// What was decided about one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The server's label.
    pub server: String,
    /// Whether its tools are deferred; exceptions are in `tools`.
    pub deferred: bool,
    /// Why.
    pub why: Why,
    /// What its tools weigh as they are; what the lock denies is not in it.
    pub before: Size,
    /// What they weigh as they are listed, without our own tools.
    pub after: Size,
    /// The tools that are not treated as the server is, and those that something is to be said about.
    pub tools: Vec<ToolDecision>,
}

/// Why a server's tools are listed as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// `DEADWEIGHT_LAZY=0`.
    OffSwitch,
    /// `--surface eager`.
    Asked,
    /// The client, named here, defers by itself.
    ClientDefers(String),
    /// It has not answered, or lists nothing.
    NoTools,
    /// Every tool has a reason of its own.
    EachByItself,
    /// It was decided before, and stays.
    Kept,
    /// `--schema-budget 0` defers whatever is larger than its stub.
    BudgetZero,
    /// Description and schemas weigh more than the budget.
    OverBudget {
        /// Their bytes.
        bytes: u64,
        /// The budget.
        budget: u64,
    },
    /// They do not.
    WithinBudget {
        /// Their bytes.
        bytes: u64,
        /// The budget.
        budget: u64,
    },
    /// It is within the budget, but the small servers of an aggregate together are not, and smaller ones came first.
    SharedBudget {
        /// The bytes of its descriptions and schemas.
        bytes: u64,
        /// The budget.
        budget: u64,
    },
    /// Stubs and loader would not be smaller.
    NotSmaller,
    /// Only three tools of our own are listed.
    SearchSurface,
}

impl Why {
    /// Whether it defers because of sizes, which may not be worth a loader.
    pub(super) const fn by_size(&self) -> bool {
        matches!(self, Self::OverBudget { .. } | Self::SharedBudget { .. })
    }

    /// Whether it was decided by sizes, and has to last although they change.
    pub(super) const fn lasts(&self) -> bool {
        self.by_size()
            || matches!(self, Self::Kept | Self::BudgetZero | Self::WithinBudget { .. } | Self::NotSmaller)
    }

    /// Its id in JSON.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::OffSwitch => "off_switch",
            Self::Asked => "asked",
            Self::ClientDefers(_) => "client_defers",
            Self::NoTools => "no_tools",
            Self::EachByItself => "each_by_itself",
            Self::Kept => "kept",
            Self::BudgetZero => "budget_zero",
            Self::OverBudget { .. } => "over_budget",
            Self::WithinBudget { .. } => "within_budget",
            Self::SharedBudget { .. } => "shared_budget",
            Self::NotSmaller => "not_smaller",
            Self::SearchSurface => "search",
        }
    }

    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::OffSwitch => "deferral is turned off".to_owned(),
            Self::Asked => "the eager surface was asked for".to_owned(),
            Self::ClientDefers(client) => format!("{client} defers tools by itself"),
            Self::NoTools => "it lists no tools now".to_owned(),
            Self::EachByItself => "each of its tools is pinned, marked or refused by itself".to_owned(),
            Self::Kept => "so it was decided before".to_owned(),
            Self::BudgetZero => "a budget of 0 defers whatever is larger than its stub".to_owned(),
            Self::OverBudget { bytes, budget } => {
                format!("descriptions and schemas weigh {bytes} bytes, more than the budget of {budget}")
            }
            Self::WithinBudget { bytes, budget } => {
                format!("descriptions and schemas weigh {bytes} bytes, within the budget of {budget}")
            }
            Self::SharedBudget { bytes, budget } => format!(
                "descriptions and schemas weigh {bytes} bytes; with those of smaller servers that is more than the budget of {budget}"
            ),
            Self::NotSmaller => "stubs and loader would not be smaller than the definitions".to_owned(),
            Self::SearchSurface => "the search surface lists no tools of servers".to_owned(),
        }
    }
}

/// What was decided about one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDecision {
    /// Its own name.
    pub tool: String,
    /// How it can be reached.
    pub access: Access,
    /// Why.
    pub why: ToolWhy,
}

/// How a tool can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Listed with its full definition.
    Eager,
    /// Listed without its schema, or not at all on the search surface; callable.
    Deferred,
    /// Neither listed nor callable.
    Denied,
    /// Not callable until its definition is reviewed; listed by its name alone.
    Quarantined,
}

impl Access {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager",
            Self::Deferred => "deferred",
            Self::Denied => "denied",
            Self::Quarantined => "quarantined",
        }
    }
}

/// Why a tool is treated as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolWhy {
    /// The lock denies it; with the reason given there.
    Denied(String),
    /// It was pinned.
    Pinned {
        /// Where.
        source: PinSource,
        /// The pin.
        pin: String,
    },
    /// The lock keeps it eager; with the reason given there.
    LockEager(String),
    /// Its definition asks to be shown (`"eager": true` or `_meta["anthropic/alwaysLoad"]`).
    AsksForIt,
    /// The lock defers it; with the reason given there.
    LockDefers(String),
    /// It is not larger than its stub.
    SmallerThanStub,
    /// Its definition is not the one in the lock.
    Changed,
    /// The lock does not have it.
    New,
    /// What the server listed is no definition with a name, and is left out.
    Malformed,
}

impl ToolWhy {
    /// Its id in JSON.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Pinned { .. } => "pinned",
            Self::LockEager(_) => "lock_eager",
            Self::AsksForIt => "asks_for_it",
            Self::LockDefers(_) => "lock_defers",
            Self::SmallerThanStub => "smaller_than_stub",
            Self::Changed => "changed",
            Self::New => "new",
            Self::Malformed => "malformed",
        }
    }

    /// In words.
    pub fn text(&self) -> String {
        let with = |text: &str, reason: &str| {
            if reason.is_empty() { text.to_owned() } else { format!("{text}: {reason}") }
        };
        match self {
            Self::Denied(reason) => with("the lock denies it", reason),
            Self::Pinned { source, pin } => format!("pinned by `{pin}` in {}", source.name()),
            Self::LockEager(reason) => with("the lock keeps it eager", reason),
            Self::AsksForIt => "its definition asks to be shown".to_owned(),
            Self::LockDefers(reason) => with("the lock defers it", reason),
            Self::SmallerThanStub => "it is not larger than its stub".to_owned(),
            Self::Changed => "its definition is not the one in the lock".to_owned(),
            Self::New => "it is not in the lock".to_owned(),
            Self::Malformed => "it is no definition with a name".to_owned(),
        }
    }
}

impl Decision {
    /// As JSON, for `--explain --json` and `mcp status --json`.
    pub fn to_json(&self) -> Value {
        let size = |size: &Size| json!({"tools": size.tools, "bytes": size.model, "json_bytes": size.json});
        let tool = |tool: &ToolDecision| {
            json!({
                "tool": tool.tool,
                "access": tool.access.name(),
                "reason": tool.why.id(),
                "text": tool.why.text(),
            })
        };
        json!({
            "server": self.server,
            "deferred": self.deferred,
            "reason": self.why.id(),
            "text": self.why.text(),
            "before": size(&self.before),
            "after": size(&self.after),
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
        })
    }
}

/// Decisions that were taken before and hold on, whatever the sizes are now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The shape of the list.
    pub shape: Option<Shape>,
    /// Servers by label, and whether their tools are deferred.
    pub servers: Vec<(String, bool)>,
}

impl Kept {
    /// What was decided about a server.
    pub(crate) fn of(&self, label: &str) -> Option<bool> {
        self.servers.iter().find(|(known, _)| known == label).map(|(_, deferred)| *deferred)
    }
}

/// Something a person should know about what is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A pin names neither a server nor a tool.
    UnknownPin {
        /// The pin.
        pin: String,
        /// Where it was written.
        source: PinSource,
    },
    /// The lock's policy names what is neither listed nor reviewed.
    UnknownRule {
        /// What was to be done with it.
        kind: PolicyKind,
        /// The name: a tool's, `label/tool`, or a server's label.
        name: String,
    },
    /// A setting could not be read, and its default holds.
    Unreadable {
        /// The setting, as a person writes it.
        setting: String,
        /// What stands there.
        value: String,
    },
    /// `search` was asked for, and there is one server only.
    SearchNeedsMany,
    /// The lock has no entry for this server: all its tools count as changed.
    NoLockEntry {
        /// The server.
        server: String,
    },
    /// Tools whose definition is not the one in the lock, or that it does not have.
    NotAsLocked {
        /// The server, which the lock knows.
        server: String,
        /// The tools, in order.
        tools: Vec<String>,
        /// Whether calls of them are refused.
        quarantined: bool,
    },
    /// A server listed a tool twice: only the first is listed.
    ListedTwice {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A server listed something that is no definition with a name.
    Malformed {
        /// The server.
        server: String,
        /// Its place in the server's list, from 0.
        position: usize,
    },
    /// The entry's name is so long that names cannot fit beside it.
    LongEntry {
        /// The entry.
        entry: String,
    },
}

impl Warning {
    /// Its id in JSON.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::UnknownPin { .. } => "unknown_pin",
            Self::UnknownRule { .. } => "unknown_rule",
            Self::Unreadable { .. } => "unreadable",
            Self::SearchNeedsMany => "search_needs_many",
            Self::NoLockEntry { .. } => "no_lock_entry",
            Self::NotAsLocked { .. } => "not_as_locked",
            Self::ListedTwice { .. } => "listed_twice",
            Self::Malformed { .. } => "malformed",
            Self::LongEntry { .. } => "long_entry",
        }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use crate::harmless::line;
        match self {
            Self::UnknownPin { pin, source } => {
                let (pin, source) = (line(pin), source.name());
                write!(
                    f,
                    "`{pin}` in {source} names no server and no tool; write a label, `label/tool`, a tool or `*`"
                )
            }
            Self::UnknownRule { kind, name } => {
                let word =
                    PolicyKind::ALL.iter().find(|(known, _)| known == kind).map_or("", |(_, word)| word);
                let effect = if *kind == PolicyKind::Deny { "; nothing is denied by it" } else { "" };
                write!(
                    f,
                    "`{word}` of `{}` in deadweight.lock names nothing that is listed or reviewed{effect}; correct the name",
                    line(name)
                )
            }
            Self::Unreadable { setting, value } => {
                write!(f, "{setting}: `{}` cannot be read; the default holds", line(value))
            }
            Self::SearchNeedsMany => {
                f.write_str("the search surface is for many servers; this one's tools are listed as stubs")
            }
            Self::NoLockEntry { server } => {
                let server = line(server);
                write!(
                    f,
                    "the lock has no entry for `{server}`: all its tools count as changed; run `deadweight gate --update`, or give it the label it has there (`--name`)"
                )
            }
            Self::NotAsLocked { server, tools, quarantined } => {
                const NAMED: usize = 5;
                let mut names: Vec<String> =
                    tools.iter().take(NAMED).map(|tool| format!("`{}`", line(tool))).collect();
                if tools.len() > NAMED {
                    names.push("…".to_owned());
                }
                let (count, tool, server) = match tools.len() {
                    1 => (1, "tool", line(server)),
                    count => (count, "tools", line(server)),
                };
                let (is, them) = if count == 1 {
                    ("is not as it stands", "it")
                } else {
                    ("are not as they stand", "them")
                };
                let calls = if *quarantined { "calls are refused; " } else { "" };
                write!(
                    f,
                    "{count} {tool} of `{server}` {is} in deadweight.lock ({}); {calls}review {them}, then run `deadweight gate --update`",
                    names.join(", ")
                )
            }
            Self::ListedTwice { server, tool } => {
                write!(
                    f,
                    "`{}` lists `{}` twice, which providers refuse; only the first is listed, the other is left out; tell the server's author",
                    line(server),
                    line(tool)
                )
            }
            Self::Malformed { server, position } => {
                write!(
                    f,
                    "entry {} of the list of `{}` is no definition with a name; it is left out, the others are listed",
                    position + 1,
                    line(server)
                )
            }
            Self::LongEntry { entry } => {
                let entry = line(entry);
                write!(
                    f,
                    "the entry's name `{entry}` is so long that tools' names will not fit into 64 characters with it; shorten it"
                )
            }
        }
    }
}

/// Tools that would be listed under one name: nothing is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Each name with the tools that have it, as server and own name.
    pub duplicates: Vec<(String, Vec<(String, String)>)>,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use crate::harmless::line;
        f.write_str("tools would be listed under one name:")?;
        for (shown, tools) in &self.duplicates {
            let tools: Vec<String> = tools
                .iter()
                .map(|(server, tool)| format!("`{}` of `{}`", line(tool), line(server)))
                .collect();
            write!(f, "\n  {}: {}", line(shown), tools.join(" and "))?;
        }
        f.write_str(
            "\nGive one of the servers another name in the config, or deny one of the tools in deadweight.lock. \
             The servers are asked anew with the next list.",
        )
    }
}

impl std::error::Error for Refused {}
