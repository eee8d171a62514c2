//! The time, as lines have it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of now in milliseconds since 1970 (UTC); a clock before that is 0.
#[must_use]
pub fn now_ms() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A span of time in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
