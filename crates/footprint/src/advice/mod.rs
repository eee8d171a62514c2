//! What could be sent less, by rules, each with its reason and the tokens at stake.
//!
//! What is at stake is exact: the price of the whole, less its price without the parts a rule names, by the pricing
//! functions of the report. Parts that several rules name count once in [`Savings`]. Not advised, on purpose, is to
//! drop `additionalProperties: false`: it tells the model and strict validators something.

mod advise;
mod cut;
mod definitions;
mod rules;
mod stake;
mod walk;

pub(crate) use advise::Adviser;
pub(crate) use stake::Before;

use deadweight_estimate::{Estimated, Tokens};
use serde::Serialize;

/// One piece of advice: a rule, one server, and the tools it concerns. What breaks comes first, then the largest
/// saving.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    /// The rule.
    pub rule: Rule,
    /// Whether it saves, or prevents a breakage.
    pub kind: AdviceKind,
    /// Why, in one sentence.
    pub reason: &'static str,
    /// The server's label.
    pub server: String,
    /// How many tools it concerns.
    pub tool_count: u64,
    /// Those tools, the largest saving first.
    pub tools: Vec<AdvisedTool>,
    /// Bytes that would go.
    pub bytes: u64,
    /// Tokens that would go: the price of the catalogue, less its price without those parts.
    pub tokens: Tokens<Estimated>,
    /// Whether what would go is part of the floor; `outputSchema` is not.
    pub in_floor: bool,
}

/// One tool that a piece of advice concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdvisedTool {
    /// Its name.
    pub name: String,
    /// Bytes that would go.
    pub bytes: u64,
    /// Tokens that would go.
    pub tokens: Tokens<Estimated>,
    /// Where and how much: `enum of 40 values at properties.zone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Bytes and tokens that following all the advice on the floor would save.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// Bytes, each counted once.
    pub bytes: u64,
    /// Tokens.
    pub tokens: Tokens<Estimated>,
}

/// What advice is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceKind {
    /// Something that breaks, or is cut, in some client or at some provider.
    Breaks,
    /// Something that can be sent less.
    Saves,
}

/// The rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// A name that one server lists twice.
    DuplicateName,
    /// `oneOf`, `anyOf` or `allOf` at the top of an input schema.
    TopLevelCombinator,
    /// A name that is longer than 64 characters once a client has put its prefix before it.
    LongName,
    /// A description of more than 2,048 characters.
    LongDescription,
    /// `$schema` members.
    SchemaUri,
    /// Definitions below `$defs` or `definitions` that nothing refers to.
    UnusedDefinitions,
    /// The same `$defs` or `definitions` entry in several tools.
    RepeatedDefinitions,
    /// Enums that are long lists.
    LongEnum,
    /// A description that says again what a parameter's description says.
    RepeatedParameter,
    /// `title` members that only repeat the member's name.
    DerivedTitle,
    /// Keywords that say what holds without them.
    DefaultKeyword,
    /// Output schemas: served, rarely sent on.
    OutputSchema,
    /// Server instructions of more than 2,048 characters.
    LongInstructions,
}

impl Rule {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DuplicateName => "duplicate_name",
            Self::TopLevelCombinator => "top_level_combinator",
            Self::LongName => "long_name",
            Self::LongDescription => "long_description",
            Self::SchemaUri => "schema_uri",
            Self::UnusedDefinitions => "unused_definitions",
            Self::RepeatedDefinitions => "repeated_definitions",
            Self::LongEnum => "long_enum",
            Self::RepeatedParameter => "repeated_parameter",
            Self::DerivedTitle => "derived_title",
            Self::DefaultKeyword => "default_keyword",
            Self::OutputSchema => "output_schema",
            Self::LongInstructions => "long_instructions",
        }
    }

    /// Whether it saves, or prevents a breakage.
    pub const fn kind(self) -> AdviceKind {
        match self {
            Self::DuplicateName
            | Self::TopLevelCombinator
            | Self::LongName
            | Self::LongDescription
            | Self::LongInstructions => AdviceKind::Breaks,
            _ => AdviceKind::Saves,
        }
    }

    /// Whether what would go is part of the floor.
    pub const fn in_floor(self) -> bool {
        !matches!(self, Self::OutputSchema | Self::LongInstructions)
    }

    /// Why, in one sentence.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::DuplicateName => {
                "providers refuse a request with two tools of one name, and a client shows only one"
            }
            Self::TopLevelCombinator => {
                "Anthropic refuses an input schema with oneOf, anyOf or allOf at its top; put it inside a property"
            }
            Self::LongName => {
                "with the client's prefix the name is longer than 64 characters, or than the client allows"
            }
            Self::LongDescription => {
                "Claude Code cuts descriptions at 2,048 characters; what follows is not read there"
            }
            Self::SchemaUri => "no client and no model reads the schema's dialect; it is sent on every turn",
            Self::UnusedDefinitions => "nothing in this tool's schema refers to them",
            Self::RepeatedDefinitions => {
                "the same definition is sent again with each of these tools; send a smaller one"
            }
            Self::LongEnum => {
                "a long list of values is paid on every turn; name the rule, or offer a tool that lists them"
            }
            Self::RepeatedParameter => {
                "the tool's description says again what the parameter's own description says"
            }
            Self::DerivedTitle => "a title that only repeats the name was written by a generator",
            Self::DefaultKeyword => "the keyword says what holds without it",
            Self::OutputSchema => "served with every list; most clients do not send it on, some do",
            Self::LongInstructions => "Claude Code cuts a server's instructions at 2,048 characters",
        }
    }
}
