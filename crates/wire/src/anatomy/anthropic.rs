//! Anthropic Messages, also as Bedrock and Vertex carry it.
//!
//! Source of the block types: the provider's API reference, read in November 2026.

use super::reader::{Place, Reader, bytes_of, is_string, members};
use super::types::{AnomalyKind, Block, BlockKind, Media, MediaForm, MediaKind, Role, Slice, Tool};
use crate::json::{Kind, Value};

impl<'id, 'd> Reader<'id, 'd> {
    pub(super) fn anthropic(&mut self, root: Value<'id, 'd>) {
        members!(self, root;
            model: b"model", system: b"system", messages: b"messages", tools: b"tools",
            cache_control: b"cache_control", version: b"anthropic_version",
        );
        self.out.model = self.string(model, "model");
        if model.is_none() && version.is_none() {
            // Bedrock and Vertex name the model in the path and say so by `anthropic_version`.
            self.note(root, AnomalyKind::Missing("model"));
        }
        self.out.cache_control = self.cache_control(cache_control);
        match system {
            Some(system) if matches!(system.kind(), Kind::String | Kind::Array) => {
                self.blocks(Some(system), "system", Place::LEAD, Self::anthropic_block);
                self.say_in_system();
                self.member(Slice::System, system);
            }
            Some(system) => self.note(system, AnomalyKind::WrongType("system")),
            None => {}
        }
        match tools {
            Some(tools) if tools.kind() == Kind::Array => {
                self.member(Slice::Tools, tools);
                self.out.tools.reserve(tools.elements().count());
                for tool in tools.elements() {
                    self.anthropic_tool(tool);
                }
            }
            Some(tools) => self.note(tools, AnomalyKind::WrongType("tools")),
            None => {}
        }
        match messages {
            Some(messages) if messages.kind() == Kind::Array => {
                self.begin_list(messages);
                for message in messages.elements() {
                    self.fetch_ahead(message);
                    self.anthropic_message(message);
                }
            }
            Some(messages) => self.note(messages, AnomalyKind::WrongType("messages")),
            None => self.note(root, AnomalyKind::Missing("messages")),
        }
    }

    fn anthropic_message(&mut self, value: Value<'id, 'd>) {
        if value.kind() != Kind::Object {
            return self.stray_message(value, "messages");
        }
        members!(self, value; role: b"role", content: b"content");
        let role = self.role(value, role, |role| match role {
            b"user" => Role::User,
            b"assistant" => Role::Assistant,
            b"system" => Role::System,
            _ => Role::Unknown,
        });
        self.require(value, content, "content");
        self.blocks(content, "content", Place::of(role), Self::anthropic_block);
        self.message(value, role);
    }

    fn anthropic_tool(&mut self, value: Value<'id, 'd>) {
        if value.kind() != Kind::Object {
            return self.stray_tool(value);
        }
        members!(self, value;
            kind: b"type", name: b"name", description: b"description", schema: b"input_schema",
            defer_loading: b"defer_loading", cache_control: b"cache_control",
            server_name: b"mcp_server_name", default_config: b"default_config",
        );
        let server_type = self.string(kind, "type").filter(|kind| !kind.is_str("custom"));
        let name = self.string(name, "name").or(server_name).or(server_type);
        self.require(value, name, "name");
        let default_deferred = default_config.and_then(|config| config.get("defer_loading"));
        let tool = Tool {
            value,
            name,
            description: self.string(description, "description"),
            schema,
            namespace: None,
            server_type,
            deferred: self.flag(defer_loading.or(default_deferred), "defer_loading"),
            cache_control: self.cache_control(cache_control),
        };
        self.out.tools.push(tool);
    }

    fn anthropic_block(&mut self, value: Value<'id, 'd>, place: Place) -> Block<'id, 'd> {
        members!(self, value;
            kind: b"type", text: b"text", name: b"name", id: b"id", tool_use_id: b"tool_use_id",
            input: b"input", content: b"content", source: b"source", thinking: b"thinking", data: b"data",
            title: b"title", context: b"context", tool_name: b"tool_name", tool: b"tool",
            tool_changes: b"tool_changes", cache_control: b"cache_control",
        );
        let mut block = Block::new(BlockKind::Text, value);
        block.type_name = self.string(kind, "type");
        block.cache_control = self.cache_control(cache_control);
        let Some(type_name) = block.type_name else {
            self.unknown(&mut block);
            return block;
        };
        match &*bytes_of(type_name) {
            b"text" => {
                block.kind = place.text;
                self.read_text(&mut block, text, "text");
            }
            b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => {
                block.kind = BlockKind::ToolUse;
                block.tool_name = name.filter(is_string);
                block.tool_id = self.string(id, "id");
                self.require(value, id, "id");
                self.require(value, input, "input");
                self.read_text(&mut block, name, "name");
                self.read(&mut block, input);
            }
            b"tool_result" | b"mcp_tool_result" if place.depth == 0 => {
                block.kind = BlockKind::ToolResult;
                block.tool_id = self.string(tool_use_id, "tool_use_id");
                self.require(value, tool_use_id, "tool_use_id");
                self.result(&mut block, content, "content", Place::IN_RESULT, Self::anthropic_block);
            }
            b"thinking" => {
                block.kind = BlockKind::Thinking;
                self.read_text(&mut block, thinking, "thinking");
            }
            b"redacted_thinking" => {
                block.kind = BlockKind::RedactedThinking;
                self.read_text(&mut block, data, "data");
            }
            b"image" => {
                block.kind = BlockKind::Image;
                let media = self.anthropic_source(value, source, MediaKind::Image);
                block.media.push(media);
            }
            b"document" => {
                block.kind = BlockKind::Document;
                self.read(&mut block, title);
                self.read(&mut block, context);
                self.anthropic_document(&mut block, source, place);
            }
            b"search_result" if place.depth < 2 => {
                block.kind = BlockKind::Document;
                self.read(&mut block, title);
                self.read(&mut block, source);
                self.result(&mut block, content, "content", Place::IN_DOCUMENT, Self::anthropic_block);
            }
            b"tool_reference" => {
                block.kind = BlockKind::ToolReference;
                block.tool_name = tool_name.filter(is_string);
                self.read_text(&mut block, tool_name, "tool_name");
            }
            b"tool_addition" | b"tool_removal" => {
                block.kind = BlockKind::ToolChange;
                block.tool_name = self.anthropic_tool_change(&mut block, tool);
            }
            b"compaction" => {
                block.kind = BlockKind::Compaction;
                self.read(&mut block, content);
                for change in tool_changes.into_iter().flat_map(|changes| changes.elements()) {
                    let tool = change.get("tool");
                    self.anthropic_tool_change(&mut block, tool);
                }
            }
            // The state of a browser: the provider renders text from it.
            b"browser_state" => self.read(&mut block, Some(value)),
            b"container_upload" | b"fallback" => block.kind = BlockKind::Control,
            other if other.ends_with(b"_tool_result") && place.depth == 0 => {
                block.kind = BlockKind::ToolResult;
                block.tool_id = self.string(tool_use_id, "tool_use_id");
                self.anthropic_server_result(&mut block, content);
            }
            _ => self.unknown(&mut block),
        }
        block
    }

