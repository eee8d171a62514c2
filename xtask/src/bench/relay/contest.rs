//! Proxies side by side: time and processor per call, memory.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use deadweight_testkit::processes;
use deadweight_testkit::scripted_mcp::{Act, Script};
use serde_json::{Value, json};

use super::super::measure::median;
use super::super::verdict;
use super::wire::Wire;
use super::{Bars, Programs};
use crate::{Context, Result, print};

/// Rounds in which everybody has its turn.
const ROUNDS: usize = 5;
const WARM: usize = 200;
const CALLS: usize = 1000;
const FLYING: usize = 200;
/// How many calls memory must stand.
const LONG: usize = 100_000;

/// Bars: milliseconds that a call may take longer at the middle and at the 99th percentile, and how many times as long as
/// through the byte relay.
const P50: f64 = 0.3;
const P99: f64 = 2.0;
const RATIO: f64 = 1.5;
/// Growth of memory over the long run that is none, in bytes.
const GROWTH: u64 = 2 << 20;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    ByteRelay,
    Eager,
    Stubs,
    FastMcp,
    Compressor,
}

const ALL: [(Who, &str); 6] = [
    (Who::Nobody, "nobody between"),
    (Who::ByteRelay, "a byte relay"),
    (Who::Eager, "deadweight mcp, eager"),
    (Who::Stubs, "deadweight mcp, stubs"),
    (Who::FastMcp, "FastMCP's proxy"),
    (Who::Compressor, "mcp-compressor"),
];

/// What one of them needs.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    p50: f64,
    p99: f64,
    /// Processor time of the proxy's own process in a call, in microseconds.
    cpu: f64,
    /// The most memory it had, in bytes.
    memory: u64,
    /// The time of a call when two hundred are under way, in milliseconds.
    flying: f64,
}

/// An echo server with enough tools to be deferred.
fn script() -> Script {
    let mut script = Script::named("bench-echo").tool("echo");
    for number in 0..12 {
        let words =
            format!("Does thing {number}, and says so in as many words as a real tool does, more or less. ")
                .repeat(4);
        let property = json!({ "type": "string", "description": words });
        let schema = json!({ "type": "object", "properties": { "first": property, "second": property } });
        let tool = json!({ "name": format!("thing_{number}"), "description": words, "inputSchema": schema });
        script = script.raw_tool(tool.to_string());
    }
    // Whatever is asked for, it is a server of the legacy era.
    script.protocol_version = Some("2025-11-25".to_owned());
    // One of the proxies asks for these whether they are offered or not, and ends when they are refused.
    for (method, member) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"{member}":[]}}}}"#);
        script = script.on(method, [Act::Answer(answer)]);
    }
    // So that a deferred call of it runs at once.
    let echo = r#"{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},"annotations":{"readOnlyHint":true}}"#;
    if let Some(first) = script.pages.first_mut().and_then(|page| page.raw.first_mut()) {
        *first = echo.to_owned();
    }
    script
}

/// The command of one of them, in front of `server`.
fn command(who: Who, programs: &Programs, server: &[String]) -> Result<Command> {
    let mut command = match who {
        Who::Nobody => Command::new(&programs.server),
        Who::ByteRelay => Command::new(&programs.byte_relay),
        Who::Eager | Who::Stubs => {
            let mut command = Command::new(&programs.deadweight);
            command.args(["mcp", "--surface", if who == Who::Eager { "eager" } else { "stubs" }, "--"]);
            command
        }
        Who::FastMcp => {
            let file = programs.scratch.join("fastmcp.json");
            let settings =
                json!({ "mcpServers": { "echo": { "command": server.first(), "args": server.get(1..) } } });
            std::fs::write(&file, settings.to_string())?;
            let mut command = Command::new(programs.others.join("bin/fastmcp"));
            command.arg("run").arg(file).args(["--no-banner", "--log-level", "ERROR"]);
            command.env("FASTMCP_CHECK_FOR_UPDATES", "off");
            command
        }
        Who::Compressor => {
            let mut command = Command::new(programs.others.join("bin/mcp-compressor"));
            command.arg("--");
            command
        }
    };
    match who {
        Who::Nobody => command.args(server.get(1..).unwrap_or_default()),
        Who::FastMcp => &mut command,
        _ => command.args(server),
    };
    command.env("HOME", &programs.scratch).current_dir(&programs.scratch);
    Ok(command)
}

/// A call of the tool `echo` through it, by the name under which it offers that.
fn call(who: Who, tool: &str, text: &str) -> Value {
    let arguments = json!({ "text": text });
    match who {
        Who::Compressor => {
            json!({ "name": tool, "arguments": { "tool_name": "echo", "tool_input": arguments } })
        }
        _ => json!({ "name": tool, "arguments": arguments }),
    }
}

/// The name under which it offers the tool, or what calls it.
fn tool(who: Who, wire: &mut Wire) -> Result<String> {
    if who != Who::Compressor {
        return Ok("echo".to_owned());
    }
    let list: Value = serde_json::from_str(&wire.request("tools/list", &json!({}))?)?;
    let mut names =
        list["result"]["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    Ok(names.find(|name| name.ends_with("invoke_tool")).unwrap_or("invoke_tool").to_owned())
}

/// The process whose cost counts: the proxy's own, which is not the server's.
fn own_cost(id: u32, server: &Path) -> Vec<u32> {
    let server = server.display().to_string();
    let is_server = |id: &u32| {
        std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.display().to_string() == server)
    };
    std::iter::once(id).chain(processes::below(id)).filter(|id| !is_server(id)).collect()
}

