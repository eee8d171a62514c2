//! MCP servers as deadweight needs them: raw bytes, every page, both eras.
//!
//! A [`ServerSpec`] says how a server is reached; a [`Listing`] is what it answered, every tool definition
//! byte for byte; a [`ListError`] says why there is none. A server that could not be asked is never zero
//! tools. [`config`] reads the files in which agents write their servers down; it is there without the feature
//! `client` too, which brings everything that talks to a server.

#[cfg(feature = "proxy")]
mod alone;
#[cfg(feature = "client")]
mod ask;
#[cfg(feature = "surface")]
pub mod catalogue;
pub mod config;
#[cfg(feature = "proxy")]
mod downstream;
mod error;
mod explain;
pub mod file;
#[cfg(feature = "client")]
mod group;
pub mod harmless;
#[cfg(feature = "client")]
mod lines;
#[cfg(feature = "client")]
mod link;
mod listing;
#[cfg(feature = "client")]
mod message;
#[cfg(feature = "client")]
mod meter;
#[cfg(feature = "proxy")]
mod oauth;
#[cfg(feature = "proxy")]
mod outlet;
#[cfg(feature = "client")]
mod pages;
#[cfg(feature = "client")]
mod process;
mod redact;
#[cfg(feature = "proxy")]
mod relay;
#[cfg(feature = "proxy")]
mod serve;
#[cfg(feature = "proxy")]
mod session;
mod spec;
#[cfg(feature = "surface")]
pub mod surface;
#[cfg(feature = "client")]
mod tail;
mod text;
#[cfg(feature = "proxy")]
mod upstream;

#[cfg(feature = "proxy")]
pub use alone::{Alone, OwnTool};
#[cfg(feature = "client")]
pub use ask::{list, list_all, no_progress};
#[cfg(feature = "proxy")]
pub use downstream::http::{HttpError, HttpSettings};
pub use error::{Failure, ListError, Reason};
pub use explain::Explained;
#[cfg(feature = "client")]
pub use group::{end_all, told_to_end};
#[cfg(feature = "client")]
pub use link::client::direct;
pub use listing::{Anomaly, Era, Listing, OnProgress, Options, Progress, ServerInfo, Stage, TransportKind};
#[cfg(feature = "proxy")]
pub use oauth::{LoggedIn, LoginError, LoginOptions, login};
#[cfg(feature = "client")]
pub use process::OWN_SECRETS;
#[cfg(feature = "proxy")]
pub use relay::{Called, Doing, Outcome, Work};
#[cfg(feature = "proxy")]
pub use serve::{Serve, serve_http, serve_stdio, startable};
#[cfg(feature = "proxy")]
pub use session::{OnCalled, OnListed, OnNote};
pub use spec::{Origin, ServerSpec, Transport};
pub use text::{Folder, Text};
