//! Gemini: function calls and responses, thought signatures.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::automatic::{Chain, charge};
use super::bill;
use super::cache::{Cache, Hash, hash};
use super::json::Json;
use super::models::model;
use super::rules::Rule;
use super::verdict::{Accepted, Dialect, Refusal, Request, Ticket};
use crate::upstream::{Step, Turn};

/// Signatures with which a client may say that it has none, as documented.
const WITHOUT: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// The thought signatures that were handed out.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    made: HashSet<String>,
}

/// The parts of a content: a list, or one alone.
fn parts<'a, 'b>(content: &'b Json<'a>) -> &'b [Json<'a>] {
    match content.get("parts") {
        Json::Array(parts) => parts,
        Json::Null => &[],
        part => std::slice::from_ref(part),
    }
}

fn count(content: &Json<'_>, key: &str) -> usize {
    parts(content).iter().filter(|part| part.find(key).is_some()).count()
}

fn tokens(part: &Json<'_>) -> u64 {
    for key in ["functionCall", "functionResponse"] {
        if let Some(call) = part.find(key) {
            let value = if key == "functionCall" { call.get("args") } else { call.get("response") };
            return bill::tokens(call.word("name").len() + value.size(None));
        }
    }
    match part.find("inlineData") {
        Some(data) => super::measure::image(data.word("data")),
        None => bill::tokens(part.word("text").len()),
    }
}

fn needs_signatures(model: &str) -> bool {
    model.contains("gemini-3")
}

impl Gemini {
    /// Judges one request.
    pub(super) fn judge(
        &mut self,
        cache: &mut Cache,
        request: &Request<'_>,
        body: &Json<'_>,
        path_model: &str,
        number: u64,
    ) -> Result<Accepted, Refusal> {
        let name = body.get("model").text().unwrap_or(path_model);
        // Some clients wrap the request.
        let body = body.find("request").unwrap_or(body);
        let contents = body.get("contents").items();
        if contents.is_empty() {
            return Err(Refusal::new(
                Rule::Shape,
                "* GenerateContentRequest.contents: contents is not specified",
            ));
        }
        names(body)?;
        pairs(contents)?;
        self.signatures(contents, name)?;
        let counting = request.path.contains("countTokens");
        let mut chain = Chain::new("gemini", name);
        for tool in body.get("tools").items() {
            chain.add("tool", tool, bill::tokens(tool.size(None)));
        }
        let system = body.find("systemInstruction").unwrap_or_else(|| body.get("system_instruction"));
        chain.add("system", system, parts(system).iter().map(tokens).sum());
        for content in contents {
            chain.add("content", content, parts(content).iter().map(tokens).sum());
        }
        let own = model(name);
        let (total, window) = (chain.tokens(), own.window);
        if !counting && total > window {
            let message = format!(
                "The input token count ({total}) exceeds the maximum number of tokens allowed ({window})."
            );
            return Err(Refusal::new(Rule::PromptTooLong, message));
        }
        let mut writes = Vec::new();
        let usage = if counting {
            bill::Usage { input: chain.tokens(), ..Default::default() }
        } else {
            charge(cache, &own, request.at, &chain, 1, &mut writes)
        };
        let ticket = Ticket {
            number,
            dialect: Dialect::Gemini,
            model: name.to_owned(),
            counting,
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

    /// Signatures are ours wherever they stand; on models that need them, the first call of each step of the current
    /// turn has one.
    fn signatures(&self, contents: &[Json<'_>], model: &str) -> Result<(), Refusal> {
        for part in contents.iter().flat_map(parts) {
            let signature = part.find("thoughtSignature").and_then(Json::text);
            if signature.is_some_and(|own| !self.made.contains(own) && !WITHOUT.contains(&own)) {
                return Err(Refusal::new(Rule::GeminiForged, "Corrupted thought signature."));
            }
        }
        if !needs_signatures(model) {
            return Ok(());
        }
        let asked = |content: &Json<'_>| {
            content.word("role") != "model" && count(content, "functionResponse") < parts(content).len()
        };
        let start = contents.iter().rposition(asked).unwrap_or(0);
        for (at, content) in contents.iter().enumerate().skip(start) {
            let Some(part) = parts(content).iter().find(|part| part.find("functionCall").is_some()) else {
                continue;
            };
            if part.find("thoughtSignature").is_none() {
                let name = part.get("functionCall").word("name");
                let message = format!(
                    "Unable to submit request because function call `{name}` in the {at}. content block is missing a `thought_signature`."
                );
                return Err(Refusal::new(Rule::GeminiSignature, message));
            }
        }
        Ok(())
    }

    /// Signs a response, and gives its tokens.
    pub(super) fn answer(&mut self, ticket: &Ticket, turn: &mut Turn) -> u64 {
        let tokens = super::openai::measure(turn);
        let mut signed = false;
        for (at, step) in turn.steps.iter_mut().enumerate() {
            let parts: [&[u8]; 3] = [b"thought", ticket.model.as_bytes(), &ticket.number.to_le_bytes()];
            let made = STANDARD.encode(hash(&[&hash(&parts), &at.to_le_bytes()]));
            match step {
                Step::Thinking { signature, .. } => *signature = made.clone(),
                Step::Call(call) if needs_signatures(&ticket.model) && !signed => {
                    signed = true;
                    *step = Step::Raw(json!({
                        "functionCall": { "id": call.id, "name": call.name, "args": call.input },
                        "thoughtSignature": made
                    }));
                }
                _ => continue,
            }
            self.made.insert(made);
        }
        tokens
    }
}

fn names(body: &Json<'_>) -> Result<(), Refusal> {
    for (at, tool) in body.get("tools").items().iter().enumerate() {
        for (place, function) in tool.get("functionDeclarations").items().iter().enumerate() {
            let name = function.word("name");
            let rest = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
            let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
            if !(first && rest && name.len() <= 128) {
                let message = format!(
                    "Invalid value at 'tools[{at}].function_declarations[{place}].name': Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
                );
                return Err(Refusal::new(Rule::GeminiName, message));
            }
        }
    }
    Ok(())
}

fn pairs(contents: &[Json<'_>]) -> Result<(), Refusal> {
    for (at, content) in contents.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| contents.get(before));
        let (calls, responses) = (count(content, "functionCall"), count(content, "functionResponse"));
        if calls > 0 && before.is_none_or(|before| before.word("role") == "model") {
            return Err(Refusal::new(
                Rule::GeminiCallOrder,
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            ));
        }
        if responses > 0 && before.is_none_or(|before| count(before, "functionCall") == 0) {
            return Err(Refusal::new(
                Rule::GeminiResponseOrder,
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        let answered = contents.get(at + 1).map_or(0, |next| count(next, "functionResponse"));
        if calls > 0 && calls != answered {
            return Err(Refusal::new(
                Rule::GeminiCount,
                "Please ensure that the number of function response parts is equal to the number of function call parts of \
                 the function call turn.",
            ));
        }
    }
    Ok(())
}
