//! Gemini `generateContent`, on the Gemini API and on Vertex, and as Code Assist wraps it.
//!
//! The API takes every member in `camelCase` and in `snake_case`, and one part or content where it says a
//! list of them (its own documentation does so): both are read without an anomaly.

use super::reader::{Place, Reader, bytes_of, is_string, members};
use super::types::{AnomalyKind, Block, BlockKind, Delta, Media, MediaForm, MediaKind, Role, Slice, Tool};
use crate::json::{Kind, Value};

/// What a tool answered: the API wants an object there, so a text stands in it as its only member.
fn told<'id, 'd>(answer: Value<'id, 'd>) -> Value<'id, 'd> {
    let mut entries = answer.entries();
    match (entries.next(), entries.next()) {
        (Some(only), None) if is_string(&only.value) => only.value,
        _ => answer,
    }
}

impl<'id, 'd> Reader<'id, 'd> {
    pub(super) fn gemini(&mut self, root: Value<'id, 'd>) {
        members!(self, root;
            model: b"model", contents: b"contents", wrapped: b"request" | b"generateContentRequest",
            system: b"systemInstruction" | b"system_instruction", tools: b"tools",
            cached: b"cachedContent" | b"cached_content",
        );
        self.out.model = self.string(model, "model");
        match wrapped {
            Some(body) if contents.is_none() && body.kind() == Kind::Object => {
                members!(self, body;
                    model: b"model", contents: b"contents",
                    system: b"systemInstruction" | b"system_instruction", tools: b"tools",
                    cached: b"cachedContent" | b"cached_content",
                );
                self.out.model = self.out.model.or(self.string(model, "model"));
                self.gemini_body(body, contents, system, tools, cached);
            }
            _ => self.gemini_body(root, contents, system, tools, cached),
        }
    }

    fn gemini_body(
        &mut self,
        body: Value<'id, 'd>,
        contents: Option<Value<'id, 'd>>,
        system: Option<Value<'id, 'd>>,
        tools: Option<Value<'id, 'd>>,
        cached: Option<Value<'id, 'd>>,
    ) {
        if cached.is_some() {
            self.out.delta = Some(Delta::CachedContent);
        }
        match system {
            Some(system) if system.kind() == Kind::Object => {
                members!(self, system; parts: b"parts");
                self.gemini_parts(parts, Place::LEAD);
                self.say_in_system();
                self.member(Slice::System, system);
            }
            Some(system) => self.note(system, AnomalyKind::WrongType("systemInstruction")),
            None => {}
        }
        match tools {
            Some(tools) if tools.kind() == Kind::Array => {
                for tool in tools.elements() {
                    self.gemini_tool(tool);
                }
                self.member(Slice::Tools, tools);
            }
            Some(tools) if tools.kind() == Kind::Object => {
                self.gemini_tool(tools);
                self.member(Slice::Tools, tools);
            }
            Some(tools) => self.note(tools, AnomalyKind::WrongType("tools")),
            None => {}
        }
        match contents {
            Some(contents) if contents.kind() == Kind::Array => {
                self.begin_list(contents);
                for content in contents.elements() {
                    self.fetch_ahead(content);
                    self.gemini_content(content);
                }
            }
            Some(content) if content.kind() == Kind::Object => self.gemini_content(content),
            Some(contents) => self.note(contents, AnomalyKind::WrongType("contents")),
            None => self.note(body, AnomalyKind::Missing("contents")),
        }
    }

    fn gemini_content(&mut self, value: Value<'id, 'd>) {
        if value.kind() != Kind::Object {
            return self.stray_message(value, "contents");
        }
        members!(self, value; role: b"role", parts: b"parts");
        // Without a role the API takes the user's.
        let role = match role {
            None => Role::User,
            role => self.role(value, role, |role| match role {
                b"user" | b"function" => Role::User,
                b"model" => Role::Assistant,
                b"system" => Role::System,
                _ => Role::Unknown,
            }),
        };
        self.require(value, parts, "parts");
        self.gemini_parts(parts, Place::of(role));
        self.message(value, role);
    }

    fn gemini_parts(&mut self, parts: Option<Value<'id, 'd>>, place: Place) {
        match parts {
            Some(part) if part.kind() == Kind::Object => {
                let block = self.gemini_part(part, place);
                self.say(block);
            }
            parts => {
                if let Some(text) = parts.filter(is_string) {
                    self.note(text, AnomalyKind::WrongType("parts"));
                }
                self.blocks(parts, "parts", place, Self::gemini_part);
            }
        }
    }

