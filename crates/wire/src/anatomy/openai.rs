//! What Chat Completions and Responses share: tools in all their forms, and the parts of a content array.
//! Gateways mix the two, so either form is read in either dialect.
//!
//! Source: the provider's API reference and the requests of real clients, November 2026.

use super::reader::{Place, Reader, bytes_of, is_string, members};
use super::types::{AnomalyKind, Block, BlockKind, Media, MediaForm, MediaKind, Namespace, Slice, Tool};
use crate::json::{Elements, Kind, Value};

impl<'id, 'd> Reader<'id, 'd> {
    /// A `tools` member of the request.
    pub(super) fn openai_tools_member(&mut self, tools: Option<Value<'id, 'd>>, member: &'static str) {
        let Some(tools) = tools else { return };
        if tools.kind() != Kind::Array {
            return self.note(tools, AnomalyKind::WrongType(member));
        }
        self.openai_tools(tools.elements(), None);
        self.member(Slice::Tools, tools);
    }

    /// Tools and namespaces of tools. Namespaces may nest as deep as the document does: a list of open
    /// ones stands in for recursion.
    pub(super) fn openai_tools(&mut self, tools: Elements<'id, 'd>, namespace: Option<Value<'id, 'd>>) {
        let mut open = vec![(tools, namespace)];
        while let Some((tools, namespace)) = open.last_mut() {
            let namespace = *namespace;
            match tools.next() {
                Some(tool) => {
                    if let Some(inside) = self.openai_tool(tool, namespace) {
                        open.push(inside);
                    }
                }
                None => {
                    open.pop();
                }
            }
        }
    }

    /// One entry: a tool, or a namespace whose tools are still to be read.
    fn openai_tool(
        &mut self,
        value: Value<'id, 'd>,
        namespace: Option<Value<'id, 'd>>,
    ) -> Option<(Elements<'id, 'd>, Option<Value<'id, 'd>>)> {
        if value.kind() != Kind::Object {
            self.stray_tool(value);
            return None;
        }
        members!(self, value;
            kind: b"type", function: b"function", custom: b"custom", name: b"name",
            description: b"description" | b"server_description", parameters: b"parameters",
            input_schema: b"input_schema", format: b"format", tools: b"tools", label: b"server_label",
            defer_loading: b"defer_loading", cache_control: b"cache_control",
        );
        let kind = self.string(kind, "type");
        let kind_name = kind.map(bytes_of).unwrap_or_default();
        if &*kind_name == b"namespace" {
            let name = self.string(name, "name");
            let description = self.string(description, "description");
            self.out.namespaces.push(Namespace { value, name, description });
            let Some(tools) = tools.filter(|tools| tools.kind() == Kind::Array) else {
                self.note(value, AnomalyKind::Missing("tools"));
                return None;
            };
            return Some((tools.elements(), name));
        }
        let mut tool = Tool {
            value,
            name: None,
            description: self.string(description, "description"),
            schema: parameters.or(input_schema).or(format),
            namespace,
            server_type: None,
            deferred: self.flag(defer_loading, "defer_loading"),
            cache_control: self.cache_control(cache_control),
        };
        let mut name = self.string(name, "name");
        match (&*kind_name, function.or(custom)) {
            (b"function" | b"custom" | b"", Some(nested)) if nested.kind() == Kind::Object => {
                members!(self, nested;
                    inner_name: b"name", description: b"description", parameters: b"parameters",
                    format: b"format", defer_loading: b"defer_loading",
                );
                name = self.string(inner_name, "name");
                tool.description = self.string(description, "description");
                tool.schema = parameters.or(format);
                tool.deferred |= self.flag(defer_loading, "defer_loading");
            }
            (b"function" | b"custom", _) => {}
            // `mcp_list_tools` and the old `functions` hold definitions without a type.
            (b"", _) => {
                if kind.is_some() || name.is_none() {
                    self.note(value, AnomalyKind::Missing("type"));
                }
            }
            _ => {
                tool.server_type = kind;
                name = name.or(label).or(kind);
            }
        }
        self.require(value, name, "name");
        tool.name = name;
        self.out.tools.push(tool);
        None
    }

    /// A part of a content array, or of an item's summary or output.
    pub(super) fn openai_part(&mut self, value: Value<'id, 'd>, place: Place) -> Block<'id, 'd> {
        members!(self, value;
            kind: b"type", text: b"text", refusal: b"refusal", image_url: b"image_url", file: b"file",
            file_data: b"file_data", file_url: b"file_url", file_id: b"file_id", url: b"url",
            audio: b"input_audio", video: b"video_url", logs: b"logs", filename: b"filename",
            encrypted: b"encrypted_content", cache_control: b"cache_control",
        );
        let mut block = Block::new(place.text, value);
        block.type_name = self.string(kind, "type");
        block.cache_control = self.cache_control(cache_control);
        let kind = block.type_name.map(bytes_of).unwrap_or_default();
        match &*kind {
            b"text" | b"input_text" | b"output_text" | b"summary_text" | b"reasoning_text" => {
                self.read_text(&mut block, text, "text");
            }
            b"refusal" => self.read_text(&mut block, refusal, "refusal"),
            b"logs" => self.read_text(&mut block, logs, "logs"),
            b"image_url" | b"input_image" | b"computer_screenshot" | b"image" => {
                block.kind = BlockKind::Image;
                let media = self.openai_media(value, MediaKind::Image, image_url.or(url), file_id);
                block.media.push(media);
            }
            b"input_audio" | b"video_url" => {
                block.kind = BlockKind::Recording;
                let kind = MediaKind::Recording;
                let media = match audio.and_then(|audio| audio.get("data")) {
                    Some(data) => Media { kind, form: MediaForm::Base64, source: Some(data) },
                    None => self.openai_media(value, kind, video.or(audio), file_id),
                };
                block.media.push(media);
            }
            b"input_file" => {
                block.kind = BlockKind::Document;
                self.read(&mut block, filename);
                let media = self.openai_media(value, MediaKind::File, file_data.or(file_url), file_id);
                block.media.push(media);
            }
            b"file" => {
                block.kind = BlockKind::Document;
                let file = file.unwrap_or(value);
                members!(self, file; data: b"file_data", id: b"file_id", filename: b"filename");
                self.read(&mut block, filename);
                let media = self.openai_media(value, MediaKind::File, data, id);
                block.media.push(media);
            }
            b"encrypted_content" => {
                block.kind = BlockKind::Reasoning;
                self.read_text(&mut block, encrypted, "encrypted_content");
            }
            _ => self.unknown(&mut block),
        }
        block
    }

    /// An image or file given by a URL (bare, or in an object as chat has it), by a `data:` URL or by its id.
    fn openai_media(
        &mut self,
        at: Value<'id, 'd>,
        kind: MediaKind,
        url: Option<Value<'id, 'd>>,
        file_id: Option<Value<'id, 'd>>,
    ) -> Media<'id, 'd> {
        let url = match url {
            Some(object) if object.kind() == Kind::Object => object.get("url"),
            url => url,
        };
        match (url, file_id.filter(is_string)) {
            (None, Some(id)) => Media { kind, form: MediaForm::FileId, source: Some(id) },
            (url, _) => self.media_by_url(at, kind, url),
        }
    }
}
