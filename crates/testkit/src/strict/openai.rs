//! OpenAI: pairs of calls and outputs, reasoning items, names.

use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::automatic::{Chain, charge, image_url};
use super::bill::{self, Usage};
use super::cache::{Cache, Hash, hash};
use super::json::Json;
use super::models::model;
use super::rules::Rule;
use super::verdict::{Accepted, Dialect, Refusal, Request, Ticket};
use crate::upstream::{Step, Turn};

/// Tokens read from the cache are a multiple of this.
const STEP: u64 = 128;
const LONGEST_NAME: usize = 64;

type Check = Result<(), Refusal>;

/// What is remembered between requests to Responses.
#[derive(Debug, Default)]
pub(super) struct Openai {
    /// The reasoning that an item was made after, by the item's id.
    needs: HashMap<String, String>,
    /// What reasoning was encrypted to, by its id.
    encrypted: HashMap<String, String>,
    stored: HashMap<String, Stored>,
}

/// A response that a later request can continue by its id.
#[derive(Debug, Clone)]
struct Stored {
    chain: Chain,
    /// Calls that have no output yet.
    open: HashSet<String>,
    /// The ids of its items.
    items: HashSet<String>,
}

fn accepted(
    dialect: Dialect,
    cache: &mut Cache,
    request: &Request<'_>,
    name: &str,
    chain: &Chain,
    number: u64,
) -> Result<Accepted, Refusal> {
    let own = model(name);
    let (total, window) = (chain.tokens(), own.window);
    if total > window {
        let message = format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {total} tokens. Please \
             reduce the length of the messages."
        );
        return Err(Refusal::new(Rule::PromptTooLong, message));
    }
    let mut writes = Vec::new();
    let usage: Usage = charge(cache, &own, request.at, chain, STEP, &mut writes);
    let ticket = Ticket {
        number,
        dialect,
        model: name.to_owned(),
        counting: false,
        reports_thinking: false,
        usage,
        writes,
        bound: Hash::default(),
        thinking: Vec::new(),
    };
    Ok(Accepted {
        ticket,
        usage,
        bill: usage.bill(&own),
        thinking: Vec::new(),
        applied_edits: Vec::new(),
        cache_miss: None,
    })
}

fn required<'a>(body: &'a Json<'_>, key: &str) -> Result<&'a str, Refusal> {
    body.get(key)
        .text()
        .ok_or_else(|| Refusal::new(Rule::Shape, format!("Missing required parameter: '{key}'.")))
}

