//! The journals of earlier releases, whose bodies were not sealed: they are sealed when they are opened, and no trace is left.
//!
//! The step to this shape puts the old rows aside, in a table `unsealed`, which is empty in journals that were never otherwise. As
//! long as something is in it there is something left to do: rows are moved, so many in one transaction, by whoever opens the
//! journal, and a row that says nothing is left for them; then the file is written anew and the log emptied, for both still have
//! the old pages; and only then that row goes too. Whoever is ended meanwhile goes on at the next opening.

use crate::seal::Seal;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Executor};

/// How many rows are moved in one transaction.
const STEP: i64 = 500;

/// Seals what is not sealed yet.
pub(crate) async fn seal_all(connection: &mut SqliteConnection, seal: &Seal) -> Result<(), sqlx::Error> {
    let left = "SELECT EXISTS (SELECT 1 FROM unsealed WHERE kind >= 0), EXISTS (SELECT 1 FROM unsealed)";
    let (rows, traces): (bool, bool) = sqlx::query_as(left).fetch_one(&mut *connection).await?;
    if rows {
        while step(connection, seal).await? {}
    }
    if rows || traces {
        // Rows are sealed by now, and can be used. Somebody who reads or writes just now can hold up the rest.
        let _ = forget(connection).await;
    }
    Ok(())
}

/// Moves some rows. False: there are none, or none any more.
async fn step(connection: &mut SqliteConnection, seal: &Seal) -> Result<bool, sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let rows: Vec<(i64, Vec<u8>, i64, Vec<u8>)> = sqlx::query_as(
        "SELECT kind, key, used_ms, body FROM unsealed WHERE kind >= 0 ORDER BY kind, key LIMIT ?",
    )
    .bind(STEP)
    .fetch_all(&mut *transaction)
    .await?;
    for (kind, key, used_ms, body) in &rows {
        // What is no decision says nothing to anybody.
        let sealed = match (u8::try_from(*kind), <&[u8; 32]>::try_from(&key[..])) {
            (Ok(kind), Ok(key)) => seal.seal(kind, key, body),
            _ => None,
        };
        if let Some(sealed) = sealed {
            let sql =
                "INSERT INTO decision (kind, key, used_ms, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
            let query = sqlx::query(sql).bind(kind).bind(key).bind(used_ms).bind(sealed);
            query.execute(&mut *transaction).await?;
        }
        let gone = sqlx::query("DELETE FROM unsealed WHERE kind = ? AND key = ?").bind(kind).bind(key);
        gone.execute(&mut *transaction).await?;
    }
    let trace =
        "INSERT INTO unsealed (kind, key, used_ms, body) VALUES (-1, x'', 0, x'') ON CONFLICT DO NOTHING";
    transaction.execute(trace).await?;
    transaction.commit().await?;
    Ok(!rows.is_empty())
}

/// Writes the file without what was deleted, and empties the log.
async fn forget(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    connection.execute("VACUUM").await?;
    let (busy, _, _): (i64, i64, i64) =
        sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *connection).await?;
    if busy == 0 {
        connection.execute("DELETE FROM unsealed WHERE kind < 0").await?;
    }
    Ok(())
}
