//! The far end of a session: the strict provider, what its model is to say next, and the clock that all of them share.

use crate::strict::{Account, StrictProvider};
use crate::upstream::{Answer, Recorded, Script, Turn, Turns};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Milliseconds since 1970. It stands still unless it is moved.
#[derive(Debug, Clone)]
pub struct Clock(Arc<AtomicU64>);

impl Default for Clock {
    /// Some day in November 2026.
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1_795_000_000_000)))
    }
}

impl Clock {
    /// The time.
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }
}

/// What the model says next, until it is told something else.
#[derive(Debug, Clone, Default)]
struct Next(Arc<Mutex<VecDeque<Turn>>>);

impl Script for Next {
    fn answer(&mut self, request: &Recorded) -> Answer {
        let turn = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match turn {
            Some(turn) => Answer::Turn(turn),
            None => Turns::default().answer(request),
        }
    }
}

/// A strict provider with its clock and its script.
#[derive(Debug)]
pub struct Line {
    /// The provider.
    pub provider: StrictProvider,
    /// The clock.
    pub clock: Clock,
    next: Next,
}

impl Line {
    /// Starts a provider that checks everything.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start() -> io::Result<Self> {
        let next = Next::default();
        let provider = StrictProvider::start(Account::NEW, next.clone())?;
        Ok(Self { provider, clock: Clock::default(), next })
    }

    /// The next requests that are accepted are answered with these turns, and with nothing else.
    pub fn says(&self, turns: impl IntoIterator<Item = Turn>) {
        *self.next.0.lock().unwrap_or_else(PoisonError::into_inner) = turns.into_iter().collect();
    }

    /// Time passes.
    pub fn wait(&self, time: Duration) {
        self.clock.advance(time);
        self.provider.advance(time);
    }
}
