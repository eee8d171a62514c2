//! An Anthropic request, read into what the rules speak of: tools, system blocks, messages and their blocks.

use super::super::json::Json;
use super::super::rules::Rule;
use super::super::verdict::Refusal;

/// A request whose members are of the right kinds.
pub(crate) struct Prompt<'a> {
    pub(crate) body: &'a Json<'a>,
    pub(crate) model: &'a str,
    pub(crate) tools: &'a [Json<'a>],
    pub(crate) system: Vec<Block<'a>>,
    pub(crate) messages: Vec<Message<'a>>,
    betas: Vec<String>,
}

/// One message as it stands in the array.
pub(crate) struct Message<'a> {
    pub(crate) role: &'a str,
    pub(crate) json: &'a Json<'a>,
    pub(crate) blocks: Vec<Block<'a>>,
}

/// One content block; a string counts as one text block.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    Text(&'a str),
    Json(&'a Json<'a>),
}

impl<'a> Block<'a> {
    pub(crate) fn kind(&self) -> &'a str {
        match self {
            Self::Text(_) => "text",
            Self::Json(json) => json.kind(),
        }
    }

    /// The text of a text block.
    pub(crate) fn text(&self) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => json.word("text"),
        }
    }

    pub(crate) fn get(&self, key: &str) -> &'a Json<'a> {
        match self {
            Self::Text(_) => &super::super::json::NOTHING,
            Self::Json(json) => json.get(key),
        }
    }

    pub(crate) fn is_thinking(&self) -> bool {
        matches!(self.kind(), "thinking" | "redacted_thinking")
    }

    /// What is hashed of it: without marks, a string like the text block it stands for.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Json(json) => json.write(out, Some("cache_control")),
            Self::Text(text) => {
                let members = vec![
                    ("type".into(), Json::Text("text".into())),
                    ("text".into(), Json::Text((*text).into())),
                ];
                Json::Object(members).write(out, None);
            }
        }
    }
}

fn blocks<'a>(content: &'a Json<'a>, path: &str) -> Result<Vec<Block<'a>>, Refusal> {
    match content {
        Json::Text(text) => Ok(vec![Block::Text(text)]),
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                if item.kind().is_empty() {
                    return Err(shape(&format!("{path}.{at}.type"), "Field required"));
                }
            }
            Ok(items.iter().map(Block::Json).collect())
        }
        Json::Null => Err(shape(path, "Field required")),
        _ => Err(shape(path, "Input should be a valid list")),
    }
}

pub(crate) fn shape(path: &str, what: &str) -> Refusal {
    Refusal::new(Rule::Shape, format!("{path}: {what}"))
}

impl<'a> Prompt<'a> {
    /// Reads `body`. `model` is the one that the path names, where the body does not. `counting` lets the members be
    /// missing that only a generation needs.
    pub(crate) fn read(
        body: &'a Json<'a>,
        model: &'a str,
        headers: &[(String, String)],
        counting: bool,
    ) -> Result<Self, Refusal> {
        let model = body.get("model").text().unwrap_or(model);
        if model.is_empty() {
            return Err(shape("model", "Field required"));
        }
        if !counting && body.get("max_tokens").number().is_none() {
            return Err(shape("max_tokens", "Field required"));
        }
        let Json::Array(given) = body.get("messages") else {
            return Err(shape("messages", "Field required"));
        };
        let mut messages = Vec::with_capacity(given.len());
        for (at, json) in given.iter().enumerate() {
            let role = json.word("role");
            if !matches!(role, "user" | "assistant" | "system") {
                return Err(shape(&format!("messages.{at}.role"), "Input should be 'user' or 'assistant'"));
            }
            let blocks = blocks(json.get("content"), &format!("messages.{at}.content"))?;
            messages.push(Message { role, json, blocks });
        }
        if messages.is_empty() {
            return Err(shape("messages", "at least one message is required"));
        }
        let system = match body.get("system") {
            Json::Null => Vec::new(),
            content => blocks(content, "system")?,
        };
        let tools = match body.get("tools") {
            Json::Null => &[],
            Json::Array(tools) => tools.as_slice(),
            _ => return Err(shape("tools", "Input should be a valid list")),
        };
        Ok(Self { body, model, tools, system, messages, betas: betas(headers, body) })
    }

    /// Whether the request carries this beta.
    pub(crate) fn has_beta(&self, name: &str) -> bool {
        self.betas.iter().any(|own| own == name)
    }

    /// Every block of every message, with the numbers of message and block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (usize, usize, &Block<'a>)> {
        self.messages.iter().enumerate().flat_map(|(message, own)| {
            own.blocks.iter().enumerate().map(move |(at, block)| (message, at, block))
        })
    }
}

/// The betas of all `anthropic-beta` headers, and those that clouds take in the body.
fn betas(headers: &[(String, String)], body: &Json<'_>) -> Vec<String> {
    let named = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("anthropic-beta"));
    let from_headers = named.flat_map(|(_, value)| value.split(',')).map(|beta| beta.trim().to_owned());
    let in_body = body.get("anthropic_beta").items().iter().filter_map(|beta| beta.text().map(str::to_owned));
    from_headers.chain(in_body).filter(|beta| !beta.is_empty()).collect()
}

/// The names of tools that a block refers to, wherever in it they stand.
pub(crate) fn references<'a>(json: &'a Json<'a>, found: &mut Vec<&'a str>) {
    match json.kind() {
        "tool_reference" => {
            let name = json.word("tool_name");
            found.push(if name.is_empty() { json.word("name") } else { name });
        }
        "tool_result" => json.get("content").items().iter().for_each(|item| references(item, found)),
        "tool_search_tool_result" => {
            json.get("content")
                .get("tool_references")
                .items()
                .iter()
                .for_each(|item| references(item, found));
        }
        "tool_addition" | "tool_removal" => references(json.get("tool"), found),
        _ => {}
    }
}
