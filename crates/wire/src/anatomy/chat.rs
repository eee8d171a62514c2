//! OpenAI Chat Completions, and the many APIs that copy it.

use super::reader::{Place, Reader, bytes_of, is_string, members};
use super::types::{AnomalyKind, Block, BlockKind, Role, Slice};
use crate::json::{Kind, Value};

impl<'id, 'd> Reader<'id, 'd> {
    pub(super) fn chat(&mut self, root: Value<'id, 'd>) {
        members!(self, root;
            model: b"model", messages: b"messages", tools: b"tools", functions: b"functions",
        );
        self.out.model = self.string(model, "model");
        self.openai_tools_member(tools, "tools");
        self.openai_tools_member(functions, "functions");
        match messages {
            Some(messages) if messages.kind() == Kind::Array => {
                self.begin_list(messages);
                let mut leading = true;
                for message in messages.elements() {
                    self.fetch_ahead(message);
                    leading = self.chat_message(message, leading);
                }
            }
            Some(messages) => self.note(messages, AnomalyKind::WrongType("messages")),
            None => self.note(root, AnomalyKind::Missing("messages")),
        }
    }

    /// Reads a message; answers whether the next one may still be of the system slice.
    fn chat_message(&mut self, value: Value<'id, 'd>, leading: bool) -> bool {
        if value.kind() != Kind::Object {
            self.stray_message(value, "messages");
            return false;
        }
        members!(self, value;
            role: b"role", content: b"content", name: b"name", tool_calls: b"tool_calls",
            function_call: b"function_call", tool_call_id: b"tool_call_id", refusal: b"refusal",
            reasoning_content: b"reasoning_content", reasoning: b"reasoning",
            reasoning_details: b"reasoning_details", cache_control: b"cache_control",
        );
        let role = self.role(value, role, |role| match role {
            b"user" => Role::User,
            b"assistant" => Role::Assistant,
            b"system" | b"developer" => Role::System,
            b"tool" | b"function" => Role::Tool,
            _ => Role::Unknown,
        });
        if role != Role::Assistant {
            self.require(value, content, "content");
        }
        if leading && role == Role::System {
            self.blocks(content, "content", Place::LEAD, Self::openai_part);
            self.say_in_system();
            self.element(Slice::System, value);
            return true;
        }
        // The texts of one thought under up to three names: the first that is there counts.
        if let Some(thought) = reasoning_content.or(reasoning).or(reasoning_details) {
            let mut block = Block::new(BlockKind::Reasoning, thought);
            self.read(&mut block, Some(thought));
            self.say(block);
        }
        if role == Role::Tool {
            let mut block = Block::new(BlockKind::ToolResult, content.unwrap_or(value));
            block.tool_id = self.string(tool_call_id, "tool_call_id");
            // The messages of the old `function` role are joined by the function's name.
            self.require(value, tool_call_id.or(name), "tool_call_id");
            block.tool_name = name.filter(is_string);
            self.result(&mut block, content, "content", Place::IN_RESULT, Self::openai_part);
            self.say(block);
        } else {
            self.blocks(content, "content", Place::of(role), Self::openai_part);
        }
        if let Some(refusal) = refusal {
            let mut block = Block::new(BlockKind::Text, refusal);
            self.read(&mut block, Some(refusal));
            self.say(block);
        }
        match tool_calls {
            Some(calls) if calls.kind() == Kind::Array => {
                for call in calls.elements() {
                    let block = self.chat_call(call);
                    self.say(block);
                }
            }
            Some(calls) => self.note(calls, AnomalyKind::WrongType("tool_calls")),
            None => {}
        }
        if let Some(call) = function_call {
            let mut block = Block::new(BlockKind::ToolUse, call);
            self.chat_function(&mut block, call);
            self.say(block);
        }
        if let Some(mark) = self.cache_control(cache_control)
            && let Some(last) = self.said().last_mut()
        {
            last.cache_control.get_or_insert(mark);
        }
        self.message(value, role);
        false
    }

    /// One of an assistant's `tool_calls`.
    fn chat_call(&mut self, value: Value<'id, 'd>) -> Block<'id, 'd> {
        let mut block = Block::new(BlockKind::ToolUse, value);
        if value.kind() != Kind::Object {
            self.note(value, AnomalyKind::WrongType("tool_calls"));
            self.read(&mut block, Some(value));
            return block;
        }
        members!(self, value; id: b"id", kind: b"type", function: b"function", custom: b"custom");
        block.type_name = self.string(kind, "type");
        block.tool_id = self.string(id, "id");
        match function.or(custom) {
            Some(call) => {
                self.require(value, id, "id");
                self.chat_function(&mut block, call);
            }
            None => self.unknown(&mut block),
        }
        block
    }

    fn chat_function(&mut self, block: &mut Block<'id, 'd>, call: Value<'id, 'd>) {
        if call.kind() != Kind::Object {
            self.note(call, AnomalyKind::WrongType("function"));
            return self.read(block, Some(call));
        }
        members!(self, call; name: b"name", arguments: b"arguments", input: b"input");
        block.tool_name = name.filter(is_string);
        let input = arguments.or(input);
        self.require(call, input, "arguments");
        self.read_text(block, name, "name");
        self.read(block, input);
    }
}

/// Whether a role of this dialect leads a request.
pub(super) fn leads(role: Value<'_, '_>) -> bool {
    matches!(&*bytes_of(role), b"system" | b"developer")
}
