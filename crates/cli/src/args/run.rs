//! What can be written behind `deadweight run`.

use super::{Brief, LeverArgs};
use crate::settings::Key;
use crate::settings::proxy::Flags;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs an agent through the gateway and its MCP servers through the proxy, and tells at the end what it carried.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "More about agents, upstreams and servers: deadweight run --help")]
#[command(after_long_help = RUN_LONG)]
#[command(override_usage = "deadweight run [OPTIONS] -- COMMAND...")]
pub(crate) struct Run {
    /// The agent, with its own arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// Which agent it is, where its name does not tell
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Agent")]
    pub(crate) agent: Option<AgentArg>,

    /// Leave the agent's MCP servers as they are, and add none
    #[arg(long, help_heading = "Agent")]
    pub(crate) bare_servers: bool,

    /// Start nothing: print what would be set
    #[arg(long, help_heading = "Agent")]
    pub(crate) dry_run: bool,

    /// Also write what was carried as JSON (`deadweight/run/1`) to FILE
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    #[arg(
        long_help = "Also write what was carried as JSON (`deadweight/run/1`) to FILE, when the agent has ended. \
        Standard output is the agent's"
    )]
    pub(crate) json: Option<PathBuf>,

    /// Where requests are recorded: a SQLite file, or `off`
    #[arg(long, value_name = "URL", help_heading = "Report")]
    pub(crate) ledger: Option<String>,

    #[command(flatten)]
    pub(crate) levers: LeverArgs,

    #[command(flatten)]
    pub(crate) global: Brief,
}

/// The agents whose settings are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentArg {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// opencode
    Opencode,
    /// gemini-cli
    Gemini,
    /// qwen-code
    Qwen,
    /// aider
    Aider,
    /// Any other program that takes its providers' addresses from the environment
    Other,
}

impl Run {
    /// What was said about settings.
    pub(crate) fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.tell(Key::Ledger, self.ledger.clone());
        self.levers.tell(&mut flags);
        flags
    }
}

const RUN_LONG: &str = "\
The gateway listens on a free port of this machine for as long as the agent runs. Where the agent asks
its provider so far, in its environment or its own config, is where the gateway asks; paths stay.
Nothing is written into a config: what the agent is told stands in its environment, on its command
line, or in a folder that goes with it.

  Claude Code  ANTHROPIC_BASE_URL, --mcp-config; ENABLE_TOOL_SEARCH=true, unless it is set, because
               Claude Code leaves its tool search off behind an address it does not know
  Codex        -c openai_base_url, -c model_providers.NAME.base_url, -c mcp_servers.NAME.command
  opencode     OPENCODE_CONFIG_CONTENT
  gemini-cli   GOOGLE_GEMINI_BASE_URL, GEMINI_CLI_SYSTEM_SETTINGS_PATH
  qwen-code    OPENAI_BASE_URL, QWEN_CODE_SYSTEM_SETTINGS_PATH
  aider        OPENAI_API_BASE, ANTHROPIC_API_BASE
  any other    ANTHROPIC_BASE_URL, OPENAI_BASE_URL, OPENAI_API_BASE, GOOGLE_GEMINI_BASE_URL

MCP servers keep their names, and with them every rule about their tools: `deadweight mcp --name NAME --`
is put before their command. Servers that are switched off, not approved, or may need a login that the
agent holds, are left as they are; --bare-servers leaves all of them. `deadweight mcp --own` is added:
the model can ask how full its context is.

The terminal, signals and the exit code are the agent's. Where the dashboard is is told on standard error
before it starts, what was carried when it has ended; -q tells neither. If the gateway cannot be started, that is one line, and the agent starts without it.

Examples:
  deadweight run -- claude
  deadweight run --json carried.json -- codex exec 'fix the test'
  deadweight run --dry-run -- npx -y opencode-ai

Exit codes: the agent's own · 128 + N ended by signal N · 127 not found · 126 cannot be started · 2 wrong usage";
