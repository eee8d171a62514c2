//! `deadweight scorecard`: what each lever really does, as it was measured, beside what this machine's ledger shows.

use super::ledger::{setting, trouble, wait};
use crate::args::Scorecard;
use crate::exit::{self, Exit, Trouble};
use crate::render::{json, scorecard as render};
use crate::settings::{self, Screen};
use crate::target::gather;
use deadweight_scorecard::card::Card;
use deadweight_scorecard::{COMMITTED, markdown};
use deadweight_store::{Ledger, LeverSum, Place, Which, now_ms};
use serde::Serialize;

/// What the ledger of this machine shows.
#[derive(Debug, Serialize)]
pub(crate) struct Here {
    /// The last so many days.
    pub(crate) days: u32,
    /// Requests to models in that time.
    pub(crate) requests: u64,
    /// What each lever did to them.
    pub(crate) levers: Vec<LeverSum>,
}

/// The measured card, and what is seen here.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    card: &'a Card,
    /// `null` where nothing was recorded.
    ledger: Option<&'a Here>,
}

/// Runs the command.
pub(crate) fn run(args: &Scorecard) -> Result<Exit, Trouble> {
    settings::set_colors(args.common.global.color);
    gather::enter(args.common.global.directory.as_deref())?;
    let card: Card = serde_json::from_str(COMMITTED)
        .map_err(|error| Trouble::unmeasured(format!("the card in this program cannot be read: {error}")))?;
    if args.markdown {
        exit::print_told(&markdown::page(&card))?;
        return Ok(Exit::Done);
    }
    let here = here(args)?;
    if args.json {
        exit::print(&json::text(&Report { card: &card, ledger: here.as_ref() }, false))?;
    } else if args.compare {
        exit::print_told(&render::compared(&card, Screen::of_stdout()))?;
    } else {
        exit::print_told(&render::text(&card, here.as_ref(), Screen::of_stdout()))?;
    }
    Ok(Exit::Done)
}

/// What the ledger shows; `None` where there is none yet, or recording is off.
fn here(args: &Scorecard) -> Result<Option<Here>, Trouble> {
    let Place::File(file) = setting(&args.common)?.place else { return Ok(None) };
    let since = now_ms().saturating_sub(u64::from(args.days).saturating_mul(86_400_000));
    let which = Which { since_ms: Some(since), turns_only: true, ..Which::default() };
    wait(async {
        let Some(mut ledger) = Ledger::open(&file).await.map_err(trouble)? else { return Ok(None) };
        let requests = ledger.sums(&which).await.map_err(trouble)?.turns;
        let levers = ledger.levers(&which).await.map_err(trouble)?;
        Ok(Some(Here { days: args.days, requests, levers }))
    })?
}
