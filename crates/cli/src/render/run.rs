//! What `deadweight run` says: what a run carried, or what would be set for one.

use super::harmless::{harmless, short};
use super::number::{NONE, count, estimated, share, signed, thousands};
use super::style::{DIM, HOLDS, NEEDS_YOU, STRONG, paint};
use super::table::wrap;
use super::words;
use crate::settings::Screen;
use deadweight_gateway::advice::{is_client_stub, is_working_tool, leave_out};
use deadweight_gateway::tally::{Floor, Loss, Part, Report, Totals, Weight};
use deadweight_present::money::estimated_usd;
use deadweight_present::quote;
use deadweight_present::time::span;
use deadweight_present::words::class;
use deadweight_store::{OWN_ENTRY, Origin};
use std::fmt::Write as _;

/// How many parts of the floor are named.
const PARTS: usize = 6;
/// How many causes of a loss are named, and how many turns of each.
const CAUSES: usize = 3;
/// How many servers and tools are named that were never called.
const UNCALLED: usize = 3;
/// In fewer turns nothing is called unused.
const FEW_TURNS: u64 = 3;
/// How much of a session's name is needed to find it again.
const NAME: usize = 8;

/// What is told at the end.
pub(crate) struct Told<'a> {
    pub(crate) report: &'a Report,
    /// The configured servers, and what became of each.
    pub(crate) servers: &'a [Server],
    pub(crate) agent: &'a str,
    pub(crate) ledger: bool,
}

/// A configured server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) label: String,
    /// Why it does not stand behind the proxy; none where it does.
    pub(crate) left: Option<&'static str>,
    /// Whether it listed its tools in this run, as far as that is known.
    pub(crate) listed: Option<bool>,
}

/// What was carried.
pub(crate) fn text(told: &Told<'_>, screen: Screen) -> String {
    let report = told.report;
    let columns = screen.columns.unwrap_or(80).clamp(40, 160);
    let rule = "─".repeat(columns.saturating_sub(17));
    let mut out = format!("  {}\n", paint(&format!("── deadweight {rule}"), DIM));
    let mut line = |text: String| out.push_str(&wrap(&text, 2, 4, columns));
    if report.totals.requests == 0 {
        line(paint(
            "nothing came through the gateway: the agent asked nobody, or another address",
            NEEDS_YOU,
        ));
        servers(told).into_iter().for_each(&mut line);
        return out;
    }
    line(headline(report));
    report.floor.iter().for_each(|floor| line(floor_line(floor)));
    line(cache(report));
    dead_weight(told).into_iter().for_each(&mut line);
    servers(told).into_iter().for_each(&mut line);
    if !report.levers.is_empty() {
        line(levers(report));
    }
    if report.totals.failed > 0 {
        line(failures(&report.totals));
    }
    line(receipts(told));
    if let Some(estimator) = &report.estimator {
        line(paint(&basis(report, estimator), DIM));
    }
    out
}

fn named(text: &str) -> String {
    short(text).into_owned()
}

fn headline(report: &Report) -> String {
    let totals = &report.totals;
    let mut parts = vec![paint(&count(totals.turns, "turn", "turns"), STRONG)];
    match (totals.prompt, totals.equivalent_tokens) {
        (Some(prompt), Some(equivalents)) => parts.push(format!(
            "{} tok in (billed as ≈ {} full-price equivalents)",
            thousands(prompt),
            thousands(equivalents)
        )),
        (Some(prompt), None) => parts.push(format!("{} tok in", thousands(prompt))),
        (None, _) => parts.push(format!("{} tok in", estimated(totals.sent_tokens))),
    }
    match totals.nano {
        Some(nano) if totals.priced < totals.turns => {
            let without = count(totals.turns - totals.priced, "turn has", "turns have");
            parts.push(format!("{} ({without} no known price)", paint(&estimated_usd(nano), STRONG)));
        }
        Some(nano) => parts.push(paint(&estimated_usd(nano), STRONG)),
        None => parts.push(format!("cost {NONE}")),
    }
    parts.join(" · ")
}

