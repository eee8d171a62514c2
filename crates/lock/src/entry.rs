//! What a lock holds, once read.

use crate::Hash;
use std::collections::BTreeMap;

/// A lock: settings a person wrote, and entries that `deadweight gate --update` wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The estimator the budgets were made with, with its version: `calibrated/1`.
    pub estimator: String,
    /// Which fields a tool's bytes are the bytes of.
    pub basis: String,
    /// How far below its budget each surface may lie.
    pub slack: Slack,
    /// Most tokens that all tools may have together, whatever the entries say.
    pub ceiling_tokens: Option<Setting>,
    /// Most tokens that any one tool may have.
    pub max_tool_tokens: Option<Setting>,
    /// Most tools that there may be.
    pub max_tools: Option<Setting>,
    /// The level of each check that the lock changes, by the check's reason.
    pub checks: BTreeMap<String, CheckSetting>,
    /// Rules for tools named without a server: they hold for every server.
    pub rules: Vec<NameRule>,
    /// The servers, by label.
    pub servers: BTreeMap<String, ServerEntry>,
    /// The tools, by server label and name.
    pub tools: BTreeMap<ToolKey, ToolEntry>,
    /// The skills, by label or project-relative path.
    pub skills: BTreeMap<String, FileEntry>,
    /// The memory files, by project-relative path.
    pub memory: BTreeMap<String, FileEntry>,
}

impl Lock {
    /// A lock without entries, with the default settings.
    pub fn new(estimator: impl Into<String>, basis: impl Into<String>) -> Self {
        Self {
            estimator: estimator.into(),
            basis: basis.into(),
            slack: Slack::default(),
            ceiling_tokens: None,
            max_tool_tokens: None,
            max_tools: None,
            checks: BTreeMap::new(),
            rules: Vec::new(),
            servers: BTreeMap::new(),
            tools: BTreeMap::new(),
            skills: BTreeMap::new(),
            memory: BTreeMap::new(),
        }
    }

    /// The tools of one server that have a price, in the order of their names.
    pub fn tools_of<'a>(&'a self, server: &'a str) -> impl Iterator<Item = (&'a ToolKey, &'a ToolEntry)> {
        self.tools.iter().filter(move |(key, entry)| key.server == server && entry.price.is_some())
    }
}

/// How far below its budget each surface may lie before the budget counts as stale, in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slack {
    /// For all tools together.
    pub floor: Setting,
    /// For the tools' descriptions.
    pub descriptions: Setting,
    /// For the servers' instructions.
    pub instructions: Setting,
    /// For the skills.
    pub skills: Setting,
    /// For the memory files.
    pub memory: Setting,
}

impl Default for Slack {
    fn default() -> Self {
        let other = Setting::of(200);
        Self {
            floor: Setting::of(250),
            descriptions: other.clone(),
            instructions: other.clone(),
            skills: other.clone(),
            memory: other,
        }
    }
}

/// A number that a person set: `floor = 250`, or with its reason `floor = { limit = 250, reason = "…" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The number.
    pub limit: u64,
    /// Why it was raised.
    pub reason: Option<String>,
    /// The line it stands in, from 1; 0 when it does not come from a file.
    pub line: usize,
}

impl Setting {
    /// A setting that comes from no file.
    pub const fn of(limit: u64) -> Self {
        Self { limit, reason: None, line: 0 }
    }
}

/// The level of one check: `TOOL_GREW = "error"`, or `TOOL_GREW = { level = "warn", reason = "…" }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSetting {
    /// What a failed check does.
    pub level: Level,
    /// Why it was lowered.
    pub reason: Option<String>,
    /// The line it stands in, from 1; 0 when it does not come from a file.
    pub line: usize,
}

/// What a failed check does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is reported.
    Warn,
    /// It refuses.
    Error,
}

impl Level {
    /// The name in the file and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Which tool of which server. Orders by server, then by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolKey {
    /// The server's label.
    pub server: String,
    /// The tool's name.
    pub name: String,
}

impl ToolKey {
    /// A key of its parts.
    pub fn new(server: impl Into<String>, name: impl Into<String>) -> Self {
        Self { server: server.into(), name: name.into() }
    }
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolEntry {
    /// What it costs. `None` for a tool that is not listed now and stands here for its policy.
    pub price: Option<ToolPrice>,
    /// Why it costs more than it did, or why it was added.
    pub reason: Option<String>,
    /// Its policy.
    pub marks: Marks,
    /// The line it begins at, from 1; 0 when it does not come from a file.
    pub line: usize,
}

/// What one tool costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPrice {
    /// Bytes of name, description and compact input schema.
    pub bytes: u64,
    /// Bytes of the description.
    pub description_bytes: u64,
    /// Tokens, when the estimator is a tokenizer.
    pub tokens: Option<u64>,
    /// Tokens of the description, when the estimator is a tokenizer.
    pub description_tokens: Option<u64>,
    /// The hash of the canonical definition.
    pub hash: Hash,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEntry {
    /// What it is, without arguments, environment, user info or query: `npm:PACKAGE@VERSION`, `https://host/path`.
    pub source: Option<String>,
    /// The price of its instructions, when it has any.
    pub instructions: Option<TextPrice>,
    /// Why the instructions cost more than they did.
    pub reason: Option<String>,
    /// Its policy.
    pub marks: Marks,
    /// The line it begins at, from 1; 0 when it does not come from a file.
    pub line: usize,
}

impl ServerEntry {
    /// Whether the entry stands here for its policy, and says nothing about what is carried.
    pub const fn is_policy_alone(&self) -> bool {
        self.source.is_none() && self.instructions.is_none() && !self.marks.is_empty()
    }
}

/// One skill or memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// What it costs.
    pub price: TextPrice,
    /// Why it costs more than it did, or why it was added.
    pub reason: Option<String>,
    /// The line it begins at, from 1; 0 when it does not come from a file.
    pub line: usize,
}

/// What a text costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPrice {
    /// Its bytes.
    pub bytes: u64,
    /// Its tokens, when the estimator is a tokenizer.
    pub tokens: Option<u64>,
    /// The hash of the text.
    pub hash: Hash,
}

/// The policy of a server or a tool. A mark is `true`, or the reason for it as a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// It is always shown with its schema.
    pub eager: Option<String>,
    /// It is shown by name only.
    pub defer: Option<String>,
    /// It is neither shown nor called.
    pub deny: Option<String>,
}

impl Marks {
    /// Whether no mark is set.
    pub const fn is_empty(&self) -> bool {
        self.eager.is_none() && self.defer.is_none() && self.deny.is_none()
    }
}

/// What a rule does with the tools it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKind {
    /// Always show them with their schemas.
    Eager,
    /// Show them by name only.
    Defer,
    /// Neither show nor call them.
    Deny,
}

impl PolicyKind {
    /// Every kind, with the key it has in the file.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Eager, "eager"), (Self::Defer, "defer"), (Self::Deny, "deny")];
}

/// A rule of the `[policy.…]` tables: a tool's name, whatever its server, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRule {
    /// What it does.
    pub kind: PolicyKind,
    /// The tool's name; `*` for every tool.
    pub tool: String,
    /// Why; empty when none was given.
    pub reason: String,
    /// The line it stands in, from 1; 0 when it does not come from a file.
    pub line: usize,
}
