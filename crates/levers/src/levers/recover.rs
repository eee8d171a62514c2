//! `recover-bound`: a conversation whose thinking the provider refused goes on without that thinking.
//!
//! Nothing is decided here: it is written down when the provider refuses ([`Outcome::recovery`](crate::plan::Outcome::recovery)),
//! under the message that the refusal names. Every request that holds this message asks for the same from then on, since
//! the provider remembers no such wish from one request to the next.

use crate::binding::Binding;
use crate::circumstances::Circumstances;
use crate::lever::StandDown;
use crate::plan::stage::Stage;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Kind;

/// What it needs in the header of betas.
pub(crate) const BETA: &str = "thinking-binding-controls-2026-08-01";

/// The member that says how the model thinks, and the one in it by which thinking may be dropped.
pub(crate) const THINKING: &str = "thinking";
pub(crate) const BINDING: &str = "block_binding";
/// What that one says.
pub(crate) const DROP: &str = "{\"prefix_mismatch_behavior\":\"drop_block\"}";
/// The whole member where a request has none: models that bind their thinking think so unasked (documented, read in
/// November 2026).
pub(crate) const ADAPTIVE: &str =
    "{\"type\":\"adaptive\",\"block_binding\":{\"prefix_mismatch_behavior\":\"drop_block\"}}";

/// Where it is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Into the member that the request has.
    Own,
    /// The request has no such member.
    New,
}

/// What becomes of the request.
pub(crate) struct Answer {
    /// Where it is put in.
    pub(crate) put: Option<Place>,
    /// Why nothing is decided now.
    pub(crate) why: StandDown,
    /// Whether a refusal of this request may be written down.
    pub(crate) may: bool,
}

pub(crate) fn ask(
    anatomy: &Anatomy<'_, '_>,
    circumstances: &Circumstances<'_>,
    stage: &Stage,
    barred: Option<StandDown>,
) -> Answer {
    let place = place(anatomy, circumstances, stage.binding);
    match place {
        Err(reason) => Answer { put: None, why: barred.unwrap_or(reason), may: false },
        Ok(place) if stage.unbound => {
            Answer { put: Some(place), why: barred.unwrap_or(StandDown::NothingNew), may: false }
        }
        Ok(_) => {
            Answer { put: None, why: barred.unwrap_or(StandDown::NothingRefused), may: barred.is_none() }
        }
    }
}

/// Where it would be put.
fn place(
    anatomy: &Anatomy<'_, '_>,
    circumstances: &Circumstances<'_>,
    binding: Binding,
) -> Result<Place, StandDown> {
    let root = anatomy.document.root();
    if anatomy.dialect != Dialect::AnthropicMessages || root.get("anthropic_version").is_some() {
        return Err(StandDown::UnsupportedDialect);
    }
    if !circumstances.appends_betas {
        return Err(StandDown::NoBetas);
    }
    if !binding.may_bind() {
        return Err(StandDown::FreeThinking);
    }
    match root.get(THINKING) {
        None => Ok(Place::New),
        Some(own) if own.kind() != Kind::Object => Err(StandDown::OddShape),
        Some(own) if own.entries().any(|entry| entry.key.is_str(BINDING)) => Err(StandDown::ClientBinds),
        Some(own) if own.get("type").is_some_and(|kind| kind.is_str("adaptive")) => Ok(Place::Own),
        Some(_) => Err(StandDown::NotAdaptive),
    }
}
