//! Exchanges as rows.

use super::footprint::{Footprint, Segment, Slice, StandingPart};
use super::tools::KnownSets;
use super::{AsReceived, Asked, CacheWatch, Cost, Ended, Exchange, LeverAction, Observed, Receipt, Splice};
use crate::call::{bounded, stored};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The columns that are written, in the order in which [`write`] binds them.
pub(crate) const COLUMNS: [&str; 75] = [
    "id",
    "at_ms",
    "provider",
    "kind",
    "dialect",
    "method",
    "path",
    "model",
    "agent",
    "session",
    "conversation",
    "turn",
    "ended",
    "status",
    "error",
    "request_id",
    "streamed",
    "first_byte_us",
    "took_us",
    "answer_bytes",
    "received_bytes",
    "received_sha256",
    "sent_bytes",
    "sent_sha256",
    "changed",
    "splices",
    "estimator",
    "system_wire",
    "system_content",
    "system_tokens",
    "tools_wire",
    "tools_content",
    "tools_tokens",
    "history_wire",
    "history_content",
    "history_tokens",
    "tail_wire",
    "tail_content",
    "tail_tokens",
    "envelope_bytes",
    "standing",
    "standing_tokens",
    "delta",
    "tool_count",
    "deferred_count",
    "layout",
    "unmeasured",
    "uncached",
    "cache_read",
    "write_5m",
    "write_1h",
    "write_unspecified",
    "output",
    "reasoning",
    "prompt",
    "cost_uncached",
    "cost_read",
    "cost_write_5m",
    "cost_write_1h",
    "cost_output",
    "equivalent_tokens",
    "price_date",
    "class",
    "also",
    "kept_tokens",
    "lost_tokens",
    "lost_nano",
    "gap_ms",
    "miss_reason",
    "agrees",
    "received_class",
    "received_also",
    "received_lost_tokens",
    "received_lost_nano",
    "tool_set",
];

/// Writes one of a name that is not there yet; no row comes back where it is.
static NEW: LazyLock<&str> = LazyLock::new(|| insert("DO NOTHING"));

/// Writes one in the place of that of its name.
static AGAIN: LazyLock<&str> = LazyLock::new(|| {
    let renewed: Vec<String> =
        COLUMNS.iter().skip(1).map(|column| format!("{column} = excluded.{column}")).collect();
    insert(&format!("DO UPDATE SET {}", renewed.join(", ")))
});

/// A statement, made once and kept: as a text that stays, it is found among the prepared ones and copied nowhere.
fn insert(on_conflict: &str) -> &'static str {
    let places = vec!["?"; COLUMNS.len()].join(", ");
    let columns = COLUMNS.join(", ");
    format!(
        "INSERT INTO exchange ({columns}) VALUES ({places}) ON CONFLICT (id) {on_conflict} RETURNING number"
    )
    .leak()
}

/// How much JSON a column takes, in bytes; what is longer is left out whole.
const LONGEST_JSON: usize = 64 * 1_024;

