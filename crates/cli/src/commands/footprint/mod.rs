//! `deadweight footprint`: what tools, servers and requests cost.

mod measure;
mod output;

use crate::args::Footprint;
use crate::exit::{self, Exit, Trouble};
use crate::settings;
use crate::target::file;
use crate::target::gather::{self, Call};
use measure::measure;

/// Runs the command.
pub(crate) fn run(args: &Footprint) -> Result<Exit, Trouble> {
    settings::set_colors(args.global.color);
    gather::enter(args.global.directory.as_deref())?;
    let call = Call { command: "footprint", targets: &args.targets, global: &args.global, only: &[] };
    check(args, call)?;
    let estimator = deadweight_estimate::estimator(&args.estimator)
        .map_err(|_| gather::unknown_estimator(&args.estimator))?;
    let Some(other) = &args.compare else {
        let measured = measure(gather::targets(call)?, &*estimator, args.sort);
        return output::footprints(args, measured);
    };
    let (base, now) = gather::both(call, other)?;
    let base = measure(base, &*estimator, args.sort);
    let now = measure(now, &*estimator, args.sort);
    output::comparison(args, &base, &now)
}

/// What the definition of the arguments cannot say about them together.
fn check(args: &Footprint, call: Call<'_>) -> Result<(), Trouble> {
    call.check()?;
    let stdin = args.targets.files.iter().any(|path| file::is_stdin(path));
    if stdin && args.compare.as_deref() == Some("-") {
        return Err(Trouble::usage("standard input can be read only once").attempt("give `-` once"));
    }
    Ok(())
}

/// Prints what went wrong, and says how the command ends.
fn finish(troubles: &[Trouble]) -> Exit {
    for trouble in troubles {
        trouble.print();
    }
    troubles.iter().map(|trouble| trouble.exit).max().unwrap_or(Exit::Done)
}

/// Tells a person something beside the report, unless they want quiet.
fn note(args: &Footprint, text: &str) {
    if !args.global.quiet {
        exit::note(text);
    }
}
