//! Whose the tools are that a proxy shows: a map from the names it gives them, so that nobody has to guess from a name.

use crate::call::{bounded, read, stored};
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;

/// The names that one proxy shows one client. A later one of the same entry and client takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The name of the entry that serves them, as the client's configuration has it.
    pub entry: String,
    /// The client's name as it gives it; empty where it gives none.
    pub client: String,
    /// When they were listed, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// The tools; of more than 16,384 those that come last are left out.
    pub tools: Vec<Shown>,
}

/// One tool as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its name in the list that the client was served.
    pub shown: String,
    /// The label of its server.
    pub server: String,
    /// Its own name there.
    pub tool: String,
}

/// One line of the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Name {
    /// The entry that serves it.
    pub entry: String,
    /// The client that is shown it.
    pub client: String,
    /// Its name in the list that the client was served; the client puts its own marks before it.
    pub shown: String,
    /// The label of its server.
    pub server: String,
    /// Its own name there.
    pub tool: String,
    /// When it was last listed, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
}

/// The entry under which the tools are served that belong to no server: our own.
pub const OWN_ENTRY: &str = "deadweight";

/// How many names of one entry and client are kept.
const MOST: usize = 16_384;

/// Writes the names of one entry and client in the place of those before.
pub(crate) async fn write(connection: &mut SqliteConnection, names: &Names) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM name_map WHERE entry = ? AND client = ?")
        .bind(bounded(&names.entry))
        .bind(bounded(&names.client))
        .execute(&mut *connection)
        .await?;
    for one in names.tools.iter().take(MOST) {
        sqlx::query(
            "INSERT OR REPLACE INTO name_map (entry, client, shown, server, tool, at_ms) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(bounded(&names.entry))
        .bind(bounded(&names.client))
        .bind(bounded(&one.shown))
        .bind(bounded(&one.server))
        .bind(bounded(&one.tool))
        .bind(stored(names.at_ms))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Reads the map, the newest first.
pub(crate) async fn all(connection: &mut SqliteConnection) -> Result<Vec<Name>, sqlx::Error> {
    let rows: Vec<(String, String, String, String, String, i64)> = sqlx::query_as(
        "SELECT entry, client, shown, server, tool, at_ms FROM name_map ORDER BY at_ms DESC, entry, client, shown",
    )
    .fetch_all(connection)
    .await?;
    let name = |(entry, client, shown, server, tool, at_ms)| Name {
        entry,
        client,
        shown,
        server,
        tool,
        at_ms: read(at_ms),
    };
    Ok(rows.into_iter().map(name).collect())
}
