//! `server-edit`: the provider is asked to edit the conversation itself, with its own context editing.
//!
//! Decided at a conversation's first request, so that every request of it asks for the same; the bytes that are put in are
//! kept and put in again. As long as the provider edits, no other lever touches messages: what a pointer points to could be
//! cleared.

use crate::binding::Binding;
use crate::circumstances::Circumstances;
use crate::lever::StandDown;
use crate::levers::tools;
use crate::plan::stage::Stage;
use crate::policy::Policy;
use deadweight_profiles::work::KEEPS;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;

/// The member that is put in.
pub(crate) const MEMBER: &str = "context_management";

/// What it needs in the header of betas.
pub(crate) const BETA: &str = "context-management-2025-06-27";

/// What becomes of the request.
pub(crate) struct Answer {
    /// The value of the member, where it is put in.
    pub(crate) put: Option<String>,
    /// Whether it was decided now; or why not.
    pub(crate) decided: Result<u32, StandDown>,
}

pub(crate) fn decide(
    anatomy: &Anatomy<'_, '_>,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    barred: Option<StandDown>,
) -> Answer {
    let root = anatomy.document.root();
    let own = root.entries().any(|entry| entry.key.is_str(MEMBER));
    if own {
        // The client has taken it up; two of them would be one too many.
        return Answer { put: None, decided: Err(barred.unwrap_or(StandDown::ClientEdits)) };
    }
    if !circumstances.appends_betas {
        return Answer { put: None, decided: Err(barred.unwrap_or(StandDown::NoBetas)) };
    }
    let before = stage.head.as_ref().and_then(|head| head.edits.clone());
    if before.is_some() {
        return Answer { put: before, decided: Err(barred.unwrap_or(StandDown::NothingNew)) };
    }
    let reason = barred.or_else(|| {
        if anatomy.dialect != Dialect::AnthropicMessages || root.get("anthropic_version").is_some() {
            // Clouds take betas in the body, and not all of them.
            Some(StandDown::UnsupportedDialect)
        } else if stage.binding == Binding::Unknown {
            Some(StandDown::UnknownModel)
        } else if !stage.is_first() {
            Some(if stage.head.is_some() { StandDown::NothingNew } else { StandDown::Joined })
        } else if anatomy.tools.is_empty() {
            Some(StandDown::NoTools)
        } else {
            None
        }
    });
    match reason {
        Some(reason) => Answer { put: None, decided: Err(reason) },
        None => Answer { put: Some(value(anatomy, policy)), decided: Ok(1) },
    }
}

/// Old tool results are cleared from the trigger on, but for the last ones, and only where that is worth a new prefix.
fn value(anatomy: &Anatomy<'_, '_>, policy: &Policy) -> String {
    let limits = &policy.thresholds;
    let names = anatomy.tools.iter().filter_map(|tool| tool.name?.as_str());
    let kept: Vec<String> = names
        .filter(|name| KEEPS.value.contains(&name.as_ref()))
        .map(|name| tools::json_string(&name))
        .collect();
    let excluded = match kept.is_empty() {
        true => String::new(),
        false => format!(",\"exclude_tools\":[{}]", kept.join(",")),
    };
    format!(
        "{{\"edits\":[{{\"type\":\"clear_tool_uses_20250919\",\"trigger\":{{\"type\":\"input_tokens\",\"value\":{}}},\
         \"keep\":{{\"type\":\"tool_uses\",\"value\":{}}},\"clear_at_least\":{{\"type\":\"input_tokens\",\"value\":{}}}{excluded}}}]}}",
        limits.clear_from, limits.clear_keep, limits.clear_least
    )
}
