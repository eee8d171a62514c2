//! When the clock is believed by whoever throws away what is old.
//!
//! A clock can be wrong: a machine starts with a date weeks ahead, and is put right a minute later. One reading is therefore
//! never enough to throw anything away. The rule: what was read last is kept with the data; a reading that is a day later or
//! more shows that the clock went on from there, and then the *earlier* of the two is believed, and the later one kept. A
//! reading before the one that was kept takes its place, and nothing is thrown away.
//!
//! So a start 61 days ahead throws away only what was old at the start before it; the next right reading makes it
//! forgotten. What was really left alone for 61 days goes on the second day that it is seen.

/// A day, in milliseconds.
pub(crate) const DAY: u64 = 86_400_000;

/// What a reading of the clock comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It is too near to the one before to say anything.
    Early,
    /// It is to be kept; nothing can be thrown away by it.
    Keep,
    /// It is to be kept, and it is at least this late.
    Believed(u64),
}

/// What a reading comes to after the one that was kept.
pub(crate) fn read(kept_ms: Option<u64>, now_ms: u64) -> Reading {
    match kept_ms {
        Some(kept) if now_ms >= kept.saturating_add(DAY) => Reading::Believed(kept),
        Some(kept) if now_ms >= kept => Reading::Early,
        _ => Reading::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reading_is_never_believed() {
        assert_eq!(read(None, 100 * DAY), Reading::Keep);
        assert_eq!(read(Some(100 * DAY), 100 * DAY + 1), Reading::Early);
        assert_eq!(read(Some(100 * DAY), 161 * DAY), Reading::Believed(100 * DAY));
        assert_eq!(read(Some(161 * DAY), 161 * DAY + 9), Reading::Early);
        assert_eq!(read(Some(161 * DAY), 101 * DAY), Reading::Keep);
    }
}
