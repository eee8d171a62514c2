//! The ratchet: what was measured, held against `deadweight.lock`.
//!
//! - [`judge`] holds a [`Measured`] against a lock.
//! - [`compare`] holds a lock against an earlier one, without measuring anything.
//! - [`update`] makes the lock that a measurement asks for, and demands the reason for what rose.
//! - [`mod@format`] writes a [`Report`] for other programs: Markdown, SARIF, JUnit, GitHub annotations.
//!
//! Nothing is measured here and nothing is read or written: prices come in, a verdict goes out. A gate fails
//! closed: what could not be measured is a refusal of its own, never 0.

mod budget;
mod compare;
pub mod format;
mod judge;
mod measured;
mod reason;
mod report;
mod update;
mod words;

pub use budget::Surface;
pub use compare::compare;
pub use judge::{NOT_ASKED, judge};
pub use measured::{Measured, MeasuredServer, Unmeasured};
pub use reason::{Reason, SettingError, check_settings};
pub use report::{Check, Failure, Movement, Report, SCHEMA, Status, Subject, Verdict};
pub use update::{NoReason, Update, update};
