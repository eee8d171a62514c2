//! What a running gateway counts of itself.

use deadweight_gateway::relay::Handle;
use deadweight_gateway::watching::Watching;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Keeps the count of what is under way, for as long as the gateway runs.
pub(super) async fn count(watching: Arc<Watching>, handle: Handle) {
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    loop {
        clock.tick().await;
        watching.metrics.open(handle.counted().open.load(Ordering::Relaxed));
    }
}
