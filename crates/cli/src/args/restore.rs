//! `deadweight restore`, as it is called.

use super::LedgerCommon;
use clap::Args;

/// Prints the original of something that the gateway cut out of a conversation
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(
    after_help = "Originals are kept encrypted beside the ledger for 30 days, and can be read on the machine they were cut on.

Exit codes: 0 done · 1 nothing is kept under that id · 2 wrong usage · 3 what is kept cannot be read"
)]
pub(crate) struct Restore {
    /// The id in the place of what was cut: `dw-` and 20 characters
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Print JSON (`deadweight/restore/1`); else the text as it was, and nothing else
    #[arg(long, help_heading = "Report")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) common: LedgerCommon,
}
