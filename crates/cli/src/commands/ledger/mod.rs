//! `deadweight ledger`: where it is, what stands in it, what leaves it.

mod export;
mod show;

pub(crate) use show::Session;

use crate::args::{Ledger, LedgerCommand, LedgerCommon, LedgerPath, LedgerPrune, LedgerVacuum};
use crate::exit::{self, Exit, Trouble};
use crate::render::json;
use crate::render::number::{bytes, count};
use crate::settings::ledger::Ledger as Setting;
use crate::settings::proxy::Flags;
use crate::settings::{self, Key};
use crate::target::gather;
use deadweight_mcp::config::process_env;
use deadweight_store::{Error, Place, now_ms, prune, vacuum};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(args: &Ledger) -> Result<Exit, Trouble> {
    let common = match &args.command {
        LedgerCommand::Path(args) => &args.common,
        LedgerCommand::Show(args) => &args.common,
        LedgerCommand::Export(args) => &args.common,
        LedgerCommand::Prune(args) => &args.common,
        LedgerCommand::Vacuum(args) => &args.common,
    };
    settings::set_colors(common.global.color);
    gather::enter(common.global.directory.as_deref())?;
    let setting = setting(common)?;
    let file = file(&setting)?;
    match &args.command {
        LedgerCommand::Path(args) => path(args, &file),
        LedgerCommand::Show(args) => show::run(args, &file),
        LedgerCommand::Export(args) => export::run(args, &file),
        LedgerCommand::Prune(args) => pruned(args, &file, setting.days),
        LedgerCommand::Vacuum(args) => vacuumed(args, &file),
    }
}

/// The file of the ledger that is meant.
pub(crate) fn file_of(common: &LedgerCommon) -> Result<PathBuf, Trouble> {
    file(&setting(common)?)
}

fn file(setting: &Setting) -> Result<PathBuf, Trouble> {
    match &setting.place {
        Place::File(file) => Ok(file.clone()),
        Place::Off => {
            Err(Trouble::unmeasured("there is no ledger: recording is off")
                .attempt("name one: --ledger FILE"))
        }
    }
}

/// What is set of the ledger that is meant.
pub(crate) fn setting(common: &LedgerCommon) -> Result<Setting, Trouble> {
    // What is thrown away here must not be another one's, because the one that was named could not be read.
    if let Some(Err(why)) = common.ledger.as_deref().map(Place::read) {
        return Err(Trouble::usage(format!("--ledger: {why}")).attempt("name a SQLite file: --ledger FILE"));
    }
    let directory = std::env::current_dir().unwrap_or_default();
    let mut flags = Flags::default();
    flags.tell(Key::Ledger, common.ledger.clone());
    let setting = Setting::resolve(&flags, &process_env, &directory);
    setting.warn();
    Ok(setting)
}

fn path(args: &LedgerPath, file: &Path) -> Result<Exit, Trouble> {
    if args.json {
        let size = std::fs::metadata(file).ok().map(|metadata| metadata.len());
        let report = json!({
            "schema": "deadweight/ledger-path/1",
            "ledger": file.display().to_string(),
            "exists": size.is_some(),
            "bytes": size,
        });
        exit::print(&json::text(&report, false))?;
    } else {
        exit::print(&format!("{}\n", file.display()))?;
    }
    Ok(Exit::Done)
}

fn pruned(args: &LedgerPrune, file: &Path, set: Option<u64>) -> Result<Exit, Trouble> {
    let Some(days) = args.retention.map(u64::from).or(set) else {
        return Err(Trouble::refused(
            "the setting `retention` keeps the ledger for ever: nothing is thrown away",
        )
        .at("ledger", file.display().to_string())
        .attempt("say how many days are kept: --retention DAYS"));
    };
    let before = now_ms().saturating_sub(days.saturating_mul(86_400_000));
    let pruned = wait(prune(file, before))?.map_err(trouble)?.ok_or_else(|| none(file))?;
    if args.json {
        let report = json!({
            "schema": "deadweight/ledger-prune/1",
            "ledger": file.display().to_string(),
            "retention_days": days,
            "before_ms": before,
            "thrown_away": pruned,
        });
        exit::print(&json::text(&report, false))?;
    } else {
        let days = count(days, "day", "days");
        let what = format!(
            "{} and {} older than {days} thrown away",
            count(pruned.exchanges, "request", "requests"),
            count(pruned.calls, "call", "calls"),
        );
        exit::print_told(&format!("  {what}\n"))?;
        if pruned.exchanges + pruned.calls > 0 && !args.common.global.quiet {
            exit::note(
                "the room they took is used again; `deadweight ledger vacuum` gives it back to the disk",
            );
        }
    }
    Ok(Exit::Done)
}

fn vacuumed(args: &LedgerVacuum, file: &Path) -> Result<Exit, Trouble> {
    let sizes = wait(vacuum(file))?.map_err(trouble)?.ok_or_else(|| none(file))?;
    if args.json {
        let report = json!({
            "schema": "deadweight/ledger-vacuum/1",
            "ledger": file.display().to_string(),
            "bytes_before": sizes.before,
            "bytes_after": sizes.after,
        });
        exit::print(&json::text(&report, false))?;
    } else {
        exit::print_told(&format!("  {}, {} before\n", bytes(sizes.after), bytes(sizes.before)))?;
    }
    Ok(Exit::Done)
}

/// There is nothing to do anything with.
fn none(file: &Path) -> Trouble {
    Trouble::unmeasured("there is no ledger yet: nothing was recorded")
        .at("ledger", file.display().to_string())
        .attempt("`deadweight gateway`, `deadweight run` and `deadweight mcp` record")
}

pub(crate) fn trouble(error: Error) -> Trouble {
    Trouble::unmeasured(error.to_string())
        .at("ledger", error.file.display().to_string())
        .attempt(error.remedy())
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> Result<T, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Trouble::unmeasured("the ledger could not be read").at("system", error.to_string())
    })?;
    Ok(runtime.block_on(future))
}
