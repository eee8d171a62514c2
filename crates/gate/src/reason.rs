//! The closed list of reasons for which the gate refuses or warns, and their levels.

use deadweight_lock::{Level, Lock};
use serde::Serialize;
use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident $name:literal $level:ident,)*) => {
        /// Why the gate refuses or warns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Reason {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in reports and in the lock's `[checks]`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The level it has when the lock does not say.
            pub const fn default_level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)* }
            }
        }
    };
}

reasons! {
    /// A server that the lock names, or that was asked, could not be measured.
    Unmeasured "UNMEASURED" Error,
    /// The lock was made with another estimator or other fields.
    BasisMismatch "BASIS_MISMATCH" Error,
    /// The tools cost more than their budget.
    FloorBudgetExceeded "FLOOR_BUDGET_EXCEEDED" Error,
    /// The tools cost less than their budget by more than the slack: the reduction is not banked.
    FloorBudgetStale "FLOOR_BUDGET_STALE" Error,
    /// The tools' descriptions cost more than their budget.
    DescBudgetExceeded "DESC_BUDGET_EXCEEDED" Error,
    /// The tools' descriptions cost less than their budget by more than the slack.
    DescBudgetStale "DESC_BUDGET_STALE" Error,
    /// The servers' instructions cost more than their budget.
    InstructionsBudgetExceeded "INSTRUCTIONS_BUDGET_EXCEEDED" Error,
    /// The servers' instructions cost less than their budget by more than the slack.
    InstructionsBudgetStale "INSTRUCTIONS_BUDGET_STALE" Error,
    /// The skills cost more than their budget.
    SkillBudgetExceeded "SKILL_BUDGET_EXCEEDED" Error,
    /// The skills cost less than their budget by more than the slack.
    SkillBudgetStale "SKILL_BUDGET_STALE" Error,
    /// The memory files cost more than their budget.
    MemoryBudgetExceeded "MEMORY_BUDGET_EXCEEDED" Error,
    /// The memory files cost less than their budget by more than the slack.
    MemoryBudgetStale "MEMORY_BUDGET_STALE" Error,
    /// All tools together cost more than the lock's `ceiling_tokens`.
    CeilingExceeded "CEILING_EXCEEDED" Error,
    /// One tool costs more than the lock's `max_tool_tokens`.
    ToolTooLarge "TOOL_TOO_LARGE" Error,
    /// There are more tools than the lock's `max_tools`.
    ToolCountExceeded "TOOL_COUNT_EXCEEDED" Error,
    /// One tool costs more than its entry, whatever the others do.
    ToolGrew "TOOL_GREW" Warn,
    /// A tool that the lock does not know.
    ToolAdded "TOOL_ADDED" Warn,
    /// A definition is another than the one that was reviewed, whatever it costs.
    DefinitionChanged "DEFINITION_CHANGED" Warn,
    /// A price, slack, ceiling or check of the lock was raised or loosened and nothing says why.
    RaiseWithoutCause "RAISE_WITHOUT_CAUSE" Error,
}

impl Reason {
    /// The reason of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.name() == name)
    }

    /// The level it has under `lock`. What could not be measured always refuses.
    pub fn level(self, lock: &Lock) -> Level {
        match lock.checks.get(self.name()) {
            Some(setting) if self != Self::Unmeasured => setting.level,
            _ => self.default_level(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A line of the lock's `[checks]` that cannot be obeyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for SettingError {}

/// Checks that the lock's `[checks]` name known reasons and lower none that cannot be lowered.
///
/// # Errors
/// The first line that cannot be obeyed.
pub fn check_settings(lock: &Lock) -> Result<(), SettingError> {
    for (name, setting) in &lock.checks {
        let fail = |what: String, remedy: String| Err(SettingError { line: setting.line, what, remedy });
        match Reason::named(name) {
            None => {
                let near = |reason: &&Reason| strsim::jaro_winkler(name, reason.name());
                let nearest = Reason::ALL.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
                let nearest = nearest.map_or("", |reason| reason.name());
                return fail(
                    format!("`{name}` is no check of the gate"),
                    format!("did you mean {nearest}? deadweight gate --help lists them"),
                );
            }
            Some(Reason::Unmeasured) if setting.level == Level::Warn => {
                return fail(
                    "UNMEASURED cannot be a warning: a gate that could not measure has not held".to_owned(),
                    "take the line out; `--only LABEL` narrows a run to the servers that can be asked"
                        .to_owned(),
                );
            }
            Some(_) => {}
        }
    }
    Ok(())
}
