//! The gateway between agents and their providers: it forwards every byte as it is, and tells what passed.
//!
//! - [`exchange`]: what the relay tells of each request and its answer, on copies that share memory with what was
//!   forwarded.
//! - [`provider`]: the providers, and what is known of their addresses.

pub mod exchange;
pub mod provider;

pub use provider::Provider;
