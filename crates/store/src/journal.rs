//! The decision journal: what was decided about requests, kept in a file of its own under a stricter rule than the ledger's.
//!
//! The ledger drops lines rather than stop anybody. Here it is the other way round: a decision that is not in the file must
//! not be acted on. So [`Journal::commit`] answers only once the disk has it, and when it cannot (the file is full, locked,
//! read-only, gone) it fails, nothing of it is written, and whoever asked decides nothing new. Many processes share one
//! file; of two decisions with one key the first stays, and the second is told, so that it can read and follow the first.
//!
//! What a decision says is its writer's business: here it is a kind, a key and bytes.

use crate::call::{read, stored};
use crate::error::{Cause, Error};
use crate::schema::{self, Shape};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a journal says it is.
const APPLICATION: i64 = 0x6477_646a;

/// One step for each version. Released steps are never changed; a new shape is a new step.
const STEPS: &[&str] = &["
CREATE TABLE decision (
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    used_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_used ON decision (used_ms);
"];

/// A request waits for this: a journal that is held for longer counts as locked.
const BUSY: Duration = Duration::from_millis(250);

/// How many decisions one question asks for.
const MOST_AT_ONCE: usize = 200;

/// How old the time of last use may be before it is written anew.
const DAY: u64 = 86_400_000;

const SHAPE: Shape<'_> = Shape { application: APPLICATION, steps: STEPS, busy: BUSY, durable: true };

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What kind of thing it is about; together with `key` it is unique.
    pub kind: u8,
    /// What it is about.
    pub key: [u8; 32],
    /// What was decided.
    pub body: Vec<u8>,
}

/// What became of decisions that were to be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what was decided otherwise before must not be acted on"]
pub enum Commit {
    /// They are on the disk.
    Done,
    /// One of them was decided otherwise before, by another process. None was written: read, and decide again.
    Conflict,
}

/// A decision as SQLite answers.
type Row = (i64, Vec<u8>, Vec<u8>);

/// A journal, open for reading and writing.
#[derive(Debug)]
pub struct Journal {
    file: PathBuf,
    connection: SqliteConnection,
}

/// A journal that cannot be opened, written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct JournalError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub cause: Cause,
    /// What the system said, in its words; empty where the cause says it all.
    pub detail: String,
}

impl From<Error> for JournalError {
    fn from(error: Error) -> Self {
        Self { file: error.file, cause: error.cause, detail: error.detail }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.cause {
            Cause::Full => "the decision journal cannot grow: its disk is full",
            Cause::Locked => "the decision journal is locked by another program",
            Cause::Corrupt => "the decision journal is damaged, or no journal",
            Cause::ReadOnly => "the decision journal may not be written to",
            Cause::Unopened => "the decision journal cannot be opened",
            Cause::Newer => "the decision journal was written by a later release of deadweight",
            Cause::Foreign => "the file is the database of another program, not a decision journal",
            Cause::Gone => "the decision journal was deleted or replaced while it was in use",
            Cause::Other => "the decision journal cannot be used",
        };
        write!(f, "{what}: {}", self.file.display())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// Writes a decision, unless there is one with its key; says whether it did.
async fn insert(
    connection: &mut SqliteConnection,
    Decision { kind, key, body }: &Decision,
    at_ms: u64,
) -> Result<bool, sqlx::Error> {
    let sql = "INSERT INTO decision (kind, key, used_ms, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
    let query = sqlx::query(sql).bind(i64::from(*kind)).bind(&key[..]).bind(stored(at_ms)).bind(&body[..]);
    query.execute(connection).await.map(|done| done.rows_affected() > 0)
}

fn decision((kind, key, body): Row) -> Option<Decision> {
    Some(Decision { kind: u8::try_from(kind).ok()?, key: key.try_into().ok()?, body })
}

/// The journal's file beside a ledger's: `decisions.sqlite` in the same folder.
#[must_use]
pub fn journal_beside(ledger: &Path) -> PathBuf {
    ledger.with_file_name("decisions.sqlite")
}

impl Journal {
    /// Opens the journal in `file`, and makes it where there is none, for its owner alone.
    ///
    /// # Errors
    /// It cannot be opened, made or brought up to date.
    pub async fn open(file: &Path) -> Result<Self, JournalError> {
        let connection = schema::open_shape(file, &SHAPE).await?;
        Ok(Self { file: file.to_owned(), connection })
    }

    fn failed(&self, error: &sqlx::Error) -> JournalError {
        Error::of_sqlite(&self.file, error).into()
    }

    /// A number that is another one as soon as another process has written something since it was last asked for.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn version(&mut self) -> Result<i64, JournalError> {
        let row: Result<(i64,), _> =
            sqlx::query_as("PRAGMA data_version").fetch_one(&mut self.connection).await;
        row.map(|(version,)| version).map_err(|error| self.failed(&error))
    }

    /// The decisions with these keys, as far as there are any, in no order.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn read(&mut self, keys: &[(u8, [u8; 32])]) -> Result<Vec<Decision>, JournalError> {
        let mut found = Vec::new();
        for keys in keys.chunks(MOST_AT_ONCE) {
            let mut sql = String::from("SELECT kind, key, body FROM decision WHERE (kind, key) IN (VALUES ");
            for at in 0..keys.len() {
                sql.push_str(if at == 0 { "(?, ?)" } else { ", (?, ?)" });
            }
            sql.push(')');
            let mut query = sqlx::query_as::<_, Row>(sqlx::AssertSqlSafe(sql));
            for (kind, key) in keys {
                query = query.bind(i64::from(*kind)).bind(&key[..]);
            }
            let rows = query.fetch_all(&mut self.connection).await.map_err(|error| self.failed(&error))?;
            found.extend(rows.into_iter().filter_map(decision));
        }
        Ok(found)
    }

