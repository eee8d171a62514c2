//! MCP configuration files of coding agents: which servers they name, and how to reach them.
//!
//! Read here: `mcpServers` (Claude Code, Claude Desktop, Cursor, Gemini CLI and others; also inside the
//! `projects` of `~/.claude.json`), VS Code's `servers`, opencode's `mcp`, all of them with comments and
//! trailing commas, and Codex's TOML tables `[mcp_servers.NAME]`.

use crate::error::ListError;
use crate::spec::ServerSpec;
use std::fmt;
use std::path::{Path, PathBuf};

/// The formats of configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON with `mcpServers`, at the top or per project.
    McpServers,
    /// VS Code: JSON with `servers`, at the top or below `mcp`.
    VsCode,
    /// opencode: JSON with `mcp`.
    OpenCode,
    /// Codex: TOML with `mcp_servers`.
    Codex,
}

/// A configuration file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// Its format.
    pub format: Format,
    /// The servers it names, in the order of the file.
    pub servers: Vec<Configured>,
}

/// One server of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// Its key in the file.
    pub label: String,
    /// The line of that key, counted from 1.
    pub line: usize,
    /// The project it belongs to, where the file keeps servers per project.
    pub project: Option<String>,
    /// What can be done with it.
    pub server: Server,
}

/// What can be done with a configured server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// It can be asked.
    Ready(ServerSpec),
    /// It is switched off, and is not asked.
    Disabled,
    /// It cannot be asked as it stands: a variable is not set, an entry is wrong.
    Faulty(ListError),
}

/// What the outside gives to a configuration file.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The environment: the value of a variable, if it is set.
    pub env: &'a (dyn Fn(&str) -> Option<String> + 'a),
    /// What `${workspaceFolder}` stands for; without it, the directory that holds the file, or the one
    /// above where the file's directory has a name that begins with a dot.
    pub workspace: Option<&'a Path>,
}

/// A configuration file that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub detail: String,
    /// The line, counted from 1, where one can be named.
    pub line: Option<usize>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = crate::harmless::line(&self.file.to_string_lossy());
        write!(f, "the config file `{file}` cannot be read: {}", self.detail)?;
        match self.line {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}
