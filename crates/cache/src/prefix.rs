//! A request as a chain of hashes, in the order in which providers render it: tools, system, messages.
//!
//! The hashes are of what is meant: what neither the model nor the cache looks at is left out (markers, white space,
//! escapes, string or one text block, the billing header; see the crate's `canon`), so that a conversation that was only
//! continued is seen to be continued although its bytes changed. For the bytes as they stand there are the hashes of whole
//! bodies in receipts.
//!
//! The chain over messages depends on messages alone: the hash at a message is that of everything said up to and with
//! it, whatever the model, the tools and the system prompt are. It is what a conversation is recognised by and what
//! decisions about it are kept under.
//!
//! | segment | what changes its hash |
//! |---|---|
//! | [`tools`](Prefix::tools) | each tool its own: any member but `cache_control`, its namespace |
//! | [`deferred`](Prefix::deferred) | the same for tools outside the rendered prefix (`defer_loading`) |
//! | [`system`](Prefix::system) | each block its own: any member but `cache_control`; not the billing header |
//! | [`settings`](Prefix::settings) | Anthropic: `tool_choice`, `thinking` without its `block_binding` |
//! | [`messages`](Prefix::messages) | any member of a message, a block or an inner block but `cache_control` |

use crate::canon::{Canon, Plain};
use crate::hash::Digest;
use crate::summary;
use deadweight_estimate::image::{anthropic_tokens, size_of_base64};
use deadweight_estimate::{Estimated, Surface, SurfaceRatios, Tokens, calibrated};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Block, BlockKind, MediaForm, Message, Role, Tool};
use deadweight_wire::json::{Kind, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// How many messages, tools and system blocks are read at most. Of a longer request the rest is left out and
/// [`Prefix::whole`] says so.
pub const MAX_PARTS: usize = 32_768;

/// A tool or a block of the system slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its normalised hash.
    pub hash: Digest,
    /// A tool's name, cut at 128 characters; `None` for a block.
    pub name: Option<Box<str>>,
    /// What it weighs (ESTIMATED, `calibrated`). Rounded down for each part, so that the sum can lie below the slice's.
    pub tokens: Tokens<Estimated>,
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The hash of this message alone: equal messages have equal ones wherever they stand.
    pub own: Digest,
    /// The hash of all messages up to and with this one.
    pub chain: Digest,
    /// How many blocks the messages up to and with this one have.
    pub blocks: u32,
    /// What the messages up to and with this one weigh (ESTIMATED, `calibrated`).
    pub tokens: Tokens<Estimated>,
    /// Whether it says enough (32 bytes of content) that its equal elsewhere is no coincidence.
    pub telling: bool,
}

/// Where a cache marker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a tool: its index in [`Prefix::tools`].
    Tool(u32),
    /// On a block of the system slice.
    System(u32),
    /// On a block of a message, or inside it.
    Message {
        /// The index of the message.
        message: u32,
        /// The index of the block in it.
        block: u32,
    },
    /// On the request itself: automatic caching, which marks the last block.
    Request,
}

/// A cache marker (Anthropic's `cache_control`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Where it stands.
    pub place: Place,
    /// The index of the marked block, counted through resident tools, system blocks and blocks of messages.
    pub index: u32,
    /// What the request weighs up to and with that block (ESTIMATED, `calibrated`).
    pub tokens: Tokens<Estimated>,
    /// Whether it asks for an hour; else it is five minutes.
    pub hour: bool,
}

