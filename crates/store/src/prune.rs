//! What is too old, thrown away; and the room it took, given back.

use crate::call::{read, stored};
use crate::error::Error;
use crate::schema::{self, Access};
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Executor};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// The time so long ago, in milliseconds since 1970.
pub(crate) fn before_now(retention: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(retention).as_millis()).unwrap_or(u64::MAX)
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

/// Throws away what is older than `before_ms`, step by step.
pub(crate) async fn older_than(
    connection: &mut SqliteConnection,
    before_ms: u64,
) -> Result<Pruned, sqlx::Error> {
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
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let unused =
        "DELETE FROM tool_set WHERE id NOT IN (SELECT tool_set FROM exchange WHERE tool_set IS NOT NULL)";
    pruned.tool_sets = transaction.execute(unused).await?.rows_affected();
    if pruned.tool_sets > 0 {
        transaction.execute("DELETE FROM tool_line WHERE tool_set NOT IN (SELECT id FROM tool_set)").await?;
    }
    for table in ["DELETE FROM lineage WHERE at_ms < ?", "DELETE FROM name_map WHERE at_ms < ?"] {
        let gone = sqlx::query(table).bind(before).execute(&mut *transaction).await?.rows_affected();
        if table.contains("lineage") {
            pruned.lineages = gone;
        }
    }
    transaction.commit().await?;
    Ok(pruned)
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
