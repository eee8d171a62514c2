//! A strict provider: it refuses what the real ones refuse, with their words, and bills from a true prefix cache.
//!
//! It is the judge of everything that rewrites requests, so it shares no code with what it judges. Nothing here reads a
//! clock: the time of a request comes with it, and tests move it as they like.
//!
//! [`Judge`] is pure: a request in, a [`Verdict`] out, with the [`Rule`] that was broken or the [`Bill`]. The order of calls
//! is that of a real exchange: [`Judge::judge`] when the request arrives, [`Judge::begin`] when the response begins (from
//! then on others can read what was written to the cache), [`Judge::answer`] for what the model says, whose thinking is
//! signed there. [`StrictProvider`] is the same behind HTTP on loopback, with a scripted model.
//!
//! ```
//! use deadweight_testkit::strict::{Judge, Request};
//! use std::time::Duration;
//!
//! let body = br#"{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":""}]}"#;
//! let request = Request { path: "/v1/messages", headers: &[], body, at: Duration::ZERO };
//! let verdict = Judge::default().judge(request);
//! assert_eq!(verdict.refusal().map(|refusal| refusal.rule.id()), Some("anthropic.shape.empty-text"));
//! ```
//!
//! # What the bill takes for granted
//!
//! - Tokens are the judge's own measure: a quarter of the bytes of text, of a definition's compact JSON, of an input;
//!   an image counts width × height / 750, at most 1,600. Two bills can be compared; neither is the provider's.
//! - A breakpoint looks at 20 blocks, itself among them. A tool, a system block and a content block are one block each.
//!   A prefix is written at breakpoints only, and read by whoever has the same prefix within reach of a breakpoint.
//! - White space, escapes, `cache_control` and the billing nonce are not part of a prefix, and a string is the same as one
//!   text block. Order of members, spelling of numbers, order of tools and boundaries of messages are.
//! - A prefix that was written for five minutes stays so, also when an hour's mark reads it.
//! - Server-side context editing and a compaction block take off the bill what they take out; neither touches the binding
//!   of thinking, which is to what was sent. That the provider compacts by itself is not played.
//! - OpenAI and Gemini keep prefixes by themselves: for five minutes after the last use, whole items only. OpenAI counts
//!   them in steps of 128 tokens.

mod account;
mod anthropic;
mod automatic;
mod bill;
mod cache;
mod gemini;
mod json;
mod measure;
pub mod models;
mod openai;
mod rules;
mod server;
mod verdict;

use std::time::Duration;

pub use account::Account;
pub use bill::{Bill, Usage};
pub use rules::{Rule, Source};
pub use server::{Exchange, StrictProvider};
pub use verdict::{Accepted, AppliedEdit, Dialect, Refusal, Request, Ticket, Transformed, Verdict};

use crate::upstream::Turn;
use anthropic::Anthropic;
use cache::Cache;
pub(crate) use cache::hash;
use gemini::Gemini;
use json::Json;
use openai::Openai;

/// The largest request, in bytes.
const LARGEST: usize = 32 << 20;

/// The provider's memory of one account: its cache, the signatures it made, the items it handed out.
#[derive(Debug, Default)]
pub struct Judge {
    account: Account,
    cache: Cache,
    anthropic: Anthropic,
    openai: Openai,
    gemini: Gemini,
    accepted: u64,
}

impl Judge {
    /// A judge who has seen nothing yet.
    pub fn new(account: Account) -> Self {
        Self { account, ..Self::default() }
    }

    /// What the provider says of this request. An accepted one has read the cache and written to it.
    pub fn judge(&mut self, request: Request<'_>) -> Verdict {
        let route = Route::of(request.path);
        let answer = self.decide(&request, route).map_err(|mut refusal| {
            refusal.dialect = route.map_or_else(Dialect::default, |route| route.dialect);
            refusal
        });
        match answer {
            Ok(accepted) => {
                self.accepted += 1;
                Verdict::Accepted(Box::new(accepted))
            }
            Err(refusal) => Verdict::Refused(refusal),
        }
    }

