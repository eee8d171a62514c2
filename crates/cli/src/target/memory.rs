//! Memory files and skills as targets.

use super::file::{self, shown};
use super::recognise::Hints;
use crate::args::KindArg;
use crate::exit::Trouble;
use deadweight_agents::{Search, memory, skills};
use deadweight_footprint::memory::{Memory, Unread};
use std::path::Path;

/// What a target is, and by which sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recognised {
    kind: Kind,
    because: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    MemoryFile,
    Skills,
}

/// Tells memory files and skills by their names; nothing when a target is neither.
pub(crate) fn recognise(path: &Path, hints: Hints) -> Option<Recognised> {
    let found = |kind, because| Some(Recognised { kind, because });
    match hints.kind {
        Some(KindArg::Memory) => found(Kind::MemoryFile, "--as memory"),
        Some(KindArg::Skills) => found(Kind::Skills, "--as skills"),
        Some(KindArg::Tools | KindArg::Config | KindArg::Request) => None,
        None if file::is_stdin(path) => None,
        None if path.file_name().is_some_and(|name| name == "SKILL.md") => {
            found(Kind::Skills, "its name is SKILL.md")
        }
        None if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md")) => {
            found(Kind::MemoryFile, "its name ends in .md")
        }
        None if path.is_dir() && skills::is_folder_of_skills(path) => {
            found(Kind::Skills, "there are skills in it")
        }
        None => None,
    }
}

impl Recognised {
    /// For `--verbose`: what the target was taken for.
    pub(crate) fn note(self, path: &Path) -> String {
        let what = match self.kind {
            Kind::MemoryFile => "a memory file",
            Kind::Skills => "skills",
        };
        format!("{}: {what} ({})", shown(path), self.because)
    }

    /// Reads the target, with what it imports.
    pub(crate) fn read(self, path: &Path) -> Result<Memory, Trouble> {
        if file::is_stdin(path) {
            return Err(Trouble::usage("memory files and skills cannot be read from standard input")
                .at("reason", "what they import, and who loads them, depends on where they lie")
                .attempt("name the file"));
        }
        let search = search(path);
        let found = match self.kind {
            Kind::MemoryFile => memory::of_file(path, &search),
            Kind::Skills => skills::at(path, &search).unwrap_or_default(),
        };
        if !found.is_empty() {
            return Ok(found);
        }
        let nothing = |what: &str| Trouble::unmeasured(what).at("target", shown(path));
        Err(match (self.kind, file::read(path)) {
            (Kind::Skills, _) if path.is_dir() => nothing("there are no skills at the target")
                .attempt("name a SKILL.md, a folder whose folders have one, or a plugin"),
            (_, Err(trouble)) => trouble,
            (Kind::Skills, Ok(_)) => {
                nothing("the target is no skill").attempt("name a SKILL.md or its folder")
            }
            (Kind::MemoryFile, Ok(_)) => nothing("the target is no memory file"),
        })
    }
}

/// The project is where the command runs; for a file from elsewhere, the folder it lies in.
fn search(path: &Path) -> Search {
    let here = std::env::current_dir().unwrap_or_default();
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let own = match whole.parent() {
        Some(folder) if folder.file_name().is_some_and(|name| name == ".claude") => folder.parent(),
        folder => folder,
    };
    let root = if whole.starts_with(&here) { &here } else { own.unwrap_or(&here) };
    let search = Search::of_project(root);
    match std::env::home_dir() {
        Some(home) => search.with_home(home),
        None => search,
    }
}

/// The error for a file that could not be read.
pub(crate) fn trouble(unread: &Unread) -> Trouble {
    Trouble::unmeasured("a file could not be read")
        .at("file", unread.path.clone())
        .at("reason", unread.reason.clone())
}
