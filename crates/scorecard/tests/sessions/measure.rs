//! Plays sessions and layouts, and makes the card of what came out.

use crate::gateway::{Gate, Receipts};
use crate::optins;
use deadweight_levers::{Lever, Policy, Profile, ToolRule};
use deadweight_scorecard::bar::{self, allowed, bars};
use deadweight_scorecard::card::{self, Card, Door, Paid, Run, SCHEMA};
use deadweight_scorecard::{debt, known};
use deadweight_testkit::layouts::{Layout, Size, all};
use deadweight_testkit::sessions::foreign::{Foreign, Rewriting};
use deadweight_testkit::sessions::{
    BINDING, Between, Class, Fate, Line, OLDER, Plan, Played, Straight, figures, play, post,
};
use deadweight_testkit::strict::models::{self, model};
use deadweight_testkit::upstream::Turn;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The levers that are judged: those that are on where nobody says anything.
pub(crate) fn judged() -> Vec<Lever> {
    Lever::ALL.into_iter().filter(|lever| lever.on(Profile::Default)).collect()
}

/// What a session cost by each policy.
pub(crate) struct Session {
    pub(crate) plan: Plan,
    pub(crate) plain: Played,
    pub(crate) ours: Played,
    pub(crate) receipts: BTreeMap<String, Receipts>,
    pub(crate) alone: BTreeMap<Lever, Played>,
    pub(crate) foreign: Vec<Played>,
}

/// In every third session the user never lets some tools run.
fn rule(plan: &Plan) -> ToolRule {
    let deny = if plan.seed % 3 == 2 { vec!["mcp__git__*".to_owned()] } else { Vec::new() };
    ToolRule { deny, allow: Vec::new() }
}

fn through(plan: &Plan, policy: Policy) -> io::Result<(Played, BTreeMap<String, Receipts>)> {
    let line = Line::start()?;
    let mut gate = Gate::start(&line, policy, false)?;
    let played = play(plan, &line, &mut gate)?;
    Ok((played, gate.receipts()?))
}

fn session(plan: Plan) -> io::Result<Session> {
    let line = Line::start()?;
    let plain = play(&plan, &line, &mut Straight::to(&line))?;
    let (ours, receipts) = through(&plan, Policy { tools: rule(&plan), ..Policy::default() })?;
    let mut alone = BTreeMap::new();
    for lever in judged().into_iter().filter(|lever| *lever != Lever::Passthrough) {
        if receipts.get(lever.name()).is_some_and(|own| own.fired > 0) {
            let switches = [(lever, true)].into();
            let policy =
                Policy { profile: Profile::Faithful, switches, tools: rule(&plan), ..Policy::default() };
            // Switching by fate would take away the one lever.
            let calm =
                Plan { fate: if plan.fate == Fate::Switches { Fate::Calm } else { plan.fate }, ..plan };
            alone.insert(lever, through(&calm, policy)?.0);
        }
    }
    let mut foreign = Vec::new();
    for policy in Foreign::ALL {
        let line = Line::start()?;
        let mut between = Rewriting::start(policy, &line)?;
        foreign.push(play(&plan, &line, &mut between)?);
    }
    Ok(Session { plan, plain, ours, receipts, alone, foreign })
}

/// Does work for each item, on as many threads as there are processors; what comes of it, in the items' order.
pub(crate) fn each<T: Send + Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> io::Result<R> + Sync,
) -> io::Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(item) = items.get(at) else { break };
                    let outcome = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, outcome);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// What a layout's agent was answered, and which levers fired on it.
pub(crate) struct Laid {
    name: &'static str,
    receipts: BTreeMap<String, Receipts>,
    /// How often the provider refused what it would have taken.
    pub(crate) errors: u64,
    /// How often it refuses what the agent itself sends.
    pub(crate) refused: u64,
}

impl Laid {
    /// In a line, for whoever looks for the reason.
    pub(crate) fn told(&self) -> String {
        let fired = self.receipts.iter().filter(|(_, own)| own.fired > 0);
        let fired: Vec<String> = fired.map(|(name, own)| format!("{name} {}×", own.fired)).collect();
        format!("{}: {} errors, {} refused, {}", self.name, self.errors, self.refused, fired.join(", "))
    }
}

/// What an agent sends: its layout, turn by turn.
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) layouts: Vec<Layout>,
    /// The headers that its bodies need.
    pub(crate) headers: Vec<(String, String)>,
}

/// One agent's layout, turn by turn, with an idle time before the last: straight, and through the gateway with these levers
/// switched on and no others.
pub(crate) fn laid(agent: &Agent, levers: &[Lever]) -> io::Result<Laid> {
    laid_after(agent, levers, 0)
}

