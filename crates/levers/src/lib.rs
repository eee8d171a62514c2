//! Ways to send less of a request without breaking anything: the levers, and the one planner that joins their answers.
//!
//! A [`Lever`] looks at a request and either says what it would put in the place of something, or stands down with a
//! reason from its closed list. Nothing but the planner turns that into other bytes: [`plan::plan`].
//!
//! ```text
//!   body ── anatomy, prefix ──┐
//!   Policy  (what the user wants)      ├──► plan ──► Outcome { body, splices, records, originals, actions }
//!   Circumstances (what is known of it)│                              │
//!   Decisions (what was decided before)┘◄── Record: committed to the journal before the bytes leave
//! ```
//!
//! - What was decided about a block is decided for ever: it is kept under the chain hash of the client's own messages up
//!   to and with it ([`record`]), and put in place again on every later request that has this beginning, byte for byte.
//! - Something new is decided only where the provider has not seen it yet (the block's first send), or where what the
//!   provider keeps of it is known to be gone ([`Cold`]).
//! - Where anything is in doubt, the original goes.
//!
//! No I/O, no clock, no randomness.

mod binding;
mod circumstances;
mod leaf;
mod lever;
mod levers;
pub mod plan;
mod policy;
pub mod record;
mod restore;
mod text;
mod view;
mod worth;

pub use binding::Binding;
pub use circumstances::{Circumstances, Cold};
pub use lever::{Class, Lever, StandDown, Timing};
pub use policy::{Policy, Profile, Thresholds, ToolRule};
pub use restore::{AskedAgain, RESTORE_SAYS, RESTORE_TOOL, asked_again, restore_tool};
pub use text::restore_id;
pub use view::{Decisions, Memory, caches_for_hour};