/// A request as a chain of hashes with sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// The request's dialect.
    pub dialect: Dialect,
    /// The model the body names, cut at 128 characters. Where the path names it, the caller puts it here.
    pub model: Option<Box<str>>,
    /// The tools that are rendered, namespaces among them, in order.
    pub tools: Vec<Part>,
    /// The tools marked to be left out until a search finds them. What comes and goes here costs no cache.
    pub deferred: Vec<Part>,
    /// What all rendered tools weigh (ESTIMATED, `calibrated`).
    pub tools_tokens: Tokens<Estimated>,
    /// The hash of the settings that the cache of the messages hangs on; constant where there are none.
    pub settings: Digest,
    /// The blocks of the system slice, in order.
    pub system: Vec<Part>,
    /// What the system slice weighs (ESTIMATED, `calibrated`).
    pub system_tokens: Tokens<Estimated>,
    /// The messages, in order. What leads an OpenAI request as `system` or `developer` is in `system`.
    pub messages: Vec<Link>,
    /// The cache markers, in the order of the prompt.
    pub marks: Vec<Mark>,
    /// Whether the messages only follow on what the provider keeps (`previous_response_id`, a conversation), so that
    /// their chain says nothing about what came before.
    pub partial: bool,
    /// Whether the model has already spoken in it.
    pub answered: bool,
    /// Whether it begins with the summary of a compacted history, in the words of a known agent or as a block of the
    /// provider's compaction.
    pub summarised: bool,
    /// The index of the message that holds that summary.
    pub summary: Option<u32>,
    /// Whether all of it was read; see [`MAX_PARTS`].
    pub whole: bool,
}

impl Prefix {
    /// Reads a request: one pass, nothing copied but short names.
    #[must_use]
    pub fn read(anatomy: &Anatomy<'_, '_>) -> Self {
        Reader::new(anatomy).read()
    }

    /// The hash of the whole conversation: that of its last message. `None` without messages.
    #[must_use]
    pub fn chain(&self) -> Option<Digest> {
        self.messages.last().map(|link| link.chain)
    }

    /// What the whole request weighs (ESTIMATED, `calibrated`).
    #[must_use]
    pub fn tokens(&self) -> Tokens<Estimated> {
        let messages = self.messages.last().map_or(Tokens::ZERO, |link| link.tokens);
        self.tools_tokens + self.system_tokens + messages
    }

    /// The hash of the rendered tools in their order.
    #[must_use]
    pub fn tools_hash(&self) -> Digest {
        hash_of("tools", &self.tools)
    }

    /// The hash of the system slice.
    #[must_use]
    pub fn system_hash(&self) -> Digest {
        hash_of("system", &self.system)
    }

    /// A key for the session of a request whose client names none: system prompt and first message.
    #[must_use]
    pub fn session(&self) -> Digest {
        let first = self.messages.first().map_or([0; 32], |link| *link.own.as_bytes());
        Digest::of_parts("session", &[self.system_hash().as_bytes(), &first])
    }
}

fn hash_of(purpose: &str, parts: &[Part]) -> Digest {
    let hashes: Vec<u8> = parts.iter().flat_map(|part| *part.hash.as_bytes()).collect();
    Digest::of_parts(purpose, &[&hashes])
}

/// What the model reads in a value, in bytes.
fn content_len(value: Value<'_, '_>) -> u64 {
    value.decoded_len().unwrap_or_else(|| value.span().len()) as u64
}

/// A running weight: bytes of text and of definitions, and tokens of images.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    bytes: u64,
    definitions: u64,
    images: u64,
}

impl Weight {
    fn tokens(&self, ratios: &SurfaceRatios) -> u64 {
        let definitions = ratios.of(Surface::ToolDefinition).floor(self.definitions);
        ratios.of(Surface::Prose).floor(self.bytes) + definitions + self.images
    }

    fn add(&mut self, block: &Block<'_, '_>) {
        self.bytes += block.content.iter().map(|&value| content_len(value)).sum::<u64>();
        for image in block.images() {
            let size = match image.form {
                MediaForm::Base64 | MediaForm::DataUrl => {
                    image.source.and_then(|source| size_of_base64(&source.as_str()?))
                }
                _ => None,
            };
            self.images += anthropic_tokens(size).get();
        }
    }
}

struct Reader<'a, 'id, 'd> {
    anatomy: &'a Anatomy<'id, 'd>,
    canon: Canon<'id, 'd>,
    ratios: SurfaceRatios,
    marks: Vec<Mark>,
    /// Blocks and tokens that came before.
    blocks: u32,
    tokens: u64,
    whole: bool,
}

impl<'a, 'id, 'd> Reader<'a, 'id, 'd> {
    fn new(anatomy: &'a Anatomy<'id, 'd>) -> Self {
        let ratios = calibrated().ratios();
        Self { anatomy, canon: Canon::new(), ratios, marks: Vec::new(), blocks: 0, tokens: 0, whole: true }
    }

