//! The lazy proxy from outside: `deadweight mcp` as a process between a client that keeps every line and a scripted
//! server. Nothing may hang, nothing be answered twice, no process be left behind, and no list change by itself.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod case;
mod clients;
mod faults;
mod lists;
mod noise;
