//! What can be written behind `deadweight top`.

use super::{Brief, parse_seconds};
use clap::Args;
use std::time::Duration;

/// Sees it live in a terminal: what the sessions of a running gateway carry, turn by turn.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(
    after_help = "Keys: q ends, up and down choose a session, s sorts by time, tokens or money, p pauses"
)]
#[command(override_usage = "deadweight top [OPTIONS]")]
pub(crate) struct Top {
    /// Where the gateway is [default: DEADWEIGHT_GATEWAY, else http://127.0.0.1:8787]; `run` says its own when it starts
    #[arg(long, value_name = "URL", help_heading = "Gateway")]
    pub(crate) url: Option<String>,

    /// How often it is asked
    #[arg(long, value_name = "SECS", default_value = "1", value_parser = parse_seconds, help_heading = "Gateway")]
    pub(crate) interval: Duration,

    /// Print what there is now, once, and end; this is what happens where there is no terminal
    #[arg(long, help_heading = "Report")]
    pub(crate) once: bool,

    #[command(flatten)]
    pub(crate) global: Brief,
}