fn measure(who: Who, programs: &Programs, server: &[String]) -> Result<Cost> {
    let mut wire = Wire::start(&mut command(who, programs, server)?, "bench")?;
    let tool = tool(who, &mut wire)?;
    for number in 0..WARM {
        wire.time("tools/call", &call(who, &tool, &number.to_string()), "echo")?;
    }
    let own = own_cost(wire.id(), &programs.server);
    let ticks = || own.iter().map(|id| processes::ticks(*id)).sum::<u64>();
    let before = ticks();
    let mut times = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let text = format!("number {number}");
        times.push(wire.time("tools/call", &call(who, &tool, &text), &text)?);
    }
    let cpu = (ticks() - before) as f64 * 10_000.0 / CALLS as f64;
    let begun = Instant::now();
    for number in 0..FLYING {
        wire.ask("tools/call", &call(who, &tool, &number.to_string()))?;
    }
    for _ in 0..FLYING {
        wire.answer()?;
    }
    let flying = begun.elapsed().as_secs_f64() * 1e3 / FLYING as f64;
    let memory = own.iter().map(|id| processes::most_resident(*id)).sum();
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    Ok(Cost { p50: at(50), p99: at(99), cpu, memory, flying })
}

/// Everybody, in turns.
pub(super) fn run(programs: &Programs) -> Result<bool> {
    let server = [programs.server.display().to_string(), script().to_json()];
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); ALL.len()];
    for _ in 0..ROUNDS {
        for ((who, name), costs) in ALL.iter().zip(&mut costs) {
            costs.push(measure(*who, programs, &server).context(name)?);
        }
    }
    let middle = |costs: &[Cost], of: fn(&Cost) -> f64| {
        let nanos = costs.iter().map(|cost| Duration::from_nanos((of(cost) * 1e6) as u64)).collect();
        median(nanos).as_nanos() as f64 / 1e6
    };
    let costs: Vec<Cost> = costs
        .iter()
        .map(|costs| Cost {
            p50: middle(costs, |cost| cost.p50),
            p99: middle(costs, |cost| cost.p99),
            cpu: middle(costs, |cost| cost.cpu),
            memory: costs.iter().map(|cost| cost.memory).max().unwrap_or_default(),
            flying: middle(costs, |cost| cost.flying),
        })
        .collect();
    let base = costs.first().copied().unwrap_or_default();
    print(format_args!(
        "a call of an echo server on standard streams; medians of {ROUNDS} rounds of {CALLS} calls, one at a time"
    ));
    print(
        "                          added p50   added p99   CPU of a call   memory   of 200 under way, each",
    );
    for ((who, name), cost) in ALL.iter().zip(&costs) {
        let (added, last) = (cost.p50 - base.p50, cost.p99 - base.p99);
        let own = if *who == Who::Nobody { "(takes)" } else { "" };
        let (p50, p99) = if *who == Who::Nobody { (cost.p50, cost.p99) } else { (added, last) };
        print(format_args!(
            "  {name:<22} {p50:>8.3} ms {p99:>8.3} ms {:>12.0} us {:>5.1} MB {:>10.3} ms {own}",
            cost.cpu,
            cost.memory as f64 / 1e6,
            cost.flying
        ));
    }
    Ok(bars(&costs, &base))
}

fn bars(costs: &[Cost], base: &Cost) -> bool {
    let of = |who: Who| {
        let index = ALL.iter().position(|(own, _)| *own == who).unwrap_or_default();
        costs.get(index).copied().unwrap_or_default()
    };
    let relay = of(Who::ByteRelay).p50 - base.p50;
    let mut bars = Bars::new();
    for (who, name) in [(Who::Eager, "eager"), (Who::Stubs, "stubs")] {
        let own = of(who);
        let added = own.p50 - base.p50;
        bars.hold(format_args!("{name}: at the middle at most {P50} ms"), added <= P50);
        bars.hold(format_args!("{name}: at the 99th percentile at most {P99} ms"), own.p99 - base.p99 <= P99);
        let ratio = added / relay;
        bars.hold(format_args!("{name}: {ratio:.2} times the byte relay, at most {RATIO}"), ratio <= RATIO);
        for (other, other_name) in [(Who::FastMcp, "FastMCP"), (Who::Compressor, "mcp-compressor")] {
            let other = of(other);
            let ahead = added < other.p50 - base.p50 && own.cpu <= other.cpu && own.memory < other.memory;
            bars.hold(format_args!("{name}: ahead of {other_name} in time, processor and memory"), ahead);
        }
    }
    bars.held
}

/// A hundred thousand calls on one connection, after as many in which queues, caches and the allocator find their size.
pub(super) fn long(programs: &Programs) -> Result<bool> {
    let server = [programs.server.display().to_string(), script().to_json()];
    let mut wire = Wire::start(&mut command(Who::Stubs, programs, &server)?, "bench")?;
    let mut sizes = Vec::new();
    for number in 0..=2 * LONG {
        wire.time("tools/call", &call(Who::Stubs, "echo", "again"), "again")?;
        if number >= LONG && number % (LONG / 10) == 0 {
            sizes.push(processes::resident(wire.id()));
        }
    }
    let (first, last) =
        (sizes.first().copied().unwrap_or_default(), sizes.last().copied().unwrap_or_default());
    let grown = last.saturating_sub(first);
    print(format_args!(
        "{LONG} calls on one connection, after as many: {:.1} MB before, {:.1} MB after; grown {:.2} MB; {}",
        first as f64 / 1e6,
        last as f64 / 1e6,
        grown as f64 / 1e6,
        verdict(grown <= GROWTH)
    ));
    Ok(grown <= GROWTH)
}
