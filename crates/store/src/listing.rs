//! What was listed of a server, and what that saves: one row for each server and client, the last one counts.

use crate::call::{bounded, read, stored};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

/// What a client was listed of a server. Tokens are ESTIMATED, by the estimator that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The name of the entry that served it.
    pub entry: String,
    /// The server's label; empty for all servers of an entry together.
    pub server: String,
    /// The client's name as it gives it; empty where it gives none.
    pub client: String,
    /// When, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// The surface: `eager`, `stubs` or `search`.
    pub surface: String,
    /// Whether its tools were deferred.
    pub deferred: bool,
    /// Why, in a sentence without a full stop.
    pub why: String,
    /// How many tools it has.
    pub tools: u64,
    /// Who counted.
    pub estimator: String,
    /// Tokens of its definitions as they are.
    pub before_tokens: u64,
    /// Tokens of what is listed of them.
    pub after_tokens: u64,
    /// Tokens of what is listed besides: loaders. 0 where they are there for several servers.
    pub own_tokens: u64,
    /// What is saved on every turn before that is paid for.
    pub gross_tokens: i64,
    /// What is saved after it is.
    pub net_tokens: i64,
    /// Tokens of one load, on the average.
    pub load_tokens: u64,
    /// After how many loads nothing is saved; `None` where nothing can be loaded.
    pub break_even: Option<u64>,
}

/// Writes a row in the place of the one before.
pub(crate) async fn write(connection: &mut SqliteConnection, one: &Listing) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT OR REPLACE INTO listing (entry, server, client, at_ms, surface, deferred, why, tools, estimator, \
         before_tokens, after_tokens, own_tokens, gross_tokens, net_tokens, load_tokens, break_even) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(bounded(&one.entry))
    .bind(bounded(&one.server))
    .bind(bounded(&one.client))
    .bind(stored(one.at_ms))
    .bind(bounded(&one.surface))
    .bind(one.deferred)
    .bind(bounded(&one.why))
    .bind(stored(one.tools))
    .bind(bounded(&one.estimator))
    .bind(stored(one.before_tokens))
    .bind(stored(one.after_tokens))
    .bind(stored(one.own_tokens))
    .bind(one.gross_tokens)
    .bind(one.net_tokens)
    .bind(stored(one.load_tokens))
    .bind(one.break_even.map(stored))
    .execute(connection)
    .await
    .map(drop)
}

/// Reads all rows.
pub(crate) async fn all(connection: &mut SqliteConnection) -> Result<Vec<Listing>, sqlx::Error> {
    let rows =
        sqlx::query("SELECT * FROM listing ORDER BY entry, server, client").fetch_all(connection).await?;
    rows.iter().map(listing).collect()
}

fn listing(row: &SqliteRow) -> Result<Listing, sqlx::Error> {
    let count = |name: &str| row.try_get::<i64, _>(name).map(read);
    Ok(Listing {
        entry: row.try_get("entry")?,
        server: row.try_get("server")?,
        client: row.try_get("client")?,
        at_ms: count("at_ms")?,
        surface: row.try_get("surface")?,
        deferred: row.try_get("deferred")?,
        why: row.try_get("why")?,
        tools: count("tools")?,
        estimator: row.try_get("estimator")?,
        before_tokens: count("before_tokens")?,
        after_tokens: count("after_tokens")?,
        own_tokens: count("own_tokens")?,
        gross_tokens: row.try_get("gross_tokens")?,
        net_tokens: row.try_get("net_tokens")?,
        load_tokens: count("load_tokens")?,
        break_even: row.try_get::<Option<i64>, _>("break_even")?.map(read),
    })
}
