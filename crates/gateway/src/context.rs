//! The session report: what a conversation keeps in its model's window, how fast that grows, and what to do about it.
//!
//! It is a pure function of the turns that were seen, so that a page, the API and the MCP tool `context_value` say the
//! same. A session that nobody has seen has a report too: an empty one.

use deadweight_estimate::{Estimated, Tokens};
use deadweight_store::LeverAction;
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};

/// The id of the JSON a [`Context`] serialises to.
pub const SCHEMA: &str = "deadweight/context/1";

/// How many names of tools that were left out are told.
const NAMES: usize = 1_024;

/// Over how many turns growth is measured.
const SLOPE_TURNS: usize = 8;
/// How many turns after a compaction or a clearing a session is said to come from one.
const AFTER_EVENT: u64 = 3;
/// Up to how many turns a session is fresh.
const FRESH_TURNS: u64 = 3;
/// From which share of the window on it is crowded, in per cent.
const CROWDED: u64 = 80;
/// From how few forecast turns on it is crowded.
const FEW_TURNS: u64 = 6;
/// From which growth a turn on a session is still building, in thousandths of the window.
const BUILDING: u64 = 10;
/// How many turns a server's tools may go uncalled before they are called dead weight.
const UNUSED_TURNS: u64 = 8;
/// From which share of the floor on, in per cent, an uncalled server is worth a word.
const UNUSED_SHARE: u64 = 10;

/// What happened to a conversation's context at a turn, other than growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextEvent {
    /// The client put a summary in the place of its history, or a lever a view of it.
    Compaction,
    /// The client began again within the same session.
    Clear,
}

/// One turn, as far as the report is concerned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// OBSERVED tokens of its whole prompt; `None` where the provider did not say.
    pub prompt: Option<u64>,
    /// What happened to the context in this turn.
    pub event: Option<ContextEvent>,
}

/// Whose tools stand in the last request of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The server, or `None` for the agent's own tools.
    pub server: Option<String>,
    /// What they weigh on every turn.
    pub tokens: Tokens<Estimated>,
    /// How often any of them was called in the session, WITNESSED.
    pub calls: u64,
    /// In how many turns they stood.
    pub turns: u64,
}

/// What one lever did in the session, from its receipts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeverReport {
    /// Its name.
    pub name: String,
    /// How often it changed a body.
    pub fired: u64,
    /// Bytes that were not sent: received less sent, WITNESSED.
    pub bytes: i64,
    /// How often it stood down, by reason.
    pub stood_down: Vec<(String, u64)>,
    /// The tools that it left out of requests, by their names as the agent sends them.
    pub left_out: BTreeSet<String>,
}

impl LeverReport {
    /// Takes in what it did to a request.
    pub(crate) fn take(&mut self, action: &LeverAction) {
        if !action.fired() {
            match self.stood_down.iter_mut().find(|(reason, _)| *reason == action.reason) {
                Some((_, count)) => *count += 1,
                None => self.stood_down.push((action.reason.clone(), 1)),
            }
            return;
        }
        self.fired += 1;
        self.bytes = self.bytes.saturating_add(action.bytes);
        for name in &action.names {
            if self.left_out.len() < NAMES && !self.left_out.contains(name) {
                self.left_out.insert(name.clone());
            }
        }
    }
}

/// The weights of the last request, ESTIMATED.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Weights {
    /// System prompt.
    pub system: Tokens<Estimated>,
    /// Tool definitions.
    pub tools: Tokens<Estimated>,
    /// Every message but the last.
    pub history: Tokens<Estimated>,
    /// The last message.
    pub tail: Tokens<Estimated>,
    /// System and tools.
    pub floor: Tokens<Estimated>,
    /// Text repeated on every turn though it stands in the first messages.
    pub standing: Tokens<Estimated>,
    /// All four slices.
    pub total: Tokens<Estimated>,
}

/// What is known of a session's main conversation.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'s> {
    /// Its name.
    pub session: &'s str,
    /// The model's window in tokens, where it is known.
    pub window: Option<u64>,
    /// Its turns, oldest first; the oldest of a long conversation may be gone.
    pub steps: &'s VecDeque<Step>,
    /// How many turns there were, those that are gone included.
    pub turns: u64,
    /// The largest prompt ever observed in it.
    pub peak: Option<u64>,
    /// The weights of its last request, and by which estimator.
    pub weights: Option<(Weights, &'s str)>,
    /// Whose tools it carries.
    pub carried: &'s [Carried],
    /// What levers did.
    pub levers: &'s [LeverReport],
}

