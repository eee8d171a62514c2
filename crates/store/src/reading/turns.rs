//! Exchanges one by one.

use super::which::{Page, Which};
use crate::call::{read, stored};
use crate::error::Error;
use crate::exchange::{self, Exchange};
use crate::ledger::Ledger;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

/// The order of exchanges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last first.
    #[default]
    Newest,
    /// The first first.
    Oldest,
    /// Those that wrote most to the cache first.
    Written,
    /// Those that lost most of it first.
    Lost,
    /// The dearest first.
    Money,
    /// The slowest first.
    Slowest,
    /// The largest first.
    Tokens,
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::Newest => "at_ms DESC, number DESC",
            Self::Oldest => "at_ms, number",
            Self::Written => {
                "coalesce(write_5m, 0) + coalesce(write_1h, 0) + coalesce(write_unspecified, 0) DESC, at_ms DESC"
            }
            Self::Lost => "coalesce(lost_tokens, 0) DESC, at_ms DESC",
            Self::Money => {
                "coalesce(cost_uncached + cost_read + cost_write_5m + cost_write_1h + cost_output, 0) DESC, at_ms DESC"
            }
            Self::Slowest => "took_us DESC, at_ms DESC",
            Self::Tokens => {
                "coalesce(prompt, system_tokens + tools_tokens + history_tokens + tail_tokens, 0) DESC, at_ms DESC"
            }
        }
    }
}

/// The few exchanges that lost most of the cache.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Leaks {
    /// They, the largest loss first; without their tools.
    pub exchanges: Vec<Exchange>,
    /// What they lost together, in tokens, ESTIMATED.
    pub tokens: u64,
    /// What all that are meant lost.
    pub of_tokens: u64,
    /// What they wrote to the cache together, OBSERVED.
    pub written: u64,
    /// What all that are meant wrote.
    pub of_written: u64,
    /// How many exchanges are meant.
    pub of_turns: u64,
}

/// The turns before and after one, in its conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Neighbours {
    /// The id of the one before.
    pub before: Option<String>,
    /// The id of the one after.
    pub after: Option<String>,
}

