//! The parts an anatomy is made of.

use super::few::{Few, Rare};
use crate::json::{Span, Value};
use std::fmt;
use std::ops::Range;

/// One of the four parts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slice {
    /// System prompt and developer instructions that lead the request.
    System,
    /// Every tool definition, wherever the dialect puts it.
    Tools,
    /// Every message but the most recent.
    History,
    /// The most recent message.
    Tail,
}

impl Slice {
    /// Every slice, in the order in which they are reported.
    pub const ALL: [Self; 4] = [Self::System, Self::Tools, Self::History, Self::Tail];

    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::History => "history",
            Self::Tail => "tail",
        }
    }
}

/// Why a body is not the whole prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delta {
    /// OpenAI Responses with `previous_response_id` or a `conversation`: what came before is with the provider.
    PreviousResponse,
    /// A frame of a WebSocket session.
    Frame,
    /// Parts are named by id and kept by the provider: `item_reference` items, a stored `prompt`.
    Stored,
    /// Gemini with `cachedContent`: system, tools and first contents are in a cache of the provider.
    CachedContent,
}

impl Delta {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreviousResponse => "previous_response",
            Self::Frame => "frame",
            Self::Stored => "stored",
            Self::CachedContent => "cached_content",
        }
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user; also Gemini's `function` turns and items that carry a tool's output.
    User,
    /// The model.
    Assistant,
    /// A `system` or `developer` message that does not lead the request.
    System,
    /// OpenAI chat's `tool` messages.
    Tool,
    /// Anything else, or nothing.
    Unknown,
}

impl Role {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
            Self::Unknown => "unknown",
        }
    }
}

/// One message of the wire format.
#[derive(Debug, Clone)]
pub struct Message<'id, 'd> {
    /// The whole message.
    pub value: Value<'id, 'd>,
    /// Who speaks.
    pub role: Role,
    /// [`Slice::History`], or [`Slice::Tail`] for the last.
    pub slice: Slice,
    /// Where its blocks stand among those of the anatomy, see [`Anatomy::blocks_of`](super::Anatomy::blocks_of).
    pub(super) blocks: Range<u32>,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BlockKind {
    /// Text of the system slice, of a user or of the model.
    Text,
    /// Text of a `system` or `developer` message further down.
    SystemText,
    /// A call of a tool: `tool_use`, `tool_calls[]`, `function_call`, `functionCall`. An item that carries
    /// the answer as well (`mcp_call`, `code_interpreter_call`) is one too, and its content holds both.
    ToolUse,
    /// A tool's answer: `tool_result`, a `tool` message, `function_call_output`, `functionResponse`.
    ToolResult,
    /// A reference by which a tool search names a found tool.
    ToolReference,
    /// A tool offered or withdrawn in mid-conversation (`tool_addition`, `tool_removal`). A definition it
    /// carries is in [`Anatomy::tools`](super::Anatomy::tools), not in its content.
    ToolChange,
    /// Thinking with its signature; Gemini's thought parts.
    Thinking,
    /// Thinking that only the provider can read.
    RedactedThinking,
    /// An OpenAI reasoning item; `reasoning_content` of chat messages.
    Reasoning,
    /// An image.
    Image,
    /// A document, a file, a search result.
    Document,
    /// Sound or moving pictures.
    Recording,
    /// What the provider's compaction left.
    Compaction,
    /// Something the provider keeps, named by its id.
    Reference,
    /// A sign for the provider that the model does not read: `compaction_trigger`, `fallback`, an upload.
    Control,
    /// Anything else; counted and named, never dropped.
    Unknown,
}

impl BlockKind {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::SystemText => "system_text",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
            Self::ToolReference => "tool_reference",
            Self::ToolChange => "tool_change",
            Self::Thinking => "thinking",
            Self::RedactedThinking => "redacted_thinking",
            Self::Reasoning => "reasoning",
            Self::Image => "image",
            Self::Document => "document",
            Self::Recording => "recording",
            Self::Compaction => "compaction",
            Self::Reference => "reference",
            Self::Control => "control",
            Self::Unknown => "unknown",
        }
    }
}

/// One block of a message or of the system slice.
#[derive(Debug, Clone)]
pub struct Block<'id, 'd> {
    /// What it is.
    pub kind: BlockKind,
    /// The type it names itself, where the dialect has one.
    pub type_name: Option<Value<'id, 'd>>,
    /// The whole block as it stands; for a message whose content is a plain string, that string.
    pub value: Value<'id, 'd>,
    /// The values the model reads in it, in order: strings are read decoded, anything else as sent.
    pub content: Few<Value<'id, 'd>>,
    /// Images and files in it (its own, or those inside a tool result).
    pub media: Rare<Media<'id, 'd>>,
    /// For tool calls and results: the name of the tool, where the block has one.
    pub tool_name: Option<Value<'id, 'd>>,
    /// For tool calls and results: the id that joins them.
    pub tool_id: Option<Value<'id, 'd>>,
    /// Its cache marker.
    pub cache_control: Option<CacheControl<'id, 'd>>,
    /// The blocks inside its content, when that is an array: a tool result's, a document's, a reasoning
    /// item's. Their content and media are also in `content` and `media`.
    pub inner: Rare<Inner<'id, 'd>>,
}

impl<'id, 'd> Block<'id, 'd> {
    /// The images in it; they are priced by size, never by bytes.
    pub fn images(&self) -> impl Iterator<Item = &Media<'id, 'd>> {
        self.media.iter().filter(|media| media.kind == MediaKind::Image)
    }

