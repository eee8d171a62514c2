//! The event streams of one session of the legacy era, and what is kept of them so that they can be taken up again.

use super::reply::{self, Live, Stream};
use crate::relay::frame::Key;
use crate::relay::port::ToClient;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, VecDeque};
use tokio::sync::oneshot;

/// The stream that belongs to no request.
pub(super) const ALONE: u64 = 0;
/// Bytes of events that a session keeps.
const KEPT_BYTES: usize = 16 << 20;
/// Events that a session keeps.
const KEPT_EVENTS: usize = 4_096;
/// Streams that are over and are kept.
const KEPT_STREAMS: usize = 256;

/// The streams of one session.
#[derive(Debug)]
pub(super) struct Hub {
    streams: BTreeMap<u64, Slot>,
    requests: HashMap<Key, u64>,
    next: u64,
    bytes: usize,
    events: usize,
    primed: bool,
}

/// One stream.
#[derive(Debug, Default)]
struct Slot {
    /// Requests that it still has to answer.
    unanswered: usize,
    /// Whether it has answered one.
    answered: bool,
    next: u64,
    kept: VecDeque<Kept>,
    live: Option<Live>,
    first: Option<First>,
}

#[derive(Debug)]
struct Kept {
    number: u64,
    event: Bytes,
    /// Whether somebody was there to take it.
    taken: bool,
}

/// Tells how the answer to a POST begins: with a message that is all of it and has a status of its own, or with events.
pub(super) type First = oneshot::Sender<Option<ToClient>>;

/// Why a stream cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoStream {
    /// The id is none of ours, or of a stream that is not kept any more.
    Unknown,
    /// Somebody reads it.
    Taken,
}

impl Hub {
    /// `primed`: whether every stream begins with an event from which it can be taken up.
    pub(super) fn new(primed: bool) -> Self {
        let streams = BTreeMap::from([(ALONE, Slot::default())]);
        Self { streams, requests: HashMap::new(), next: ALONE + 1, bytes: 0, events: 0, primed }
    }

    /// A stream for the answers to these requests.
    pub(super) fn open(&mut self, requests: &[Key], first: First) -> (u64, Stream) {
        let id = self.next;
        self.next += 1;
        let (live, stream) = reply::stream();
        let slot =
            Slot { unanswered: requests.len(), live: Some(live), first: Some(first), ..Slot::default() };
        self.streams.insert(id, slot);
        self.requests.extend(requests.iter().map(|key| (key.clone(), id)));
        if self.primed {
            self.prime(id);
        }
        (id, stream)
    }

    fn prime(&mut self, id: u64) {
        if let Some(slot) = self.streams.get_mut(&id)
            && let Some(live) = &slot.live
        {
            live.send(reply::priming(id, slot.next));
            slot.next += 1;
        }
    }

    /// Whether somebody listens to a stream.
    fn is_live(&self, id: u64) -> bool {
        self.streams.get(&id).is_some_and(|slot| slot.live.is_some())
    }

    /// Whether a request of this id waits for its answer.
    pub(super) fn waits(&self, request: &Key) -> bool {
        self.requests.contains_key(request)
    }

    /// Puts a message on the stream where it belongs.
    pub(super) fn route(&mut self, message: &ToClient) {
        let key = message.about.as_ref().map(|about| Key::of(about));
        let mut id = key.as_ref().and_then(|key| self.requests.get(key)).copied().unwrap_or(ALONE);
        if id == ALONE && !self.is_live(ALONE) {
            // A client without a stream of its own for it hears it on an answer it waits for, rather than never.
            let waiting = self.streams.keys().rev().copied().find(|stream| self.is_live(*stream));
            id = waiting.unwrap_or(ALONE);
        }
        let is_answer = message.end && key.is_some();
        let answers = message.end && key.is_some_and(|key| self.requests.remove(&key).is_some());
        if is_answer && !answers {
            // It was taken back meanwhile: nobody waits for it any more.
            return;
        }
        let Some(slot) = self.streams.get_mut(&id) else { return };
        if message.end && id != ALONE && answers {
            slot.unanswered = slot.unanswered.saturating_sub(1);
            slot.answered = true;
        }
        let over = id != ALONE && slot.unanswered == 0;
        if let Some(first) = slot.first.take() {
            let whole = over && message.status.is_some_and(|status| status != 200);
            if first.send(whole.then(|| message.clone())).is_ok() && whole {
                self.streams.remove(&id);
                return;
            }
        }
        let number = slot.next;
        slot.next += 1;
        let event = reply::event(Some((id, number)), &message.bytes);
        let taken = slot.live.as_ref().is_some_and(|live| live.send(event.clone()));
        if !taken || over {
            slot.live = None;
        }
        self.bytes += event.len();
        self.events += 1;
        slot.kept.push_back(Kept { number, event, taken });
        self.forget();
    }

