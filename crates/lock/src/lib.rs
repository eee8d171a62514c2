//! `deadweight.lock`: the committed price, hash and budget of what an agent carries on every turn.
//!
//! This crate reads the file, writes it so that everything a person added stays, hashes definitions, and
//! holds the policy that lives beside the prices. It measures nothing and judges nothing: budgets and
//! verdicts are the `gate` crate's.
//!
//! ```toml
//! version = 1
//! estimator = "calibrated/1"
//! basis = "name + description + compact inputSchema"
//!
//! [slack]
//! floor = 250
//!
//! [server.github]
//! source = "npm:@modelcontextprotocol/server-github@2025.4.8"
//!
//! [tool.github.create_issue]
//! bytes = 1204
//! description_bytes = 80
//! hash = "sha256-1:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
//! reason = "issues can be filed from a session (#88)"
//! ```

pub mod canonical;
mod entry;
mod error;
mod read;
mod source;
mod write;

pub use canonical::Hash;
pub use entry::{
    CheckSetting, FileEntry, Level, Lock, Marks, NameRule, PolicyKind, ServerEntry, Setting, Slack,
    TextPrice, ToolEntry, ToolKey, ToolPrice,
};
pub use error::LockError;
pub use read::read;
pub use source::{is_clean_source, source_of_command, source_of_url};
pub use write::update;

/// The version of the file's shape that this crate reads and writes.
pub const LOCK_VERSION: u32 = 1;

/// The file's name, at the root of a project.
pub const LOCK_FILE: &str = "deadweight.lock";
