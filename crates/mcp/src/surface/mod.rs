//! What a client is shown of its servers' tools, and how a call finds its way back.
//!
//! Everything here is pure: definitions and settings come in, the bytes of a list and answers go out. Definitions are
//! changed by splices only.

#[cfg(feature = "proxy")]
pub(crate) mod alike;
mod call;
mod coerce;
mod confirm;
mod cost;
mod decision;
mod envelope;
mod headers;
mod known;
mod list;
mod load;
mod meaning;
mod names;
mod own;
mod pins;
mod policy;
mod reply;
mod results;
mod schema;
mod search;
mod sentence;
mod settings;
mod size;
mod stub;
mod validate;
mod words;

pub use confirm::{CONFIRM, Prepared};
pub use decision::{Access, Decision, Kept, Refused, Shape, ToolDecision, ToolWhy, Warning, Why};
pub use headers::header_value;
pub use load::{LOADED_BYTES, Loaded};
pub use meaning::Meaning;
pub use names::Namer;
pub use own::Own;
pub use pins::{Pin, PinSource, Pins};
pub use policy::STUBS_BYTES;
pub use results::{LEAST, PAGE, Results};
pub use sentence::{DESCRIPTION_BYTES, first_sentence};
pub use settings::{Choice, Client, Optimistic, SCHEMA_BUDGET, Settings, Trust};
pub use size::Lists;
pub use stub::{Size, renamed, size, stub};

use bytes::Bytes;
use deadweight_lock::Lock;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// How a server is, as far as it matters for what is listed and answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolState {
    /// It has answered, or its manifest stands in for it.
    #[default]
    Ready,
    /// It is being started.
    Starting,
    /// It could not be asked; in words without secrets.
    Failed {
        /// Why.
        reason: String,
    },
    /// It wants a login; in words without secrets.
    Login {
        /// What to do.
        how: String,
    },
}

/// One server and what it listed.
#[derive(Debug, Clone)]
pub struct ServerTools<'a> {
    /// Its label.
    pub label: &'a str,
    /// The raw definitions of all pages, in its order.
    pub tools: &'a [Bytes],
    /// How it is.
    pub state: ToolState,
}

/// All that a surface follows from.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// What was asked for.
    pub settings: &'a Settings,
    /// Who lists.
    pub client: Client,
    /// The servers, in the order of the configuration.
    pub servers: &'a [ServerTools<'a>],
    /// The project's lock.
    pub lock: Option<&'a Lock>,
    /// Whether many servers stand behind one entry, so that names are qualified.
    pub aggregate: bool,
    /// What was decided before.
    pub kept: &'a Kept,
}

/// Which tool of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolIx(pub(crate) usize);

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A server's tool.
    Tool(ToolIx),
    /// A tool of ours.
    Own(Own),
}

/// One tool of a server.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The place of its server in [`Input::servers`].
    pub server: usize,
    /// Its place in its server's list, from 0.
    pub position: usize,
    /// The name its server gave it; calls go there under this name.
    pub name: String,
    /// The name under which it is listed and called here.
    pub shown: String,
    /// How it can be reached.
    pub access: Access,
    /// Its definition as the server sent it.
    pub definition: Bytes,
    /// Its definition under the name it has here: what a load answers with.
    pub full: Bytes,
    /// What is listed of it.
    pub entry: Option<Bytes>,
    /// Whether its server listed another definition under its name, so that this one may not be what is called.
    pub doubtful: bool,
    /// How its definition differs from the one in the lock: [`ToolWhy::Changed`] or [`ToolWhy::New`].
    pub differs: Option<ToolWhy>,
}

/// A tool of ours that is listed.
#[derive(Debug, Clone)]
pub struct OwnTool {
    /// Which.
    pub own: Own,
    /// Its name in the list.
    pub shown: String,
    /// Its definition.
    pub entry: Bytes,
}