    fn read(mut self) -> Prefix {
        let anatomy = self.anatomy;
        let summary = summarising(anatomy);
        let (tools, deferred) = self.tools();
        let tools_tokens = self.tokens;
        let system = self.system();
        let system_tokens = self.tokens - tools_tokens;
        let settings = self.settings();
        let messages = self.messages();
        if let Some(mark) = anatomy.cache_control
            && self.blocks > 0
        {
            self.mark(Place::Request, self.blocks - 1, self.tokens, mark.one_hour());
        }
        Prefix {
            dialect: anatomy.dialect,
            model: anatomy.model.map(name),
            tools,
            deferred,
            tools_tokens: Tokens::new(tools_tokens),
            settings,
            system,
            system_tokens: Tokens::new(system_tokens),
            messages,
            marks: self.marks,
            partial: partial(anatomy),
            answered: anatomy.messages.iter().any(|message| message.role == Role::Assistant),
            summarised: summary.is_some(),
            summary,
            whole: self.whole,
        }
    }

    fn mark(&mut self, place: Place, index: u32, tokens: u64, hour: bool) {
        self.marks.push(Mark { place, index, tokens: Tokens::new(tokens), hour });
    }

    /// How many of `count` are read.
    fn bounded(&mut self, count: usize) -> usize {
        self.whole &= count <= MAX_PARTS;
        count.min(MAX_PARTS)
    }

    fn tools(&mut self) -> (Vec<Part>, Vec<Part>) {
        let anatomy = self.anatomy;
        let (mut resident, mut deferred) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        let ratio = self.ratios.of(Surface::ToolDefinition);
        for space in anatomy.namespaces.iter().filter(|space| !in_messages(anatomy, space.value)) {
            self.canon.begin(Plain::None, false, std::iter::empty());
            self.canon.label(space.name);
            self.canon.label(space.description);
            let own: u64 = space.content().map(content_len).sum();
            bytes += own;
            resident.push(Part {
                hash: self.canon.end(),
                name: space.name.map(name),
                tokens: Tokens::new(ratio.floor(own)),
            });
        }
        let count = self.bounded(anatomy.tools.len());
        for tool in anatomy.tools.iter().take(count).filter(|tool| !in_messages(anatomy, tool.value)) {
            let own: u64 = tool.content().map(content_len).sum();
            let part = Part {
                hash: self.tool(tool),
                name: tool.name.map(name),
                tokens: Tokens::new(ratio.floor(own)),
            };
            if tool.deferred {
                deferred.push(part);
                continue;
            }
            bytes += own;
            if let Some(mark) = tool.cache_control {
                let index = resident.len() as u32;
                self.mark(Place::Tool(index), index, ratio.floor(bytes), mark.one_hour());
            }
            resident.push(part);
        }
        self.blocks = resident.len() as u32;
        self.tokens = ratio.floor(bytes);
        (resident, deferred)
    }

    fn tool(&mut self, tool: &Tool<'id, 'd>) -> Digest {
        self.canon.begin(Plain::None, false, std::iter::once(tool.value));
        self.canon.label(tool.namespace);
        self.canon.label(tool.name);
        self.canon.value(tool.value);
        self.canon.end()
    }

    fn system(&mut self) -> Vec<Part> {
        let anatomy = self.anatomy;
        let plain = match anatomy.dialect {
            Dialect::OpenaiResponses => Plain::Input,
            dialect => plain(dialect, Role::System),
        };
        let before = self.tokens;
        let mut weight = Weight::default();
        let count = self.bounded(anatomy.system.len());
        let mut parts = Vec::with_capacity(count);
        for (index, block) in anatomy.system.iter().take(count).enumerate() {
            let start = weight;
            weight.add(block);
            self.canon.begin(plain, true, places_of(block));
            self.canon.block(block.value);
            let own = Weight {
                bytes: weight.bytes - start.bytes,
                images: weight.images - start.images,
                ..Weight::default()
            };
            parts.push(Part {
                hash: self.canon.end(),
                name: None,
                tokens: Tokens::new(own.tokens(&self.ratios)),
            });
            let tokens = before + weight.tokens(&self.ratios);
            self.marks_of(block, Place::System(index as u32), self.blocks, tokens);
            self.blocks += 1;
        }
        self.tokens = before + weight.tokens(&self.ratios);
        parts
    }

