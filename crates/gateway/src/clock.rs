//! What time it is, brought along by whoever starts a gateway: tests and replays have clocks of their own.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time, in milliseconds since 1970 (UTC).
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The system's clock.
#[must_use]
pub fn system() -> Clock {
    Arc::new(|| millis(SystemTime::now()))
}

/// Milliseconds since 1970; a time before that is 0.
pub(crate) fn millis(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time that is so many milliseconds after 1970.
pub(crate) fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(UNIX_EPOCH)
}
