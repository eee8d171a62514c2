//! Policies of others, rebuilt from their published rules. They stand between client and provider as a proxy of their own,
//! to be held against: nothing of ours is in them.

use super::{Between, Line, Strike, post};
use crate::raw_http::RawHttp;
use serde_json::{Value, json};
use std::io;

/// A policy of somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// Tool results older than the last ten turns become a placeholder, and the edge moves on every 16 messages.
    SlidingPrune,
    /// On every turn everything but the last message is compressed anew.
    CompressAll,
}

impl Foreign {
    /// Both.
    pub const ALL: [Self; 2] = [Self::SlidingPrune, Self::CompressAll];

    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlidingPrune => "sliding prune every 16 messages",
            Self::CompressAll => "compress all history on every turn",
        }
    }

    /// Where its rules were published.
    pub const fn source(self) -> &'static str {
        match self {
            Self::SlidingPrune => {
                "observation masking with ten turns kept (arXiv 2508.21433, 2025), moved on in steps of 16 messages"
            }
            Self::CompressAll => {
                "a prompt proxy's rules, without its language model: thinking out of all turns but the last, results over 500 \
                 characters to their number of lines and first line (tac0turtle/ai-learning, experiments/prompt-proxy, 2026), \
                 with no turn spared but the last message"
            }
        }
    }

    /// What it makes of a request.
    pub fn rewrite(self, body: &mut Value) {
        let Some(messages) = body["messages"].as_array_mut() else { return };
        let end = messages.len();
        match self {
            Self::SlidingPrune => {
                let edge = end.saturating_sub(20) / 16 * 16;
                for block in messages[..edge].iter_mut().flat_map(results) {
                    block["content"] = json!("[Old tool result content cleared]");
                }
            }
            Self::CompressAll => {
                let latest = messages.iter().rposition(|message| message["role"] == "assistant");
                for (at, message) in messages.iter_mut().enumerate().take(end.saturating_sub(1)) {
                    if message["role"] == "assistant" && Some(at) != latest {
                        let thought = |block: &Value| block["type"] == "thinking";
                        let blocks = message["content"].as_array_mut();
                        if let Some(blocks) = blocks.filter(|blocks| !blocks.iter().all(thought)) {
                            blocks.retain(|block| !thought(block));
                        }
                    }
                    results(message).for_each(compact);
                }
            }
        }
    }
}

fn results(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    let blocks = message["content"].as_array_mut().into_iter().flatten();
    blocks.filter(|block| block["type"] == "tool_result")
}

fn compact(result: &mut Value) {
    let text = match &result["content"] {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(|item| item["text"].as_str()).collect(),
        _ => return,
    };
    if text.chars().count() > 500 {
        let (lines, first) = (text.lines().count(), text.lines().next().unwrap_or_default());
        result["content"] =
            json!(format!("[Compacted: {lines} lines, {} chars]\n{first}", text.chars().count()));
    }
}

/// A proxy that rewrites by such a policy.
#[derive(Debug)]
pub struct Rewriting(RawHttp);

impl Rewriting {
    /// Before the provider of this line.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(policy: Foreign, line: &Line) -> io::Result<Self> {
        let provider = line.provider.url();
        let server = RawHttp::start(move |request, answer| {
            let mut body = request.json();
            policy.rewrite(&mut body);
            let own = ["host", "content-length", "content-type", "connection"];
            let headers = request.headers.iter();
            let headers: Vec<_> = headers
                .filter(|(name, _)| !own.contains(&name.to_ascii_lowercase().as_str()))
                .cloned()
                .collect();
            let came = post(&provider, &request.path, &headers, body.to_string().as_bytes())?;
            answer.whole(came.status, &[("content-type", "application/json")], &came.body)
        })?;
        Ok(Self(server))
    }
}

impl Between for Rewriting {
    fn url(&self) -> String {
        self.0.at("")
    }

    fn strike(&mut self, _: Strike) -> io::Result<()> {
        Ok(())
    }
}
