//! The levers that are on for those who ask for them: each alone, in one short session that has what it waits for, and on
//! the layouts of agents.

use crate::gateway::Gate;
use crate::measure::{Session, each, grown, laid_after, lever};
use deadweight_levers::{Class, Lever, Policy, Profile};
use deadweight_scorecard::card;
use deadweight_testkit::sessions::{BINDING, CALM, Fate, Kind, Line, Plan, Sizes, Straight, play};
use std::io;
use std::time::Duration;

/// How a lever is tried.
struct Trial {
    plan: Plan,
    policy: Policy,
    /// How many other sessions of the agent come before.
    before: usize,
    /// How many refusals it may cause.
    permitted: u64,
}

/// The layouts that they are tried on: of agents whose requests have what they work on.
const LAYOUTS: [&str; 4] = ["claude_code", "opencode_anthropic", "codex_instructions", "codex_namespaces"];

/// How many sessions tell which tools are used.
const BEFORE: usize = 3;

fn trial(lever: Lever) -> Trial {
    let switches = [(lever, true)].into();
    let policy = Policy { profile: Profile::Faithful, switches, ..Policy::default() };
    let plain = Trial { plan: Plan::calm(5), policy, before: 0, permitted: 0 };
    match lever {
        Lever::DeferTools => {
            let kind = Kind { heavy: true, defers: false, ..CALM };
            Trial { plan: Plan { kind, steps: 12, ..plain.plan }, before: BEFORE, ..plain }
        }
        Lever::ServerEdit => {
            let kind = Kind { sizes: Sizes::Large, thinks: false, images: false, ..CALM };
            Trial { plan: Plan { kind, steps: 48, ..plain.plan }, ..plain }
        }
        Lever::RecoverBound => {
            let mut policy = Policy { edit_bound: true, ..plain.policy };
            policy.switches.insert(Lever::Dedup, true);
            let kind = Kind { model: BINDING, ..CALM };
            let plan =
                Plan { kind, steps: 30, fate: Fate::LosesJournal, persists: true, ..Plan::calm(RECOVERS) };
            Trial { plan, policy, permitted: 1, ..plain }
        }
        _ => plain,
    }
}

/// A session in which something was edited before the journal is lost, and thought about.
const RECOVERS: u64 = 19;

/// The lever's session, straight and through the gateway.
fn session(own: Lever, trial: &Trial) -> io::Result<Session> {
    let (straight, line) = (Line::start()?, Line::start()?);
    let nothing = Policy { profile: Profile::Faithful, ..Policy::default() };
    let mut gate = Gate::start(&line, nothing, false)?;
    for number in 0..trial.before {
        let plan = Plan { seed: trial.plan.seed + 1_000 + number as u64, steps: 4, ..trial.plan };
        play(&plan, &straight, &mut Straight::to(&straight))?;
        play(&plan, &line, &mut gate)?;
    }
    // Until nothing is cached any more.
    for line in [&straight, &line] {
        line.wait(Duration::from_secs(9_000));
    }
    gate.take_up(trial.policy.clone())?;
    let plain = play(&trial.plan, &straight, &mut Straight::to(&straight))?;
    let played = play(&trial.plan, &line, &mut gate)?;
    let receipts = gate.receipts()?;
    let alone = [(own, played.clone())].into();
    Ok(Session { plan: trial.plan, plain, ours: played, receipts, alone, foreign: Vec::new() })
}

/// What each of them does.
pub(crate) fn measured() -> io::Result<Vec<card::Lever>> {
    let levers: Vec<Lever> = Lever::ALL.into_iter().filter(|own| own.class() == Class::OptIn).collect();
    let sessions = each(&levers, |own| session(*own, &trial(*own)))?;
    let agents: Vec<_> = grown(3).into_iter().filter(|agent| LAYOUTS.contains(&agent.name)).collect();
    let mut cards = Vec::new();
    for (own, session) in levers.into_iter().zip(sessions) {
        for refused in &session.ours.refused {
            println!("{own}: step {}: {} {}", refused.step, refused.rule, refused.message);
        }
        // What the provider refuses is in no layout.
        let laid = match own {
            Lever::RecoverBound => Vec::new(),
            _ => each(&agents, |agent| {
                laid_after(agent, &[own], if own == Lever::DeferTools { BEFORE } else { 0 })
            })?,
        };
        let mut card = lever(own, &[session], &laid);
        card.errors = card.errors.saturating_sub(trial(own).permitted);
        cards.push(card);
    }
    Ok(cards)
}

/// By what they are measured.
pub(crate) fn basis() -> Vec<String> {
    vec![
        "Opt-in levers: one session each, with that lever alone beside the same with nothing in between, and three turns of the \
         layouts of some agents. Before that of defer-tools, three other sessions of the agent say which tools are used; that of server-edit \
         grows past 100,000 tokens."
            .to_owned(),
        "recover-bound: a model that binds thinking, dedup with thinking_bound, and a journal that is lost once. The one refusal \
         that may cause is none of its errors; what dedup saves is in its money."
            .to_owned(),
    ]
}