/// The same, after so many other sessions of the agent have passed in which nothing was decided.
pub(crate) fn laid_after(agent: &Agent, levers: &[Lever], before: usize) -> io::Result<Laid> {
    let Agent { name, layouts, headers: more } = agent;
    let name = *name;
    let deny = vec!["*e*e*".to_owned()];
    let switches = levers.iter().map(|lever| (*lever, true)).collect();
    let tools = ToolRule { deny, allow: Vec::new() };
    let policy = Policy { profile: Profile::Faithful, switches, tools, ..Policy::default() };
    let (plain, line) = (Line::start()?, Line::start()?);
    let headers = |session: &str| {
        let own = [("x-api-key", "sk-dummy"), ("x-claude-code-session-id", session), ("session-id", session)];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        own.into_iter().chain(more.iter().cloned()).collect::<Vec<_>>()
    };
    let mut gate = Gate::start(&line, policy.clone(), true)?;
    for number in 0..before {
        line.says([Turn::text("Done.")]);
        let headers = headers(&format!("before {number}"));
        if let Some(layout) = layouts.last() {
            post(&Between::url(&gate), layout.path, &headers, layout.body.as_bytes())?;
        }
    }
    if before > 0 {
        line.provider.take_exchanges();
        line.wait(Duration::from_secs(9_000));
        gate.take_up(policy)?;
    }
    let (url, headers) = (Between::url(&gate), headers(name));
    let (mut errors, mut own) = (0, 0);
    for (turn, layout) in layouts.iter().enumerate() {
        let wait = if turn + 1 == layouts.len() { 9_000 } else { 20 };
        let mut refused = [false; 2];
        for (at, (line, url)) in
            [(&plain, plain.provider.url()), (&line, url.clone())].into_iter().enumerate()
        {
            line.wait(Duration::from_secs(wait));
            line.says([Turn::text("Done.")]);
            post(&url, layout.path, &headers, layout.body.as_bytes())?;
            refused[at] = line.provider.take_exchanges().iter().any(|own| own.verdict.refusal().is_some());
        }
        errors += u64::from(refused[1] && !refused[0]);
        own += u64::from(refused[0]);
    }
    Ok(Laid { name, receipts: gate.receipts()?, errors, refused: own })
}

/// From this turn on an agent lists its tools in another order, and this result has been there before.
const REPEATS: usize = 3;

/// The same request in the life of a user: a result that stands there already, and, later, tools that are listed in another
/// order.
pub(crate) fn lived(layout: &Layout, turn: usize) -> Layout {
    let mut body: Value = serde_json::from_str(&layout.body).unwrap();
    let root = if body.get("request").is_some() { &mut body["request"] } else { &mut body };
    for key in ["messages", "input", "contents"] {
        let mut long = Vec::new();
        if let Some(said) = root.get_mut(key) {
            texts(said, &mut long);
        }
        if long.len() > REPEATS {
            let first = long[1].clone();
            *long[REPEATS] = first;
        }
    }
    if turn > REPEATS
        && let Some(tools) = root.get_mut("tools").and_then(Value::as_array_mut)
    {
        tools.reverse();
    }
    Layout { body: body.to_string(), ..layout.clone() }
}

/// The long texts of a value, in order.
fn texts<'a>(value: &'a mut Value, long: &mut Vec<&'a mut String>) {
    match value {
        Value::String(text) if text.len() > 15_000 => long.push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, long)),
        Value::Object(members) => members.values_mut().for_each(|item| texts(item, long)),
        _ => {}
    }
}

/// Every agent's layout, turn by turn.
pub(crate) fn grown(turns: usize) -> Vec<Agent> {
    let each: Vec<Vec<Layout>> =
        (0..turns).map(|turns| all(Size { tools: 12, turns, text: 40_000 })).collect();
    let of = |name: &'static str| {
        let own = each.iter().flatten().filter(|layout| layout.name == name).enumerate();
        let layouts = own.map(|(turn, layout)| lived(layout, turn)).collect();
        Agent { name, layouts, headers: Vec::new() }
    };
    each[0].iter().map(|layout| of(layout.name)).collect()
}

/// Every layout with all levers; and with each lever alone that did nothing beside the others.
fn all_laid() -> io::Result<Vec<Laid>> {
    let agents = grown(7);
    let mut all = each(&agents, |agent| laid(agent, &judged()))?;
    also_alone(&mut all, &agents)?;
    all.iter().for_each(|laid| println!("{}", laid.told()));
    Ok(all)
}

/// The same with each lever alone that did nothing beside the others.
pub(crate) fn also_alone(all: &mut [Laid], agents: &[Agent]) -> io::Result<()> {
    for lever in inert(all) {
        let alone = each(agents, |agent| laid(agent, &[lever]))?;
        for (both, alone) in all.iter_mut().zip(alone) {
            both.errors += alone.errors;
            both.receipts.extend(alone.receipts.into_iter().filter(|(_, own)| own.fired > 0));
        }
    }
    Ok(())
}

