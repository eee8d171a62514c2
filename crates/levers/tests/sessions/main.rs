//! Whole sessions through the planner, turn by turn, with the strict provider as the judge.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod compacted;
mod decided;
mod gateway;
mod inert;
mod laws;
mod provided;
mod random;
mod restored;
