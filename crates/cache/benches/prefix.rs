//! How fast a request becomes a chain of hashes, beside the pass that reads it (parsing and anatomy) on the same bytes in
//! the same run.
//!
//! `cargo bench -p deadweight-cache --bench prefix` prints the table; with `-- --check` it fails when a bar is missed. Each
//! round measures every contender once; the figures are the fastest rounds, since all else is what the machine did besides.

use deadweight_cache::lineage::{Limits, Lineages};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::Lifetimes;
use deadweight_testkit::layouts::{self, Layout, Size};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// How many times as long as the pass the chain may take.
const BAR: f64 = 9.0;

/// Of one body, in microseconds: the pass, the chain, finding the conversation, writing its state.
type Fastest = [f64; 4];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        // Run as a test, by a test runner that asks for a list: there is none.
        return Ok(ExitCode::SUCCESS);
    }
    let check = arguments.iter().any(|argument| argument == "--check");
    let size = Size { tools: 60, turns: 200, text: 4_000 };
    let many = Size { tools: 60, turns: 2_000, text: 300 };
    let named = ["claude_code", "opencode_chat", "codex_namespaces", "gemini_cli"];
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:18} {:>8} {:>8} | {:>8} {:>8} {:>8} {:>8} µs | chain: MB/s, times the pass",
        "body", "bytes", "messages", "pass", "chain", "place", "save"
    )?;
    let mut held = true;
    for (size, kind) in [(size, "4 KB results"), (many, "300 B results")] {
        for layout in layouts::all(size).into_iter().filter(|layout| named.contains(&layout.name)) {
            let (fastest, messages) = measure(&layout)?;
            let [pass, chain, place, save] = fastest;
            let (bytes, times) = (layout.body.len(), chain / pass);
            held &= times <= BAR;
            writeln!(
                out,
                "{:18} {bytes:>8} {messages:>8} | {pass:>8.0} {chain:>8.0} {place:>8.0} {save:>8.0}    | {:>5.0} {times:>5.2} \
                 {kind}",
                layout.name,
                bytes as f64 / chain,
            )?;
        }
    }
    writeln!(out, "bar: {BAR} times the pass: {}", if held { "holds" } else { "MISSED" })?;
    Ok(if held || !check { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(layout: &Layout) -> Result<(Fastest, usize), Box<dyn std::error::Error>> {
    let dialect = Dialect::of_name(layout.dialect).ok_or("a dialect that is not known")?;
    let lifetimes = Lifetimes::of(dialect);
    let mut parser = Parser::new();
    let mut lineages = Lineages::new(Limits::default());
    let (mut times, mut messages) = ([const { Vec::new() }; 4], 0);
    for round in 0..61 {
        let timed = parser.scope(layout.body.as_bytes(), |document| {
            let document = document?;
            let start = Instant::now();
            let anatomy = black_box(Anatomy::read(document, dialect));
            let read = start.elapsed();
            let prefix = black_box(Prefix::read(&anatomy));
            Ok::<_, deadweight_wire::json::Error>((read, start.elapsed() - read, prefix))
        });
        let (anatomy, chain, prefix) = timed?;
        let start = Instant::now();
        parser.scope(layout.body.as_bytes(), |document| black_box(document.is_ok()));
        let parse = start.elapsed();
        let start = Instant::now();
        black_box(lineages.place("session", &prefix, round, &lifetimes));
        let place = start.elapsed();
        let start = Instant::now();
        black_box(lineages.save("session"));
        let save = start.elapsed();
        messages = prefix.messages.len();
        for (times, time) in times.iter_mut().zip([anatomy + parse, chain, place, save]) {
            times.push(time.as_secs_f64() * 1e6);
        }
    }
    let fastest = |times: Vec<f64>| times.into_iter().fold(f64::INFINITY, f64::min);
    Ok((times.map(fastest), messages))
}