    /// A request was taken back: its id is free again, and a stream that has nothing else to answer is over.
    pub(super) fn cancel(&mut self, request: &Key) {
        let Some(id) = self.requests.remove(request) else { return };
        let Some(slot) = self.streams.get_mut(&id) else { return };
        slot.unanswered = slot.unanswered.saturating_sub(1);
        if slot.unanswered > 0 {
            return;
        }
        if let Some(first) = slot.first.take() {
            let _ = first.send(None);
        }
        slot.live = None;
        // Without an answer on it there is nothing to take it up again for.
        if !slot.answered {
            self.remove(id);
        }
        self.forget();
    }

    fn remove(&mut self, id: u64) {
        if let Some(slot) = self.streams.remove(&id) {
            self.events -= slot.kept.len();
            self.bytes -= slot.kept.iter().map(|kept| kept.event.len()).sum::<usize>();
        }
    }

    /// Keeps what is kept within its bounds: what is oldest goes first.
    fn forget(&mut self) {
        let over = |slot: &Slot| slot.unanswered == 0;
        while self.streams.iter().filter(|(id, slot)| **id != ALONE && over(slot)).count() > KEPT_STREAMS {
            let oldest = self.streams.iter().find(|(id, slot)| **id != ALONE && over(slot));
            let Some(id) = oldest.map(|(id, _)| *id) else { break };
            self.remove(id);
        }
        while self.bytes > KEPT_BYTES || self.events > KEPT_EVENTS {
            // What nobody has taken yet is missed more than what somebody might ask for again.
            let by = |taken: bool| {
                self.streams
                    .iter()
                    .find(|(_, slot)| slot.kept.front().is_some_and(|kept| kept.taken == taken))
            };
            let Some(id) = by(true).or_else(|| by(false)).map(|(id, _)| *id) else { break };
            if let Some(kept) = self.streams.get_mut(&id).and_then(|slot| slot.kept.pop_front()) {
                self.events -= 1;
                self.bytes -= kept.event.len();
            }
        }
    }

    /// The stream that belongs to no request, with what waited for it.
    pub(super) fn stand_alone(&mut self) -> Result<Stream, NoStream> {
        let slot = self.streams.entry(ALONE).or_default();
        if slot.live.as_ref().is_some_and(|live| !live.is_gone()) {
            return Err(NoStream::Taken);
        }
        let (live, stream) = reply::stream();
        slot.live = Some(live);
        if self.primed {
            self.prime(ALONE);
        }
        self.hand_out(ALONE, |kept| !kept.taken);
        Ok(stream)
    }

    /// A stream from behind the event with this id on.
    pub(super) fn take_up(&mut self, last: &str) -> Result<Stream, NoStream> {
        let place =
            last.split_once('-').and_then(|(id, at)| Some((id.parse().ok()?, at.parse::<u64>().ok()?)));
        let (id, at) = place.ok_or(NoStream::Unknown)?;
        let slot = self.streams.get_mut(&id).filter(|slot| at < slot.next).ok_or(NoStream::Unknown)?;
        let (live, stream) = reply::stream();
        // Whoever read it before has left, or will not know it: a connection can be gone without a word.
        slot.live = Some(live);
        slot.first = None;
        self.hand_out(id, |kept| kept.number > at);
        if id != ALONE
            && let Some(slot) = self.streams.get_mut(&id)
            && slot.unanswered == 0
        {
            slot.live = None;
        }
        Ok(stream)
    }

    fn hand_out(&mut self, id: u64, which: impl Fn(&Kept) -> bool) {
        let Some(slot) = self.streams.get_mut(&id) else { return };
        let Some(live) = &slot.live else { return };
        for kept in slot.kept.iter_mut().filter(|kept| which(kept)) {
            kept.taken = live.send(kept.event.clone());
        }
    }

    /// A stream whose reader leaves more than `bytes` lying.
    pub(super) fn overfull(&self, bytes: usize) -> Option<u64> {
        let full =
            |slot: &&Slot| slot.live.as_ref().is_some_and(|live| !live.is_gone() && live.unsent() > bytes);
        self.streams.iter().find(|(_, slot)| full(slot)).map(|(id, _)| *id)
    }

