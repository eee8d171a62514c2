//! Where to look.

use crate::names::absolute;
use std::path::{Path, PathBuf};

/// Where to look, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) above: bool,
    pub(crate) personal: bool,
    pub(crate) agents: Option<Vec<String>>,
}

impl Search {
    /// Looks in a project only: the folder in which the agents would be started.
    pub fn of_project(root: impl AsRef<Path>) -> Self {
        Self { root: absolute(root.as_ref()), home: None, above: false, personal: true, agents: None }
    }

    /// Looks in the user's home too, and resolves `~/`.
    #[must_use]
    pub fn with_home(mut self, home: impl AsRef<Path>) -> Self {
        self.home = Some(absolute(home.as_ref()));
        self
    }

    /// Looks in the folders above the project too, as far up as each agent does.
    #[must_use]
    pub fn with_above(mut self) -> Self {
        self.above = true;
        self
    }

    /// Leaves out files that lie in the project and are one user's own (`CLAUDE.local.md`): what is left is what
    /// everybody has who has the project.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.personal = false;
        self
    }

    /// Looks for these agents only, by the ids of their profiles.
    #[must_use]
    pub fn only<'a>(mut self, agents: impl IntoIterator<Item = &'a str>) -> Self {
        self.agents = Some(agents.into_iter().map(str::to_owned).collect());
        self
    }

    pub(crate) fn wants(&self, agent: &str) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.iter().any(|wanted| wanted == agent))
    }

    /// A path as reports name it, and whether it lies in the project: below the project with `/` and nothing
    /// before it, below the home with `~/`, else absolute.
    pub(crate) fn name(&self, path: &Path) -> (String, bool) {
        if let Ok(below) = path.strip_prefix(&self.root) {
            return (slashed(below), true);
        }
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => (format!("~/{}", slashed(below)), false),
            None => (slashed(path), false),
        }
    }
}

fn slashed(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace('\\', "/") }
}
