//! The client: its conversations, its model, its tools, its marks.

use super::{Conversation, Dice, prose, tool};
use serde_json::{Value, json};

/// A model that binds thinking to what stands before it.
pub const BINDING: &str = "claude-opus-5-5";
/// One that does not.
pub const OLDER: &str = "claude-opus-4-8";

/// How large results are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// Up to 3 KB, for tests that are to be quick.
    Small,
    /// As published ([`figures::RESULT`](super::figures::RESULT)).
    Published,
    /// The upper quarter of that.
    Large,
}

/// How much a session holds of what makes it hard.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The model it begins with.
    pub model: &'static str,
    /// Whether the user goes from one model to another and back.
    pub switches_model: bool,
    /// Whether the tools change their order now and then.
    pub shuffles: bool,
    /// How large results are.
    pub sizes: Sizes,
    /// Whether the user is away now and then.
    pub idles: bool,
    /// Whether the client sets its own markers.
    pub marks: bool,
    /// Whether the model thinks.
    pub thinks: bool,
    /// Whether results hold images.
    pub images: bool,
    /// Whether the client keeps a tool out of the prompt itself until it is found.
    pub defers: bool,
    /// Whether system prompt and tools weigh what they weigh in a real agent (7 KB, and 24 tools of 43 KB, as measured with
    /// Claude Code in November 2026), or next to nothing.
    pub heavy: bool,
}

/// Nothing hard: an older model, small results, no gaps, the client's own markers.
pub const CALM: Kind = Kind {
    model: OLDER,
    switches_model: false,
    shuffles: false,
    sizes: Sizes::Small,
    idles: false,
    marks: true,
    thinks: true,
    images: true,
    defers: true,
    heavy: false,
};

/// A client with its conversations.
#[derive(Debug)]
pub struct Client {
    /// What it is like.
    pub kind: Kind,
    /// What decides for it.
    pub dice: Dice,
    /// The model that it asks now.
    pub model: &'static str,
    /// The conversation with the user.
    pub main: Conversation,
    /// Sub-agents, and whatever else shares the session.
    pub others: Vec<Conversation>,
}

/// The tools that a conversation begins with.
pub(super) fn tools(kind: &Kind) -> Vec<Value> {
    let heavy = kind.heavy;
    let own = if heavy { 2_400 } else { 300 };
    let names = ["Read", "Edit", "Bash", "mcp__git__push", "mcp__git__log", "restore"];
    let mut tools: Vec<_> = names.iter().enumerate().map(|(at, name)| tool(name, at, own)).collect();
    if kind.defers {
        tools[4]["defer_loading"] = true.into();
    }
    if heavy {
        let builtin = (0..8).map(|at| tool(&format!("Builtin{at}"), 100 + at, 2_400));
        let served = (0..10).map(|at| tool(&format!("mcp__git__command_{at}"), 200 + at, 900));
        tools.extend(builtin.chain(served));
    }
    tools
}

impl Client {
    /// The client of this seed.
    pub fn new(seed: u64, kind: Kind) -> Self {
        Self {
            kind,
            dice: Dice::new(seed),
            model: kind.model,
            main: Conversation::new(seed + 1, "Please do the work.", &kind),
            others: Vec::new(),
        }
    }

    /// A conversation: the main one, or another by its number.
    pub fn conversation(&mut self, other: Option<usize>) -> &mut Conversation {
        match other {
            Some(at) => &mut self.others[at],
            None => &mut self.main,
        }
    }

    /// A sub-agent begins.
    pub fn begin_other(&mut self) {
        let number = self.others.len() + 1;
        let seed = self.dice.below(1 << 30);
        let opening = format!("You are helper {number}. {}", prose(number, 200));
        self.others.push(Conversation::new(seed, &opening, &self.kind));
    }

    /// The body of the next request: of the main conversation, or of another.
    pub fn body(&mut self, other: Option<usize>) -> Vec<u8> {
        let (kind, model) = (self.kind, self.model);
        let own = self.conversation(other);
        if kind.shuffles && own.dice.one_in(6) {
            let at = own.dice.below(own.tools.len() as u64 - 1) as usize;
            own.tools.swap(at, at + 1);
        }
        let mut messages = own.messages.clone();
        // The client turns lone texts into strings as it likes, and marks the end.
        for message in &mut messages {
            let lone = message["content"].as_array().filter(|blocks| blocks.len() == 1);
            let text =
                lone.filter(|blocks| blocks[0]["type"] == "text").map(|blocks| blocks[0]["text"].clone());
            if let Some(text) = text
                && own.dice.one_in(2)
            {
                message["content"] = text;
            }
        }
        let mut system = json!([
            { "type": "text", "text": "You are an agent for tests." },
            { "type": "text", "text": prose(6, if kind.heavy { 7_000 } else { 3_000 }) }
        ]);
        let mut tools = own.tools.clone();
        if kind.marks {
            let mark = json!({ "type": "ephemeral" });
            let last = messages.last_mut().and_then(|message| message["content"].as_array_mut());
            if let Some(block) = last.and_then(|blocks| blocks.last_mut()) {
                block["cache_control"] = mark.clone();
            }
            system[1]["cache_control"] = mark.clone();
            let resident = tools.iter_mut().rfind(|tool| tool.get("defer_loading").is_none());
            if let Some(tool) = resident.filter(|_| own.dice.one_in(2)) {
                tool["cache_control"] = mark;
            }
        }
        let mut body = json!({
            "model": model, "max_tokens": 9_999, "messages": messages, "system": system, "tools": tools,
            "stream": true, "metadata": { "n": 1.50 }
        });
        if kind.thinks {
            body["thinking"] = json!({ "type": "adaptive" });
        }
        body.to_string().into_bytes()
    }

    /// What the user does about the model.
    pub fn choose_model(&mut self) {
        if self.kind.switches_model && self.dice.one_in(12) {
            self.model = if self.model == BINDING { OLDER } else { BINDING };
        }
    }
}
