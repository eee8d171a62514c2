//! What is said about lists without their schemas: `mcp --explain`, `mcp search`, `mcp status`.

use super::harmless::{closed, short};
use super::number::{NONE, count, estimated, share, thousands};
use super::style::{DIM, HOLDS, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use super::words::basis;
use crate::commands::mcp::explain::List;
use crate::commands::mcp::search::Found;
use crate::commands::mcp::status::{Recorded, Status};
use crate::settings::Screen;
use crate::settings::proxy::Proxy;
use deadweight_footprint::catalogue::{Change, Saving};
use deadweight_mcp::surface::{Access, Choice, Client, ToolDecision};
use deadweight_present::time::{date, minute};
use deadweight_store::{Listing, Totals, Usage};
use std::collections::BTreeMap;

fn sentence(text: &str, screen: Screen) -> String {
    wrap(text, 2, 4, screen.sentence())
}

fn named(text: &str) -> String {
    closed(short(text)).into_owned()
}

/// `≈ 4,670 tok (20,300 B)`.
fn change(change: Change) -> String {
    let size = |number: i64| thousands(number.unsigned_abs());
    let sign = if change.tokens < 0 { "−" } else { "" };
    format!("≈ {sign}{} tok", size(change.tokens))
}

/// What is decided and why, list by list.
pub(crate) fn explain(lists: &[List], proxy: &Proxy, client: &Client, screen: Screen, quiet: bool) -> String {
    let mut out = String::new();
    for list in lists {
        out.push_str(&sentence(&headline(list, client), screen));
        if !quiet {
            out.push('\n');
            out.push_str(&servers(list).draw(2, screen.columns, false));
            out.push('\n');
            out.push_str(&reasons(list, screen));
        }
        out.push_str(&sentence(&saving(&list.saving), screen));
        if !quiet {
            out.push('\n');
        }
    }
    if quiet {
        return out;
    }
    if !lists.is_empty() {
        out.push_str(&sentence(&how_it_may_differ(lists, client), screen));
    }
    for (name, value, from) in &proxy.told {
        out.push_str(&sentence(&format!("setting {name} = {} ({from})", short(value)), screen));
    }
    if let Some(list) = lists.first() {
        out.push_str(&paint(sentence(&basis(&list.saving.basis), screen).trim_end(), DIM));
        out.push('\n');
    }
    out
}

/// What is listed in the end may be otherwise: for clients that leave schemas out by themselves, and where it was decided
/// before.
fn how_it_may_differ(lists: &[List], client: &Client) -> String {
    let deferring: Vec<&str> = deadweight_profiles::ALL
        .iter()
        .filter(|profile| profile.defers.is_some_and(|fact| fact.value))
        .map(|profile| profile.name)
        .collect();
    let by_default = lists.iter().any(|list| list.surface.settings().surface == Choice::Auto);
    let mut text = String::new();
    if by_default && client.name.is_empty() && !deferring.is_empty() {
        text.push_str(&format!(
            "Not so for {}: they leave schemas out by themselves, and get every definition as it is (see --client). ",
            deferring.join(", ")
        ));
    }
    text.push_str(
        "Decided anew, from the lists as they are now; what a client is served already stays: deadweight mcp status.",
    );
    text
}

fn headline(list: &List, client: &Client) -> String {
    let labels: Vec<&str> = list.surface.servers().map(|(label, _)| label).collect();
    let whose = match labels.as_slice() {
        [only] => named(only),
        many => count(many.len() as u64, "server", "servers"),
    };
    let tools = list.surface.all().count() as u64;
    let client = if client.name.is_empty() { "any client" } else { &client.name };
    format!(
        "{} · {} · listed as {} for {}",
        paint(&whose, STRONG),
        count(tools, "tool", "tools"),
        list.surface.shape().name(),
        short(client)
    )
}

fn servers(list: &List) -> Table {
    let heads = [
        ("as served", Column::Number),
        ("as listed", Column::Number),
        ("saved", Column::Number),
        ("tools", Column::Number),
        ("server", Column::Name),
        ("", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    for (decision, saving) in list.surface.decisions().iter().zip(&list.servers) {
        table.row(vec![
            estimated(saving.before.tokens.get()).into(),
            estimated(saving.after.tokens.get()).into(),
            share(u64::try_from(saving.gross.tokens).unwrap_or(0), saving.before.tokens.get()).into(),
            thousands(decision.before.tools).into(),
            named(&decision.server).into(),
            if decision.deferred { Cell::from("deferred").styled(HOLDS) } else { "as it is".into() },
        ]);
    }
    if !list.surface.own().is_empty() {
        let names: Vec<&str> = list.surface.own().iter().map(|own| own.shown.as_str()).collect();
        table.row(vec![
            NONE.into(),
            estimated(list.saving.own.tokens.get()).into(),
            "".into(),
            thousands(names.len() as u64).into(),
            names.join(", ").into(),
            "ours".into(),
        ]);
    }
    table
}

/// Why each server is listed as it is, and which of its tools are not.
fn reasons(list: &List, screen: Screen) -> String {
    let mut out = String::new();
    for decision in list.surface.decisions() {
        let what = if decision.deferred { "is deferred" } else { "stays as it is" };
        out.push_str(&sentence(
            &format!("{} {what}: {}", named(&decision.server), decision.why.text()),
            screen,
        ));
        // Tools of one reason stand together.
        let mut alike: BTreeMap<(String, String), Vec<&ToolDecision>> = BTreeMap::new();
        for tool in &decision.tools {
            alike.entry((access(tool.access).to_owned(), tool.why.text())).or_default().push(tool);
        }
        for ((access, why), tools) in alike {
            const SHOWN: usize = 8;
            let mut names: Vec<String> = tools.iter().take(SHOWN).map(|tool| named(&tool.tool)).collect();
            if tools.len() > SHOWN {
                names.push(format!("{} more", thousands((tools.len() - SHOWN) as u64)));
            }
            out.push_str(&wrap(&format!("{}: {access}, {why}", names.join(", ")), 4, 6, screen.sentence()));
        }
    }
    out
}

const fn access(access: Access) -> &'static str {
    match access {
        Access::Eager => "as it is",
        Access::Deferred => "deferred",
        Access::Denied => "denied",
        Access::Quarantined => "quarantined",
    }
}

/// Gross, net and break-even, in a sentence.
pub(crate) fn saving(saving: &Saving) -> String {
    let Some(loads) = saving.break_even else {
        return "Nothing is deferred, so nothing is saved: every definition is listed as it is.".to_owned();
    };
    if saving.net.tokens <= 0 {
        return format!(
            "Saves {} gross, but with what loads it {} net on every turn: it does not pay.",
            change(saving.gross),
            change(saving.net),
        );
    }
    format!(
        "Saves {} gross, {} net ({}) on every turn. One load adds {} tok: after {} nothing of it is left.",
        change(saving.gross),
        change(saving.net),
        share(saving.net.tokens.unsigned_abs(), saving.before.tokens.get()),
        estimated(saving.load.tokens.get()),
        count(loads, "load", "loads"),
    )
}

/// The ranking for a request.
pub(crate) fn search(found: &Found, query: &str, screen: Screen) -> String {
    let mut out = String::new();
    let tools = count(found.names.len() as u64, "tool", "tools");
    let of = match found.servers {
        1 => format!("{tools} of 1 server"),
        servers => format!("{tools} of {} servers", thousands(servers as u64)),
    };
    let answer = &found.answer;
    let confidence = format!("confidence {:.2}, {of}", answer.confidence);
    let nearest = if answer.did_you_mean.is_empty() {
        String::new()
    } else {
        let near = answer.did_you_mean.iter().map(|near| named(found.whose(&near.id).1));
        format!(" Did you mean {}?", near.collect::<Vec<_>>().join(", "))
    };
    if answer.hits.is_empty() {
        let text = format!("No tool has any word of “{}” ({confidence}).{nearest}", short(query));
        out.push_str(&sentence(&text, screen));
    } else if answer.abstains() {
        let none = paint("No tool seems to do this", NEEDS_YOU);
        let least = deadweight_search::Answer::LEAST;
        out.push_str(&sentence(
            &format!("{none} ({confidence}; below {least:.2} a client is told that there is none).{nearest} The nearest:"),
            screen,
        ));
    } else {
        out.push_str(&sentence(&format!("{} ({confidence}){nearest}", short(query)), screen));
    }
    if answer.intents.len() > 1 {
        let intents: Vec<String> =
            answer.intents.iter().map(|intent| format!("“{}”", short(intent))).collect();
        out.push_str(&sentence(
            &format!("Taken for {} wishes: {}", intents.len(), intents.join(", ")),
            screen,
        ));
    }
    if answer.hits.is_empty() {
        return out;
    }
    out.push('\n');
    let heads = [
        ("score", Column::Number),
        ("tool", Column::Name),
        ("server", Column::Name),
        ("because", Column::Name),
    ];
    let mut table = Table::new(&heads, DIM);
    for hit in &answer.hits {
        let (server, tool) = found.whose(&hit.id);
        let reasons: Vec<String> = hit
            .reasons
            .iter()
            .take(4)
            .map(|reason| {
                let percent = share((reason.part * 1_000.0).max(0.0) as u64, 1_000);
                let word = short(&reason.word);
                let as_term =
                    if reason.word.starts_with(&reason.term) || reason.term.starts_with(&reason.word) {
                        String::new()
                    } else {
                        format!(" as {}", short(&reason.term))
                    };
                format!("{word}{as_term} in {} {percent}", reason.field.label())
            })
            .collect();
        table.row(vec![
            format!("{:.2}", hit.score).into(),
            named(tool).into(),
            named(server).into(),
            reasons.join(", ").into(),
        ]);
    }
    out.push_str(&table.draw(2, screen.columns, false));
    out
}

/// What was listed and what was called, out of the ledger.
pub(crate) fn status(status: &Status, screen: Screen, quiet: bool) -> String {
    let Some(ledger) = &status.ledger else {
        return sentence(
            "Nothing is recorded: the ledger is off. To record calls, leave out `ledger = \"off\"` and \
             DEADWEIGHT_LEDGER=off.",
            screen,
        );
    };
    let place = ledger.display().to_string();
    let any = |all: &&Recorded| all.totals.last_ms.is_some() || !all.listings.is_empty();
    let Some(all) = status.recorded.as_ref().filter(any) else {
        return sentence(
            &format!("No server was listed or called through the proxy yet, as far as {place} tells."),
            screen,
        ) + &sentence(
            "To carry less, put the proxy before a server in your agent's config: deadweight mcp --name NAME -- \
                 COMMAND. What that would save: deadweight mcp --explain",
            screen,
        );
    };
    let mut out = String::new();
    let mut basis = Vec::new();
    if !all.listings.is_empty() {
        if !quiet {
            out.push_str(&listings(&all.listings).draw(2, screen.columns, false));
            out.push('\n');
        }
        let mut estimators: Vec<&str> = all.listings.iter().map(|one| one.estimator.as_str()).collect();
        estimators.dedup();
        basis.push(format!("tokens: ESTIMATED ({}), on every turn of the client", estimators.join(", ")));
    }
    if all.totals.last_ms.is_some() {
        out.push_str(&sentence(&calls(&all.totals), screen));
        if !quiet {
            out.push('\n');
            out.push_str(&table(&all.usage).draw(2, screen.columns, false));
            out.push('\n');
        }
    } else {
        let when = status
            .days
            .map_or_else(String::new, |days| format!(" in the last {}", count(days.into(), "day", "days")));
        out.push_str(&sentence(&format!("Nothing was called{when}."), screen));
    }
    if !quiet {
        out.push_str(&uncalled(all, screen));
    }
    basis.push(format!("counts: WITNESSED, from {place}"));
    out.push_str(&paint(sentence(&basis.join(" · "), screen).trim_end(), DIM));
    out.push('\n');
    out
}

fn listings(all: &[Listing]) -> Table {
    let heads = [
        ("as served", Column::Number),
        ("as listed", Column::Number),
        ("gross", Column::Number),
        ("net", Column::Number),
        ("even after", Column::Number),
        ("server", Column::Name),
        ("client", Column::Name),
        ("", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    let size = |tokens: i64| {
        let sign = if tokens < 0 { "−" } else { "" };
        format!("≈ {sign}{}", thousands(tokens.unsigned_abs()))
    };
    for one in all {
        let server = match one.server.as_str() {
            "" => format!("{}, all", named(&one.entry)),
            server => named(server),
        };
        let client = if one.client.is_empty() { NONE.to_owned() } else { named(&one.client) };
        let even = one.break_even.map_or_else(|| NONE.to_owned(), |loads| count(loads, "load", "loads"));
        let what = match (one.deferred, one.surface.as_str()) {
            (_, "search") => Cell::from("searched").styled(HOLDS),
            (true, _) => Cell::from("deferred").styled(HOLDS),
            (false, _) => "as it is".into(),
        };
        table.row(vec![
            estimated(one.before_tokens).into(),
            estimated(one.after_tokens + one.own_tokens).into(),
            size(one.gross_tokens).into(),
            size(one.net_tokens).into(),
            even.into(),
            server.into(),
            client.into(),
            what,
        ]);
    }
    table
}

/// Servers that are listed on every turn and were never called: dead weight.
fn uncalled(all: &Recorded, screen: Screen) -> String {
    let called = |label: &str| all.usage.iter().any(|one| one.server == label && one.totals.calls > 0);
    let mut labels: Vec<&str> = all.listings.iter().map(|one| one.server.as_str()).collect();
    labels.retain(|label| !label.is_empty() && !called(label));
    labels.dedup();
    match labels.as_slice() {
        [] => String::new(),
        labels => {
            let labels: Vec<String> = labels.iter().map(|label| named(label)).collect();
            sentence(&format!("Dead weight: {} — listed, and not called.", labels.join(", ")), screen)
        }
    }
}

fn calls(totals: &Totals) -> String {
    let mut parts = vec![
        count(totals.calls, "call", "calls"),
        format!("{} of tools not loaded before", thousands(totals.calls_unloaded)),
        count(totals.loads, "load", "loads"),
    ];
    if totals.searches > 0 {
        parts.push(count(totals.searches, "search", "searches"));
    }
    if totals.calls_failed > 0 {
        parts.push(paint(&format!("{} failed", thousands(totals.calls_failed)), NEEDS_YOU));
    }
    if totals.calls_refused > 0 {
        parts.push(format!("{} refused", thousands(totals.calls_refused)));
    }
    parts.push(count(totals.sessions, "session", "sessions"));
    if let (Some(first), Some(last)) = (totals.first_ms, totals.last_ms) {
        parts.push(match date(first) == date(last) {
            true => format!("last {} UTC", minute(last)),
            false => format!("since {}, last {} UTC", date(first), minute(last)),
        });
    }
    parts.join(" · ")
}

fn table(usage: &[Usage]) -> Table {
    let heads = [
        ("calls", Column::Number),
        ("failed", Column::Number),
        ("loads", Column::Number),
        ("in B", Column::Number),
        ("out B", Column::Number),
        ("tool", Column::Name),
        ("server", Column::Name),
        ("last", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    let mut rows: Vec<&Usage> = usage.iter().filter(|usage| !usage.tool.is_empty()).collect();
    rows.sort_by(|a, b| {
        (b.totals.calls, b.totals.loads, &a.server, &a.tool).cmp(&(
            a.totals.calls,
            a.totals.loads,
            &b.server,
            &b.tool,
        ))
    });
    for usage in rows {
        let totals = &usage.totals;
        table.row(vec![
            thousands(totals.calls).into(),
            thousands(totals.calls_failed).into(),
            thousands(totals.loads).into(),
            thousands(totals.bytes_in).into(),
            thousands(totals.bytes_out).into(),
            named(&usage.tool).into(),
            named(&usage.server).into(),
            totals.last_ms.map_or_else(|| NONE.to_owned(), minute).into(),
        ]);
    }
    table
}
