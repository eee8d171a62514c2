//! What tests talk to instead of the world. Nothing here ships.

pub mod authorization;
pub mod client;
pub mod conformance;
pub mod layouts;
pub mod processes;
pub mod programs;
pub mod raw_http;
pub mod scripted_mcp;
pub mod sessions;
pub mod strict;
pub mod upstream;

pub use scripted_mcp::path as scripted_mcp;
