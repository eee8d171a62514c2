//! The card. All money is ESTIMATED: the strict provider's bill, by its own measure of tokens and its table of prices.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The id of the form that a card is written in.
pub const SCHEMA: &str = "deadweight/scorecard/1";

/// What was measured, and what follows from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// [`SCHEMA`].
    pub schema: String,
    /// The grade, from A to F.
    pub grade: String,
    /// What is owed.
    pub debts: Vec<Debt>,
    /// What must hold of whole sessions, and whether it does.
    pub bars: Vec<Bar>,
    /// What each lever did that is on where nobody says anything.
    pub levers: Vec<Lever>,
    /// What each lever does that is on for those who ask for it, each alone in sessions of its own.
    #[serde(default)]
    pub opt_ins: Vec<Lever>,
    /// What sessions cost, class by class and policy by policy. The first class is that of all sessions.
    pub classes: Vec<Class>,
    /// What each front door has switched on where nobody says anything.
    pub doors: Vec<Door>,
    /// What was played.
    pub run: Run,
    /// By what it was measured, and where the distributions come from.
    pub basis: Vec<String>,
}

/// One lever.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lever {
    /// Its name.
    pub name: String,
    /// What it may do: `lossless`, `bounded` or `opt-in`.
    pub class: String,
    /// The part of a request that it makes smaller or cheaper.
    pub attacks: String,
    /// Whether it is on where nobody says anything.
    pub on: bool,
    /// The test that pins that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pinned_by: Option<String>,
    /// What must be shown before it is on by default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<String>,
    /// What the user is told.
    pub note: String,
    /// To how many tokens it brings a request down, where it has such a target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target_tokens: Option<u64>,
    /// The smallest window of the models that it was measured on.
    pub window_tokens: u64,
    /// The layouts of agents on which it fired.
    pub layouts: Vec<String>,
    /// In how many requests of the sessions it was at work, in the profile that it is judged in; an opt-in in its own
    /// sessions.
    pub fired: u64,
    /// Bytes that it took out of these, less those it put in (WITNESSED, from receipts).
    pub bytes: i64,
    /// Tokens of prompts that the provider did not count because of it, where it was the only lever (ESTIMATED).
    pub tokens: i64,
    /// What it saved where it was the only lever, in nano-dollars, request by request (ESTIMATED).
    pub gross_nanos: u64,
    /// What that cost: what other requests were dearer by.
    pub cost_nanos: u64,
    /// Requests that the provider refused only because of it, on layouts and in sessions.
    pub errors: u64,
    /// Why it did nothing new, and how often.
    pub stood_down: BTreeMap<String, u64>,
}

impl Card {
    /// Every lever on it.
    pub fn every(&self) -> impl Iterator<Item = &Lever> {
        self.levers.iter().chain(&self.opt_ins)
    }
}

impl Lever {
    /// What it saved, less what that cost.
    #[must_use]
    pub fn net_nanos(&self) -> i64 {
        signed(self.gross_nanos).saturating_sub(signed(self.cost_nanos))
    }
}

/// A number with a sign.
#[must_use]
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// What sessions of one class cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How many sessions it has.
    pub sessions: u64,
    /// Under each policy.
    pub policies: Vec<Paid>,
}

/// What the sessions of a class cost under one policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paid {
    /// The policy: ours, or one of somebody else's.
    pub policy: String,
    /// Sessions that it ended, because the provider refused a request.
    pub ended: u64,
    /// Thinking blocks that were dropped.
    pub dropped: u64,
    /// What the sessions that came to their end cost with nothing in between, in nano-dollars (ESTIMATED).
    pub passthrough_nanos: u64,
    /// What they cost under the policy.
    pub paid_nanos: u64,
    /// What was saved, request by request.
    pub gross_nanos: u64,
    /// What other requests were dearer by.
    pub cost_nanos: u64,
}

impl Paid {
    /// What was saved in all; below zero where it was lost.
    #[must_use]
    pub fn net_nanos(&self) -> i64 {
        signed(self.passthrough_nanos).saturating_sub(signed(self.paid_nanos))
    }

    /// The same in thousandths of what it would have cost.
    #[must_use]
    pub fn net_permille(&self) -> i64 {
        match signed(self.passthrough_nanos) {
            0 => 0,
            whole => (i128::from(self.net_nanos()) * 1_000 / i128::from(whole)) as i64,
        }
    }
}

/// A way in: the library, the gateway, the command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Door {
    /// Its name.
    pub name: String,
    /// The levers that are on there.
    pub on: Vec<String>,
}

/// What was played, and what came out at the provider's door in the default profile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Sessions.
    pub sessions: u64,
    /// Requests of them, retries among them.
    pub requests: u64,
    /// Layouts of agents.
    pub layouts: u64,
    /// Requests that the provider refused.
    pub refused: u64,
    /// Thinking blocks that the provider dropped, or that were taken out of a message that arrived.
    pub dropped: u64,
    /// Thinking blocks that were left out together with the whole rounds that they stood in, each time they were.
    pub left_out: u64,
    /// Calls and results without their partner.
    pub orphans: u64,
    /// Requests that arrived otherwise than before, though what they rewrote was cached.
    pub rewritten: u64,
    /// Sessions that cost more than they may.
    pub dearer: u64,
    /// Requests that did not arrive byte for byte as they were made.
    pub edited: u64,
}

/// Something that is owed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Debt {
    /// Which: one word of a closed list.
    pub kind: String,
    /// By whom: a lever, or a door.
    pub of: String,
    /// The sentence.
    pub text: String,
}

/// Something that must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// What.
    pub what: String,
    /// What is asked.
    pub asked: String,
    /// What was found.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}
