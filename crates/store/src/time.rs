//! The time, as lines have it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of now in milliseconds since 1970 (UTC); a clock before that is 0.
#[must_use]
pub fn now_ms() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// The time so long ago, in milliseconds since 1970.
pub(crate) fn before_now(past: Duration) -> u64 {
    now_ms().saturating_sub(millis(past))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
