//! How fast the pass over a request is: full validation with UTF-8, the span of every value, the decoded
//! length of every string; against `serde_json` on the same bytes in the same run.
//!
//! `cargo bench -p deadweight-wire --bench footprint_pass` prints the table; with `-- --check` it fails when
//! a bar is missed. Ratios only: the times are those of the machine. Each round measures every contender
//! once, so that what else the machine does meets them alike; the figures are medians over the rounds.

mod bodies;

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

/// Median nanoseconds for one pass over a body.
struct Medians {
    pass: f64,
    portable: f64,
    ignored_any: f64,
    value: f64,
    memcpy: f64,
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        // A test runner asks what tests there are: none.
        return Ok(ExitCode::SUCCESS);
    }
    let check = arguments.iter().any(|argument| argument == "--check");
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
    writeln!(
        out,
        "{:16} {:>9} {:>8} {:>8} {:>10} {:>9} | times as fast as IgnoredAny   Value  memcpy",
        "body", "bytes", "escapes", "MB/s", "IgnoredAny", "portable"
    )?;
    let mut held = true;
    for case in &cases {
        let medians = measure(&case.body)?;
        let size = case.body.len() as f64;
        let escapes = case.body.iter().filter(|&&byte| byte == b'\\').count() as f64 / size;
        let against = |other: f64| other / medians.pass;
        write!(
            out,
            "{:16} {:>9} {:>6.2} % {:>8.0} {:>10.0} {:>9.0} | {:>27.2} {:>7.1} {:>7.2}",
            case.name,
            case.body.len(),
            100.0 * escapes,
            1e3 * size / medians.pass,
            1e3 * size / medians.ignored_any,
            1e3 * size / medians.portable,
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
    let rounds = if body.len() > 10_000_000 { 11 } else { 101 };
    let (mut fast, mut portable) = (Parser::new(), Parser::portable());
    let mut copy = vec![0; body.len()];
    let mut times: [Vec<f64>; 5] = Default::default();
    let nodes = |parser: &mut Parser| {
        parser.scope(black_box(body), |doc| doc.map(|doc| black_box(doc.root().span().len())))
    };
    // Once unmeasured: buffers grow, pages are touched.
    for round in 0..=rounds {
        let started = Instant::now();
        nodes(&mut fast)?;
        let pass = started.elapsed();
        let started = Instant::now();
        nodes(&mut portable)?;
        let by_portable = started.elapsed();
        let started = Instant::now();
        black_box(serde_json::from_slice::<IgnoredAny>(black_box(body))?);
        let ignored_any = started.elapsed();
        let started = Instant::now();
        drop(black_box(serde_json::from_slice::<serde_json::Value>(black_box(body))?));
        let value = started.elapsed();
        let started = Instant::now();
        copy.copy_from_slice(black_box(body));
        black_box(&copy);
        let memcpy = started.elapsed();
        if round > 0 {
            for (times, time) in times.iter_mut().zip([pass, by_portable, ignored_any, value, memcpy]) {
                times.push(time.as_nanos() as f64);
            }
        }
    }
    let [pass, portable, ignored_any, value, memcpy] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    Ok(Medians { pass, portable, ignored_any, value, memcpy })
}
