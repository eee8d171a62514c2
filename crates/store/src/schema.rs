//! The shape of the ledger, and how an older one is brought up to it.

use crate::error::{Cause, Error};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

/// What a ledger says it is, so that no other program's database is written to.
const APPLICATION: i64 = 0x6477_6c67;

/// One step for each version. Released steps are never changed; a new shape is a new step.
const STEPS: &[&str] = &[
    "
CREATE TABLE call (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('call', 'load', 'search')),
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    client TEXT NOT NULL,
    session TEXT NOT NULL,
    bytes_in INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN
        ('ok', 'tool_error', 'rpc_error', 'refused', 'cancelled', 'crashed', 'timed_out')),
    loaded INTEGER NOT NULL CHECK (loaded IN (0, 1)),
    surface TEXT NOT NULL
) STRICT;
CREATE INDEX call_at ON call (at_ms);
CREATE INDEX call_tool ON call (server, tool);
",
    "
CREATE TABLE listing (
    entry TEXT NOT NULL,
    server TEXT NOT NULL,
    client TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    surface TEXT NOT NULL,
    deferred INTEGER NOT NULL CHECK (deferred IN (0, 1)),
    why TEXT NOT NULL,
    tools INTEGER NOT NULL,
    estimator TEXT NOT NULL,
    before_tokens INTEGER NOT NULL,
    after_tokens INTEGER NOT NULL,
    own_tokens INTEGER NOT NULL,
    gross_tokens INTEGER NOT NULL,
    net_tokens INTEGER NOT NULL,
    load_tokens INTEGER NOT NULL,
    break_even INTEGER,
    PRIMARY KEY (entry, server, client)
) STRICT, WITHOUT ROWID;
",
    "
