//! MCP configuration files of coding agents: which servers they name, and how to reach them.
//!
//! Read here: `mcpServers` (Claude Code, Claude Desktop, Cursor, Gemini CLI and others; also inside the
//! `projects` of `~/.claude.json`), VS Code's `servers`, opencode's `mcp`, all of them with comments and
//! trailing commas, and Codex's TOML tables `[mcp_servers.NAME]`.
//!
//! Variables are expanded as the agent that owns the file would expand them: `${NAME}` and
//! `${NAME:-default}`, `${env:NAME}`, `${workspaceFolder}` and `${userHome}` in the JSON formats, `$NAME` too
//! in those of Gemini CLI and qwen-code, `{env:NAME}` and `{file:PATH}` in opencode's, none in Codex's. What
//! they hold is never printed.
//!
//! Servers of a project's own file (`.mcp.json`, or a file in a folder such as `.vscode`) are started in that
//! project, as its agent would; the home folder is no project.

mod codex;
mod draft;
mod expand;
mod json;
mod jsonc;

use crate::error::{ListError, Reason};
use crate::explain::Explained;
use crate::spec::ServerSpec;
use crate::text::Text;
use deadweight_wire::json::Parser;
use draft::{Draft, Place};
use expand::{Expander, Syntax};
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

impl ConfigError {
    /// All three parts: what was wrong, where, what to do.
    pub fn explain(&self) -> Explained {
        let expected =
            "a file with `mcpServers`, VS Code's `servers`, opencode's `mcp` or Codex's [mcp_servers]";
        Explained::new(self.to_string()).with("try", expected)
    }
}

/// The variables of this process, for [`Context::env`].
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Config {
    /// The servers that can be asked.
    pub fn ready(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers.iter().filter_map(|configured| match &configured.server {
            Server::Ready(spec) => Some(spec),
            _ => None,
        })
    }
}

/// Bytes of a configuration file, in which some agents keep much else; and of a file that an entry names.
const LARGEST: u64 = 64 << 20;
const LARGEST_OF_ENTRY: u64 = 1 << 20;

/// Reads a configuration file.
///
/// # Errors
///
/// When it cannot be read, or is none.
pub fn read(file: &Path, context: Context<'_>) -> Result<Config, ConfigError> {
    let text = crate::file::read(file, LARGEST).map_err(|error| ConfigError {
        file: file.to_owned(),
        detail: crate::explain::system(&error),
        line: None,
    })?;
    parse(&text, file, context)
}

/// Expands the variables of one text that stands in no file, such as an argument of a command line: as the JSON
/// formats have them. What came out of the environment is shown as the text that asked for it.
///
/// # Errors
///
/// [`Reason::UnsetVariable`] and [`Reason::NeedsInput`], of line 1.
pub fn expand(text: &str, context: Context<'_>) -> Result<Text, Reason> {
    let folder = Path::new("");
    let workspace = context.workspace.unwrap_or(folder);
    Expander { syntax: Syntax::Dollar, context, workspace, folder }.expand(text, 1)
}

/// A text that is JSON but for comments, trailing commas and a byte order mark, as plain JSON of the same length. What is
/// no JSON either way stays none.
#[must_use]
pub fn plain(text: &[u8]) -> Vec<u8> {
    jsonc::plain(text)
}

/// Whether a text is a configuration of MCP servers, and in which format.
pub fn detect(text: &[u8]) -> Option<Format> {
    let plain = jsonc::plain(text);
    if let Some(found) =
        Parser::new().scope(&plain, |parsed| parsed.ok().map(|text| json::format(text.root())))
    {
        return found;
    }
    std::str::from_utf8(text).is_ok_and(codex::is_codex).then_some(Format::Codex)
}

/// Reads the text of a configuration file. `file` is used for what depends on where it lies and for error
/// messages; a server's own fault (a variable that is not set, a wrong entry) is that server's alone.
///
/// # Errors
///
/// When the text is none of the known formats.
pub fn parse(text: &[u8], file: &Path, context: Context<'_>) -> Result<Config, ConfigError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let is_dot = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let in_dot_folder = is_dot(folder);
    let above = if in_dot_folder { folder.parent().unwrap_or(folder) } else { folder };
    let workspace = context.workspace.unwrap_or(above);
    let home = (context.env)("HOME").map(PathBuf::from);
    let of_project = in_dot_folder || file.file_name().is_some_and(|name| name == ".mcp.json");
    let of_project = of_project && home.as_deref() != Some(workspace) && !workspace.as_os_str().is_empty();
    let cwd = of_project.then(|| workspace.to_owned());
    let wrong = |detail: &str, line| ConfigError { file: file.to_owned(), detail: detail.to_owned(), line };
    let lines = json::Lines::new(text);
    let expander = |syntax| Expander { syntax, context, workspace, folder };
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    let first = text.trim_ascii_start().first().copied();
    if is_toml || (!matches!(first, Some(b'{' | b'/' | b'\xef')) && detect(text) == Some(Format::Codex)) {
        let text = std::str::from_utf8(text)
            .map_err(|error| wrong("it is not UTF-8", Some(lines.of(error.valid_up_to()))))?;
        let expander = expander(Syntax::None);
        let finish = |place: Place<'_>, draft: Result<Draft, Reason>| place.configured(&expander, draft);
        let servers = codex::Reader { file, lines, cwd, finish: &finish }.servers(text)?;
        return Ok(Config { file: file.to_owned(), format: Format::Codex, servers });
    }
    let plain = jsonc::plain(text);
    Parser::new().scope(&plain, |parsed| {
        let document = parsed.map_err(|error| {
            let detail = error.to_string();
            let detail = detail.split(" (byte ").next().unwrap_or_default();
            wrong(&format!("it is not JSON: {detail}"), Some(lines.of(error.offset)))
        })?;
        let root = document.root();
        let format = json::format(root).ok_or_else(|| wrong("it names no MCP servers", None))?;
        let of_gemini = folder.file_name().is_some_and(|name| name == ".gemini" || name == ".qwen");
        let expander = expander(match format {
            Format::OpenCode => Syntax::Braces,
            Format::McpServers if of_gemini => Syntax::BareDollar,
            _ => Syntax::Dollar,
        });
        let finish = |place: Place<'_>, draft: Result<Draft, Reason>| place.configured(&expander, draft);
        let servers = json::Reader { file, lines, cwd, finish: &finish }.servers(root, format);
        Ok(Config { file: file.to_owned(), format, servers })
    })
}
