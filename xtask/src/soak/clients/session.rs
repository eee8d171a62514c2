//! What the scripted model does: it makes the calls of a plan, one a turn, as the client offers the tools.

use deadweight_testkit::upstream::{Answer, Call, Endpoint, Recorded, Script, Step, Turn};
use serde_json::{Value, json};

use super::body::shown;
use super::server::{DENIED, LABEL};
use crate::fixtures::script::{find, tools_of};

/// A call, by the server's own name of the tool.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// The calls of a run, in order.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) calls: Vec<Planned>,
}

/// The calls by their place in the plan.
pub(super) const VALID: usize = 0;
pub(super) const STRINGS: usize = 1;
pub(super) const INVALID: usize = 2;
pub(super) const HARMLESS: usize = 3;
pub(super) const HARMFUL: usize = 4;
pub(super) const CONFIRMED: usize = 5;
pub(super) const GROWS: usize = 6;
pub(super) const CRASHES: usize = 7;
pub(super) const AFTER_CRASH: usize = 8;
pub(super) const LOAD: usize = 9;
pub(super) const LOADED: usize = 10;

/// The loader's name.
pub(super) const LOADER: &str = "load_tool_schemas";

impl Plan {
    /// The plan of a run; with `denied`, only the tool that the client's rules deny and one that they allow.
    pub(super) fn of(proxied: bool, denied: &[&str]) -> Self {
        let call = |tool, arguments| Planned { tool, arguments };
        if !denied.is_empty() {
            return Self {
                calls: vec![
                    call(DENIED, json!({ "note_id": "n-1" })),
                    call("note_list", json!({ "limit": 3 })),
                ],
            };
        }
        let mut calls = vec![
            call("note_list", json!({ "limit": 3 })),
            call("note_search", json!({ "query": "x", "limit": "10" })),
            call("note_append", json!({ "note_id": "n-1" })),
            call("note_append", json!({ "note_id": "n-1", "text": "grüße \"世界\"\n" })),
            call(DENIED, json!({ "note_id": "n-1" })),
            call(DENIED, json!({ "note_id": "n-1" })),
            call("note_grow", json!({})),
            call("note_crash", json!({})),
            call("note_list", json!({ "limit": 4 })),
        ];
        if proxied {
            calls.push(call(LOADER, json!({ "tools": ["note_move"] })));
            calls.push(call("note_move", json!({ "note_id": "n-1", "notebook": "b" })));
        }
        Self { calls }
    }
}

/// Plays one headless run.
#[derive(Debug)]
pub(super) struct Session {
    plan: Plan,
    made: usize,
}

impl Session {
    pub(super) const fn new(plan: Plan) -> Self {
        Self { plan, made: 0 }
    }
}

impl Script for Session {
    fn answer(&mut self, request: &Recorded) -> Answer {
        let body = request.json();
        let Some(tools) = tools_of(&body) else { return Turn::text("Soaking").into() };
        let Some(planned) = self.plan.calls.get(self.made) else { return Turn::text("Done.").into() };
        let id = id(request.endpoint(), self.made);
        self.made += 1;
        // What a client defers by itself, or does not offer at all, is called by the name that it would have.
        let (namespace, name) = find(&tools, planned.tool)
            .or_else(|| {
                let (namespace, name) = find(&tools, "note_list")?;
                Some((namespace, format!("{}{}", name.strip_suffix("note_list")?, planned.tool)))
            })
            .unwrap_or_else(|| (None, format!("mcp__{LABEL}__{}", planned.tool)));
        // A stub may ask for its arguments within one that is named so; a model then does that, most of the time.
        let shown = shown(&body, &[planned.tool]);
        let wraps = shown.first().is_some_and(|tool| tool.schema["properties"]["arguments"].is_object());
        let arguments = match planned.arguments.clone() {
            arguments if wraps && self.made != HARMLESS + 1 => json!({ "arguments": arguments }),
            arguments => arguments,
        };
        let mut call = Call::new(id, name, arguments);
        call.namespace = namespace;
        Turn::text(format!("Call {}.", self.made)).then(Step::Call(call)).into()
    }
}

/// The id of the call of this number, in the form that the dialect's clients expect.
fn id(endpoint: Endpoint, call: usize) -> String {
    match endpoint {
        Endpoint::AnthropicMessages => format!("toolu_{call:024}"),
        _ => format!("call_{call:024}"),
    }
}

/// The number of the call that an id belongs to.
pub(super) fn number(id: &str) -> Option<usize> {
    id.strip_prefix("toolu_").or_else(|| id.strip_prefix("call_"))?.parse().ok()
}
