//! Every fault of a server on standard streams that must be survived, end to end against a scripted one;
//! after each of them no process may be left.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod ends;
mod lists;
mod noise;
mod support;
mod words;
