//! The proxy: servers behind lazy surfaces, for the client on our standard streams.

use crate::catalogue;
use crate::downstream;
use crate::listing::Options;
use crate::relay::{Surfaces, World};
use crate::session::{OnCalled, OnListed, OnNote, Surroundings};
use crate::spec::ServerSpec;
use crate::surface::Settings;
use deadweight_lock::Lock;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// What is to be served, and how.
pub struct Serve {
    /// The servers.
    pub specs: Vec<ServerSpec>,
    /// The label of each.
    pub labels: Vec<String>,
    /// Whether they are shown as one, their tools' names qualified. One server alone keeps its names.
    pub aggregate: bool,
    /// What a person asked for.
    pub settings: Settings,
    /// The project's lock.
    pub lock: Option<Lock>,
    /// Where it is kept what servers said and what was decided; nothing is kept without.
    pub cache: Option<PathBuf>,
    /// Bounds on messages and lists.
    pub options: Options,
    /// Is told of every call of a tool.
    pub on_called: OnCalled,
    /// Is told what clients are listed.
    pub on_listed: OnListed,
    /// Is told what belongs into a log.
    pub on_note: OnNote,
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("labels", &self.labels).finish_non_exhaustive()
    }
}

/// Serves the client on standard input and output, until its input ends. The servers are ended then.
///
/// # Errors
///
/// When the standard streams cannot be used.
pub async fn serve_stdio(serve: Serve) -> io::Result<()> {
    downstream::stdio::serve(surroundings(serve)).await
}

pub(crate) fn surroundings(serve: Serve) -> Surroundings {
    let Serve { specs, labels, aggregate, settings, lock, cache, options, on_called, on_listed, on_note } =
        serve;
    let place = std::env::current_dir().unwrap_or_default();
    let shelf = catalogue::shelf(cache, place, &on_note);
    let world = World { specs, labels, settings, lock, aggregate, shelf, surfaces: Surfaces::default() };
    Surroundings { world: Arc::new(world), options, on_called, on_listed, on_note }
}
