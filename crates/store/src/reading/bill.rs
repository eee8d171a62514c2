//! What each tool weighs: its tokens times the turns that carried it, beside what it was used for.

use super::which::{Which, turn};
use crate::call::read;
use crate::error::Error;
use crate::exchange::Origin;
use crate::ledger::{Filter, Ledger};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};
use std::collections::HashMap;

/// One tool and what it weighs. Tokens and money are ESTIMATED, calls WITNESSED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Billed {
    /// Its name as sent.
    pub name: String,
    /// The namespace it stands in; empty where there is none.
    pub namespace: String,
    /// Whose it is.
    pub origin: Origin,
    /// The server's label; empty where it is no server's.
    pub server: String,
    /// Its own name at that server, where it is known; else empty.
    pub own_name: String,
    /// How many turns carried it, deferred or not.
    pub turns: u64,
    /// Of these, in how many its tokens were paid.
    pub paid_turns: u64,
    /// How many sessions.
    pub sessions: u64,
    /// Its tokens in the last turn that carried it.
    pub tokens: u64,
    /// Its tokens times the turns that paid them.
    pub weighted_tokens: u64,
    /// Its share of what the prompts cost, in nano-USD; `None` where nothing has a price.
    pub nano: Option<u64>,
    /// How often the model called it, as the requests say.
    pub calls: u64,
    /// When it was last called, in milliseconds since 1970: by the requests, or by the proxy's own lines.
    pub called_ms: Option<u64>,
    /// How often it was called through our proxy; `None` where it is not known to be behind it.
    pub proxy_calls: Option<u64>,
    /// When it was last carried, in milliseconds since 1970.
    pub last_ms: u64,
    /// The agent that carried it last.
    pub agent: Option<String>,
}

impl Ledger {
    /// The bill of each tool over the exchanges that are meant, the heaviest first.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn bill(&mut self, which: &Which) -> Result<Vec<Billed>, Error> {
        let mut bill = self.carried(which).await.map_err(|error| self.error(&error))?;
        let called = self.called(which).await.map_err(|error| self.error(&error))?;
        let filter = Filter { since_ms: which.since_ms, server: None };
        let of_proxy: HashMap<(String, String), (u64, Option<u64>)> = self
            .usage(filter)
            .await?
            .into_iter()
            .map(|usage| ((usage.server, usage.tool), (usage.totals.calls, usage.totals.last_ms)))
            .collect();
        for one in &mut bill {
            if let Some(&(count, at)) = called.get(&one.name) {
                (one.calls, one.called_ms) = (count, Some(at));
            }
            if !one.own_name.is_empty() {
                let line = of_proxy.get(&(one.server.clone(), one.own_name.clone()));
                one.proxy_calls = Some(line.map_or(0, |line| line.0));
                one.called_ms = one.called_ms.max(line.and_then(|line| line.1));
            }
        }
        Ok(bill)
    }

    /// What each tool weighs.
    async fn carried(&mut self, which: &Which) -> Result<Vec<Billed>, sqlx::Error> {
        // Each set is summed up once a session, and only then spread over its tools. What a token of a turn cost is the cost of its
        // prompt over its tokens.
        let mut query = QueryBuilder::<Sqlite>::new(
            "WITH carried AS MATERIALIZED (SELECT tool_set, session, count(*) AS turns, max(at_ms) AS last_ms, agent, \
             sum(CAST(cost_uncached + cost_read + cost_write_5m + cost_write_1h AS REAL) / nullif(prompt, 0)) AS a_token \
             FROM exchange",
        );
        which.push(&mut query);
        // With one `max` alone, the other columns are those of its row: the last that carried the tool.
        query.push(" AND tool_set IS NOT NULL AND ");
        query.push(turn!()).push(
            " GROUP BY tool_set, session) \
             SELECT name, namespace, origin, server, own_name, sum(turns) AS turns, \
             sum(CASE WHEN deferred = 0 THEN turns ELSE 0 END) AS paid_turns, \
             count(DISTINCT nullif(session, '')) AS sessions, \
             sum(CASE WHEN deferred = 0 THEN turns * tokens ELSE 0 END) AS weighted_tokens, \
             CAST(sum(CASE WHEN deferred = 0 THEN a_token * tokens END) AS INTEGER) AS nano, \
             tokens, max(last_ms) AS last_ms, agent \
             FROM carried JOIN tool_line USING (tool_set) GROUP BY name, namespace, origin, server \
             ORDER BY weighted_tokens DESC, turns DESC, name",
        );
        let rows = query.build().fetch_all(&mut self.connection).await?;
        rows.iter().map(billed).collect()
    }

    /// How often each name was called, and when last.
    async fn called(&mut self, which: &Which) -> Result<HashMap<String, (u64, u64)>, sqlx::Error> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT name, sum(count), max(at_ms) FROM exchange_call JOIN \
             (SELECT number, at_ms FROM exchange",
        );
        which.push(&mut query);
        query.push(") ON number = exchange GROUP BY name");
        let rows: Vec<(String, i64, i64)> = query.build_query_as().fetch_all(&mut self.connection).await?;
        Ok(rows.into_iter().map(|(name, count, at)| (name, (read(count), read(at)))).collect())
    }
}

fn billed(row: &SqliteRow) -> Result<Billed, sqlx::Error> {
    let count = |name: &str| row.try_get::<i64, _>(name).map(read);
    Ok(Billed {
        name: row.try_get("name")?,
        namespace: row.try_get("namespace")?,
        origin: Origin::of_word(&row.try_get::<String, _>("origin")?),
        server: row.try_get("server")?,
        own_name: row.try_get("own_name")?,
        turns: count("turns")?,
        paid_turns: count("paid_turns")?,
        sessions: count("sessions")?,
        tokens: count("tokens")?,
        weighted_tokens: count("weighted_tokens")?,
        nano: row.try_get::<Option<i64>, _>("nano")?.map(read),
        calls: 0,
        called_ms: None,
        proxy_calls: None,
        last_ms: count("last_ms")?,
        agent: row.try_get("agent")?,
    })
}
