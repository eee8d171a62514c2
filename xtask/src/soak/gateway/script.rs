//! What the scripted provider does to a client: calls of tools, refusals, a stream that breaks off, one that is slow.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadweight_testkit::upstream::{Answer, Delivery, Endpoint, Recorded, Response, Script, Turn, Usage};
use serde_json::{Value, json};

use crate::fixtures::script::{call, find, id, search, tools_of};
use crate::fixtures::server::LABEL;

/// What happens to one request of the conversation.
#[derive(Debug, Clone)]
pub(super) enum Beat {
    /// The model calls a tool, by the server's own name.
    Call(&'static str, Value),
    /// The same, a little at a time.
    Slow(&'static str, Value),
    /// The same, and the stream breaks off after a few events.
    Cut(&'static str, Value),
    /// The provider refuses.
    Refuse(u16),
}

impl Beat {
    /// The tool that is called.
    fn tool(&self) -> Option<&'static str> {
        match self {
            Self::Call(tool, _) | Self::Slow(tool, _) | Self::Cut(tool, _) => Some(tool),
            Self::Refuse(_) => None,
        }
    }
}

/// What was billed so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Bill(Arc<Mutex<Billed>>);

/// The provider's own sums over the answers that it gave whole, as far as it told them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Billed {
    pub(super) turns: u64,
    pub(super) prompt: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
}

impl Bill {
    pub(super) fn sums(&self) -> Billed {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, usage: Usage) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sums.turns += 1;
        sums.prompt += usage.input + usage.cache_read + usage.cache_write;
        sums.cache_read += usage.cache_read;
        sums.cache_write += usage.cache_write;
        sums.output += usage.output;
    }
}

/// Plays one headless run.
#[derive(Debug)]
pub(super) struct Played {
    beats: Vec<Beat>,
    at: usize,
    /// How many answers were given.
    said: usize,
    /// The tools that the client's own search was asked for.
    searched: Vec<&'static str>,
    /// Whether requests without tools are the conversation too.
    toolless: bool,
    bill: Bill,
}

impl Played {
    pub(super) fn new(beats: Vec<Beat>, toolless: bool, bill: Bill) -> Self {
        Self { beats, at: 0, said: 0, searched: Vec::new(), toolless, bill }
    }

    /// What the provider counts: other numbers at every answer, so that none can stand for another.
    fn usage(&self, request: &Recorded) -> Usage {
        let at = self.said as u64;
        let writes = request.endpoint() == Endpoint::AnthropicMessages;
        Usage {
            input: 101 + at,
            cache_read: 1_000 * at,
            cache_write: if writes { 17 } else { 0 },
            output: 7 + at,
        }
    }

    fn said(&mut self, request: &Recorded, turn: Turn) -> Answer {
        self.said += 1;
        let usage = self.usage(request);
        // A stream of chat completions has counters only where they were asked for.
        let body = request.json();
        let told = request.endpoint() != Endpoint::OpenaiChat
            || body["stream"] != true
            || body["stream_options"]["include_usage"] == true;
        self.bill.add(if told {
            usage
        } else {
            Usage { input: 0, cache_read: 0, cache_write: 0, output: 0 }
        });
        turn.with_usage(usage).into()
    }

    /// What the model says when it calls a tool; where a client has none, what it says all the same.
    fn call(&self, request: &Recorded, tools: Option<&Value>, tool: &str, arguments: &Value) -> Turn {
        let turn = Turn::text(format!("Call {}.", self.at));
        let Some(tools) = tools else { return turn };
        turn.then(call(tools, LABEL, tool, arguments, id(request, self.said)))
    }

    /// What the model says first where a tool is not in the request and the client has a search for such.
    fn search(&mut self, request: &Recorded, tools: &Value) -> Option<Turn> {
        let tool = self.beats.get(self.at).and_then(Beat::tool)?;
        if self.searched.contains(&tool) || find(tools, tool).is_some() {
            return None;
        }
        self.searched.push(tool);
        let step = search(tools, LABEL, tool, id(request, self.said))?;
        Some(Turn::text("Looking for the tool.").then(step))
    }
}

impl Script for Played {
    fn answer(&mut self, request: &Recorded) -> Answer {
        let tools = tools_of(&request.json());
        if tools.is_none() && !self.toolless {
            return self.said(request, Turn::text("A title"));
        }
        if let Some(turn) = tools.as_ref().and_then(|tools| self.search(request, tools)) {
            return self.said(request, turn);
        }
        let beat = self.beats.get(self.at).cloned();
        self.at += 1;
        match beat {
            None => self.said(request, Turn::text("Done.")),
            Some(Beat::Call(tool, arguments)) => {
                let turn = self.call(request, tools.as_ref(), tool, &arguments);
                self.said(request, turn)
            }
            Some(Beat::Slow(tool, arguments)) => {
                let turn = self.call(request, tools.as_ref(), tool, &arguments);
                let slow = Delivery {
                    first_byte_after: Duration::from_millis(700),
                    between_events: Duration::from_millis(120),
                    cut_after: None,
                };
                self.said(request, turn.delivered(slow))
            }
            Some(Beat::Cut(tool, arguments)) => {
                let turn = self.call(request, tools.as_ref(), tool, &arguments);
                // A client that is told of the end together with what came before it may or may not look at that.
                let cut = Delivery {
                    between_events: Duration::from_millis(500),
                    cut_after: Some(2),
                    ..Delivery::default()
                };
                turn.delivered(cut).into()
            }
            Some(Beat::Refuse(status)) => refusal(request.endpoint(), status).into(),
        }
    }
}

/// A refusal as the endpoint's provider words it.
fn refusal(endpoint: Endpoint, status: u16) -> Response {
    let (kind, message) = match status {
        400 => ("invalid_request_error", "this is not a request that can be answered"),
        429 => ("rate_limit_error", "too many requests"),
        _ => ("overloaded_error", "Overloaded"),
    };
    let body = match endpoint {
        Endpoint::AnthropicMessages | Endpoint::AnthropicCountTokens => {
            json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
        }
        Endpoint::GeminiGenerate | Endpoint::GeminiStream | Endpoint::GeminiCountTokens => {
            let status_word = if status == 400 { "INVALID_ARGUMENT" } else { "UNAVAILABLE" };
            json!({ "error": { "code": status, "message": message, "status": status_word } })
        }
        _ => json!({ "error": { "message": message, "type": kind, "param": null, "code": null } }),
    };
    let mut response = Response::json(status, &body);
    if status != 400 {
        response.headers.push(("retry-after".to_owned(), "1".to_owned()));
    }
    response
}
