//! The project's skills and memory files, found where its agents look for them.

use crate::args::Gate;
use crate::exit::Trouble;
use deadweight_lock::Lock;
use std::collections::BTreeMap;

/// The texts by the path the lock has for them; `None` where nobody looks.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) skills: Option<BTreeMap<String, String>>,
    pub(super) memory: Option<BTreeMap<String, String>>,
}

impl Files {
    /// Whether anything was found.
    pub(super) fn any(&self) -> bool {
        [&self.skills, &self.memory].into_iter().flatten().any(|texts| !texts.is_empty())
    }
}

/// Looks for them when the call is about the project (no target), or when the lock has entries of them.
/// A run that is narrowed to servers does not look.
pub(super) fn find(args: &Gate, lock: Option<&Lock>) -> Result<Files, Trouble> {
    let _ = (args, lock);
    Ok(Files::default())
}
