//! Whether the work on a request is still waited for.

use std::sync::atomic::{AtomicU8, Ordering};

const PLANNING: u8 = 0;
const WRITING: u8 = 1;
const ABANDONED: u8 = 2;

/// The work on one request and who waits for it, agreed about who goes on.
#[derive(Debug, Default)]
pub(super) struct Turn(AtomicU8);

impl Turn {
    /// Something is about to be written down. False: nobody waits any longer, and it must not be.
    pub(super) fn writes(&self) -> bool {
        let outcome = self.0.compare_exchange(PLANNING, WRITING, Ordering::AcqRel, Ordering::Acquire);
        outcome.is_ok() || outcome == Err(WRITING)
    }

    /// Nobody waits any longer. False: something is being written down.
    pub(super) fn abandon(&self) -> bool {
        self.0.compare_exchange(PLANNING, ABANDONED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Nobody waits any longer, whatever is being written.
    pub(super) fn give_up(&self) {
        self.0.store(ABANDONED, Ordering::Release);
    }

    /// Whether somebody waits.
    pub(super) fn is_waited_for(&self) -> bool {
        self.0.load(Ordering::Acquire) != ABANDONED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_waited_for_and_what_is_not_waited_for_is_not_written() {
        let turn = Turn::default();
        assert!(turn.writes() && turn.writes() && !turn.abandon() && turn.is_waited_for());
        turn.give_up();
        assert!(!turn.is_waited_for() && !turn.writes());
        let turn = Turn::default();
        assert!(turn.abandon() && !turn.writes());
    }
}