/// Writes one, in the place of one of the same name.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    sets: &mut KnownSets,
    one: &Exchange,
) -> Result<(), sqlx::Error> {
    let set = match &one.tools {
        Some(set) => Some(sets.number(connection, set).await?),
        None => None,
    };
    let number = match row(connection, *NEW, one, set).await? {
        Some(number) => number,
        None => {
            let number = row(connection, *AGAIN, one, set).await?.ok_or(sqlx::Error::RowNotFound)?;
            for table in [
                "DELETE FROM exchange_call WHERE exchange = ?",
                "DELETE FROM lever_action WHERE exchange = ?",
            ] {
                sqlx::query(table).bind(number).execute(&mut *connection).await?;
            }
            number
        }
    };
    for (name, count) in &one.calls {
        sqlx::query("INSERT OR REPLACE INTO exchange_call (exchange, name, count) VALUES (?, ?, ?)")
            .bind(number)
            .bind(bounded(name))
            .bind(stored(*count))
            .execute(&mut *connection)
            .await?;
    }
    if !one.levers.is_empty() {
        // Every lever answers to every request: all of them in one statement.
        let action = |one: &LeverAction| {
            let (lever, reason) = (bounded(&one.lever).to_owned(), bounded(&one.reason).to_owned());
            let done = (stored(one.decided), stored(one.replayed));
            let size = (stored(one.splices), one.bytes, one.tokens);
            let pays = one.break_even.map(stored);
            let names = names(&one.names);
            (lever, u8::from(one.edited), reason, size.0, size.1, size.2, done.0, done.1, pays, names)
        };
        let actions: Vec<_> = one.levers.iter().map(action).collect();
        sqlx::query(
            "INSERT INTO lever_action \
             (exchange, place, lever, edited, reason, splices, bytes, tokens, decided, replayed, break_even, \
             names) SELECT ?1, key, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, \
             value ->> 6, value ->> 7, value ->> 8, value ->> 9 FROM json_each(?2)",
        )
        .bind(number)
        .bind(serde_json::to_string(&actions).unwrap_or_default())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Writes the row; its number, where it was written.
async fn row(
    connection: &mut SqliteConnection,
    sql: &'static str,
    one: &Exchange,
    set: Option<i64>,
) -> Result<Option<i64>, sqlx::Error> {
    let footprint = one.footprint.as_ref();
    let slices = footprint.map(Footprint::slices);
    let usage = &one.usage;
    let cost = one.cost.as_ref();
    let cache = one.cache.as_ref();
    let received = cache.and_then(|cache| cache.received.as_ref());
    let mut query = sqlx::query_as::<_, (i64,)>(sql)
        .bind(bounded(&one.id))
        .bind(stored(one.at_ms))
        .bind(bounded(&one.provider))
        .bind(one.asked.word())
        .bind(one.dialect.as_deref().map(bounded))
        .bind(bounded(&one.method))
        .bind(bounded(&one.path))
        .bind(one.model.as_deref().map(bounded))
        .bind(one.agent.as_deref().map(bounded))
        .bind(bounded(&one.session))
        .bind(bounded(&one.conversation))
        .bind(one.turn.map(stored))
        .bind(bounded(&one.ended.how))
        .bind(one.ended.status.map(i64::from))
        .bind(one.ended.error.as_deref().map(bounded))
        .bind(one.ended.request_id.as_deref().map(bounded))
        .bind(one.ended.streamed)
        .bind(one.ended.first_byte_us.map(stored))
        .bind(stored(one.ended.took_us))
        .bind(stored(one.ended.answer_bytes))
        .bind(stored(one.receipt.received_bytes))
        .bind(one.receipt.received_sha256.as_deref().map(bounded))
        .bind(stored(one.receipt.sent_bytes))
        .bind(one.receipt.sent_sha256.as_deref().map(bounded))
        .bind(one.receipt.changed())
        .bind(json(&one.receipt.splices))
        .bind(footprint.map(|footprint| bounded(&footprint.estimator)));
    for (_, slice) in slices.unwrap_or_default() {
        let known = |number: u64| slices.is_some().then(|| stored(number));
        query =
            query.bind(known(slice.wire_bytes)).bind(known(slice.content_bytes)).bind(known(slice.tokens));
    }
    let row = query
        .bind(footprint.map(|footprint| stored(footprint.envelope_bytes)))
        .bind(footprint.and_then(|footprint| json(&footprint.standing)))
        .bind(footprint.map(|footprint| stored(footprint.standing_tokens())))
        .bind(footprint.and_then(|footprint| footprint.delta.as_deref()).map(bounded))
        .bind(footprint.map(|footprint| stored(footprint.tool_count)))
        .bind(footprint.map(|footprint| stored(footprint.deferred_count)))
        .bind(footprint.and_then(|footprint| json(&tuples(&footprint.layout))))
        .bind(one.unmeasured.as_deref().map(bounded))
        .bind(usage.uncached.map(stored))
        .bind(usage.cache_read.map(stored))
        .bind(usage.cache_write_5m.map(stored))
        .bind(usage.cache_write_1h.map(stored))
        .bind(usage.cache_write_unspecified.map(stored))
        .bind(usage.output.map(stored))
        .bind(usage.reasoning.map(stored))
        .bind(usage.prompt.map(stored))
        .bind(cost.map(|cost| stored(cost.uncached)))
        .bind(cost.map(|cost| stored(cost.cache_read)))
        .bind(cost.map(|cost| stored(cost.cache_write_5m)))
        .bind(cost.map(|cost| stored(cost.cache_write_1h)))
        .bind(cost.map(|cost| stored(cost.output)))
        .bind(cost.and_then(|cost| cost.equivalent_tokens).map(stored))
        .bind(cost.map(|cost| bounded(&cost.price_date)))
        .bind(cache.map(|cache| bounded(&cache.class)))
        .bind(cache.and_then(|cache| json(&cache.also)))
        .bind(cache.map(|cache| stored(cache.kept_tokens)))
        .bind(cache.map(|cache| stored(cache.lost_tokens)))
        .bind(cache.and_then(|cache| cache.lost_nano).map(stored))
        .bind(cache.and_then(|cache| cache.gap_ms).map(stored))
        .bind(cache.and_then(|cache| cache.miss_reason.as_deref()).map(bounded))
        .bind(cache.and_then(|cache| cache.agrees))
        .bind(received.map(|received| bounded(&received.class)))
        .bind(received.and_then(|received| json(&received.also)))
        .bind(received.map(|received| stored(received.lost_tokens)))
        .bind(received.and_then(|received| received.lost_nano).map(stored))
        .bind(set)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|(number,)| number))
}

