//! What is answered to a model that loads, searches and calls, and what reaches a server of its calls.
#![cfg(feature = "surface")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what is wrong by failing")]

mod coercing;
mod cutting;
mod hostile;
mod loading;
mod preparing;
mod recorded;
mod searching;
mod support;
