//! What the ledger has of one request or of one session, for a terminal.

use super::harmless::{closed, harmless, short};
use super::number::{NONE, bytes, count, estimated, share, thousands};
use super::style::{self, DIM, FAILED, HOLDS, NEEDS_YOU, STRONG, paint};
use super::table::{Cell, Column, Table, wrap};
use super::words;
use crate::commands::ledger::Session;
use crate::settings::Screen;
use deadweight_present::money::estimated_usd;
use deadweight_present::time::{span, stamp};
use deadweight_present::words::{break_even, class};
use deadweight_store::{AsReceived, CacheWatch, Exchange, Footprint, Observed, Origin, Side, Sums, ToolLine};
use std::path::PathBuf;

/// The longest name of a request that stands in a table.
const NAME: usize = 8;

fn named(text: &str) -> String {
    closed(short(text)).into_owned()
}

fn line(text: &str, screen: Screen) -> String {
    wrap(text, 2, 4, screen.sentence())
}

fn maybe(number: Option<u64>) -> String {
    number.map_or_else(|| NONE.to_owned(), thousands)
}

fn micros(us: u64) -> String {
    span(us / 1_000)
}

/// One request.
/// `kept` are the files of its bodies, where they are kept.
pub(crate) fn request(one: &Exchange, kept: &[(Side, PathBuf)], top: u32, screen: Screen) -> String {
    let mut parts = vec![head(one, screen)];
    match &one.footprint {
        Some(footprint) => parts.push(slices(footprint).draw(2, screen.columns, screen.terminal)),
        None => {
            let why = one.unmeasured.as_deref().unwrap_or("nothing in it is a prompt");
            parts.push(line(&format!("not measured: {}", named(why)), screen));
        }
    }
    parts.push(counted(one, screen));
    parts.push(receipt(one, screen));
    parts.push(bodies(kept));
    if let Some(set) = &one.tools {
        parts.push(tools(set.tools(), &one.calls, top).draw(2, screen.columns, screen.terminal));
    }
    let levers: String = one
        .levers
        .iter()
        .map(|action| {
            let mut what = if action.edited {
                format!("{} (≈ {} tok)", count(action.splices, "splice", "splices"), signed(action.tokens))
            } else {
                format!("stood down ({})", named(&action.reason))
            };
            if !action.names.is_empty() {
                let names: Vec<String> = action.names.iter().map(|name| named(name)).collect();
                what = format!("{what}, left out: {}", names.join(", "));
            }
            if let Some(requests) = action.break_even {
                what = format!("{what}, {}", break_even(action.edited, requests));
            }
            line(&format!("{}: {what}", named(&action.lever)), screen)
        })
        .collect();
    parts.push(levers);
    if let Some(footprint) = &one.footprint {
        let basis = format!(
            "basis: ≈ is estimator {}; the provider counted what has no ≈",
            named(&footprint.estimator)
        );
        parts.push(format!("{}\n", paint(line(&basis, screen).trim_end(), DIM)));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Paths are not wrapped: they are to be copied.
fn bodies(kept: &[(Side, PathBuf)]) -> String {
    let file = |(side, file): &(Side, PathBuf)| {
        format!("  body kept as {}: {}\n", side.word(), harmless(&file.display().to_string()))
    };
    kept.iter().map(file).collect()
}

fn signed(number: i64) -> String {
    super::number::signed(number.saturating_neg())
}

fn head(one: &Exchange, screen: Screen) -> String {
    let mut first = vec![
        paint(&named(&one.id), STRONG),
        named(&one.provider),
        format!("{} {}", named(&one.method), named(&one.path)),
    ];
    first.extend(one.model.as_deref().map(named));
    let mut second = vec![stamp(one.at_ms)];
    second.extend(one.agent.as_deref().map(named));
    if !one.session.is_empty() {
        second.push(format!("session {}", named(&one.session)));
    }
    second.extend(one.turn.map(|turn| format!("turn {}", thousands(turn))));
    let mut third = vec![how(one)];
    third.extend(one.ended.first_byte_us.map(|us| format!("first byte after {}", micros(us))));
    third.push(format!("{} in all", micros(one.ended.took_us)));
    third.push(format!("{} of answer", bytes(one.ended.answer_bytes)));
    third.extend(one.ended.request_id.as_deref().map(|id| format!("the provider calls it {}", named(id))));
    [first, second, third].iter().map(|parts| line(&parts.join(" · "), screen)).collect()
}

/// How it ended: its status, where all went well.
fn how(one: &Exchange) -> String {
    let mut out = one.ended.how.replace('_', " ");
    if let Some(status) = one.ended.status {
        out = format!("{out}, {status}");
    }
    if let Some(error) = &one.ended.error {
        out = format!("{out} {}", named(error));
    }
    let fine = one.ended.how == "complete" && one.ended.status.is_some_and(|status| status < 400);
    paint(&out, if fine || one.ended.how == "open" { style::HOLDS } else { FAILED })
}

fn slices(footprint: &Footprint) -> Table {
    let heads = [
        ("tok", Column::Number),
        ("read B", Column::Number),
        ("sent B", Column::Number),
        ("slice", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    let heaviest = footprint.slices().iter().map(|(_, slice)| slice.tokens).max().unwrap_or(0);
    for (name, slice) in footprint.slices() {
        let cells = vec![
            estimated(slice.tokens).into(),
            thousands(slice.content_bytes).into(),
            thousands(slice.wire_bytes).into(),
            name.into(),
        ];
        table.row_with_bar(cells, slice.tokens, heaviest, style::slice(name));
    }
    let sum = |tokens: u64, what: &str| {
        let empty = || Cell::from("");
        vec![
            Cell::from(estimated(tokens)).styled(STRONG),
            empty(),
            empty(),
            Cell::from(what).styled(STRONG).running_on(),
        ]
    };
    table.row(sum(footprint.floor(), "floor: system + tools, on every turn"));
    match (footprint.total(), &footprint.delta) {
        (Some(total), _) => table.row(sum(total, "total")),
        (None, delta) => {
            let why = words::delta(delta.as_deref().unwrap_or_default());
            table.row(sum(footprint.sent(), &format!("as far as it was sent: {why}")));
        }
    }
    if footprint.standing_tokens() > 0 {
        let kinds: Vec<String> = footprint.standing.iter().map(|part| words::standing(&part.kind)).collect();
        let what = format!("of these standing text ({})", kinds.join(", "));
        let mut cells = sum(footprint.standing_tokens(), &what);
        cells.iter_mut().for_each(|cell| cell.style = DIM);
        table.row(cells);
    }
    table
}

/// What the provider counted, what it costs, what the cache made of it.
fn counted(one: &Exchange, screen: Screen) -> String {
    let mut out = String::new();
    let usage = &one.usage;
    if *usage != Observed::default() {
        out += &line(&format!("counted by the provider: {}", observed(usage)), screen);
    }
    if let Some(cost) = &one.cost {
        let of_writes = cost.cache_write_5m + cost.cache_write_1h;
        let text = format!(
            "{}: prompt {} (of it cache writes {}), answer {} · prices of {}",
            paint(&estimated_usd(cost.total()), STRONG),
            estimated_usd(cost.input()),
            estimated_usd(of_writes),
            estimated_usd(cost.output),
            named(&cost.price_date)
        );
        out += &line(&text, screen);
    } else if usage.prompt.is_some() {
        out += &line(&format!("cost {NONE}: the model has no known price"), screen);
    }
    if let Some(cache) = &one.cache {
        out += &line(&watched(cache), screen);
        if let Some(received) = &cache.received {
            out += &line(&as_received(received), screen);
        }
    }
    out
}

fn observed(usage: &Observed) -> String {
    format!(
        "prompt {} tok = {} uncached + {} read from the cache + {} written to it; answer {} tok",
        maybe(usage.prompt),
        maybe(usage.uncached),
        maybe(usage.cache_read),
        maybe(usage.cache_write()),
        maybe(usage.output)
    )
}

fn watched(cache: &CacheWatch) -> String {
    let mut out = format!("cache: {}", class(&cache.class));
    if !cache.also.is_empty() {
        let also: Vec<String> = cache.also.iter().map(|word| class(word)).collect();
        out = format!("{out}, and {}", also.join(", "));
    }
    if let Some(gap) = cache.gap_ms {
        out = format!("{out} · {} after the turn before", span(gap));
    }
    out = format!("{out} · ≈ {} tok kept", thousands(cache.kept_tokens));
    if cache.lost_tokens > 0 {
        let lost = format!("≈ {} tok had to be read anew", thousands(cache.lost_tokens));
        out = format!("{out}, {}", paint(&lost, NEEDS_YOU));
        if let Some(nano) = cache.lost_nano {
            out = format!("{out} ({})", estimated_usd(nano));
        }
    }
    if let Some(reason) = &cache.miss_reason {
        out = format!("{out} · the provider says {}", named(reason));
    }
    match cache.agrees {
        Some(true) => format!("{out} · its counters agree"),
        Some(false) => format!("{out} · {}", paint("its counters contradict", NEEDS_YOU)),
        None => out,
    }
}

/// What the client did, and what that would have cost without levers.
fn as_received(received: &AsReceived) -> String {
    let words: Vec<String> =
        std::iter::once(&received.class).chain(&received.also).map(|word| class(word)).collect();
    let lost = match (received.lost_tokens, received.lost_nano) {
        (0, _) => "nothing".to_owned(),
        (tokens, None) => format!("≈ {} tok", thousands(tokens)),
        (tokens, Some(nano)) => format!("≈ {} tok ({})", thousands(tokens), estimated_usd(nano)),
    };
    format!("without levers: {} · {lost} would have had to be read anew", words.join(", and "))
}

fn receipt(one: &Exchange, screen: Screen) -> String {
    let receipt = &one.receipt;
    let hash = |hash: &Option<String>| hash.as_deref().map_or_else(|| NONE.to_owned(), named);
    let mut out = String::new();
    if receipt.changed() {
        let text = format!(
            "{}: {} received, {} sent",
            paint("the body was changed", NEEDS_YOU),
            bytes(receipt.received_bytes),
            bytes(receipt.sent_bytes)
        );
        out += &line(&text, screen);
        for splice in &receipt.splices {
            let text = format!(
                "at byte {}: −{} B +{} B by {}",
                thousands(splice.at),
                thousands(splice.removed),
                thousands(splice.inserted),
                named(&splice.lever)
            );
            out += &wrap(&text, 4, 6, screen.sentence());
        }
        out += &line(&format!("sha256 received {}", hash(&receipt.received_sha256)), screen);
        out += &line(&format!("sha256 sent     {}", hash(&receipt.sent_sha256)), screen);
    } else {
        let text = format!(
            "{}: {} sent as they came",
            paint("body unchanged", HOLDS),
            bytes(receipt.received_bytes)
        );
        out += &line(&text, screen);
        if receipt.received_sha256.is_some() {
            out += &line(&format!("sha256 {}", hash(&receipt.received_sha256)), screen);
        }
    }
    out
}

fn tools(tools: &[ToolLine], calls: &[(String, u64)], top: u32) -> Table {
    let heads = [
        ("tok", Column::Number),
        ("B", Column::Number),
        ("called", Column::Number),
        ("tool", Column::Name),
        ("whose", Column::Name),
    ];
    let mut table = Table::new(&heads, DIM);
    let mut sorted: Vec<&ToolLine> = tools.iter().collect();
    sorted.sort_by_key(|tool| (tool.deferred, std::cmp::Reverse(tool.tokens)));
    let shown = if top == 0 { sorted.len() } else { sorted.len().min(top as usize) };
    let heaviest = sorted.first().map_or(0, |tool| tool.tokens);
    for tool in sorted.iter().take(shown) {
        let called = calls.iter().find(|(name, _)| *name == tool.name).map(|(_, count)| *count);
        let whose = match tool.origin {
            Origin::Builtin => "built-in".to_owned(),
            Origin::Mcp => named(&tool.server),
            Origin::Unknown => "unknown".to_owned(),
        };
        let weight =
            if tool.deferred { Cell::from("deferred").styled(DIM) } else { estimated(tool.tokens).into() };
        let called = called.map_or_else(String::new, thousands);
        let cells =
            vec![weight, thousands(tool.bytes).into(), called.into(), named(&tool.name).into(), whose.into()];
        let weight = if tool.deferred { 0 } else { tool.tokens };
        table.row_with_bar(cells, weight, heaviest, style::BAR);
    }
    if let Some(rest) = sorted.get(shown..).filter(|rest| !rest.is_empty()) {
        let tokens = rest.iter().filter(|tool| !tool.deferred).map(|tool| tool.tokens).sum();
        let bytes = rest.iter().map(|tool| tool.bytes).sum();
        let text = format!("{} (--top 0 shows all)", count(rest.len() as u64, "more tool", "more tools"));
        table.row(vec![
            Cell::from(estimated(tokens)).styled(DIM),
            Cell::from(thousands(bytes)).styled(DIM),
            Cell::from(""),
            Cell::from(text).styled(DIM).running_on(),
            Cell::from(""),
        ]);
    }
    table
}

/// One session.
pub(crate) fn session(session: &Session, screen: Screen) -> String {
    let sums = &session.sums;
    let mut out = line(&headline(&session.key, sums), screen);
    out += &line(&cached(session), screen);
    let unchanged = sums.exchanges.saturating_sub(sums.changed);
    let all = thousands(sums.exchanges);
    out += &line(&format!("bodies unchanged: {} of {all}", thousands(unchanged)), screen);
    out.push('\n');
    out += &turns(session).draw(2, screen.columns, screen.terminal);
    let hidden = sums.exchanges.saturating_sub(session.turns.len() as u64);
    if hidden > 0 {
        let text = format!("{} before these (--top 0 shows all)", count(hidden, "request", "requests"));
        out += &format!("{}\n", paint(line(&text, screen).trim_end(), DIM));
    }
    out
}

fn headline(key: &str, sums: &Sums) -> String {
    let mut parts = vec![paint(&named(key), STRONG), count(sums.turns, "turn", "turns")];
    if sums.failed > 0 {
        parts.push(paint(&format!("{} not answered", thousands(sums.failed)), NEEDS_YOU));
    }
    match (sums.prompt, sums.equivalent_tokens) {
        (Some(prompt), Some(equivalent)) => parts.push(format!(
            "{} tok in (billed as ≈ {} full-price equivalents)",
            thousands(prompt),
            thousands(equivalent)
        )),
        (Some(prompt), None) => parts.push(format!("{} tok in", thousands(prompt))),
        (None, _) => parts.push(format!("{} tok in", estimated(sums.sent_tokens()))),
    }
    parts.extend(sums.floor_a_turn().map(|floor| format!("floor {} tok a turn", estimated(floor))));
    parts.extend(sums.nano().map(|nano| paint(&estimated_usd(nano), STRONG)));
    parts.join(" · ")
}

fn cached(session: &Session) -> String {
    let sums = &session.sums;
    let read = match (sums.cache_read, sums.prompt) {
        (Some(read), Some(prompt)) => format!("cache: {} read", share(read, prompt)),
        _ => format!("cache: {NONE} read"),
    };
    let lost: Vec<String> = session
        .classes
        .iter()
        .filter(|group| group.sums.lost_tokens > 0)
        .map(|group| {
            let class = class(group.of.as_deref().unwrap_or("unknown"));
            format!(
                "{class} ({}, ≈ {} tok)",
                count(group.sums.turns, "turn", "turns"),
                thousands(group.sums.lost_tokens)
            )
        })
        .collect();
    if lost.is_empty() { read } else { format!("{read} · read anew: {}", lost.join(", ")) }
}

fn turns(session: &Session) -> Table {
    let heads = [
        ("turn", Column::Number),
        ("floor", Column::Number),
        ("total", Column::Number),
        ("counted", Column::Number),
        ("read", Column::Number),
        ("written", Column::Number),
        ("request", Column::Word),
        ("", Column::Word),
    ];
    let mut table = Table::new(&heads, DIM);
    for one in &session.turns {
        let footprint = one.footprint.as_ref();
        let of = |tokens: Option<u64>| tokens.map_or_else(|| NONE.to_owned(), estimated);
        let class = one.cache.as_ref().map(|cache| {
            let text = class(&cache.class);
            if cache.lost_tokens > 0 {
                Cell::from(text).styled(NEEDS_YOU)
            } else {
                Cell::from(text).styled(DIM)
            }
        });
        let fine = one.ended.status.is_some_and(|status| status < 400);
        let what = if fine { class.unwrap_or_default() } else { Cell::from(how(one)) };
        table.row(vec![
            one.turn.map_or_else(|| NONE.to_owned(), thousands).into(),
            of(footprint.map(Footprint::floor)).into(),
            of(footprint.map(Footprint::sent)).into(),
            maybe(one.usage.prompt).into(),
            maybe(one.usage.cache_read).into(),
            maybe(one.usage.cache_write()).into(),
            one.id.chars().take(NAME).collect::<String>().into(),
            what,
        ]);
    }
    table
}
