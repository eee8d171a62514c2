//! What can be written on the command line.

mod gateway;
mod ledger;
mod levers;
mod mcp;
mod restore;
mod run;
mod scorecard;
mod top;

pub(crate) use gateway::{Gateway, LogForm};
pub(crate) use ledger::{
    Common as LedgerCommon, FormArg, Ledger, LedgerCommand, LedgerExport, LedgerPath, LedgerPrune,
    LedgerShow, LedgerVacuum, TableArg,
};
pub(crate) use levers::LeverArgs;
pub(crate) use mcp::{Mcp, McpCommand, McpLogin, McpSearch, McpStatus, Servers};
pub(crate) use restore::Restore;
pub(crate) use run::{AgentArg, Run};
pub(crate) use scorecard::Scorecard;
pub(crate) use top::Top;

use crate::render::number::parse_tokens;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Weighs what a coding agent carries on every turn.
#[derive(Debug, Parser)]
#[command(name = "deadweight", version, styles = STYLES, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
#[command(
    after_help = "Exit codes: 0 done · 1 refused by a gate or a check · 2 wrong usage · 3 could not measure"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Footprint(Box<Footprint>),
    Gate(Box<Gate>),
    Gateway(Box<Gateway>),
    Mcp(Box<Mcp>),
    Run(Box<Run>),
    Scorecard(Box<Scorecard>),
    Top(Box<Top>),
    Ledger(Box<Ledger>),
    Restore(Box<Restore>),
}

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", help_heading = "General")]
    pub(crate) directory: Option<PathBuf>,

    /// Print the totals only, and no progress
    #[arg(short, long, conflicts_with = "verbose", help_heading = "General")]
    pub(crate) quiet: bool,

    /// Tell on stderr what targets were taken for and how servers answered; list advice tool by tool
    #[arg(short, long, help_heading = "General")]
    pub(crate) verbose: bool,

    /// Colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "General")]
    #[arg(long_help = "Colours. `auto` means on a terminal, unless NO_COLOR is set")]
    pub(crate) color: Color,

    /// Print help; --help tells more than -h
    #[arg(short, long, action = ArgAction::Help, help_heading = "General")]
    help: Option<bool>,
}

/// What commands understand that weigh no targets.
#[derive(Debug, Args)]
pub(crate) struct Brief {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", help_heading = "General")]
    pub(crate) directory: Option<PathBuf>,

    /// Tell nothing but warnings and errors on stderr; with `run`, no report at the end either
    #[arg(short, long, help_heading = "General")]
    pub(crate) quiet: bool,

    /// Colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "General")]
    #[arg(long_help = "Colours. `auto` means on a terminal, unless NO_COLOR is set")]
    pub(crate) color: Color,

    /// Print help; --help tells more than -h
    #[arg(short, long, action = ArgAction::Help, help_heading = "General")]
    help: Option<bool>,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// What a command is about: servers, lists, configs, requests.
#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// Files: a tools/list dump, an MCP config, a captured request, a memory file, skills; `-` reads stdin
    #[arg(value_name = "TARGET")]
    pub(crate) files: Vec<PathBuf>,

    /// A stdio MCP server to start
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// An MCP server to connect to, over streamable HTTP or SSE (can be given several times)
    #[arg(long, value_name = "URL", help_heading = "Targets")]
    pub(crate) url: Vec<String>,

    /// A header to send to --url, as `Key: value`; `${VAR}` is taken from the environment
    #[arg(long, value_name = "K:V", requires = "url", help_heading = "Targets")]
    pub(crate) header: Vec<String>,

    /// What the files are, where that is in doubt
    #[arg(long = "as", value_name = "KIND", value_enum, help_heading = "Targets")]
    pub(crate) kind: Option<KindArg>,

    /// The dialect of a captured request, where that is in doubt
    #[arg(long, value_name = "DIALECT", value_enum, help_heading = "Targets")]
    pub(crate) dialect: Option<DialectArg>,

    /// The label of the server, instead of the name it gives itself
    #[arg(long, value_name = "LABEL", help_heading = "Targets")]
    pub(crate) name: Option<String>,

    /// How long a server may take to start and to list its tools
    #[arg(long, value_name = "SECS", default_value = "60", value_parser = parse_seconds, help_heading = "Targets")]
    pub(crate) timeout: std::time::Duration,
}

impl Targets {
    /// Whether the call names none.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.url.is_empty() && self.command.is_empty()
    }
}

/// Prices what is carried: what does a server, a memory file, or a whole request cost on every turn?
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "More about targets, and examples: deadweight footprint --help")]
#[command(after_long_help = FOOTPRINT_LONG)]
#[command(override_usage = "deadweight footprint [OPTIONS] [TARGET]... [-- COMMAND...]")]
pub(crate) struct Footprint {
    #[command(flatten)]
    pub(crate) targets: Targets,

