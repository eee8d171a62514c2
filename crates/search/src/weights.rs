//! The numbers of the ranking.

use crate::tool::FIELDS;

/// What the ranking weighs. The defaults were found on four public sets of requests, each change kept only where it
/// helped the halves of the requests alike; they are the same for every catalogue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// How much a word counts in each field, in the order of [`Field::ALL`](crate::Field::ALL).
    pub fields: [f32; FIELDS],
    /// How much less it counts in a field that is long for its kind, 0 (no less) to 1, in the same order.
    pub length: [f32; FIELDS],
    /// How soon a word that comes again counts no more.
    pub saturation: f32,
    /// How surely a word means another of the same action or thing, 0 to 1.
    pub kin: f32,
    /// How surely an unknown word is a misspelt one, 0 to 1.
    pub misspelt: f32,
    /// How surely two words are one that tools write without a gap, 0 to 1.
    pub joined: f32,
    /// What a word of courtesy (`please`, `want`) counts, beside other words.
    pub courtesy: f32,
    /// What the whole request counts.
    pub whole: f32,
    /// What the one intent counts that a tool fits best.
    pub intent: f32,
    /// What it counts that other tools of the same server fit the other intents.
    pub support: f32,
    /// What it counts that one intent says all of a tool's name.
    pub name: f32,
    /// The same, for each unit of rarity of the name's words.
    pub telling_name: f32,
    /// What it counts that the request says all of the server's name.
    pub server: f32,
    /// How much less a word counts once an earlier hit has answered it, 0 to 1.
    pub novelty: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            fields: [3.0, 2.7, 1.25, 0.8, 0.47],
            length: [0.5, 0.3, 0.6, 0.32, 0.6],
            saturation: 0.9,
            kin: 0.5,
            misspelt: 0.7,
            joined: 0.9,
            courtesy: 0.2,
            whole: 1.3,
            intent: 0.8,
            support: 0.3,
            name: 1.0,
            telling_name: 0.2,
            server: 3.2,
            novelty: 0.12,
        }
    }
}
