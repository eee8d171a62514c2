//! What all connections of one process share, and what they report.

use crate::catalogue::{Kept, Manifest};
use crate::spec::ServerSpec;
use crate::surface::{Meaning, Settings, Shape, Surface};
use bytes::Bytes;
use deadweight_lock::Lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// What all connections share.
pub(crate) struct World {
    /// The servers.
    pub(crate) specs: Vec<ServerSpec>,
    /// Their labels.
    pub(crate) labels: Vec<String>,
    /// What a person asked for.
    pub(crate) settings: Settings,
    /// The lock, if there is one.
    pub(crate) lock: Option<Lock>,
    /// Whether the servers are shown as one, their tools' names qualified.
    pub(crate) aggregate: bool,
    /// What tells this process from every other, in ids.
    pub(crate) nonce: String,
    /// Whether clients come over HTTP, with headers of their own.
    pub(crate) over_http: bool,
    /// What is kept on disk.
    pub(crate) shelf: Arc<dyn Shelf>,
    /// What tools mean, where there is a model for that.
    pub(crate) meaning: Option<Arc<dyn Meaning>>,
    /// What connections are shown that are shown the same.
    pub(crate) surfaces: Surfaces,
}

/// Surfaces by all that they follow from. One that no connection uses any more is not kept.
#[derive(Debug, Default)]
pub(crate) struct Surfaces(Mutex<HashMap<String, Weak<Surface>>>);

impl Surfaces {
    /// The surface of this key, made if there is none.
    pub(crate) fn get(&self, key: &str, make: impl FnOnce() -> Surface) -> Arc<Surface> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(surface) = known.get(key).and_then(Weak::upgrade) {
            return surface;
        }
        let surface = Arc::new(make());
        known.retain(|_, surface| surface.strong_count() > 0);
        known.insert(key.to_owned(), Arc::downgrade(&surface));
        surface
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("labels", &self.labels).finish_non_exhaustive()
    }
}

/// What is kept from one connection to the next. What cannot be read is not there; what cannot be written is told by
/// whoever keeps it.
pub(crate) trait Shelf: Send + Sync {
    /// What a server listed last, by the key that the catalogue makes of everything it depends on.
    fn manifest(&self, key: &str) -> Option<Manifest>;
    /// Keeps it.
    fn keep_manifest(&self, key: &str, manifest: &Manifest);
    /// The error with which a server of the legacy era answered `server/discover`.
    fn refusal(&self, key: &str) -> Option<Bytes>;
    /// Keeps it.
    fn keep_refusal(&self, key: &str, error: &Bytes);
    /// What was decided earlier.
    fn kept(&self, key: &str) -> Option<Kept>;
    /// Keeps it.
    fn keep(&self, key: &str, kept: &Kept);
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It calls a tool.
    Call,
    /// It loads a tool's schema; told once for each tool.
    Load,
    /// It searches tools.
    Search,
}

/// A call of a tool, as far as it is known when it is taken. No arguments, no results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// What the client does.
    pub doing: Doing,
    /// The label of the server; empty for a tool of our own.
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// The name the client gave itself.
    pub client: String,
    /// Whether the tool was deferred, and if so, whether its schema had been shown on this connection.
    pub deferred: bool,
    /// Whether its schema had been shown.
    pub loaded: bool,
    /// Bytes of the request.
    pub bytes_in: u64,
    /// The shape of the list that the client was shown.
    pub shape: Shape,
}

/// A call of a tool that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// What was called.
    pub work: Work,
    /// Bytes of the answer.
    pub bytes_out: u64,
    /// How long it took.
    pub took: Duration,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Ok,
    /// A result that says it is an error.
    ToolError,
    /// An error of the protocol.
    RpcError,
    /// It did not run: denied, quarantined, not valid, or to be confirmed.
    Refused,
    /// The client took it back.
    Cancelled,
    /// The server ended, or could not be started.
    Crashed,
}