CREATE TABLE tool_set (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    tools INTEGER NOT NULL
) STRICT;
CREATE TABLE tool_line (
    tool_set INTEGER NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    namespace TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('builtin', 'mcp', 'unknown')),
    server TEXT NOT NULL,
    own_name TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    description_tokens INTEGER NOT NULL,
    deferred INTEGER NOT NULL CHECK (deferred IN (0, 1)),
    PRIMARY KEY (tool_set, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE exchange (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL,
    provider TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('generate', 'count', 'other')),
    dialect TEXT,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    model TEXT,
    agent TEXT,
    session TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn INTEGER,
    ended TEXT NOT NULL,
    status INTEGER,
    error TEXT,
    request_id TEXT,
    streamed INTEGER NOT NULL CHECK (streamed IN (0, 1)),
    first_byte_us INTEGER,
    took_us INTEGER NOT NULL,
    answer_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    received_sha256 TEXT,
    sent_bytes INTEGER NOT NULL,
    sent_sha256 TEXT,
    changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
    splices TEXT,
    estimator TEXT,
    system_wire INTEGER,
    system_content INTEGER,
    system_tokens INTEGER,
    tools_wire INTEGER,
    tools_content INTEGER,
    tools_tokens INTEGER,
    history_wire INTEGER,
    history_content INTEGER,
    history_tokens INTEGER,
    tail_wire INTEGER,
    tail_content INTEGER,
    tail_tokens INTEGER,
    envelope_bytes INTEGER,
    standing TEXT,
    standing_tokens INTEGER,
    delta TEXT,
    tool_count INTEGER,
    deferred_count INTEGER,
    layout TEXT,
    unmeasured TEXT,
    uncached INTEGER,
    cache_read INTEGER,
    write_5m INTEGER,
    write_1h INTEGER,
    write_unspecified INTEGER,
    output INTEGER,
    reasoning INTEGER,
    prompt INTEGER,
    cost_uncached INTEGER,
    cost_read INTEGER,
    cost_write_5m INTEGER,
    cost_write_1h INTEGER,
    cost_output INTEGER,
    equivalent_tokens INTEGER,
    price_date TEXT,
    class TEXT,
    also TEXT,
    kept_tokens INTEGER,
    lost_tokens INTEGER,
    lost_nano INTEGER,
    gap_ms INTEGER,
    miss_reason TEXT,
    agrees INTEGER CHECK (agrees IN (0, 1)),
    tool_set INTEGER
) STRICT;
CREATE INDEX exchange_at ON exchange (at_ms);
CREATE INDEX exchange_session ON exchange (session, at_ms);
CREATE INDEX exchange_set ON exchange (tool_set);
CREATE TABLE exchange_call (
    exchange INTEGER NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (exchange, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE lever_action (
    exchange INTEGER NOT NULL,
    place INTEGER NOT NULL,
    lever TEXT NOT NULL,
    edited INTEGER NOT NULL CHECK (edited IN (0, 1)),
    reason TEXT NOT NULL,
    splices INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (exchange, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE name_map (
    entry TEXT NOT NULL,
    client TEXT NOT NULL,
    shown TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (entry, client, shown)
) STRICT, WITHOUT ROWID;
CREATE TABLE lineage (
    session TEXT PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT, WITHOUT ROWID;
",
    "
ALTER TABLE lever_action ADD COLUMN decided INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lever_action ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;
",
    "
ALTER TABLE lever_action ADD COLUMN break_even INTEGER;
",
    "
ALTER TABLE lever_action ADD COLUMN names TEXT;
",
    "
ALTER TABLE exchange ADD COLUMN received_class TEXT;
ALTER TABLE exchange ADD COLUMN received_also TEXT;
ALTER TABLE exchange ADD COLUMN received_lost_tokens INTEGER;
ALTER TABLE exchange ADD COLUMN received_lost_nano INTEGER;
ALTER TABLE lineage ADD COLUMN sent BLOB;
",
];

/// How long a statement waits for another process that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// What a database of ours is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    /// What it says it is, so that no other database is written to.
    pub(crate) application: i64,
    /// One step for each version.
    pub(crate) steps: &'a [&'a str],
    /// How long a statement waits for another process that writes.
    pub(crate) busy: Duration,
    /// Whether what is committed survives the end of the machine, and not only that of the process.
    pub(crate) durable: bool,
}

/// The ledger.
const LEDGER: Shape<'_> = Shape { application: APPLICATION, steps: STEPS, busy: BUSY, durable: false };

/// How a ledger is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is made where there is none.
    Write,
    /// It must be there; it is brought up to date where it may be written to.
    Read,
}

/// Opens the ledger in `file`, in the newest shape.
pub(crate) async fn open(file: &Path, access: Access) -> Result<SqliteConnection, Error> {
    if access == Access::Write {
        make(file)?;
    }
    match connect(file, false, &LEDGER).await {
        Err(error) if access == Access::Read && matches!(error.cause, Cause::ReadOnly | Cause::Unopened) => {
            connect(file, true, &LEDGER).await
        }
        outcome => outcome,
    }
}

/// Opens, and makes where there is none, another database of ours: for reading alone where it may not be written.
pub(crate) async fn open_shape(file: &Path, shape: &Shape<'_>) -> Result<SqliteConnection, Error> {
    make(file)?;
    match connect(file, false, shape).await {
        // What cannot be written can be read.
        Err(error) if matches!(error.cause, Cause::ReadOnly | Cause::Unopened) => {
            connect(file, true, shape).await.map_err(|_| error)
        }
        outcome => outcome,
    }
}

/// Makes the file, for its owner alone; SQLite gives its companions the same rights.
fn make(file: &Path) -> Result<(), Error> {
    let of_io = |error| Error::of_io(file, &error);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(of_io)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(_) => Ok(()),
        // Whether it can be written to is SQLite's to say, which knows more of the reason.
        Err(_) if file.exists() => Ok(()),
        Err(error) => Err(of_io(error)),
    }
}

