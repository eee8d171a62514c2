//! Sums over exchanges.

use super::which::{Which, failed, turn};
use crate::call::{read, stored};
use crate::error::Error;
use crate::ledger::Ledger;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

/// Sums over exchanges. What the provider counted is OBSERVED and `None` where it said nothing at all; what we counted is
/// ESTIMATED, and so is money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Exchanges of every kind.
    pub exchanges: u64,
    /// Those that asked for an answer of a model and got one.
    pub turns: u64,
    /// Turns that were measured.
    pub measured: u64,
    /// Exchanges that failed: requests for an answer that were not answered, others that were refused or broken off.
    pub failed: u64,
    /// Exchanges whose body was sent another than it came.
    pub changed: u64,
    /// Different sessions.
    pub sessions: u64,
    /// Different conversations.
    pub conversations: u64,
    /// Tokens of the system slice over all measured turns, ESTIMATED. So are the next four.
    pub system_tokens: u64,
    /// Tokens of tool definitions.
    pub tools_tokens: u64,
    /// Tokens of history.
    pub history_tokens: u64,
    /// Tokens of tails.
    pub tail_tokens: u64,
    /// Tokens of standing text, which is part of the slices.
    pub standing_tokens: u64,
    /// Turns of which the provider counted the prompt.
    pub observed: u64,
    /// What it counted of prompts, OBSERVED. So are the next four.
    pub prompt: Option<u64>,
    /// Read at the full price.
    pub uncached: Option<u64>,
    /// Read from the cache.
    pub cache_read: Option<u64>,
    /// Written to the cache.
    pub cache_write: Option<u64>,
    /// Answers.
    pub output: Option<u64>,
    /// Exchanges with a price.
    pub priced: u64,
    /// What prompts cost, in nano-USD, ESTIMATED; `None` where nothing has a price.
    pub input_nano: Option<u64>,
    /// Of this, what writing to the cache cost.
    pub write_nano: Option<u64>,
    /// What answers cost, in nano-USD.
    pub output_nano: Option<u64>,
    /// What prompts cost in tokens at the full input price.
    pub equivalent_tokens: Option<u64>,
    /// Tokens that were sent before and had to be read anew, ESTIMATED.
    pub lost_tokens: u64,
    /// What that cost, in nano-USD.
    pub lost_nano: Option<u64>,
    /// When the first began, in milliseconds since 1970.
    pub first_ms: Option<u64>,
    /// When the last one did.
    pub last_ms: Option<u64>,
}

/// The sums of a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// When it begins, in milliseconds since 1970.
    pub start_ms: u64,
    /// The sums of what began in it.
    pub sums: Sums,
}

/// The sums of those that have something in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// What they have in common; `None` where there is nothing to say.
    pub of: Option<String>,
    /// The sums.
    pub sums: Sums,
}

/// What exchanges can have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// The agent.
    Agent,
    /// The model.
    Model,
    /// The provider.
    Provider,
    /// What the cache watch calls them.
    Class,
    /// How they ended.
    Ended,
    /// Why they were not measured.
    Unmeasured,
    /// The conversation.
    Conversation,
    /// The day of the prices.
    PriceDate,
    /// Who counted.
    Estimator,
}

impl By {
    const fn column(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Provider => "provider",
            Self::Class => "class",
            Self::Ended => "ended",
            Self::Unmeasured => "unmeasured",
            Self::Conversation => "conversation",
            Self::PriceDate => "price_date",
            Self::Estimator => "estimator",
        }
    }
}

impl Sums {
    /// The floor over all measured turns, in tokens.
    #[must_use]
    pub const fn floor_tokens(&self) -> u64 {
        self.system_tokens.saturating_add(self.tools_tokens)
    }

    /// All slices over all measured turns, in tokens.
    #[must_use]
    pub const fn sent_tokens(&self) -> u64 {
        self.floor_tokens().saturating_add(self.history_tokens).saturating_add(self.tail_tokens)
    }

    /// The floor of a turn on the average; `None` where none was measured.
    #[must_use]
    pub fn floor_a_turn(&self) -> Option<u64> {
        self.floor_tokens().checked_div(self.measured)
    }

    /// All money, in nano-USD; `None` where nothing has a price.
    #[must_use]
    pub fn nano(&self) -> Option<u64> {
        Some(self.input_nano?.saturating_add(self.output_nano.unwrap_or(0)))
    }
}

