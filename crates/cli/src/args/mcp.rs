//! What can be written behind `deadweight mcp`.

use super::{Global, parse_seconds};
use crate::settings::Key;
use crate::settings::proxy::{Flags, parse_bytes};
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Carries less: serves MCP servers with their tools named and described, and their schemas left out until needed.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, args_conflicts_with_subcommands = true)]
#[command(after_help = "More about servers, surfaces and settings: deadweight mcp --help")]
#[command(after_long_help = MCP_LONG)]
#[command(
    override_usage = "deadweight mcp [OPTIONS] -- COMMAND...\n       deadweight mcp [OPTIONS] --url URL\n       \
    deadweight mcp [OPTIONS] --config FILE [--server NAME]\n       deadweight mcp search|status|login …"
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,

    #[command(flatten)]
    pub(crate) servers: Servers,

    #[command(flatten)]
    pub(crate) listing: Listing,

    /// Serve over streamable HTTP on ADDR (8080, 127.0.0.1:8080) instead of the standard streams
    #[arg(long, value_name = "ADDR", value_parser = parse_address, help_heading = "Serving")]
    pub(crate) http: Option<SocketAddr>,

    /// With --http: what clients must send as a bearer token; better in DEADWEIGHT_TOKEN
    #[arg(long, value_name = "TOKEN", requires = "http", help_heading = "Serving")]
    #[arg(
        long_help = "With --http: what clients must send as a bearer token. Arguments can be seen by every user of \
        the machine: DEADWEIGHT_TOKEN is the better place. Without one only loopback addresses are served"
    )]
    pub(crate) token: Option<String>,

    /// With --http: end a session and its servers after so many minutes without use
    #[arg(long, value_name = "MINUTES", default_value = "10", requires = "http", help_heading = "Serving")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) idle: u32,

    /// Which calls run before the tool's schema was loaded, if their arguments are valid
    #[arg(long, value_name = "WHICH", value_enum, help_heading = "Serving")]
    pub(crate) optimistic: Option<OptimisticArg>,

    /// Cut results that are larger; the rest can be read with `read_result`
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Serving")]
    pub(crate) max_result: Option<u64>,

    /// Put a loaded schema into the list too; this costs the prompt cache
    #[arg(long, help_heading = "Serving")]
    pub(crate) reveal_on_load: bool,

    /// A folder with a local embedding model, for searches by meaning; nothing is fetched
    #[arg(long, value_name = "DIR", help_heading = "Serving")]
    pub(crate) model: Option<String>,

    /// Where calls are recorded: a SQLite file, or `off`
    #[arg(long, value_name = "URL", help_heading = "Serving")]
    pub(crate) ledger: Option<String>,

    /// Serve deadweight's own tools, which belong to no server
    #[arg(long, conflicts_with_all = ["command", "url", "config", "http", "explain"], help_heading = "Serving")]
    pub(crate) own: bool,

    /// Serve nothing: ask the servers once, and say what is decided about each and why
    #[arg(long, conflicts_with = "http", help_heading = "Report")]
    pub(crate) explain: bool,

    /// With --explain: who lists, as clients name themselves (claude-code, codex-mcp-client)
    #[arg(long, value_name = "NAME", requires = "explain", help_heading = "Report")]
    pub(crate) client: Option<String>,

    /// With --explain: print JSON (`deadweight/mcp-explain/1`)
    #[arg(long, requires = "explain", help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// The other things that can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    Search(Box<McpSearch>),
    Status(Box<McpStatus>),
    Login(Box<McpLogin>),
}

/// The servers.
#[derive(Debug, Default, Args)]
pub(crate) struct Servers {
    /// A stdio MCP server to start
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// An MCP server to connect to, over streamable HTTP or SSE
    #[arg(long, value_name = "URL", conflicts_with = "command", help_heading = "Servers")]
    pub(crate) url: Option<String>,

    /// A header to send to --url, as `Key: value`; `${VAR}` is taken from the environment
    #[arg(long, value_name = "K:V", requires = "url", help_heading = "Servers")]
    pub(crate) header: Vec<String>,

    /// An MCP config: all its servers behind one entry
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "url"], help_heading = "Servers")]
    pub(crate) config: Option<PathBuf>,

    /// Of --config, this server alone, under its own name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["command", "url"], help_heading = "Servers")]
    pub(crate) server: Option<String>,

    /// The name of the entry in the agent's config: with one server, its label in lock and ledger
    #[arg(long, value_name = "LABEL", help_heading = "Servers")]
    pub(crate) name: Option<String>,
}

