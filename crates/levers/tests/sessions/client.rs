//! A client and the model it talks to: sessions that look like those of coding agents, from a seed.

use deadweight_testkit::upstream::{Call, Step, Turn};
use serde_json::{Value, json};

pub(crate) const BINDING: &str = "claude-opus-5-5";
pub(crate) const OLDER: &str = "claude-opus-4-8";

/// Numbers that only look random.
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Self(seed ^ 0x9E37_79B9_7F4A_7C15);
        dice.below(2);
        dice
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(crate) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// A text of our own, so many bytes long, that tells its number.
pub(crate) fn prose(number: usize, bytes: usize) -> String {
    let mut text = format!("Part {number}:\n");
    while text.len() < bytes {
        text.push_str("the \"quick\" brown fox — ä — looks at line ");
        text.push_str(&(text.len() * 7 + number).to_string());
        text.push('\n');
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

fn picture() -> String {
    use base64::Engine as _;
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(750u32.to_be_bytes());
    png.extend(4u32.to_be_bytes());
    png.extend([8; 40]);
    base64::engine::general_purpose::STANDARD.encode(png)
}

pub(crate) fn tool(name: &str, number: usize) -> Value {
    json!({
        "name": name,
        "description": prose(number, 300),
        "input_schema": { "type": "object", "properties": { "file_path": { "type": "string" } } }
    })
}

/// How much a session holds of what makes it hard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) model: &'static str,
    /// Whether the user goes from one model to another and back.
    pub(crate) switches_model: bool,
    /// Whether the tools change their order now and then.
    pub(crate) shuffles: bool,
    /// Whether results are large.
    pub(crate) large: bool,
    /// Whether the user is away now and then.
    pub(crate) idles: bool,
    /// Whether the client sets its own markers.
    pub(crate) marks: bool,
}

/// One conversation as the client has it.
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Value>,
    tools: Vec<Value>,
    number: usize,
    dice: Dice,
}

pub(crate) struct Client {
    pub(crate) kind: Kind,
    pub(crate) dice: Dice,
    pub(crate) model: &'static str,
    pub(crate) main: Conversation,
    /// Sub-agents, and whatever else shares the session.
    pub(crate) others: Vec<Conversation>,
}

impl Conversation {
    fn new(seed: u64, opening: &str) -> Self {
        let names = ["Read", "Edit", "Bash", "mcp__git__push", "mcp__git__log", "restore"];
        let mut tools: Vec<_> = names.iter().enumerate().map(|(at, name)| tool(name, at)).collect();
        tools[4]["defer_loading"] = true.into();
        Self {
            messages: vec![json!({ "role": "user", "content": [{ "type": "text", "text": opening }] })],
            tools,
            number: 0,
            dice: Dice::new(seed),
        }
    }

