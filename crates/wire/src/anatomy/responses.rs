//! OpenAI Responses: over HTTP, and the frames of its WebSocket.

use super::chat::leads;
use super::reader::{Place, Reader, bytes_of, is_string, members};
use super::types::{AnomalyKind, Block, BlockKind, Delta, Media, MediaForm, MediaKind, Role, Slice};
use crate::json::{Kind, Value};

impl<'id, 'd> Reader<'id, 'd> {
    pub(super) fn responses(&mut self, root: Value<'id, 'd>) {
        let mut body = root;
        if let Some(kind) = root.get("type").filter(is_string)
            && bytes_of(kind).starts_with(b"response.")
        {
            self.out.delta = Some(Delta::Frame);
            // The fields stand in the frame itself; older clients have them in `response`.
            if let Some(inside) = root.get("response").filter(|inside| inside.kind() == Kind::Object) {
                body = inside;
            }
        }
        members!(self, body;
            model: b"model", instructions: b"instructions", input: b"input", tools: b"tools",
            previous: b"previous_response_id", conversation: b"conversation", prompt: b"prompt",
        );
        self.out.model = self.string(model, "model");
        if previous.or(conversation).is_some() {
            self.out.delta.get_or_insert(Delta::PreviousResponse);
        } else if prompt.is_some() {
            self.out.delta.get_or_insert(Delta::Stored);
        }
        if model.is_none() && self.out.delta.is_none() {
            self.note(body, AnomalyKind::Missing("model"));
        }
        if let Some(instructions) = self.string(instructions, "instructions") {
            let mut block = Block::new(BlockKind::Text, instructions);
            self.read(&mut block, Some(instructions));
            self.say(block);
            self.say_in_system();
            self.member(Slice::System, instructions);
        }
        self.openai_tools_member(tools, "tools");
        match input {
            Some(input) if input.kind() == Kind::String => {
                self.blocks(Some(input), "input", Place::of(Role::User), Self::openai_part);
                self.message(input, Role::User);
            }
            Some(input) if input.kind() == Kind::Array => {
                self.begin_list(input);
                let mut leading = true;
                for item in input.elements() {
                    self.fetch_ahead(item);
                    leading = self.item(item, leading);
                }
            }
            Some(input) => self.note(input, AnomalyKind::WrongType("input")),
            None if self.out.delta.is_none() => self.note(body, AnomalyKind::Missing("input")),
            None => {}
        }
    }

