//! Random sessions: with the default profile nothing is refused and no thinking lost, whatever happens to the gateways.

use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile, ToolRule};
use deadweight_testkit::sessions::{BINDING, CALM, Client, Dice, Kind, Sizes, content};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is done to the gateways in mid-session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Calm,
    Restarts,
    Crashes,
    LosesJournal,
    Switches,
    Two,
}

#[derive(Debug, Default)]
struct Run {
    nanos: u64,
    dropped: usize,
    edited: usize,
    decided: BTreeMap<Lever, u32>,
}

fn policy() -> Policy {
    Policy { tools: ToolRule { deny: vec!["mcp__git__*".into()], allow: Vec::new() }, ..Policy::default() }
}

fn run(seed: u64, kind: Kind, turns: usize, policy: Policy, fate: Fate) -> Run {
    let gateways = if fate == Fate::Two { 2 } else { 1 };
    let mut machine = Machine::new(Settings::of(policy), gateways);
    let mut client = Client::new(seed, kind);
    let (mut chance, mut fates) = (Dice::new(seed * 31 + 7), Dice::new(seed * 17 + 3));
    let mut run = Run::default();
    for turn in 0..turns {
        client.choose_model();
        if chance.one_in(15) {
            client.begin_other();
        }
        let other = (!client.others.is_empty() && chance.one_in(4))
            .then(|| chance.below(client.others.len() as u64) as usize);
        if chance.one_in(14) {
            match other {
                Some(other) => client.others[other].branch(),
                None => client.main.branch(),
            };
        } else if chance.one_in(25) || client.main.bytes() > 400_000 {
            client.main.compact();
        }
        match (fate, fates.one_in(6)) {
            (Fate::Restarts, true) => machine.restart(),
            (Fate::Crashes, true) => machine.crash(),
            (Fate::LosesJournal, true) => machine.lose_journal(),
            (Fate::Switches, true) => {
                let lever = Lever::ALL[fates.below(Lever::ALL.len() as u64) as usize];
                let mut settings = machine.settings.clone();
                settings.policy.switches.insert(lever, fates.one_in(2));
                machine.set(settings);
            }
            _ => {}
        }
        let at = fates.below(gateways as u64) as usize;
        let retries = if chance.one_in(10) { 2 } else { 1 };
        let body = client.body(other);
        let own = match other {
            Some(other) => &mut client.others[other],
            None => &mut client.main,
        };
        let (said, answers) = own.turn(&kind);
        let mut signed = None;
        for retry in 0..retries {
            machine.say(said.clone());
            let exchange = machine.turn((at + retry) % gateways, "session", &body);
            let Some(accepted) = exchange.verdict.accepted() else {
                let refusal = exchange.verdict.refusal().unwrap();
                panic!("seed {seed}, {fate:?}, turn {turn}: {} {}", refusal.rule, refusal.message);
            };
            run.dropped += accepted.dropped().count();
            run.edited += usize::from(exchange.request.body != body);
            run.nanos += exchange.bill.unwrap().nanos;
            signed = exchange.turn;
            let counted =
                machine.post(at, "/v1/messages/count_tokens", &[("x-session-id", "session")], &body);
            machine.provider.take_exchanges();
            assert_eq!(counted.status, 200, "{}", String::from_utf8_lossy(&counted.body));
        }
        own.keep(content(&signed.unwrap()), answers);
        let gap = match chance.below(12) {
            0 if kind.idles => 8_000,
            1 if kind.idles => 400,
            _ => 20,
        };
        machine.advance(Duration::from_secs(gap));
    }
    machine.stop();
    for record in machine.records.lock().unwrap().iter() {
        for action in &record.levers {
            let lever = Lever::of_name(&action.lever).unwrap();
            *run.decided.entry(lever).or_default() += u32::from(action.edited);
        }
    }
    assert!(machine.noted("edit_refused").is_empty(), "{:?}", machine.notes.lock().unwrap());
    run
}

const TURNS: usize = 30;

fn holds(seed: u64, kind: Kind, fates: &[Fate], fires: &[Lever]) {
    let plain =
        run(seed, kind, TURNS, Policy { profile: Profile::Faithful, ..Policy::default() }, Fate::Calm);
    assert_eq!(plain.edited, 0);
    let mut fired: BTreeMap<Lever, u32> = BTreeMap::new();
    for &fate in fates {
        let own = run(seed, kind, TURNS, policy(), fate);
        assert_eq!(own.dropped, plain.dropped, "seed {seed}, {fate:?}: thinking was dropped");
        if fate == Fate::Calm {
            assert!(own.nanos <= plain.nanos, "seed {seed}: {} {}", own.nanos, plain.nanos);
        }
        for (lever, count) in own.decided {
            *fired.entry(lever).or_default() += count;
        }
    }
    for lever in fires {
        assert!(fired.get(lever).is_some_and(|count| *count > 0), "{lever}: {fired:?}");
    }
}

const KEPT: &[Fate] = &[Fate::Calm, Fate::Restarts, Fate::Switches, Fate::Two];
const HURT: &[Fate] = &[Fate::Crashes, Fate::LosesJournal];

#[test]
fn older_models() {
    holds(1, CALM, KEPT, &[Lever::PruneTools, Lever::Dedup]);
}

#[test]
fn older_models_and_a_hurt_journal() {
    holds(2, CALM, HURT, &[]);
}

#[test]
fn large_results() {
    let kind = Kind { sizes: Sizes::Large, idles: true, shuffles: true, ..CALM };
    holds(102, kind, KEPT, &[Lever::Dedup, Lever::ElideResults]);
}

#[test]
fn large_results_and_a_hurt_journal() {
    holds(101, Kind { sizes: Sizes::Large, idles: true, shuffles: true, ..CALM }, HURT, &[]);
}

#[test]
fn bound_thinking() {
    holds(300, Kind { model: BINDING, idles: true, ..CALM }, KEPT, &[Lever::PruneTools]);
}

#[test]
fn bound_thinking_and_a_hurt_journal() {
    let kind = Kind { model: BINDING, sizes: Sizes::Large, marks: false, ..CALM };
    holds(301, kind, HURT, &[]);
}

#[test]
fn two_models() {
    holds(500, Kind { switches_model: true, idles: true, ..CALM }, &KEPT[..3], &[Lever::PruneTools]);
}

/// With the provider's own editing asked for nothing is refused either, whatever happens to the gateways.
#[test]
fn what_the_provider_is_asked_to_do() {
    for (seed, kind) in [(700, Kind { sizes: Sizes::Large, idles: true, ..CALM }), (701, CALM)] {
        for &fate in KEPT.iter().chain(HURT) {
            let own = run(seed, kind, TURNS / 2, Policy { profile: Profile::Lean, ..policy() }, fate);
            let asked = own.decided.get(&Lever::ServerEdit).copied().unwrap_or_default();
            assert!(asked > 0, "seed {seed}, {fate:?}: {:?}", own.decided);
        }
    }
}
