//! The decision journal: what was decided about requests, kept in a file of its own under a stricter rule than the ledger's.
//!
//! The ledger drops lines rather than stop anybody. Here it is the other way round: a decision that is not in the file must
//! not be acted on. So [`Journal::commit`] answers only once the disk has it, and when it cannot (the file is full, locked,
//! read-only, gone) it fails, nothing of it is written, and whoever asked decides nothing new. Many processes share one
//! file; of two decisions with one key the first stays, and the second is told, so that it can read and follow the first.
//!
//! What a decision says is its writer's business: here it is a kind, a key and bytes. They may be the words of a prompt, and so
//! they are sealed ([`crate::seal`]) with the key that originals are sealed with: neither the file nor its log has them as they
//! are. Where that key was lost, what was sealed with it is as if it were not there, and is not written over.

use crate::call::{read, stored};
use crate::clock::{self, DAY, Reading};
use crate::error::{Cause, Error};
use crate::files::Files;
use crate::key::{Key, key_beside};
use crate::schema::{self, Shape};
use crate::seal::Seal;
use crate::unsealed;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Executor};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a journal says it is.
const APPLICATION: i64 = 0x6477_646a;

/// One step for each version. Released steps are never changed; a new shape is a new step.
const STEPS: &[&str] = &[
    "
CREATE TABLE decision (
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    used_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_used ON decision (used_ms);
",
    // Bodies are sealed from here on: see `unsealed`.
    "
ALTER TABLE decision RENAME TO unsealed;
DROP INDEX decision_used;
CREATE TABLE decision (
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    used_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_used ON decision (used_ms);
CREATE TABLE reading (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at_ms INTEGER NOT NULL
) STRICT;
",
];

/// A request waits for this: a journal that is held for longer counts as locked.
const BUSY: Duration = Duration::from_millis(250);

/// How many decisions one question asks for.
const MOST_AT_ONCE: usize = 200;

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
    /// One of them stands there in a form that cannot be opened: its key was lost, or it is damaged. None was written, for what
    /// was decided there is not known.
    Sealed,
}

/// A decision as SQLite answers.
type Row = (i64, Vec<u8>, Vec<u8>);

/// A journal, open for reading and writing.
pub struct Journal {
    file: PathBuf,
    connection: SqliteConnection,
    /// Which files these are.
    open_as: Files,
    seal: Seal,
    /// Whether something was met that cannot be opened.
    unopened: bool,
    /// The kind whose keys are hashes of what is said.
    by_content: Option<u8>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("file", &self.file).finish_non_exhaustive()
    }
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
            Cause::Sealed => "parts of the decision journal were sealed with another key, or are damaged",
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

/// The reading of the clock that was kept.
async fn reading(connection: &mut SqliteConnection) -> Result<Option<u64>, sqlx::Error> {
    let row: Option<(i64,)> = sqlx::query_as("SELECT at_ms FROM reading").fetch_optional(connection).await?;
    Ok(row.map(|(at,)| read(at)))
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
        let mut connection = schema::open_shape(file, &SHAPE).await?;
        let place = key_beside(file);
        let key = Key::made(&place).map_err(|error| Error::of_io(&place, &error))?;
        let seal = Seal::with(&key);
        let of_sqlite = |error| Error::of_sqlite(file, &error);
        // What is thrown away is not left in empty pages.
        connection.execute("PRAGMA secure_delete = ON").await.map_err(of_sqlite)?;
        match unsealed::seal_all(&mut connection, &seal).await.map_err(of_sqlite) {
            // It can be read as far as it is sealed.
            Err(error) if error.cause == Cause::ReadOnly => {}
            outcome => outcome?,
        }
        let open_as = Files::of(file);
        Ok(Self { file: file.to_owned(), connection, open_as, seal, unopened: false, by_content: None })
    }

    /// Decisions of this kind have a hash of what they say for a key, and many conversations share one. One of them that cannot be
    /// opened said the same as what comes under its key, and that is written in its place; nothing else is ever written over.
    #[must_use]
    pub fn by_content(mut self, kind: u8) -> Self {
        self.by_content = Some(kind);
        self
    }

    /// Whether the file was deleted or replaced since it was opened. Nothing is read from it or written to it any more then.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.open_as.are_gone(&self.file)
    }

    /// Closes one that was deleted or replaced, so that what is under its name now can be opened, or made.
    pub async fn leave(self) {
        self.open_as.leave(&self.file, self.connection).await;
    }

    /// What is wrong with parts of it, where something was met that cannot be opened: it is as if it were not there, and stays
    /// as it is.
    #[must_use]
    pub fn unopened(&self) -> Option<JournalError> {
        self.unopened.then(|| JournalError {
            file: self.file.clone(),
            cause: Cause::Sealed,
            detail: format!("the key is {}", key_beside(&self.file).display()),
        })
    }

    fn there(&self) -> Result<(), JournalError> {
        match self.is_gone() {
            true => Err(Error::new(&self.file, Cause::Gone, "").into()),
            false => Ok(()),
        }
    }

    /// Decisions as they are written.
    fn sealed(&self, decisions: &[Decision]) -> Result<Vec<Decision>, JournalError> {
        let seal = |Decision { kind, key, body }: &Decision| {
            let body = self.seal.seal(*kind, key, body)?;
            Some(Decision { kind: *kind, key: *key, body })
        };
        let sealed: Option<Vec<_>> = decisions.iter().map(seal).collect();
        sealed.ok_or_else(|| Error::new(&self.file, Cause::Other, "a decision is too large").into())
    }

    /// Those of these rows that can be opened.
    fn opened(&mut self, rows: Vec<Row>) -> Vec<Decision> {
        let mut found = Vec::with_capacity(rows.len());
        for (kind, key, body) in rows {
            let (Ok(kind), Ok(key)) = (u8::try_from(kind), <[u8; 32]>::try_from(key)) else { continue };
            match self.seal.open(kind, &key, &body) {
                Some(body) => found.push(Decision { kind, key, body }),
                None => self.unopened = true,
            }
        }
        found
    }

    fn failed(&self, error: &sqlx::Error) -> JournalError {
        Error::of_sqlite(&self.file, error).into()
    }

    /// A number that is another one as soon as another process has written something since it was last asked for.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn version(&mut self) -> Result<i64, JournalError> {
        self.there()?;
        let row: Result<(i64,), _> =
            sqlx::query_as("PRAGMA data_version").fetch_one(&mut self.connection).await;
        row.map(|(version,)| version).map_err(|error| self.failed(&error))
    }

    /// The decisions with these keys, as far as there are any, in no order.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn read(&mut self, keys: &[(u8, [u8; 32])]) -> Result<Vec<Decision>, JournalError> {
        self.there()?;
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
            found.extend(self.opened(rows));
        }
        Ok(found)
    }

    /// When the decision with this key was last used, to the day; see [`used`](Self::used) and [`touch`](Self::touch).
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn last_used(&mut self, (kind, key): (u8, [u8; 32])) -> Result<Option<u64>, JournalError> {
        self.there()?;
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
        self.there()?;
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
        self.there()?;
        let (old, new) = (self.sealed(old)?, self.sealed(new)?);
        let outcome = self.swap(&old, &new, at_ms).await;
        outcome.map_err(|error| self.failed(&error))?;
        self.there()
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
        Ok(self.opened(rows))
    }

    /// Writes decisions, all or none. Once it answers [`Commit::Done`] they survive the end of the process and of the
    /// machine. `at_ms` is the time, in milliseconds since 1970.
    ///
    /// # Errors
    /// They cannot be written. None of them is.
    pub async fn commit(&mut self, decisions: &[Decision], at_ms: u64) -> Result<Commit, JournalError> {
        self.there()?;
        let sealed = self.sealed(decisions)?;
        let outcome = self.write(&sealed, at_ms).await.map_err(|error| self.failed(&error))?;
        // What was written while the file was taken away is nowhere.
        self.there()?;
        Ok(outcome)
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
                let opens = self.seal.open(*kind, key, &there).is_some();
                if !opens && self.by_content == Some(*kind) {
                    sqlx::query("UPDATE decision SET body = ? WHERE kind = ? AND key = ?")
                        .bind(&body[..])
                        .bind(i64::from(*kind))
                        .bind(&key[..])
                        .execute(&mut *transaction)
                        .await?;
                    continue;
                }
                transaction.rollback().await?;
                self.unopened |= !opens;
                return Ok(if opens { Commit::Conflict } else { Commit::Sealed });
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
        self.there()?;
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

    /// Throws away what was last used longer than `kept_ms` ago; answers how many decisions that were. It has to be longer
    /// than until any conversation comes back. `now_ms` is what the clock says; one reading alone is not believed, see
    /// `clock.rs`.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn prune(&mut self, now_ms: u64, kept_ms: u64) -> Result<u64, JournalError> {
        self.there()?;
        let last = reading(&mut self.connection).await.map_err(|error| self.failed(&error))?;
        if clock::read(last, now_ms) == Reading::Early {
            return Ok(0);
        }
        let outcome = self.throw_away(now_ms, kept_ms).await;
        outcome.map_err(|error| self.failed(&error))
    }

    async fn throw_away(&mut self, now_ms: u64, kept_ms: u64) -> Result<u64, sqlx::Error> {
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        let last = reading(&mut transaction).await?;
        let gone = match clock::read(last, now_ms) {
            // Another process was faster.
            Reading::Early => return Ok(0),
            Reading::Keep => 0,
            Reading::Believed(as_late_as) => {
                let old = sqlx::query("DELETE FROM decision WHERE used_ms < ?");
                let old = old.bind(stored(as_late_as.saturating_sub(kept_ms)));
                old.execute(&mut *transaction).await?.rows_affected()
            }
        };
        sqlx::query(
            "INSERT INTO reading (one, at_ms) VALUES (1, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms",
        )
        .bind(stored(now_ms))
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(gone)
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
        assert_eq!(own.prune(3 * DAY, DAY).await, Ok(0));
        assert_eq!(own.prune(4 * DAY, 2 * DAY - 1_000).await, Ok(1));
        assert_eq!(own.latest(9).await, Ok(vec![of(1, "a")]));
    }

    #[tokio::test]
    async fn a_clock_that_is_wrong_once_throws_nothing_away() {
        const KEPT: u64 = 60 * DAY;
        let today = 20_000 * DAY;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.prune(today, KEPT).await, Ok(0));
        assert_eq!(own.commit(&[of(1, "a"), of(2, "b")], today).await, Ok(Commit::Done));
        // One start with a clock 61 days ahead, and another an hour later; then it is right again, for some days.
        for late in [61 * DAY, 61 * DAY + DAY / 24] {
            let mut own = Journal::open(&file).await.unwrap();
            assert_eq!(own.prune(today + late, KEPT).await, Ok(0));
            own.touch((9, [9; 32]), today + late).await.unwrap();
        }
        for day in [0, 1, 2, 59] {
            assert_eq!(own.prune(today + day * DAY, KEPT).await, Ok(0));
        }
        assert_eq!(own.count().await, Ok(3));
        // Really left alone for 61 days: on the second day.
        assert_eq!(own.prune(today + 62 * DAY, KEPT).await, Ok(0));
        assert_eq!(own.prune(today + 63 * DAY, KEPT).await, Ok(2));
    }

    /// What the files of a journal have of a text.
    fn has(folder: &Path, text: &str) -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let has = |file: &PathBuf| {
            let bytes = std::fs::read(file).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        files.filter(has).collect()
    }

    #[tokio::test]
    async fn what_is_written_cannot_be_read_from_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let mut own = Journal::open(&file).await.unwrap();
        let secret = of(1, &"the words of a prompt ".repeat(400));
        assert_eq!(own.commit(&[secret.clone(), of(2, "the words of another")], 1).await, Ok(Commit::Done));
        own.replace(&[of(2, "the words of another")], &[of(2, "the words at last")], 2).await.unwrap();
        assert!(file.with_extension("sqlite-wal").metadata().unwrap().len() > 8_000);
        assert_eq!(has(folder.path(), "the words"), Vec::<PathBuf>::new());
        own.close().await.unwrap();
        assert_eq!(has(folder.path(), "the words"), Vec::<PathBuf>::new());
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.latest(9).await, Ok(vec![of(2, "the words at last"), secret]));
        assert_eq!(own.unopened(), None);
    }

    #[tokio::test]
    async fn a_journal_that_was_not_sealed_is_sealed_and_keeps_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let before = Shape { steps: &STEPS[..1], ..SHAPE };
        let mut old = schema::open_shape(&file, &before).await.unwrap();
        let text = "the words of a prompt ".repeat(20);
        for number in 0..1_200_u16 {
            let mut key = [0; 32];
            key[..2].copy_from_slice(&number.to_le_bytes());
            let decision = Decision { kind: 1, key, body: format!("{text}{number}").into_bytes() };
            insert(&mut old, &decision, u64::from(number)).await.unwrap();
        }
        old.execute("DELETE FROM decision WHERE used_ms = 7").await.unwrap();
        assert!(!has(folder.path(), "the words").is_empty());
        old.close().await.unwrap();
        // Several at once, one of which does it, or all of them.
        let (a, b) = tokio::join!(Journal::open(&file), Journal::open(&file));
        let mut opened = 0;
        for mut own in [a, b].into_iter().flatten() {
            opened += 1;
            assert_eq!(own.count().await, Ok(1_199));
            let key = [&[9, 0][..], &[0; 30]].concat().try_into().unwrap();
            assert_eq!(own.read(&[(1, key)]).await.unwrap()[0].body, format!("{text}9").into_bytes());
            assert_eq!(own.last_used((1, key)).await, Ok(Some(9)));
            own.close().await.unwrap();
        }
        assert!(opened > 0);
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(has(folder.path(), "the words"), Vec::<PathBuf>::new());
        let (left,): (i64,) =
            sqlx::query_as("SELECT count(*) FROM unsealed").fetch_one(&mut own.connection).await.unwrap();
        assert_eq!(left, 0);
    }

    #[tokio::test]
    async fn what_was_sealed_with_a_lost_key_is_not_there_and_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let key = key_beside(&file);
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.commit(&[of(1, "a")], 1).await, Ok(Commit::Done));
        own.close().await.unwrap();
        std::fs::rename(&key, folder.path().join("old.key")).unwrap();
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.unopened(), None);
        assert_eq!(own.read(&[(1, [1; 32])]).await, Ok(Vec::new()));
        let told = own.unopened().unwrap();
        assert_eq!(told.cause, Cause::Sealed);
        assert!(told.to_string().contains("sealed with another key"), "{told}");
        for body in ["a", "b"] {
            assert_eq!(own.commit(&[of(2, "new"), of(1, body)], 2).await, Ok(Commit::Sealed));
        }
        own.replace(&[of(1, "a")], &[of(1, "b")], 2).await.unwrap();
        assert_eq!(own.commit(&[of(9, "shared by many")], 2).await, Ok(Commit::Done));
        assert_eq!(own.commit(&[of(2, "new")], 2).await, Ok(Commit::Done));
        own.close().await.unwrap();
        // With the key that it was sealed with it is there again.
        std::fs::rename(folder.path().join("old.key"), &key).unwrap();
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.read(&[(1, [1; 32]), (1, [2; 32])]).await, Ok(vec![of(1, "a")]));
        // What is found by what it says is written anew.
        let mut own = own.by_content(1);
        assert_eq!(own.read(&[(1, [9; 32])]).await, Ok(Vec::new()));
        assert_eq!(own.commit(&[of(9, "shared by many")], 3).await, Ok(Commit::Done));
        assert_eq!(own.read(&[(1, [9; 32])]).await, Ok(vec![of(9, "shared by many")]));
        // What is no key is not written over.
        std::fs::write(&key, b"").unwrap();
        let error = Journal::open(&file).await.unwrap_err();
        assert!(error.to_string().contains("is not a key"), "{error}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nothing_is_written_to_a_file_that_was_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("decisions.sqlite");
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.commit(&[of(1, "a")], 1).await, Ok(Commit::Done));
        std::fs::remove_file(&file).unwrap();
        assert!(own.is_gone());
        assert_eq!(own.commit(&[of(2, "b")], 1).await.unwrap_err().cause, Cause::Gone);
        assert_eq!(own.read(&[(1, [1; 32])]).await.unwrap_err().cause, Cause::Gone);
        own.leave().await;
        let mut own = Journal::open(&file).await.unwrap();
        assert_eq!(own.count().await, Ok(0));
        assert_eq!(own.commit(&[of(2, "b")], 1).await, Ok(Commit::Done));
        // Replaced by another one.
        let other = folder.path().join("other.sqlite");
        Journal::open(&other).await.unwrap().close().await.unwrap();
        std::fs::rename(&other, &file).unwrap();
        assert_eq!(own.commit(&[of(3, "c")], 1).await.unwrap_err().cause, Cause::Gone);
        own.leave().await;
        assert_eq!(Journal::open(&file).await.unwrap().count().await, Ok(0));
    }
}
