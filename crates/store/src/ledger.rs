//! What was recorded, read back.

use crate::call::{Call, bounded, read, stored};
use crate::error::Error;
use crate::exchange::{self, KnownSets};
use crate::lineage::{self, Lineage};
use crate::listing::{self, Listing};
use crate::names::{self, Name};
use crate::recorder::Line;
use crate::schema::{self, Access};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A ledger, open for reading.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) file: PathBuf,
    pub(crate) connection: SqliteConnection,
}

/// Which lines are summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter<'a> {
    /// Only those that began at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Only those of this server.
    pub server: Option<&'a str>,
}

/// What was done with one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The label of its server.
    pub server: String,
    /// Its name; empty for searches, which are about no single tool.
    pub tool: String,
    /// The sums.
    pub totals: Totals,
}

/// Sums over lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls of tools.
    pub calls: u64,
    /// Of these, the ones of tools that had not been loaded.
    pub calls_unloaded: u64,
    /// Of these, the ones that were passed on and did not end with a result (whatever the reason).
    pub calls_failed: u64,
    /// Of these, the ones that were not passed on: not allowed, not valid, or to be confirmed first.
    pub calls_refused: u64,
    /// Loads of schemas.
    pub loads: u64,
    /// Searches.
    pub searches: u64,
    /// Bytes of arguments of calls.
    pub bytes_in: u64,
    /// Bytes of results of calls.
    pub bytes_out: u64,
    /// Bytes that loads and searches answered with: what being lazy has cost.
    pub load_bytes: u64,
    /// The time that calls took, in microseconds, summed.
    pub duration_us: u64,
    /// Different sessions.
    pub sessions: u64,
    /// When the first line began, in milliseconds since 1970; `None` where there are no lines.
    pub first_ms: Option<u64>,
    /// When the last one did.
    pub last_ms: Option<u64>,
}

/// The sums, as one list of columns for every question.
const SUMS: &str = "\
    coalesce(sum(kind = 'call'), 0) AS calls, \
    coalesce(sum(kind = 'call' AND loaded = 0), 0) AS calls_unloaded, \
    coalesce(sum(kind = 'call' AND outcome NOT IN ('ok', 'refused')), 0) AS calls_failed, \
    coalesce(sum(kind = 'call' AND outcome = 'refused'), 0) AS calls_refused, \
    coalesce(sum(kind = 'load'), 0) AS loads, \
    coalesce(sum(kind = 'search'), 0) AS searches, \
    coalesce(sum(CASE WHEN kind = 'call' THEN bytes_in END), 0) AS bytes_in, \
    coalesce(sum(CASE WHEN kind = 'call' THEN bytes_out END), 0) AS bytes_out, \
    coalesce(sum(CASE WHEN kind <> 'call' THEN bytes_out END), 0) AS load_bytes, \
    coalesce(sum(CASE WHEN kind = 'call' THEN duration_us END), 0) AS duration_us, \
    count(DISTINCT session) AS sessions, min(at_ms) AS first_ms, max(at_ms) AS last_ms";

/// Which lines: both conditions hold for all where nothing is asked for.
const WHICH: &str = "FROM call WHERE at_ms >= ?1 AND (?2 IS NULL OR server = ?2)";

/// [`SUMS`], as SQLite answers.
type Sums = (i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, Option<i64>, Option<i64>);

fn totals(sums: Sums) -> Totals {
    let (calls, calls_unloaded, calls_failed, calls_refused, loads, searches, bytes_in, ..) = sums;
    let (.., bytes_out, load_bytes, duration_us, sessions, first_ms, last_ms) = sums;
    Totals {
        calls: read(calls),
        calls_unloaded: read(calls_unloaded),
        calls_failed: read(calls_failed),
        calls_refused: read(calls_refused),
        loads: read(loads),
        searches: read(searches),
        bytes_in: read(bytes_in),
        bytes_out: read(bytes_out),
        load_bytes: read(load_bytes),
        duration_us: read(duration_us),
        sessions: read(sessions),
        first_ms: first_ms.map(read),
        last_ms: last_ms.map(read),
    }
}

/// [`SUMS`] behind a server and a tool, as SQLite answers.
type Row = (String, String, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, Option<i64>, Option<i64>);

fn usage((server, tool, a, b, c, d, e, f, g, h, i, j, k, l, m): Row) -> Usage {
    Usage { server, tool, totals: totals((a, b, c, d, e, f, g, h, i, j, k, l, m)) }
}

