//! The card for people.

use crate::bar::percent;
use crate::card::{Card, Lever, Paid};
use deadweight_present::money::usd;
use deadweight_present::number::{count, signed, thousands};
use std::fmt::Write as _;

/// Money with a sign, marked as an estimate.
#[must_use]
pub fn money(nanos: i64) -> String {
    let sign = if nanos < 0 { "−" } else { "" };
    format!("≈ {sign}{}", usd(nanos.unsigned_abs()))
}

/// The first line: the grade, and what it rests on.
#[must_use]
pub fn headline(card: &Card) -> String {
    let debts = match card.debts.len() {
        0 => "no debt".to_owned(),
        many => count(many as u64, "debt", "debts"),
    };
    let missed = card.bars.iter().filter(|bar| !bar.holds).count() as u64;
    let bars = if missed == 0 {
        "every bar holds".to_owned()
    } else {
        count(missed, "bar is missed", "bars are missed")
    };
    let run = &card.run;
    format!(
        "grade {} · {debts} · {bars} · {}, {}, {} of agents",
        card.grade,
        count(run.sessions, "session", "sessions"),
        count(run.requests, "request", "requests"),
        count(run.layouts, "layout", "layouts"),
    )
}

/// The whole page.
#[must_use]
pub fn page(card: &Card) -> String {
    let mut out = format!(
        "# Scorecard\n\nNot what the wiring says that a lever does, but what happened: scripted sessions through the gateway, over \
         HTTP, to a provider that refuses what real ones refuse and bills from a true prefix cache. `cargo xtask scorecard` \
         makes this page again; CI compares it.\n\n**{}**\n",
        headline(card)
    );
    for debt in &card.debts {
        let _ = write!(out, "\n- owed ({}): {}", debt.kind, debt.text);
    }
    if !card.debts.is_empty() {
        out.push('\n');
    }
    out.push_str(
        "\n## What must hold, in the default profile\n\n| | asked | found | |\n|---|---|---:|---|\n",
    );
    for bar in &card.bars {
        let holds = if bar.holds { "holds" } else { "**missed**" };
        let _ = writeln!(out, "| {} | {} | {} | {holds} |", bar.what, bar.asked, bar.found);
    }
    if card.run.left_out > 0 {
        let blocks = count(card.run.left_out, "block", "blocks");
        let _ = write!(
            out,
            "\nThinking that a lever left out together with the whole rounds that it stood in, as its note says, is not counted as \
             dropped: {blocks}, each counted whenever its history was sent.\n"
        );
    }
    for (title, levers) in [("Levers", &card.levers), ("Opt-in levers", &card.opt_ins)] {
        if levers.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "\n## {title}\n\n| lever | on | attacks | fired | bytes | ≈ tok | gross | cost | net | errors | layouts |\n\
             |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        levers.iter().for_each(|lever| out.push_str(&row(lever)));
        out.push('\n');
        levers.iter().for_each(|lever| out.push_str(&details(lever)));
    }
    out.push_str("\n## What sessions cost\n");
    for class in &card.classes {
        let _ = write!(
            out,
            "\n{} ({}):\n\n| policy | ended by a refusal | thinking dropped | with nothing between | gross | cost | net | |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|\n",
            class.name,
            count(class.sessions, "session", "sessions"),
        );
        for paid in &class.policies {
            out.push_str(&policy(paid));
        }
    }
    out.push_str("\n## By what\n\n");
    for line in &card.basis {
        let _ = writeln!(out, "- {line}");
    }
    out
}

fn row(lever: &Lever) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        lever.name,
        if lever.on { "on" } else { "off" },
        lever.attacks,
        thousands(lever.fired),
        signed(lever.bytes.saturating_neg()),
        signed(lever.tokens.saturating_neg()),
        money(crate::card::signed(lever.gross_nanos)),
        money(crate::card::signed(lever.cost_nanos)),
        money(lever.net_nanos()),
        thousands(lever.errors),
        lever.layouts.len(),
    )
}

/// What there is to say of a lever besides its numbers.
fn details(lever: &Lever) -> String {
    let mut out = format!("- **{}**: {}", lever.name, lever.note);
    if let Some(gate) = &lever.gate {
        let _ = write!(out, " Off until {gate}.");
    }
    let _ = match &lever.pinned_by {
        Some(test) => write!(out, " Pinned by `{test}`."),
        None => write!(out, " Pinned by no test."),
    };
    if !lever.stood_down.is_empty() {
        let _ = write!(out, " Stood down: {}.", stood_down(lever));
    }
    out.push('\n');
    out
}

/// Why a lever did nothing new, the commonest reason first.
#[must_use]
pub fn stood_down(lever: &Lever) -> String {
    let mut reasons: Vec<_> = lever.stood_down.iter().collect();
    reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), reason.as_str()));
    let each: Vec<String> =
        reasons.into_iter().map(|(reason, count)| format!("{reason} {}", thousands(*count))).collect();
    each.join(", ")
}

fn policy(paid: &Paid) -> String {
    let ended = thousands(paid.ended);
    let dropped = thousands(paid.dropped);
    if paid.passthrough_nanos == 0 {
        return format!("| {} | {ended} | {dropped} | — | — | — | — | — |\n", paid.policy);
    }
    format!(
        "| {} | {ended} | {dropped} | {} | {} | {} | {} | {} |\n",
        paid.policy,
        money(crate::card::signed(paid.passthrough_nanos)),
        money(crate::card::signed(paid.gross_nanos)),
        money(crate::card::signed(paid.cost_nanos)),
        money(paid.net_nanos()),
        percent(paid.net_permille()),
    )
}
