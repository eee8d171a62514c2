//! What can be written behind `deadweight scorecard`.

use super::LedgerCommon;
use clap::Args;

/// Shows what each lever really does: in whole sessions that were measured, and in the ledger of this machine
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
#[command(
    after_help = "The measured figures were made with this version: scripted sessions through the gateway to a provider that
refuses what real ones refuse and bills from a true prefix cache. The ledger's are this machine's own."
)]
#[command(override_usage = "deadweight scorecard [OPTIONS]")]
pub(crate) struct Scorecard {
    /// What sessions cost, class by class, also under the policies of others
    #[arg(long, conflicts_with = "json", help_heading = "Report")]
    pub(crate) compare: bool,

    /// Print JSON (`deadweight/scorecard/1`)
    #[arg(long, conflicts_with = "markdown", help_heading = "Report")]
    pub(crate) json: bool,

    /// Print Markdown: the measured card, all of it
    #[arg(long, conflicts_with = "compare", help_heading = "Report")]
    pub(crate) markdown: bool,

    /// Look at the last DAYS days of the ledger
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Ledger")]
    pub(crate) days: u32,

    #[command(flatten)]
    pub(crate) common: LedgerCommon,
}
