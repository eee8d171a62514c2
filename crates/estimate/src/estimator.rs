//! The interface every estimator has, and the registry that finds one by name.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::bpe::{cl100k, o200k};
use crate::provenance::{Estimated, Tokens};
use crate::ratio::{SurfaceRatios, calibrated, chars4};

/// What kind of text is counted: ratio estimators have one ratio for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Everything that is not a tool definition: system text, messages, tool results.
    Prose,
    /// Tool definitions: their names, descriptions and schemas.
    ToolDefinition,
}

/// An estimator's name and version; `calibrated/1` when displayed or serialised. The version rises whenever the
/// same text could give another number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EstimatorId {
    /// The name, such as `calibrated`, or `learned:MODEL`.
    pub name: Cow<'static, str>,
    /// The version, from 1.
    pub version: u32,
}

impl EstimatorId {
    /// The id of a built-in estimator.
    #[must_use]
    pub const fn builtin(name: &'static str, version: u32) -> Self {
        Self { name: Cow::Borrowed(name), version }
    }
}

impl fmt::Display for EstimatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.name, self.version))
    }
}

impl Serialize for EstimatorId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Counts the tokens of a text; what a tokenizer does.
pub trait TextCounter: Send + Sync {
    /// The number of tokens in `text`. Whatever looks like a special token in it is ordinary text.
    fn count(&self, text: &str) -> u64;
}

/// How an estimator counts.
#[derive(Clone, Copy)]
pub enum Counting<'e> {
    /// From the number of bytes; no text is looked at.
    Ratio(&'e SurfaceRatios),
    /// From the text itself.
    Text(&'e dyn TextCounter),
}

impl fmt::Debug for Counting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(ratios) => f.debug_tuple("Ratio").field(ratios).finish(),
            Self::Text(_) => f.write_str("Text(..)"),
        }
    }
}

/// A named, versioned way to turn bytes or text into tokens. Count with a [`Tally`](crate::Tally).
pub trait Estimator: Send + Sync {
    /// Name and version, printed beside every number it made.
    fn id(&self) -> EstimatorId;

    /// How it counts.
    fn counting(&self) -> Counting<'_>;

    /// The tokens of one text on its own.
    fn count(&self, surface: Surface, text: &str) -> Tokens<Estimated> {
        Tokens::new(match self.counting() {
            Counting::Ratio(ratios) => ratios.of(surface).floor(text.len() as u64),
            Counting::Text(counter) => counter.count(text),
        })
    }
}

/// The names [`estimator`] knows, the default first.
pub const ESTIMATOR_NAMES: &[&str] = &["calibrated", "chars4", "o200k", "cl100k"];

/// Finds an estimator by its name (`o200k`) or by name and version (`o200k/1`).
///
/// # Errors
/// When there is none of that name, or only in another version. The error lists what there is.
pub fn estimator(name: &str) -> Result<Box<dyn Estimator>, UnknownEstimator> {
    let bare = name.split_once('/').map_or(name, |(bare, _)| bare);
    let found: Box<dyn Estimator> = match bare {
        "calibrated" => Box::new(calibrated()),
        "chars4" => Box::new(chars4()),
        "o200k" => Box::new(o200k()),
        "cl100k" => Box::new(cl100k()),
        _ => return Err(UnknownEstimator { asked: name.to_owned(), known: None }),
    };
    if bare.len() < name.len() && found.id().to_string() != name {
        return Err(UnknownEstimator { asked: name.to_owned(), known: Some(found.id()) });
    }
    Ok(found)
}

/// There is no estimator of the name that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct UnknownEstimator {
    /// What was asked for.
    pub asked: String,
    /// The version there is, when only the version is unknown.
    pub known: Option<EstimatorId>,
}

impl fmt::Display for UnknownEstimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = &self.asked;
        match &self.known {
            Some(known) => write!(f, "there is no estimator {asked:?} in this build; it has {known}"),
            None => {
                write!(f, "there is no estimator {asked:?}; choose one of {}", ESTIMATOR_NAMES.join(", "))?;
                if asked.starts_with("learned") {
                    f.write_str(
                        " (a learned estimator is fitted to a model's observed usage, not chosen by name)",
                    )?;
                }
                Ok(())
            }
        }
    }
}
