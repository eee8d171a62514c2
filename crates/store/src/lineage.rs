//! What a gateway remembers of conversations, so that one that was started anew goes on where it was.

use crate::call::{bounded, read, stored};
use sqlx::sqlite::SqliteConnection;

/// What is remembered of the conversations of one session: hashes and sizes, in a form that is the writer's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The key of the session.
    pub session: String,
    /// When it was last added to, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// The state. More than 1 MiB is not kept.
    pub state: Vec<u8>,
    /// The same of the conversations as they were sent, where something was changed in them. More than 1 MiB is not kept.
    pub sent: Option<Vec<u8>>,
}

/// One, as SQLite answers.
type Row = (String, i64, Vec<u8>, Option<Vec<u8>>);

/// How large a state may be.
const LARGEST: usize = 1 << 20;

/// Writes one in the place of that of the same session.
pub(crate) async fn write(connection: &mut SqliteConnection, one: &Lineage) -> Result<(), sqlx::Error> {
    if one.state.len() > LARGEST {
        return Ok(());
    }
    sqlx::query("INSERT OR REPLACE INTO lineage (session, at_ms, state, sent) VALUES (?, ?, ?, ?)")
        .bind(bounded(&one.session))
        .bind(stored(one.at_ms))
        .bind(&one.state[..])
        .bind(one.sent.as_deref().filter(|sent| sent.len() <= LARGEST))
        .execute(connection)
        .await
        .map(drop)
}

/// Reads those that were added to at `since_ms` or later, the newest first, at most `most`.
pub(crate) async fn since(
    connection: &mut SqliteConnection,
    since_ms: u64,
    most: u32,
) -> Result<Vec<Lineage>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT session, at_ms, state, sent FROM lineage WHERE at_ms >= ? ORDER BY at_ms DESC, session LIMIT ?",
    )
    .bind(stored(since_ms))
    .bind(i64::from(most))
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|(session, at_ms, state, sent)| Lineage { session, at_ms: read(at_ms), state, sent })
        .collect())
}
