//! The gateway under a paced load: what it adds to a request, to the first token and between events, what it costs, and
//! whether bodies arrive as they were sent; beside nobody, a bare relay and others. Then what it holds: idle, with five
//! hundred streams open, over a hundred thousand requests.
//!
//! Everything is measured in one run on one machine, in turns, and told as medians and ratios. Whoever could not be started
//! was not measured, and what was to be shown by that was not shown: it counts as a bar that is missed.

mod hold;
mod load;
mod peers;
mod upstream;

use load::{LOADS, Load, Told};
use peers::{ALL, Peer, Programs, Who, start};
use upstream::Upstream;

use super::measure::median;
use super::{release, verdict};
use crate::shell::{self, cargo};
use crate::{Failure, Result, place, print};

use std::fs;
use std::time::Duration;

/// Rounds in which everybody has its turn.
const ROUNDS: usize = 5;

/// Bars: milliseconds added at the middle for small and for large bodies, and to a first token; how many times what the
/// bare relay adds.
const SMALL: f64 = 0.25;
const LARGE: f64 = 2.0;
const FIRST: f64 = 0.5;
const RATIO: f64 = 1.5;

/// What one of them needed in one round of one load.
#[derive(Debug, Clone, Default)]
struct Cost {
    p50: Duration,
    p99: Duration,
    first: Duration,
    later: Duration,
    /// Processor time of a request, in milliseconds.
    cpu: f64,
    memory: u64,
    unchanged: bool,
    failed: usize,
    /// The rate that it was given, in requests a second.
    rate: f64,
}

pub(super) fn run(parts: &[String]) -> Result<bool> {
    const HELD: &str = "hold";
    let known = |part: &&String| *part == HELD || LOADS.iter().any(|load| load.name == **part);
    if let Some(unknown) = parts.iter().find(|part| !known(part)) {
        let names: Vec<&str> = LOADS.iter().map(|load| load.name).chain([HELD]).collect();
        return Err(Failure::new(format!("no part `{unknown}`; there are: {}", names.join(", "))));
    }
    let wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| part == name);
    let deadweight = release()?;
    let build = ["build", "--release", "--locked", "--quiet", "--package", "deadweight-testkit"];
    let relay = ["--features", "bare-hyper-relay", "--bin", "bare-hyper-relay"];
    shell::run(cargo().args(build).args(relay))?;
    let scratch = std::env::temp_dir().join(format!("deadweight-bench-gateway-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let programs = Programs {
        deadweight,
        bare: place::target().join("release/bare-hyper-relay"),
        scratch: scratch.clone(),
    };
    let mut held = true;
    for load in LOADS.into_iter().filter(|load| wanted(load.name)) {
        held &= contest(&programs, &load)?;
    }
    if wanted(HELD) {
        held &= hold::run(&programs)?;
    }
    fs::remove_dir_all(&scratch)?;
    Ok(held)
}