    /// What a tool of the provider answered: blocks, or one object, of which documents and references are
    /// taken apart and the rest is counted as sent.
    fn anthropic_server_result(&mut self, block: &mut Block<'id, 'd>, content: Option<Value<'id, 'd>>) {
        let Some(content) = content else { return };
        if content.kind() != Kind::Object {
            return self.read(block, Some(content));
        }
        members!(self, content;
            kind: b"type", document: b"content", url: b"url", references: b"tool_references",
        );
        let kind = kind.map(bytes_of).unwrap_or_default();
        match (&*kind, document, references) {
            (b"web_fetch_result", Some(document), _) if document.kind() == Kind::Object => {
                self.read(block, url);
                let inner = self.anthropic_block(document, Place::IN_RESULT);
                self.absorb(block, &inner);
            }
            (b"tool_search_tool_search_result", _, Some(references)) => {
                self.result(
                    block,
                    Some(references),
                    "tool_references",
                    Place::IN_RESULT,
                    Self::anthropic_block,
                );
            }
            _ => self.read(block, Some(content)),
        }
    }

    /// A tool named, or defined, in mid-conversation; answers its name.
    fn anthropic_tool_change(
        &mut self,
        block: &mut Block<'id, 'd>,
        tool: Option<Value<'id, 'd>>,
    ) -> Option<Value<'id, 'd>> {
        let Some(tool) = tool.filter(|tool| tool.kind() == Kind::Object) else {
            self.note(block.value, AnomalyKind::Missing("tool"));
            return None;
        };
        members!(self, tool; name: b"name", server_name: b"server_name", definition: b"definition");
        if let Some(definition) = definition {
            self.cut.push(definition.span());
            self.anthropic_tool(definition);
            return self.out.tools.last().and_then(|tool| tool.name);
        }
        self.read(block, server_name);
        self.read(block, name);
        name.or(server_name)
    }

    fn anthropic_document(
        &mut self,
        block: &mut Block<'id, 'd>,
        source: Option<Value<'id, 'd>>,
        place: Place,
    ) {
        let Some(source) = source.filter(|source| source.kind() == Kind::Object) else {
            return self.note(block.value, AnomalyKind::Missing("source"));
        };
        let media = self.anthropic_source(block.value, Some(source), MediaKind::File);
        let kind = source.get("type").map(bytes_of).unwrap_or_default();
        match &*kind {
            b"text" => self.read(block, media.source),
            b"content" => match source.get("content") {
                Some(content) if content.kind() == Kind::Array && place.depth < 2 => {
                    for element in content.elements() {
                        let inner = self.block(element, "content", Place::IN_DOCUMENT, Self::anthropic_block);
                        self.absorb(block, &inner);
                    }
                }
                content => self.read(block, content),
            },
            _ => block.media.push(media),
        }
    }

    /// The source of an image or a document.
    fn anthropic_source(
        &mut self,
        at: Value<'id, 'd>,
        source: Option<Value<'id, 'd>>,
        kind: MediaKind,
    ) -> Media<'id, 'd> {
        let Some(source) = source.filter(|source| source.kind() == Kind::Object) else {
            self.note(at, AnomalyKind::Missing("source"));
            return Media { kind, form: MediaForm::Unknown, source: None };
        };
        members!(self, source;
            form: b"type", data: b"data", url: b"url", file_id: b"file_id",
        );
        let form = form.map(bytes_of).unwrap_or_default();
        let (form, source) = match &*form {
            b"base64" => (MediaForm::Base64, self.string(data, "data")),
            b"url" => return self.media_by_url(source, kind, url),
            b"file" => (MediaForm::FileId, self.string(file_id, "file_id")),
            _ => (MediaForm::Unknown, data.or(url).or(file_id)),
        };
        Media { kind, form, source }
    }
}