/// Names of the functions in a list of tools, of either shape and in namespaces.
fn names(tools: &[Json<'_>], path: &str) -> Check {
    for (at, tool) in tools.iter().enumerate() {
        let nested = ["function", "custom"].into_iter().find_map(|key| Some((key, tool.find(key)?)));
        let (place, name) = match nested {
            Some((key, inner)) => (format!("{path}[{at}].{key}.name"), inner.word("name")),
            None if tool.kind() == "namespace" => {
                names(tool.get("tools").items(), &format!("{path}[{at}].tools"))?;
                continue;
            }
            None if matches!(tool.kind(), "function" | "custom") => {
                (format!("{path}[{at}].name"), tool.word("name"))
            }
            None => continue,
        };
        if name.len() > LONGEST_NAME {
            let length = name.len();
            let message = format!(
                "Invalid '{place}': string too long. Expected a string with maximum length {LONGEST_NAME}, but got a string with length {length} instead."
            );
            return Err(Refusal::new(Rule::OpenaiName, message));
        }
        if !super::anthropic::is_name(name, LONGEST_NAME) {
            let message = format!(
                "Invalid '{place}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            );
            return Err(Refusal::new(Rule::OpenaiName, message));
        }
    }
    Ok(())
}

fn tool_tokens(tool: &Json<'_>) -> u64 {
    bill::tokens(tool.size(None))
}

/// Tokens of content: a string, or parts.
fn content_tokens(content: &Json<'_>) -> u64 {
    match content {
        Json::Text(text) => bill::tokens(text.len()),
        content => content.items().iter().map(part_tokens).sum(),
    }
}

fn part_tokens(part: &Json<'_>) -> u64 {
    match part.kind() {
        "image_url" => image_url(part.get("image_url").word("url")),
        "input_image" => image_url(part.word("image_url")),
        _ => bill::tokens(part.word("text").len()),
    }
}

/// Judges a request to Chat Completions.
pub(super) fn judge_chat(
    cache: &mut Cache,
    request: &Request<'_>,
    body: &Json<'_>,
    number: u64,
) -> Result<Accepted, Refusal> {
    let name = required(body, "model")?;
    let Json::Array(messages) = body.get("messages") else {
        return Err(Refusal::new(Rule::Shape, "Missing required parameter: 'messages'."));
    };
    names(body.get("tools").items(), "tools")?;
    chat_pairs(messages)?;
    let mut chain = Chain::new("openai", name);
    for tool in body.get("tools").items() {
        // Deferred definitions stand where they are found, not in the prefix.
        if !tool.get("defer_loading").is_true() {
            chain.add("tool", tool, tool_tokens(tool));
        }
    }
    for message in messages {
        let calls = message.get("tool_calls").items().iter().map(|call| {
            let (function, custom) = (call.get("function"), call.get("custom"));
            let words = [
                function.word("name"),
                function.word("arguments"),
                custom.word("name"),
                custom.word("input"),
            ];
            bill::tokens(words.iter().map(|word| word.len()).sum())
        });
        chain.add("message", message, content_tokens(message.get("content")) + calls.sum::<u64>());
    }
    accepted(Dialect::OpenaiChat, cache, request, name, &chain, number)
}

fn chat_pairs(messages: &[Json<'_>]) -> Check {
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    let unanswered = |open: &[&str]| {
        Refusal::new(
            Rule::ChatOrphanCall,
            format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                open.join(", ")
            ),
        )
    };
    let mut asked: HashSet<&str> = HashSet::new();
    for message in messages {
        if message.word("role") == "tool" {
            let id = message.word("tool_call_id");
            let known = answering && asked.contains(id);
            if !known {
                return Err(Refusal::new(
                    Rule::ChatOrphanOutput,
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                ));
            }
            open.retain(|own| *own != id);
            continue;
        }
        if !open.is_empty() {
            return Err(unanswered(&open));
        }
        let calls = message.get("tool_calls").items();
        open = calls.iter().map(|call| call.word("id")).collect();
        asked = open.iter().copied().collect();
        answering = !open.is_empty();
    }
    if open.is_empty() { Ok(()) } else { Err(unanswered(&open)) }
}

/// Tokens of what the model says, in any dialect.
pub(super) fn measure(turn: &Turn) -> u64 {
    let steps = turn.steps.iter().map(|step| match step {
        Step::Text(text) | Step::Thinking { text, .. } => bill::tokens(text.len()),
        Step::Call(call) => bill::tokens(call.name.len() + call.input.to_string().len()),
        Step::Raw(raw) => bill::tokens(raw.to_string().len()),
    });
    steps.sum()
}

/// The call that an item makes, or that it answers.
enum Pair<'a> {
    Call(&'a str),
    Output(&'a str),
    Neither,
}

fn pair<'a>(item: &'a Json<'_>) -> Pair<'a> {
    match item.kind() {
        "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call" | "apply_patch_call" => {
            Pair::Call(item.word("call_id"))
        }
        // The oldest of these answers by the call's id under another name.
        "local_shell_call_output" if item.find("call_id").is_none() => Pair::Output(item.word("id")),
        "function_call_output"
        | "custom_tool_call_output"
        | "local_shell_call_output"
        | "shell_call_output"
        | "apply_patch_call_output" => Pair::Output(item.word("call_id")),
        _ => Pair::Neither,
    }
}

fn item_tokens(item: &Json<'_>) -> u64 {
    let text = |keys: &[&str]| bill::tokens(keys.iter().map(|key| item.word(key).len()).sum());
    match item.kind() {
        "" | "message" => content_tokens(item.get("content")),
        "function_call" => text(&["name", "arguments"]),
        "custom_tool_call" => text(&["name", "input"]),
        "function_call_output" | "custom_tool_call_output" => content_tokens(item.get("output")),
        "reasoning" => item.get("summary").items().iter().map(part_tokens).sum(),
        _ => bill::tokens(item.size(None)),
    }
}

impl Openai {
    /// Judges a request to Responses.
    pub(super) fn judge(
        &mut self,
        cache: &mut Cache,
        request: &Request<'_>,
        body: &Json<'_>,
        number: u64,
    ) -> Result<Accepted, Refusal> {
        let name = required(body, "model")?;
        let input = body.get("input");
        let items = input.items();
        names(body.get("tools").items(), "tools")?;
        for (at, item) in items.iter().enumerate().filter(|(_, item)| item.kind() == "additional_tools") {
            names(item.get("tools").items(), &format!("input[{at}].tools"))?;
        }
        let before = match body.get("previous_response_id").text() {
            None => None,
            Some(id) => Some(self.stored.get(id).cloned().ok_or_else(|| {
                Refusal::new(Rule::Shape, format!("Previous response with id '{id}' not found."))
            })?),
        };
        let open = self.pairs(items, before.as_ref())?;
        let mut chain = match &before {
            Some(stored) => stored.chain.clone(),
            None => {
                let mut chain = Chain::new("openai", name);
                for tool in body.get("tools").items() {
                    if !tool.get("defer_loading").is_true() {
                        chain.add("tool", tool, tool_tokens(tool));
                    }
                }
                let instructions = body.get("instructions");
                chain.add("instructions", instructions, content_tokens(instructions));
                chain
            }
        };
        if let Json::Text(text) = input {
            chain.add("item", input, bill::tokens(text.len()));
        }
        for item in items {
            chain.add("item", item, item_tokens(item));
        }
        if !matches!(body.get("store"), Json::Bool(false)) {
            let items = before.map(|stored| stored.items).unwrap_or_default();
            let stored = Stored { chain: chain.clone(), open, items };
            self.stored.insert(format!("resp_{number:08x}"), stored);
        }
        accepted(Dialect::OpenaiResponses, cache, request, name, &chain, number)
    }

    /// Pairs and reasoning; the calls that stay without an output, of which there are none.
    fn pairs(&self, items: &[Json<'_>], before: Option<&Stored>) -> Result<HashSet<String>, Refusal> {
        let mut open: HashSet<&str> =
            before.map(|stored| stored.open.iter().map(String::as_str).collect()).unwrap_or_default();
        let mut sent: HashSet<&str> =
            before.map(|stored| stored.items.iter().map(String::as_str).collect()).unwrap_or_default();
        let mut calls = open.clone();
        let mut order: Vec<&str> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let id = item.word("id");
            if let Some(reasoning) = self.needs.get(id).filter(|needed| !sent.contains(needed.as_str())) {
                let message = format!(
                    "Item '{id}' of type '{}' was provided without its required 'reasoning' item: '{reasoning}'.",
                    item.kind()
                );
                return Err(Refusal::new(Rule::ReasoningMissing, message));
            }
            if item.kind() == "reasoning" {
                self.reasoning(item, id, items.get(at + 1))?;
            }
            if item.kind() == "item_reference" && !sent.contains(id) && !self.knows(id) {
                return Err(Refusal::new(Rule::Shape, format!("Item with id '{id}' not found.")));
            }
            sent.insert(id);
            match pair(item) {
                Pair::Call(call) => {
                    calls.insert(call);
                    open.insert(call);
                    order.push(call);
                }
                Pair::Output(call) if !calls.contains(call) => {
                    let message = format!("No tool call found for function call output with call_id {call}.");
                    return Err(Refusal::new(Rule::ResponsesOrphanOutput, message));
                }
                Pair::Output(call) => {
                    open.remove(call);
                }
                Pair::Neither => {}
            }
        }
        let first = order.iter().find(|call| open.contains(*call)).or_else(|| open.iter().next());
        match first {
            None => Ok(HashSet::new()),
            Some(call) => {
                let message = format!("No tool output found for function call {call}.");
                Err(Refusal::new(Rule::ResponsesOrphanCall, message))
            }
        }
    }

    fn knows(&self, id: &str) -> bool {
        self.needs.contains_key(id) || self.encrypted.contains_key(id)
    }

    fn reasoning(&self, item: &Json<'_>, id: &str, next: Option<&Json<'_>>) -> Check {
        let sent = item.get("encrypted_content").text();
        if let Some(sent) = sent
            && self.encrypted.get(id).is_some_and(|made| made != sent)
        {
            let message = format!("The encrypted content for item {id} could not be verified.");
            return Err(Refusal::new(Rule::ReasoningForged, message));
        }
        let follows = next.is_some_and(|next| match next.kind() {
            "" | "message" => next.word("role") == "assistant",
            _ => !matches!(pair(next), Pair::Output(_)),
        });
        if self.encrypted.contains_key(id) && !follows {
            let message =
                format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
            return Err(Refusal::new(Rule::ReasoningAlone, message));
        }
        Ok(())
    }

    /// Encrypts the reasoning of a response, remembers its items, and gives its tokens. Ids are those under which the
    /// scripted upstream renders the items.
    pub(super) fn answer(&mut self, ticket: &Ticket, turn: &mut Turn) -> u64 {
        let serial = ticket.serial();
        let mut stored = self.stored.remove(&format!("resp_{serial}"));
        let mut reasoning: Option<String> = None;
        for (at, step) in turn.steps.iter_mut().enumerate() {
            let start = match step {
                Step::Thinking { .. } => "rs",
                Step::Call(_) => "fc",
                Step::Text(_) => "msg",
                Step::Raw(_) => continue,
            };
            let id = format!("{start}_{serial}{at}");
            if let Some(stored) = &mut stored {
                stored.items.insert(id.clone());
            }
            match step {
                Step::Thinking { text, signature } => {
                    *signature = STANDARD.encode(hash(&[b"reasoning", id.as_bytes(), text.as_bytes()]));
                    self.encrypted.insert(id.clone(), signature.clone());
                    reasoning = Some(id);
                }
                step => {
                    if let (Step::Call(call), Some(stored)) = (&*step, &mut stored) {
                        stored.open.insert(call.id.clone());
                    }
                    if let Some(needed) = reasoning.take() {
                        self.needs.insert(id, needed);
                    }
                }
            }
        }
        let tokens = measure(turn);
        if let Some(mut stored) = stored {
            stored.chain.add("response", &Json::Text(serial.as_str().into()), tokens);
            self.stored.insert(format!("resp_{serial}"), stored);
        }
        tokens
    }
}
