//! One conversation: what the model says in it, what the client answers, and what becomes of the history.

use super::client::{Kind, Sizes, tools};
use super::{Dice, figures, picture, prose};
use crate::upstream::{Call, Step, Turn, anthropic_block};
use serde_json::{Value, json};

/// One conversation as the client has it.
#[derive(Debug)]
pub struct Conversation {
    /// Its history, without marks.
    pub messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) dice: Dice,
    /// Counts the model's turns.
    number: usize,
    files: Vec<File>,
}

/// A file of the project that is worked on.
#[derive(Debug)]
struct File {
    bytes: usize,
    /// Grows with each change.
    version: usize,
    /// The version that was read last; `None` when it was not read as a whole.
    read: Option<usize>,
}

/// The content that a client keeps of a turn.
pub fn content(turn: &Turn) -> Vec<Value> {
    turn.steps.iter().map(anthropic_block).collect()
}

impl Conversation {
    pub(super) fn new(seed: u64, opening: &str, kind: &Kind) -> Self {
        Self {
            messages: vec![json!({ "role": "user", "content": [{ "type": "text", "text": opening }] })],
            tools: tools(kind),
            dice: Dice::new(seed),
            number: 0,
            files: Vec::new(),
        }
    }

    /// What the model says now, and what the client answers.
    pub fn turn(&mut self, kind: &Kind) -> (Turn, Vec<Value>) {
        self.number += 1;
        let number = self.number;
        let mut said = Turn::default();
        let mut answers = Vec::new();
        let calls = match self.dice.below(100) {
            0..12 => 0,
            12..84 => 1,
            84..96 => 2,
            96..99 => 3,
            _ => 4,
        };
        if kind.thinks && !self.dice.one_in(3) {
            said = said.then(thought(number, 60));
        }
        if calls == 0 || self.dice.one_in(2) {
            let bytes = self.length(kind, &figures::SAID, 80);
            said = said.then(Step::Text(prose(number, bytes)));
        }
        for at in 0..calls {
            if kind.thinks && at > 0 && self.dice.one_in(4) {
                said = said.then(thought(number, 50));
            }
            let id = format!("toolu_{number}_{at}");
            let (name, input, content) = self.call(kind, number * 10 + at);
            said = said.then(Step::Call(Call::new(&id, name, input)));
            answers.push(json!({ "type": "tool_result", "tool_use_id": id, "content": content }));
        }
        if answers.is_empty() || self.dice.one_in(6) {
            // What an agent puts before the model again and again is the same each time.
            let text = if self.dice.one_in(4) { prose(7, 2_500) } else { prose(number, 50) };
            answers.push(json!({ "type": "text", "text": text }));
        }
        let mut messages = vec![json!({ "role": "user", "content": answers })];
        if self.dice.one_in(12) {
            let text = prose(number, 40);
            messages.push(json!({ "role": "system", "content": [{ "type": "text", "text": text }] }));
        }
        (said, messages)
    }

    fn length(&mut self, kind: &Kind, figure: &figures::Figure, small: u64) -> usize {
        let bytes = match kind.sizes {
            Sizes::Small => 20 + self.dice.below(small),
            Sizes::Published => figure.draw(&mut self.dice),
            Sizes::Large => figure.draw_above(750, &mut self.dice),
        };
        bytes as usize
    }

    /// A call: the tool, what it is called with, what it answers.
    fn call(&mut self, kind: &Kind, number: usize) -> (&'static str, Value, Value) {
        match self.dice.below(100) {
            0..20 => self.read(kind),
            20..32 if !self.files.is_empty() => {
                let at = self.files.len() - 1 - self.dice.below(self.files.len().min(6) as u64) as usize;
                self.files[at].version += 1;
                let bytes = self.length(kind, &figures::SAID, 80);
                let input = json!({ "file_path": path(at), "new_string": prose(number, bytes) });
                ("Edit", input, json!(format!("{} has been changed.", path(at))))
            }
            32..35 if kind.defers => {
                let found = json!([{ "type": "tool_reference", "tool_name": "mcp__git__log" }]);
                ("Bash", json!({ "command": format!("find tools {number}") }), found)
            }
            _ => {
                let bytes = self.length(kind, &figures::RESULT, 3_000);
                let text = if self.dice.one_in(12) {
                    format!("start\n{}end", "the same line again\n".repeat(bytes / 20 + 1))
                } else {
                    prose(number, bytes)
                };
                let content = match self.dice.below(10) {
                    0 if kind.images => json!([{ "type": "text", "text": text }, {
                        "type": "image",
                        "source": { "type": "base64", "media_type": "image/png", "data": picture(1_000) }
                    }]),
                    1 | 2 => json!([{ "type": "text", "text": text }]),
                    _ => json!(text),
                };
                ("Bash", json!({ "command": format!("make step-{number}") }), content)
            }
        }
    }

    fn read(&mut self, kind: &Kind) -> (&'static str, Value, Value) {
        let known = self.files.len() as u64;
        let changed = self.files.iter().rposition(|file| file.read.is_some_and(|read| read < file.version));
        let at = match self.dice.below(100) {
            // Nothing happened to it since.
            0..8 if known > 0 => self.dice.below(known) as usize,
            8..45 if changed.is_some() => changed.unwrap_or_default(),
            _ => {
                let bytes = self.length(kind, &figures::RESULT, 9_000);
                self.files.push(File { bytes, version: 0, read: None });
                self.files.len() - 1
            }
        };
        let part = self.dice.below(10) < 3;
        let file = &mut self.files[at];
        let text = prose((at + 1) * 1_000 + file.version, file.bytes);
        if part {
            let from = text.floor_char_boundary(text.len() / 3);
            let input = json!({ "file_path": path(at), "offset": from / 50, "limit": 200 });
            return ("Read", input, json!(text[from..]));
        }
        file.read = Some(file.version);
        ("Read", json!({ "file_path": path(at) }), json!(text))
    }

    /// Takes the exchange into the history: what the model said, as content, and what the client answers.
    pub fn keep(&mut self, said: Vec<Value>, answers: Vec<Value>) {
        self.messages.push(json!({ "role": "assistant", "content": said }));
        self.messages.extend(answers);
    }

    /// The user goes back to something said before and says something else.
    pub fn branch(&mut self) -> bool {
        let users: Vec<usize> =
            (0..self.messages.len()).filter(|at| self.messages[*at]["role"] == "user").collect();
        if users.len() < 3 {
            return false;
        }
        let at = users[users.len() - 1 - self.dice.below(3) as usize];
        self.messages.truncate(at + 1);
        let text = format!("No, rather {}.", self.number);
        if let Some(content) = self.messages[at]["content"].as_array_mut() {
            content.push(json!({ "type": "text", "text": text }));
        }
        true
    }

    /// How many bytes its history has.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.to_string().len()).sum()
    }

    /// The client sums up what was said.
    pub fn compact(&mut self) -> bool {
        if self.messages.len() < 12 {
            return false;
        }
        let summary = format!(
            "This session is being continued from a previous conversation that ran out of context. {}",
            prose(self.number, 700)
        );
        self.messages = vec![json!({ "role": "user", "content": [{ "type": "text", "text": summary }] })];
        // What stood in it is gone, so it is read anew.
        self.files.clear();
        true
    }
}

fn thought(number: usize, bytes: usize) -> Step {
    Step::Thinking { text: prose(number, bytes), signature: String::new() }
}

fn path(file: usize) -> String {
    format!("src/{file}.rs")
}