impl Ledger {
    /// Opens the ledger in `file`; `None` where there is no such file, which is no error: nothing was recorded.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn open(file: &Path) -> Result<Option<Self>, Error> {
        match std::fs::metadata(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::of_io(file, &error)),
            // A recorder that was just started makes the file before its first table.
            Ok(metadata) if metadata.len() == 0 => return Ok(None),
            Ok(_) => {}
        }
        let connection = schema::open(file, Access::Read).await?;
        Ok(Some(Self { file: file.to_owned(), connection }))
    }

    pub(crate) fn error(&self, error: &sqlx::Error) -> Error {
        Error::of_sqlite(&self.file, error)
    }

    /// What was done with each tool, by server and name.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn usage(&mut self, filter: Filter<'_>) -> Result<Vec<Usage>, Error> {
        let sql = format!("SELECT server, tool, {SUMS} {WHICH} GROUP BY server, tool ORDER BY server, tool");
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(stored(filter.since_ms.unwrap_or(0)))
            .bind(filter.server)
            .fetch_all(&mut self.connection)
            .await
            .map_err(|error| Error::of_sqlite(&self.file, &error))?;
        Ok(rows.into_iter().map(usage).collect())
    }

    /// What was listed last of each server to each client, by entry, server and client.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn listings(&mut self) -> Result<Vec<Listing>, Error> {
        listing::all(&mut self.connection).await.map_err(|error| Error::of_sqlite(&self.file, &error))
    }

    /// The names that proxies show, with whose they are, the newest first.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn names(&mut self) -> Result<Vec<Name>, Error> {
        names::all(&mut self.connection).await.map_err(|error| Error::of_sqlite(&self.file, &error))
    }

    /// What is remembered of conversations that were added to at `since_ms` or later, the newest first, at most `most`.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn lineages(&mut self, since_ms: u64, most: u32) -> Result<Vec<Lineage>, Error> {
        lineage::since(&mut self.connection, since_ms, most)
            .await
            .map_err(|error| Error::of_sqlite(&self.file, &error))
    }

    /// The sums of all lines.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn totals(&mut self, filter: Filter<'_>) -> Result<Totals, Error> {
        let sums: Sums = sqlx::query_as(sqlx::AssertSqlSafe(format!("SELECT {SUMS} {WHICH}")))
            .bind(stored(filter.since_ms.unwrap_or(0)))
            .bind(filter.server)
            .fetch_one(&mut self.connection)
            .await
            .map_err(|error| Error::of_sqlite(&self.file, &error))?;
        Ok(totals(sums))
    }
}

/// Writes lines in one transaction: all of them or none.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    sets: &mut KnownSets,
    file: &Path,
    lines: &[Line],
) -> Result<(), Error> {
    let written = write_all(connection, sets, file, lines).await;
    if written.is_err() {
        // What was added with the batch is gone with it.
        sets.forget();
    }
    written
}

async fn write_all(
    connection: &mut SqliteConnection,
    sets: &mut KnownSets,
    file: &Path,
    lines: &[Line],
) -> Result<(), Error> {
    let of_sqlite = |error| Error::of_sqlite(file, &error);
    // Of what is remembered of a session only the last stays.
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Line::Lineage(one) = line {
            last.insert(&one.session, at);
        }
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(of_sqlite)?;
    sets.begin();
    for (at, line) in lines.iter().enumerate() {
        match line {
            Line::Call(call) => write_call(&mut transaction, call).await,
            Line::Listing(one) => listing::write(&mut transaction, one).await,
            Line::Exchange(one) => exchange::write(&mut transaction, sets, one).await,
            Line::Names(names) => names::write(&mut transaction, names).await,
            Line::Lineage(one) if last.get(one.session.as_str()) != Some(&at) => Ok(()),
            Line::Lineage(one) => lineage::write(&mut transaction, one).await,
        }
        .map_err(of_sqlite)?;
    }
    transaction.commit().await.map_err(of_sqlite)
}

async fn write_call(connection: &mut SqliteConnection, call: &Call) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO call (at_ms, kind, server, tool, client, session, bytes_in, bytes_out, duration_us, \
         outcome, loaded, surface) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(stored(call.at_ms))
    .bind(call.kind.word())
    .bind(bounded(&call.server))
    .bind(bounded(&call.tool))
    .bind(bounded(&call.client))
    .bind(bounded(&call.session))
    .bind(stored(call.bytes_in))
    .bind(stored(call.bytes_out))
    .bind(stored(call.duration_us))
    .bind(call.outcome.word())
    .bind(call.loaded)
    .bind(bounded(&call.surface))
    .execute(connection)
    .await
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Kind, Outcome};
    use crate::error::Cause;
    use sqlx::Executor;

    #[tokio::test]
    async fn a_full_ledger_takes_a_batch_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ledger.sqlite");
        let mut connection = schema::open(&file, Access::Write).await.unwrap();
        connection.execute("PRAGMA max_page_count = 40").await.unwrap();
        let one = Call {
            at_ms: 1,
            kind: Kind::Call,
            server: "s".repeat(5_000),
            tool: "t".to_owned(),
            client: String::new(),
            session: String::new(),
            bytes_in: 0,
            bytes_out: 0,
            duration_us: 0,
            outcome: Outcome::Ok,
            loaded: false,
            surface: "stubs".to_owned(),
        };
        let lines = |count| -> Vec<Line> { (0..count).map(|_| Line::Call(Box::new(one.clone()))).collect() };
        write(&mut connection, &mut KnownSets::default(), &file, &lines(1)).await.unwrap();
        let error =
            write(&mut connection, &mut KnownSets::default(), &file, &lines(1_000)).await.unwrap_err();
        assert_eq!(error.cause, Cause::Full);
        let mut ledger = Ledger::open(&file).await.unwrap().unwrap();
        assert_eq!(ledger.totals(Filter::default()).await.unwrap().calls, 1);
        assert_eq!(ledger.usage(Filter::default()).await.unwrap()[0].server.len(), 256);
    }
}
