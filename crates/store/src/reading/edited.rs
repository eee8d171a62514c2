//! In which sessions a lever edited.

use crate::call::stored;
use crate::error::Error;
use crate::ledger::Ledger;

impl Ledger {
    /// The sessions in which this lever edited a request since then.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn sessions_edited_by(&mut self, lever: &str, since_ms: u64) -> Result<Vec<String>, Error> {
        let rows: Result<Vec<(String,)>, _> = sqlx::query_as(
            "SELECT DISTINCT e.session FROM exchange e JOIN lever_action l ON l.exchange = e.number \
             WHERE e.at_ms >= ?1 AND l.lever = ?2 AND l.edited = 1 AND e.session <> ''",
        )
        .bind(stored(since_ms))
        .bind(lever)
        .fetch_all(&mut self.connection)
        .await;
        let rows = rows.map_err(|error| self.error(&error))?;
        Ok(rows.into_iter().map(|(session,)| session).collect())
    }
}