    /// Ends a stream whose reader does not read; it can be taken up again.
    pub(super) fn cut(&mut self, id: u64) {
        if let Some(slot) = self.streams.get_mut(&id) {
            slot.live = None;
        }
    }

    /// Whether somebody listens. A request whose client has left keeps no session in use.
    pub(super) fn is_busy(&self) -> bool {
        self.streams.values().any(|slot| slot.live.as_ref().is_some_and(|live| !live.is_gone()))
    }

    /// Whether something is still to be answered, for which a client could come back.
    pub(super) fn owes(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Ends all streams.
    pub(super) fn close(&mut self) {
        self.streams.clear();
        self.requests.clear();
        (self.bytes, self.events) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, about: Option<&str>, end: bool) -> ToClient {
        let about = about.map(|id| Bytes::copy_from_slice(id.as_bytes()));
        ToClient { bytes: text.to_owned().into(), about, status: None, end }
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_was_taken_goes_first() {
        let mut hub = Hub::new(false);
        let _open = hub.stand_alone().unwrap();
        let (told, _first) = oneshot::channel();
        let (_, gone) = hub.open(&[Key::of(b"1")], told);
        drop(gone);
        hub.route(&message("unseen", Some("1"), true));
        for _ in 0..2 * KEPT_EVENTS {
            hub.route(&message("note", None, false));
        }
        assert_eq!(hub.events, KEPT_EVENTS);
        for _ in 0..40 {
            hub.route(&message(&"x".repeat(1 << 20), None, false));
        }
        assert!(hub.bytes <= KEPT_BYTES && hub.events >= 10);
        assert_eq!(hub.streams[&1].kept.len(), 1);
        let sum = |hub: &Hub| {
            hub.streams.values().flat_map(|slot| &slot.kept).map(|kept| kept.event.len()).sum::<usize>()
        };
        assert_eq!(hub.bytes, sum(&hub));
        for id in 2..1_000 {
            let (told, _first) = oneshot::channel();
            let _ = hub.open(&[Key::of(id.to_string().as_bytes())], told);
            hub.route(&message("done", Some(&id.to_string()), true));
        }
        assert!(hub.streams.len() <= KEPT_STREAMS + 1 && hub.requests.is_empty());
        assert_eq!(hub.bytes, sum(&hub));
    }

    #[test]
    fn what_is_taken_back_ends_its_stream_and_frees_its_id() {
        let mut hub = Hub::new(true);
        let (told, mut first) = oneshot::channel();
        let (id, stream) = hub.open(&[Key::of(b"1"), Key::of(b"2")], told);
        hub.cancel(&Key::of(b"1.0"));
        assert!(!hub.waits(&Key::of(b"1")) && hub.waits(&Key::of(b"2")) && hub.is_live(id));
        hub.route(&message("progress", Some("2"), false));
        hub.cancel(&Key::of(b"2"));
        assert!(!hub.owes() && !hub.is_busy() && !hub.streams.contains_key(&id));
        assert!(matches!(first.try_recv(), Ok(None)));
        assert_eq!((hub.events, hub.bytes), (0, 0));
        drop(stream);
        // An answer that comes all the same is nobody's, even if somebody listens.
        let _alone = hub.stand_alone().unwrap();
        hub.route(&message("late", Some("2"), true));
        assert_eq!(hub.events, 0);
        // What is answered already stays to be taken up.
        let (told, _first) = oneshot::channel();
        let (id, _stream) = hub.open(&[Key::of(b"3"), Key::of(b"4")], told);
        hub.route(&message("done", Some("3"), true));
        hub.cancel(&Key::of(b"4"));
        assert!(hub.streams.contains_key(&id) && !hub.is_live(id));
    }

    #[test]
    fn only_known_places_are_taken_up() {
        let mut hub = Hub::new(true);
        let (told, _first) = oneshot::channel();
        let _stream = hub.open(&[Key::of(b"1")], told);
        for unknown in ["", "1", "1-", "-1", "1-1", "2-0", "x-y", "18446744073709551616-0"] {
            assert_eq!(hub.take_up(unknown).unwrap_err(), NoStream::Unknown, "{unknown}");
        }
        assert!(hub.take_up("1-0").is_ok());
        assert!(hub.stand_alone().is_ok());
        assert_eq!(hub.stand_alone().map(drop), Ok(()));
    }
}
