//! The scorecard: not what the wiring says that a lever does, but what happened.
//!
//! - [`card`]: the card, as it is written down and printed.
//! - [`debt`]: what is owed, found in the card itself, and the grade that follows.
//! - [`bar`]: what must hold of whole sessions.
//! - [`known`]: what is pinned of each lever, and what an unused one waits for.
//! - [`markdown`]: the card for people.
//!
//! Everything here is a function of what was measured. Measuring is done by the tests: whole sessions, scripted from
//! published figures, over HTTP through the gateway to the strict provider.

pub mod bar;
pub mod card;
pub mod debt;
pub mod known;
pub mod markdown;

/// The card that was last made, as it is committed; CI makes it again and compares.
pub const COMMITTED: &str = include_str!("../../../scorecard.json");