/// A list as JSON; nothing for an empty one, or one that is too long.
fn json<T: Serialize>(list: &[T]) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    serde_json::to_string(list).ok().filter(|text| text.len() <= LONGEST_JSON)
}

/// Names as JSON, so many as there is room for.
fn names(all: &[String]) -> Option<String> {
    let mut room = LONGEST_JSON;
    let fits = |name: &&str| {
        // In quotes, behind a comma, every byte of it written out in the worst case.
        let takes = name.len() * 6 + 3;
        room = room.saturating_sub(takes);
        room > 0
    };
    let kept: Vec<&str> = all.iter().map(|name| bounded(name)).take_while(fits).collect();
    json(&kept)
}

/// A segment without the names of its members, which would be most of it.
type Tuple<'a> = (&'a str, &'a str, u64, u64, u64, Option<&'a str>);

fn tuples(layout: &[Segment]) -> Vec<Tuple<'_>> {
    fn tuple(one: &Segment) -> Tuple<'_> {
        (&one.slice, &one.kind, one.count, one.content_bytes, one.tokens, one.breakpoint.as_deref())
    }
    let mut out: Vec<Tuple<'_>> = layout.iter().take(Footprint::SEGMENTS).map(tuple).collect();
    if let (Some(last), Some(rest)) = (out.last_mut(), layout.get(Footprint::SEGMENTS..)) {
        for one in rest {
            last.2 = last.2.saturating_add(one.count);
            last.3 = last.3.saturating_add(one.content_bytes);
            last.4 = last.4.saturating_add(one.tokens);
            last.5 = one.breakpoint.as_deref().or(last.5);
        }
    }
    out
}

fn layout(text: Option<String>) -> Vec<Segment> {
    let tuples: Vec<(String, String, u64, u64, u64, Option<String>)> = list(text);
    let segment = |(slice, kind, count, content_bytes, tokens, breakpoint)| Segment {
        slice,
        kind,
        count,
        content_bytes,
        tokens,
        breakpoint,
    };
    tuples.into_iter().map(segment).collect()
}

