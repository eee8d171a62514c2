//! `deadweight ledger`, as it is called.

use super::Brief;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The ledger: where it is, what stands in it, what leaves it
#[derive(Debug, Args)]
#[command(disable_help_flag = true, subcommand_required = true, arg_required_else_help = true)]
#[command(
    after_help = "The ledger holds sizes, hashes, names, times, counts and money; never text of a prompt.

Exit codes: 0 done · 1 there is nothing of that name · 2 wrong usage · 3 the ledger cannot be used"
)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,

    /// Print help
    #[arg(short, long, action = clap::ArgAction::Help, help_heading = "General")]
    help: Option<bool>,
}

/// What can be done with it.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    Path(Box<LedgerPath>),
    Show(Box<LedgerShow>),
    Export(Box<LedgerExport>),
    Prune(Box<LedgerPrune>),
    Vacuum(Box<LedgerVacuum>),
}

/// What every part of the command understands.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The ledger: a SQLite file
    #[arg(long, value_name = "URL", help_heading = "Ledger")]
    pub(crate) ledger: Option<String>,

    #[command(flatten)]
    pub(crate) global: Brief,
}

/// Prints the ledger's file
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LedgerPath {
    /// Print JSON (`deadweight/ledger-path/1`)
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Shows one request with its receipt, or one session turn by turn
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LedgerShow {
    /// The name of a request or of a session; its beginning will do
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// List no more than N tools or turns; 0 lists all
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Report")]
    pub(crate) top: u32,

    /// Print JSON (`deadweight/ledger-request/1`, `deadweight/ledger-session/1`)
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Writes what stands in the ledger, line by line, for other programs
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LedgerExport {
    /// What is written
    #[arg(long, value_name = "TABLE", value_enum, default_value_t = TableArg::Requests, help_heading = "Export")]
    pub(crate) table: TableArg,

    /// The form
    #[arg(long, value_name = "FORM", value_enum, default_value_t = FormArg::Jsonl, help_heading = "Export")]
    pub(crate) format: FormArg,

    /// The last DAYS days only
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Export")]
    pub(crate) days: Option<u32>,

    /// One session only
    #[arg(long, value_name = "ID", help_heading = "Export")]
    pub(crate) session: Option<String>,

    /// Write to FILE, which is its owner's alone, instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Export")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Throws away what is old
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LedgerPrune {
    /// Keep the last DAYS days [default: the setting of the gateway, else 90]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Ledger")]
    pub(crate) retention: Option<u32>,

    /// Print JSON (`deadweight/ledger-prune/1`)
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Gives the room of what was thrown away back to the disk
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LedgerVacuum {
    /// Print JSON (`deadweight/ledger-vacuum/1`)
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableArg {
    /// A line for each request that went through the gateway
    Requests,
    /// A line for each tool of each set of tools; a request names its set
    Tools,
    /// A line for each tool that a request shows to have been called
    Called,
    /// A line for each thing a lever did to a request
    Levers,
    /// A line for each call, load and search that went through the proxy
    Calls,
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// One JSON object a line
    Jsonl,
    /// With a head, as RFC 4180 says; no cell is a formula
    Csv,
}
