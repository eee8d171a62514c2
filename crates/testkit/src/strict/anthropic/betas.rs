//! Members that are allowed with a beta only: block bindings, context editing, compaction, diagnostics.

use super::super::json::Json;
use super::super::rules::Rule;
use super::super::verdict::Refusal;
use super::prompt::Prompt;

pub(super) const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";
const CONTEXT_BETA: &str = "context-management-2025-06-27";
const COMPACT_BETA: &str = "compact-2026-01-12";
const COMPACT_ON_DEMAND_BETA: &str = "compact-2026-09-04";
const DIAGNOSTICS_BETA: &str = "cache-diagnosis-2026-04-07";
const FEWEST_BEFORE_COMPACTION: f64 = 50_000.0;

/// What the request wants done with thinking whose prefix has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// Nothing is said: the account decides.
    Default,
    /// The request fails.
    Error,
    /// The block is left out.
    Drop,
}

pub(super) fn check(prompt: &Prompt<'_>) -> Result<Mismatch, Refusal> {
    context(prompt)?;
    if !prompt.body.get("diagnostics").is_null() && !prompt.has_beta(DIAGNOSTICS_BETA) {
        let message = "diagnostics: Extra inputs are not permitted";
        return Err(Refusal::new(Rule::DiagnosticsBeta, message));
    }
    let thinking = prompt.body.get("thinking");
    let Some(binding) = thinking.find("block_binding") else { return Ok(Mismatch::Default) };
    if !prompt.has_beta(BINDING_BETA) {
        let message = format!("thinking.{}.block_binding: Extra inputs are not permitted", thinking.kind());
        return Err(Refusal::new(Rule::BindingBeta, message));
    }
    match binding.find("prefix_mismatch_behavior").map(|value| value.text().unwrap_or_default()) {
        None => Ok(Mismatch::Default),
        Some("error") => Ok(Mismatch::Error),
        Some("drop_block") => Ok(Mismatch::Drop),
        Some(_) => Err(Refusal::new(
            Rule::BindingValue,
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
        )),
    }
}

fn context(prompt: &Prompt<'_>) -> Result<(), Refusal> {
    let context = prompt.body.get("context_management");
    if context.is_null() {
        return Ok(());
    }
    let betas = [CONTEXT_BETA, COMPACT_BETA, COMPACT_ON_DEMAND_BETA];
    if !betas.iter().any(|beta| prompt.has_beta(beta)) {
        let message = "context_management: Extra inputs are not permitted";
        return Err(Refusal::new(Rule::ContextBeta, message));
    }
    for (at, edit) in context.get("edits").items().iter().enumerate() {
        let (kind, needed) = match edit.kind() {
            kind @ ("clear_tool_uses_20250919" | "clear_thinking_20251015") => (kind, &betas[..1]),
            kind if kind.starts_with("compact_") => (kind, &betas[1..]),
            kind => {
                let message = format!(
                    "context_management.edits.{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
                );
                return Err(Refusal::new(Rule::ContextEdit, message));
            }
        };
        if !needed.iter().any(|beta| prompt.has_beta(beta)) {
            let message = format!(
                "context_management.edits.{at}: '{kind}' requires the `{}` value in the `anthropic-beta` header",
                needed[0]
            );
            return Err(Refusal::new(Rule::ContextBeta, message));
        }
        if kind == "clear_thinking_20251015" && at > 0 {
            let message =
                "context_management.edits: `clear_thinking_20251015` strategy must be first in the list";
            return Err(Refusal::new(Rule::ClearThinkingFirst, message));
        }
        let trigger = edit.get("trigger").get("value").number();
        if kind.starts_with("compact_") && trigger.is_some_and(|value| value < FEWEST_BEFORE_COMPACTION) {
            let message = format!(
                "context_management.edits.{at}.trigger.value: Input should be greater than or equal to 50000"
            );
            return Err(Refusal::new(Rule::CompactTrigger, message));
        }
    }
    Ok(())
}

/// What `count_tokens` refuses.
pub(super) fn countable(prompt: &Prompt<'_>) -> Result<(), Refusal> {
    const SERVER: &[&str] =
        &["tool_search_tool_", "web_search_", "web_fetch_", "code_execution_", "mcp_toolset"];
    let server = |tool: &&Json<'_>| SERVER.iter().any(|start| tool.kind().starts_with(start));
    match prompt.tools.iter().find(server) {
        Some(tool) => Err(Refusal::new(
            Rule::CountServerTools,
            format!("tools: server tools are not supported in the token counting endpoint: {}", tool.kind()),
        )),
        None => Ok(()),
    }
}
