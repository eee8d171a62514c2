//! Who counted, and how: provenance, estimators, and what an image costs.
//!
//! - [`Tokens`]: a number of tokens that carries in its type who counted it. Numbers of different
//!   provenance can stand side by side; adding them does not compile.
//! - [`Estimator`]: a named, versioned way to turn bytes or text into [`Tokens<Estimated>`].
//!   [`estimator`] finds one by name.
//! - [`Tally`]: a running count that treats ratio estimators (floor of the byte sum) and tokenizers (sum of
//!   the counts) each by its own rule, so that callers need not know which one they hold.
//! - [`Learned`]: an estimator fitted to what a provider counted.
//! - [`image`]: pixel sizes from the first bytes of an image, and what they cost.
//!
//! This crate knows no request, does no I/O and reads no clock; all arithmetic is on integers.

mod bpe;
mod estimator;
pub mod image;
mod learned;
mod provenance;
mod ratio;
mod tally;

pub use bpe::{BpeEstimator, cl100k, o200k};
pub use estimator::{
    Counting, ESTIMATOR_NAMES, Estimator, EstimatorId, Surface, TextCounter, UnknownEstimator, estimator,
};
pub use learned::{Fit, FitError, Learned, Sample};
pub use provenance::{Estimated, Forecast, Observed, Provenance, ProvenanceKind, Stamp, Tokens, Witnessed};
pub use ratio::{Ratio, RatioEstimator, SurfaceRatios, calibrated, chars4};
pub use tally::Tally;
