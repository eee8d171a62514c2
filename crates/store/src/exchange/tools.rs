//! The tools of a request. Turn after turn they are the same, so that each set stands in the ledger once.

use crate::call::{bounded, read, stored};
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use std::collections::HashMap;
use std::sync::Arc;

/// The tools of a request, in its order. It is made once and shared by all requests that carry the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolSet {
    hash: String,
    tools: Vec<ToolLine>,
}

/// One tool of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolLine {
    /// Its name as sent.
    pub name: String,
    /// The namespace it stands in; empty where there is none.
    pub namespace: String,
    /// Whose it is.
    pub origin: Origin,
    /// The server's label; empty where it is no server's.
    pub server: String,
    /// Its own name at that server, where it is known; else empty.
    pub own_name: String,
    /// Name, description and schema, in bytes.
    pub bytes: u64,
    /// Their tokens, ESTIMATED.
    pub tokens: u64,
    /// Of these, the description's.
    pub description_tokens: u64,
    /// Whether it is left out of the prompt until it is searched for; its tokens are then not paid.
    pub deferred: bool,
}

/// Whose a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The agent's own, or one that the provider runs for it.
    Builtin,
    /// An MCP server's.
    Mcp,
    /// Not known.
    Unknown,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Builtin, Self::Mcp, Self::Unknown];

    /// The word that the ledger has for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Mcp => "mcp",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn of_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|origin| origin.word() == word).unwrap_or(Self::Unknown)
    }
}

/// How many tools of a request are written down one by one; a request may name any number.
const MOST: usize = 4_096;

impl ToolSet {
    /// A set of `tools`, with its hash. Names that are too long are cut; of more than 4,096 tools those that come
    /// last are left out.
    #[must_use]
    pub fn new(mut tools: Vec<ToolLine>) -> Arc<Self> {
        tools.truncate(MOST);
        let mut hash = Sha256::new();
        for tool in &mut tools {
            for text in [&mut tool.name, &mut tool.namespace, &mut tool.server, &mut tool.own_name] {
                let end = bounded(text).len();
                text.truncate(end);
                hash.update(text.len().to_le_bytes());
                hash.update(text.as_bytes());
            }
            for number in [tool.bytes, tool.tokens, tool.description_tokens, u64::from(tool.deferred)] {
                hash.update(number.to_le_bytes());
            }
            hash.update(tool.origin.word().as_bytes());
        }
        let hash = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Arc::new(Self { hash, tools })
    }

    /// What it is called: 32 hex digits, the same for equal sets.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The tools, in the order of the request.
    #[must_use]
    pub fn tools(&self) -> &[ToolLine] {
        &self.tools
    }
}

/// The sets that a writer knows to be in the ledger, with their row's number.
#[derive(Debug, Default)]
pub(crate) struct KnownSets {
    sets: HashMap<String, Known>,
    /// Counts transactions.
    batch: u64,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    number: i64,
    /// In which transaction it was last seen to be there. While that lasts nobody can throw it away.
    seen: u64,
}

impl KnownSets {
    /// How many are remembered; past it all are looked up anew.
    const MOST: usize = 1_024;

    /// After a transaction that was rolled back nothing is known.
    pub(crate) fn forget(&mut self) {
        self.sets.clear();
    }

    /// A transaction begins that holds the write lock.
    pub(crate) const fn begin(&mut self) {
        self.batch += 1;
    }

    /// The number of the set's row, which is made where there is none.
    pub(crate) async fn number(
        &mut self,
        connection: &mut SqliteConnection,
        set: &ToolSet,
    ) -> Result<i64, sqlx::Error> {
        if let Some(known) = self.sets.get_mut(&set.hash) {
            if known.seen == self.batch {
                return Ok(known.number);
            }
            // Another process may have thrown it away meanwhile.
            let there: Option<(i64,)> = sqlx::query_as("SELECT id FROM tool_set WHERE id = ? AND hash = ?")
                .bind(known.number)
                .bind(&set.hash)
                .fetch_optional(&mut *connection)
                .await?;
            if there.is_some() {
                known.seen = self.batch;
                return Ok(known.number);
            }
        }
        let there: Option<(i64,)> = sqlx::query_as("SELECT id FROM tool_set WHERE hash = ?")
            .bind(&set.hash)
            .fetch_optional(&mut *connection)
            .await?;
        let number = match there {
            Some((number,)) => number,
            None => insert(connection, set).await?,
        };
        if self.sets.len() >= Self::MOST {
            self.forget();
        }
        self.sets.insert(set.hash.clone(), Known { number, seen: self.batch });
        Ok(number)
    }
}

async fn insert(connection: &mut SqliteConnection, set: &ToolSet) -> Result<i64, sqlx::Error> {
    let number = sqlx::query("INSERT INTO tool_set (hash, tools) VALUES (?, ?)")
        .bind(&set.hash)
        .bind(stored(set.tools.len() as u64))
        .execute(&mut *connection)
        .await?
        .last_insert_rowid();
    for (place, tool) in set.tools.iter().enumerate() {
        sqlx::query(
            "INSERT INTO tool_line (tool_set, place, name, namespace, origin, server, own_name, bytes, tokens, \
             description_tokens, deferred) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(number)
        .bind(stored(place as u64))
        .bind(&tool.name)
        .bind(&tool.namespace)
        .bind(tool.origin.word())
        .bind(&tool.server)
        .bind(&tool.own_name)
        .bind(stored(tool.bytes))
        .bind(stored(tool.tokens))
        .bind(stored(tool.description_tokens))
        .bind(tool.deferred)
        .execute(&mut *connection)
        .await?;
    }
    Ok(number)
}

/// Reads a set; `None` where it is not there.
pub(crate) async fn read_set(
    connection: &mut SqliteConnection,
    number: i64,
) -> Result<Option<Arc<ToolSet>>, sqlx::Error> {
    let hash: Option<(String,)> = sqlx::query_as("SELECT hash FROM tool_set WHERE id = ?")
        .bind(number)
        .fetch_optional(&mut *connection)
        .await?;
    let Some((hash,)) = hash else { return Ok(None) };
    let rows = sqlx::query("SELECT * FROM tool_line WHERE tool_set = ? ORDER BY place")
        .bind(number)
        .fetch_all(connection)
        .await?;
    let tools = rows
        .iter()
        .map(|row| {
            let count = |name: &str| row.try_get::<i64, _>(name).map(read);
            Ok(ToolLine {
                name: row.try_get("name")?,
                namespace: row.try_get("namespace")?,
                origin: Origin::of_word(&row.try_get::<String, _>("origin")?),
                server: row.try_get("server")?,
                own_name: row.try_get("own_name")?,
                bytes: count("bytes")?,
                tokens: count("tokens")?,
                description_tokens: count("description_tokens")?,
                deferred: row.try_get("deferred")?,
            })
        })
        .collect::<Result<_, sqlx::Error>>()?;
    Ok(Some(Arc::new(ToolSet { hash, tools })))
}
