//! The way from the relay to whoever measures: never waited for, and bounded in memory.

use super::{Answer, Begun, Copied, Event, Unread};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// A queue whose events hold at most about `bound` bytes of bodies. Whatever comes when it is full is told without its
/// bodies: it is counted, and not measured.
pub fn channel(bound: u64) -> (Sink, Events) {
    let (sender, receiver) = mpsc::channel();
    let waiting = Arc::new(AtomicU64::new(0));
    (Sink { sender, waiting: Arc::clone(&waiting), bound }, Events { receiver, waiting, tap: None })
}

/// The relay's end.
#[derive(Debug, Clone)]
pub struct Sink {
    sender: Sender<Event>,
    waiting: Arc<AtomicU64>,
    bound: u64,
}

/// The end of whoever measures.
pub struct Events {
    receiver: Receiver<Event>,
    waiting: Arc<AtomicU64>,
    tap: Option<Tap>,
}

/// Sees every event as it is taken.
type Tap = Box<dyn Fn(&Event) + Send>;

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Sink {
    /// Tells an event, at once. When nobody listens any more it is lost.
    pub fn tell(&self, mut event: Event) {
        gather(&mut event);
        let held = held(&event);
        if held > 0 && self.waiting.fetch_add(held, Ordering::Relaxed) + held > self.bound {
            self.waiting.fetch_sub(held, Ordering::Relaxed);
            forget(&mut event);
        }
        let _ = self.sender.send(event);
    }
}

impl Events {
    /// The same, with somebody who sees every event as it is taken.
    #[must_use]
    pub fn tapped(self, tap: impl Fn(&Event) + Send + 'static) -> Self {
        Self { tap: Some(Box::new(tap)), ..self }
    }

    /// Waits for the next event; none when the relay is gone.
    pub fn next(&self) -> Option<Event> {
        self.receiver.recv().ok().map(|event| self.taken(event))
    }

    /// How many bytes of bodies wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for the next event for no longer than `time`.
    ///
    /// # Errors
    ///
    /// When none came within the time, or none will come any more.
    pub fn next_within(&self, time: Duration) -> Result<Event, RecvTimeoutError> {
        self.receiver.recv_timeout(time).map(|event| self.taken(event))
    }

    /// The next event, if there is one now.
    pub fn try_next(&self) -> Option<Event> {
        self.receiver.try_recv().ok().map(|event| self.taken(event))
    }

    fn taken(&self, event: Event) -> Event {
        self.waiting.fetch_sub(held(&event), Ordering::Relaxed);
        if let Some(tap) = &self.tap {
            tap(&event);
        }
        event
    }
}

/// A body of at most so many bytes is copied: what it came in is as large again, and is used for what comes next.
const SMALL: u64 = 32 << 10;

/// Puts small bodies into memory of their own.
fn gather(event: &mut Event) {
    let own = |body: &mut Copied| {
        if !body.chunks.is_empty() && body.length <= SMALL {
            body.chunks = vec![body.chunks.concat().into()];
        }
    };
    match event {
        Event::Begun(begun) => {
            let Begun { received, sent, .. } = &mut **begun;
            let same = received.is_same_memory(sent);
            own(received);
            if same { sent.chunks.clone_from(&received.chunks) } else { own(sent) }
        }
        Event::Frame(frame) => own(&mut frame.text),
        Event::Ended(ended) => {
            if let Answer::Body { body, .. } = &mut ended.answer {
                own(body);
            }
        }
    }
}

/// What an event takes besides its bodies, about.
const ITSELF: u64 = 2 << 10;

/// Bytes that an event takes. A body that was sent as it came is the same memory, and counts once.
fn held(event: &Event) -> u64 {
    let bytes = |body: &Copied| if body.chunks.is_empty() { 0 } else { body.length + ITSELF };
    match event {
        Event::Begun(begun) if begun.edited.is_none() => bytes(&begun.received),
        Event::Begun(begun) => bytes(&begun.received) + bytes(&begun.sent),
        Event::Frame(frame) => bytes(&frame.text),
        Event::Ended(ended) => match &ended.answer {
            Answer::Body { body, .. } => bytes(body),
            Answer::Stream(_) | Answer::Unread(_) => 0,
        },
    }
}

fn forget(event: &mut Event) {
    match event {
        Event::Begun(begun) => {
            begun.received.forget();
            begun.sent.forget();
        }
        Event::Frame(frame) => frame.text.forget(),
        Event::Ended(ended) => ended.answer = Answer::Unread(Unread::TooLarge),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{ExchangeId, Frame, Way};
    use bytes::Bytes;
    use std::time::SystemTime;

    fn frame(length: usize) -> Event {
        let text =
            Copied { chunks: vec![Bytes::from(vec![b'x'; length])], length: length as u64, whole: true };
        Event::Frame(Box::new(Frame {
            id: ExchangeId(1),
            at: SystemTime::UNIX_EPOCH,
            way: Way::Up,
            text,
            compressed: false,
        }))
    }

    fn whole(event: Option<Event>) -> bool {
        matches!(event, Some(Event::Frame(frame)) if frame.text.whole)
    }

    #[test]
    fn a_small_body_gives_back_what_it_came_in() {
        let (sink, events) = channel(1 << 20);
        for (length, small) in [(1_000, true), (100_000, false)] {
            let came_in = Bytes::from(vec![b'x'; length * 2]);
            let mut event = frame(1);
            if let Event::Frame(frame) = &mut event {
                let chunks = vec![came_in.slice(..length / 2), came_in.slice(length / 2..length)];
                frame.text = Copied { chunks, length: length as u64, whole: true };
            }
            sink.tell(event);
            let Some(Event::Frame(frame)) = events.next() else { panic!("no frame") };
            assert_eq!(frame.text.bytes().unwrap().len(), length);
            assert_eq!(came_in.try_into_mut().is_ok(), small);
        }
    }

    #[test]
    fn what_does_not_fit_is_told_without_its_body() {
        let (sink, events) = channel(100 + 2 * ITSELF);
        sink.tell(frame(60));
        sink.tell(frame(60));
        sink.tell(frame(40));
        assert!(whole(events.next()));
        assert!(!whole(events.next()));
        assert!(whole(events.next()));
        sink.tell(frame(100 + ITSELF as usize));
        assert!(whole(events.try_next()));
        drop(sink);
        assert!(events.next().is_none());
    }
}
