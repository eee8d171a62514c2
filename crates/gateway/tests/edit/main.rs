//! Whole sessions over HTTP, through a gateway that edits, with the strict provider as the judge.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod elides;
mod faults;
mod hours;
mod late;
mod machine;
mod provided;
mod pruned;
mod recovers;
mod refusals;
mod sent;
mod sessions;
mod settings;
mod strangers;
mod window;