/// How tools are listed.
#[derive(Debug, Default, Args)]
pub(crate) struct Listing {
    /// How tools are listed
    #[arg(long, value_name = "SURFACE", value_enum, help_heading = "Listing")]
    pub(crate) surface: Option<SurfaceArg>,

    /// Keep these as they are: servers, `server/tool`, tools, `*` (with commas, or several times)
    #[arg(long, value_name = "NAMES", help_heading = "Listing")]
    pub(crate) eager: Vec<String>,

    /// Leave servers alone whose descriptions and schemas have no more bytes (default 4096)
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Listing")]
    #[arg(
        long_help = "Leave servers alone whose descriptions and schemas have no more bytes (default 4096). The servers of \
        --config share one budget, the smallest first, since they share one list; 0 defers whatever is larger than its stub"
    )]
    pub(crate) schema_budget: Option<u64>,

    /// The lock whose policy and reviewed definitions count (default deadweight.lock, where there is one)
    #[arg(long, value_name = "FILE", help_heading = "Listing")]
    pub(crate) lock: Option<PathBuf>,

    /// What becomes of tools whose definition is not the one in the lock
    #[arg(long, value_name = "WHAT", value_enum, help_heading = "Listing")]
    pub(crate) trust: Option<TrustArg>,
}

/// Ranks the tools of servers for a request, and says why.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(override_usage = "deadweight mcp search [OPTIONS] <QUERY> [-- COMMAND...]")]
#[command(after_help = "Without a server, those of the project's own MCP config are asked.

Examples:
  deadweight mcp search 'open a pull request' --config .mcp.json
  deadweight mcp search read_fil -- npx -y @modelcontextprotocol/server-filesystem .

Exit codes: 0 done · 2 wrong usage · 3 a server could not be asked")]
pub(crate) struct McpSearch {
    /// What is wanted, in words, or the name of a tool
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,

    #[command(flatten)]
    pub(crate) servers: Servers,

    /// A folder with a local embedding model, which is asked for a second opinion
    #[arg(long, value_name = "DIR", help_heading = "Servers")]
    pub(crate) model: Option<String>,

    /// How long a server may take to start and to list its tools
    #[arg(long, value_name = "SECS", default_value = "60", value_parser = parse_seconds, help_heading = "Servers")]
    pub(crate) timeout: std::time::Duration,

    /// Show N tools
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Report")]
    pub(crate) top: usize,

    /// Print JSON (`deadweight/mcp-search/1`)
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// Shows the servers that were served: what was decided, what was called and loaded, what it saves.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "Exit codes: 0 done · 2 wrong usage · 3 the ledger could not be read")]
pub(crate) struct McpStatus {
    /// Count the calls of the last DAYS days only
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Report")]
    pub(crate) days: Option<u32>,

    /// The ledger that is read
    #[arg(long, value_name = "URL", help_heading = "Report")]
    pub(crate) ledger: Option<String>,

    /// Print JSON (`deadweight/mcp-status/1`)
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// Logs in to a server that asks for it, in the browser.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "The server is one of the project's own MCP config or of --config, or a URL.

Exit codes: 0 logged in · 1 refused · 2 wrong usage · 3 the server could not be reached")]
pub(crate) struct McpLogin {
    /// The server's name in the config, or its URL
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,

    /// The MCP config that names it
    #[arg(long, value_name = "FILE", help_heading = "Servers")]
    pub(crate) config: Option<PathBuf>,

    /// Show the address only; open no browser
    #[arg(long, help_heading = "Login")]
    pub(crate) no_browser: bool,

    /// Ask for this scope, instead of those that the server names (can be given several times)
    #[arg(long, value_name = "SCOPE", help_heading = "Login")]
    pub(crate) scope: Vec<String>,

    /// A client that was registered by hand; its secret, if it has one, in DEADWEIGHT_CLIENT_SECRET
    #[arg(long, value_name = "ID", help_heading = "Login")]
    pub(crate) client_id: Option<String>,

