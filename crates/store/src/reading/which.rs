//! Which exchanges are meant.

use crate::call::stored;
use sqlx::{QueryBuilder, Sqlite};

/// Whether an exchange is a turn: a request for an answer of a model that was answered
/// ([`Exchange::is_turn`](crate::Exchange::is_turn)), in SQL over the table `exchange`.
macro_rules! turn {
    () => {
        "(kind = 'generate' AND ended = 'complete' AND coalesce(status, 0) BETWEEN 200 AND 299 \
         AND coalesce(error, 'truncated') = 'truncated')"
    };
}
pub(super) use turn;

/// Whether an exchange failed: a request for an answer that was not answered, any other that was refused or broken off.
/// What is under way has not.
macro_rules! failed {
    () => {
        concat!(
            "(ended NOT IN ('open', 'tunnel') AND CASE WHEN kind = 'generate' THEN NOT ",
            $crate::reading::which::turn!(),
            " ELSE ended <> 'complete' OR coalesce(status, 0) >= 400 END)"
        )
    };
}
pub(super) use failed;

/// Which exchanges are meant: those for which everything holds that is said. Nothing said: all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// Those that began at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Those that began before this time.
    pub until_ms: Option<u64>,
    /// Those of this session.
    pub session: Option<String>,
    /// Those of this conversation.
    pub conversation: Option<String>,
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those that name this model.
    pub model: Option<String>,
    /// Those that went to this provider.
    pub provider: Option<String>,
    /// Those of this class, as the cache watch tells it.
    pub class: Option<String>,
    /// Those that ended so.
    pub ended: Option<String>,
    /// Those that carry a tool of this name (`true`), of this server (`false`).
    pub carries: Option<(bool, String)>,
    /// Those that asked for an answer of a model, and no others; whether they were answered or not.
    pub turns_only: bool,
    /// Those that failed, and no others: requests for an answer that were not answered, and others that were refused or
    /// broken off.
    pub failed_only: bool,
    /// Turns that were answered, and no others.
    pub answered_only: bool,
}

/// A page of a long list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many, at most.
    pub limit: u32,
    /// How many come before.
    pub offset: u32,
}

impl Page {
    /// The first `limit`.
    #[must_use]
    pub const fn first(limit: u32) -> Self {
        Self { limit, offset: 0 }
    }

    pub(crate) fn push(self, query: &mut QueryBuilder<Sqlite>) {
        query.push(" LIMIT ").push_bind(i64::from(self.limit));
        query.push(" OFFSET ").push_bind(i64::from(self.offset));
    }
}

impl Which {
    /// The exchanges of one session.
    #[must_use]
    pub fn of_session(session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..Self::default() }
    }

    /// Adds ` WHERE …` over the table `exchange`.
    pub(crate) fn push(&self, query: &mut QueryBuilder<Sqlite>) {
        query.push(" WHERE 1 = 1");
        if let Some(since) = self.since_ms {
            query.push(" AND at_ms >= ").push_bind(stored(since));
        }
        if let Some(until) = self.until_ms {
            query.push(" AND at_ms < ").push_bind(stored(until));
        }
        let texts = [
            (" AND session = ", &self.session),
            (" AND conversation = ", &self.conversation),
            (" AND agent = ", &self.agent),
            (" AND model = ", &self.model),
            (" AND provider = ", &self.provider),
            (" AND class = ", &self.class),
            (" AND ended = ", &self.ended),
        ];
        for (condition, value) in texts {
            if let Some(value) = value {
                query.push(condition).push_bind(value.clone());
            }
        }
        if let Some((tool, name)) = &self.carries {
            let column = if *tool { "name" } else { "server" };
            query.push(" AND tool_set IN (SELECT tool_set FROM tool_line WHERE ");
            query.push(column).push(" = ").push_bind(name.clone()).push(")");
        }
        if self.turns_only {
            query.push(" AND kind = 'generate'");
        }
        if self.answered_only {
            query.push(concat!(" AND ", turn!()));
        }
        if self.failed_only {
            query.push(concat!(" AND ", failed!()));
        }
    }

    /// Adds ` WHERE …` over the table `call`, whose lines belong to no exchange: what cannot be true of one is not.
    pub(crate) fn push_of_calls(&self, query: &mut QueryBuilder<Sqlite>) {
        query.push(" WHERE 1 = 1");
        for (side, at) in [(" AND at_ms >= ", self.since_ms), (" AND at_ms < ", self.until_ms)] {
            if let Some(at) = at {
                query.push(side).push_bind(stored(at));
            }
        }
        for (condition, value) in [(" AND session = ", &self.session), (" AND client = ", &self.agent)] {
            if let Some(value) = value {
                query.push(condition).push_bind(value.clone());
            }
        }
        if let Some((tool, name)) = &self.carries {
            query.push(if *tool { " AND tool = " } else { " AND server = " }).push_bind(name.clone());
        }
        let others = [&self.conversation, &self.model, &self.provider, &self.class, &self.ended];
        if self.turns_only
            || self.answered_only
            || self.failed_only
            || others.iter().any(|other| other.is_some())
        {
            query.push(" AND 1 = 0");
        }
    }
}