/// What one client is shown. Built by [`Surface::new`]; never changes.
#[derive(Debug)]
pub struct Surface {
    settings: Settings,
    client: Client,
    aggregate: bool,
    shape: Shape,
    labels: Vec<String>,
    states: Vec<ToolState>,
    tools: Vec<Tool>,
    own: Vec<OwnTool>,
    listed: Bytes,
    by_name: HashMap<String, Target>,
    decisions: Vec<Decision>,
    warnings: Vec<Warning>,
    refused: Option<Refused>,
    meaning: Option<Arc<dyn Meaning>>,
    searched: OnceLock<meaning::Searched>,
}

impl Surface {
    /// The JSON array that stands in a `tools/list` result.
    pub const fn tools(&self) -> &Bytes {
        &self.listed
    }

    /// Every tool of every server, listed or not, in order.
    pub fn all(&self) -> impl Iterator<Item = (ToolIx, &Tool)> {
        self.tools.iter().enumerate().map(|(index, tool)| (ToolIx(index), tool))
    }

    /// One tool. Every [`ToolIx`] of this surface has one.
    pub fn tool(&self, index: ToolIx) -> Option<&Tool> {
        self.tools.get(index.0)
    }

    /// Our own tools that are listed.
    pub fn own(&self) -> &[OwnTool] {
        &self.own
    }

    /// The label of a server.
    pub fn label(&self, server: usize) -> &str {
        self.labels.get(server).map_or("", String::as_str)
    }

    /// The servers' labels and how they are, in order.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &ToolState)> {
        self.labels.iter().map(String::as_str).zip(&self.states)
    }

    /// The settings it was built with.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The client it was built for.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Whether many servers stand behind it.
    pub const fn is_aggregate(&self) -> bool {
        self.aggregate
    }

    /// The kind of list that is served in the end.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// What was decided about each server, in order.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// What a person should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Why nothing may be served, if so.
    pub const fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// What a name of the list leads to. A server's tool that is not listed is found too.
    pub fn resolve(&self, shown: &str) -> Option<Target> {
        self.by_name.get(shown).copied()
    }

    /// What a name leads to as a model may write it: as in the list, or with what its client puts before it (`mcp__server__`,
    /// `server_`, …). Nothing else is taken off: `delete_comment` is not `comment`.
    pub fn find(&self, name: &str) -> Option<Target> {
        if let Some(target) = self.resolve(name) {
            return Some(target);
        }
        let bare = ["mcp__", "mcp_", ""].into_iter().filter_map(|prefix| name.strip_prefix(prefix));
        let entry = [self.settings.entry.as_str()];
        let labels = self.labels.iter().map(String::as_str);
        for (bare, head) in
            bare.flat_map(|bare| entry.into_iter().chain(labels.clone()).map(move |head| (bare, head)))
        {
            let rest = bare.strip_prefix(head).or_else(|| bare.strip_prefix(&names::safe(head)));
            let Some(rest) = rest.filter(|_| !head.is_empty()) else { continue };
            let Some(own) = ["__", "_", ".", "/", ":"].iter().find_map(|between| rest.strip_prefix(between))
            else {
                continue;
            };
            let of_server = |tool: &&Tool| tool.name == own && self.label(tool.server) == head;
            let shown = || self.tools.iter().find(of_server).map(|tool| tool.shown.as_str());
            if let Some(target) = self.resolve(own).or_else(|| self.resolve(shown()?)) {
                return Some(target);
            }
        }
        // A client may know the entry under a name that was never told here.
        self.resolve(name.strip_prefix("mcp__")?.split_once("__")?.1)
    }

    /// Every tool's name here, its server's label and its own name, in order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.tools.iter().map(|tool| (tool.shown.as_str(), self.label(tool.server), tool.name.as_str()))
    }

    /// [`Surface::names`] as JSON, for those who must know whose a tool is.
    pub fn names_json(&self) -> Value {
        let name = |(shown, server, tool)| json!({"name": shown, "server": server, "tool": tool});
        json!({"schema": NAMES, "names": self.names().map(name).collect::<Vec<_>>()})
    }
}

/// The id of [`Surface::names_json`].
pub const NAMES: &str = "deadweight/names/1";