    /// The markers on a block and inside it; they count as one place, an hour if one of them says so.
    fn marks_of(&mut self, block: &Block<'_, '_>, place: Place, index: u32, tokens: u64) {
        let marks = block.inner.iter().filter_map(|inner| inner.cache_control).chain(block.cache_control);
        if let Some(hour) = marks.map(|mark| mark.one_hour()).reduce(|one, other| one | other) {
            self.mark(place, index, tokens, hour);
        }
    }

    fn messages(&mut self) -> Vec<Link> {
        let anatomy = self.anatomy;
        let (before, head) = (self.tokens, self.blocks);
        let mut definitions = definitions_in_messages(anatomy).into_iter().peekable();
        let mut waiting = waiting(anatomy);
        let mut weight = Weight::default();
        let mut chain = Digest::from_bytes([0; 32]);
        let count = self.bounded(anatomy.messages.len());
        let mut links = Vec::with_capacity(count);
        for (at, message) in anatomy.messages.iter().take(count).enumerate() {
            let start = weight;
            let end = message.value.span().end();
            while let Some((_, bytes)) = definitions.next_if(|(at, _)| *at < end) {
                weight.definitions += bytes;
            }
            for (index, block) in anatomy.blocks_of(message).iter().enumerate() {
                weight.add(block);
                if !waiting.is_empty() {
                    weight.definitions += found(block, &mut waiting);
                }
                let place = Place::Message { message: at as u32, block: index as u32 };
                let tokens = before + weight.tokens(&self.ratios);
                self.marks_of(block, place, self.blocks, tokens);
                self.blocks += 1;
            }
            let own = self.message(message);
            chain = Digest::chain(&chain, &own);
            links.push(Link {
                own,
                chain,
                blocks: self.blocks - head,
                tokens: Tokens::new(weight.tokens(&self.ratios)),
                telling: weight.bytes + weight.images - start.bytes - start.images >= 32,
            });
        }
        self.tokens = before + weight.tokens(&self.ratios);
        links
    }

    fn message(&mut self, message: &Message<'id, 'd>) -> Digest {
        let blocks = self.anatomy.blocks_of(message);
        let places = std::iter::once(message.value).chain(blocks.iter().flat_map(places_of));
        let header = message.role == Role::System;
        self.canon.begin(plain(self.anatomy.dialect, message.role), header, places);
        self.canon.message(message.value);
        self.canon.end()
    }

    /// What the cache of the messages hangs on besides them (Anthropic's documentation of what invalidates what).
    fn settings(&mut self) -> Digest {
        self.canon.begin(Plain::None, false, std::iter::empty());
        if self.anatomy.dialect == Dialect::AnthropicMessages {
            let root = self.anatomy.document.root();
            let is = |value: &Value<'_, '_>, kind: &str| {
                value.get("type").is_some_and(|own| own.is_str(kind)) && value.entries().count() == 1
            };
            // What is the default anyway is the same as nothing.
            let choice = root.get("tool_choice").filter(|choice| !choice.is_null() && !is(choice, "auto"));
            let thinking = root.get("thinking").filter(|own| !own.is_null() && !is(own, "disabled"));
            if let Some(choice) = choice {
                self.canon.value(choice);
            }
            let members = thinking.into_iter().flat_map(|thinking| thinking.entries());
            for entry in members.filter(|entry| !entry.key.is_str("block_binding")) {
                self.canon.label(Some(entry.key));
                self.canon.value(entry.value);
            }
        }
        self.canon.end()
    }
}

/// Where the definitions start that stand in messages, and how many bytes of each the model reads: what a search found, what
/// was added in mid-conversation. They are in the prompt where they stand.
fn definitions_in_messages(anatomy: &Anatomy<'_, '_>) -> Vec<(usize, u64)> {
    let tools = anatomy.tools.iter().map(|tool| (tool.value, tool.content().map(content_len).sum()));
    let spaces = anatomy.namespaces.iter().map(|space| (space.value, space.content().map(content_len).sum()));
    let mut all: Vec<_> = tools
        .chain(spaces)
        .filter(|(value, _)| in_messages(anatomy, *value))
        .map(|(value, bytes)| (value.span().start(), bytes))
        .collect();
    all.sort_unstable();
    all
}

