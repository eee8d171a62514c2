//! What can be said about levers behind every command that passes requests on.

use crate::settings::Key;
use crate::settings::levers::{parse_lever, parse_share};
use crate::settings::proxy::Flags;
use clap::{Args, ValueEnum};

/// What levers may do.
#[derive(Debug, Args)]
pub(crate) struct LeverArgs {
    /// What may be changed in requests: nothing, what loses nothing or has a way back, or the opt-ins too [default: default]
    #[arg(long, value_name = "PROFILE", value_enum, help_heading = "Levers")]
    pub(crate) profile: Option<ProfileArg>,

    /// Switch one lever, as `dedup=off` (can be given several times)
    #[arg(long, value_name = "NAME=on|off", value_parser = parse_lever, help_heading = "Levers")]
    pub(crate) lever: Vec<String>,

    /// Leave a share of all sessions as they are, to hold the others against them: `10%`
    #[arg(long, value_name = "SHARE", value_parser = checked_share, help_heading = "Levers")]
    pub(crate) holdout: Option<String>,

    /// Whether decisions are written down; `off`: nothing new is decided that would have to be [default: on]
    #[arg(long, value_name = "on|off", value_enum, help_heading = "Levers")]
    pub(crate) decisions: Option<OnOff>,

    /// Tell at start what each lever does
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Levers")]
    pub(crate) verbose: bool,
}

/// The profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Measure, and change nothing
    Faithful,
    /// What loses nothing, and what is cut with a way back
    Default,
    /// The opt-ins too
    Lean,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// Yes
    On,
    /// No
    Off,
}

impl LeverArgs {
    /// Adds what the call says to the settings.
    pub(crate) fn tell(&self, flags: &mut Flags) {
        let profile = self.profile.map(|profile| match profile {
            ProfileArg::Faithful => "faithful",
            ProfileArg::Default => "default",
            ProfileArg::Lean => "lean",
        });
        flags.tell(Key::Profile, profile.map(str::to_owned));
        flags.told.extend(self.lever.iter().map(|text| (Key::Lever, text.clone())));
        flags.tell(Key::Holdout, self.holdout.clone());
        let decisions = self.decisions.map(|own| if own == OnOff::On { "on" } else { "off" });
        flags.tell(Key::Decisions, decisions.map(str::to_owned));
    }
}

/// Checks it here, so that a call that is wrong is told at once, and keeps what was written.
fn checked_share(text: &str) -> Result<String, String> {
    parse_share(text).map(|_| text.to_owned())
}