/// The report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The session that was asked for; `None` when none was named and none was seen.
    pub session: Option<String>,
    /// Whether anything of it was seen.
    pub known: bool,
    /// What the provider counted.
    pub tokens: TokenReport,
    /// What was seen happening, and what is expected.
    pub turns: TurnReport,
    /// Where in its life the session is.
    pub phase: Phase,
    /// One thing to do, when there is one.
    pub advice: Option<Advice>,
    /// What the last request carried.
    pub footprint: Option<FootprintReport>,
    /// What each lever did.
    pub levers: Vec<LeverReport>,
}

/// Tokens, OBSERVED. `null` is what could not be had.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TokenReport {
    /// `OBSERVED`.
    pub provenance: &'static str,
    /// The prompt of the last turn.
    pub resident: Option<u64>,
    /// The largest prompt of the session.
    pub peak: Option<u64>,
    /// The model's window.
    pub window: Option<u64>,
    /// Window less resident.
    pub headroom: Option<u64>,
    /// Tokens a turn: the slope of the least-squares line through the last eight turns since the last context event.
    pub growth_per_turn: Option<i64>,
}

/// Turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnReport {
    /// `WITNESSED`, for everything here but `left`.
    pub provenance: &'static str,
    /// How many were seen.
    pub seen: u64,
    /// Compactions and clearings among those remembered, as the number of their turn, from 1.
    pub context_events: Vec<EventReport>,
    /// Turns since the last of them, itself included; all turns where there was none.
    pub since: u64,
    /// Mean number of turns between one and the next.
    pub between: Option<u64>,
    /// How many turns the window still holds at the present growth.
    pub left: Forecast,
}

/// A context event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EventReport {
    /// The number of the turn, from 1.
    pub turn: u64,
    /// What it was.
    pub kind: ContextEvent,
}

/// A number that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// `FORECAST`.
    pub provenance: &'static str,
    /// Turns.
    pub turns: Option<u64>,
}

/// Where in its life a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing, or only its first three turns.
    Fresh,
    /// It grows by more than a hundredth of its window a turn (or, without a known window, grows at all).
    Building,
    /// It goes on with room.
    Cruising,
    /// Four fifths of the window are taken, or it holds no more than six turns.
    Crowding,
    /// A compaction or a clearing was at most three turns ago.
    PostEvent,
}

/// One step, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What to do.
    pub step: String,
    /// The numbers behind it, with who counted them.
    pub basis: String,
}

/// The weights and who counted them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FootprintReport {
    /// `ESTIMATED`.
    pub provenance: &'static str,
    /// The estimator.
    pub estimator: String,
    /// The slices.
    #[serde(flatten)]
    pub weights: Weights,
}

/// The report on a session of which nothing is known.
#[must_use]
pub fn empty(session: Option<&str>) -> Context {
    Context {
        schema: SCHEMA,
        session: session.map(str::to_owned),
        known: false,
        tokens: TokenReport {
            provenance: "OBSERVED",
            resident: None,
            peak: None,
            window: None,
            headroom: None,
            growth_per_turn: None,
        },
        turns: TurnReport {
            provenance: "WITNESSED",
            seen: 0,
            context_events: Vec::new(),
            since: 0,
            between: None,
            left: Forecast { provenance: "FORECAST", turns: None },
        },
        phase: Phase::Fresh,
        advice: None,
        footprint: None,
        levers: Vec::new(),
    }
}

/// The report on a session.
#[must_use]
pub fn report(seen: &Seen<'_>) -> Context {
    let resident = seen.steps.iter().rev().find_map(|step| step.prompt);
    let headroom = seen.window.zip(resident).map(|(window, resident)| window.saturating_sub(resident));
    let growth = growth(seen.steps);
    let events = events(seen);
    let since = events.last().map_or(seen.turns, |event| seen.turns - event.turn + 1);
    let left = headroom.zip(growth).and_then(|(room, growth)| {
        let growth = u64::try_from(growth).ok().filter(|growth| *growth > 0)?;
        Some(room / growth)
    });
    let between = match (events.first(), events.last()) {
        (Some(first), Some(last)) if events.len() > 1 => {
            Some((last.turn - first.turn) / (events.len() as u64 - 1))
        }
        _ => None,
    };
    let phase = phase(seen, resident, growth, left, events.last().map(|_| since));
    Context {
        session: Some(seen.session.to_owned()),
        known: true,
        tokens: TokenReport {
            provenance: "OBSERVED",
            resident,
            peak: seen.peak,
            window: seen.window,
            headroom,
            growth_per_turn: growth,
        },
        turns: TurnReport {
            provenance: "WITNESSED",
            seen: seen.turns,
            context_events: events,
            since,
            between,
            left: Forecast { provenance: "FORECAST", turns: left },
        },
        phase,
        advice: advice(seen, phase, resident, left),
        footprint: seen.weights.map(|(weights, estimator)| FootprintReport {
            provenance: "ESTIMATED",
            estimator: estimator.to_owned(),
            weights,
        }),
        levers: seen.levers.to_vec(),
        ..empty(None)
    }
}