fn floor_line(floor: &Floor) -> String {
    let of = |part: &Part| match (part.kind, &part.server) {
        ("builtin_tools", _) => "built-in tools".to_owned(),
        (_, Some(server)) => named(server),
        ("tools", None) => "tools".to_owned(),
        (kind, None) => kind.to_owned(),
    };
    let mut parts: Vec<String> = floor
        .parts
        .iter()
        .take(PARTS)
        .map(|part| format!("{} {}", of(part), thousands(part.tokens)))
        .collect();
    let rest: u64 = floor.parts.iter().skip(PARTS).map(|part| part.tokens).sum();
    if rest > 0 {
        parts.push(format!("{} more {}", floor.parts.len() - PARTS, thousands(rest)));
    }
    let mut out =
        format!("floor {} tok a turn: {}", paint(&estimated(floor.tokens), STRONG), parts.join(" · "));
    let paid = floor.standing.iter().filter(|part| part.tokens > 0);
    let mut standing: Vec<String> = paid
        .clone()
        .take(PARTS / 2)
        .map(|part| format!("{} {}", words::standing(&part.kind), thousands(part.tokens)))
        .collect();
    let rest: u64 = paid.clone().skip(PARTS / 2).map(|part| part.tokens).sum();
    if rest > 0 {
        standing.push(format!("other {}", thousands(rest)));
    }
    if !standing.is_empty() {
        let _ = write!(out, "; beside it, in the messages: {}", standing.join(" · "));
    }
    out
}

fn cache(report: &Report) -> String {
    let totals = &report.totals;
    let read = match (totals.cache_read, totals.prompt) {
        (Some(read), Some(prompt)) => format!("cache: {} read", share(read, prompt)),
        _ => format!("cache: {NONE} read"),
    };
    if report.losses.is_empty() {
        return read;
    }
    let lost: u64 = report.losses.iter().map(|loss| loss.lost_tokens).sum();
    let nano: Vec<u64> = report.losses.iter().filter_map(|loss| loss.lost_nano).collect();
    let money =
        if nano.is_empty() { String::new() } else { format!(" ({} more)", estimated_usd(nano.iter().sum())) };
    let what = format!(
        "{} re-wrote {} tok{money}",
        count(report.losses.len() as u64, "turn", "turns"),
        estimated(lost)
    );
    format!("{read} · {}: {}", paint(&what, NEEDS_YOU), causes(&report.losses))
}

/// Why turns lost their cache, the worst cause first.
fn causes(losses: &[Loss]) -> String {
    let mut by: Vec<(&str, Vec<&Loss>)> = Vec::new();
    for loss in losses {
        match by.iter_mut().find(|(class, _)| *class == loss.class) {
            Some((_, all)) => all.push(loss),
            None => by.push((&loss.class, vec![loss])),
        }
    }
    let lost = |all: &[&Loss]| all.iter().map(|loss| loss.lost_tokens).sum::<u64>();
    by.sort_by_key(|(_, all)| std::cmp::Reverse(lost(all)));
    let mut out: Vec<String> = by.iter().take(CAUSES).map(|(class, all)| cause(class, all)).collect();
    if by.len() > CAUSES {
        out.push(format!("{} more", by.len() - CAUSES));
    }
    out.join(", ")
}

fn cause(class_name: &str, losses: &[&Loss]) -> String {
    let what = match (class_name, losses) {
        // How long it was idle says more than that the cache had lapsed.
        ("ttl_lapse", [one]) if one.gap_ms.is_some() => format!("idle {}", span(one.gap_ms.unwrap_or(0))),
        ("ttl_lapse", _) => "idle".to_owned(),
        (other, _) => class(other),
    };
    let mut turns: Vec<u64> = losses.iter().filter_map(|loss| loss.turn).collect();
    turns.sort_unstable();
    turns.dedup();
    if turns.is_empty() {
        return what;
    }
    let mut shown: Vec<String> = turns.iter().take(CAUSES).map(u64::to_string).collect();
    if turns.len() > CAUSES {
        shown.push("…".to_owned());
    }
    format!("{what} (turn {})", shown.join(", "))
}

