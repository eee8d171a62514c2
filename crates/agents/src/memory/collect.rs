//! What has been found so far: each file read once, however many load it.

use crate::Search;
use crate::read::{self, Text};
use deadweight_footprint::memory::{
    Import, ImportLink, ImportOutcome, Load, Memory, Outline, Source, Unread, imports,
};
use deadweight_profiles::memory::ImportSyntax;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

pub(super) struct Collection<'s> {
    search: &'s Search,
    files: BTreeMap<PathBuf, File>,
    /// Folders that could not be read.
    folders: BTreeMap<PathBuf, String>,
}

/// A file that was asked for.
struct File {
    text: Text,
    /// Where it really is, links followed.
    real: PathBuf,
    outline: Option<Outline>,
    loads: BTreeMap<(&'static str, Option<PathBuf>), u64>,
    links: BTreeMap<Link, BTreeSet<&'static str>>,
    /// Whether somebody would load it; a look is not enough to report that it cannot be read.
    wanted: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    line: u64,
    written: String,
    target: String,
    outcome: ImportOutcome,
}

impl<'s> Collection<'s> {
    pub(super) const fn new(search: &'s Search) -> Self {
        Self { search, files: BTreeMap::new(), folders: BTreeMap::new() }
    }

    fn file(&mut self, path: &Path) -> &mut File {
        self.files.entry(path.to_owned()).or_insert_with(|| File {
            text: read::text(path),
            real: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            outline: None,
            loads: BTreeMap::new(),
            links: BTreeMap::new(),
            wanted: false,
        })
    }

    /// A file's text, read once.
    pub(super) fn text(&mut self, path: &Path) -> &Text {
        &self.file(path).text
    }

    /// Where a file really is.
    pub(super) fn real(&mut self, path: &Path) -> PathBuf {
        self.file(path).real.clone()
    }

    /// The imports of a file.
    pub(super) fn imports(&mut self, path: &Path, syntax: ImportSyntax) -> Vec<Import> {
        let File { text: Text::Here(text), outline, .. } = self.file(path) else { return Vec::new() };
        let outline = outline.get_or_insert_with(|| Outline::read(text));
        imports(text, outline, syntax)
    }

    /// Notes that somebody would load a file, so that it is told if it cannot be read.
    pub(super) fn want(&mut self, path: &Path) {
        self.file(path).wanted = true;
    }

    /// Notes that an agent loads a file.
    pub(super) fn load(&mut self, path: &Path, agent: &'static str, by: Option<&Path>) {
        *self.file(path).loads.entry((agent, by.map(Path::to_owned))).or_default() += 1;
    }

    /// Notes what came of an import.
    pub(super) fn link(
        &mut self,
        path: &Path,
        import: Import,
        target: Option<&Path>,
        agent: &'static str,
        outcome: ImportOutcome,
    ) {
        let target = target.map_or_else(|| import.path.clone(), |target| self.search.name(target).0);
        let link = Link { line: import.line, written: import.path, target, outcome };
        self.file(path).links.entry(link).or_default().insert(agent);
    }

    /// Notes a folder that could not be read.
    pub(super) fn folder(&mut self, path: &Path, reason: String) {
        self.folders.insert(path.to_owned(), reason);
    }

    /// Everything that is loaded, and everything that would be if it could be read; by path.
    pub(super) fn finish(self) -> Memory {
        let mut found = Memory::default();
        let unread = |path: &Path, reason: String| {
            let (path, in_project) = self.search.name(path);
            Unread { path, in_project, reason }
        };
        found.unread.extend(self.folders.iter().map(|(path, reason)| unread(path, reason.clone())));
        for (path, file) in self.files {
            match file.text {
                Text::Unreadable(reason) if file.wanted => found.unread.push(unread(&path, reason)),
                Text::Here(text) if !file.loads.is_empty() => {
                    let (path, in_project) = self.search.name(&path);
                    let loads = file.loads.into_iter().map(|((agent, by), times)| Load {
                        agent,
                        imported_by: by.map(|by| self.search.name(&by).0),
                        times,
                    });
                    let imports = file.links.into_iter().map(|(link, agents)| ImportLink {
                        line: link.line,
                        written: link.written,
                        target: link.target,
                        outcome: link.outcome,
                        agents: agents.into_iter().collect(),
                    });
                    let (loads, imports) = (loads.collect(), imports.collect());
                    found.files.push(Source { path, in_project, text, loads, imports });
                }
                _ => {}
            }
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.unread.sort();
        found
    }
}
