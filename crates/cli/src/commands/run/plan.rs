//! What an agent is to be told so that it goes through the gateway: a plan, which is carried out or shown.

use super::around::Around;
use super::doors::Doors;
use crate::args::AgentArg;
use deadweight_gateway::Provider;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is set for one run.
#[derive(Debug)]
pub(super) struct Plan {
    /// Which agent it is.
    pub(super) agent: AgentArg,
    /// The command line.
    pub(super) words: Vec<OsString>,
    /// Variables of the environment, each once.
    pub(super) set: Vec<(String, String)>,
    /// Files in the folder of the run: name and text.
    pub(super) files: Vec<(PathBuf, String)>,
    /// Where the gateway leads.
    pub(super) doors: Doors,
    /// Variables that the proxies of servers must find.
    pub(super) for_servers: Vec<(&'static str, String)>,
    /// What became of each server, by its name.
    pub(super) servers: Vec<(String, Became)>,
    /// What a person must know: what does not go through the gateway, and why.
    pub(super) notes: Vec<String>,
}

/// What became of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Became {
    /// It stands behind the proxy.
    Wrapped,
    /// It was behind it before.
    Already,
    /// It is left as it is, for this reason.
    Left(&'static str),
}

impl Plan {
    pub(super) fn new(agent: AgentArg, words: &[OsString]) -> Self {
        Self {
            agent,
            words: words.to_vec(),
            set: Vec::new(),
            files: Vec::new(),
            doors: Doors::default(),
            for_servers: Vec::new(),
            servers: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.set.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = value,
            None => self.set.push((name.to_owned(), value)),
        }
    }

    /// Puts words into the command line, at this place.
    pub(super) fn insert(&mut self, at: usize, words: impl IntoIterator<Item = String>) {
        let at = at.min(self.words.len());
        self.words.splice(at..at, words.into_iter().map(OsString::from));
    }

    /// The address of a door to where `what` leads so far; none, and a note, where that cannot be.
    pub(super) fn door(&mut self, provider: Provider, what: &str, base: &str) -> Option<String> {
        match self.doors.to(provider, base) {
            Ok(address) => Some(address),
            Err(error) => {
                self.notes.push(format!("what goes to {what} is not seen: {error}"));
                None
            }
        }
    }

    /// Gives a variable that holds the address of a provider the address of a door. Where it leads so far, it says
    /// itself, else `default` does.
    pub(super) fn redirect(
        &mut self,
        around: &Around<'_>,
        provider: Provider,
        variable: &str,
        default: &str,
    ) {
        let base = around.set(variable).unwrap_or_else(|| default.to_owned());
        if let Some(address) = self.door(provider, variable, &base) {
            self.set(variable, address);
        }
    }

    /// Puts a file into the folder of the run; its whole path.
    pub(super) fn file(&mut self, folder: &Path, name: &str, text: String) -> String {
        let path = folder.join(name);
        let shown = path.to_string_lossy().into_owned();
        self.files.push((path, text));
        shown
    }

    /// Tells what became of a server.
    pub(super) fn became(&mut self, label: &str, became: Became) {
        match self.servers.iter_mut().find(|(own, _)| own == label) {
            Some((_, own)) => *own = became,
            None => self.servers.push((label.to_owned(), became)),
        }
    }
}
