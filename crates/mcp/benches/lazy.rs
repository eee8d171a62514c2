//! What surfaces take off the lists of real servers, every figure gross, net and as the number of loads after which nothing
//! is saved; and how long a list of 10,000 tools takes. Run by `cargo xtask bench lazy`; `--check` fails when a bar is
//! missed.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and says what is wrong by failing"
)]

#[path = "../tests/lists/mod.rs"]
mod lists;

use bytes::Bytes;
use deadweight_estimate::{Estimator, estimator};
use deadweight_footprint::catalogue::Saving;
use deadweight_mcp::surface::{Choice, Client, Settings, Surface};
use lists::{definitions, generated, numbered, priced, recorded, surface};
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = |what: &str| arguments.iter().any(|argument| argument == what);
    // Cargo runs benches as tests, too; there is nothing to test here.
    if asked("--test") || !asked("--bench") {
        return;
    }
    let mut held = true;
    for name in ["o200k", "calibrated"] {
        let estimator = estimator(name).unwrap();
        println!(
            "tools as models are sent them (name, description, compact schema), {} tokens",
            estimator.id()
        );
        println!(
            "  {:<36} {:>7} {:>7} {:>6} {:>7} {:>7} {:>6} {:>6}",
            "", "before", "after", "own", "gross", "net", "load", "loads"
        );
        if let Some(servers) = recorded() {
            held &= real(&servers, &*estimator, name == "o200k");
        }
        let made = surface(&Settings::default(), Client::default(), &[("s".to_owned(), generated(1))], false);
        let saving = priced(std::slice::from_ref(&made), &*estimator);
        row("a generated server of 13 tools", &saving);
        held &= bar("gross", saving.gross.pct, 65.0) & bar("net", saving.net.pct, 58.0);
        println!();
    }
    held &= many();
    if asked("--check") && !held {
        std::process::exit(1);
    }
}

/// The recorded servers, in every way in which they can be shown.
fn real(servers: &[(String, Vec<Bytes>)], estimator: &dyn Estimator, barred: bool) -> bool {
    let stubs = Settings { surface: Choice::Stubs, ..Settings::default() };
    let wrap = |settings: &Settings, client: &Client| -> Vec<Surface> {
        let one = |server| surface(settings, client.clone(), std::slice::from_ref(server), false);
        servers.iter().map(one).collect()
    };
    let one = |settings: &Settings, client: &Client| [surface(settings, client.clone(), servers, true)];
    let unknown = Client::default();
    let mut held = true;

    let wrapped = wrap(&stubs, &unknown);
    for ((label, _), surface) in servers.iter().zip(&wrapped) {
        let saving = priced(std::slice::from_ref(surface), estimator);
        row(label, &saving);
        if saving.net.tokens < 0 {
            println!("    MISSES: it costs more deferred");
            held = false;
        }
    }
    let many = priced(&wrapped, estimator);
    row("all wrapped, each by itself", &many);
    let aggregate = one(&stubs, &unknown);
    let together = priced(&aggregate, estimator);
    row("all as one aggregate", &together);
    let search = one(&Settings { surface: Choice::Search, ..Settings::default() }, &unknown);
    let searched = priced(&search, estimator);
    row("all behind search", &searched);
    let zero = Settings { budget: 0, ..stubs.clone() };
    row("all wrapped, budget 0", &priced(&wrap(&zero, &unknown), estimator));
    row("all as one aggregate, budget 0", &priced(&one(&zero, &unknown), estimator));
    for name in ["claude-code", "codex-mcp-client", "opencode", "gemini-cli-mcp-client"] {
        let client = Client::new(name, "");
        row(&format!("all wrapped, for {name}"), &priced(&wrap(&stubs, &client), estimator));
    }
    if barred {
        held &= bar("all wrapped", many.net.pct, 83.0);
        held &= bar("one aggregate", together.net.pct, 85.0);
        held &= bar("search", searched.net.pct, 98.0);
        let tools = definitions(search[0].tools()).len();
        let tokens = searched.after.tokens.get() + searched.own.tokens.get();
        let holds = tools <= 3 && tokens <= 700;
        held &= holds;
        println!("    search lists {tools} tools of {tokens} tokens; {} 3 and 700", verdict(holds));
        let served: usize = servers.iter().flat_map(|(_, tools)| tools).map(|tool| tool.len() + 1).sum();
        let json = |surfaces: &[Surface]| {
            let length: usize = surfaces.iter().map(|surface| surface.tools().len()).sum();
            100.0 - 100.0 * length as f64 / served as f64
        };
        held &= bar("all wrapped, the list as JSON", json(&wrapped), 72.0);
        held &= bar("one aggregate, the list as JSON", json(&aggregate), 72.0);
    }
    held
}

/// One list of 10,000 tools: built, listed, found in.
fn many() -> bool {
    const TOOLS: usize = 10_000;
    let servers = [("many".to_owned(), (0..TOOLS).map(numbered).collect::<Vec<Bytes>>())];
    let bytes: usize = servers[0].1.iter().map(Bytes::len).sum();
    println!("a list of {TOOLS} tools, {:.1} MiB", bytes as f64 / f64::from(1 << 20));
    for (name, choice) in [("eager", Choice::Eager), ("stubs", Choice::Stubs), ("search", Choice::Search)] {
        let settings = Settings { surface: choice, ..Settings::default() };
        let start = Instant::now();
        let built = surface(&settings, Client::default(), &servers, true);
        let build = start.elapsed();
        println!("  {name:<8} built in {:>6.1} ms, {:>9} bytes listed", millis(build), built.tools().len());
    }
    let built = surface(&Settings::default(), Client::default(), &servers, true);
    let start = Instant::now();
    let mut found = 0;
    for at in 0..TOOLS {
        found += usize::from(built.resolve(&format!("many__tool_{at}")).is_some());
    }
    let each = start.elapsed() / u32::try_from(TOOLS).unwrap();
    println!("  a name is found in {:.0} ns", each.as_nanos());
    let start = Instant::now();
    let index = built.index();
    let indexed = start.elapsed();
    let start = Instant::now();
    let near = built.near("tool_99999");
    let nearly = start.elapsed();
    println!("  indexed in {:.0} ms; near names of one in {:.1} ms", millis(indexed), millis(nearly));
    found == TOOLS && index.search("handles case 17", 5).hits.len() == 5 && !near.is_empty()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn row(what: &str, saving: &Saving) {
    println!(
        "  {what:<36} {:>7} {:>7} {:>6} {:>6.1}% {:>6.1}% {:>6} {:>6}",
        saving.before.tokens.get(),
        saving.after.tokens.get(),
        saving.own.tokens.get(),
        saving.gross.pct,
        saving.net.pct,
        saving.load.tokens.get(),
        saving.break_even.map_or_else(|| "-".to_owned(), |loads| loads.to_string()),
    );
}

fn bar(what: &str, is: f64, least: f64) -> bool {
    let holds = is >= least;
    println!("    {what}: {is:.1} %; {} {least} %", verdict(holds));
    holds
}

/// `holds` or `MISSES`, for a table.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSES" }
}
