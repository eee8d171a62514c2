//! Whole sessions through the gateway over HTTP, with the strict provider as the judge; and the card of what came out.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod committed;
mod gateway;
mod measure;
mod optins;
mod pins;
mod recorded;
