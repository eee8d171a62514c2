//! Calls by name, and what is said of tools that cannot be called.

use super::decision::ToolDecision;
use super::reply::{Reply, short};
use super::{Access, Own, Surface, Target, Tool, ToolIx, ToolState, ToolWhy};
use bytes::Bytes;
use deadweight_wire::json::{Kind, Parser, Value};

/// How much of a server's reason is told, in bytes.
const REASON: usize = 300;

/// How many names of one name's tools are told.
const SAME: usize = 5;

/// What a name in a model's hand leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A tool of a server, or of ours.
    Target(Target),
    /// Tools of several servers have it; the names under which they are listed.
    Several(Vec<String>),
    /// It is not a tool's but a server's.
    Server,
    /// Nothing.
    Nothing,
}

impl Surface {
    /// The name under which a tool is listed and called here.
    pub fn shown(&self, tool: ToolIx) -> &str {
        self.tool(tool).map_or("", |tool| tool.shown.as_str())
    }

    /// The name that its server gave a tool.
    pub fn own_name(&self, tool: ToolIx) -> &str {
        self.tool(tool).map_or("", |tool| tool.name.as_str())
    }

    /// A tool's definition as its server sent it.
    pub fn definition_of(&self, tool: ToolIx) -> Bytes {
        self.tool(tool).map_or_else(Bytes::new, |tool| tool.definition.clone())
    }

    /// The place of a tool's server in [`Input::servers`](super::Input::servers).
    pub fn server_of(&self, tool: ToolIx) -> usize {
        self.tool(tool).map_or(0, |tool| tool.server)
    }

    /// Whether a client was shown what a tool's `structuredContent` looks like, so that it may miss it.
    pub fn promises_structure(&self, tool: ToolIx) -> bool {
        let entry = self.tool(tool).and_then(|tool| tool.entry.as_ref());
        entry.is_some_and(|entry| {
            Parser::new().scope(entry, |document| {
                document.is_ok_and(|document| document.root().get("outputSchema").is_some())
            })
        })
    }

    /// Why a denied or quarantined tool is not called, and what to do about it.
    pub fn why_not(&self, tool: ToolIx) -> String {
        let Some(tool) = self.tool(tool) else { return "There is no such tool.".to_owned() };
        let name = &tool.shown;
        match (tool.access, self.decision(tool)) {
            (Access::Denied, Some(ToolWhy::Denied(reason))) if !reason.is_empty() => format!(
                "Not run: `{name}` is denied in deadweight.lock: {}. Do not try it again; the user can take the `deny` out.",
                short(reason.trim_end_matches('.'), REASON)
            ),
            (Access::Denied, _) => format!(
                "Not run: `{name}` is denied in deadweight.lock. Do not try it again; the user can take the `deny` out."
            ),
            (Access::Quarantined, Some(ToolWhy::New)) => format!(
                "Not run: `{name}` is quarantined: it is not in deadweight.lock, so nobody has reviewed it. \
                 After a review, the user can accept it with `deadweight gate --update`."
            ),
            (Access::Quarantined, _) => format!(
                "Not run: `{name}` is quarantined: its definition is not the one that was reviewed in deadweight.lock. \
                 After a review, the user can accept it with `deadweight gate --update`."
            ),
            (Access::Eager | Access::Deferred, _) => format!("`{name}` can be called."),
        }
    }

    /// Why a tool has the access it has.
    fn decision<'s>(&'s self, tool: &'s Tool) -> Option<&'s ToolWhy> {
        let label = self.label(tool.server);
        let mine = |decision: &&ToolDecision| {
            let denial = matches!(decision.why, ToolWhy::Denied(_));
            decision.tool == tool.name && denial == (tool.access == Access::Denied)
        };
        let decisions = self.decisions().iter().filter(|decision| decision.server == label);
        let found = decisions.flat_map(|decision| &decision.tools).find(mine);
        tool.differs.as_ref().filter(|_| tool.access == Access::Quarantined).or(found.map(|found| &found.why))
    }

    /// What a name leads to: as it is listed, with a client's prefix, or as its server calls it where that is clear.
    pub(super) fn lookup(&self, name: &str) -> Found {
        let name = name.trim();
        if let Some(target) = self.find(name) {
            return Found::Target(target);
        }
        let same: Vec<(ToolIx, &Tool)> =
            self.all().filter(|(_, tool)| tool.name == name).take(SAME + 1).collect();
        match same.as_slice() {
            [] if self.servers().any(|(label, _)| label == name) => Found::Server,
            [] => Found::Nothing,
            [(index, _)] => Found::Target(Target::Tool(*index)),
            several => {
                Found::Several(several.iter().take(SAME).map(|(_, tool)| tool.shown.clone()).collect())
            }
        }
    }