/// What was carried and never called, and what to do about it.
fn dead_weight(told: &Told<'_>) -> Vec<String> {
    let report = told.report;
    let uncalled =
        |weight: &&Weight| weight.calls == 0 && weight.weighted_tokens > 0 && weight.turns >= FEW_TURNS;
    let ours = |weight: &&Weight| weight.server.as_deref() != Some(OWN_ENTRY);
    let mut out: Vec<String> = report
        .servers
        .iter()
        .filter(uncalled)
        .filter(ours)
        .take(UNCALLED)
        .map(|weight| {
            let server = weight.server.as_deref().unwrap_or_default();
            let behind = told.servers.iter().any(|one| one.label == server && one.left.is_none());
            let todo = match behind {
                true => {
                    "switch it off where it is not used; its schemas are left out already, where that saves"
                        .to_owned()
                }
                false => format!(
                    "`deadweight mcp --name {} --` before its command leaves its schemas out",
                    named(&quote::shell(server))
                ),
            };
            // As the floor above has it.
            let parts = report.floor.iter().flat_map(|floor| &floor.parts);
            let tokens =
                parts.filter(|part| part.server.as_deref() == Some(server)).map(|part| part.tokens).next();
            let weight = Weight { tokens: tokens.unwrap_or(weight.tokens), ..weight.clone() };
            format!("{} → {todo}", carried(&named(server), &weight))
        })
        .collect();
    out.extend(own_tools(told, report.tools.iter().filter(uncalled)));
    out
}

/// The agent's own tools that were never called, and how those are left out that it can do without.
fn own_tools<'r>(told: &Told<'_>, uncalled: impl Iterator<Item = &'r Weight>) -> Option<String> {
    let name = |tool: &&'r Weight| tool.tool.as_deref().unwrap_or_default();
    let own: Vec<&Weight> =
        uncalled.filter(|tool| tool.origin == Origin::Builtin && !is_client_stub(name(tool))).collect();
    if own.is_empty() {
        return None;
    }
    let tokens: u64 = own.iter().map(|tool| tool.tokens).sum();
    let shown: Vec<String> = own
        .iter()
        .take(UNCALLED)
        .map(|tool| format!("{} {}", named(name(tool)), thousands(tool.tokens)))
        .collect();
    let more = own.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" · {more} more") } else { String::new() };
    // What it works with is no proposal, however rarely one session needs it.
    let first = own.iter().map(name).find(|name| !is_working_tool(name));
    let todo = first.and_then(|name| leave_out(told.agent, [name]));
    let todo = todo.map_or_else(String::new, |left| format!(" → {} {} leaves one out", left.text, left.how));
    Some(format!(
        "dead weight: {} never called, {} tok a turn: {}{more}{todo}",
        count(own.len() as u64, "built-in tool", "built-in tools"),
        estimated(tokens),
        shown.join(" · ")
    ))
}

/// Servers that do not stand behind the proxy, and those that never came up.
fn servers(told: &Told<'_>) -> Vec<String> {
    let mut out = Vec::new();
    let mut reasons: Vec<&str> = Vec::new();
    for why in told.servers.iter().filter_map(|server| server.left) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    for why in reasons {
        let names: Vec<String> = told
            .servers
            .iter()
            .filter(|server| server.left == Some(why))
            .map(|server| paint(&named(&server.label), NEEDS_YOU))
            .collect();
        out.push(format!("not behind the proxy: {} — {why}", names.join(", ")));
    }
    let silent: Vec<String> = told
        .servers
        .iter()
        .filter(|server| server.left.is_none() && server.listed == Some(false))
        .map(|server| paint(&named(&server.label), NEEDS_YOU))
        .collect();
    if !silent.is_empty() {
        out.push(format!(
            "never listed a tool: {} — not asked, or not started (`deadweight footprint --config FILE` says which)",
            silent.join(", ")
        ));
    }
    out
}

fn carried(name: &str, weight: &Weight) -> String {
    format!(
        "dead weight: {} — {} tok × {}, 0 calls",
        paint(name, NEEDS_YOU),
        estimated(weight.tokens),
        count(weight.turns, "turn", "turns")
    )
}

