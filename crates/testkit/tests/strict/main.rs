//! The strict provider is held to its own rules: one test a rule, bills worked out by hand, and broken rewriters that it must
//! catch.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bills;
mod http;
mod layouts;
mod mutants;
mod others;
mod random;
mod rules;
mod session;
mod thinking;
