//! Whether it pays to edit what was sent before: the one gate for whatever does so.

use crate::lever::StandDown;
use crate::plan::Ground;
use deadweight_price::edit::Edit;

/// Why something is not done. Where it does not pay soon enough: after how many requests it would have.
pub(crate) struct Not {
    pub(crate) why: StandDown,
    pub(crate) break_even: Option<u64>,
}

impl From<StandDown> for Not {
    fn from(why: StandDown) -> Self {
        Self { why, break_even: None }
    }
}

/// After how many requests, the one that carries the edit included, it costs nothing.
///
/// `removed`: tokens that it takes out; `behind`: tokens that stand behind it. Where what is cached is known to be gone
/// nothing of it is lost, whatever tokens cost; else prices have to be known, and it has to pay within as many requests as
/// the user grants it.
pub(crate) fn gate(ground: &Ground<'_, '_, '_>, removed: u64, behind: u64) -> Result<Option<u64>, Not> {
    if removed == 0 {
        return Err(StandDown::NotWorthIt.into());
    }
    if ground.stage.cold {
        return Ok(Some(1));
    }
    let rates = ground.circumstances.rates.as_ref().ok_or(StandDown::UnknownModel)?;
    // Nothing says that the cache is gone, so it is alive.
    let edit = Edit { removed, behind, alive: 1_000_000, hour: ground.circumstances.hour };
    let requests = edit.break_even(rates).ok_or(StandDown::NotWorthIt)?;
    if requests > ground.policy.thresholds.requests {
        return Err(Not { why: StandDown::NotWorthIt, break_even: Some(requests) });
    }
    Ok(Some(requests))
}
