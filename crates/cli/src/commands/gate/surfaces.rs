//! The project's skills and memory files, found where its agents look for them, and priced.

use crate::args::Gate;
use crate::exit::Trouble;
use deadweight_agents::{Search, memory, skills};
use deadweight_estimate::{Counting, Estimated, Estimator, Tokens};
use deadweight_footprint::memory::price;
use deadweight_lock::{Hash, Lock, TextPrice};
use std::collections::BTreeMap;
use std::path::Path;

/// The texts by the path the lock has for them; `None` where nobody looked.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) skills: Option<BTreeMap<String, TextPrice>>,
    pub(super) memory: Option<BTreeMap<String, TextPrice>>,
    /// What was found and could not be read, with its path.
    pub(super) unread: Vec<(String, Trouble)>,
}

impl Files {
    /// Whether anything was found.
    pub(super) fn any(&self) -> bool {
        let found = [&self.skills, &self.memory].into_iter().flatten().any(|texts| !texts.is_empty());
        found || !self.unread.is_empty()
    }
}

/// Looks for them when the call is about the project (no target), or when the lock has entries of them.
/// A run that is narrowed to servers does not look. What lies outside the project, or is not
/// committed, is the user's, not the lock's.
pub(super) fn find(args: &Gate, lock: Option<&Lock>, estimator: &dyn Estimator) -> Files {
    let known = lock.is_some_and(|lock| !lock.skills.is_empty() || !lock.memory.is_empty());
    if !args.only.is_empty() || !(args.targets.is_empty() || known) {
        return Files::default();
    }
    let search = Search::of_project(Path::new(".")).shared();
    let found = memory::discover(&search).with(skills::discover(&search));
    let report = price(&found, estimator);
    let text_price = |bytes: u64, tokens: Tokens<Estimated>, text: &str| TextPrice {
        bytes,
        tokens: matches!(estimator.counting(), Counting::Text(_)).then(|| tokens.get()),
        hash: Hash::of_text(text),
    };
    let memory = found.files.iter().filter(|file| file.in_project).filter_map(|file| {
        let row = report.files.iter().find(|row| row.path == file.path)?;
        Some((file.path.clone(), text_price(row.bytes, row.tokens, &file.text)))
    });
    let skills = found.skills.iter().filter(|skill| skill.in_project).filter_map(|skill| {
        let row = report.skills.iter().find(|row| row.path == skill.path)?;
        Some((skill.path.clone(), text_price(row.bytes, row.tokens, &skill.shown.as_ref()?.text())))
    });
    let unread = found.unread.iter().filter(|file| file.in_project).map(|file| {
        let trouble =
            Trouble::unmeasured(format!("a memory file or skill could not be read: {}", file.reason))
                .at("file", file.path.clone())
                .attempt("mend the file; what cannot be read is never counted as nothing");
        (file.path.clone(), trouble)
    });
    Files { memory: Some(memory.collect()), skills: Some(skills.collect()), unread: unread.collect() }
}
