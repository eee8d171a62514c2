//! How long it takes to plan a request and to prove it, beside the pass that reads it (parsing and anatomy) on the same bytes
//! in the same run. The chain of hashes is apart: the `prefix` bench has it.
//!
//! `cargo bench -p deadweight-levers --bench plan` prints the table; with `-- --check` it fails when a bar is missed. Each
//! round measures every contender once; the figures are the fastest rounds, since all else is what the machine did besides.

use deadweight_cache::prefix::Prefix;
use deadweight_levers::plan::{plan, plan_read};
use deadweight_levers::{Circumstances, Cold, Lever, Memory, Policy, Profile};
use deadweight_testkit::layouts::{self, Layout, Size};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// How many times as long as the pass an edited request may take on top of it.
const BAR: f64 = 3.0;
const ROUNDS: usize = 41;

type Failure = Box<dyn std::error::Error>;

/// What was decided before the request that is measured.
#[derive(Clone, Copy, PartialEq)]
enum Past {
    /// Nothing is edited.
    Nothing,
    /// Results were cut at a cold start.
    Cut,
    /// The history gave way to a view.
    Viewed,
}

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        // Run as a test, by a test runner that asks for a list: there is none.
        return Ok(ExitCode::SUCCESS);
    }
    let check = arguments.iter().any(|argument| argument == "--check");
    let named = ["claude_code", "opencode_anthropic", "codex_instructions"];
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:20} {:8} {:>8} {:>8} | {:>6} {:>6} µs | plan and proof: times the pass",
        "body", "past", "bytes", "sent", "pass", "plan"
    )?;
    let mut held = true;
    let size = Size { tools: 60, turns: 40, text: 24_000 };
    for layout in layouts::all(size).into_iter().filter(|layout| named.contains(&layout.name)) {
        for (past, name) in [(Past::Nothing, "plain"), (Past::Cut, "cut"), (Past::Viewed, "viewed")] {
            let (pass, planned, sent) = measure(&layout, past)?;
            let times = planned / pass;
            held &= times <= BAR;
            writeln!(
                out,
                "{:20} {name:8} {:>8} {sent:>8} | {pass:>6.0} {planned:>6.0}    | {times:>5.2}",
                layout.name,
                layout.body.len(),
            )?;
        }
    }
    writeln!(out, "bar: {BAR} times the pass: {}", if held { "holds" } else { "MISSED" })?;
    Ok(if held || !check { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The pass, planning with proof, both in microseconds; and how many bytes are sent.
fn measure(layout: &Layout, past: Past) -> Result<(f64, f64, usize), Failure> {
    let dialect = Dialect::of_name(layout.dialect).ok_or("a dialect that is not known")?;
    let body = layout.body.as_bytes();
    let tool = restore_tool(body, dialect).ok_or("no tool")?;
    let mut policy = Policy { edit_bound: true, ..Policy::default() };
    policy.switches.insert(Lever::CompactHistory, past == Past::Viewed);
    let cold = Circumstances {
        cold: Some(Cold::Idle),
        model: Some("gemini-2.5-pro"),
        restore_tool: Some(&tool),
        ..Circumstances::default()
    };
    let mut parser = Parser::new();
    let mut journal = Memory::new();
    if past == Past::Nothing {
        policy.profile = Profile::Faithful;
        policy.switches.clear();
    }
    for record in plan(&mut parser, body, dialect, &policy, &cold, &journal).records {
        journal.take(record);
    }
    let warm = Circumstances { cold: None, ..cold };
    let (mut pass, mut planned, mut sent) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        parser.scope(body, |document| black_box(document.is_ok()));
        let parse = start.elapsed();
        let timed = parser.scope(body, |document| {
            let document = document?;
            let start = Instant::now();
            let anatomy = black_box(Anatomy::read(document, dialect));
            let read = start.elapsed();
            let prefix = Prefix::read(&anatomy);
            let start = Instant::now();
            let outcome = black_box(plan_read(&anatomy, &prefix, &policy, &warm, &journal));
            let took = start.elapsed();
            let length = outcome.body.as_ref().map_or(body.len(), Vec::len);
            Ok::<_, deadweight_wire::json::Error>((read, took, length))
        });
        let (read, took, length) = timed?;
        pass = pass.min((parse + read).as_secs_f64() * 1e6);
        planned = planned.min(took.as_secs_f64() * 1e6);
        sent = length;
    }
    if past != Past::Nothing && sent == body.len() {
        return Err("nothing was edited".into());
    }
    Ok((pass, planned, sent))
}

/// The first tool that is not deferred stands for the one by which originals are asked for.
fn restore_tool(body: &[u8], dialect: Dialect) -> Option<String> {
    Parser::new().scope(body, |document| {
        let anatomy = Anatomy::read(document.ok()?, dialect);
        let tool = anatomy.tools.iter().find(|tool| !tool.deferred)?;
        Some(tool.name?.as_str()?.into_owned())
    })
}