fn events(seen: &Seen<'_>) -> Vec<EventReport> {
    let first = seen.turns.saturating_sub(seen.steps.len() as u64) + 1;
    (first..)
        .zip(seen.steps)
        .filter_map(|(turn, step)| step.event.map(|kind| EventReport { turn, kind }))
        .collect()
}

/// The slope of the least-squares line through the prompts of the last turns since the last event, rounded towards
/// zero; `None` with fewer than two.
fn growth(steps: &VecDeque<Step>) -> Option<i64> {
    let begin = steps.iter().rposition(|step| step.event.is_some()).unwrap_or(0);
    let begin = begin.max(steps.len().saturating_sub(SLOPE_TURNS));
    let points: Vec<(i128, i128)> = (0..)
        .zip(steps.iter().skip(begin))
        .filter_map(|(x, step)| Some((x, i128::from(step.prompt?))))
        .collect();
    let n = points.len() as i128;
    let sum = |of: fn(&(i128, i128)) -> i128| points.iter().map(of).sum::<i128>();
    let (x, y) = (sum(|p| p.0), sum(|p| p.1));
    let (xy, xx) = (sum(|p| p.0 * p.1), sum(|p| p.0 * p.0));
    // Zero for no point and for one.
    let spread = n * xx - x * x;
    if spread == 0 {
        return None;
    }
    i64::try_from((n * xy - x * y) / spread).ok()
}

fn phase(
    seen: &Seen<'_>,
    resident: Option<u64>,
    growth: Option<i64>,
    left: Option<u64>,
    since_event: Option<u64>,
) -> Phase {
    let full = seen.window.zip(resident).is_some_and(|(window, resident)| {
        u128::from(resident) * 100 >= u128::from(window) * u128::from(CROWDED)
    });
    if full || (left.is_some_and(|left| left <= FEW_TURNS) && seen.turns > FRESH_TURNS) {
        return Phase::Crowding;
    }
    if since_event.is_some_and(|since| since <= AFTER_EVENT) {
        return Phase::PostEvent;
    }
    if seen.turns <= FRESH_TURNS {
        return Phase::Fresh;
    }
    let threshold = seen.window.map_or(0, |window| window / 1000 * BUILDING);
    let grows = growth.is_some_and(|growth| growth > i64::try_from(threshold).unwrap_or(i64::MAX));
    if grows { Phase::Building } else { Phase::Cruising }
}

