//! A document read as a request: slices, tools, messages, blocks, marks and anomalies.
//!
//! [`Anatomy::read`] cannot fail: whatever is valid JSON gives an anatomy, and what the dialect does not
//! know is named in [`Anatomy::anomalies`]. It reads each object of the request once, skips what it does
//! not need (a tool's schema is one step, however large), and never recurses over the document.
//!
//! # Where the slices lie
//!
//! - `system`: Anthropic's `system`; Responses' `instructions`; Gemini's `systemInstruction`; the
//!   `system` and `developer` messages and items that lead an OpenAI request. A `role:"system"` message
//!   further down, and any inside Anthropic's `messages`, stays where it stands and its text is
//!   [`BlockKind::SystemText`].
//! - `tools`: the whole `tools` member, brackets included; the whole of an item that only declares tools
//!   (`additional_tools`, `mcp_list_tools`; these do not end the lead); and, cut out of the message they
//!   travel in, the definitions of a `tool_search_output` and of a `tool_addition` by value.
//! - `tail`: the last message that is neither of the above, whole. It is empty only when there is no such
//!   message: a request that holds nothing but system and tools.
//! - `history`: the messages before it.
//!
//! A run spans its members and what stands between them (commas, white space); the brackets of a list that
//! several slices share, and the comma between two slices, are envelope. A member of a type that the
//! dialect does not allow is envelope and an anomaly.
//!
//! # What the model reads in a block
//!
//! [`Block::content`] holds the values that count, strings decoded and anything else as sent:
//!
//! - text: the text. A tool call: its name and its input. A tool's answer: its texts, or, when it is an
//!   object the dialect does not take apart, that object (Gemini's `{"output":"…"}`, with one text for its
//!   only member, is that text).
//! - thinking: the thinking, not its signature. What only the provider can read (redacted thinking,
//!   encrypted reasoning and compaction) counts as it stands, for want of a better measure; encrypted
//!   reasoning not when its text is there too.
//! - images: nothing; they are in [`Block::media`] and are priced by size.
//! - documents: title, context and text. The base64 of a document is no measure of what the model reads
//!   (it sees pages): it is not content, and the document is in [`Block::media`].
//! - a block of unknown type: the whole block as sent. Ids, roles and framing: nothing.

mod anthropic;
mod chat;
mod few;
mod gemini;
mod openai;
mod reader;
mod responses;
mod types;

pub use few::{Few, Rare};
pub use types::{
    Anomaly, AnomalyKind, Block, BlockKind, CacheControl, Delta, Inner, Media, MediaForm, MediaKind, Message,
    Namespace, Role, Slice, Tool,
};

use crate::Dialect;
use crate::json::{Document, Kind, Span, Value};
use reader::Reader;

/// A request, as spans over the bytes it came in.
#[derive(Debug, Clone)]
pub struct Anatomy<'id, 'd> {
    /// The format the request was read as.
    pub dialect: Dialect,
    /// The document that was read; it turns the spans below into bytes.
    pub document: Document<'id, 'd>,
    /// The number of bytes of the body.
    pub body_bytes: usize,
    /// The model named in the body (Gemini, Bedrock and Vertex name it in the path).
    pub model: Option<Value<'id, 'd>>,
    /// Why the body is not the whole prompt, when it is not; such a body is never a total.
    pub delta: Option<Delta>,
    /// A cache marker on the request itself (automatic caching).
    pub cache_control: Option<CacheControl<'id, 'd>>,
    /// The blocks of the system slice, in order.
    pub system: Vec<Block<'id, 'd>>,
    /// The tools, in order, wherever they stand; those of a namespace follow each other.
    pub tools: Vec<Tool<'id, 'd>>,
    /// The namespaces that tools stand in. Their names and descriptions are read by the model too.
    pub namespaces: Vec<Namespace<'id, 'd>>,
    /// The messages, in order, leading system messages left out.
    pub messages: Vec<Message<'id, 'd>>,
    /// The byte ranges that make up each slice: in order, without overlap. What lies in none is envelope.
    pub runs: Vec<(Slice, Span<'id>)>,
    /// What is valid JSON and yet not what the dialect says.
    pub anomalies: Vec<Anomaly<'id>>,
    /// The blocks of all messages: one list, so that a long history is not thousands of small ones.
    blocks: Vec<Block<'id, 'd>>,
}

impl<'id, 'd> Anatomy<'id, 'd> {
    /// Reads a document as a request of `dialect`. Never fails: what does not fit is an anomaly.
    pub fn read(document: Document<'id, 'd>, dialect: Dialect) -> Self {
        let mut reader = Reader::new(document, dialect);
        let root = document.root();
        if root.kind() == Kind::Object {
            match dialect {
                Dialect::AnthropicMessages => reader.anthropic(root),
                Dialect::OpenaiChat => reader.chat(root),
                Dialect::OpenaiResponses => reader.responses(root),
                Dialect::GeminiGenerate => reader.gemini(root),
            }
        } else {
            reader.note(root, AnomalyKind::WrongType("request"));
        }
        reader.finish()
    }

    /// The bytes of one slice.
    pub fn wire_bytes(&self, slice: Slice) -> usize {
        self.runs.iter().filter(|(own, _)| *own == slice).map(|(_, span)| span.len()).sum()
    }

    /// The bytes that lie in no slice. With those of the four slices they add up to
    /// [`body_bytes`](Self::body_bytes).
    pub fn envelope_bytes(&self) -> usize {
        self.body_bytes - self.runs.iter().map(|(_, span)| span.len()).sum::<usize>()
    }

    /// What a message says, in order.
    pub fn blocks_of(&self, message: &Message<'id, 'd>) -> &[Block<'id, 'd>] {
        self.blocks.get(message.blocks.start as usize..message.blocks.end as usize).unwrap_or_default()
    }

    /// Every block with the slice it is in: the system's, then the messages', in order.
    pub fn blocks(&self) -> impl Iterator<Item = (Slice, &Block<'id, 'd>)> {
        let system = self.system.iter().map(|block| (Slice::System, block));
        let messages = self
            .messages
            .iter()
            .flat_map(|message| self.blocks_of(message).iter().map(move |block| (message.slice, block)));
        system.chain(messages)
    }

    /// Every cache marker in the order in which the provider renders the prompt: tools, system, messages
    /// (inside a tool result first, then on it), and last the one on the request.
    pub fn marks(&self) -> impl Iterator<Item = CacheControl<'id, 'd>> + '_ {
        let tools = self.tools.iter().filter_map(|tool| tool.cache_control);
        let blocks = self.blocks().flat_map(|(_, block)| {
            block.inner.iter().filter_map(|inner| inner.cache_control).chain(block.cache_control)
        });
        tools.chain(blocks).chain(self.cache_control)
    }
}
