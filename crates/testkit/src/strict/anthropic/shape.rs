//! Roles, empty content, and the pairs of tool calls and results.

use std::collections::HashSet;

use super::super::models::Model;
use super::super::rules::Rule;
use super::super::verdict::Refusal;
use super::prompt::{Message, Prompt};

type Check = Result<(), Refusal>;

/// All of this file's rules.
pub(super) fn check(prompt: &Prompt<'_>, model: &Model) -> Check {
    content(prompt)?;
    roles(prompt, model)?;
    pairs(prompt)
}

fn content(prompt: &Prompt<'_>) -> Check {
    let empty = |text: &str| -> Check {
        if text.is_empty() {
            return Err(Refusal::new(Rule::EmptyText, "messages: text content blocks must be non-empty"));
        }
        if text.trim().is_empty() {
            let message = "messages: text content blocks must contain non-whitespace text";
            return Err(Refusal::new(Rule::EmptyText, message));
        }
        Ok(())
    };
    for block in prompt.system.iter().filter(|block| block.kind() == "text") {
        if block.text().is_empty() {
            return Err(Refusal::new(Rule::EmptyText, "system: text content blocks must be non-empty"));
        }
    }
    for (at, message) in prompt.messages.iter().enumerate() {
        if message.blocks.is_empty() {
            return Err(Refusal::new(
                Rule::EmptyMessage,
                format!(
                    "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
                ),
            ));
        }
        for block in &message.blocks {
            if block.kind() == "text" {
                empty(block.text())?;
            }
            for inner in block.get("content").items() {
                if inner.kind() == "text" && inner.word("text").is_empty() {
                    empty("")?;
                }
            }
        }
    }
    Ok(())
}