    /// How bytes become tokens: calibrated, chars4, o200k, cl100k
    #[arg(long, value_name = "NAME", default_value = "calibrated", help_heading = "Counting")]
    #[arg(
        long_help = "How bytes become tokens: `calibrated` (4.5 bytes a token in tool definitions, 3.75 in prose), \
        `chars4` (4 bytes), or the real vocabularies `o200k` and `cl100k`"
    )]
    pub(crate) estimator: String,

    /// Also give shares of a context window of TOKENS (200000, 200k, 1M)
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens, help_heading = "Counting")]
    pub(crate) window: Option<u64>,

    /// Compare with OTHER: a file, a URL, or a command line in quotes
    #[arg(long, value_name = "OTHER", help_heading = "Counting")]
    #[arg(long_help = "Compare with OTHER, the base: a file, an http(s) URL, or a command line in quotes. \
        Both sides are priced the same way; what moved most comes first")]
    pub(crate) compare: Option<String>,

    /// List N tools; 0 lists all
    #[arg(long, value_name = "N", help_heading = "Report")]
    #[arg(
        long_help = "List N tools; 0 lists all. Without it: 20 on a terminal and in Markdown, all in JSON and HTML. \
        Totals are always those of the whole"
    )]
    pub(crate) top: Option<usize>,

    /// What comes first
    #[arg(long, value_name = "KEY", value_enum, default_value_t = Sort::Tokens, help_heading = "Report")]
    pub(crate) sort: Sort,

    /// Print JSON
    #[arg(long, conflicts_with = "markdown", help_heading = "Report")]
    #[arg(
        long_help = "Print JSON: `deadweight/footprint/1`, `deadweight/request-footprint/1` for a captured request, \
        `deadweight/memory-footprint/1` for memory files and skills, \
        `deadweight/footprint-compare/1` with --compare. With several reports, one a line"
    )]
    pub(crate) json: bool,

    /// Print Markdown
    #[arg(long, help_heading = "Report")]
    pub(crate) markdown: bool,

    /// Also write one self-contained page to FILE
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// Holds what is carried on every turn against deadweight.lock, and refuses growth nobody justified.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "More about targets, and examples: deadweight gate --help")]
#[command(after_long_help = GATE_LONG)]
#[command(override_usage = "deadweight gate [OPTIONS] [TARGET]... [-- COMMAND...]")]
pub(crate) struct Gate {
    #[command(flatten)]
    pub(crate) targets: Targets,

    /// The lock
    #[arg(long, value_name = "FILE", default_value = deadweight_lock::LOCK_FILE, help_heading = "Lock")]
    pub(crate) lock: PathBuf,

    /// Re-pin: write what is measured into the lock
    #[arg(long, conflicts_with = "base", help_heading = "Lock")]
    pub(crate) update: bool,

    /// Why entries rise or come; it is written beside them
    #[arg(long, value_name = "TEXT", requires = "update", help_heading = "Lock")]
    pub(crate) reason: Option<String>,

    /// Let --update write where CI is set
    #[arg(long, requires = "update", help_heading = "Lock")]
    pub(crate) allow_ci: bool,

    /// Compare the lock with that of a git revision, or with a file; starts no server
    #[arg(long, value_name = "REV", conflicts_with_all = ["only", "files", "url", "command"], help_heading = "Lock")]
    pub(crate) base: Option<String>,

    /// Hold only the servers of this label (can be given several times)
    #[arg(long, value_name = "LABEL", help_heading = "Lock")]
    pub(crate) only: Vec<String>,

    /// How bytes become tokens, instead of the lock's own way
    #[arg(long, value_name = "NAME", help_heading = "Counting")]
    #[arg(
        long_help = "How bytes become tokens, instead of the lock's own way: calibrated, chars4, o200k, cl100k. \
        With --update the lock is priced anew; without, another one than the lock's is refused as BASIS_MISMATCH"
    )]
    pub(crate) estimator: Option<String>,

    /// Print JSON (`deadweight/gate/1`); the same as --format json
    #[arg(long, conflicts_with = "format", help_heading = "Report")]
    pub(crate) json: bool,

    /// The form of the report
    #[arg(long, value_name = "FORM", value_enum, default_value_t = GateFormat::Text, help_heading = "Report")]
    pub(crate) format: GateFormat,

    #[command(flatten)]
    pub(crate) global: Global,
}

impl Gate {
    /// The form that was asked for.
    pub(crate) const fn format(&self) -> GateFormat {
        if self.json { GateFormat::Json } else { self.format }
    }
}

/// The forms of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateFormat {
    /// For a person; in GitHub Actions with annotations and the step summary
    Text,
    /// `deadweight/gate/1`
    Json,
    /// For a comment or a summary
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// GitHub Actions annotations alone
    Github,
}

/// What a file can be said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// A tools/list dump, or the `tools` array of a request
    Tools,
    /// An MCP config: mcpServers, VS Code's servers, Codex TOML, opencode
    Config,
    /// A captured request body
    Request,
    /// A memory file: CLAUDE.md, AGENTS.md, GEMINI.md
    Memory,
    /// A SKILL.md, a folder of skills, a plugin
    Skills,
}

impl KindArg {
    /// The word of the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Config => "config",
            Self::Request => "request",
            Self::Memory => "memory",
            Self::Skills => "skills",
        }
    }
}