/// The levers that did nothing on any of these.
pub(crate) fn inert(all: &[Laid]) -> Vec<Lever> {
    let fired = |lever: Lever| {
        all.iter().any(|laid| laid.receipts.get(lever.name()).is_some_and(|own| own.fired > 0))
    };
    judged().into_iter().filter(|lever| *lever != Lever::Passthrough && !fired(*lever)).collect()
}

/// Nano-dollars of each step.
fn steps(played: &Played) -> BTreeMap<usize, u64> {
    let mut steps = BTreeMap::new();
    for sent in &played.sent {
        *steps.entry(sent.step).or_default() += sent.bill.nanos;
    }
    steps
}

/// What the second run saved and what it was dearer by, step by step.
fn compared(plain: &Played, other: &Played) -> (u64, u64) {
    let (plain, other) = (steps(plain), steps(other));
    let (mut gross, mut cost) = (0, 0);
    for (step, paid) in &plain {
        let own = other.get(step).copied().unwrap_or_default();
        gross += paid.saturating_sub(own);
        cost += own.saturating_sub(*paid);
    }
    (gross, cost)
}

fn paid(name: &str, runs: &[(&Played, &Played)]) -> Paid {
    let mut paid = Paid { policy: name.to_owned(), ..Paid::default() };
    for (plain, own) in runs {
        paid.dropped += (own.dropped + own.lost).saturating_sub(plain.dropped) as u64;
        if !own.refused.is_empty() {
            paid.ended += 1;
            continue;
        }
        let (gross, cost) = compared(plain, own);
        paid.passthrough_nanos += plain.bill.nanos;
        paid.paid_nanos += own.bill.nanos;
        paid.gross_nanos += gross;
        paid.cost_nanos += cost;
    }
    paid
}

fn class(name: &str, sessions: &[&Session]) -> card::Class {
    let mut policies =
        vec![paid(bar::OURS, &sessions.iter().map(|own| (&own.plain, &own.ours)).collect::<Vec<_>>())];
    for (at, foreign) in Foreign::ALL.into_iter().enumerate() {
        let runs: Vec<_> = sessions.iter().map(|own| (&own.plain, &own.foreign[at])).collect();
        policies.push(paid(foreign.name(), &runs));
    }
    card::Class { name: name.to_owned(), sessions: sessions.len() as u64, policies }
}

fn tokens(played: &Played) -> i64 {
    played.sent.iter().map(|sent| sent.bill.usage.prompt() as i64).sum()
}

pub(crate) fn lever(lever: Lever, sessions: &[Session], laid: &[Laid]) -> card::Lever {
    let name = lever.name();
    let on = lever.on(Profile::Default);
    let pinned = known::of(name).filter(|known| known.on == on);
    let target = (lever == Lever::CompactHistory).then(|| Policy::default().thresholds.view);
    let mut own = card::Lever {
        name: name.to_owned(),
        class: lever.class().name().to_owned(),
        attacks: lever.attacks().to_owned(),
        on,
        pinned_by: pinned.map(|_| known::PINNED_BY.to_owned()),
        gate: pinned.map(|known| known.gate.to_owned()).filter(|gate| !gate.is_empty()),
        note: lever.note().to_owned(),
        target_tokens: target,
        window_tokens: [OLDER, BINDING].map(|name| model(name).window).into_iter().min().unwrap_or_default(),
        ..card::Lever::default()
    };
    for laid in laid {
        let fired = laid.receipts.get(name).is_some_and(|receipts| receipts.fired > 0);
        // A body that nobody changed is what passthrough is for.
        if fired || (lever == Lever::Passthrough && laid.receipts.contains_key(name)) {
            own.layouts.push(laid.name.to_owned());
            own.errors += laid.errors;
        }
    }
    for session in sessions {
        if let Some(receipts) = session.receipts.get(name) {
            own.fired += receipts.fired;
            own.bytes += receipts.bytes;
            for (reason, count) in &receipts.stood_down {
                *own.stood_down.entry(reason.clone()).or_default() += count;
            }
        }
        if let Some(alone) = session.alone.get(&lever) {
            own.errors += alone.refused.len() as u64;
            let (gross, cost) = compared(&session.plain, alone);
            own.gross_nanos += gross;
            own.cost_nanos += cost;
            own.tokens += tokens(&session.plain) - tokens(alone);
        }
    }
    own
}

fn on(levers: impl IntoIterator<Item = Lever>) -> Vec<String> {
    levers.into_iter().map(|lever| lever.name().to_owned()).collect()
}

