//! What must hold of whole sessions in the default profile.

use crate::card::{Bar, Card, Paid};
use deadweight_present::number::thousands;

/// The name of the class of all sessions.
pub const ALL: &str = "all sessions";
/// The name of the class of those whose client asks the provider to cache.
pub const MARKED: &str = "all sessions of clients that set breakpoints";
/// The class in which nobody is away for long.
pub const NO_GAP: &str = "no idle gap";
/// The class whose thinking is bound.
pub const BOUND: &str = "thinking on a binding model";
/// The class of which a saving is asked.
pub const LONG: &str = "≥ 60 turns, large results, idle gaps, no bound thinking";
/// The policy that is judged.
pub const OURS: &str = "deadweight, default profile";
/// The saving that is asked, in thousandths.
const ASKED: i64 = 250;

/// What a session may cost more than with nothing in between: half a percent, or one write of its prefix.
#[must_use]
pub const fn allowed(passthrough: u64, largest_write: u64) -> u64 {
    let share = passthrough / 200;
    if share > largest_write { share } else { largest_write }
}

/// The bars of a card.
#[must_use]
pub fn bars(card: &Card) -> Vec<Bar> {
    let none = |what: &str, found: u64| Bar {
        what: what.to_owned(),
        asked: "0".to_owned(),
        found: thousands(found),
        holds: found == 0,
    };
    let run = &card.run;
    let mut bars = vec![
        none("requests that the provider refused", run.refused),
        none("thinking blocks dropped, by the provider or out of what arrived", run.dropped),
        none("calls or results without their partner", run.orphans),
        none("cached prefixes that were rewritten", run.rewritten),
        none("sessions dearer than by 0.5 % or one prefix write", run.dearer),
    ];
    for (class, least, asked) in [
        (ALL, 0, "≥ 0 %"),
        (MARKED, 0, "≥ 0 %"),
        (NO_GAP, 0, "≥ 0 %"),
        (BOUND, 0, "≥ 0 %"),
        (LONG, ASKED, "≥ 25 %"),
    ] {
        let paid = ours(card, class);
        let holds = paid.is_some_and(|paid| {
            paid.passthrough_nanos > 0 && paid.net_nanos() >= 0 && paid.net_permille() >= least
        });
        bars.push(Bar {
            what: format!("net saving: {class}"),
            asked: asked.to_owned(),
            found: paid.map_or_else(|| "—".to_owned(), |paid| percent(paid.net_permille())),
            holds,
        });
    }
    bars
}

/// What our default profile made of a class.
#[must_use]
pub fn ours<'a>(card: &'a Card, class: &str) -> Option<&'a Paid> {
    let class = card.classes.iter().find(|own| own.name == class)?;
    class.policies.iter().find(|paid| paid.policy == OURS)
}

/// A share in thousandths, as it is shown: one decimal below ten percent.
#[must_use]
pub fn percent(permille: i64) -> String {
    let (whole, rest) = (permille.unsigned_abs() / 10, permille.unsigned_abs() % 10);
    let sign = if permille < 0 { "−" } else { "" };
    if whole >= 10 { format!("{sign}{whole} %") } else { format!("{sign}{whole}.{rest} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Class;

    type Spoil = fn(&mut Card);

    fn card() -> Card {
        let class = |name: &str, paid: u64| Class {
            name: name.to_owned(),
            sessions: 1,
            policies: vec![Paid {
                policy: OURS.to_owned(),
                passthrough_nanos: 1_000,
                paid_nanos: paid,
                ..Paid::default()
            }],
        };
        Card {
            classes: vec![
                class(ALL, 1_000),
                class(MARKED, 1_000),
                class(NO_GAP, 1_000),
                class(BOUND, 990),
                class(LONG, 750),
            ],
            ..Card::default()
        }
    }

    #[test]
    fn what_holds_holds_by_a_hair() {
        assert!(bars(&card()).iter().all(|bar| bar.holds), "{:?}", bars(&card()));
    }

    #[test]
    fn every_bar_can_be_missed() {
        let spoils: [Spoil; 10] = [
            |card| card.run.refused = 1,
            |card| card.run.dropped = 1,
            |card| card.run.orphans = 1,
            |card| card.run.rewritten = 1,
            |card| card.run.dearer = 1,
            |card| card.classes[0].policies[0].paid_nanos = 1_001,
            |card| card.classes[1].policies[0].paid_nanos = 1_001,
            |card| card.classes[2].policies[0].paid_nanos = 1_001,
            |card| card.classes[3].policies.clear(),
            |card| card.classes[4].policies[0].paid_nanos = 751,
        ];
        for (number, spoil) in spoils.into_iter().enumerate() {
            let mut card = card();
            spoil(&mut card);
            let missed: Vec<_> =
                bars(&card).iter().enumerate().filter(|(_, bar)| !bar.holds).map(|(at, _)| at).collect();
            assert_eq!(missed, [number]);
        }
    }

    #[test]
    fn a_session_may_cost_one_write_more() {
        assert_eq!((allowed(1_000, 3), allowed(1_000, 7)), (5, 7));
    }

    #[test]
    fn shares() {
        assert_eq!(
            [0, 4, -4, 99, 100, 283, -120].map(percent),
            ["0.0 %", "0.4 %", "−0.4 %", "9.9 %", "10 %", "28 %", "−12 %"]
        );
    }
}