/// The deferred tools of the tools slice by name, and how many bytes of each the model reads once it is found.
fn waiting<'d>(anatomy: &Anatomy<'_, 'd>) -> HashMap<Cow<'d, str>, u64> {
    let deferred = anatomy.tools.iter().filter(|tool| tool.deferred && !in_messages(anatomy, tool.value));
    deferred.filter_map(|tool| Some((tool.name?.as_str()?, tool.content().map(content_len).sum()))).collect()
}

/// The bytes of the deferred tools that a block names for the first time: from there on they are in the prompt.
fn found(block: &Block<'_, '_>, waiting: &mut HashMap<Cow<'_, str>, u64>) -> u64 {
    let own = block.tool_name.filter(|_| match block.kind {
        BlockKind::ToolReference => true,
        BlockKind::ToolChange => block.type_name.is_some_and(|name| name.is_str("tool_addition")),
        _ => false,
    });
    let inner = block.inner.iter().filter(|inner| inner.kind == BlockKind::ToolReference);
    let names = own.into_iter().chain(inner.flat_map(|inner| block.inner_content(inner).iter().copied()));
    names.filter_map(|name| waiting.remove(&*name.as_str()?)).sum()
}

/// Whether a definition stands inside a message: then it is a part of that message.
fn in_messages<'id>(anatomy: &Anatomy<'id, '_>, value: Value<'id, '_>) -> bool {
    let at = value.span().start();
    let messages = &anatomy.messages;
    let after = messages.partition_point(|message| message.value.span().start() <= at);
    let before = after.checked_sub(1).and_then(|last| messages.get(last));
    before.is_some_and(|message| at < message.value.span().end())
}

/// The objects of a block that can carry a marker.
fn places_of<'b, 'id, 'd>(
    block: &'b Block<'id, 'd>,
) -> impl Iterator<Item = Value<'id, 'd>> + use<'b, 'id, 'd> {
    let own = std::iter::once(block.value).filter(|value| value.kind() == Kind::Object);
    own.chain(block.inner.iter().map(|inner| inner.value))
}

/// What a plain string stands for where it is the content of a message.
const fn plain(dialect: Dialect, role: Role) -> Plain {
    match (dialect, role) {
        (Dialect::AnthropicMessages | Dialect::OpenaiChat, _) => Plain::Text,
        (Dialect::OpenaiResponses, Role::Assistant) => Plain::Output,
        (Dialect::OpenaiResponses, _) => Plain::Input,
        (Dialect::GeminiGenerate, _) => Plain::None,
    }
}

fn name(value: Value<'_, '_>) -> Box<str> {
    let text = value.as_str().unwrap_or_else(|| value.raw().into());
    match text.char_indices().nth(128) {
        Some((end, _)) => text[..end].into(),
        None => text.into(),
    }
}

/// Whether the body follows on what the provider keeps.
fn partial(anatomy: &Anatomy<'_, '_>) -> bool {
    if anatomy.dialect != Dialect::OpenaiResponses {
        return false;
    }
    let root = anatomy.document.root();
    [Some(root), root.get("response")].into_iter().flatten().any(|body| {
        ["previous_response_id", "conversation"]
            .into_iter()
            .any(|key| body.get(key).is_some_and(|value| !value.is_null()))
    })
}

/// The message before the model's first words that holds the summary of a compacted history.
fn summarising(anatomy: &Anatomy<'_, '_>) -> Option<u32> {
    // Codex keeps what the user said in front of the summary: a few messages, never many.
    for (at, message) in anatomy.messages.iter().enumerate().take(64) {
        for block in anatomy.blocks_of(message) {
            let opens = match block.kind {
                BlockKind::Compaction => true,
                BlockKind::Text if message.role == Role::User => {
                    block.content.first().and_then(Value::as_str).is_some_and(|text| summary::opens(&text))
                }
                _ => false,
            };
            if opens {
                return Some(at as u32);
            }
        }
        if message.role == Role::Assistant {
            return None;
        }
    }
    None
}
