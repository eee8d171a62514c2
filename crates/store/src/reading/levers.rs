//! What levers did, summed up from the receipts.

use super::which::Which;
use crate::call::read;
use crate::error::Error;
use crate::ledger::Ledger;
use serde::Serialize;
use sqlx::{QueryBuilder, Sqlite};
use std::collections::BTreeMap;

/// What one lever did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeverSum {
    /// Its name.
    pub lever: String,
    /// Requests that it was asked about.
    pub requests: u64,
    /// Of these, the ones that it changed (WITNESSED).
    pub edited: u64,
    /// Bytes that it took out, less those it put in (WITNESSED).
    pub bytes: i64,
    /// The same in tokens, ESTIMATED by the estimators of the footprints.
    pub tokens: i64,
    /// Why it stood down, and how often.
    pub stood_down: BTreeMap<String, u64>,
}

impl Ledger {
    /// What each lever did to the exchanges that are meant, in the order of their names.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read.
    pub async fn levers(&mut self, which: &Which) -> Result<Vec<LeverSum>, Error> {
        let rows = self.lever_rows(which).await.map_err(|error| self.error(&error))?;
        let mut sums: BTreeMap<String, LeverSum> = BTreeMap::new();
        for (lever, edited, reason, count, bytes, tokens) in rows {
            let own = sums.entry(lever.clone()).or_insert_with(|| LeverSum { lever, ..LeverSum::default() });
            own.requests = own.requests.saturating_add(read(count));
            own.edited = own.edited.saturating_add(if edited { read(count) } else { 0 });
            own.bytes = own.bytes.saturating_add(bytes);
            own.tokens = own.tokens.saturating_add(tokens);
            if !reason.is_empty() {
                *own.stood_down.entry(reason).or_default() += read(count);
            }
        }
        Ok(sums.into_values().collect())
    }

    async fn lever_rows(
        &mut self,
        which: &Which,
    ) -> Result<Vec<(String, bool, String, i64, i64, i64)>, sqlx::Error> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT lever, edited, reason, count(*), sum(bytes), sum(tokens) FROM lever_action JOIN \
             (SELECT number FROM exchange",
        );
        which.push(&mut query);
        query.push(") ON number = exchange GROUP BY lever, edited, reason");
        query.build_query_as().fetch_all(&mut self.connection).await
    }
}
