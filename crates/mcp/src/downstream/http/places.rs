//! The connections there are, and which one has to go when another wants in: of those that only wait, the slowest.
//!
//! A connection waits while the head or the body of a request is on its way, and between two requests. One that is being
//! answered is never put off.

use hyper::body::{Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Bytes a second that a body has to bring.
const PACE: u64 = 16 << 10;

/// The places for connections.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    all: Mutex<All>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    taken: HashMap<u64, Taken>,
}

#[derive(Debug)]
struct Taken {
    /// What it waits for; none while it is answered.
    waits: Option<Waits>,
    task: Option<AbortHandle>,
}

/// What a connection waits for. Who is between two requests is put off after those that hold one back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Waits {
    /// For the rest of a request: since when, later by the time that what has come may take.
    Within(Instant),
    /// For the next request.
    Between(Instant),
}

impl Places {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, all: Mutex::default(), changed: Notify::new() })
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a connection can be taken on, if need be in place of one that waits.
    pub(super) async fn available(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let all = self.all();
                if all.taken.len() < self.most || all.taken.values().any(|taken| taken.waits.is_some()) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// A place for a connection that was made.
    pub(super) fn take(self: &Arc<Self>) -> Place {
        let mut all = self.all();
        if all.taken.len() >= self.most {
            let waiting = all.taken.iter().filter_map(|(id, taken)| Some((taken.waits?, *id)));
            if let Some((_, id)) = waiting.min()
                && let Some(Taken { task: Some(task), .. }) = all.taken.remove(&id)
            {
                task.abort();
            }
        }
        let id = all.next;
        all.next += 1;
        all.taken.insert(id, Taken { waits: Some(Waits::Within(Instant::now())), task: None });
        Place { places: Arc::clone(self), id }
    }

    /// The task that serves a place.
    pub(super) fn served_by(&self, id: u64, task: AbortHandle) {
        if let Some(taken) = self.all().taken.get_mut(&id) {
            taken.task = Some(task);
        }
    }
}

/// A connection's place; free when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
}

impl Place {
    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    fn set(&self, waits: Option<Waits>) {
        if let Some(taken) = self.places.all().taken.get_mut(&self.id) {
            taken.waits = waits;
        }
        if waits.is_some() {
            self.places.changed.notify_one();
        }
    }

    /// So much of a body that began then has come.
    pub(super) fn brings(&self, since: Instant, bytes: u64) {
        self.set(Some(Waits::Within(since + time_for(bytes))));
    }

    /// Its request is complete.
    pub(super) fn is_answered(&self) {
        self.set(None);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.all().taken.remove(&self.id);
        self.places.changed.notify_one();
    }
}

/// How long so many bytes may take.
pub(super) const fn time_for(bytes: u64) -> Duration {
    Duration::from_millis(bytes.saturating_mul(1_000) / PACE)
}

/// The body of an answer; its connection waits for the next request when it is over.
pub(super) struct Answer {
    pub(super) body: axum::body::Body,
    pub(super) place: Arc<Place>,
}

impl hyper::body::Body for Answer {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.place.set(Some(Waits::Between(Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_slowest_of_those_that_hold_a_request_back_goes_first() {
        let places = Places::new(4);
        let begun = Instant::now();
        let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(std::future::pending::<()>())).collect();
        let mut taken: Vec<Place> = Vec::new();
        for task in &tasks {
            let place = places.take();
            places.served_by(place.id(), task.abort_handle());
            taken.push(place);
        }
        taken[0].is_answered();
        // The second brings much, the third little; the fourth is between two requests, and was so for longest.
        taken[1].brings(begun, PACE * 60);
        taken[2].brings(begun, 3);
        taken[3].set(Some(Waits::Between(begun)));
        let mut gone = Vec::new();
        for next in [2, 1, 3] {
            places.available().await;
            let place = places.take();
            place.is_answered();
            taken.push(place);
            gone.push(next);
            while !tasks[next].is_finished() {
                tokio::task::yield_now().await;
            }
            let over = (0..4).filter(|task| tasks[*task].is_finished()).count();
            assert_eq!(over, gone.len(), "{gone:?}");
        }
        // Now all are answered.
        tokio::select! {
            biased;
            () = places.available() => panic!("there is no place"),
            () = std::future::ready(()) => {}
        }
        drop(taken.pop());
        places.available().await;
    }
}
