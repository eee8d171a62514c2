//! What the provider says, in no dialect.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::http::Response;
use super::{Recorded, render};

/// Decides what each request to the model is answered with.
pub trait Script: Send {
    /// The answer to `request`.
    fn answer(&mut self, request: &Recorded) -> Answer;
}

impl<F: FnMut(&Recorded) -> Answer + Send> Script for F {
    fn answer(&mut self, request: &Recorded) -> Answer {
        self(request)
    }
}

/// An answer to one request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The model's turn, put into the dialect of the request, as one body or as a stream, as the request asks.
    Turn(Turn),
    /// Exactly this.
    Raw(Response),
}

impl From<Turn> for Answer {
    fn from(turn: Turn) -> Self {
        Self::Turn(turn)
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self::Raw(response)
    }
}

/// Turns that are given one after the other.
#[derive(Debug, Default)]
pub struct Turns(VecDeque<Answer>);

impl<A: Into<Answer>> FromIterator<A> for Turns {
    fn from_iter<I: IntoIterator<Item = A>>(answers: I) -> Self {
        Self(answers.into_iter().map(Into::into).collect())
    }
}

impl Script for Turns {
    fn answer(&mut self, request: &Recorded) -> Answer {
        self.0.pop_front().unwrap_or_else(|| {
            Answer::Raw(render::error(request.endpoint(), 500, "the test's script has no further turn"))
        })
    }
}

/// What the model says in one turn.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// Its parts, in order.
    pub steps: Vec<Step>,
    /// The provider's counters; without them they follow from the length of the request.
    pub usage: Option<Usage>,
    /// How the answer is delivered.
    pub delivery: Delivery,
}

impl Turn {
    /// A turn that only says `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().then(Step::Text(text.into()))
    }

    /// A turn that only calls one tool.
    pub fn call(call: Call) -> Self {
        Self::default().then(Step::Call(call))
    }

    /// The turn with one more part.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The turn with these counters.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The turn, delivered in this way.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The tools it calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.steps.iter().filter_map(|step| match step {
            Step::Call(call) => Some(call),
            Step::Text(_) | Step::Thinking { .. } | Step::Raw(_) => None,
        })
    }

    /// All its text.
    pub(super) fn said(&self) -> String {
        self.steps
            .iter()
            .filter_map(|step| match step {
                Step::Text(text) => Some(text.as_str()),
                Step::Call(_) | Step::Thinking { .. } | Step::Raw(_) => None,
            })
            .collect()
    }
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Text.
    Text(String),
    /// Thinking, in the dialects that show it.
    Thinking {
        /// What was thought.
        text: String,
        /// What binds it to its conversation.
        signature: String,
    },
    /// The call of a tool.
    Call(Call),
    /// A content block, delta, output item or part in the dialect's own form, for what is in no other dialect.
    Raw(Value),
}

/// The call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id by which the client answers it.
    pub id: String,
    /// The tool's name as the client sent it.
    pub name: String,
    /// The namespace that the tool stands in (OpenAI Responses only).
    pub namespace: Option<String>,
    /// What it is called with.
    pub input: Value,
}

impl Call {
    /// A call of the tool `name`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), name: name.into(), namespace: None, input }
    }
}

/// The provider's counters, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Read from the prompt and from no cache.
    pub input: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// Generated.
    pub output: u64,
}

/// How an answer travels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Waits this long before the first byte.
    pub first_byte_after: Duration,
    /// Waits this long before every further event of a stream, and before it breaks off.
    pub between_events: Duration,
    /// Closes the connection after so many events of a stream, without its end.
    pub cut_after: Option<usize>,
}
