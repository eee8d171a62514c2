//! What tools are used, by the agents that carry them.

use crate::call::{read, stored};
use crate::error::Error;
use crate::ledger::Ledger;

/// How one agent uses one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The agent; `None` for all that nothing gives away.
    pub agent: Option<String>,
    /// The tool's name as sent.
    pub name: String,
    /// How many sessions carried it, of those in which any tool was called: the others tell nothing of what is used.
    pub sessions: u64,
    /// How often it was called.
    pub calls: u64,
}

/// Sessions in which tools were called; of these, who carried what; and who called what.
const SQL: &str = "\
WITH called AS (
    SELECT e.agent, e.session, c.name, sum(c.count) AS calls
    FROM exchange e JOIN exchange_call c ON c.exchange = e.number
    WHERE e.at_ms >= ?1 AND e.session <> '' GROUP BY e.agent, e.session, c.name
), worked AS (SELECT DISTINCT agent, session FROM called),
carried AS (
    SELECT DISTINCT e.agent, e.session, e.tool_set
    FROM exchange e JOIN worked w ON w.session = e.session AND w.agent IS e.agent
    WHERE e.at_ms >= ?1 AND e.kind = 'generate' AND e.tool_set IS NOT NULL
), rows AS (
    SELECT c.agent, l.name, count(DISTINCT c.session) AS sessions, 0 AS calls
    FROM carried c JOIN tool_line l ON l.tool_set = c.tool_set GROUP BY c.agent, l.name
    UNION ALL SELECT agent, name, 0, sum(calls) FROM called GROUP BY agent, name
)
SELECT agent, name, sum(sessions), sum(calls) FROM rows GROUP BY agent, name ORDER BY agent, name";

/// One, as SQLite answers.
type Row = (Option<String>, String, i64, i64);

impl Ledger {
    /// How each agent used each tool that it carried or called since then.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn tool_uses(&mut self, since_ms: u64) -> Result<Vec<ToolUse>, Error> {
        let rows: Result<Vec<Row>, _> =
            sqlx::query_as(SQL).bind(stored(since_ms)).fetch_all(&mut self.connection).await;
        let rows = rows.map_err(|error| self.error(&error))?;
        let one = |(agent, name, sessions, calls)| ToolUse {
            agent,
            name,
            sessions: read(sessions),
            calls: read(calls),
        };
        Ok(rows.into_iter().map(one).collect())
    }
}
