//! `deadweight mcp status`: the servers that were served, what was called and loaded, and what it saves.

use crate::args::McpStatus;
use crate::exit::{self, Exit, Trouble};
use crate::render::{json, mcp as render};
use crate::settings::proxy::{Flags, Proxy};
use crate::settings::{Key, Screen};
use deadweight_mcp::config::process_env;
use deadweight_store::{Error, Filter, Ledger, Listing, Place, Totals, Usage, now_ms};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What the ledger says.
#[derive(Debug)]
pub(crate) struct Status {
    /// The ledger's file; none where recording is off.
    pub(crate) ledger: Option<PathBuf>,
    /// How many days are counted; none: all.
    pub(crate) days: Option<u32>,
    /// What it holds; none where there is no ledger yet.
    pub(crate) recorded: Option<Recorded>,
}

/// What a ledger holds.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) totals: Totals,
    pub(crate) usage: Vec<Usage>,
    pub(crate) listings: Vec<Listing>,
}

pub(super) fn run(args: &McpStatus) -> Result<Exit, Trouble> {
    let directory = std::env::current_dir().unwrap_or_default();
    let mut flags = Flags::default();
    flags.tell(Key::Ledger, args.ledger.clone());
    let proxy = Proxy::resolve(&flags, &process_env, &directory);
    proxy.warn();
    let since_ms = args.days.map(|days| now_ms().saturating_sub(u64::from(days) * 86_400_000));
    let (ledger, recorded) = match proxy.ledger {
        Place::Off => (None, None),
        Place::File(file) => {
            let recorded = read(&file, Filter { since_ms, server: None })?;
            (Some(file), recorded)
        }
    };
    let status = Status { ledger, days: args.days, recorded };
    if args.json {
        exit::print(&json::text(&report(&status), false))?;
    } else {
        exit::print_told(&render::status(&status, Screen::of_stdout(), args.global.quiet))?;
    }
    Ok(Exit::Done)
}

fn read(file: &Path, filter: Filter<'_>) -> Result<Option<Recorded>, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Trouble::unmeasured("the ledger could not be read").at("system", error.to_string())
    })?;
    let trouble = |error: Error| {
        Trouble::unmeasured(error.to_string())
            .at("ledger", error.file.display().to_string())
            .attempt(error.remedy())
    };
    runtime.block_on(async {
        let Some(mut ledger) = Ledger::open(file).await.map_err(trouble)? else { return Ok(None) };
        let totals = ledger.totals(filter).await.map_err(trouble)?;
        let usage = ledger.usage(filter).await.map_err(trouble)?;
        Ok(Some(Recorded { totals, usage, listings: ledger.listings().await.map_err(trouble)? }))
    })
}

fn report(status: &Status) -> Value {
    let sums = |totals: &Totals| {
        json!({
            "calls": totals.calls,
            "calls_unloaded": totals.calls_unloaded,
            "calls_failed": totals.calls_failed,
            "calls_refused": totals.calls_refused,
            "loads": totals.loads,
            "searches": totals.searches,
            "bytes_in": totals.bytes_in,
            "bytes_out": totals.bytes_out,
            "load_bytes": totals.load_bytes,
            "duration_us": totals.duration_us,
            "sessions": totals.sessions,
            "first_ms": totals.first_ms,
            "last_ms": totals.last_ms,
        })
    };
    let usage = |usage: &Usage| {
        let mut value = json!({ "server": usage.server, "tool": usage.tool });
        if let (Some(object), Value::Object(sums)) = (value.as_object_mut(), sums(&usage.totals)) {
            object.extend(sums);
        }
        value
    };
    let listing = |one: &Listing| {
        json!({
            "entry": one.entry,
            "server": (!one.server.is_empty()).then_some(&one.server),
            "client": one.client,
            "at_ms": one.at_ms,
            "surface": one.surface,
            "deferred": one.deferred,
            "reason": one.why,
            "tools": one.tools,
            "provenance": { "kind": "ESTIMATED", "estimator": one.estimator },
            "before_tokens": one.before_tokens,
            "after_tokens": one.after_tokens,
            "own_tokens": one.own_tokens,
            "gross_tokens": one.gross_tokens,
            "net_tokens": one.net_tokens,
            "load_tokens": one.load_tokens,
            "break_even": one.break_even,
        })
    };
    let recorded = status.recorded.as_ref();
    json!({
        "schema": "deadweight/mcp-status/1",
        "provenance": { "calls": "WITNESSED", "listings": "ESTIMATED" },
        "ledger": status.ledger.as_ref().map(|file| file.display().to_string()),
        "days": status.days,
        "listings": recorded.map(|all| all.listings.iter().map(listing).collect::<Vec<_>>()),
        "totals": recorded.map(|all| sums(&all.totals)),
        "tools": recorded.map(|all| all.usage.iter().map(usage).collect::<Vec<_>>()),
    })
}
