//! The anatomy of a request: spans over its bytes, splices, usage counters.
//!
//! Bytes come in, spans come out; nothing is copied and nothing is re-serialised. This crate does no
//! I/O and knows neither a lever nor a price.
//!
//! - [`json`]: one pass over the bytes of a JSON text gives a [`json::Document`].
//! - [`dialect`]: which format a request is in, by its path or its shape.
//! - [`splice`]: the only way from a document to other bytes: edits of its values, applied and proven.
//! - [`anatomy`]: a document read as a request of one [`Dialect`].
//! - [`sse`]: event streams in chunks cut anywhere.
//! - [`usage`]: the counters, the model and the end of a response, from its body or its stream.
//! - [`definition`]: one tool definition as its server hands it out, and compact JSON.

pub mod anatomy;
pub mod definition;
pub mod dialect;
pub mod json;
pub mod splice;
pub mod sse;
pub mod usage;

pub use dialect::Dialect;
