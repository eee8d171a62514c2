//! The ledger: a line for every call of a tool, on SQLite.
//!
//! What is called passes through a [`Recorder`], which never waits and never fails: a ledger that is full, locked,
//! broken or read-only loses lines, counts them, and says so once. What was recorded is read back, summed up, from a
//! [`Ledger`]. Many processes write one ledger at once.
//!
//! A line names a tool and says how large its arguments and its result were; it never holds either. Beside the lines stands,
//! for each server and client, what was listed last and what that saves ([`Listing`]).

mod call;
mod error;
mod ledger;
mod listing;
mod place;
mod recorder;
mod schema;

pub use call::{Call, Kind, Outcome};
pub use error::{Cause, Error};
pub use ledger::{Filter, Ledger, Totals, Usage};
pub use listing::Listing;
pub use place::{Place, default_file};
pub use recorder::{Recorded, Recorder};