    /// What the model says now, and what the client answers.
    pub(crate) fn turn(&mut self, large: bool) -> (Turn, Vec<Value>) {
        self.number += 1;
        let (number, dice) = (self.number, &mut self.dice);
        let mut said = Turn::default();
        let mut answers = Vec::new();
        let calls = dice.below(4);
        if !dice.one_in(3) {
            said = said.then(Step::Thinking { text: prose(number, 60), signature: String::new() });
        }
        if calls == 0 || dice.one_in(2) {
            said = said.then(Step::Text(prose(number, 80)));
        }
        for at in 0..calls {
            if at > 0 && dice.one_in(4) {
                said = said.then(Step::Thinking { text: prose(number, 50), signature: String::new() });
            }
            let id = format!("toolu_{number}_{at}");
            let file = dice.below(5) as usize;
            let name = ["Read", "Read", "Edit", "Bash"][dice.below(4) as usize];
            let mut input = json!({ "file_path": format!("src/{file}.rs") });
            if dice.one_in(5) {
                input["limit"] = 20.into();
            }
            said = said.then(Step::Call(Call::new(&id, name, input)));
            let most = if large { 40_000 } else { 3_000 };
            let size = 20 + dice.below(most) as usize;
            let content = match dice.below(9) {
                0 => json!([{ "type": "text", "text": prose(number, size) }, {
                    "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": picture() }
                }]),
                1 => json!([{ "type": "tool_reference", "tool_name": "mcp__git__log" }]),
                2 => json!([{ "type": "text", "text": prose(number, size) }]),
                3 => json!(format!("start\n{}end", "the same line again\n".repeat(size / 20 + 1))),
                // The same file, unchanged.
                4 | 5 => json!(prose(file, 5_000 + file * 4_000)),
                _ => json!(prose(number + at as usize, size)),
            };
            answers.push(json!({ "type": "tool_result", "tool_use_id": id, "content": content }));
        }
        if answers.is_empty() || dice.one_in(5) {
            let text = if dice.one_in(4) { prose(7, 2_500) } else { prose(number, 50) };
            answers.push(json!({ "type": "text", "text": text }));
        }
        let mut messages = vec![json!({ "role": "user", "content": answers })];
        if dice.one_in(9) {
            messages.push(
                json!({ "role": "system", "content": [{ "type": "text", "text": prose(number, 40) }] }),
            );
        }
        (said, messages)
    }

    /// Takes the exchange into the history.
    pub(crate) fn keep(&mut self, said: &Turn, answers: Vec<Value>) {
        let content: Value = said
            .steps
            .iter()
            .map(|step| match step {
                Step::Text(text) => json!({ "type": "text", "text": text }),
                Step::Thinking { text, signature } => {
                    json!({ "type": "thinking", "thinking": text, "signature": signature })
                }
                Step::Call(call) => {
                    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input })
                }
                Step::Raw(raw) => raw.clone(),
            })
            .collect();
        self.messages.push(json!({ "role": "assistant", "content": content }));
        self.messages.extend(answers);
    }

    /// The user goes back to something said before and says something else.
    pub(crate) fn branch(&mut self) -> bool {
        let users: Vec<usize> =
            (0..self.messages.len()).filter(|at| self.messages[*at]["role"] == "user").collect();
        if users.len() < 3 {
            return false;
        }
        let at = users[users.len() - 1 - self.dice.below(3) as usize];
        self.messages.truncate(at + 1);
        let number = self.number;
        let content = self.messages[at]["content"].as_array_mut().unwrap();
        content.push(json!({ "type": "text", "text": format!("No, rather {number}.") }));
        true
    }

    /// Whether it comes near to what a model takes.
    pub(crate) fn is_long(&self) -> bool {
        let bytes: usize = self.messages.iter().map(|message| message.to_string().len()).sum();
        bytes > 400_000
    }

    /// The client sums up what was said.
    pub(crate) fn compact(&mut self) -> bool {
        if self.messages.len() < 12 {
            return false;
        }
        let summary = format!(
            "This session is being continued from a previous conversation that ran out of context. {}",
            prose(self.number, 700)
        );
        self.messages = vec![json!({ "role": "user", "content": [{ "type": "text", "text": summary }] })];
        true
    }
}

impl Client {
    pub(crate) fn new(seed: u64, kind: Kind) -> Self {
        Self {
            kind,
            dice: Dice::new(seed),
            model: kind.model,
            main: Conversation::new(seed + 1, "Please do the work."),
            others: Vec::new(),
        }
    }

    pub(crate) fn begin_other(&mut self) {
        let number = self.others.len() + 1;
        let seed = self.dice.below(1 << 30);
        self.others
            .push(Conversation::new(seed, &format!("You are helper {number}. {}", prose(number, 200))));
    }

    /// The body of the next request: of the main conversation, or of another.
    pub(crate) fn body(&mut self, other: Option<usize>) -> Vec<u8> {
        let (marks, shuffles) = (self.kind.marks, self.kind.shuffles);
        let own = match other {
            Some(at) => &mut self.others[at],
            None => &mut self.main,
        };
        if shuffles && own.dice.one_in(6) {
            let at = own.dice.below(own.tools.len() as u64 - 1) as usize;
            own.tools.swap(at, at + 1);
        }
        let mut messages = own.messages.clone();
        // The client turns lone texts into strings as it likes, and marks the end.
        for message in messages.iter_mut() {
            if let [only] = message["content"].as_array().unwrap().as_slice()
                && only["type"] == "text"
                && own.dice.one_in(2)
            {
                message["content"] = only["text"].clone();
            }
        }
        let mut system = json!([
            { "type": "text", "text": "You are an agent for tests." },
            { "type": "text", "text": prose(6, 3_000) }
        ]);
        let mut tools = own.tools.clone();
        if marks {
            if let Some(block) =
                messages.last_mut().unwrap()["content"].as_array_mut().and_then(|blocks| blocks.last_mut())
            {
                block["cache_control"] = json!({ "type": "ephemeral" });
            }
            system[1]["cache_control"] = json!({ "type": "ephemeral" });
            if own.dice.one_in(2) {
                let resident = tools.iter_mut().rfind(|tool| tool.get("defer_loading").is_none()).unwrap();
                resident["cache_control"] = json!({ "type": "ephemeral" });
            }
        }
        json!({
            "model": self.model, "max_tokens": 99, "messages": messages, "system": system, "tools": tools,
            "stream": true, "metadata": { "n": 1.50 }
        })
        .to_string()
        .into_bytes()
    }

    /// What the user does about the model.
    pub(crate) fn choose_model(&mut self) {
        if self.kind.switches_model && self.dice.one_in(12) {
            self.model = if self.model == BINDING { OLDER } else { BINDING };
        }
    }
}