    /// What the model reads in one of its inner blocks: a part of `content`.
    pub fn inner_content(&self, inner: &Inner<'id, 'd>) -> &[Value<'id, 'd>] {
        self.content.get(inner.content.clone()).unwrap_or_default()
    }
}

/// A block inside another's content.
#[derive(Debug, Clone)]
pub struct Inner<'id, 'd> {
    /// What it is.
    pub kind: BlockKind,
    /// The whole inner block.
    pub value: Value<'id, 'd>,
    /// Its cache marker.
    pub cache_control: Option<CacheControl<'id, 'd>>,
    /// Which of the outer block's `content` values are its own.
    pub content: Range<usize>,
}

/// What a [`Media`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A document or any other file.
    File,
    /// Sound or moving pictures.
    Recording,
}

/// How a [`Media`] is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaForm {
    /// Bare base64.
    Base64,
    /// A `data:` URL.
    DataUrl,
    /// A URL the provider fetches.
    Url,
    /// A file the provider keeps, by its id or URI.
    FileId,
    /// None of these, or nothing.
    Unknown,
}

/// An image or a file. Its bytes are not content: base64 is never counted as text.
#[derive(Debug, Clone, Copy)]
pub struct Media<'id, 'd> {
    /// What it holds.
    pub kind: MediaKind,
    /// How it is given.
    pub form: MediaForm,
    /// The base64 text, the URL or the id. The header of an image, and so its size, is in the first bytes.
    pub source: Option<Value<'id, 'd>>,
}

/// A cache marker.
#[derive(Debug, Clone, Copy)]
pub struct CacheControl<'id, 'd> {
    /// The marker's object.
    pub value: Value<'id, 'd>,
}

impl CacheControl<'_, '_> {
    /// Whether it asks for one hour; otherwise it is five minutes.
    pub fn one_hour(&self) -> bool {
        self.value.get("ttl").is_some_and(|ttl| ttl.is_str("1h"))
    }
}

/// One tool definition of a request.
#[derive(Debug, Clone)]
pub struct Tool<'id, 'd> {
    /// The whole definition: an element of the array it stands in.
    pub value: Value<'id, 'd>,
    /// Its name; server tools without one are named by their label or `type`, Gemini's by their key.
    pub name: Option<Value<'id, 'd>>,
    /// Its description.
    pub description: Option<Value<'id, 'd>>,
    /// Its input schema (`input_schema`, `parameters`, `parametersJsonSchema`, a custom tool's `format`).
    pub schema: Option<Value<'id, 'd>>,
    /// The name of the namespace it stands in.
    pub namespace: Option<Value<'id, 'd>>,
    /// For a tool the provider defines or runs, its `type`.
    pub server_type: Option<Value<'id, 'd>>,
    /// Whether it is marked to be left out of the prompt until a search finds it. One that stands in a
    /// search's answer has been found, and is marked all the same.
    pub deferred: bool,
    /// Its cache marker.
    pub cache_control: Option<CacheControl<'id, 'd>>,
}

impl<'id, 'd> Tool<'id, 'd> {
    /// What the model reads in it: name, description and schema, as far as they are there.
    pub fn content(&self) -> impl Iterator<Item = Value<'id, 'd>> {
        [self.name, self.description, self.schema].into_iter().flatten()
    }
}

/// A group of tools under one name.
#[derive(Debug, Clone)]
pub struct Namespace<'id, 'd> {
    /// The whole namespace, its tools included.
    pub value: Value<'id, 'd>,
    /// Its name.
    pub name: Option<Value<'id, 'd>>,
    /// Its description.
    pub description: Option<Value<'id, 'd>>,
}

impl<'id, 'd> Namespace<'id, 'd> {
    /// What the model reads in it besides its tools.
    pub fn content(&self) -> impl Iterator<Item = Value<'id, 'd>> {
        [self.name, self.description].into_iter().flatten()
    }
}

/// Something valid JSON that the dialect does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly<'id> {
    /// Where.
    pub span: Span<'id>,
    /// What.
    pub kind: AnomalyKind,
}

/// The kinds of [`Anomaly`]. Names taken from the request are cut at 64 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnomalyKind {
    /// A block of a type this version does not know.
    UnknownBlock(String),
    /// A key that occurs twice; the last one counts.
    DuplicateKey(String),
    /// A member of another type than the dialect says; the name of the member.
    WrongType(&'static str),
    /// A role the dialect does not know.
    UnknownRole(String),
    /// A required member is missing.
    Missing(&'static str),
    /// A string holds half of a surrogate pair.
    LoneSurrogate,
}

impl AnomalyKind {
    /// The name of the kind used in output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UnknownBlock(_) => "unknown_block",
            Self::DuplicateKey(_) => "duplicate_key",
            Self::WrongType(_) => "wrong_type",
            Self::UnknownRole(_) => "unknown_role",
            Self::Missing(_) => "missing",
            Self::LoneSurrogate => "lone_surrogate",
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownBlock(name) => write!(f, "block of unknown type `{name}`"),
            Self::DuplicateKey(key) => write!(f, "key `{key}` occurs twice; the last one counts"),
            Self::WrongType(member) => write!(f, "`{member}` is not of the type the dialect says"),
            Self::UnknownRole(role) => write!(f, "unknown role `{role}`"),
            Self::Missing(member) => write!(f, "`{member}` is missing"),
            Self::LoneSurrogate => f.write_str("a string holds half of a surrogate pair"),
        }
    }
}