fn advice(seen: &Seen<'_>, phase: Phase, resident: Option<u64>, left: Option<u64>) -> Option<Advice> {
    if phase == Phase::Crowding {
        let mut basis = match (resident, seen.window) {
            (Some(resident), Some(window)) => format!("{resident} of {window} tokens are taken (OBSERVED)"),
            _ => String::from("the window is nearly full (OBSERVED)"),
        };
        if let Some(left) = left {
            basis.push_str(&format!("; at its present growth it holds {left} more turns (FORECAST)"));
        }
        let step = "finish the step at hand, then compact or begin a new session".to_owned();
        return Some(Advice { step, basis });
    }
    let floor = seen.weights.map_or(0, |(weights, _)| weights.floor.get());
    let idle = |carried: &&Carried| {
        carried.server.is_some()
            && carried.calls == 0
            && carried.turns >= UNUSED_TURNS
            && carried.tokens.get() * 100 >= floor.max(1) * UNUSED_SHARE
    };
    let dead = seen.carried.iter().filter(idle).max_by_key(|carried| carried.tokens)?;
    let server = dead.server.as_deref().unwrap_or_default();
    Some(Advice {
        step: format!("leave out the server `{server}`, or put `deadweight mcp` before it"),
        basis: format!(
            "its tools weigh {} tokens on every turn (ESTIMATED) and were called in none of {} turns (WITNESSED)",
            dead.tokens.get(),
            dead.turns
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen<'s>(steps: &'s VecDeque<Step>, window: Option<u64>, carried: &'s [Carried]) -> Seen<'s> {
        Seen {
            session: "s",
            window,
            steps,
            turns: steps.len() as u64,
            peak: steps.iter().filter_map(|step| step.prompt).max(),
            weights: None,
            carried,
            levers: &[],
        }
    }

    fn steps(prompts: &[u64]) -> VecDeque<Step> {
        prompts.iter().map(|prompt| Step { prompt: Some(*prompt), event: None }).collect()
    }

    #[test]
    fn an_unknown_session_has_an_empty_report() {
        let json = serde_json::to_value(empty(Some("nobody"))).unwrap();
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["known"], false);
        assert_eq!(json["tokens"]["resident"], serde_json::Value::Null);
        assert_eq!(json["turns"]["left"]["provenance"], "FORECAST");
        assert_eq!(json["phase"], "fresh");
    }

    #[test]
    fn growth_is_the_slope_of_the_last_eight_turns() {
        let long: Vec<u64> =
            (0..20).map(|turn| if turn < 12 { 1_000_000 } else { 10_000 + turn * 700 }).collect();
        let steps = steps(&long);
        let report = report(&seen(&steps, Some(200_000), &[]));
        assert_eq!(report.tokens.growth_per_turn, Some(700));
        assert_eq!(report.tokens.resident, Some(10_000 + 19 * 700));
        assert_eq!(report.tokens.peak, Some(1_000_000));
        assert_eq!(report.turns.left.turns, Some((200_000 - 23_300) / 700));
        assert_eq!(report.phase, Phase::Cruising);
    }

    #[test]
    fn an_event_begins_the_slope_anew() {
        let mut steps = steps(&[100_000, 110_000, 120_000, 130_000, 20_000, 21_000]);
        steps[4].event = Some(ContextEvent::Compaction);
        let report = report(&seen(&steps, Some(200_000), &[]));
        assert_eq!(report.tokens.growth_per_turn, Some(1_000));
        assert_eq!(report.turns.since, 2);
        assert_eq!(report.turns.context_events, [EventReport { turn: 5, kind: ContextEvent::Compaction }]);
        assert_eq!(report.phase, Phase::PostEvent);
    }

    #[test]
    fn one_turn_has_no_growth_and_a_gap_in_the_counters_is_no_zero() {
        let one = steps(&[5_000]);
        assert_eq!(report(&seen(&one, None, &[])).tokens.growth_per_turn, None);
        let mut gap = steps(&[1_000, 0, 3_000]);
        gap[1].prompt = None;
        assert_eq!(report(&seen(&gap, None, &[])).tokens.growth_per_turn, Some(1_000));
        assert_eq!(report(&seen(&gap, None, &[])).tokens.headroom, None);
    }

    #[test]
    fn a_nearly_full_window_is_crowded_and_says_so() {
        let steps = steps(&[150_000, 155_000, 160_000, 165_000]);
        let report = report(&seen(&steps, Some(200_000), &[]));
        assert_eq!(report.phase, Phase::Crowding);
        let advice = report.advice.unwrap();
        assert!(
            advice.basis.contains("165000 of 200000") && advice.basis.contains("7 more turns"),
            "{}",
            advice.basis
        );
    }

    #[test]
    fn a_server_that_nobody_calls_is_named_with_its_weight() {
        let steps = steps(&[10_000; 9]);
        let carried = [
            Carried { server: None, tokens: Tokens::new(9_000), calls: 0, turns: 9 },
            Carried { server: Some("github".to_owned()), tokens: Tokens::new(5_100), calls: 0, turns: 9 },
            Carried { server: Some("used".to_owned()), tokens: Tokens::new(7_000), calls: 1, turns: 9 },
        ];
        let report = report(&seen(&steps, Some(200_000), &carried));
        assert_eq!(report.phase, Phase::Cruising);
        let advice = report.advice.unwrap();
        assert!(advice.step.contains("`github`") && advice.basis.contains("5100 tokens"), "{advice:?}");
    }

    #[test]
    fn a_session_that_still_grows_fast_is_building() {
        let steps = steps(&[10_000, 14_000, 18_000, 22_000, 26_000]);
        assert_eq!(report(&seen(&steps, Some(200_000), &[])).phase, Phase::Building);
    }
}