fn roles(prompt: &Prompt<'_>, model: &Model) -> Check {
    let spoken = || prompt.messages.iter().filter(|message| message.role != "system");
    if !model.system_messages
        && let Some(at) = prompt.messages.iter().position(|message| message.role == "system")
    {
        let message = format!("messages.{at}.role: role 'system' is not supported on this model");
        return Err(Refusal::new(Rule::SystemRole, message));
    }
    // Who sends a compaction may leave out what stood before it.
    let compacted = prompt.messages[0].blocks.first().is_some_and(|block| block.kind() == "compaction");
    if !compacted && spoken().next().is_some_and(|first| first.role != "user") {
        return Err(Refusal::new(Rule::FirstUser, "messages: first message must use the \"user\" role"));
    }
    system_places(prompt)?;
    for (at, place, block) in prompt.blocks() {
        let role = prompt.messages[at].role;
        let rule = match block.kind() {
            "tool_use" | "server_tool_use" if role != "assistant" => (Rule::WrongRole, "assistant"),
            "tool_result" if role != "user" => (Rule::WrongRole, "user"),
            "thinking" | "redacted_thinking" if role != "assistant" => (Rule::ThinkingRole, "assistant"),
            _ => continue,
        };
        let kind = block.kind();
        let message =
            format!("messages.{at}.content.{place}: `{kind}` blocks can only be in `{}` messages", rule.1);
        return Err(Refusal::new(rule.0, message));
    }
    for (start, turn) in turns(prompt) {
        let last = turn.iter().flat_map(|message| &message.blocks).next_back();
        if turn[0].role == "assistant" && last.is_some_and(super::prompt::Block::is_thinking) {
            let at = start + turn.len() - 1;
            let message =
                format!("messages.{at}: The final block in an assistant message cannot be `thinking`.");
            return Err(Refusal::new(Rule::ThinkingLast, message));
        }
    }
    if model.ends_with_user && spoken().next_back().is_some_and(|last| last.role == "assistant") {
        return Err(Refusal::new(
            Rule::Prefill,
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    Ok(())
}

/// Where the system may speak in between. Several of its messages behind each other are one.
fn system_places(prompt: &Prompt<'_>) -> Check {
    const FORM: &str = "the directive-only form (content: [] with output_config) is accepted at any position";
    let ends_with_server = |message: &Message<'_>| {
        let last = message.blocks.last().map_or("", |block| block.kind());
        message.role == "assistant" && last.ends_with("_tool_result")
    };
    for (at, group) in turns(prompt).into_iter().filter(|(_, turn)| turn[0].role == "system") {
        let before = at.checked_sub(1).and_then(|before| prompt.messages.get(before));
        if !before.is_some_and(|message| message.role == "user" || ends_with_server(message)) {
            let message = format!(
                "messages.{at}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool \
                 result; {FORM}"
            );
            return Err(Refusal::new(Rule::SystemPlace, message));
        }
        if prompt.messages.get(at + group.len()).is_some_and(|after| after.role != "assistant") {
            let message = format!(
                "messages.{at}: role 'system' must precede an 'assistant' message or end the array; {FORM}"
            );
            return Err(Refusal::new(Rule::SystemPlace, message));
        }
    }
    Ok(())
}

/// Neighbours of one role are one turn; each with the number of its first message.
pub(super) fn turns<'p, 'a>(prompt: &'p Prompt<'a>) -> Vec<(usize, &'p [Message<'a>])> {
    let mut start = 0;
    prompt
        .messages
        .chunk_by(|one, next| one.role == next.role)
        .map(|turn| {
            let at = start;
            start += turn.len();
            (at, turn)
        })
        .collect()
}

fn pairs(prompt: &Prompt<'_>) -> Check {
    let mut seen = HashSet::new();
    let turns = turns(prompt);
    for (number, (start, turn)) in turns.iter().enumerate() {
        let before = number.checked_sub(1).and_then(|at| turns.get(at));
        results(*start, turn, before.map_or(&[], |(_, turn)| turn))?;
        let mut asked = Vec::new();
        let mut searches = HashSet::new();
        for (offset, message) in turn.iter().enumerate() {
            for (place, block) in message.blocks.iter().enumerate() {
                let at = start + offset;
                let id = block.get("id").text().unwrap_or_default();
                match block.kind() {
                    "tool_use" if !seen.insert(id) => {
                        let message = format!("messages.{at}.content.{place}: `tool_use` ids must be unique");
                        return Err(Refusal::new(Rule::DoubledUse, message));
                    }
                    "tool_use" => asked.push(id),
                    "server_tool_use" => {
                        searches.insert(id);
                    }
                    kind @ ("tool_search_tool_result" | "web_search_tool_result")
                        if !searches.contains(block.get("tool_use_id").text().unwrap_or_default()) =>
                    {
                        let id = block.get("tool_use_id").text().unwrap_or_default();
                        return Err(orphan(at, place, kind, id));
                    }
                    _ => {}
                }
            }
        }
        if asked.is_empty() {
            continue;
        }
        let next = turns.get(number + 1).filter(|(_, next)| next[0].role == "user");
        let answered = next.map_or_else(HashSet::new, |(_, next)| leading(next));
        let missing: Vec<_> = asked.iter().copied().filter(|id| !answered.contains(id)).collect();
        if !missing.is_empty() {
            let at = start + turn.len() - 1;
            return Err(Refusal::new(
                Rule::OrphanUse,
                format!(
                    "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
                     `tool_use` block must have a corresponding `tool_result` block in the next message.",
                    missing.join(", ")
                ),
            ));
        }
    }
    Ok(())
}

/// The ids answered before anything else is said.
fn leading<'a>(turn: &[Message<'a>]) -> HashSet<&'a str> {
    let blocks = turn.iter().flat_map(|message| &message.blocks);
    blocks
        .take_while(|block| block.kind() == "tool_result")
        .filter_map(|block| block.get("tool_use_id").text())
        .collect()
}

fn orphan(at: usize, place: usize, kind: &str, id: &str) -> Refusal {
    let message = if kind == "tool_result" {
        format!(
            "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` \
             block must have a corresponding `tool_use` block in the previous message."
        )
    } else {
        format!("messages.{at}.content.{place}: unexpected `tool_use_id` found in `{kind}` blocks: {id}.")
    };
    Refusal::new(Rule::OrphanResult, message)
}

/// Each result of a turn answers a call of the turn before, once.
fn results(start: usize, turn: &[Message<'_>], before: &[Message<'_>]) -> Check {
    if turn[0].role != "user" {
        return Ok(());
    }
    let asked: HashSet<&str> = before
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| block.kind() == "tool_use")
        .filter_map(|block| block.get("id").text())
        .collect();
    let mut seen = HashSet::new();
    for (offset, message) in turn.iter().enumerate() {
        for (place, block) in message.blocks.iter().enumerate() {
            if block.kind() != "tool_result" {
                continue;
            }
            let (at, id) = (start + offset, block.get("tool_use_id").text().unwrap_or_default());
            if !asked.contains(id) {
                return Err(orphan(at, place, "tool_result", id));
            }
            if !seen.insert(id) {
                return Err(Refusal::new(
                    Rule::DoubledResult,
                    format!(
                        "messages.{at}.content.{place}: each tool_use must have a single result. Found multiple \
                         `tool_result` blocks with id: {id}"
                    ),
                ));
            }
        }
    }
    Ok(())
}