async fn connect(file: &Path, read_only: bool, shape: &Shape<'_>) -> Result<SqliteConnection, Error> {
    let of_sqlite = |error| Error::of_sqlite(file, &error);
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .read_only(read_only)
        .busy_timeout(shape.busy)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(of_sqlite)?;
    let version = known(&mut connection, file, shape).await?;
    if read_only {
        // What cannot be brought up to date can be read only if it is.
        return match version == shape.steps.len() {
            true => Ok(connection),
            false => Err(Error::new(file, Cause::ReadOnly, "it is of an earlier shape")),
        };
    }
    journal(&mut connection).await.map_err(of_sqlite)?;
    let synchronous = if shape.durable { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
    connection.execute(synchronous).await.map_err(of_sqlite)?;
    migrate(&mut connection, file, shape).await?;
    Ok(connection)
}

/// Readers and one writer at a time do not wait for each other. While many processes make the same ledger, the
/// switch is refused at once, whatever the busy timeout is.
async fn journal(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let mut attempts = 0;
    loop {
        match connection.execute("PRAGMA journal_mode = WAL").await {
            Err(error) if attempts < 100 && is_busy(&error) => {
                attempts += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            outcome => return outcome.map(drop),
        }
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    Error::of_sqlite(Path::new(""), error).cause == Cause::Locked
}

/// Brings the shape up to date. The write lock is held from before the version is read until it is written: of many
/// processes one does it, and the others find it done.
async fn migrate(connection: &mut SqliteConnection, file: &Path, shape: &Shape<'_>) -> Result<(), Error> {
    let of_sqlite = |error| Error::of_sqlite(file, &error);
    if known(connection, file, shape).await? == shape.steps.len() {
        return Ok(());
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(of_sqlite)?;
    let version = known(&mut transaction, file, shape).await?;
    for step in shape.steps.iter().skip(version) {
        transaction.execute(AssertSqlSafe(*step)).await.map_err(of_sqlite)?;
    }
    let mark =
        format!("PRAGMA application_id = {}; PRAGMA user_version = {}", shape.application, shape.steps.len());
    transaction.execute(AssertSqlSafe(mark)).await.map_err(of_sqlite)?;
    transaction.commit().await.map_err(of_sqlite)
}

/// The version of the shape that is there; 0 where there is none yet.
async fn known(connection: &mut SqliteConnection, file: &Path, shape: &Shape<'_>) -> Result<usize, Error> {
    let of_sqlite = |error| Error::of_sqlite(file, &error);
    let one = "SELECT a.application_id, u.user_version, (SELECT count(*) FROM sqlite_schema) \
               FROM pragma_application_id AS a, pragma_user_version AS u";
    let (application, version, things): (i64, i64, i64) =
        sqlx::query_as(one).fetch_one(connection).await.map_err(of_sqlite)?;
    if application != shape.application && (things > 0 || application != 0) {
        return Err(Error::new(file, Cause::Foreign, ""));
    }
    match usize::try_from(version) {
        Ok(version) if version <= shape.steps.len() => Ok(version),
        _ => Err(Error::new(file, Cause::Newer, format!("its shape is version {version}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shape(file: &Path) -> Vec<String> {
        let mut connection = connect(file, true, &LEDGER).await.unwrap();
        let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        sqlx::query_as(sql)
            .fetch_all(&mut connection)
            .await
            .unwrap()
            .into_iter()
            .map(|(sql,): (String,)| sql)
            .collect()
    }

    #[tokio::test]
    async fn opening_again_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/er/ledger.sqlite");
        open(&file, Access::Write).await.unwrap().close().await.unwrap();
        let first = shape(&file).await;
        assert_eq!(first.len(), 14);
        for access in [Access::Write, Access::Read] {
            open(&file, access).await.unwrap().close().await.unwrap();
            assert_eq!(shape(&file).await, first);
        }
    }

    #[tokio::test]
    async fn an_older_shape_is_brought_up_to_date_once_and_keeps_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ledger.sqlite");
        let mut old = open(&file, Access::Write).await.unwrap();
        let line = "INSERT INTO call VALUES (NULL, 1, 'call', 's', 't', '', '', 2, 3, 4, 'ok', 0, 'stubs')";
        old.execute(line).await.unwrap();
        old.close().await.unwrap();
        let later: Vec<&str> = STEPS
            .iter()
            .copied()
            .chain(["ALTER TABLE call ADD COLUMN host TEXT NOT NULL DEFAULT ''"])
            .collect();
        let later = Shape { steps: &later, ..LEDGER };
        // Several at once: one of them does it.
        let (a, b, c) = tokio::join!(
            connect(&file, false, &later),
            connect(&file, false, &later),
            connect(&file, false, &later)
        );
        for connection in [a, b, c] {
            let mut connection = connection.unwrap();
            let (server, host): (String, String) =
                sqlx::query_as("SELECT server, host FROM call").fetch_one(&mut connection).await.unwrap();
            assert_eq!((server.as_str(), host.as_str()), ("s", ""));
        }
        // What this release does not know, it does not touch.
        let error = open(&file, Access::Write).await.unwrap_err();
        assert_eq!((error.cause, error.detail.as_str()), (Cause::Newer, "its shape is version 8"));
    }

    #[tokio::test]
    async fn another_programs_database_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.sqlite");
        std::fs::write(&file, "").unwrap();
        let mut other = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
        other.execute("CREATE TABLE bookmarks (url TEXT)").await.unwrap();
        other.close().await.unwrap();
        let before = std::fs::read(&file).unwrap();
        assert_eq!(open(&file, Access::Write).await.unwrap_err().cause, Cause::Foreign);
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn files_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/ledger.sqlite");
        let mut connection = open(&file, Access::Write).await.unwrap();
        connection.execute("CREATE TABLE x (y)").await.unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path().join("data").as_path()), 0o700);
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
            assert_eq!(mode(&folder.path().join("data").join(name)), 0o600, "{name}");
        }
    }
}
