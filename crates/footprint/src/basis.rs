//! What a report's numbers stand for: the pricing basis, and the small numbers every report is made of.

use deadweight_estimate::{Counting, Estimated, Estimator, EstimatorId, Ratio, Tally, Tokens};
use serde::Serialize;
use std::fmt;

/// Bytes of content and what an estimator makes of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Price {
    /// Content bytes.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
}

impl Price {
    /// What a running count has come to.
    pub fn of(tally: &Tally<'_>) -> Self {
        Self { bytes: tally.bytes(), tokens: tally.tokens() }
    }
}

/// The basis of a report: two reports whose bases differ cannot be compared. Printed with every report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// What is counted.
    pub fields: &'static [&'static str],
    /// What is served beside it and reported, but not counted.
    pub not_counted: &'static [&'static str],
    /// How the fields of one tool are joined before they are counted.
    pub framing: &'static str,
    /// Who counts.
    pub estimator: EstimatorId,
    /// For an estimator that counts by ratio, bytes a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_token: Option<BytesPerToken>,
    /// Where an exact count is to be had.
    pub exact: &'static str,
}

/// The ratios of an estimator, in bytes a token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BytesPerToken {
    /// Tool definitions and their descriptions.
    pub tool_definition: f64,
    /// Everything else.
    pub prose: f64,
}

impl Eq for BytesPerToken {}

/// Joined without separators; what a ratio counts.
const FRAMING_BYTES: &str = "the fields' bytes, nothing between them; tokens are the floor of the byte sum";
/// Joined by newlines; what a tokenizer reads.
const FRAMING_TEXT: &str =
    "name, newline, description, newline, schema as one text a tool; tokens are the sum over the tools";

/// What a tokenizer reads of memory files and skills.
const FRAMING_SECTIONS: &str =
    "each section of a file, and `name: description` of a skill, as one text; tokens are the sum over them";

impl Basis {
    /// The basis of a catalogue priced by `estimator`.
    pub fn of_catalogue(estimator: &dyn Estimator) -> Self {
        Self::new(
            estimator,
            &["name", "description", "compact inputSchema"],
            &["title", "outputSchema", "annotations", "icons", "_meta", "execution", "instructions"],
        )
    }

    /// The basis of a captured request priced by `estimator`.
    pub fn of_request(estimator: &dyn Estimator) -> Self {
        Self::new(
            estimator,
            &[
                "decoded text",
                "tool name + description + schema as sent",
                "tool call name + input as sent",
                "images by size",
            ],
            &["ids", "roles", "JSON framing", "deferred tools that nothing has loaded"],
        )
    }

    /// The basis of memory files and skills priced by `estimator`.
    pub fn of_memory(estimator: &dyn Estimator) -> Self {
        let basis = Self::new(
            estimator,
            &["memory files as they stand", "name and description of skills as they are listed"],
            &[
                "what an agent puts around them: paths, headings, tags",
                "skills' bodies",
                "rules tied to paths",
            ],
        );
        match estimator.counting() {
            Counting::Ratio(_) => basis,
            Counting::Text(_) => Self { framing: FRAMING_SECTIONS, ..basis },
        }
    }

    fn new(
        estimator: &dyn Estimator,
        fields: &'static [&'static str],
        not_counted: &'static [&'static str],
    ) -> Self {
        let (framing, bytes_per_token, exact) = match estimator.counting() {
            Counting::Ratio(ratios) => (
                FRAMING_BYTES,
                Some(BytesPerToken {
                    tool_definition: bytes_per_token(ratios.tool_definition),
                    prose: bytes_per_token(ratios.prose),
                }),
                "--estimator o200k (OpenAI); the provider's own token counting (others)",
            ),
            Counting::Text(_) => (
                FRAMING_TEXT,
                None,
                "this is the exact count of that vocabulary; other models: the provider's own token counting",
            ),
        };
        Self { fields, not_counted, framing, estimator: estimator.id(), bytes_per_token, exact }
    }
}

fn bytes_per_token(ratio: Ratio) -> f64 {
    // Ratios are fractions of small integers, which a double holds exactly; a ratio of 0 tokens is endless.
    ratio.bytes() as f64 / ratio.tokens() as f64
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · estimator {}", self.fields.join(" + "), self.estimator)?;
        if let Some(ratio) = &self.bytes_per_token {
            write!(f, " (tool definitions {} B/tok, prose {})", ratio.tool_definition, ratio.prose)?;
        }
        write!(f, " · exact: {}", self.exact)
    }
}

/// `part` in per cent of `whole`, to a tenth, rounded half up; 0 when `whole` is 0.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let tenths = (u128::from(part) * 2000 + u128::from(whole)) / (u128::from(whole) * 2);
    tenths as f64 / 10.0
}
