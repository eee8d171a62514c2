//! What has been read of one response so far, whatever its dialect.

use super::{About, End, Events, Failure, Iteration, Outcome, Reported, ServerTool};
use super::{anthropic, gemini, openai_chat, openai_responses};
use crate::Dialect;
use crate::json::{Kind, Value};

/// Provider tools that are kept by name. There are two today; a stream that names thousands is broken.
const SERVER_TOOLS: usize = 64;

/// Iterations that are kept. A response is made in a handful; each costs far more memory than `{}`.
const ITERATIONS: usize = 256;

#[derive(Debug)]
pub(super) struct State {
    pub(super) dialect: Dialect,
    pub(super) reported: Reported,
    pub(super) iterations: Vec<Iteration>,
    pub(super) server_tools: Vec<ServerTool>,
    pub(super) about: About,
    pub(super) events: Events,
    pub(super) failure: Option<Failure>,
    /// The response's closing was seen.
    pub(super) closed: bool,
    /// Some output came to its end, but more of the response may follow.
    pub(super) finished: bool,
}

impl State {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            reported: Reported::default(),
            iterations: Vec::new(),
            server_tools: Vec::new(),
            about: About::default(),
            events: Events::default(),
            failure: None,
            closed: false,
            finished: false,
        }
    }

    /// Reads the data of one stream event. `name` is the event's name on the wire.
    pub(super) fn event(&mut self, name: &str, data: Value<'_, '_>) {
        self.events.read += 1;
        let known = match self.dialect {
            Dialect::AnthropicMessages => anthropic::event(self, name, data),
            Dialect::OpenaiChat => openai_chat::chunk(self, name, data),
            Dialect::OpenaiResponses => openai_responses::event(self, name, data),
            Dialect::GeminiGenerate => gemini::chunk(self, name, data),
        };
        self.events.unknown += u64::from(!known);
    }

    /// Reads a body.
    pub(super) fn body(&mut self, data: Value<'_, '_>) {
        self.events.read += 1;
        let known = match self.dialect {
            Dialect::AnthropicMessages => anthropic::body(self, data),
            Dialect::OpenaiChat => openai_chat::body(self, data),
            Dialect::OpenaiResponses => openai_responses::body(self, data),
            Dialect::GeminiGenerate => gemini::body(self, data),
        };
        self.events.unknown += u64::from(!known);
    }

    /// Reads the marker that ends OpenAI's chat streams. Gateways send it in other dialects too, where it
    /// closes nothing.
    pub(super) fn done(&mut self) {
        self.events.read += 1;
        self.closed |= self.dialect == Dialect::OpenaiChat;
    }

    /// Reads an event of which only the name is known, because it was too large or empty.
    pub(super) fn named(&mut self, name: &str) {
        match self.dialect {
            Dialect::AnthropicMessages => anthropic::named(self, name),
            Dialect::OpenaiResponses => openai_responses::named(self, name),
            Dialect::OpenaiChat | Dialect::GeminiGenerate => {
                if name == "error" {
                    self.fail(Failure::default());
                }
            }
        }
    }

    /// Takes over the counters of a usage object; `null` and what is no object say nothing.
    pub(super) fn usage(&mut self, usage: Option<Value<'_, '_>>) {
        if let Some(usage) = usage.filter(|usage| usage.kind() == Kind::Object) {
            self.reported.update(&Reported::read(usage, self.dialect, &mut self.events.bad_counters));
        }
    }

    /// Takes over the passes of a usage object: the list is sent whole each time.
    pub(super) fn iterations(&mut self, list: Value<'_, '_>) {
        let events = &mut self.events;
        let mut elements = list.elements();
        self.iterations = elements
            .by_ref()
            .take(ITERATIONS)
            .map(|element| Iteration::read(element, &mut events.bad_counters))
            .collect();
        events.dropped += elements.count() as u64;
    }

    pub(super) fn server_tool(&mut self, name: &str, count: u64) {
        if let Some(tool) = self.server_tools.iter_mut().find(|tool| tool.name == name) {
            tool.count = count;
        } else if self.server_tools.len() < SERVER_TOOLS {
            self.server_tools.push(ServerTool { name: name.to_owned(), count });
        } else {
            self.events.dropped += 1;
        }
    }

    /// The first failure stands: what follows it is its consequence.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Fails with an error value, unless it says nothing: absent, `null`, `false`.
    pub(super) fn fail_with(&mut self, error: Option<Value<'_, '_>>) -> bool {
        match error {
            Some(error) if !error.is_null() && error.as_bool() != Some(false) => {
                self.fail(Failure::read(error));
                true
            }
            _ => false,
        }
    }

    pub(super) fn end(&self) -> End {
        match &self.failure {
            Some(failure) => End::Failed(failure.clone()),
            None if self.closed => End::Complete,
            None => End::Truncated,
        }
    }

    pub(super) fn outcome(self) -> Outcome {
        Outcome {
            end: self.end(),
            counters: self.reported.counters(self.dialect),
            reported: self.reported,
            iterations: self.iterations,
            server_tools: self.server_tools,
            about: self.about,
            events: self.events,
        }
    }
}

impl Failure {
    /// Reads an error: an object of any dialect, or a bare message.
    pub(super) fn read(error: Value<'_, '_>) -> Self {
        if error.kind() == Kind::String {
            return Self { message: error.as_str().map(Into::into), ..Self::default() };
        }
        let code = error.get("code").and_then(scalar);
        Self {
            kind: error.text("type").or_else(|| error.text("status")).or_else(|| code.clone()),
            code,
            message: error.text("message"),
        }
    }
}

/// A string decoded, a number as it stands.
fn scalar(value: Value<'_, '_>) -> Option<String> {
    match value.kind() {
        Kind::String => value.as_str().map(Into::into),
        Kind::Number => Some(value.raw().to_owned()),
        Kind::Null | Kind::Bool | Kind::Array | Kind::Object => None,
    }
}

/// Members read as texts of their own.
pub(super) trait Source {
    /// The string under `key`.
    fn text(&self, key: &str) -> Option<String>;
    /// What stands under `key`, unless that is `null`, as raw JSON.
    fn raw_text(&self, key: &str) -> Option<String>;
}

impl Source for Value<'_, '_> {
    fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.as_str().map(Into::into)
    }

    fn raw_text(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| !value.is_null()).map(|value| value.raw().to_owned())
    }
}

/// Takes over what was sent and keeps what was not sent again.
pub(super) fn keep_last(slot: &mut Option<String>, later: Option<String>) {
    if later.is_some() {
        *slot = later;
    }
}