impl Ledger {
    /// The exchanges that are meant, without their tools, calls and levers.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn exchanges(
        &mut self,
        which: &Which,
        order: Order,
        page: Page,
    ) -> Result<Vec<Exchange>, Error> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM exchange");
        which.push(&mut query);
        query.push(" ORDER BY ").push(order.sql());
        page.push(&mut query);
        let rows = query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
        rows.iter().map(exchange::read).collect::<Result<_, _>>().map_err(|error| self.error(&error))
    }

    /// The same with what was called and what levers did, in two queries however many they are; still without their tools.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn turns(&mut self, which: &Which, order: Order, page: Page) -> Result<Vec<Exchange>, Error> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM exchange");
        which.push(&mut query);
        query.push(" ORDER BY ").push(order.sql());
        page.push(&mut query);
        let rows = query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
        let numbered = |row: &SqliteRow| Ok((row.try_get("number")?, exchange::read(row)?));
        let all: Result<Vec<(i64, Exchange)>, sqlx::Error> = rows.iter().map(numbered).collect();
        let mut all = all.map_err(|error| self.error(&error))?;
        let told = exchange::details(&mut self.connection, &mut all).await;
        told.map_err(|error| self.error(&error))?;
        Ok(all.into_iter().map(|(_, one)| one).collect())
    }

    /// The exchange of that name, with everything; the beginning of a name will do where only one begins so.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn exchange(&mut self, id: &str) -> Result<Option<Exchange>, Error> {
        let found = self.find(id).await;
        found.map_err(|error| self.error(&error))
    }

    async fn find(&mut self, id: &str) -> Result<Option<Exchange>, sqlx::Error> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(None);
        }
        // A range finds a beginning by the index; no id goes on with a character after `~`.
        let rows =
            sqlx::query("SELECT * FROM exchange WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT 2")
                .bind(id)
                .fetch_all(&mut self.connection)
                .await?;
        let exact = |row: &&SqliteRow| row.try_get::<String, _>("id").is_ok_and(|own| own == id);
        let row = match rows.as_slice() {
            [one] => one,
            many => match many.iter().find(exact) {
                Some(one) => one,
                None => return Ok(None),
            },
        };
        let mut all = [(row.try_get("number")?, exchange::read(row)?)];
        exchange::details(&mut self.connection, &mut all).await?;
        let [(_, mut one)] = all;
        if let Some(set) = row.try_get::<Option<i64>, _>("tool_set")? {
            one.tools = exchange::read_set(&mut self.connection, set).await?;
        }
        Ok(Some(one))
    }

    /// The turns before and after one, in its conversation.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn neighbours(&mut self, one: &Exchange) -> Result<Neighbours, Error> {
        let mut found = Neighbours::default();
        if one.session.is_empty() {
            return Ok(found);
        }
        let sides = [
            (&mut found.before, "(at_ms, id) < (?3, ?4) ORDER BY at_ms DESC, id DESC"),
            (&mut found.after, "(at_ms, id) > (?3, ?4) ORDER BY at_ms, id"),
        ];
        for (slot, side) in sides {
            let sql = format!(
                "SELECT id FROM exchange WHERE session = ?1 AND conversation = ?2 AND kind = 'generate' AND {side} LIMIT 1"
            );
            let id: Result<Option<(String,)>, _> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
                .bind(&one.session)
                .bind(&one.conversation)
                .bind(stored(one.at_ms))
                .bind(&one.id)
                .fetch_optional(&mut self.connection)
                .await;
            *slot = id.map_err(|error| Error::of_sqlite(&self.file, &error))?.map(|(id,)| id);
        }
        Ok(found)
    }

    /// The `most` exchanges that lost most of the cache, of those that are meant.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn leaks(&mut self, which: &Which, most: u32) -> Result<Leaks, Error> {
        let all = self.sums(which).await?;
        // What was not answered read nothing anew.
        let answered = Which { answered_only: true, ..which.clone() };
        let mut exchanges = self.exchanges(&answered, Order::Lost, Page::first(most)).await?;
        exchanges.retain(|one| one.cache.as_ref().is_some_and(|cache| cache.lost_tokens > 0));
        let lost = |one: &Exchange| one.cache.as_ref().map_or(0, |cache| cache.lost_tokens);
        Ok(Leaks {
            tokens: exchanges.iter().map(lost).fold(0, u64::saturating_add),
            of_tokens: all.lost_tokens,
            written: exchanges.iter().filter_map(|one| one.usage.cache_write()).fold(0, u64::saturating_add),
            of_written: all.cache_write.unwrap_or(0),
            of_turns: all.turns,
            exchanges,
        })
    }

    /// The session whose key begins so, where only one does.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn session_that_begins(&mut self, text: &str) -> Result<Option<String>, Error> {
        let sql = "SELECT DISTINCT session FROM exchange WHERE session >= ?1 AND session < ?1 || char(1114111) \
                   ORDER BY session LIMIT 2";
        let found: Vec<(String,)> = sqlx::query_as(sql)
            .bind(text)
            .fetch_all(&mut self.connection)
            .await
            .map_err(|error| self.error(&error))?;
        let exact = found.iter().position(|(session,)| session == text);
        let at = exact.or((found.len() == 1).then_some(0));
        Ok(at
            .and_then(|at| found.into_iter().nth(at))
            .map(|(session,)| session)
            .filter(|session| !session.is_empty()))
    }

    /// How many exchanges are meant.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn count(&mut self, which: &Which) -> Result<u64, Error> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT count(*) FROM exchange");
        which.push(&mut query);
        let count: Result<(i64,), _> = query.build_query_as().fetch_one(&mut self.connection).await;
        count.map(|(count,)| read(count)).map_err(|error| self.error(&error))
    }
}
