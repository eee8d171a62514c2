//! The card that is committed is what is measured now.

use crate::measure::measured;
use deadweight_scorecard::card::Card;
use deadweight_scorecard::{COMMITTED, debt, markdown};
use deadweight_testkit::sessions::set;

/// The sessions that every change is tried on.
const SESSIONS: usize = 20;

#[test]
fn the_committed_card_is_what_happens() {
    let committed: Card = serde_json::from_str(COMMITTED).unwrap();
    let now = measured(&set(SESSIONS)).unwrap();
    let again = "make it again: cargo xtask scorecard";
    for (bar, before) in now.bars.iter().zip(&committed.bars) {
        assert!(bar.holds || !before.holds, "missed: {bar:?}");
    }
    assert_eq!(now, committed, "{again}");
    let page = include_str!("../../../../SCORECARD.md");
    assert!(markdown::page(&now) == page, "{again}");
}

#[test]
fn the_committed_card_owes_what_it_says() {
    let committed: Card = serde_json::from_str(COMMITTED).unwrap();
    assert_eq!(debt::judged(committed.clone()), committed);
    assert_eq!(deadweight_scorecard::bar::bars(&committed), committed.bars);
}
