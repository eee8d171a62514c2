//! Sessions.

use super::sums::{SUMS, Sums, sums};
use super::which::{Page, Which, turn};
use crate::call::read;
use crate::error::Error;
use crate::ledger::Ledger;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

/// One session, summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Session {
    /// Its key.
    pub session: String,
    /// The agent of its last exchange that has one.
    pub agent: Option<String>,
    /// The model of its last turn that names one.
    pub model: Option<String>,
    /// How many different models its turns name.
    pub models: u64,
    /// The floor of its last measured turn, in tokens, ESTIMATED.
    pub floor: Option<u64>,
    /// All slices of that turn.
    pub total: Option<u64>,
    /// The largest total of a turn.
    pub peak: Option<u64>,
    /// The sums over its exchanges.
    pub sums: Sums,
}

/// The order of sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SessionOrder {
    /// The last active first.
    #[default]
    Last,
    /// The dearest first.
    Money,
    /// Those with most tokens first.
    Tokens,
    /// Those with most turns first.
    Turns,
    /// Those that lost most of their cache first.
    Lost,
}

impl SessionOrder {
    const fn sql(self) -> &'static str {
        match self {
            Self::Last => "last_ms DESC",
            Self::Money => "coalesce(input_nano, 0) + coalesce(output_nano, 0) DESC",
            Self::Tokens => {
                "coalesce(prompt, system_tokens + tools_tokens + history_tokens + tail_tokens) DESC"
            }
            Self::Turns => "turns DESC",
            Self::Lost => "lost_tokens DESC",
        }
    }
}

impl Ledger {
    /// The sessions of the exchanges that are meant; exchanges without a session are left out.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn sessions(
        &mut self,
        which: &Which,
        order: SessionOrder,
        page: Page,
    ) -> Result<Vec<Session>, Error> {
        // The values of the last row are asked for only of the sessions that are shown.
        let mut query = QueryBuilder::<Sqlite>::new(format!(
            "SELECT s.*, \
             (SELECT agent FROM exchange e WHERE e.session = s.session AND agent IS NOT NULL \
                ORDER BY at_ms DESC, number DESC LIMIT 1) AS agent, \
             (SELECT model FROM exchange e WHERE e.session = s.session AND model IS NOT NULL AND {turn} \
                ORDER BY at_ms DESC, number DESC LIMIT 1) AS model, \
             (SELECT system_tokens + tools_tokens FROM exchange e WHERE e.session = s.session AND {turn} \
                AND estimator IS NOT NULL ORDER BY at_ms DESC, number DESC LIMIT 1) AS floor, \
             (SELECT system_tokens + tools_tokens + history_tokens + tail_tokens FROM exchange e \
                WHERE e.session = s.session AND {turn} AND estimator IS NOT NULL AND delta IS NULL \
                ORDER BY at_ms DESC, number DESC LIMIT 1) AS total \
             FROM (SELECT session, {SUMS}, count(DISTINCT model) FILTER (WHERE {turn}) AS models, \
             max(system_tokens + tools_tokens + history_tokens + tail_tokens) FILTER (WHERE {turn}) AS peak \
             FROM exchange",
            turn = turn!()
        ));
        which.push(&mut query);
        query.push(" AND session <> '' GROUP BY session ORDER BY ").push(order.sql()).push(", session");
        page.push(&mut query);
        query.push(") s");
        let rows = query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
        rows.iter().map(session).collect::<Result<_, _>>().map_err(|error| self.error(&error))
    }
}

fn session(row: &SqliteRow) -> Result<Session, sqlx::Error> {
    let maybe = |name: &str| Ok::<_, sqlx::Error>(row.try_get::<Option<i64>, _>(name)?.map(read));
    Ok(Session {
        session: row.try_get("session")?,
        agent: row.try_get("agent")?,
        model: row.try_get("model")?,
        models: read(row.try_get("models")?),
        floor: maybe("floor")?,
        total: maybe("total")?,
        peak: maybe("peak")?,
        sums: sums(row)?,
    })
}
