//! What following advice would save: the same prices, before and after.

use super::cut::{schema_without, union, without};
use super::rules::Place;
use crate::catalogue::tool::{counted_text, reads_text, tool_text};
use deadweight_estimate::{Counting, Estimated, Estimator, Surface, Tally, Tokens};
use deadweight_wire::definition::Definition;
use std::ops::Range;

/// A tool's texts, from which parts can be taken.
pub(super) struct Texts {
    name: String,
    description: String,
    /// The schema as it stands, and where in the definition it begins.
    schema: String,
    schema_start: usize,
    /// Bytes and, under a tokenizer, tokens as they are.
    before: Before,
}

/// What a tool weighs as it is: bytes, and tokens where a tokenizer counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(super) bytes: u64,
    counted: u64,
}

impl Before {
    /// A tool of `bytes` bytes that was priced at `tokens`.
    pub(crate) fn new(bytes: u64, tokens: Tokens<Estimated>, estimator: &dyn Estimator) -> Self {
        Self { bytes, counted: if reads_text(estimator) { tokens.get() } else { 0 } }
    }
}

impl Texts {
    /// The texts of a definition that weighs `before`.
    pub(super) fn of(definition: &Definition<'_, '_>, before: Before) -> Self {
        let description = definition.description.filter(|value| !value.is_null());
        let schema = definition.input_schema;
        Self {
            name: counted_text(definition.name).into_owned(),
            description: counted_text(description).into_owned(),
            schema: schema.map_or("", |schema| schema.raw()).to_owned(),
            schema_start: schema.map_or(0, |schema| schema.span().start()),
            before,
        }
    }

    fn weigh(&self, description: &str, schema: &str, estimator: &dyn Estimator) -> Before {
        let bytes = (self.name.len() + description.len() + schema.len()) as u64;
        let counted = if reads_text(estimator) {
            estimator.count(Surface::ToolDefinition, &tool_text(&self.name, description, schema)).get()
        } else {
            0
        };
        Before { bytes, counted }
    }

    /// What goes when all of `places` go together.
    pub(super) fn without<'p>(
        &self,
        places: impl Iterator<Item = &'p Place>,
        estimator: &dyn Estimator,
    ) -> Cut {
        let (mut schema, mut description): (Vec<Range<usize>>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
        for place in places {
            match place {
                Place::Whole => return Cut { bytes: self.before.bytes, counted: self.before.counted as i64 },
                Place::Schema(range) => {
                    let moved = |at: usize| at.saturating_sub(self.schema_start);
                    schema.push(moved(range.start)..moved(range.end));
                }
                Place::Description(range) => description.push(range.clone()),
                Place::OutputSchema | Place::Nothing => {}
            }
        }
        if schema.is_empty() && description.is_empty() {
            return Cut::default();
        }
        union(&mut schema);
        union(&mut description);
        let description = without(&self.description, &description);
        let after = self.weigh(&description, &schema_without(&self.schema, &schema), estimator);
        Cut {
            bytes: self.before.bytes.saturating_sub(after.bytes),
            counted: self.before.counted as i64 - after.counted as i64,
        }
    }

    /// The tool's own bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.before.bytes
    }
}

/// What goes: bytes, and under a tokenizer tokens. (Less text can be more tokens, where a cut joins two ends.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) bytes: u64,
    pub(super) counted: i64,
}

impl Cut {
    pub(super) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.counted += other.counted;
    }

    /// The tokens that go from a whole of `whole` bytes: under a ratio the price of the whole less its price
    /// without them, under a tokenizer the sum of the tools' own differences.
    pub(super) fn tokens(self, whole: u64, estimator: &dyn Estimator) -> Tokens<Estimated> {
        match estimator.counting() {
            Counting::Text(_) => Tokens::new(u64::try_from(self.counted).unwrap_or(0)),
            Counting::Ratio(_) => {
                let of = |bytes: u64| {
                    let mut tally = Tally::new(estimator, Surface::ToolDefinition);
                    tally.add(bytes, || "".into());
                    tally.tokens()
                };
                of(whole).checked_sub(of(whole.saturating_sub(self.bytes))).unwrap_or_default()
            }
        }
    }
}