    fn gemini_part(&mut self, value: Value<'id, 'd>, place: Place) -> Block<'id, 'd> {
        members!(self, value;
            text: b"text", thought: b"thought", call: b"functionCall" | b"function_call",
            response: b"functionResponse" | b"function_response", data: b"inlineData" | b"inline_data",
            file: b"fileData" | b"file_data", code: b"executableCode" | b"executable_code",
            result: b"codeExecutionResult" | b"code_execution_result",
            signature: b"thoughtSignature" | b"thought_signature",
        );
        let mut block = Block::new(place.text, value);
        if let Some(text) = text {
            if thought.and_then(|thought| thought.as_bool()) == Some(true) {
                block.kind = BlockKind::Thinking;
            }
            self.read_text(&mut block, Some(text), "text");
        } else if let Some(call) = call {
            block.kind = BlockKind::ToolUse;
            members!(self, call; name: b"name", id: b"id", args: b"args");
            block.tool_name = name.filter(is_string);
            block.tool_id = self.string(id, "id");
            self.read_text(&mut block, name, "name");
            self.read(&mut block, args);
        } else if let Some(response) = response {
            block.kind = BlockKind::ToolResult;
            members!(self, response; name: b"name", id: b"id", answer: b"response", parts: b"parts");
            block.tool_name = self.string(name, "name");
            block.tool_id = self.string(id, "id");
            self.read(&mut block, answer.map(told));
            if place.depth == 0 {
                self.result(&mut block, parts, "parts", Place::IN_RESULT, Self::gemini_part);
            }
        } else if let Some(media) = data.or(file) {
            members!(self, media;
                mime: b"mimeType" | b"mime_type", data: b"data", uri: b"fileUri" | b"file_uri",
            );
            let mime = mime.map(bytes_of).unwrap_or_default();
            let (own, kind) = match mime.split(|&byte| byte == b'/').next() {
                Some(b"image") => (BlockKind::Image, MediaKind::Image),
                Some(b"audio" | b"video") => (BlockKind::Recording, MediaKind::Recording),
                _ => (BlockKind::Document, MediaKind::File),
            };
            block.kind = own;
            let (form, source) = match (data, uri) {
                (Some(data), _) => (MediaForm::Base64, self.string(Some(data), "data")),
                (None, Some(uri)) => (MediaForm::FileId, self.string(Some(uri), "fileUri")),
                (None, None) => {
                    self.note(value, AnomalyKind::Missing("data"));
                    (MediaForm::Unknown, None)
                }
            };
            block.media.push(Media { kind, form, source });
        } else if let Some(code) = code {
            block.kind = BlockKind::ToolUse;
            self.read(&mut block, code.get("code").or(Some(code)));
        } else if let Some(result) = result {
            block.kind = BlockKind::ToolResult;
            self.read(&mut block, result.get("output").or(Some(result)));
        } else if signature.is_some() {
            block.kind = BlockKind::Thinking;
        } else {
            // Parts name themselves by their only key.
            block.type_name = value.entries().next().map(|entry| entry.key);
            match block.type_name {
                Some(_) => self.unknown(&mut block),
                None => self.note(value, AnomalyKind::Missing("text")),
            }
        }
        block
    }

    /// One entry of `tools`: declarations, and the provider's own tools as members with their settings.
    fn gemini_tool(&mut self, value: Value<'id, 'd>) {
        if value.kind() != Kind::Object {
            return self.stray_tool(value);
        }
        for entry in value.entries() {
            match &*bytes_of(entry.key) {
                b"functionDeclarations" | b"function_declarations" if entry.value.kind() == Kind::Array => {
                    for declaration in entry.value.elements() {
                        self.gemini_declaration(declaration);
                    }
                }
                b"functionDeclarations" | b"function_declarations" => {
                    self.note(entry.value, AnomalyKind::WrongType("functionDeclarations"));
                }
                _ => self.out.tools.push(Tool {
                    value: entry.value,
                    name: Some(entry.key),
                    description: None,
                    schema: None,
                    namespace: None,
                    server_type: Some(entry.key),
                    deferred: false,
                    cache_control: None,
                }),
            }
        }
    }

    fn gemini_declaration(&mut self, value: Value<'id, 'd>) {
        if value.kind() != Kind::Object {
            return self.stray_tool(value);
        }
        members!(self, value;
            name: b"name", description: b"description", parameters: b"parameters",
            schema: b"parametersJsonSchema" | b"parameters_json_schema",
        );
        self.require(value, name, "name");
        let tool = Tool {
            value,
            name: self.string(name, "name"),
            description: self.string(description, "description"),
            schema: schema.or(parameters),
            namespace: None,
            server_type: None,
            deferred: false,
            cache_control: None,
        };
        self.out.tools.push(tool);
    }
}
