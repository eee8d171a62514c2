//! What is too old, thrown away; and the room it took, given back.

use crate::call::{read, stored};
use crate::clock::DAY;
use crate::error::Error;
use crate::schema::{self, Access};
use crate::time::{millis, now_ms};
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Executor};
use std::path::Path;
use std::time::Duration;

/// How many lines are thrown away in one transaction: others want to write meanwhile.
const STEP: i64 = 2_000;

/// How many lines were thrown away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Exchanges.
    pub exchanges: u64,
    /// Calls, loads and searches.
    pub calls: u64,
    /// Sets of tools that no exchange carries any more.
    pub tool_sets: u64,
    /// What was remembered of conversations.
    pub lineages: u64,
}

/// The size of a ledger before and after its empty room was given back, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Vacuumed {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// Throws away the lines of the ledger in `file` that are older than `before_ms`, in milliseconds since 1970; `None` where
/// there is no ledger.
///
/// # Errors
///
/// When it cannot be written. What was thrown away until then is gone.
pub async fn prune(file: &Path, before_ms: u64) -> Result<Option<Pruned>, Error> {
    let Some(mut connection) = open(file).await? else { return Ok(None) };
    let pruned =
        older_than(&mut connection, before_ms).await.map_err(|error| Error::of_sqlite(file, &error))?;
    connection.close().await.map_err(|error| Error::of_sqlite(file, &error))?;
    Ok(Some(pruned))
}

/// Gives the room that thrown-away lines took back to the disk; `None` where there is no ledger. It writes the file anew,
/// for which the disk needs as much room again; others that write wait for it.
///
/// # Errors
///
/// When it cannot be written. The ledger is then as it was.
pub async fn vacuum(file: &Path) -> Result<Option<Vacuumed>, Error> {
    let of_sqlite = |error| Error::of_sqlite(file, &error);
    let Some(mut connection) = open(file).await? else { return Ok(None) };
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await.map_err(of_sqlite)?;
    let before = size(file);
    connection.execute("VACUUM").await.map_err(of_sqlite)?;
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await.map_err(of_sqlite)?;
    connection.close().await.map_err(of_sqlite)?;
    Ok(Some(Vacuumed { before, after: size(file) }))
}

async fn open(file: &Path) -> Result<Option<SqliteConnection>, Error> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::of_io(file, &error)),
        Ok(metadata) if metadata.len() == 0 => return Ok(None),
        Ok(_) => {}
    }
    schema::open(file, Access::Write).await.map(Some)
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map(|metadata| metadata.len()).unwrap_or(0)
}

/// Throws away what nobody asked to keep for longer, without being told to: as late as it is for certain.
///
/// One reading of the clock is not believed (see [`crate::clock`]). Here the lines themselves are readings: it is as late as
/// the last line says that was written before today. With a clock that is wrong for a day, nothing that is wanted goes; what a
/// person orders ([`prune`]) is done at once.
pub(crate) async fn by_itself(
    connection: &mut SqliteConnection,
    retention: Duration,
) -> Result<Pruned, sqlx::Error> {
    let yesterday = stored(now_ms().saturating_sub(DAY));
    // (`+`: from the end, not by the index of times.) The last that was written, not the one with the latest time: what a wrong clock wrote before does not count.
    let sql = "SELECT max(at_ms) FROM ( \
               SELECT at_ms FROM (SELECT at_ms FROM exchange WHERE +at_ms <= ?1 ORDER BY number DESC LIMIT 1) \
               UNION ALL \
               SELECT at_ms FROM (SELECT at_ms FROM call WHERE +at_ms <= ?1 ORDER BY id DESC LIMIT 1))";
    let (last,): (Option<i64>,) = sqlx::query_as(sql).bind(yesterday).fetch_one(&mut *connection).await?;
    match last {
        Some(last) => older_than(connection, read(last).saturating_sub(millis(retention))).await,
        None => Ok(Pruned::default()),
    }
}

