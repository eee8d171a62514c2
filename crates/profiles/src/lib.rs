//! What is known of each agent, dated and sourced. Data only.
//!
//! Agents change. Each fact says when it was true and who says so; where nothing is known the field is `None`, and
//! whoever reads it must not guess. There is no logic here beyond looking a profile up by its id.

mod agents;
pub mod memory;
mod types;

pub use types::{
    ConfigFile, ConfigFormat, Fact, Header, Marker, NameLimit, NameLimitEffect, Naming, Paging, Profile,
    Root, StandingKind,
};

/// Every profile, the most common agents first.
pub const ALL: &[&Profile] = &[
    &agents::claude::CLAUDE_CODE,
    &agents::codex::CODEX,
    &agents::opencode::OPENCODE,
    &agents::gemini::GEMINI_CLI,
    &agents::gemini::QWEN_CODE,
    &agents::editors::CURSOR,
    &agents::editors::VSCODE,
    &agents::editors::WINDSURF,
    &agents::claude::CLAUDE_DESKTOP,
    &agents::aider::AIDER,
];

/// The profile with this id (`claude-code`, `codex`, …).
pub fn by_id(id: &str) -> Option<&'static Profile> {
    ALL.iter().copied().find(|profile| profile.id == id)
}
