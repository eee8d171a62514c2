//! What could be sent less, by rules, each with its reason and the tokens at stake.

use deadweight_estimate::{Estimated, Tokens};
use serde::Serialize;

/// One piece of advice: a rule, one server, and the tools it concerns.
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
}
