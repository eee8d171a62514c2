//! How fast the pass over a request is: full validation with UTF-8, the span of every value, the decoded
//! length of every string, and the anatomy read from them; against `serde_json` on the same bytes in the same
//! run.
//!
//! `cargo bench -p deadweight-wire --bench footprint_pass` prints the table; with `-- --check` it fails when
//! a bar is missed; a word picks the bodies that have it in their name. Ratios only: the times are those of
//! the machine. Each round measures every contender once, in an order drawn anew, so that what else the machine
//! does meets them alike; the figures are medians over the rounds.

mod bodies;

use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use serde::de::IgnoredAny;
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

/// A body, and how many times as fast as `IgnoredAny` and as `Value` the pass must at least be.
struct Case {
    name: &'static str,
    body: Vec<u8>,
    bars: Option<(f64, f64)>,
}

/// What is measured.
const CONTENDERS: usize = 6;

/// Median nanoseconds for one time over a body.
struct Medians {
    /// Parsing and anatomy.
    pass: f64,
    /// Parsing alone.
    tape: f64,
    /// Parsing alone, with the scanner for every machine.
    portable: f64,
    ignored_any: f64,
    value: f64,
    memcpy: f64,
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        // Run as a test, by `cargo test --all-targets` or a test runner that asks for a list: there is none.
        return Ok(ExitCode::SUCCESS);
    }
    let check = arguments.iter().any(|argument| argument == "--check");
    let only = arguments.iter().find(|argument| !argument.starts_with('-'));
    let schemas = bodies::schemas(1_000_000);
    let cases = [
        Case { name: "code 1 MB", body: bodies::code_request(1_000_000), bars: Some((2.0, 5.0)) },
        Case { name: "code 32 MB", body: bodies::code_request(32_000_000), bars: Some((2.0, 5.0)) },
        Case { name: "schemas 1 MB", bars: Some((0.9, 5.0)), body: schemas.clone() },
        Case { name: "schemas, spaced", body: bodies::spaced(&schemas), bars: None },
        Case { name: "beyond ASCII", body: bodies::beyond_ascii(1_000_000, false), bars: None },
        Case { name: "\\u escapes", body: bodies::beyond_ascii(1_000_000, true), bars: None },
    ];
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:37} MB/s {:34} | the pass, times as fast as", "", "")?;
    writeln!(
        out,
        "{:15} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10} {:>7} {:>7} | IgnoredAny  Value memcpy",
        "body", "bytes", "escapes", "pass", "tape", "portable", "IgnoredAny", "Value", "memcpy"
    )?;
    let mut held = true;
    for case in cases.iter().filter(|case| only.is_none_or(|only| case.name.contains(only.as_str()))) {
        let medians = measure(&case.body)?;
        let size = case.body.len() as f64;
        let escapes = case.body.iter().filter(|&&byte| byte == b'\\').count() as f64 / size;
        let speed = |time: f64| 1e3 * size / time;
        let against = |other: f64| other / medians.pass;
        write!(
            out,
            "{:15} {:>8} {:>6.2} % {:>8.0} {:>8.0} {:>8.0} {:>10.0} {:>7.0} {:>7.0} | {:>10.2} {:>6.1} {:>6.2}",
            case.name,
            case.body.len(),
            100.0 * escapes,
            speed(medians.pass),
            speed(medians.tape),
            speed(medians.portable),
            speed(medians.ignored_any),
            speed(medians.value),
            speed(medians.memcpy),
            against(medians.ignored_any),
            against(medians.value),
            against(medians.memcpy),
        )?;
        if let Some((ignored_any, value)) = case.bars {
            let holds = against(medians.ignored_any) >= ignored_any && against(medians.value) >= value;
            held &= holds;
            write!(out, "  {} {ignored_any} and {value}", if holds { "holds" } else { "MISSES" })?;
        }
        writeln!(out)?;
    }
    Ok(if held || !check { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(body: &[u8]) -> Result<Medians, Box<dyn std::error::Error>> {
    let rounds = if body.len() > 10_000_000 { 15 } else { 101 };
    let (mut parser, mut plain, mut portable) = (Parser::new(), Parser::new(), Parser::portable());
    let mut copy = vec![0; body.len()];
    let contenders: &mut [&mut dyn FnMut() -> Result<(), Box<dyn std::error::Error>>; CONTENDERS] = &mut [
        &mut || {
            parser.scope(black_box(body), |doc| {
                black_box(Anatomy::read(doc?, Dialect::AnthropicMessages));
                Ok(())
            })
        },
        &mut || tape(&mut plain, body),
        &mut || tape(&mut portable, body),
        &mut || {
            black_box(serde_json::from_slice::<IgnoredAny>(black_box(body))?);
            Ok(())
        },
        &mut || {
            black_box(serde_json::from_slice::<serde_json::Value>(black_box(body))?);
            Ok(())
        },
        &mut || {
            copy.copy_from_slice(black_box(body));
            black_box(&copy);
            Ok(())
        },
    ];
    let mut order: [usize; CONTENDERS] = std::array::from_fn(|index| index);
    let mut lcg = bodies::Lcg::new(1);
    let mut times: [Vec<f64>; CONTENDERS] = Default::default();
    // The first round is not counted: buffers grow, pages are touched.
    for round in 0..=rounds {
        // What runs before leaves caches and heap as it likes: each follows each.
        for last in (1..CONTENDERS).rev() {
            order.swap(last, lcg.below(last + 1));
        }
        for index in order {
            let started = Instant::now();
            contenders[index]()?;
            if round > 0 {
                times[index].push(started.elapsed().as_nanos() as f64);
            }
        }
    }
    let [pass, tape, portable, ignored_any, value, memcpy] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    Ok(Medians { pass, tape, portable, ignored_any, value, memcpy })
}

/// Parsing alone.
fn tape(parser: &mut Parser, body: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    parser.scope(black_box(body), |doc| {
        black_box(doc?.root().kind());
        Ok(())
    })
}
