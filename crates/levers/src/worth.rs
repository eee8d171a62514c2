//! Whether it pays to edit what was sent before: the one gate for whatever does so.

use crate::lever::StandDown;
use crate::plan::Ground;
use deadweight_price::edit::Edit;

/// After how many requests, the one that carries the edit included, it costs nothing.
///
/// `removed`: tokens that it takes out; `behind`: tokens that stand behind it. Where what is cached is known to be gone
/// nothing of it is lost, whatever tokens cost; else prices have to be known, and it has to pay within as many requests as
/// the user grants it.
pub(crate) fn gate(ground: &Ground<'_, '_, '_>, removed: u64, behind: u64) -> Result<Option<u64>, StandDown> {
    if removed == 0 {
        return Err(StandDown::NotWorthIt);
    }
    if ground.stage.cold {
        return Ok(Some(1));
    }
    let rates = ground.circumstances.rates.as_ref().ok_or(StandDown::UnknownModel)?;
    // Nothing says that the cache is gone, so it is alive.
    let edit = Edit { removed, behind, alive: 1_000_000, hour: ground.circumstances.hour };
    let requests = edit.break_even(rates).ok_or(StandDown::NotWorthIt)?;
    if requests > ground.policy.thresholds.requests { Err(StandDown::NotWorthIt) } else { Ok(Some(requests)) }
}
