//! The footprint of memory files (`CLAUDE.md`, `AGENTS.md`, `GEMINI.md` and what they import) and of skills.
//!
//! Texts come in, read by whoever knows the file system, with what was found out about who loads them
//! ([`Source`], [`SkillSource`]); [`price`] weighs them. Nothing here reads a file.

mod front_matter;
mod imports;
mod outline;
mod price;
mod report;
mod skill;
mod source;
mod yaml;

pub use front_matter::{FrontMatter, tied_to_paths};
pub use imports::{Import, imports};
pub use outline::{Outline, Section, SectionKind};
pub use price::price;
pub use report::{
    AgentTotal, Anomaly, AnomalyKind, Failure, FileFootprint, MemoryFootprint, SCHEMA, SectionFootprint,
    SkillFootprint,
};
pub use skill::{Shown, Skill, SkillOddity};
pub use source::{ImportLink, ImportOutcome, Load, Memory, SkillSource, Source, Unread};