    /// When the decision with this key was last used, to the day; see [`used`](Self::used) and [`touch`](Self::touch).
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn last_used(&mut self, (kind, key): (u8, [u8; 32])) -> Result<Option<u64>, JournalError> {
        let row: Result<Option<(i64,)>, _> =
            sqlx::query_as("SELECT used_ms FROM decision WHERE kind = ? AND key = ?")
                .bind(i64::from(kind))
                .bind(&key[..])
                .fetch_optional(&mut self.connection)
                .await;
        row.map(|row| row.map(|(used,)| read(used))).map_err(|error| self.failed(&error))
    }

    /// Says that something was seen just now, for whoever asks when it was: a decision that says nothing but that.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn touch(&mut self, (kind, key): (u8, [u8; 32]), at_ms: u64) -> Result<(), JournalError> {
        let outcome = sqlx::query(
            "INSERT INTO decision (kind, key, used_ms, body) VALUES (?, ?, ?, x'') \
             ON CONFLICT DO UPDATE SET used_ms = max(used_ms, excluded.used_ms)",
        )
        .bind(i64::from(kind))
        .bind(&key[..])
        .bind(stored(at_ms))
        .execute(&mut self.connection)
        .await;
        outcome.map(drop).map_err(|error| self.failed(&error))
    }

    /// Takes back decisions that were never acted on, or whose provider did not take what came of them, and writes others
    /// in their place: all or nothing. What has become another decision meanwhile stays.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn replace(
        &mut self,
        old: &[Decision],
        new: &[Decision],
        at_ms: u64,
    ) -> Result<(), JournalError> {
        let outcome = self.swap(old, new, at_ms).await;
        outcome.map_err(|error| self.failed(&error))
    }

    async fn swap(&mut self, old: &[Decision], new: &[Decision], at_ms: u64) -> Result<(), sqlx::Error> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        for Decision { kind, key, body } in old {
            sqlx::query("DELETE FROM decision WHERE kind = ? AND key = ? AND body = ?")
                .bind(i64::from(*kind))
                .bind(&key[..])
                .bind(&body[..])
                .execute(&mut *transaction)
                .await?;
        }
        for decision in new {
            insert(&mut transaction, decision, at_ms).await?;
        }
        transaction.commit().await
    }

    /// The decisions that were used last, at most `most`, for a process that starts.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn latest(&mut self, most: u32) -> Result<Vec<Decision>, JournalError> {
        let rows: Result<Vec<Row>, _> =
            sqlx::query_as("SELECT kind, key, body FROM decision ORDER BY used_ms DESC LIMIT ?")
                .bind(i64::from(most))
                .fetch_all(&mut self.connection)
                .await;
        let rows = rows.map_err(|error| self.failed(&error))?;
        Ok(rows.into_iter().filter_map(decision).collect())
    }

    /// Writes decisions, all or none. Once it answers [`Commit::Done`] they survive the end of the process and of the
    /// machine. `at_ms` is the time, in milliseconds since 1970.
    ///
    /// # Errors
    /// They cannot be written. None of them is.
    pub async fn commit(&mut self, decisions: &[Decision], at_ms: u64) -> Result<Commit, JournalError> {
        match self.write(decisions, at_ms).await {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.failed(&error)),
        }
    }

    async fn write(&mut self, decisions: &[Decision], at_ms: u64) -> Result<Commit, sqlx::Error> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        for one @ Decision { kind, key, body } in decisions {
            if insert(&mut transaction, one, at_ms).await? {
                continue;
            }
            let (there,): (Vec<u8>,) = sqlx::query_as("SELECT body FROM decision WHERE kind = ? AND key = ?")
                .bind(i64::from(*kind))
                .bind(&key[..])
                .fetch_one(&mut *transaction)
                .await?;
            if there != *body {
                transaction.rollback().await?;
                return Ok(Commit::Conflict);
            }
        }
        transaction.commit().await?;
        Ok(Commit::Done)
    }

    /// Says that decisions are in use, so that they are kept; at most once a day for each.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn used(&mut self, keys: &[(u8, [u8; 32])], at_ms: u64) -> Result<(), JournalError> {
        let outcome = self.mark(keys, at_ms).await;
        outcome.map_err(|error| self.failed(&error))
    }

    async fn mark(&mut self, keys: &[(u8, [u8; 32])], at_ms: u64) -> Result<(), sqlx::Error> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        for (kind, key) in keys {
            sqlx::query("UPDATE decision SET used_ms = ? WHERE kind = ? AND key = ? AND used_ms < ?")
                .bind(stored(at_ms))
                .bind(i64::from(*kind))
                .bind(&key[..])
                .bind(stored(at_ms.saturating_sub(DAY)))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// Throws away what was last used before `before_ms`; answers how many decisions that were. It has to be longer ago
    /// than any conversation that still comes back.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn prune(&mut self, before_ms: u64) -> Result<u64, JournalError> {
        let outcome = sqlx::query("DELETE FROM decision WHERE used_ms < ?")
            .bind(stored(before_ms))
            .execute(&mut self.connection)
            .await;
        outcome.map(|done| done.rows_affected()).map_err(|error| self.failed(&error))
    }

    /// How many decisions there are.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn count(&mut self) -> Result<u64, JournalError> {
        let row: Result<(i64,), _> =
            sqlx::query_as("SELECT count(*) FROM decision").fetch_one(&mut self.connection).await;
        row.map(|(count,)| read(count)).map_err(|error| self.failed(&error))
    }

    /// Closes it.
    ///
    /// # Errors
    /// What was to be written last cannot be.
    pub async fn close(self) -> Result<(), JournalError> {
        let file = self.file;
        self.connection.close().await.map_err(|error| Error::of_sqlite(&file, &error).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::Executor;

    fn of(key: u8, body: &str) -> Decision {
        Decision { kind: 1, key: [key; 32], body: body.as_bytes().to_vec() }
    }

    #[tokio::test]
    async fn what_is_committed_is_there_for_every_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = journal_beside(&folder.path().join("ledger.sqlite"));
        let mut one = Journal::open(&file).await.unwrap();
        let mut other = Journal::open(&file).await.unwrap();
        assert_eq!(one.commit(&[of(1, "a"), of(2, "b")], 5).await, Ok(Commit::Done));
        let keys = [(1, [2; 32]), (1, [3; 32]), (2, [1; 32]), (1, [1; 32])];
        assert_eq!(other.read(&keys).await, Ok(vec![of(1, "a"), of(2, "b")]));
        // The same again is no harm; something else is told, and nothing of it written.
        assert_eq!(other.commit(&[of(1, "a")], 6).await, Ok(Commit::Done));
        assert_eq!(other.commit(&[of(3, "c"), of(2, "other")], 6).await, Ok(Commit::Conflict));
        assert_eq!(one.count().await, Ok(2));
        one.close().await.unwrap();
        other.close().await.unwrap();
        let mut again = Journal::open(&file).await.unwrap();
        assert_eq!(again.latest(9).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn many_processes_agree_on_one_decision() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let decide = async |body: &str| {
            let mut own = Journal::open(&file).await.unwrap();
            loop {
                match own.commit(&[of(7, body)], 1).await {
                    Ok(outcome) => return outcome,
                    Err(error) => assert_eq!(error.cause, Cause::Locked),
                }
            }
        };
        let (a, b, c) = tokio::join!(decide("a"), decide("b"), decide("c"));
        let done = [a, b, c].iter().filter(|outcome| **outcome == Commit::Done).count();
        assert_eq!(done, 1, "{a:?} {b:?} {c:?}");
    }

    #[tokio::test]
    async fn a_journal_that_cannot_be_written_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let mut own = Journal::open(&file).await.unwrap();
        let mut holder = Journal::open(&file).await.unwrap();
        holder.connection.execute("BEGIN IMMEDIATE").await.unwrap();
        let error = own.commit(&[of(1, "a")], 1).await.unwrap_err();
        assert_eq!(error.cause, Cause::Locked);
        assert!(error.to_string().starts_with("the decision journal is locked by another program: "));
        // What is there can still be read.
        assert_eq!(own.read(&[(1, [1; 32])]).await, Ok(Vec::new()));
        holder.connection.execute("ROLLBACK").await.unwrap();
        assert_eq!(own.commit(&[of(1, "a")], 1).await, Ok(Commit::Done));
        own.connection.execute("PRAGMA max_page_count = 1").await.unwrap();
        let large = Decision { body: vec![0; 1 << 20], ..of(2, "") };
        assert_eq!(own.commit(&[large], 1).await.unwrap_err().cause, Cause::Full);
        assert_eq!(own.count().await, Ok(1));
        // A ledger is no journal, and a journal no ledger.
        let ledger = folder.path().join("ledger.sqlite");
        schema::open(&ledger, schema::Access::Write).await.unwrap().close().await.unwrap();
        assert_eq!(Journal::open(&ledger).await.unwrap_err().cause, Cause::Foreign);
        assert_eq!(schema::open(&file, schema::Access::Write).await.unwrap_err().cause, Cause::Foreign);
    }

    #[tokio::test]
    async fn what_was_never_acted_on_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let mut own = Journal::open(&file).await.unwrap();
        let mut other = Journal::open(&file).await.unwrap();
        assert_eq!(own.commit(&[of(1, "edited"), of(2, "x")], 5).await, Ok(Commit::Done));
        let before = other.version().await.unwrap();
        own.replace(&[of(1, "edited"), of(2, "other")], &[of(1, "as it came")], 6).await.unwrap();
        assert_ne!(other.version().await.unwrap(), before);
        assert_eq!(own.latest(9).await, Ok(vec![of(1, "as it came"), of(2, "x")]));
        assert_eq!(own.last_used((9, [1; 32])).await, Ok(None));
        own.touch((9, [1; 32]), 7).await.unwrap();
        other.touch((9, [1; 32]), 6).await.unwrap();
        assert_eq!(own.last_used((9, [1; 32])).await, Ok(Some(7)));
        let many: Vec<_> = (0..500_u16).map(|n| (1, [n as u8; 32])).collect();
        assert_eq!(own.read(&many).await.unwrap().len(), 4);
    }

    #[tokio::test]
    async fn what_is_used_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut own = Journal::open(&folder.path().join("decisions.sqlite")).await.unwrap();
        assert_eq!(own.commit(&[of(1, "a"), of(2, "b")], 1_000).await, Ok(Commit::Done));
        own.used(&[(1, [1; 32])], 1_000 + DAY + 1).await.unwrap();
        assert_eq!(own.prune(2_000).await, Ok(1));
        assert_eq!(own.latest(9).await, Ok(vec![of(1, "a")]));
    }
}