/// A list of a column. What cannot be read is empty: it is an explanation of numbers that stand beside it.
fn list<T: DeserializeOwned>(text: Option<String>) -> Vec<T> {
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Reads one, without its tools, calls and levers.
pub(crate) fn read(row: &SqliteRow) -> Result<Exchange, sqlx::Error> {
    let text = |name: &str| row.try_get::<Option<String>, _>(name);
    let count = |name: &str| row.try_get::<i64, _>(name).map(crate::call::read);
    let maybe =
        |name: &str| Ok::<_, sqlx::Error>(row.try_get::<Option<i64>, _>(name)?.map(crate::call::read));
    let zero = |name: &str| Ok::<_, sqlx::Error>(maybe(name)?.unwrap_or(0));
    let slice = |name: &str| -> Result<Slice, sqlx::Error> {
        Ok(Slice {
            wire_bytes: zero(&format!("{name}_wire"))?,
            content_bytes: zero(&format!("{name}_content"))?,
            tokens: zero(&format!("{name}_tokens"))?,
        })
    };
    let footprint = match text("estimator")? {
        None => None,
        Some(estimator) => Some(Footprint {
            estimator,
            system: slice("system")?,
            tools: slice("tools")?,
            history: slice("history")?,
            tail: slice("tail")?,
            envelope_bytes: zero("envelope_bytes")?,
            standing: list::<StandingPart>(text("standing")?),
            delta: text("delta")?,
            tool_count: zero("tool_count")?,
            deferred_count: zero("deferred_count")?,
            layout: layout(text("layout")?),
        }),
    };
    let cost = match text("price_date")? {
        None => None,
        Some(price_date) => Some(Cost {
            uncached: zero("cost_uncached")?,
            cache_read: zero("cost_read")?,
            cache_write_5m: zero("cost_write_5m")?,
            cache_write_1h: zero("cost_write_1h")?,
            output: zero("cost_output")?,
            equivalent_tokens: maybe("equivalent_tokens")?,
            price_date,
        }),
    };
    let received = match text("received_class")? {
        None => None,
        Some(class) => Some(AsReceived {
            class,
            also: list(text("received_also")?),
            lost_tokens: zero("received_lost_tokens")?,
            lost_nano: maybe("received_lost_nano")?,
        }),
    };
    let cache = match text("class")? {
        None => None,
        Some(class) => Some(CacheWatch {
            class,
            also: list(text("also")?),
            kept_tokens: zero("kept_tokens")?,
            lost_tokens: zero("lost_tokens")?,
            lost_nano: maybe("lost_nano")?,
            gap_ms: maybe("gap_ms")?,
            miss_reason: text("miss_reason")?,
            agrees: row.try_get("agrees")?,
            received,
        }),
    };
    Ok(Exchange {
        id: row.try_get("id")?,
        at_ms: count("at_ms")?,
        provider: row.try_get("provider")?,
        asked: Asked::of_word(&row.try_get::<String, _>("kind")?),
        dialect: text("dialect")?,
        method: row.try_get("method")?,
        path: row.try_get("path")?,
        model: text("model")?,
        agent: text("agent")?,
        session: row.try_get("session")?,
        conversation: row.try_get("conversation")?,
        turn: maybe("turn")?,
        ended: Ended {
            how: row.try_get("ended")?,
            status: row.try_get::<Option<i64>, _>("status")?.and_then(|status| u16::try_from(status).ok()),
            error: text("error")?,
            request_id: text("request_id")?,
            streamed: row.try_get("streamed")?,
            first_byte_us: maybe("first_byte_us")?,
            took_us: count("took_us")?,
            answer_bytes: count("answer_bytes")?,
        },
        receipt: Receipt {
            received_bytes: count("received_bytes")?,
            received_sha256: text("received_sha256")?,
            sent_bytes: count("sent_bytes")?,
            sent_sha256: text("sent_sha256")?,
            splices: list::<Splice>(text("splices")?),
        },
        footprint,
        unmeasured: text("unmeasured")?,
        usage: Observed {
            uncached: maybe("uncached")?,
            cache_read: maybe("cache_read")?,
            cache_write_5m: maybe("write_5m")?,
            cache_write_1h: maybe("write_1h")?,
            cache_write_unspecified: maybe("write_unspecified")?,
            output: maybe("output")?,
            reasoning: maybe("reasoning")?,
            prompt: maybe("prompt")?,
        },
        cost,
        cache,
        tools: None,
        calls: Vec::new(),
        levers: Vec::new(),
    })
}

/// Reads into exchanges, each with the number of its row, what was called and what levers did: one query for all of them.
pub(crate) async fn details(
    connection: &mut SqliteConnection,
    all: &mut [(i64, Exchange)],
) -> Result<(), sqlx::Error> {
    let numbers: Vec<i64> = all.iter().map(|(number, _)| *number).collect();
    let numbers = serde_json::to_string(&numbers).unwrap_or_default();
    let rows = sqlx::query(
        "WITH meant AS (SELECT value AS exchange FROM json_each(?)) \
         SELECT exchange, NULL AS place, name, count, NULL AS edited, NULL AS reason, NULL AS splices, NULL AS bytes, \
         NULL AS tokens, NULL AS decided, NULL AS replayed, NULL AS break_even, NULL AS names FROM meant CROSS JOIN exchange_call USING (exchange) \
         UNION ALL \
         SELECT exchange, place, lever, NULL, edited, reason, splices, bytes, tokens, decided, replayed, break_even, \
         names FROM meant CROSS JOIN lever_action USING (exchange) ORDER BY exchange, place, count DESC, name",
    )
    .bind(numbers)
    .fetch_all(connection)
    .await?;
    let places: HashMap<i64, usize> = all.iter().enumerate().map(|(at, (number, _))| (*number, at)).collect();
    for row in &rows {
        let place = places.get(&row.try_get::<i64, _>("exchange")?);
        let Some((_, one)) = place.and_then(|&at| all.get_mut(at)) else { continue };
        let name = row.try_get("name")?;
        match row.try_get::<Option<i64>, _>("count")? {
            Some(count) => one.calls.push((name, crate::call::read(count))),
            None => one.levers.push(LeverAction {
                lever: name,
                edited: row.try_get("edited")?,
                decided: row.try_get::<i64, _>("decided").map(crate::call::read)?,
                replayed: row.try_get::<i64, _>("replayed").map(crate::call::read)?,
                reason: row.try_get("reason")?,
                splices: row.try_get::<i64, _>("splices").map(crate::call::read)?,
                bytes: row.try_get("bytes")?,
                tokens: row.try_get("tokens")?,
                break_even: row.try_get::<Option<i64>, _>("break_even")?.map(crate::call::read),
                names: list(row.try_get("names")?),
            }),
        }
    }
    Ok(())
}
