//! Anthropic Messages: every rule in turn, then the bill.

mod betas;
mod context;
mod marks;
mod prompt;
mod shape;
mod thinking;
mod tools;

use std::collections::HashMap;

use serde_json::Value;

use super::account::Account;
use super::cache::{Cache, Hash, hash};
use super::json::Json;
use super::measure;
use super::models::{Model, model};
use super::rules::Rule;
use super::verdict::{Accepted, Dialect, Refusal, Request, Ticket};
use crate::upstream::{Step, Turn, anthropic_block};
use context::Shown;
use marks::{Mark, Marks};
use prompt::{Block, Prompt, references};
use thinking::{Origin, Sent, Signatures};

pub(super) use tools::is_name;

/// How many blocks a breakpoint looks at, itself among them.
const LOOK_BACK: usize = 20;
const LONG_CONTEXT: &str = "context-1m-2025-08-07";
/// The start of the block that a client changes on every request, and that the provider takes out before it looks.
const NONCE: &str = "x-anthropic-billing-header:";

/// What is remembered between Anthropic requests, the cache apart.
#[derive(Debug, Default)]
pub(super) struct Anthropic {
    signatures: Signatures,
    /// Of responses whose request had diagnostics on, by message id.
    seen: HashMap<String, Segments>,
}

/// The hashes of a prompt's parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Segments {
    model: String,
    tools: Hash,
    system: Hash,
    /// After each block of the messages.
    messages: Vec<Hash>,
}

/// A block in the order in which the model reads.
struct Place {
    /// What is hashed of it.
    hash: Hash,
    tokens: u64,
    /// Message and block, when it stands in the messages.
    at: Option<(usize, usize)>,
}

/// The prompt as it is read: tools, system, messages.
struct Rendered<'p, 'a> {
    places: Vec<Place>,
    /// The first place of the messages.
    messages: usize,
    tools: Hash,
    system: Hash,
    /// What a response to this request is bound to.
    bound: Hash,
    thinking: Vec<Sent<'p, 'a>>,
    marks: Marks,
    last_markable: Option<usize>,
}

impl Anthropic {
    /// Judges one request. `path_model` is the model that the path names, if it does.
    pub(super) fn judge(
        &mut self,
        cache: &mut Cache,
        account: &Account,
        request: &Request<'_>,
        body: &Json<'_>,
        path_model: &str,
        number: u64,
    ) -> Result<Accepted, Refusal> {
        let counting = request.path.contains("count_tokens") || request.path.contains("count-tokens");
        let prompt = Prompt::read(body, path_model, request.headers, counting)?;
        let own = model(prompt.model);
        let mismatch = betas::check(&prompt)?;
        if counting {
            betas::countable(&prompt)?;
        }
        let named = tools::check(&prompt, account)?;
        shape::check(&prompt, &own)?;
        let mut rendered = render(&prompt, &named)?;
        let marks = std::mem::take(&mut rendered.marks).finish(&prompt, rendered.last_markable)?;
        let outcome =
            thinking::check(&prompt, &own, account, mismatch, &self.signatures, &rendered.thinking)?;
        let reports_thinking = prompt.has_beta(betas::BINDING_BETA);
        let (shown, applied_edits) = context::shown(&prompt, &rendered, &outcome.dropped);
        let chain = chain(&prompt, &rendered, &shown);
        let total = chain.last().map_or(0, |end| end.1);
        let window = if prompt.has_beta(LONG_CONTEXT) { own.window_with_beta } else { own.window };
        if !counting && total > window {
            let message = format!("prompt is too long: {total} tokens > {window} maximum");
            return Err(Refusal::new(Rule::PromptTooLong, message));
        }
        let mut writes = Vec::new();
        let usage = if counting {
            super::bill::Usage { input: total, ..Default::default() }
        } else {
            charge(cache, &own, request.at, &chain, &marks, &mut writes)
        };
        let cache_miss = if counting { None } else { self.diagnose(&prompt, &rendered, number) };
        let ticket = Ticket {
            number,
            dialect: Dialect::Anthropic,
            model: prompt.model.to_owned(),
            counting,
            reports_thinking,
            usage,
            writes,
            bound: rendered.bound,
            thinking: outcome.numbers,
        };
        Ok(Accepted {
            ticket,
            usage,
            bill: usage.bill(&own),
            thinking: outcome.transformed,
            applied_edits,
            cache_miss,
        })
    }