/// The dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    AnthropicMessages,
    OpenaiChat,
    OpenaiResponses,
    GeminiGenerate,
}

impl From<DialectArg> for deadweight_wire::Dialect {
    fn from(arg: DialectArg) -> Self {
        match arg {
            DialectArg::AnthropicMessages => Self::AnthropicMessages,
            DialectArg::OpenaiChat => Self::OpenaiChat,
            DialectArg::OpenaiResponses => Self::OpenaiResponses,
            DialectArg::GeminiGenerate => Self::GeminiGenerate,
        }
    }
}

/// The order of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    Tokens,
    Description,
    Schema,
    Name,
}

fn parse_seconds(text: &str) -> Result<std::time::Duration, String> {
    text.trim_end_matches('s')
        .parse::<f64>()
        .ok()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a number of seconds greater than 0"))
}

const FOOTPRINT_LONG: &str = "\
What a target is taken for, in this order:
  1. what follows `--` is a command that starts a stdio server;
     --url is a server to connect to
  2. a file is what --as says
  3. a file that ends in .md is a memory file (CLAUDE.md, AGENTS.md, GEMINI.md),
     priced with what it imports; SKILL.md, a folder of skills or a plugin is
     priced as the names and descriptions that are listed of its skills
  4. a file that ends in .toml is an MCP config (Codex: [mcp_servers.NAME])
  5. an array, or an object with `result.tools`, is a tools/list dump
     (the `tools` array of a request, too)
  6. an object with servers in `mcpServers`, `servers`, `mcp` or `projects`
     is an MCP config; it may have comments
  7. an object with the members of a request (`messages`, `input`, `contents`)
     is a captured request, its dialect told by its shape or by --dialect
  8. any other object with a `tools` array is a tools/list dump

Without a target, the first of the project's own MCP configs is taken:
  .mcp.json, .cursor/mcp.json, .vscode/mcp.json, .codex/config.toml,
  opencode.json, .gemini/settings.json, mcp.json

A server that cannot be measured is never counted as 0: it is listed as
failed, the rest is still printed, and the exit code is 3.

Examples:
  deadweight footprint -- npx -y @modelcontextprotocol/server-everything
  deadweight footprint --url https://mcp.example.com/mcp \\
      --header 'Authorization: Bearer ${TOKEN}'
  deadweight footprint .mcp.json --window 200k
  deadweight footprint tools.json --estimator o200k --sort schema --top 0
  deadweight footprint request.json --html report.html
  deadweight footprint CLAUDE.md .claude/skills
  deadweight footprint new.json --compare old.json --markdown
  deadweight footprint --compare 'npx -y some-server@1.0' -- npx -y some-server

Exit codes: 0 done · 2 wrong usage · 3 something could not be measured";

const GATE_LONG: &str = "\
The lock holds a price and a hash for every tool, for the servers' instructions, and for the project's
skills and memory files. Budgets are the sums of the entries. What is measured holds from the budget down
to its slack; above it is refused, and so is what lies further below, until the reduction is banked.

Without a target the servers of the project's own MCP config are asked (as deadweight footprint does), and
its skills and memory files are looked at. A server of the lock that is not among the targets is
UNMEASURED, unless --only leaves it out.

The checks that refuse:
  FLOOR_BUDGET_EXCEEDED, …_STALE            all tools: above the budget, or further below it than the slack
  DESC_BUDGET_EXCEEDED, …_STALE             their descriptions alone
  INSTRUCTIONS_, SKILL_, MEMORY_BUDGET_…    the same for the servers' instructions, skills, memory files
  CEILING_EXCEEDED                          all tools: above the lock's ceiling_tokens
  TOOL_TOO_LARGE, TOOL_COUNT_EXCEEDED       above its max_tool_tokens, its max_tools
  RAISE_WITHOUT_CAUSE                       an entry, slack, ceiling or check was loosened without a reason
  BASIS_MISMATCH                            the lock was priced another way
  UNMEASURED                                a server could not be asked; never lowered to a warning
The checks that warn:
  TOOL_GREW, TOOL_ADDED                     one tool, whatever the sum says
  DEFINITION_CHANGED                        a definition is not the one that was reviewed
The lock's [checks] sets another level: TOOL_ADDED = \"error\".

Examples:
  deadweight gate --update -- node build/server.js     the first lock, or a reduction banked
  deadweight gate -- node build/server.js              in CI: holds, or says why not
  deadweight gate --update --reason \"exports, #88\" -- node build/server.js
  deadweight gate --base origin/main                   in review: does every raise say why?
  deadweight gate --only github --format markdown

Exit codes: 0 holds · 1 refused · 2 wrong usage · 3 something could not be measured";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds() {
        Cli::command().debug_assert();
    }

    #[test]
    fn timeouts_are_read() {
        assert_eq!(parse_seconds("1.5"), Ok(std::time::Duration::from_millis(1_500)));
        assert_eq!(parse_seconds("30s"), Ok(std::time::Duration::from_secs(30)));
        for refused in ["0", "-1", "soon", "nan", "inf", "1e300"] {
            assert!(parse_seconds(refused).is_err(), "{refused}");
        }
    }
}