    /// The port of this machine that the browser comes back to; any free one if 0
    #[arg(long, value_name = "PORT", default_value_t = 0, help_heading = "Login")]
    pub(crate) port: u16,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// The kinds of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurfaceArg {
    /// What suits the client and the size of the list
    Auto,
    /// Every definition as it is
    Eager,
    /// Names and first sentences; schemas are loaded
    Stubs,
    /// Three tools in the place of all: search, load, call
    Search,
}

/// Which calls run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OptimisticArg {
    /// Every valid call
    All,
    /// Those of tools that say they destroy nothing
    Declared,
    /// None: the schema comes first
    Never,
}

/// What becomes of changed tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustArg {
    /// They are served, and the change is told
    Show,
    /// They are not callable until `deadweight gate --update`
    Quarantine,
}

/// The word of the command line.
fn word(value: Option<&impl ValueEnum>) -> Option<String> {
    value?.to_possible_value().map(|value| value.get_name().to_owned())
}

impl Listing {
    fn tell(&self, flags: &mut Flags) {
        flags.tell(Key::Surface, word(self.surface.as_ref()));
        flags.told.extend(self.eager.iter().map(|names| (Key::Eager, names.clone())));
        flags.tell(Key::SchemaBudget, self.schema_budget.map(|bytes| bytes.to_string()));
        flags.tell(Key::Lock, self.lock.as_ref().map(|path| path.to_string_lossy().into_owned()));
        flags.tell(Key::Trust, word(self.trust.as_ref()));
    }
}

impl Mcp {
    /// What was said about settings.
    pub(crate) fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        self.listing.tell(&mut flags);
        flags.tell(Key::Optimistic, word(self.optimistic.as_ref()));
        flags.tell(Key::MaxResult, self.max_result.map(|bytes| bytes.to_string()));
        flags.tell(Key::RevealOnLoad, self.reveal_on_load.then(|| "1".to_owned()));
        flags.tell(Key::Ledger, self.ledger.clone());
        flags.tell(Key::Model, self.model.clone());
        flags.tell(Key::Token, self.token.clone());
        flags
    }
}

/// An address to listen on: a port alone is one of the loopback interface.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    if let Ok(port) = port {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let plain = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    let named = plain.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    named
        .as_deref()
        .unwrap_or(plain)
        .parse()
        .map_err(|_| format!("`{text}` is no address; write a port, 127.0.0.1:8080 or [::1]:8080"))
}

const MCP_LONG: &str = "\
One server, under its own name. In the agent's config, put `deadweight mcp --name NAME --` before
the server's own command; the entry keeps its name, and with it every rule about its tools:
  deadweight mcp --name github -- npx -y @modelcontextprotocol/server-github
  deadweight mcp --name docs --url https://mcp.example.com/mcp

Many servers behind one entry; their tools are called server__tool:
  deadweight mcp --config servers.json

What is listed (--surface):
  eager   every definition as it is; also for clients that leave schemas out by themselves
  stubs   name, first sentence, annotations; the schema comes with load_tool_schemas, or with
          the answer to a call that was not valid
  search  search_tools, load_tool_schemas and call_tool alone, for very many tools
  auto    what suits: small servers stay as they are (--schema-budget), large ones become stubs

The list is decided once and stays, byte for byte, on every connection. What is decided and why:
  deadweight mcp --explain --config .mcp.json

Settings are taken, in this order, from
  1. flags
  2. the environment: DEADWEIGHT_LAZY (exactly 0 turns it all off), DEADWEIGHT_EAGER,
     DEADWEIGHT_SCHEMA_BUDGET, DEADWEIGHT_LEDGER, DEADWEIGHT_TOKEN, DEADWEIGHT_CONFIG
  3. the project's deadweight.toml, table [mcp]; it may name no commands, servers or keys
  4. ~/.config/deadweight/deadweight.toml
Pins (eager) of all places count together; a setting that cannot be read is a warning.

Standard output carries the protocol alone; what there is to say goes to standard error.

Exit codes: 0 done · 2 wrong usage · 3 a server could not be asked, or the lock not be read";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, address) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "127.0.0.1:8080"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:80", "[::1]:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("http://127.0.0.1:9/", "127.0.0.1:9"),
        ] {
            assert_eq!(parse_address(text).unwrap().to_string(), address, "{text}");
        }
        for refused in ["", "99999", "example.com:80", "127.0.0.1"] {
            assert!(parse_address(refused).is_err(), "{refused}");
        }
    }
}