fn levers(report: &Report) -> String {
    let (fired, inert): (Vec<_>, Vec<_>) = report.levers.iter().partition(|lever| lever.fired > 0);
    let mut told: Vec<String> = fired
        .iter()
        .map(|lever| {
            format!("{} {} × ({} B)", named(&lever.name), lever.fired, signed(lever.bytes.saturating_neg()))
        })
        .collect();
    if !inert.is_empty() {
        // Why each did nothing is much to read, and stands with the receipts.
        let inert: Vec<_> = inert.iter().map(|lever| named(&lever.name)).collect();
        told.push(format!("stood down: {}", inert.join(", ")));
    }
    format!("levers: {}", told.join(" · "))
}

fn failures(totals: &Totals) -> String {
    let how: Vec<String> = totals
        .failures
        .iter()
        .map(|(how, times)| format!("{} {times} ×", named(&how.replace('_', " "))))
        .collect();
    let what = format!("{} not answered", count(totals.failed, "request was", "requests were"));
    format!("{}: {}", paint(&what, NEEDS_YOU), how.join(", "))
}

fn receipts(told: &Told<'_>) -> String {
    let totals = &told.report.totals;
    let same = format!("{} of {}", thousands(totals.unchanged), thousands(totals.bodies));
    let same = if totals.unchanged == totals.bodies { paint(&same, HOLDS) } else { same };
    let more = match (&told.report.session, told.ledger) {
        (Some(session), true) => {
            let name: String = session.chars().take(NAME).collect();
            format!("receipts: deadweight ledger show {}", harmless(&name))
        }
        (None, true) => "receipts: deadweight ledger export".to_owned(),
        (_, false) => "nothing was recorded: the ledger is off".to_owned(),
    };
    format!("bodies unchanged: {same} · {more}")
}

/// Entries that stand for what the client has not loaded are counted like any other, and are nobody's to leave out.
fn stubs(report: &Report) -> Option<String> {
    let stub =
        report.tools.iter().filter_map(|tool| tool.tool.as_deref()).find(|name| is_client_stub(name))?;
    Some(format!("{stub} is no tool: the client puts it in the place of those it has not loaded"))
}

fn basis(report: &Report, estimator: &str) -> String {
    let prices =
        report.price_date.as_deref().map_or_else(String::new, |date| format!(", prices of {}", named(date)));
    let stubs = stubs(report).map_or_else(String::new, |stubs| format!(" · {stubs}"));
    format!("basis: ≈ is estimator {}{prices}; the provider counted what has no ≈{stubs}", named(estimator))
}

/// What would be set.
pub(crate) struct Dry {
    pub(crate) agent: &'static str,
    pub(crate) words: Vec<String>,
    pub(crate) set: Vec<(String, String)>,
    /// The files, and their text without its keys.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) upstreams: Vec<(String, String)>,
    pub(crate) servers: Vec<(String, String)>,
    /// Where it is recorded, and for how long.
    pub(crate) ledger: String,
    pub(crate) notes: Vec<String>,
}

/// What would be set, for a person: all of it, to be copied, so that nothing is cut.
pub(crate) fn dry(plan: &Dry) -> String {
    let mut out = format!("  {}: nothing is started\n", paint(plan.agent, STRONG));
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(out, "\n  {}\n", paint(title, DIM));
            for line in lines {
                let _ = writeln!(out, "    {}", harmless(&line));
            }
        }
    };
    part("command", vec![plan.words.iter().map(|word| quote::shell(word)).collect::<Vec<_>>().join(" ")]);
    part(
        "environment",
        plan.set.iter().map(|(name, value)| format!("{name}={}", quote::shell(value))).collect(),
    );
    part("upstreams", plan.upstreams.iter().map(|(at, to)| format!("{at} is {to}")).collect());
    part("MCP servers", plan.servers.iter().map(|(label, what)| format!("{label}: {what}")).collect());
    for (path, text) in &plan.files {
        part(
            &format!("{}, for as long as it runs", harmless(path)),
            text.lines().map(str::to_owned).collect(),
        );
    }
    part("ledger", vec![plan.ledger.clone()]);
    part("to know", plan.notes.clone());
    out
}