    /// Signs the thinking of a response, and gives its tokens.
    pub(super) fn answer(&mut self, ticket: &Ticket, turn: &mut Turn) -> u64 {
        let is_thought = |step: &Step| match step {
            Step::Thinking { .. } => true,
            Step::Raw(block) => block["type"] == "redacted_thinking",
            _ => false,
        };
        let of = turn.steps.iter().filter(|step| is_thought(step)).count() as u32;
        let (mut said, mut before) = (nothing_said(), ticket.thinking.clone());
        let mut tokens = 0;
        for step in &mut turn.steps {
            let bound = hash(&[&ticket.bound, &said]);
            let origin = Origin { model: &ticket.model, response: ticket.number, of, bound, before: &before };
            match step {
                Step::Thinking { text, signature } => {
                    let (number, made) = self.signatures.sign("thinking", text, origin);
                    *signature = made;
                    before.push(number);
                }
                Step::Raw(block) if block["type"] == "redacted_thinking" => {
                    let (number, made) = self.signatures.sign("redacted_thinking", "", origin);
                    block["data"] = Value::String(made);
                    before.push(number);
                }
                Step::Text(_) | Step::Call(_) | Step::Raw(_) => {}
            }
            let text = anthropic_block(step).to_string();
            if let Ok(json) = Json::read(text.as_bytes()) {
                let block = Block::Json(&json);
                if !block.is_thinking() {
                    said = say(&said, &block);
                }
                tokens += measure::block(&json, &|_| 0);
            }
        }
        tokens
    }

    /// The provider's word on why the cache missed, against the message that the request names.
    fn diagnose(
        &mut self,
        prompt: &Prompt<'_>,
        rendered: &Rendered<'_, '_>,
        number: u64,
    ) -> Option<&'static str> {
        let asked = prompt.body.get("diagnostics");
        if asked.is_null() {
            return None;
        }
        let mut end = [0; 32];
        let messages = rendered.places[rendered.messages..].iter().map(|place| {
            end = hash(&[&end, &place.hash]);
            end
        });
        let now = Segments {
            model: prompt.model.to_owned(),
            tools: rendered.tools,
            system: rendered.system,
            messages: messages.collect(),
        };
        let reason = asked.get("previous_message_id").text().and_then(|id| match self.seen.get(id) {
            None => Some("previous_message_not_found"),
            Some(then) if then.model != now.model => Some("model_changed"),
            Some(then) if then.tools != now.tools => Some("tools_changed"),
            Some(then) if then.system != now.system => Some("system_changed"),
            Some(then) if !now.messages.starts_with(&then.messages) => Some("messages_changed"),
            Some(_) => None,
        });
        self.seen.insert(format!("msg_{number:08x}"), now);
        reason
    }
}

/// What is hashed of a block: its own form and, where it refers to tools, their definitions.
fn block_hash(block: &Block<'_>, named: &HashMap<&str, &Json<'_>>, buffer: &mut Vec<u8>) -> Hash {
    buffer.clear();
    block.write(buffer);
    if let Block::Json(json) = block {
        let mut found = Vec::new();
        references(json, &mut found);
        for tool in found.iter().filter_map(|name| named.get(name)) {
            tool.write(buffer, Some("cache_control"));
        }
    }
    hash(&[buffer])
}

/// What a response has said before it says anything.
fn nothing_said() -> Hash {
    hash(&[b"said"])
}

/// What a response has said when it has said `block` as well. By its meaning: how a client spells what it was just told is its
/// own affair, and becomes what was sent with the next request.
fn say(said: &Hash, block: &Block<'_>) -> Hash {
    let mut buffer = block.kind().as_bytes().to_vec();
    match block.kind() {
        "text" => buffer.extend(block.text().as_bytes()),
        "tool_use" => ["id", "name", "input"].iter().for_each(|key| block.get(key).meaning(&mut buffer)),
        _ => {
            if let Block::Json(json) = block {
                json.meaning(&mut buffer);
            }
        }
    }
    hash(&[said, &buffer])
}

/// What is hashed of a message beside its content.
fn boundary_of(message: &Json<'_>) -> Hash {
    let mut buffer = b"message".to_vec();
    for (key, value) in message.members() {
        if !matches!(key.as_ref(), "content" | "cache_control") {
            Json::Text(key.clone()).write(&mut buffer, None);
            value.write(&mut buffer, Some("cache_control"));
        }
    }
    hash(&[&buffer])
}

