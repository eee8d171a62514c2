//! Definitions of tools, deferred tools, and what refers to them.

use std::collections::HashMap;

use super::super::account::Account;
use super::super::json::Json;
use super::super::rules::Rule;
use super::super::verdict::Refusal;
use super::prompt::{Prompt, references, shape};

const CHANGE_BETA: &str = "mid-conversation-tool-changes-2026-07-01";
const INLINE_BETA: &str = "inline-tools-2026-09-15";
const SEARCH_BETA: &str = "advanced-tool-use-2025-11-20";
const MOST_DEFERRED: usize = 10_000;

pub(super) fn is_deferred(tool: &Json<'_>) -> bool {
    tool.get("defer_loading").is_true()
}

pub(super) fn is_custom(tool: &Json<'_>) -> bool {
    matches!(tool.kind(), "" | "custom")
}

fn is_search(tool: &Json<'_>) -> bool {
    tool.kind().starts_with("tool_search_tool_")
}

/// Whether the pattern `^[a-zA-Z0-9_-]{1,most}$` holds.
pub(crate) fn is_name(name: &str, most: usize) -> bool {
    (1..=most).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// All of this file's rules; the tools by name.
pub(super) fn check<'a>(
    prompt: &Prompt<'a>,
    account: &Account,
) -> Result<HashMap<&'a str, &'a Json<'a>>, Refusal> {
    let mut named = HashMap::new();
    let mut deferred = 0;
    for (at, tool) in prompt.tools.iter().enumerate() {
        let name = tool.word("name");
        if is_custom(tool) {
            definition(at, tool, name)?;
        } else if is_search(tool) && account.tool_search_needs_beta && !prompt.has_beta(SEARCH_BETA) {
            let message = format!(
                "tools.{at}: Input tag '{}' found using 'type' does not match any of the expected tags",
                tool.kind()
            );
            return Err(Refusal::new(Rule::ToolSearchBeta, message));
        }
        if named.insert(name, tool).is_some() {
            return Err(Refusal::new(Rule::ToolNameTwice, "tools: Tool names must be unique."));
        }
        if is_deferred(tool) {
            deferred += 1;
            if !tool.get("cache_control").is_null() {
                return Err(Refusal::new(
                    Rule::DeferredMarked,
                    format!(
                        "Tool '{name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading \
                         cannot use prompt caching."
                    ),
                ));
            }
        }
    }
    if deferred > 0 && deferred == prompt.tools.len() {
        return Err(Refusal::new(
            Rule::AllDeferred,
            "All tools have defer_loading set. At least one tool must be non-deferred.",
        ));
    }
    if deferred > MOST_DEFERRED {
        let message =
            format!("tools: at most {MOST_DEFERRED} tools may have defer_loading set. Found {deferred}.");
        return Err(Refusal::new(Rule::TooManyDeferred, message));
    }
    changes(prompt)?;
    let mut named_in = Vec::new();
    for (_, _, block) in prompt.blocks() {
        if let super::prompt::Block::Json(json) = block {
            references(json, &mut named_in);
        }
        if let Some(name) = named_in.drain(..).find(|name| !named.contains_key(name)) {
            let message = format!("Tool reference '{name}' has no corresponding tool definition");
            return Err(Refusal::new(Rule::MissingReference, message));
        }
    }
    let choice = prompt.body.get("tool_choice");
    if choice.kind() == "tool" && !named.contains_key(choice.word("name")) {
        let message = format!("tool_choice: Tool '{}' not found in provided tools", choice.word("name"));
        return Err(Refusal::new(Rule::ChoiceMissing, message));
    }
    Ok(named)
}

fn definition(at: usize, tool: &Json<'_>, name: &str) -> Result<(), Refusal> {
    if !is_name(name, 128) {
        let message =
            format!("tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
        return Err(Refusal::new(Rule::ToolName, message));
    }
    let schema = tool.get("input_schema");
    if !matches!(schema, Json::Object(_)) {
        return Err(shape(&format!("tools.{at}.custom.input_schema"), "Field required"));
    }
    if schema.word("type") != "object"
        && !["oneOf", "anyOf", "allOf"].iter().any(|key| schema.find(key).is_some())
    {
        return Err(shape(&format!("tools.{at}.custom.input_schema.type"), "Field required"));
    }
    if ["oneOf", "anyOf", "allOf"].iter().any(|key| schema.find(key).is_some()) {
        let message = format!(
            "tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        );
        return Err(Refusal::new(Rule::ToolSchema, message));
    }
    Ok(())
}

/// Tools that come and go in mid-conversation.
fn changes(prompt: &Prompt<'_>) -> Result<(), Refusal> {
    for (at, place, block) in prompt.blocks() {
        let kind = block.kind();
        if !matches!(kind, "tool_addition" | "tool_removal") {
            continue;
        }
        let inline = prompt.has_beta(INLINE_BETA);
        if prompt.messages[at].role != "system" || !(inline || prompt.has_beta(CHANGE_BETA)) {
            let message = format!(
                "messages.{at}.content.{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            );
            return Err(Refusal::new(Rule::ToolChangeBeta, message));
        }
        if block.get("tool").kind() == "tool_definition" && !inline {
            let message = format!(
                "messages.{at}.content.{place}.{kind}.tool: Input tag 'tool_definition' found using 'type' does not match any of \
                 the expected tags"
            );
            return Err(Refusal::new(Rule::InlineToolBeta, message));
        }
    }
    Ok(())
}
