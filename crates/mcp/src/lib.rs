//! MCP servers as deadweight needs them: raw bytes, every page, both eras.
//!
//! A [`ServerSpec`] says how a server is reached; a [`Listing`] is what it answered, every tool definition
//! byte for byte; a [`ListError`] says why there is none. A server that could not be asked is never zero
//! tools.

mod ask;
pub mod config;
mod error;
mod explain;
mod group;
pub mod harmless;
mod lines;
mod link;
mod listing;
mod message;
mod meter;
mod redact;
mod spec;
mod tail;
mod text;

pub use ask::{list, list_all, no_progress};
pub use error::{Failure, ListError, Reason};
pub use explain::Explained;
pub use group::{end_all, told_to_end};
pub use listing::{Anomaly, Era, Listing, OnProgress, Options, Progress, ServerInfo, Stage, TransportKind};
pub use spec::{Origin, ServerSpec, Transport};
pub use text::Text;
