//! What can be written behind `deadweight gateway`.

use super::{Brief, LeverArgs};
use crate::settings::Key;
use crate::settings::gateway::{parse_listen, upstream};
use crate::settings::proxy::Flags;
use clap::{Args, ValueEnum};
use std::net::SocketAddr;

/// Sees it live: passes requests to model providers as they are, and shows what each one carries.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "More about routes, keys and settings: deadweight gateway --help")]
#[command(after_long_help = GATEWAY_LONG)]
#[command(override_usage = "deadweight gateway [OPTIONS]")]
pub(crate) struct Gateway {
    /// Where to listen: a port, or an address with one; 0 takes a free port [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR", value_parser = parse_listen, help_heading = "Serving")]
    pub(crate) listen: Option<SocketAddr>,

    /// Where a provider is asked, as `anthropic=URL` (can be given several times)
    #[arg(long, value_name = "PROVIDER=URL", value_parser = parse_upstream, help_heading = "Serving")]
    #[arg(
        long_help = "Where a provider is asked (can be given several times): anthropic, openai, gemini, bedrock, \
        vertex. Only https, or this machine. Nobody else is ever asked"
    )]
    pub(crate) upstream: Vec<String>,

    /// How long requests that are under way may take to end when the gateway is told to stop [default: 30]
    #[arg(long, value_name = "SECS", help_heading = "Serving")]
    pub(crate) drain: Option<u32>,

    /// An OpenTelemetry collector to tell metrics and spans, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", help_heading = "Report")]
    pub(crate) otlp: Option<String>,

    /// What clients must send as `x-deadweight-token`; better in DEADWEIGHT_TOKEN
    #[arg(long, value_name = "TOKEN", help_heading = "Who may ask")]
    #[arg(
        long_help = "What clients must send as `x-deadweight-token`. Arguments can be seen by every user of the \
        machine: DEADWEIGHT_TOKEN is the better place. Without one only loopback addresses are served"
    )]
    pub(crate) token: Option<String>,

    /// Hold the providers' keys: send those of this environment in place of what clients send
    #[arg(long, help_heading = "Who may ask")]
    #[arg(
        long_help = "Hold the providers' keys: those in ANTHROPIC_API_KEY, OPENAI_API_KEY and GEMINI_API_KEY are sent \
        in place of what clients send, and clients send the token where their key would be. Only with a token"
    )]
    pub(crate) hold_keys: bool,

    /// A name under which the gateway may be asked, besides localhost and addresses (can be given several times)
    #[arg(long, value_name = "NAME", help_heading = "Who may ask")]
    pub(crate) allow_host: Vec<String>,

    /// A web page's origin that may ask, besides those on this machine (can be given several times)
    #[arg(long, value_name = "ORIGIN", help_heading = "Who may ask")]
    pub(crate) allow_origin: Vec<String>,

    /// Where requests are recorded: a SQLite file, or `off`
    #[arg(long, value_name = "URL", help_heading = "Ledger")]
    pub(crate) ledger: Option<String>,

    /// How many days the ledger keeps what it records; 0 for ever [default: 90]
    #[arg(long, value_name = "DAYS", help_heading = "Ledger")]
    pub(crate) retention: Option<u32>,

    /// Keep whole bodies too, prompts and all: beside the ledger, for this user alone, for 7 days, 2 GB at most
    #[arg(long, help_heading = "Ledger")]
    pub(crate) keep_bodies: bool,

    #[command(flatten)]
    pub(crate) levers: LeverArgs,

    /// The form of the log on stderr
    #[arg(long, value_name = "FORM", value_enum, default_value_t = LogForm::Text, help_heading = "Report")]
    pub(crate) log: LogForm,

    /// Print where the gateway listens as JSON (`deadweight/gateway/1`) once it does
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) global: Brief,
}

/// The forms of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// For a person
    Text,
    /// One JSON object a line
    Json,
}

impl Gateway {
    /// What the call says of the settings.
    pub(crate) fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.tell(Key::Listen, self.listen.map(|address| address.to_string()));
        flags.told.extend(self.upstream.iter().map(|text| (Key::Upstream, text.clone())));
        flags.tell(Key::Drain, self.drain.map(|seconds| seconds.to_string()));
        flags.tell(Key::Otlp, self.otlp.clone());
        flags.tell(Key::GatewayToken, self.token.clone());
        flags.tell(Key::HoldKeys, self.hold_keys.then(|| "1".to_owned()));
        flags.tell(Key::Ledger, self.ledger.clone());
        flags.tell(Key::Retention, self.retention.map(|days| days.to_string()));
        flags.tell(Key::KeepBodies, self.keep_bodies.then(|| "1".to_owned()));
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        flags.tell(Key::AllowHost, list(&self.allow_host));
        flags.tell(Key::AllowOrigin, list(&self.allow_origin));
        self.levers.tell(&mut flags);
        flags
    }
}

/// Checks it here, so that a call that is wrong is told at once, and keeps what was written.
fn parse_upstream(text: &str) -> Result<String, String> {
    upstream(text).map(|_| text.to_owned())
}

const GATEWAY_LONG: &str = "\
Give the agent the gateway's address as its base URL:
  Claude Code   ANTHROPIC_BASE_URL=http://127.0.0.1:8787/anthropic claude
  Codex         openai_base_url=\"http://127.0.0.1:8787/openai/v1\" in config.toml
  gemini-cli    GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787/gemini gemini

Whose a request is, in this order:
  1. a path that begins with /anthropic, /openai, /gemini, /bedrock or /vertex,
     which is taken off
  2. a path that only one provider has, such as /v1/messages
  3. the header anthropic-version or x-goog-api-key
What is not certain, or says two things, is answered 421 and sent nowhere.

Keys pass through, and are neither stored nor shown. A body that no lever has
anything to do with passes byte for byte; no redirect is followed. The ledger has
sizes, hashes, names, times, usage and money of what passes, and no text of it.

Levers leave out what need not be sent again; each says what it does at start with
-v. What was changed once is sent so for ever: decisions are kept beside the ledger.
--profile faithful changes nothing.

On other addresses than loopback a token is needed. Clients send it as
x-deadweight-token, beside their own key; it is never sent on. Claude Code:
  ANTHROPIC_CUSTOM_HEADERS='x-deadweight-token: TOKEN'

SIGTERM and Ctrl-C let requests come to their end; a second one does not wait.
SIGHUP reads the settings again, and so does a change of deadweight.toml.

Exit codes: 0 stopped · 2 wrong usage · 3 the address cannot be had";
