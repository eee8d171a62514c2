//! MCP servers as deadweight needs them: raw bytes, every page, both eras.
//!
//! A [`ServerSpec`] says how a server is reached; a [`Listing`] is what it answered, every tool definition
//! byte for byte; a [`ListError`] says why there is none. A server that could not be asked is never zero
//! tools.

pub mod config;
mod error;
mod explain;
pub mod harmless;
mod listing;
mod redact;
mod spec;
mod text;

pub use error::{Failure, ListError, Reason};
pub use explain::Explained;
pub use listing::{Anomaly, Era, Listing, OnProgress, Options, Progress, ServerInfo, Stage, TransportKind};
pub use spec::{Origin, ServerSpec, Transport};
pub use text::Text;
