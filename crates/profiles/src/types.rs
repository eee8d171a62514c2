//! The shape of a profile.

/// A fact with its date and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact<T> {
    /// What is so.
    pub value: T,
    /// When it was so: `YYYY-MM` or `YYYY-MM-DD`.
    pub date: &'static str,
    /// Who says so: a measurement, a document, an issue thread, a source file.
    pub source: &'static str,
}

/// What is known of one agent.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// Its id in output and on the command line.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// How it names the tools of MCP servers.
    pub naming: Option<Fact<Naming>>,
    /// The longest name a tool may have, and what happens beyond.
    pub name_limit: Option<Fact<NameLimit>>,
    /// How many characters of a tool's description it sends; what is longer is cut.
    pub description_cut: Option<Fact<usize>>,
    /// How many characters of a server's instructions it sends.
    pub instructions_cut: Option<Fact<usize>>,
    /// Names of its own tools, for agents whose MCP tools carry no sign of their own. Not complete for other agents.
    pub builtin_tools: Option<Fact<&'static [&'static str]>>,
    /// What stands near the beginning of its system prompt and of no other agent's.
    pub system_hints: &'static [Fact<&'static str>],
    /// Request headers that give it away.
    pub headers: &'static [Fact<Header>],
    /// Texts that it puts into the first messages and repeats on every turn.
    pub standing: &'static [Fact<Marker>],
    /// How the sections of a `system` message among the first ones begin, and what each is.
    pub sections: &'static [Fact<(&'static str, StandingKind)>],
    /// Whether it keeps MCP tools out of the prompt until they are searched for, by default.
    pub defers: Option<Fact<bool>>,
    /// How much of a paged `tools/list` it reads.
    pub paging: Option<Fact<Paging>>,
    /// Whether it asks again after `notifications/tools/list_changed`.
    pub list_changed: Option<Fact<bool>>,
    /// What it calls itself to MCP servers (`clientInfo.name`), in lower case; a longer name that begins so is its
    /// too.
    pub client_names: &'static [Fact<&'static str>],
    /// The input schema that a tool without its schema is shown with, so that what the agent makes of it is accepted
    /// by its provider and does not tell the model that the tool takes no arguments; [`PLACEHOLDER`](crate::PLACEHOLDER)
    /// where nothing else is known.
    pub placeholder: Option<Fact<Placeholder>>,
    /// How a person tells it to leave out tools of its own.
    pub leave_out: Option<Fact<LeaveOut>>,
    /// Where it keeps its MCP servers.
    pub configs: &'static [Fact<ConfigFile>],
    /// Names of the memory files it reads.
    pub memory_files: &'static [&'static str],
}

/// How a person tells an agent to leave out tools of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveOut {
    /// A file of settings, in JSON, has an array of their names.
    Names {
        /// The file, from the user's home.
        file: &'static str,
        /// The members that lead to the array, from the outside.
        members: &'static [&'static str],
    },
    /// A file of settings, in JSON, has an object with a member for each.
    Members {
        /// The file, from the user's home.
        file: &'static str,
        /// The members that lead to the object, from the outside.
        members: &'static [&'static str],
        /// The value of each, as JSON.
        value: &'static str,
    },
}

/// How an agent makes a tool's name from a server's label and the tool's own name:
/// `prefix + label + separator + name`, characters outside `kept` replaced by `_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// What comes first; empty when nothing does.
    pub prefix: &'static str,
    /// What stands between label and name.
    pub separator: &'static str,
    /// Characters kept besides ASCII letters and digits.
    pub kept: &'static str,
    /// Whether the label is put in lower case.
    pub lowercase_label: bool,
    /// How many characters of the label are kept.
    pub label_max: Option<usize>,
    /// Whether a server's tools stand together in a namespace that has this prefix, their names left as they are.
    pub namespace: bool,
    /// Whether every MCP tool has the prefix and no built-in tool has it.
    pub exclusive: bool,
}

/// The longest name a tool may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameLimit {
    /// In characters.
    pub chars: usize,
    /// Whether only label and name count, without prefix and separator.
    pub bare: bool,
    /// What happens beyond.
    pub beyond: NameLimitEffect,
}

/// What happens to a tool whose name is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameLimitEffect {
    /// The request that first carries it is refused.
    Refused,
    /// The tool is left out.
    Hidden,
    /// The name is shortened.
    Shortened,
}

/// A request header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What its value begins with; empty for any value.
    pub starts_with: &'static str,
}

/// A text that an agent puts into the first messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// What it begins with.
    pub open: &'static str,
    /// What ends it; `None` when it goes to the end of its block.
    pub close: Option<&'static str>,
    /// Phrases inside that say what it is; the first that occurs decides.
    pub kinds: &'static [(&'static str, StandingKind)],
    /// What it is when none occurs.
    pub otherwise: StandingKind,
}

/// What a standing text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StandingKind {
    /// Memory files: `CLAUDE.md`, `AGENTS.md` and the like.
    MemoryFile,
    /// Names of tools that wait to be searched for.
    ToolNames,
    /// Names and descriptions of skills.
    Skills,
    /// Names and descriptions of sub-agents.
    Agents,
    /// Instructions of MCP servers.
    ServerInstructions,
    /// Working directory, date, platform and the like.
    Environment,
    /// Any other reminder.
    Reminder,
}

impl StandingKind {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MemoryFile => "memory_file",
            Self::ToolNames => "tool_names",
            Self::Skills => "skills",
            Self::Agents => "agents",
            Self::ServerInstructions => "server_instructions",
            Self::Environment => "environment",
            Self::Reminder => "reminder",
        }
    }
}

/// How much of a paged list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// Every page.
    All,
    /// So many pages.
    UpTo(u32),
}

/// A file in which an agent keeps its MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigFile {
    /// Below which folder.
    pub root: Root,
    /// Path below it, with `/`.
    pub path: &'static str,
    /// Its format.
    pub format: ConfigFormat,
    /// The member that holds the servers by label.
    pub key: &'static str,
}

/// Below which folder a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// The project's.
    Project,
    /// The user's home.
    Home,
    /// `~/.config` or `$XDG_CONFIG_HOME`.
    XdgConfig,
    /// `~/Library/Application Support`.
    MacApplicationSupport,
    /// `%APPDATA%`.
    WindowsAppData,
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFormat {
    /// JSON.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
}

/// What stands for the input schema of a tool that is listed without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder {
    /// The JSON text.
    pub schema: &'static str,
    /// The property in which a model that knows no other puts the tool's arguments; `None` when it writes them as they
    /// are.
    pub envelope: Option<&'static str>,
}