/// The levers that a gateway with nothing said has on, by its own receipts.
fn gateway_door() -> io::Result<Vec<String>> {
    let line = Line::start()?;
    let gate = Gate::start(&line, Policy::default(), false)?;
    let plan = Plan { steps: 2, ..Plan::calm(3) };
    let mut gate = gate;
    play(&plan, &line, &mut gate)?;
    let receipts = gate.receipts()?;
    let own = receipts.into_iter().filter(|(_, own)| !own.stood_down.contains_key("off"));
    let names: BTreeSet<String> = own.map(|(name, _)| name).collect();
    Ok(Lever::ALL
        .into_iter()
        .map(|lever| lever.name().to_owned())
        .filter(|name| names.contains(name))
        .collect())
}

/// The card of these sessions.
pub(crate) fn measured(plans: &[Plan]) -> io::Result<Card> {
    let sessions = each(plans, |plan| session(*plan))?;
    let laid = all_laid()?;
    let mut run = Run { sessions: sessions.len() as u64, layouts: laid.len() as u64, ..Run::default() };
    for own in &sessions {
        run.requests += own.ours.requests as u64;
        run.refused += own.ours.refused.len() as u64;
        run.dropped += (own.ours.dropped.saturating_sub(own.plain.dropped) + own.ours.lost) as u64;
        run.orphans += own.ours.orphans as u64;
        run.left_out += own.ours.left_out as u64;
        run.rewritten += own.ours.rewritten.len() as u64;
        run.edited += own.ours.edited as u64;
        let more = own.ours.bill.nanos.saturating_sub(own.plain.bill.nanos);
        run.dearer += u64::from(more > allowed(own.plain.bill.nanos, own.plain.largest_write));
        tell(own);
    }
    let everything: Vec<&Session> = sessions.iter().collect();
    let marked: Vec<&Session> = sessions.iter().filter(|session| session.plan.kind.marks).collect();
    let mut classes = vec![class(bar::ALL, &everything), class(bar::MARKED, &marked)];
    for own in Class::ALL {
        let some: Vec<&Session> =
            sessions.iter().filter(|session| session.plan.classes().contains(&own)).collect();
        if !some.is_empty() {
            classes.push(class(own.name(), &some));
        }
    }
    let mut card = Card {
        schema: SCHEMA.to_owned(),
        levers: judged().into_iter().map(|own| lever(own, &sessions, &laid)).collect(),
        opt_ins: optins::measured()?,
        classes,
        doors: vec![
            Door {
                name: "library".to_owned(),
                on: on(Lever::ALL.into_iter().filter(|own| own.on(Profile::Default))),
            },
            Door { name: "gateway".to_owned(), on: gateway_door()? },
        ],
        run,
        basis: basis(),
        ..Card::default()
    };
    card.bars = bars(&card);
    Ok(debt::judged(card))
}

/// Tells what was wrong with a session, for whoever looks for the reason.
fn tell(session: &Session) {
    let ours = &session.ours;
    for refused in ours.refused.iter().chain(session.alone.values().flat_map(|own| &own.refused)) {
        println!("seed {}: step {}: {} {}", session.plan.seed, refused.step, refused.rule, refused.message);
    }
    for what in &ours.rewritten {
        println!("seed {}: {:?}: rewritten: {what}", session.plan.seed, session.plan.fate);
    }
    let (paid, plain) = (ours.bill.nanos, session.plain.bill.nanos);
    println!(
        "seed {}: {:?} {} steps, {:?}: {plain} → {paid} ({:+.1} %), largest write {}, alone {:?}",
        session.plan.seed,
        session.plan.fate,
        session.plan.steps,
        session.plan.classes(),
        100.0 * (paid as f64 - plain as f64) / plain as f64,
        session.plain.largest_write,
        session.alone.iter().map(|(lever, own)| (lever.name(), own.bill.nanos)).collect::<Vec<_>>(),
    );
}

fn basis() -> Vec<String> {
    let mut basis = vec![
        format!(
            "Money is ESTIMATED: the strict provider's bill, a token being a quarter of a text's bytes, by its table of {} \
             (models {OLDER} and {BINDING}). It holds the cost of cache writes; it does not hold what a model asks for again, \
             because the scripted one asks for nothing.",
            models::TABLE_OF
        ),
        "Bytes are WITNESSED: what the gateway's receipts say was taken out of the bodies, less what was put in.".to_owned(),
        "Money and tokens of a lever: the same sessions with that lever alone, beside those with nothing in between. Gross is \
         what steps were cheaper by, cost what steps were dearer by."
            .to_owned(),
        "In a third of the sessions the user denies some tools; where a restore tool is needed, it is offered.".to_owned(),
    ];
    basis.extend(optins::basis());
    basis.extend(figures::ALL.map(|figure| format!("{}: {}.", figure.what, figure.source)));
    basis.extend(figures::SHARES.iter().map(|(what, source)| format!("{what}: {source}.")));
    basis.extend(Foreign::ALL.map(|foreign| format!("{}: {}.", foreign.name(), foreign.source())));
    basis
}
