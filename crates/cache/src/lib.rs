//! Whose conversation a request is, what of it the provider's prompt cache can still hold, and what broke it.
//!
//! - [`prefix`]: a request as a chain of hashes: tools, system, messages, in the order in which providers render them.
//! - [`lineage`]: which conversation of a session a request goes on with.
//! - [`watch`]: what became of the cached prefix from one request to the next, and whether the provider's counters agree.
//! - [`model`]: the prompt cache itself, as far as it is documented: what a request would read and write.
//!
//! No I/O, no clock, no randomness: times come in as milliseconds, state is a value that can be saved and restored.
//! Tokens here are ESTIMATED from content bytes with the `calibrated` ratios, and FORECAST where the model says what
//! will be read; the two never meet the provider's own numbers other than as shares.

mod canon;
mod hash;
pub mod lineage;
pub mod model;
pub mod prefix;
mod summary;
pub mod watch;

pub use hash::Digest;
