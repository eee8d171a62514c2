//! Random sessions: with the default policy nothing is refused and no thinking lost, whatever happens to the gateway.

use super::gateway::Gateway;
use deadweight_levers::{Lever, Policy, Profile, ToolRule};
use deadweight_testkit::sessions::{BINDING, CALM, Client, Dice, Kind, Sizes, content};
use deadweight_testkit::strict::{Judge, Request, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is done to the gateway in mid-session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Calm,
    Restarts,
    LosesJournal,
    Switches,
    LocksJournal,
}

/// What became of a session.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) nanos: u64,
    pub(crate) dropped: usize,
    pub(crate) requests: usize,
    pub(crate) decided: BTreeMap<Lever, u32>,
    pub(crate) edited: usize,
}

pub(crate) fn policy() -> Policy {
    let tools = ToolRule { deny: vec!["mcp__git__*".into()], allow: Vec::new() };
    let mut policy = Policy { tools, ..Policy::default() };
    // Sessions of tests are short.
    (policy.thresholds.history, policy.thresholds.view) = (12_000, 6_000);
    policy
}

pub(crate) fn faithful() -> Policy {
    Policy { profile: Profile::Faithful, ..Policy::default() }
}

pub(crate) fn run(seed: u64, kind: Kind, turns: usize, policy: Policy, fate: Fate) -> Run {
    let mut judge = Judge::default();
    let mut client = Client::new(seed, kind);
    let lean = policy.profile == Profile::Lean;
    let mut gateway = Gateway::new(policy);
    // What happens does not hang on what the gateway does.
    let mut chance = Dice::new(seed * 31 + 7);
    let mut fates = Dice::new(seed * 17 + 3);
    let mut at = Duration::ZERO;
    let mut run = Run::default();
    for turn in 0..turns {
        client.choose_model();
        if chance.one_in(15) {
            client.begin_other();
        }
        let other = (!client.others.is_empty() && chance.one_in(4))
            .then(|| chance.below(client.others.len() as u64) as usize);
        if chance.one_in(14) {
            let own = match other {
                Some(other) => &mut client.others[other],
                None => &mut client.main,
            };
            if own.branch() {
                gateway.forget_sent();
            }
        } else if chance.one_in(25) || client.main.bytes() > 400_000 {
            client.main.compact();
        }
        match (fate, fates.one_in(6)) {
            (Fate::Restarts, true) => gateway.restart(),
            (Fate::LosesJournal, true) => gateway.lose_journal(),
            (Fate::LocksJournal, _) => gateway.writable = !fates.one_in(3),
            (Fate::Switches, true) => {
                let lever = Lever::ALL[fates.below(Lever::ALL.len() as u64) as usize];
                let on = fates.one_in(2);
                gateway.policy.switches.insert(lever, on);
            }
            _ => {}
        }
        let retries = if chance.one_in(10) { 2 } else { 1 };
        let mut body = client.body(other);
        if lean {
            // A client that keeps no tools out of the prompt itself.
            body = String::from_utf8(body).unwrap().replace(",\"defer_loading\":true", "").into_bytes();
        }
        let mut accepted = None;
        for _ in 0..retries {
            let (sent, outcome) = gateway.send(&body, at.as_millis() as u64);
            for action in &outcome.actions {
                assert!(
                    action.stood_down.is_none_or(|reason| action.lever.reasons().any(|own| own == reason)),
                    "{action:?}"
                );
                *run.decided.entry(action.lever).or_default() += action.decided;
            }
            run.edited += usize::from(sent != body);
            let betas = outcome.betas.iter().map(|beta| ("anthropic-beta".to_owned(), (*beta).to_owned()));
            let headers: Vec<_> = betas.collect();
            let request = Request { path: "/v1/messages", headers: &headers, body: &sent, at };
            let verdict = judge.judge(request);
            match verdict {
                Verdict::Accepted(own) => {
                    run.dropped += own.dropped().count();
                    accepted = Some(own);
                }
                Verdict::Refused(refusal) => {
                    panic!("seed {seed}, {fate:?}, turn {turn}: {} {}", refusal.rule, refusal.message)
                }
            }
        }
        let Some(accepted) = accepted else { continue };
        judge.begin(&accepted.ticket, at + Duration::from_secs(1));
        let own = match other {
            Some(other) => &mut client.others[other],
            None => &mut client.main,
        };
        let (said, answers) = own.turn(&kind);
        let (said, bill) = judge.answer(&accepted.ticket, said);
        run.nanos += bill.nanos;
        run.requests += 1;
        own.keep(content(&said), answers);
        let gap = match chance.below(12) {
            0 if kind.idles => 1_500,
            1 if kind.idles => 400,
            _ => 20,
        };
        at += Duration::from_secs(gap);
    }
    run
}