fn render<'p, 'a>(
    prompt: &'p Prompt<'a>,
    named: &HashMap<&'a str, &'a Json<'a>>,
) -> Result<Rendered<'p, 'a>, Refusal> {
    let mut buffer = Vec::new();
    let mut places = Vec::new();
    let mut marks = Marks::default();
    let mut last_markable = None;
    let tool_tokens = |tool: &Json<'_>| super::bill::tokens(tool.size(Some("cache_control")));
    let definition = |name: &str| named.get(name).map_or(0, |tool| tool_tokens(tool));
    let measured = |block: &Block<'_>| match block {
        Block::Text(text) => super::bill::tokens(text.len()),
        Block::Json(json) => measure::block(json, &definition),
    };

    let mut tools = hash(&[b"tools"]);
    for (at, tool) in prompt.tools.iter().enumerate() {
        // Deferred definitions are no part of the prompt until something refers to them.
        if tools::is_deferred(tool) {
            continue;
        }
        marks.tool(at, tool, places.len())?;
        last_markable = Some(places.len());
        buffer.clear();
        tool.write(&mut buffer, Some("cache_control"));
        let own = hash(&[b"tool", &buffer]);
        tools = hash(&[&tools, &own]);
        places.push(Place { hash: own, tokens: tool_tokens(tool), at: None });
    }
    let mut system = hash(&[b"system"]);
    for (at, block) in prompt.system.iter().enumerate() {
        if block.kind() == "text" && block.text().starts_with(NONCE) {
            // It has no place of its own: a mark on it ends what stands before.
            marks.block(block, places.len().saturating_sub(1), &|| format!("system.{at}"))?;
            continue;
        }
        marks.block(block, places.len(), &|| format!("system.{at}"))?;
        last_markable = Some(places.len());
        let own = hash(&[b"system", &block_hash(block, named, &mut buffer)]);
        system = hash(&[&system, &own]);
        places.push(Place { hash: own, tokens: measured(block), at: None });
    }
    let messages = places.len();
    let mut bound = hash(&[b"bound", &tools, &system]);
    let mut thinking = Vec::new();
    for (at, message) in prompt.messages.iter().enumerate() {
        let boundary = boundary_of(message.json);
        let mut opened = false;
        // Thinking between what a response says is bound to what the response said before, too.
        let interleaved = message.blocks.iter().skip(1).any(Block::is_thinking);
        let (sent, mut said) = (bound, nothing_said());
        for (place, block) in message.blocks.iter().enumerate() {
            marks.block(block, places.len(), &|| format!("messages.{at}.content.{place}"))?;
            let own = block_hash(block, named, &mut buffer);
            if block.is_thinking() {
                thinking.push(Sent { at: (at, place), block, bound: hash(&[&sent, &said]) });
            } else {
                last_markable = Some(places.len());
                if interleaved {
                    said = say(&said, block);
                }
                let part = if std::mem::replace(&mut opened, true) { own } else { hash(&[&boundary, &own]) };
                bound = hash(&[&bound, &part]);
            }
            let own = if place == 0 { hash(&[&boundary, &own]) } else { own };
            places.push(Place { hash: own, tokens: measured(block), at: Some((at, place)) });
        }
    }
    Ok(Rendered { places, messages, tools, system, bound, thinking, marks, last_markable })
}

/// For each place the hash of the prefix that ends with it, and the prefix's tokens.
fn chain(prompt: &Prompt<'_>, rendered: &Rendered<'_, '_>, shown: &[Shown]) -> Vec<(Hash, u64)> {
    let has_images = prompt.blocks().any(|(_, _, block)| {
        let inner = block.get("content").items();
        block.kind() == "image" || inner.iter().any(|inner| inner.kind() == "image")
    });
    let mut settings = vec![b'0' + u8::from(has_images)];
    prompt.body.get("tool_choice").write(&mut settings, None);
    for (key, value) in prompt.body.get("thinking").members() {
        // What is done with old thinking, and how it is shown, is not how the model thinks.
        if !matches!(key.as_ref(), "block_binding" | "display") {
            Json::Text(key.clone()).write(&mut settings, None);
            value.write(&mut settings, None);
        }
    }
    let mut chain = Vec::with_capacity(rendered.places.len());
    let mut end = hash(&[b"anthropic", prompt.model.as_bytes()]);
    let mut tokens = 0;
    for (at, place) in rendered.places.iter().enumerate() {
        if at == rendered.messages {
            end = hash(&[&end, b"messages", &settings]);
        }
        let (own, more) = match shown.get(at) {
            Some(Shown::Not) => {
                chain.push((end, tokens));
                continue;
            }
            Some(Shown::Cleared(own, more)) => (own, *more),
            _ => (&place.hash, place.tokens),
        };
        end = hash(&[&end, own]);
        tokens += more;
        chain.push((end, tokens));
    }
    chain
}

/// Reads and writes the cache, and counts.
fn charge(
    cache: &mut Cache,
    own: &Model,
    at: std::time::Duration,
    chain: &[(Hash, u64)],
    marks: &[Mark],
    writes: &mut Vec<Hash>,
) -> super::bill::Usage {
    let mut hit: Option<usize> = None;
    for mark in marks {
        let place = mark.place.min(chain.len().saturating_sub(1));
        let mut back = (place.saturating_sub(LOOK_BACK - 1)..=place).rev();
        if let Some(found) = back.find(|&place| cache.has(&chain[place].0, at)) {
            cache.used(&chain[found].0, at);
            hit = hit.max(Some(found));
        }
    }
    let total = chain.last().map_or(0, |end| end.1);
    let read = hit.map_or(0, |hit| chain[hit].1);
    let (mut hour, mut all) = (read, read);
    for mark in marks.iter().filter(|mark| hit.is_none_or(|hit| mark.place > hit)) {
        let Some(&(prefix, tokens)) = chain.get(mark.place) else { continue };
        if tokens < own.fewest_cached {
            continue;
        }
        cache.write(prefix, at, mark.ttl.length());
        writes.push(prefix);
        all = all.max(tokens);
        if mark.ttl == super::cache::Ttl::Hour {
            hour = hour.max(tokens);
        }
    }
    super::bill::Usage { input: total - all, read, write_5m: all - hour, write_1h: hour - read, output: 0 }
}
