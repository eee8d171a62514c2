//! What the tests of this crate share: reading bodies, and conversations to read.
#![allow(dead_code, unreachable_pub, clippy::expect_used, reason = "each test takes what it needs")]

use deadweight_cache::lineage::{Lineages, Placement};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::Lifetimes;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use serde_json::{Value, json};

/// Reads a body that is JSON.
pub fn prefix(body: &str, dialect: Dialect) -> Prefix {
    Parser::new().scope(body.as_bytes(), |document| {
        let document = document.expect("the body is JSON");
        Prefix::read(&Anatomy::read(document, dialect))
    })
}

/// A request of the Anthropic dialect in the making.
#[derive(Debug, Clone)]
pub struct Talk {
    pub model: &'static str,
    pub system: Value,
    pub tools: Vec<Value>,
    pub messages: Vec<Value>,
    /// Members on top.
    pub more: Vec<(&'static str, Value)>,
}

pub fn text(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

pub fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("{name} does what its name says, and nothing beside"),
        "input_schema": { "type": "object", "properties": { "path": { "type": "string" } } } })
}

impl Talk {
    pub fn new(first: &str) -> Self {
        Self {
            model: "claude-opus-4-6",
            system: json!([
                { "type": "text", "text": "You are an agent for tests of the cache.",
                  "cache_control": { "type": "ephemeral", "ttl": "1h" } },
            ]),
            tools: vec![tool("read"), tool("write"), tool("search")],
            messages: vec![text("user", first)],
            more: Vec::new(),
        }
    }

    /// One call and its result, long enough to be known again.
    pub fn step(&mut self, at: usize) -> &mut Self {
        let id = format!("toolu_{at:04}");
        self.messages.push(json!({ "role": "assistant", "content": [
            { "type": "text", "text": format!("Now for step {at}, which is a step like any other.") },
            { "type": "tool_use", "id": id, "name": "read", "input": { "path": format!("src/{at}.rs") } },
        ] }));
        let content = format!("fn step_{at}() {{}}\n").repeat(20);
        self.messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": content },
        ] }));
        self
    }

    pub fn say(&mut self, role: &str, what: &str) -> &mut Self {
        self.messages.push(text(role, what));
        self
    }

    /// The body as Claude Code would send it: a marker on the last block, whose string becomes an array for it.
    pub fn body(&self) -> String {
        let mut messages = self.messages.clone();
        if let Some(last) = messages.last_mut() {
            if last["content"].is_string() {
                last["content"] = json!([{ "type": "text", "text": last["content"] }]);
            }
            if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
                block["cache_control"] = json!({ "type": "ephemeral" });
            }
        }
        let mut body = json!({
            "model": self.model, "messages": messages, "system": self.system, "tools": self.tools,
            "max_tokens": 100,
        });
        for (key, value) in &self.more {
            body[*key] = value.clone();
        }
        body.to_string()
    }

    pub fn prefix(&self) -> Prefix {
        prefix(&self.body(), Dialect::AnthropicMessages)
    }
}

/// The lifetimes of the Anthropic dialect.
pub const LIVES: Lifetimes = Lifetimes::of(Dialect::AnthropicMessages);

/// Places a talk in the session `s`.
pub fn place(lineages: &mut Lineages, talk: &Talk, at_seconds: u64) -> Placement {
    lineages.place("s", &talk.prefix(), at_seconds * 1_000, &LIVES)
}