/// The columns of [`Sums`], over the table `exchange`.
pub(super) const SUMS: &str = concat!(
    "count(*) AS exchanges, coalesce(sum(",
    turn!(),
    "), 0) AS turns, coalesce(sum(",
    turn!(),
    " AND estimator IS NOT NULL), 0) AS measured, coalesce(sum(",
    failed!(),
    "), 0) AS failed, coalesce(sum(changed), 0) AS changed, ",
    "count(DISTINCT nullif(session, '')) AS sessions, ",
    "count(DISTINCT nullif(conversation, '')) AS conversations, ",
    "coalesce(sum(system_tokens) FILTER (WHERE ",
    turn!(),
    "), 0) AS system_tokens, coalesce(sum(tools_tokens) FILTER (WHERE ",
    turn!(),
    "), 0) AS tools_tokens, coalesce(sum(history_tokens) FILTER (WHERE ",
    turn!(),
    "), 0) AS history_tokens, coalesce(sum(tail_tokens) FILTER (WHERE ",
    turn!(),
    "), 0) AS tail_tokens, coalesce(sum(standing_tokens) FILTER (WHERE ",
    turn!(),
    "), 0) AS standing_tokens, ",
    "coalesce(sum(kind = 'generate' AND prompt IS NOT NULL), 0) AS observed, sum(prompt) AS prompt, ",
    "sum(uncached) AS uncached, sum(cache_read) AS cache_read, ",
    "sum(CASE WHEN coalesce(write_5m, write_1h, write_unspecified) IS NOT NULL THEN coalesce(write_5m, 0) + coalesce(write_1h, 0) + coalesce(write_unspecified, 0) END) AS cache_write, ",
    "sum(output) AS output, coalesce(sum(price_date IS NOT NULL), 0) AS priced, ",
    "sum(cost_uncached + cost_read + cost_write_5m + cost_write_1h) AS input_nano, ",
    "sum(cost_write_5m + cost_write_1h) AS write_nano, sum(cost_output) AS output_nano, ",
    "sum(equivalent_tokens) AS equivalent_tokens, coalesce(sum(lost_tokens) FILTER (WHERE ",
    turn!(),
    "), 0) AS lost_tokens, sum(lost_nano) FILTER (WHERE ",
    turn!(),
    ") AS lost_nano, min(at_ms) AS first_ms, max(at_ms) AS last_ms",
);

pub(super) fn sums(row: &SqliteRow) -> Result<Sums, sqlx::Error> {
    let count = |name: &str| row.try_get::<i64, _>(name).map(read);
    let maybe = |name: &str| Ok::<_, sqlx::Error>(row.try_get::<Option<i64>, _>(name)?.map(read));
    Ok(Sums {
        exchanges: count("exchanges")?,
        turns: count("turns")?,
        measured: count("measured")?,
        failed: count("failed")?,
        changed: count("changed")?,
        sessions: count("sessions")?,
        conversations: count("conversations")?,
        system_tokens: count("system_tokens")?,
        tools_tokens: count("tools_tokens")?,
        history_tokens: count("history_tokens")?,
        tail_tokens: count("tail_tokens")?,
        standing_tokens: count("standing_tokens")?,
        observed: count("observed")?,
        prompt: maybe("prompt")?,
        uncached: maybe("uncached")?,
        cache_read: maybe("cache_read")?,
        cache_write: maybe("cache_write")?,
        output: maybe("output")?,
        priced: count("priced")?,
        input_nano: maybe("input_nano")?,
        write_nano: maybe("write_nano")?,
        output_nano: maybe("output_nano")?,
        equivalent_tokens: maybe("equivalent_tokens")?,
        lost_tokens: count("lost_tokens")?,
        lost_nano: maybe("lost_nano")?,
        first_ms: maybe("first_ms")?,
        last_ms: maybe("last_ms")?,
    })
}

impl Ledger {
    /// The sums of the exchanges that are meant.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn sums(&mut self, which: &Which) -> Result<Sums, Error> {
        let mut query = QueryBuilder::<Sqlite>::new(format!("SELECT {SUMS} FROM exchange"));
        which.push(&mut query);
        let row = query.build().fetch_one(&mut self.connection).await;
        row.and_then(|row| sums(&row)).map_err(|error| self.error(&error))
    }

    /// The same by stretches of `bucket_ms` milliseconds, the earliest first; those in which nothing began are left out.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn series(&mut self, which: &Which, bucket_ms: u64) -> Result<Vec<Bucket>, Error> {
        let bucket = stored(bucket_ms.max(1));
        let mut query = QueryBuilder::<Sqlite>::new("SELECT at_ms - at_ms % ");
        query.push_bind(bucket).push(format!(" AS start_ms, {SUMS} FROM exchange"));
        which.push(&mut query);
        query.push(" GROUP BY 1 ORDER BY 1");
        let rows = query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
        let bucket =
            |row: &SqliteRow| Ok(Bucket { start_ms: read(row.try_get("start_ms")?), sums: sums(row)? });
        rows.iter().map(bucket).collect::<Result<_, _>>().map_err(|error| self.error(&error))
    }

    /// The same by what exchanges have in common, those with most tokens first; at most a hundred groups.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn groups(&mut self, which: &Which, by: By) -> Result<Vec<Group>, Error> {
        let mut query =
            QueryBuilder::<Sqlite>::new(format!("SELECT {} AS of, {SUMS} FROM exchange", by.column()));
        which.push(&mut query);
        query.push(" GROUP BY 1 ORDER BY sum(coalesce(prompt, system_tokens + tools_tokens + history_tokens + tail_tokens)) DESC, exchanges DESC, 1 LIMIT 100");
        let rows = query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
        let group = |row: &SqliteRow| Ok(Group { of: row.try_get("of")?, sums: sums(row)? });
        rows.iter().map(group).collect::<Result<_, _>>().map_err(|error| self.error(&error))
    }
}
