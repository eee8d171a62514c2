//! What was found on disk: the texts, and who loads them. Made by whoever reads files; priced here.

use super::skill::Shown;
use serde::Serialize;

/// Everything that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The memory files, by path.
    pub files: Vec<Source>,
    /// The skills, by path.
    pub skills: Vec<SkillSource>,
    /// What could not be read, by path.
    pub unread: Vec<Unread>,
}

/// A memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path: below the project with `/` and nothing before it, below the home with `~/`, else absolute.
    pub path: String,
    /// Whether it lies in the project, so that a lock may name it.
    pub in_project: bool,
    /// Its whole text.
    pub text: String,
    /// Who loads it, and through which import.
    pub loads: Vec<Load>,
    /// The imports in it.
    pub imports: Vec<ImportLink>,
}

/// One agent's loading of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Load {
    /// The agent's profile id.
    pub agent: &'static str,
    /// The file that imports it; nothing when the agent reads it on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
    /// How often it is put in: more than once only with agents that repeat imports.
    pub times: u64,
}

/// One import in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ImportLink {
    /// The line it stands on, from 1.
    pub line: u64,
    /// The path as it is written.
    pub written: String,
    /// The file it leads to, as [`Source::path`] writes it.
    pub target: String,
    /// What came of it.
    pub outcome: ImportOutcome,
    /// The agents for which that is so.
    pub agents: Vec<&'static str>,
}

/// What comes of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The file is loaded.
    Loaded,
    /// It was loaded before, and is not loaded again.
    LoadedBefore,
    /// There is no such file.
    Missing,
    /// It lies outside the project: loaded only once the user has agreed. Not counted.
    Asks,
    /// It lies outside the project, and is refused.
    Refused,
    /// It would be one import too many after another.
    TooDeep,
    /// Files of that kind are not imported.
    NotImported,
    /// It could not be read; why, stands with the failures.
    Unreadable,
    /// There were too many imports before it.
    TooMany,
}

impl ImportOutcome {
    /// Whether the author will have meant something else.
    pub const fn is_odd(self) -> bool {
        !matches!(self, Self::Loaded | Self::LoadedBefore | Self::Asks)
    }

    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::LoadedBefore => "loaded_before",
            Self::Missing => "missing",
            Self::Asks => "asks",
            Self::Refused => "refused",
            Self::TooDeep => "too_deep",
            Self::NotImported => "not_imported",
            Self::Unreadable => "unreadable",
            Self::TooMany => "too_many",
        }
    }
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSource {
    /// The path of its `SKILL.md`, as [`Source::path`].
    pub path: String,
    /// Whether it lies in the project.
    pub in_project: bool,
    /// The plugin it belongs to.
    pub plugin: Option<String>,
    /// The agents that list it; when none does, those that find it where it lies.
    pub agents: Vec<&'static str>,
    /// What is always in the context, by the listing of the first agent; nothing when none lists it.
    pub shown: Option<Shown>,
    /// The bytes of the whole `SKILL.md`, which is read only when the skill is used.
    pub file_bytes: u64,
    /// What is odd about it.
    pub oddities: Vec<super::skill::SkillOddity>,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// Its path, as [`Source::path`].
    pub path: String,
    /// Whether it lies in the project.
    pub in_project: bool,
    /// Why, in words.
    pub reason: String,
}

impl Memory {
    /// This and what was found elsewhere. A file that was found by both is one file, loaded by all that load it.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for file in other.files {
            match self.files.iter_mut().find(|known| known.path == file.path) {
                None => self.files.push(file),
                Some(known) => {
                    known.loads.extend(file.loads);
                    known.loads.sort();
                    known.loads.dedup();
                    known.imports.extend(file.imports);
                    known.imports.sort();
                    known.imports.dedup();
                }
            }
        }
        for skill in other.skills {
            match self.skills.iter_mut().find(|known| known.path == skill.path) {
                None => self.skills.push(skill),
                Some(known) => {
                    let new = skill.agents.into_iter().filter(|agent| !known.agents.contains(agent));
                    known.agents.extend(new.collect::<Vec<_>>());
                }
            }
        }
        self.unread.extend(other.unread);
        self.unread.sort();
        self.unread.dedup();
        self
    }

    /// Whether nothing was found at all.
    pub const fn is_empty(&self) -> bool {
        self.files.is_empty() && self.skills.is_empty() && self.unread.is_empty()
    }
}
