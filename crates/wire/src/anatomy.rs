//! A document read as a request: slices, tools, messages, blocks, marks and anomalies.

use crate::Dialect;
use crate::json::{Span, Value};

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

/// A request, as spans over the bytes it came in.
#[derive(Debug, Clone)]
pub struct Anatomy<'id, 'd> {
    /// The format the request was read as.
    pub dialect: Dialect,
    /// The number of bytes of the body.
    pub body_bytes: usize,
    /// The model named in the body (Gemini names it in the path).
    pub model: Option<Value<'id, 'd>>,
    /// Why the body is only what is new since an earlier request, when it is; such a body is never a total.
    pub delta: Option<Delta>,
    /// The blocks of the system slice, in order.
    pub system: Vec<Block<'id, 'd>>,
    /// The tools, in order, wherever they stand.
    pub tools: Vec<Tool<'id, 'd>>,
    /// The messages, in order, leading system messages left out.
    pub messages: Vec<Message<'id, 'd>>,
    /// The byte ranges that make up each slice: in order, without overlap. What lies in none is envelope.
    pub runs: Vec<(Slice, Span<'id>)>,
    /// What is valid JSON and yet not what the dialect says.
    pub anomalies: Vec<Anomaly<'id>>,
}

/// Why a request is only a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta {
    /// OpenAI Responses with `previous_response_id` (or a `conversation`).
    PreviousResponse,
    /// A frame of a WebSocket session.
    Frame,
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

/// One message of the wire format.
#[derive(Debug, Clone)]
pub struct Message<'id, 'd> {
    /// The whole message.
    pub value: Value<'id, 'd>,
    /// Who speaks.
    pub role: Role,
    /// [`Slice::History`], or [`Slice::Tail`] for the last.
    pub slice: Slice,
    /// What it says, in order.
    pub blocks: Vec<Block<'id, 'd>>,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BlockKind {
    /// Text of the system slice, of a user or of the model.
    Text,
    /// Text of a `system` or `developer` message further down.
    SystemText,
    /// A call of a tool: `tool_use`, `tool_calls[]`, `function_call`, `functionCall`.
    ToolUse,
    /// A tool's answer: `tool_result`, a `tool` message, `function_call_output`, `functionResponse`.
    ToolResult,
    /// A reference by which a client's own tool search names a found tool.
    ToolReference,
    /// Thinking with its signature.
    Thinking,
    /// Thinking that only the provider can read.
    RedactedThinking,
    /// An OpenAI reasoning item.
    Reasoning,
    /// An image.
    Image,
    /// A document or file.
    Document,
    /// What the provider's compaction left.
    Compaction,
    /// Anything else; counted and named, never dropped.
    Unknown,
}

/// One block of a message or of the system slice.
#[derive(Debug, Clone)]
pub struct Block<'id, 'd> {
    /// What it is.
    pub kind: BlockKind,
    /// The type it names itself, for [`BlockKind::Unknown`] (and wherever the dialect has one).
    pub type_name: Option<Value<'id, 'd>>,
    /// The whole block as it stands; for a message whose content is a plain string, that string.
    pub value: Value<'id, 'd>,
    /// The values the model reads in it, in order: strings are read decoded, anything else as sent.
    pub content: Vec<Value<'id, 'd>>,
    /// Images inside it (its own, or those in a tool result); they are priced by size, never by bytes.
    pub images: Vec<Image<'id, 'd>>,
    /// For tool calls and results: the name of the tool, where the block has one.
    pub tool_name: Option<Value<'id, 'd>>,
    /// For tool calls and results: the id that joins them.
    pub tool_id: Option<Value<'id, 'd>>,
    /// Its cache marker.
    pub cache_control: Option<CacheControl<'id, 'd>>,
    /// Blocks inside a tool result's content, when it is an array. Their content is also in `content`.
    pub inner: Vec<BlockKind>,
}

/// An image, with the bytes of its header when they are in the request.
#[derive(Debug, Clone, Copy)]
pub struct Image<'id, 'd> {
    /// The base64 text (bare, or a `data:` URL), or the URL or file id.
    pub source: Option<Value<'id, 'd>>,
}

/// A cache marker.
#[derive(Debug, Clone, Copy)]
pub struct CacheControl<'id, 'd> {
    /// The marker's object.
    pub value: Value<'id, 'd>,
    /// Whether it asks for one hour (otherwise five minutes).
    pub one_hour: bool,
}

/// One tool definition of a request.
#[derive(Debug, Clone)]
pub struct Tool<'id, 'd> {
    /// The whole definition (an element of the array it stands in).
    pub value: Value<'id, 'd>,
    /// Its name; server tools without one are named by their `type`.
    pub name: Option<Value<'id, 'd>>,
    /// Its description.
    pub description: Option<Value<'id, 'd>>,
    /// Its input schema (`input_schema`, `parameters`, `parametersJsonSchema`, a custom tool's `format`).
    pub schema: Option<Value<'id, 'd>>,
    /// The namespace it stands in.
    pub namespace: Option<Value<'id, 'd>>,
    /// For a server tool, its `type`.
    pub server_type: Option<Value<'id, 'd>>,
    /// Whether its definition is left out of the prompt until it is searched for.
    pub deferred: bool,
    /// Its cache marker.
    pub cache_control: Option<CacheControl<'id, 'd>>,
}

/// Something valid JSON that the dialect does not know.
#[derive(Debug, Clone)]
pub struct Anomaly<'id> {
    /// Where.
    pub span: Span<'id>,
    /// What.
    pub kind: AnomalyKind,
}

/// The kinds of [`Anomaly`].
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