    /// What is said of a name that leads to no tool; `None` when it does lead to one.
    pub(super) fn not_found(&self, name: &str, found: &Found) -> Option<String> {
        let name = short(name, 120);
        Some(match found {
            Found::Target(_) => return None,
            Found::Several(names) => {
                format!("Several servers have a tool `{name}`: {}.", listed(names))
            }
            Found::Server => format!("`{name}` is a server, not a tool."),
            Found::Nothing => match self.near(&name) {
                near if near.is_empty() => format!("There is no tool `{name}`."),
                near => format!("There is no tool `{name}`. Did you mean {}?", listed(&near)),
            },
        })
    }

    /// One line for each server that is not ready, with its reason.
    pub(super) fn absent(&self) -> Vec<String> {
        let line = |(label, state): (&str, &ToolState)| match state {
            ToolState::Ready => None,
            ToolState::Starting => Some(format!("Server `{label}` is starting; its tools come later.")),
            ToolState::Failed { reason } => {
                Some(format!("Server `{label}` is not available: {}", short(reason, REASON)))
            }
            ToolState::Login { how } => {
                Some(format!("Server `{label}` needs a login: {}", short(how, REASON)))
            }
        };
        self.servers().filter_map(line).collect()
    }

    /// The name under which one of our own tools is listed, or would be.
    pub(super) fn own_shown(&self, own: Own) -> &str {
        let listed = self.own().iter().find(|tool| tool.own == own);
        listed.map_or(own.name(), |tool| tool.shown.as_str())
    }

    /// Takes a call of `call_tool` apart: which tool it is about, and the arguments for it.
    ///
    /// # Errors
    ///
    /// When there is no such tool, or the arguments are not an object nor a string that holds one: a `CallToolResult` that says
    /// so.
    pub fn unwrap_call(&self, arguments: &[u8]) -> Result<(Target, Bytes), Bytes> {
        let usage = || {
            format!(
                "Not run: `{}` takes {{\"name\": …, \"arguments\": {{…}}}}, the name of a tool and an object with its arguments.",
                self.own_shown(Own::Call)
            )
        };
        Parser::new().scope(arguments, |document| {
            let root = document.map_err(|_| Reply::of(&usage()).error())?.root();
            let Some(name) = root.get("name").and_then(|name| name.as_str()) else {
                return Err(Reply::of(&usage()).error());
            };
            let found = self.lookup(&name);
            if let Some(text) = self.not_found(&name, &found) {
                let mut reply = Reply::of("Not run. ");
                reply.push(&text);
                if found == Found::Nothing {
                    self.absent().iter().for_each(|line| {
                        reply.line().push(line);
                    });
                }
                return Err(reply.error());
            }
            let Found::Target(target) = found else { return Err(Reply::of(&usage()).error()) };
            match inner(root) {
                Ok(arguments) => Ok((target, arguments)),
                Err(what) => {
                    let mut reply = Reply::of(&usage());
                    reply.push(what);
                    Err(reply.error())
                }
            }
        })
    }
}

/// The arguments within the arguments.
fn inner(root: Value<'_, '_>) -> Result<Bytes, &'static str> {
    let Some(value) = root.get("arguments") else {
        let others = root.entries().any(|entry| !entry.key.is_str("name"));
        return if others { Err(" It has no `arguments`.") } else { Ok(Bytes::from_static(b"{}")) };
    };
    object(value).ok_or(" Its `arguments` are no object.")
}

/// The object that a value is, or that its text spells; an empty one for nothing at all.
pub(super) fn object(value: Value<'_, '_>) -> Option<Bytes> {
    match value.kind() {
        Kind::Object => Some(Bytes::copy_from_slice(value.raw().as_bytes())),
        Kind::Null => Some(Bytes::from_static(b"{}")),
        Kind::String if !value.has_lone_surrogate() => {
            let text = value.as_str().unwrap_or_default();
            let text = text.trim();
            if text.is_empty() {
                return Some(Bytes::from_static(b"{}"));
            }
            let object = Parser::new().scope(text.as_bytes(), |document| {
                document.is_ok_and(|document| document.root().kind() == Kind::Object)
            });
            object.then(|| Bytes::copy_from_slice(text.as_bytes()))
        }
        _ => None,
    }
}

/// Names in backticks.
fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