/// Throws away what is older than `before_ms`, step by step: between two of them others write.
async fn older_than(connection: &mut SqliteConnection, before_ms: u64) -> Result<Pruned, sqlx::Error> {
    let before = stored(before_ms);
    let mut pruned = Pruned::default();
    loop {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let gone = exchanges(&mut transaction, before).await?;
        transaction.commit().await?;
        pruned.exchanges += read(gone);
        if gone < STEP {
            break;
        }
    }
    let calls = "DELETE FROM call WHERE id IN (SELECT id FROM call WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)";
    loop {
        let gone =
            sqlx::query(calls).bind(before).bind(STEP).execute(&mut *connection).await?.rows_affected();
        pruned.calls += gone;
        if gone < read(STEP) {
            break;
        }
    }
    tool_sets(connection, &mut pruned).await?;
    lineages(connection, before, &mut pruned).await?;
    let names = "DELETE FROM name_map WHERE (entry, client, shown) IN \
                 (SELECT entry, client, shown FROM name_map WHERE at_ms < ?1 LIMIT ?2)";
    loop {
        let gone =
            sqlx::query(names).bind(before).bind(STEP).execute(&mut *connection).await?.rows_affected();
        if gone < read(STEP) {
            break;
        }
    }
    Ok(pruned)
}

/// The end of a step: the last key of the next so many.
async fn last_of<K>(
    connection: &mut SqliteConnection,
    sql: &'static str,
    after: K,
) -> Result<Option<K>, sqlx::Error>
where
    K: Send + Unpin + for<'q> sqlx::Encode<'q, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    K: for<'r> sqlx::Decode<'r, sqlx::Sqlite>,
{
    let (last,): (Option<K>,) = sqlx::query_as(sql).bind(after).fetch_one(connection).await?;
    Ok(last)
}

/// Sets of tools that no exchange carries any more, some dozens at a time: each may have thousands of tools.
async fn tool_sets(connection: &mut SqliteConnection, pruned: &mut Pruned) -> Result<(), sqlx::Error> {
    let step = "SELECT max(id) FROM (SELECT id FROM tool_set WHERE id > ? ORDER BY id LIMIT 64)";
    let mut after = 0_i64;
    while let Some(last) = last_of(connection, step, after).await? {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        for sql in [
            "DELETE FROM tool_line WHERE tool_set > ?1 AND tool_set <= ?2 \
             AND NOT EXISTS (SELECT 1 FROM exchange WHERE exchange.tool_set = tool_line.tool_set)",
            "DELETE FROM tool_set WHERE id > ?1 AND id <= ?2 \
             AND NOT EXISTS (SELECT 1 FROM exchange WHERE exchange.tool_set = tool_set.id)",
        ] {
            let gone = sqlx::query(sql).bind(after).bind(last).execute(&mut *transaction).await?;
            pruned.tool_sets += if sql.contains("tool_line") { 0 } else { gone.rows_affected() };
        }
        transaction.commit().await?;
        after = last;
    }
    Ok(())
}

/// What is remembered of conversations, some hundreds at a time: each may be a megabyte.
async fn lineages(
    connection: &mut SqliteConnection,
    before: i64,
    pruned: &mut Pruned,
) -> Result<(), sqlx::Error> {
    let step =
        "SELECT max(session) FROM (SELECT session FROM lineage WHERE session > ? ORDER BY session LIMIT 200)";
    let mut after = String::new();
    while let Some(last) = last_of(connection, step, after.clone()).await? {
        let gone = sqlx::query("DELETE FROM lineage WHERE session > ?1 AND session <= ?2 AND at_ms < ?3")
            .bind(&after)
            .bind(&last)
            .bind(before)
            .execute(&mut *connection)
            .await?;
        pruned.lineages += gone.rows_affected();
        after = last;
    }
    Ok(())
}

/// One step of exchanges, with what hangs on them.
async fn exchanges(connection: &mut SqliteConnection, before: i64) -> Result<i64, sqlx::Error> {
    let which = "SELECT number FROM exchange WHERE at_ms < ?1 ORDER BY at_ms, number LIMIT ?2";
    for table in ["exchange_call", "lever_action"] {
        let sql = format!("DELETE FROM {table} WHERE exchange IN ({which})");
        sqlx::query(sqlx::AssertSqlSafe(sql)).bind(before).bind(STEP).execute(&mut *connection).await?;
    }
    let sql = format!("DELETE FROM exchange WHERE number IN ({which})");
    let gone = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(before)
        .bind(STEP)
        .execute(connection)
        .await?
        .rows_affected();
    Ok(stored(gone))
}
