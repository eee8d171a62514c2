//! The ledger, on SQLite: a line for every exchange with a provider, and for every call of a tool.
//!
//! What happens passes through a [`Recorder`], which never waits and never fails: a ledger that is full, locked,
//! broken or read-only loses lines, counts them, and says so once. What was recorded is read back, summed up, from a
//! [`Ledger`]. Many processes write one ledger at once.
//!
//! A line says names, sizes, hashes, times and counts ([`Exchange`], [`Call`]); it never holds text of a prompt, of an
//! answer, of arguments or of a result. Beside the lines stands what is listed of servers ([`Listing`], [`Names`]) and what
//! a gateway remembers of conversations ([`Lineage`]). What levers cut ([`Originals`]) and what they put in its place
//! ([`Journal`]) is kept for a while, encrypted. Bodies are kept only where a person asks for it, in files of their
//! own ([`Bodies`]).

mod bodies;
mod call;
mod clock;
mod error;
mod exchange;
mod export;
mod files;
mod journal;
mod key;
mod ledger;
mod lineage;
mod listing;
mod names;
mod originals;
mod place;
mod private;
mod prune;
mod reading;
mod recorder;
mod schema;
mod seal;
mod time;
mod unsealed;

pub use bodies::{Bodies, Kept, Side, bodies_beside, kept};
pub use call::{Call, Kind, Outcome};
pub use error::{Cause, Error};
pub use exchange::{
    AsReceived, Asked, CacheWatch, Cost, Ended, Exchange, Footprint, LeverAction, Observed, Origin, PASS,
    Receipt, Segment, Slice, Splice, StandingPart, ToolLine, ToolSet,
};
pub use export::{Export, ExportError, Form, Table};
pub use journal::{Commit, Decision, Journal, JournalError, journal_beside};
pub use ledger::{Filter, Ledger, Totals, Usage};
pub use lineage::Lineage;
pub use listing::Listing;
pub use names::{Name, Names, OWN_ENTRY, Shown};
pub use originals::{Found, KEPT as ORIGINALS_KEPT, Originals, originals_beside};
pub use place::{Place, default_file};
pub use prune::{Pruned, Vacuumed, prune, vacuum};
pub use reading::*;
pub use recorder::{Recorded, Recorder};
pub use time::now_ms;
