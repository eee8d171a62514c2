//! `deadweight gate`: what the project carries, held against its `deadweight.lock`.

mod base;
mod file;
mod measure;
mod output;
mod surfaces;

use crate::args::{Gate, GateFormat};
use crate::exit::{Exit, Trouble};
use crate::render::harmless::cut_middle;
use crate::settings;
use crate::target::gather;
use deadweight_estimate::Estimator;
use deadweight_gate::{NoReason, check_settings, judge, update};
use deadweight_lock::{Lock, LockError};
use file::LockFile;
use std::path::Path;

/// Runs the command. Who asked for JSON gets JSON, whatever happens but a wrong call.
pub(crate) fn run(args: &Gate) -> Result<Exit, Trouble> {
    let outcome = gate(args);
    if let Err(trouble) = &outcome
        && args.format() == GateFormat::Json
        && trouble.exit != Exit::Usage
    {
        output::error(args, trouble)?;
    }
    outcome
}

fn gate(args: &Gate) -> Result<Exit, Trouble> {
    settings::set_colors(args.global.color);
    gather::enter(args.global.directory.as_deref())?;
    let file = LockFile::read(&args.lock)?;
    if let Some(base) = &args.base {
        return base::run(args, &file, base);
    }
    if args.update {
        return repin(args, &file);
    }
    let Some(lock) = file.lock() else { return Err(file.missing(args)) };
    settle(lock, &file)?;
    let estimator = estimator(args.estimator.as_deref().unwrap_or(&lock.estimator), &file, args)?;
    let (measured, troubles) = measure::measure(args, Some(lock), &*estimator)?;
    let report = judge(lock, &measured, &*estimator);
    output::report(args, &report, &troubles)
}

/// Re-pins: measures, and writes what was measured.
fn repin(args: &Gate, file: &LockFile) -> Result<Exit, Trouble> {
    if settings::in_ci() && !args.allow_ci {
        return Err(Trouble::refused(
            "the lock is not written where CI is set: a budget is raised by a commit, not by a run",
        )
        .at("lock", args.lock.display().to_string())
        .attempt("run it on your machine and commit the lock, or say --allow-ci"));
    }
    let lock = file.lock();
    if let Some(lock) = lock {
        settle(lock, file)?;
    }
    let name = args.estimator.as_deref().or(lock.map(|lock| lock.estimator.as_str()));
    let estimator = estimator(name.unwrap_or("calibrated"), file, args)?;
    let (measured, troubles) = measure::measure(args, lock, &*estimator)?;
    if !troubles.is_empty() {
        troubles.iter().for_each(Trouble::print);
        return Err(Trouble::unmeasured(
            "the lock was not written, because not every server could be measured",
        )
        .at("lock", args.lock.display().to_string())
        .attempt("mend what failed, or narrow the run: --only LABEL"));
    }
    let id = estimator.id().to_string();
    let updated = match update(lock, &measured, &id, args.reason.as_deref()) {
        Ok(updated) => updated,
        Err(NoReason { raised }) => {
            // What would have moved, which is what the reason is asked for.
            if let (Some(old), Ok(wanted)) = (lock, update(lock, &measured, &id, Some("…"))) {
                output::unwritten(args, old, &wanted, &*estimator)?;
            }
            return Err(no_reason(args, &raised));
        }
    };
    let text =
        deadweight_lock::update(file.text(), &updated.lock).map_err(|error| broken(&args.lock, &error))?;
    let changed = file.write(&text)?;
    output::updated(args, lock, &updated, changed, &*estimator)
}

/// What the lock's own settings must be before anything is measured.
fn settle(lock: &Lock, file: &LockFile) -> Result<(), Trouble> {
    check_settings(lock).map_err(|error| {
        Trouble::unmeasured(error.what.clone())
            .at("lock", format!("{}:{}", file.shown(), error.line))
            .attempt(error.remedy)
    })
}

fn estimator(name: &str, file: &LockFile, args: &Gate) -> Result<Box<dyn Estimator>, Trouble> {
    deadweight_estimate::estimator(name).map_err(|unknown| {
        if args.estimator.is_some() {
            return gather::unknown_estimator(name);
        }
        Trouble::refused(format!("BASIS_MISMATCH  {unknown}"))
            .at("lock", file.shown())
            .attempt("use the release of deadweight that wrote the lock, or re-pin it: deadweight gate --update --estimator calibrated")
    })
}

fn no_reason(args: &Gate, raised: &[String]) -> Trouble {
    const SHOWN: usize = 12;
    let mut list = raised
        .iter()
        .take(SHOWN)
        .map(|name| cut_middle(name, 100).into_owned())
        .collect::<Vec<_>>()
        .join("\n");
    if raised.len() > SHOWN {
        list.push_str(&format!("\nand {} more", raised.len() - SHOWN));
    }
    let what = if raised.len() == 1 {
        "an entry of the lock rises or comes, and nothing says why"
    } else {
        "entries of the lock rise or come, and nothing says why"
    };
    Trouble::refused(what)
        .at("raised", list)
        .at("lock", format!("{} is as it was", args.lock.display()))
        .attempt(output::update_command(args))
}

/// A lock that cannot be read.
fn broken(path: &Path, error: &LockError) -> Trouble {
    Trouble::unmeasured(error.what.clone())
        .at("lock", format!("{}:{}:{}", path.display(), error.line, error.column))
        .attempt(error.remedy.clone())
}