/// Sessions of each kind under each fate.
const ROUNDS: u64 = 2;
const KEPT: &[Fate] = &[Fate::Calm, Fate::Restarts, Fate::Switches];
const HURT: &[Fate] = &[Fate::LosesJournal, Fate::LocksJournal, Fate::Calm];

/// Sessions of one kind under every fate. `fires`: levers that have to have decided something.
fn holds(first: u64, kind: Kind, fates: &[Fate], fires: &[Lever]) {
    let mut decided: BTreeMap<Lever, u32> = BTreeMap::new();
    let mut paid = [0_u64; 2];
    for (number, &fate) in fates.iter().enumerate() {
        // What an older model's conversation was edited to, a model that binds thinking holds it to.
        if kind.switches_model && fate == Fate::LosesJournal {
            continue;
        }
        for round in 0..ROUNDS {
            let seed = first + number as u64 * 10 + round;
            let own = run(seed, kind, 30, policy(), fate);
            let plain = run(seed, kind, 30, faithful(), Fate::Calm);
            assert_eq!(plain.edited, 0);
            assert_eq!(own.requests, plain.requests);
            assert_eq!(own.dropped, plain.dropped, "seed {seed}: thinking was dropped");
            // Where pruning comes and goes, conversations no longer share the tools that are cached.
            if matches!(fate, Fate::Calm | Fate::Restarts) {
                paid = [paid[0] + own.nanos, paid[1] + plain.nanos];
            }
            for (lever, count) in own.decided {
                *decided.entry(lever).or_default() += count;
            }
        }
    }
    // Nobody loses money by it.
    assert!(paid[0] <= paid[1], "{paid:?}");
    for lever in fires {
        assert!(decided.get(lever).is_some_and(|count| *count > 0), "{lever} did nothing: {decided:?}");
    }
}

/// Each kind twice, as one test each: a journal that is there, and one that is not.
macro_rules! sessions {
    ($($name:ident, $hurt:ident: $first:literal, $kind:expr, [$($lever:ident),*];)+) => {
        $(
            #[test]
            fn $name() {
                holds($first, $kind, KEPT, &[$(Lever::$lever),*]);
            }

            #[test]
            fn $hurt() {
                holds($first + 50, $kind, HURT, &[]);
            }
        )+
    };
}

sessions! {
    older_models, older_models_and_a_hurt_journal: 0, CALM, [PruneTools, Dedup];
    large_results, large_results_and_a_hurt_journal: 100,
        Kind { sizes: Sizes::Large, idles: true, shuffles: true, ..CALM }, [SteadyPrefix, Dedup, ElideResults, CompactHistory];
    no_markers, no_markers_and_a_hurt_journal: 200,
        Kind { marks: false, idles: true, ..CALM }, [PlaceBreakpoints, ElideResults];
    bound_thinking, bound_thinking_and_a_hurt_journal: 300,
        Kind { model: BINDING, idles: true, ..CALM }, [PruneTools];
    bound_thinking_no_markers, bound_thinking_no_markers_and_a_hurt_journal: 400,
        Kind { model: BINDING, sizes: Sizes::Large, marks: false, ..CALM }, [PruneTools, PlaceBreakpoints];
    two_models, two_models_and_a_hurt_journal: 500,
        Kind { switches_model: true, idles: true, ..CALM }, [PruneTools, Dedup];
}

/// With everything that can be asked for: nothing is refused and no thinking lost either.
#[test]
fn lean_sessions() {
    let mut decided: BTreeMap<Lever, u32> = BTreeMap::new();
    let heavy = Kind { heavy: true, idles: true, ..CALM };
    for (number, kind) in
        [heavy, Kind { model: BINDING, ..heavy }, Kind { marks: false, shuffles: true, ..heavy }]
            .into_iter()
            .enumerate()
    {
        for (round, &fate) in KEPT.iter().enumerate() {
            let seed = 600 + (number * 10 + round) as u64;
            let mut lean = Policy { profile: Profile::Lean, ..policy() };
            // Both with the provider's editing and with what it keeps from being done.
            lean.switches.insert(Lever::ServerEdit, round != 1);
            lean.thresholds.clear_from = 20_000;
            let own = run(seed, kind, 30, lean, fate);
            let mut plain = faithful();
            plain.profile = Profile::Lean;
            plain.switches.extend(Lever::ALL.map(|lever| (lever, false)));
            assert_eq!(own.dropped, run(seed, kind, 30, plain, Fate::Calm).dropped, "seed {seed}");
            for (lever, count) in own.decided {
                *decided.entry(lever).or_default() += count;
            }
        }
    }
    for lever in [Lever::DeferTools, Lever::ServerEdit, Lever::PruneTools, Lever::CompactHistory] {
        assert!(decided.get(&lever).is_some_and(|count| *count > 0), "{lever} did nothing: {decided:?}");
    }
}
