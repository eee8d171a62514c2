//! The verdict and what it rests on, as it is serialised.

use crate::budget::Surface;
use crate::reason::Reason;
use deadweight_estimate::Stamp;
use deadweight_lock::Level;
use serde::{Serialize, Serializer};

/// The id of the JSON a [`Report`] serialises to.
pub const SCHEMA: &str = "deadweight/gate/1";

/// What the gate found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Every check, refusals first, then warnings, then what holds.
    pub checks: Vec<Check>,
    /// Every tool, the biggest movement first.
    pub tools: Vec<Movement>,
    /// Instructions, skills and memory files, the biggest movement first.
    pub texts: Vec<Movement>,
    /// The servers that could not be measured.
    pub failures: Vec<Failure>,
}

impl Report {
    pub(crate) fn new(
        mut checks: Vec<Check>,
        mut tools: Vec<Movement>,
        mut texts: Vec<Movement>,
        failures: Vec<Failure>,
    ) -> Self {
        checks.sort_by(|a, b| {
            let rank = |check: &Check| match (check.reason, check.level) {
                (Some(_), Level::Error) => 0,
                (Some(_), Level::Warn) => 1,
                (None, _) => 2,
            };
            (rank(a), a.reason, a.surface, &a.subject).cmp(&(rank(b), b.reason, b.surface, &b.subject))
        });
        for movements in [&mut tools, &mut texts] {
            movements.sort_by(|a, b| {
                (b.delta.unsigned_abs(), b.status, &a.server, &a.name).cmp(&(
                    a.delta.unsigned_abs(),
                    a.status,
                    &b.server,
                    &b.name,
                ))
            });
        }
        let failed = |check: &&Check| check.reason.is_some() && check.level == Level::Error;
        let verdict = if checks.iter().any(|check| check.reason == Some(Reason::Unmeasured)) {
            Verdict::Unmeasured
        } else if checks.iter().any(|check| failed(&check)) {
            Verdict::Refused
        } else {
            Verdict::Holds
        };
        Self { schema: SCHEMA, verdict, checks, tools, texts, failures }
    }

    /// The checks that refuse.
    pub fn refusals(&self) -> impl Iterator<Item = &Check> {
        self.failed(Level::Error)
    }

    /// The checks that warn.
    pub fn warnings(&self) -> impl Iterator<Item = &Check> {
        self.failed(Level::Warn)
    }

    fn failed(&self, level: Level) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| check.reason.is_some() && check.level == level)
    }
}

/// Whether the gate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing refuses.
    Holds,
    /// At least one check refuses.
    Refused,
    /// Something could not be measured, whatever else was found.
    Unmeasured,
}

impl Verdict {
    /// The exit code of the command: 0, 1 or 3.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::Refused => 1,
            Self::Unmeasured => 3,
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Why it refuses or warns; `None` when it holds.
    pub reason: Option<Reason>,
    /// What it looked at.
    pub surface: Surface,
    /// Which tool, server, skill, file or setting, when it is about one.
    #[serde(flatten)]
    pub subject: Subject,
    /// What a failure of it does.
    #[serde(serialize_with = "level")]
    pub level: Level,
    /// What was measured, in tokens (for `tool_count` in tools); `None` when nothing could be.
    pub measured: Option<u64>,
    /// What is allowed, in the same unit.
    pub budget: Option<u64>,
    /// How far below the budget it may lie.
    pub slack: Option<u64>,
    /// `measured − budget`.
    pub delta: Option<i64>,
    /// Who counted.
    pub provenance: Stamp,
    /// What it means, in one sentence.
    pub message: String,
    /// The line of the lock it is about, from 1.
    pub line: Option<usize>,
}

fn level<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.name())
}

/// What a check is about, when it is about one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// A server's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// A tool's name, a skill's or memory file's path, a setting's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Subject {
    pub(crate) fn server(label: &str) -> Self {
        Self { server: Some(label.to_owned()), name: None }
    }

    pub(crate) fn tool(server: &str, name: &str) -> Self {
        Self { server: Some(server.to_owned()), name: Some(name.to_owned()) }
    }

    pub(crate) fn named(name: &str) -> Self {
        Self { server: None, name: Some(name.to_owned()) }
    }
}

/// How one entry moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Movement {
    /// What kind of entry.
    pub surface: Surface,
    /// The server's label; empty for skills and memory files.
    pub server: String,
    /// The tool's name; the path of a skill or memory file.
    pub name: String,
    /// Tokens in the lock.
    pub base_tokens: Option<u64>,
    /// Tokens now.
    pub tokens: Option<u64>,
    /// The difference; a missing side counts 0.
    pub delta: i64,
    /// What happened.
    pub status: Status,
    /// The reason that stands in the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The line of its entry, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// What happened to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Neither price nor definition moved.
    Same,
    /// The definition is another one of the same price.
    Changed,
    /// It costs less.
    Shrank,
    /// It is gone.
    Removed,
    /// It is new.
    Added,
    /// It costs more.
    Grew,
}

/// A server that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Failure {
    /// Its label.
    pub server: String,
    /// Why.
    pub reason: String,
}
