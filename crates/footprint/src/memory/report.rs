//! The report on memory files and skills, as it is serialised.

use super::source::{ImportLink, Load};
use crate::basis::{Basis, Price};
use deadweight_estimate::{Estimated, Stamp, Tokens};
use serde::Serialize;

/// The id of the JSON a [`MemoryFootprint`] serialises to.
pub const SCHEMA: &str = "deadweight/memory-footprint/1";

/// What memory files and skills add to every request.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryFootprint {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Who counted.
    pub provenance: Stamp,
    /// What was counted, and how.
    pub basis: Basis,
    /// All files and skills, each once; what one agent carries stands in `agents`.
    pub total: Price,
    /// The memory files, each once.
    pub memory: Price,
    /// The names and descriptions of the skills, each once.
    pub skill_listings: Price,
    /// What each agent carries of it on every turn.
    pub agents: Vec<AgentTotal>,
    /// The memory files, heaviest first.
    pub files: Vec<FileFootprint>,
    /// The skills, heaviest first.
    pub skills: Vec<SkillFootprint>,
    /// What is not as its author will have meant it.
    pub anomalies: Vec<Anomaly>,
    /// The files that could not be read; nothing of them is in any number.
    pub failures: Vec<Failure>,
}

/// What one agent carries on every turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentTotal {
    /// The agent's profile id.
    pub agent: &'static str,
    /// Its memory files, those it puts in more than once as often as it does.
    pub memory: Price,
    /// How many they are.
    pub files: u64,
    /// The names and descriptions of its skills.
    pub skill_listings: Price,
    /// How many they are.
    pub skills: u64,
}

/// One memory file.
#[derive(Debug, Clone, Serialize)]
pub struct FileFootprint {
    /// Its path: below the project without anything before it, below the home with `~/`, else absolute.
    pub path: String,
    /// Whether it lies in the project.
    pub in_project: bool,
    /// Bytes of the whole file.
    pub bytes: u64,
    /// Their tokens: with a ratio the floor of the bytes, with a tokenizer the sum over the sections.
    pub tokens: Tokens<Estimated>,
    /// Share of all memory files, in per cent.
    pub pct: f64,
    /// The front matter in it, which some agents leave out.
    pub front_matter: Price,
    /// The HTML comments in it that stand on their own, which some agents leave out.
    pub comments: Price,
    /// Who loads it.
    pub loaded_by: Vec<Load>,
    /// Its sections, in their order; their own bytes add up to the file's.
    pub sections: Vec<SectionFootprint>,
    /// The imports in it.
    pub imports: Vec<ImportLink>,
}

/// One section of a memory file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SectionFootprint {
    /// `front_matter`, `preamble` (before the first heading) or `heading`.
    pub kind: &'static str,
    /// The heading's text.
    pub title: String,
    /// The number of its hashes; 0 for the other kinds.
    pub level: u8,
    /// How many headings it lies below.
    pub depth: u32,
    /// The line it begins on, from 1.
    pub line: u64,
    /// Its own bytes, up to the next heading.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
    /// The bytes with the sections below it.
    pub inclusive_bytes: u64,
    /// Their tokens.
    pub inclusive_tokens: Tokens<Estimated>,
}

/// One skill.
#[derive(Debug, Clone, Serialize)]
pub struct SkillFootprint {
    /// The path of its `SKILL.md`.
    pub path: String,
    /// Whether it lies in the project.
    pub in_project: bool,
    /// The name that is listed; empty when it is not listed.
    pub name: String,
    /// Whether it is listed at all, and so costs anything before it is used.
    pub listed: bool,
    /// The plugin it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// `name_bytes + description_bytes`.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
    /// Share of all skills, in per cent.
    pub pct: f64,
    /// Bytes of the name as it is listed.
    pub name_bytes: u64,
    /// Bytes of the description as it is listed.
    pub description_bytes: u64,
    /// Bytes of the whole `SKILL.md`, which is read only when the skill is used.
    pub file_bytes: u64,
    /// The agents that list it; when none does, those that find it where it lies.
    pub agents: Vec<&'static str>,
}

/// Something that is not as its author will have meant it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Anomaly {
    /// The file.
    pub path: String,
    /// The line, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What.
    pub kind: AnomalyKind,
    /// More, where there is more to say: the import's path, the agents, the number of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of [`Anomaly`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnomalyKind {
    /// An import that leads to no file.
    MissingImport,
    /// An import of a file outside the project, which the agent refuses.
    RefusedImport,
    /// An import deeper than the agent follows.
    TooDeepImport,
    /// An import of a kind of file that the agent does not import.
    NotImported,
    /// An import of a file that could not be read.
    UnreadableImport,
    /// More imports than are followed here.
    TooManyImports,
    /// An agent sends only the first so many bytes of its files.
    CutOff,
    /// A skill without front matter.
    MissingFrontMatter,
    /// A skill whose front matter is no YAML.
    InvalidYaml,
    /// A skill without a description.
    MissingDescription,
    /// A skill whose name or description is no text.
    WrongType,
    /// A skill in which a member occurs twice; the last one counts.
    DuplicateKey,
    /// A skill of which only the beginning of the description is listed.
    DescriptionCut,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Failure {
    /// Its path.
    pub path: String,
    /// Why, in words.
    pub reason: String,
}
