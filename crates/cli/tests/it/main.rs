//! Whole runs of the command: what it prints, where, and with which exit code.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[macro_use]
mod sandbox;
mod errors;
mod gate;
mod gate_faults;
mod gate_harm;
mod gate_places;
mod gateway;
mod gateway_faults;
mod hostile;
mod ledger;
mod lists;
mod mcp;
mod mcp_settings;
mod memory;
mod recorded_lists;
mod requests;
mod restore;
mod run;
mod scorecard;
mod servers;
mod top;
