//! `deadweight footprint`: what tools, servers and requests cost.

mod gather;
mod measure;
mod output;

use crate::args::Footprint;
use crate::exit::{self, Exit, Trouble};
use crate::settings;
use crate::target::file;
use deadweight_estimate::ESTIMATOR_NAMES;
use measure::measure;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Footprint) -> Result<Exit, Trouble> {
    settings::set_colors(args.global.color);
    enter(args.global.directory.as_deref())?;
    check(args)?;
    let estimator =
        deadweight_estimate::estimator(&args.estimator).map_err(|_| unknown_estimator(&args.estimator))?;
    let Some(other) = &args.compare else {
        let measured = measure(gather::targets(args)?, &*estimator, args.sort);
        return output::footprints(args, measured);
    };
    let (base, now) = gather::both(args, other)?;
    let base = measure(base, &*estimator, args.sort);
    let now = measure(now, &*estimator, args.sort);
    output::comparison(args, &base, &now)
}

/// Goes to the directory of `-C`.
fn enter(directory: Option<&Path>) -> Result<(), Trouble> {
    let Some(directory) = directory else { return Ok(()) };
    std::env::set_current_dir(directory).map_err(|error| {
        Trouble::usage("the directory of -C cannot be entered")
            .at("directory", directory.display().to_string())
            .at("system", file::system(&error))
            .attempt("name a directory that exists")
    })
}

/// What the definition of the arguments cannot say about them together.
fn check(args: &Footprint) -> Result<(), Trouble> {
    let targets = args.targets.len() + args.url.len() + usize::from(!args.command.is_empty());
    if args.name.is_some() && targets != 1 {
        return Err(Trouble::usage("--name labels one server, not several and not a config")
            .at("targets", targets.to_string())
            .attempt("leave out --name, or price one target at a time"));
    }
    if !args.header.is_empty() && args.url.len() > 1 {
        return Err(Trouble::usage("--header is for one --url, and there are several")
            .at("urls", args.url.len().to_string())
            .attempt("price them one at a time, so that no server is sent another one's key"));
    }
    if args.targets.iter().filter(|path| file::is_stdin(path)).count()
        + usize::from(args.compare.as_deref() == Some("-"))
        > 1
    {
        return Err(Trouble::usage("standard input can be read only once").attempt("give `-` once"));
    }
    Ok(())
}

fn unknown_estimator(name: &str) -> Trouble {
    Trouble::usage(format!("there is no estimator `{name}`"))
        .at("known", ESTIMATOR_NAMES.join(", "))
        .attempt("leave out --estimator for `calibrated`, or take o200k for exact OpenAI counts")
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