    /// Reads an item; answers whether the next one may still be of the system slice.
    fn item(&mut self, value: Value<'id, 'd>, leading: bool) -> bool {
        if value.kind() != Kind::Object {
            self.stray_message(value, "input");
            return false;
        }
        members!(self, value;
            kind: b"type", role: b"role", content: b"content", name: b"name", call_id: b"call_id", id: b"id",
            arguments: b"arguments", input: b"input", output: b"output", tools: b"tools",
            label: b"server_label", summary: b"summary", encrypted: b"encrypted_content",
            action: b"action", actions: b"actions", operation: b"operation", code: b"code",
            queries: b"queries", outputs: b"outputs", results: b"results", result: b"result",
            error: b"error", reason: b"reason",
        );
        let type_name = self.string(kind, "type");
        let kind = match (type_name, role) {
            (Some(kind), _) => bytes_of(kind),
            (None, Some(_)) => b"message".into(),
            (None, None) => Vec::new().into(),
        };
        let mut block = Block::new(BlockKind::ToolUse, value);
        block.type_name = type_name;
        block.tool_id = call_id.or(id).filter(is_string);
        let mut speaker = Role::Assistant;
        if matches!(&*kind, b"function_call" | b"custom_tool_call") {
            self.require(value, name, "name");
            self.require(value, call_id, "call_id");
            self.require(value, arguments.or(input), "arguments");
        } else if matches!(&*kind, b"function_call_output" | b"custom_tool_call_output") {
            self.require(value, call_id, "call_id");
            self.require(value, output, "output");
        }
        match &*kind {
            b"message" => {
                let role = self.item_role(value, role);
                self.require(value, content, "content");
                if leading && role == Role::System {
                    self.blocks(content, "content", Place::LEAD, Self::openai_part);
                    self.say_in_system();
                    self.element(Slice::System, value);
                    return true;
                }
                self.blocks(content, "content", Place::of(role), Self::openai_part);
                self.message(value, role);
                return false;
            }
            b"agent_message" => {
                self.blocks(content, "content", Place::of(speaker), Self::openai_part);
                self.message(value, speaker);
                return false;
            }
            b"additional_tools" | b"mcp_list_tools" => {
                match tools {
                    Some(tools) if tools.kind() == Kind::Array => self.openai_tools(tools.elements(), label),
                    _ => self.note(value, AnomalyKind::Missing("tools")),
                }
                self.element(Slice::Tools, value);
                return leading;
            }
            b"reasoning" => {
                block.kind = BlockKind::Reasoning;
                self.result(&mut block, summary, "summary", Place::IN_RESULT, Self::openai_part);
                self.result(&mut block, content, "content", Place::IN_RESULT, Self::openai_part);
                let told = content.is_some_and(|content| content.elements().next().is_some());
                if !told {
                    self.read(&mut block, encrypted);
                }
            }
            b"compaction" | b"compaction_summary" | b"context_compaction" => {
                block.kind = BlockKind::Compaction;
                self.read(&mut block, encrypted.or(content).or(summary));
            }
            b"compaction_trigger" => {
                block.kind = BlockKind::Control;
                speaker = Role::User;
            }
            // The type of a reference may be left out.
            b"item_reference" | b"" if id.is_some() && value.entries().nth(2).is_none() => {
                block.kind = BlockKind::Reference;
                self.out.delta.get_or_insert(Delta::Stored);
                speaker = Role::Unknown;
            }
            b"mcp_approval_response" => {
                block.kind = BlockKind::ToolResult;
                self.read(&mut block, reason);
                speaker = Role::User;
            }
            b"image_generation_call" => {
                let form = MediaForm::Base64;
                let source = self.string(result, "result");
                block.media.push(Media { kind: MediaKind::Image, form, source });
            }
            b"shell_call_output" => {
                block.kind = BlockKind::ToolResult;
                self.read(&mut block, output);
                speaker = Role::User;
            }
            b"tool_search_output" => {
                block.kind = BlockKind::ToolResult;
                speaker = Role::User;
                if let Some(tools) = tools.filter(|tools| tools.kind() == Kind::Array) {
                    self.openai_tools(tools.elements(), None);
                    self.cut.push(tools.span());
                } else {
                    self.note(value, AnomalyKind::Missing("tools"));
                }
            }
            other if other.ends_with(b"_output") => {
                block.kind = BlockKind::ToolResult;
                block.tool_name = name.filter(is_string);
                speaker = Role::User;
                match output {
                    Some(output) if output.kind() == Kind::Object => {
                        let inner = self.openai_part(output, Place::IN_RESULT);
                        self.absorb(&mut block, &inner);
                    }
                    output => self.result(&mut block, output, "output", Place::IN_RESULT, Self::openai_part),
                }
            }
            other if other.ends_with(b"_call") || matches!(other, b"mcp_approval_request" | b"program") => {
                block.tool_name = name.filter(is_string);
                let asked = [name, arguments, input, action, actions, operation, code, queries];
                for part in asked.into_iter().flatten() {
                    self.read(&mut block, Some(part));
                }
                for part in [output, error, results].into_iter().flatten() {
                    self.read(&mut block, Some(part));
                }
                self.result(&mut block, outputs, "outputs", Place::IN_RESULT, Self::openai_part);
            }
            _ => {
                self.unknown(&mut block);
                speaker = Role::Unknown;
            }
        }
        self.say(block);
        self.message(value, speaker);
        false
    }

    fn item_role(&mut self, item: Value<'id, 'd>, role: Option<Value<'id, 'd>>) -> Role {
        if role.is_some_and(leads) {
            return Role::System;
        }
        self.role(item, role, |role| match role {
            b"user" => Role::User,
            b"assistant" => Role::Assistant,
            _ => Role::Unknown,
        })
    }
}
