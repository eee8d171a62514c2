//! One agent's loading of its files: where each import leads, and where it ends.

use super::collect::Collection;
use crate::Search;
use crate::names::resolve;
use crate::read::Text;
use deadweight_footprint::memory::{Import, ImportOutcome};
use deadweight_profiles::memory::{ImportRules, ImportSyntax, MemoryRules, Outside, TEXT_ENDINGS};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most imports that are followed for one agent: an agent that repeats files at every import of them could be
/// led through millions.
const MOST: usize = 500;

pub(super) struct Loading<'f, 's> {
    rules: &'static MemoryRules,
    search: &'s Search,
    found: &'f mut Collection<'s>,
    /// What was loaded, by where it really is.
    seen: BTreeSet<PathBuf>,
    followed: usize,
}

/// How an agent came to a file.
struct Way<'w> {
    /// Which file imports it.
    by: Option<&'w Path>,
    /// How many imports led to it.
    hops: u32,
    /// The folder that imports may not leave; nothing where they may.
    inside: Option<&'w Path>,
    /// The imported files on the way, by where they really are.
    chain: Vec<PathBuf>,
}

impl<'f, 's> Loading<'f, 's> {
    pub(super) const fn new(
        rules: &'static MemoryRules,
        search: &'s Search,
        found: &'f mut Collection<'s>,
    ) -> Self {
        Self { rules, search, found, seen: BTreeSet::new(), followed: 0 }
    }

    /// Whether there is something at a path that an agent would read, or try to.
    pub(super) fn exists(&mut self, path: &Path) -> bool {
        !matches!(self.found.text(path), Text::Missing)
    }

    /// A file's text, if it can be read.
    pub(super) fn text(&mut self, path: &Path) -> Option<&str> {
        match self.found.text(path) {
            Text::Here(text) => Some(text),
            Text::Missing | Text::Unreadable(_) => None,
        }
    }

    /// Notes a folder that could not be read.
    pub(super) fn unread(&mut self, path: &Path, reason: String) {
        self.found.folder(path, reason);
    }

    /// Loads a file that the agent reads on its own, with what it imports.
    pub(super) fn start(&mut self, path: &Path, of_user: bool) {
        self.found.want(path);
        let inside = match self.rules.imports.map(|imports| imports.value.outside) {
            // The user's own files may import from anywhere.
            Some(Outside::Asks) if of_user => None,
            Some(Outside::Asks) | None => Some(self.search.root.clone()),
            Some(Outside::Refused) => Some(around(path)),
        };
        let way = Way { by: None, hops: 0, inside: inside.as_deref(), chain: Vec::new() };
        self.load(path, &way);
    }

    /// Loads a file if it is to be loaded.
    fn load(&mut self, path: &Path, way: &Way<'_>) -> ImportOutcome {
        match self.found.text(path) {
            Text::Here(_) => {}
            Text::Missing => return ImportOutcome::Missing,
            Text::Unreadable(_) => {
                self.found.want(path);
                return ImportOutcome::Unreadable;
            }
        }
        let real = self.found.real(path);
        let repeats = self.rules.imports.is_some_and(|imports| imports.value.repeats);
        let before = if repeats { way.chain.contains(&real) } else { !self.seen.insert(real.clone()) };
        if before {
            return ImportOutcome::LoadedBefore;
        }
        self.found.load(path, self.rules.agent, way.by);
        if let Some(imports) = self.rules.imports {
            let mut chain = way.chain.clone();
            if way.by.is_some() {
                chain.push(real);
            }
            let below = Way { by: Some(path), hops: way.hops + 1, inside: way.inside, chain };
            for import in self.found.imports(path, imports.value.syntax) {
                self.follow(path, import, imports.value, &below);
            }
        }
        ImportOutcome::Loaded
    }

    /// Follows one import.
    fn follow(&mut self, path: &Path, import: Import, imports: ImportRules, way: &Way<'_>) {
        let folder = path.parent().unwrap_or(path);
        let home = self.search.home.as_deref().filter(|_| imports.syntax == ImportSyntax::ClaudeCode);
        let target = resolve(&import.path, folder, home);
        let outcome = match &target {
            // Nobody said where the home is.
            None => ImportOutcome::Asks,
            Some(target) => self.outcome(target, imports, way),
        };
        // An `@name` in a text that leads to no file, and does not look as if it should, is a name.
        let is_name = !looks_like_path(&import.path);
        if is_name
            && matches!(outcome, ImportOutcome::Missing | ImportOutcome::Refused | ImportOutcome::TooMany)
        {
            return;
        }
        self.found.link(path, import, target.as_deref(), self.rules.agent, outcome);
    }

    fn outcome(&mut self, target: &Path, imports: ImportRules, way: &Way<'_>) -> ImportOutcome {
        if self.followed >= MOST {
            return ImportOutcome::TooMany;
        }
        if self.leaves(target, way.inside) {
            return match imports.outside {
                Outside::Refused => ImportOutcome::Refused,
                Outside::Asks if target.exists() => ImportOutcome::Asks,
                Outside::Asks => ImportOutcome::Missing,
            };
        }
        if target.is_dir() || !target.exists() && target.symlink_metadata().is_err() {
            return ImportOutcome::Missing;
        }
        if !may_end_so(target, imports.endings) {
            return ImportOutcome::NotImported;
        }
        if way.hops > imports.hops {
            return ImportOutcome::TooDeep;
        }
        self.followed += 1;
        self.load(target, way)
    }

    /// Whether a path, as it is written or where it really leads, is outside a folder.
    fn leaves(&self, target: &Path, inside: Option<&Path>) -> bool {
        let Some(inside) = inside else { return false };
        let real_inside = inside.canonicalize().unwrap_or_else(|_| inside.to_owned());
        let real = target.canonicalize().unwrap_or_else(|_| real_inside.join("-"));
        !target.starts_with(inside) || !real.starts_with(&real_inside)
    }
}

/// What gemini-cli takes for the project of a file: the folder with `.git`, or else its own.
fn around(path: &Path) -> PathBuf {
    let own = path.parent().unwrap_or(path);
    own.ancestors().find(|folder| folder.join(".git").is_dir()).unwrap_or(own).to_owned()
}

fn may_end_so(path: &Path, endings: &[&str]) -> bool {
    let Some(ending) = path.extension() else { return true };
    let ending = ending.to_string_lossy().to_ascii_lowercase();
    endings.is_empty() || endings.binary_search(&ending.as_str()).is_ok()
}

/// Whether what follows an `@` is meant as a path.
fn looks_like_path(written: &str) -> bool {
    ["./", "../", "~/", "/"].iter().any(|start| written.starts_with(start))
        || Path::new(written).extension().is_some() && may_end_so(Path::new(written), TEXT_ENDINGS)
}