    fn decide(&mut self, request: &Request<'_>, route: Option<Route<'_>>) -> Result<Accepted, Refusal> {
        let Some(route) = route else {
            let mut refusal = Refusal::new(Rule::Path, "Not Found");
            refusal.status = 404;
            return Err(refusal);
        };
        if request.body.len() > LARGEST {
            let mut refusal = Refusal::new(Rule::TooLarge, "Request exceeds the maximum size");
            refusal.status = 413;
            return Err(refusal);
        }
        let body = Json::read(request.body).map_err(|error| {
            Refusal::new(Rule::InvalidJson, format!("The request body is not valid JSON: {error}"))
        })?;
        let (cache, number) = (&mut self.cache, self.accepted);
        match route.dialect {
            Dialect::Anthropic => {
                self.anthropic.judge(cache, &self.account, request, &body, route.model, number)
            }
            Dialect::OpenaiChat => openai::judge_chat(cache, request, &body, number),
            Dialect::OpenaiResponses => self.openai.judge(cache, request, &body, number),
            Dialect::Gemini => self.gemini.judge(cache, request, &body, route.model, number),
        }
    }

    /// The response to this request began at `at`: what the request wrote to the cache can be read from now on.
    pub fn begin(&mut self, ticket: &Ticket, at: Duration) {
        for prefix in &ticket.writes {
            self.cache.began(prefix, at);
        }
    }

    /// The model says `turn`: its thinking is signed, its tokens are counted unless it brings its own, and the whole
    /// exchange is billed.
    pub fn answer(&mut self, ticket: &Ticket, turn: Turn) -> (Turn, Bill) {
        let mut turn = turn;
        let measured = match ticket.dialect {
            Dialect::Anthropic => self.anthropic.answer(ticket, &mut turn),
            Dialect::OpenaiChat => openai::measure(&turn),
            Dialect::OpenaiResponses => self.openai.answer(ticket, &mut turn),
            Dialect::Gemini => self.gemini.answer(ticket, &mut turn),
        };
        let output = turn.usage.map_or(measured, |usage| usage.output);
        let usage = Usage { output, ..ticket.usage };
        turn.usage = Some(crate::upstream::Usage {
            input: usage.input,
            cache_read: usage.read,
            cache_write: usage.written(),
            output,
        });
        (turn, usage.bill(&models::model(&ticket.model)))
    }
}

/// What a path asks for.
#[derive(Debug, Clone, Copy)]
struct Route<'a> {
    dialect: Dialect,
    /// The model, where the path names it.
    model: &'a str,
    /// What is asked of the model, where the path says it.
    verb: &'a str,
}

impl<'a> Route<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let last = path.rsplit('/').next().unwrap_or_default();
        let (name, verb) = last.rsplit_once(':').unwrap_or((last, ""));
        let dialect = match (last, verb) {
            ("messages" | "count_tokens", _) => Dialect::Anthropic,
            (_, "rawPredict" | "streamRawPredict") => Dialect::Anthropic,
            ("invoke" | "invoke-with-response-stream", _) if path.contains("/model/") => {
                let model = path.rsplit('/').nth(1).unwrap_or_default();
                return Some(Self { dialect: Dialect::Anthropic, model, verb: last });
            }
            ("completions", _) if path.ends_with("/chat/completions") => Dialect::OpenaiChat,
            ("responses", _) => Dialect::OpenaiResponses,
            (_, "generateContent" | "streamGenerateContent" | "countTokens") => Dialect::Gemini,
            _ => return None,
        };
        let model = if verb.is_empty() { "" } else { name };
        Some(Self { dialect, model, verb })
    }

    /// Where Anthropic's messages stand under another cloud's path: whether that path asks for a stream.
    fn streams_by_path(&self) -> Option<bool> {
        match self.verb {
            "streamRawPredict" => Some(true),
            "rawPredict" | "invoke" => Some(false),
            _ => None,
        }
    }
}
