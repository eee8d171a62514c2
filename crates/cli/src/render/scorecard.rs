//! The scorecard for a terminal.

use super::number::{NONE, count, signed, thousands};
use super::style::{DIM, FAILED, HOLDS, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use crate::commands::scorecard::Here;
use crate::settings::Screen;
use deadweight_present::harmless::{closed, short};
use deadweight_scorecard::bar::percent;
use deadweight_scorecard::card::{Bar, Card, Lever, Paid, signed as whole};
use deadweight_scorecard::markdown::{headline, money, stood_down};
use deadweight_store::LeverSum;

fn line(text: &str, screen: Screen) -> String {
    wrap(text, 2, 4, screen.sentence())
}

fn head(card: &Card, screen: Screen) -> String {
    let style = match card.grade.as_str() {
        "A" => HOLDS,
        "F" => FAILED,
        _ => NEEDS_YOU,
    };
    let text = headline(card).replacen(&card.grade, &paint(&card.grade, style), 1);
    line(&format!("{} · {text}", paint("scorecard", STRONG)), screen)
}

/// The card, with what the ledger of this machine shows beside it.
pub(crate) fn text(card: &Card, here: Option<&Here>, screen: Screen) -> String {
    let mut parts = vec![head(card, screen)];
    let debts: String = card
        .debts
        .iter()
        .map(|debt| line(&paint(&format!("owed: {}", debt.text), NEEDS_YOU), screen))
        .collect();
    parts.push(debts);
    parts.push(levers(card, here).draw(2, screen.columns, false));
    parts.push(card.every().map(|lever| details(lever, screen)).collect());
    parts.push(bars(&card.bars).draw(2, screen.columns, false));
    parts.push(basis(here, screen));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn levers(card: &Card, here: Option<&Here>) -> Table {
    let mut heads = vec![
        ("lever", Column::Name),
        ("", Column::Word),
        ("fired", Column::Number),
        ("B", Column::Number),
        ("gross", Column::Number),
        ("net", Column::Number),
    ];
    if here.is_some() {
        heads.extend([("here", Column::Number), ("B", Column::Number)]);
    }
    let mut table = Table::new(&heads, DIM);
    for lever in card.every() {
        let on = if lever.on { Cell::from("on") } else { Cell::from("off").styled(DIM) };
        let mut cells = vec![
            lever.name.as_str().into(),
            on,
            thousands(lever.fired).into(),
            signed(lever.bytes.saturating_neg()).into(),
            money(whole(lever.gross_nanos)).into(),
            Cell::from(money(lever.net_nanos())).styled(sign(lever.net_nanos())),
        ];
        if let Some(here) = here {
            let own = here.levers.iter().find(|own| own.lever == lever.name);
            cells.push(own.map_or_else(|| NONE.to_owned(), |own| thousands(own.edited)).into());
            cells.push(own.map_or_else(|| NONE.to_owned(), |own| signed(own.bytes.saturating_neg())).into());
        }
        table.row(cells);
    }
    table
}

fn sign(nanos: i64) -> anstyle::Style {
    match nanos {
        1.. => HOLDS,
        0 => anstyle::Style::new(),
        _ => FAILED,
    }
}

/// What it attacks, and why it did nothing.
fn details(lever: &Lever, screen: Screen) -> String {
    let mut parts = vec![format!("{} attacks {}", lever.name, lever.attacks)];
    parts.push(format!("fires on {}", count(lever.layouts.len() as u64, "layout", "layouts")));
    if lever.errors > 0 {
        parts.push(paint(&count(lever.errors, "provider error", "provider errors"), FAILED));
    }
    parts.extend(lever.gate.as_ref().map(|gate| format!("off until {gate}")));
    if !lever.stood_down.is_empty() {
        parts.push(format!("stood down: {}", stood_down(lever)));
    }
    paint(&line(&parts.join(" · "), screen), DIM)
}

fn bars(bars: &[Bar]) -> Table {
    let heads = [
        ("must hold", Column::Name),
        ("asked", Column::Number),
        ("found", Column::Number),
        ("", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    for bar in bars {
        let verdict = match bar.holds {
            true => Cell::from("holds").styled(HOLDS),
            false => Cell::from("missed").styled(FAILED),
        };
        table.row(vec![
            bar.what.as_str().into(),
            bar.asked.as_str().into(),
            bar.found.as_str().into(),
            verdict,
        ]);
    }
    table
}

fn basis(here: Option<&Here>, screen: Screen) -> String {
    let mut text = match here {
        None => line("this machine: nothing is recorded yet (deadweight gateway, deadweight run)", screen),
        Some(here) => line(&seen(here), screen),
    };
    let say = "basis: fired, B: receipts of the measured sessions (WITNESSED); gross, net: the lever alone, by the strict \
               provider's bill (≈ ESTIMATED) · all of it: --markdown · others' policies: --compare";
    text.push_str(&paint(&line(say, screen), DIM));
    text
}

fn seen(here: &Here) -> String {
    let mut text = format!(
        "here: {} in the last {}",
        count(here.requests, "request", "requests"),
        count(u64::from(here.days), "day", "days")
    );
    let busy: Vec<&LeverSum> = here.levers.iter().filter(|own| own.edited > 0).collect();
    if busy.is_empty() {
        text.push_str(if here.levers.is_empty() {
            "; no lever was asked"
        } else {
            "; no lever changed anything"
        });
    }
    for own in &here.levers {
        let most =
            own.stood_down.iter().max_by_key(|(reason, count)| (**count, std::cmp::Reverse(reason.as_str())));
        if let Some((reason, count)) = most {
            let (lever, reason) = (closed(short(&own.lever)), closed(short(reason)));
            text.push_str(&format!(" · {lever} stood down {} times, mostly {reason}", thousands(*count)));
        }
    }
    text
}

/// What sessions cost by class and policy.
pub(crate) fn compared(card: &Card, screen: Screen) -> String {
    let mut parts = vec![head(card, screen)];
    for class in &card.classes {
        let heads = [
            (class.name.as_str(), Column::Name),
            ("ended", Column::Number),
            ("passthrough", Column::Number),
            ("gross", Column::Number),
            ("cost", Column::Number),
            ("net", Column::Number),
        ];
        let mut table = Table::new(&heads, DIM);
        class.policies.iter().for_each(|paid| table.row(row(paid)));
        let sessions = paint(&line(&count(class.sessions, "session", "sessions"), screen), DIM);
        parts.push(format!("{}{sessions}", table.draw(2, screen.columns, false)));
    }
    let say = "ended: sessions that a refusal ended; money is that of those that came to their end (≈ ESTIMATED by the strict \
               provider's bill). What a policy makes the model forget, and ask for again, is on no bill.";
    parts.push(paint(&line(say, screen), DIM));
    parts.join("\n")
}

fn row(paid: &Paid) -> Vec<Cell> {
    let ended = Cell::from(thousands(paid.ended)).styled(if paid.ended > 0 { FAILED } else { DIM });
    let name = paid.policy.as_str().into();
    if paid.passthrough_nanos == 0 {
        return vec![name, ended, NONE.into(), NONE.into(), NONE.into(), NONE.into()];
    }
    vec![
        name,
        ended,
        money(whole(paid.passthrough_nanos)).into(),
        money(whole(paid.gross_nanos)).into(),
        money(whole(paid.cost_nanos)).into(),
        Cell::from(percent(paid.net_permille())).styled(sign(paid.net_nanos())),
    ]
}