/// One load through everybody, in turns.
fn contest(programs: &Programs, load: &Load) -> Result<bool> {
    print(format_args!(
        "{} bodies, {} a second, {} requests; medians of {ROUNDS} rounds",
        load.name, load.rate, load.requests
    ));
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); ALL.len()];
    let mut absent: Vec<Option<String>> = vec![None; ALL.len()];
    let mut doors: Vec<Option<(Upstream, Peer)>> = Vec::new();
    for ((who, _), absent) in ALL.iter().zip(&mut absent) {
        let upstream = Upstream::start()?;
        doors.push(match start(*who, programs, upstream.address) {
            Ok(peer) => Some((upstream, peer)),
            Err(error) if who.is_other() => {
                *absent = Some(error.to_string());
                None
            }
            Err(error) => return Err(error),
        });
    }
    for _ in 0..ROUNDS {
        for ((((who, _), costs), absent), door) in ALL.iter().zip(&mut costs).zip(&mut absent).zip(&mut doors)
        {
            let Some((upstream, peer)) = door else { continue };
            match measure(*who, peer, upstream, load) {
                Ok(cost) => costs.push(cost),
                Err(error) if who.is_other() => {
                    // What it did before it broke down says nothing.
                    costs.clear();
                    *absent = Some(error.to_string());
                    *door = None;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(table(load, &costs, &absent))
}

fn measure(who: Who, peer: &Peer, upstream: &Upstream, load: &Load) -> Result<Cost> {
    // Warm, and, for the others, how much of this they can take.
    let warm = Load { requests: (load.requests / 5).max(10), ..*load };
    let warm = Load { rate: if who.is_other() { 10_000.0 } else { load.rate }, ..warm };
    let begun = std::time::Instant::now();
    let _ = load::send(&peer.door, &warm, upstream)?;
    let took = begun.elapsed().as_secs_f64();
    let rate = if who.is_other() { load.rate.min(warm.requests as f64 / took * 0.6) } else { load.rate };
    // As long as the others take for it, but no longer than a few times ours.
    let requests = ((load.requests as f64 * (rate / load.rate).min(1.0)) as usize).max(load.requests / 5);
    let before = peer.ticks();
    let told = load::send(&peer.door, &Load { rate, requests, ..*load }, upstream)?;
    // What is measured after the answer counts too.
    std::thread::sleep(Duration::from_millis(400));
    let cpu = (peer.ticks() - before) as f64 * 10.0 / requests as f64;
    Ok(Cost {
        p50: Told::at(&told.times, 50),
        p99: Told::at(&told.times, 99),
        first: Told::at(&told.first, 50),
        later: Told::at(&told.later, 50),
        cpu,
        memory: peer.most_resident(),
        unchanged: told.unchanged,
        failed: told.failed,
        rate,
    })
}

/// The medians of one of them.
#[derive(Debug, Clone, Copy)]
struct Middle {
    p50: f64,
    p99: f64,
    first: f64,
    later: f64,
    cpu: f64,
    memory: f64,
    unchanged: bool,
    rate: f64,
    failed: usize,
}

fn middle(costs: &[Cost]) -> Middle {
    let time = |of: fn(&Cost) -> Duration| super::millis(median(costs.iter().map(of).collect()));
    let number = |of: fn(&Cost) -> f64| {
        let mut all: Vec<f64> = costs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Middle {
        p50: time(|cost| cost.p50),
        p99: time(|cost| cost.p99),
        first: time(|cost| cost.first),
        later: time(|cost| cost.later),
        cpu: number(|cost| cost.cpu),
        memory: number(|cost| cost.memory as f64),
        unchanged: costs.iter().all(|cost| cost.unchanged),
        rate: number(|cost| cost.rate),
        failed: costs.iter().map(|cost| cost.failed).sum(),
    }
}

fn table(load: &Load, costs: &[Vec<Cost>], absent: &[Option<String>]) -> bool {
    let all: Vec<Option<Middle>> =
        costs.iter().map(|costs| (!costs.is_empty()).then(|| middle(costs))).collect();
    let of = |who: Who| ALL.iter().zip(&all).find(|((own, _), _)| *own == who).and_then(|(_, one)| *one);
    let Some(nobody) = of(Who::Nobody) else { return false };
    print(
        "                        rate   added p50   added p99  first token      events   CPU a request   memory  bodies",
    );
    for (((who, name), one), absent) in ALL.iter().zip(&all).zip(absent) {
        let Some(one) = one else {
            print(format_args!("  {name:<20} not measured: {}", absent.as_deref().unwrap_or_default()));
            continue;
        };
        let added = |value: f64, base: f64| if *who == Who::Nobody { value } else { value - base };
        print(format_args!(
            "  {name:<20} {:>5.0}/s {:>8.3} ms {:>8.3} ms {:>9.3} ms {:>8.3} ms {:>12.3} ms {:>5.0} MB  {}{}",
            one.rate,
            added(one.p50, nobody.p50),
            added(one.p99, nobody.p99),
            added(one.first, nobody.first),
            added(one.later, nobody.later),
            one.cpu,
            one.memory / 1e6,
            if one.unchanged { "as sent" } else { "changed" },
            if one.failed > 0 { format!(", {} failed", one.failed) } else { String::new() },
        ));
    }
    let (Some(bare), Some(own)) = (of(Who::Bare), of(Who::Deadweight)) else { return false };
    let mut held = true;
    let mut hold = |words: String, holds: bool| {
        print(format_args!("  {words}: {}", verdict(holds)));
        held &= holds;
    };
    hold("bodies arrive as they were sent".to_owned(), own.unchanged && own.failed == 0);
    let added = own.p50 - nobody.p50;
    if load.streamed {
        let first = own.first - nobody.first;
        hold(format!("the first token comes {first:.3} ms later, at most {FIRST}"), first <= FIRST);
    } else {
        let most = if load.bytes <= 1 << 10 { SMALL } else { LARGE };
        hold(format!("a request takes {added:.3} ms longer at the middle, at most {most}"), added <= most);
        let ratio = added / (bare.p50 - nobody.p50).max(0.001);
        hold(format!("{ratio:.2} times what the bare relay adds, at most {RATIO}"), ratio <= RATIO);
    }
    for (who, name) in ALL.iter().filter(|(who, _)| who.is_other()) {
        let other = of(*who);
        let ahead = other
            .is_some_and(|other| own.p50 <= other.p50 && own.cpu <= other.cpu && own.memory <= other.memory);
        let name = if other.is_some() { (*name).to_owned() } else { format!("{name} (not measured)") };
        hold(format!("ahead of {name} in time, processor and memory"), ahead);
    }
    print("");
    held
}
