//! Everything that looks at what passes, put together: the measuring, the ledger, the counters. Nothing of it is waited
//! for by what is forwarded.

use crate::clock::Clock;
use crate::context::{self, Context};
use crate::exchange::Events;
use crate::exchange::keep::keep;
use crate::live::{Live, Session};
use crate::measure::{self, NameMap, Observer, Setup};
use crate::metrics::Metrics;
use deadweight_estimate::Estimator;
use deadweight_footprint::origin::Origins;
use deadweight_price::Book;
use deadweight_store::{Bodies, Error, Kept, Ledger, Order, Page, Place, Recorder, Which};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// How far back conversations are taken up again.
const REMEMBERED: Duration = Duration::from_secs(24 * 3_600);
/// How many sessions are taken up again.
const MOST_REMEMBERED: u32 = 256;
/// Of how many of these the turns are read back at once.
const MOST_LIVE: usize = 32;
/// How many turns of each.
const TURNS_LIVE: u32 = 512;
/// How often it is looked whether proxies have written down other names.
const NAMES: Duration = Duration::from_secs(3);
/// How many turns of a session are read back for a report.
const TURNS: u32 = 2_000;

/// What a watching is started with.
pub struct Watch {
    /// Who counts tokens.
    pub estimator: Box<dyn Estimator>,
    /// What models cost.
    pub book: Book,
    /// Where records go.
    pub place: Place,
    /// The folder that bodies are kept in, where a person asks for it.
    pub bodies: Option<PathBuf>,
    /// How long they are kept; `None` for ever.
    pub retention: Option<Duration>,
    /// What is known of the servers that agents use.
    pub origins: Origins,
    /// Others who want to see every record.
    pub observers: Vec<Observer>,
    /// What time it is.
    pub clock: Clock,
    /// Is told why lines are lost, once, and that the ledger was taken away, once.
    pub tell: Box<dyn FnMut(&Error) + Send>,
}

/// Tells a number.
type Open = Box<dyn Fn() -> u64 + Send + Sync>;

/// All that looks at what passes.
pub struct Watching {
    /// The sessions of now.
    pub live: Arc<Live>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// What models cost.
    pub book: Arc<Book>,
    file: Option<PathBuf>,
    recorder: Option<Arc<Recorder>>,
    bodies: Option<Arc<Bodies>>,
    /// Tells how many requests are under way.
    open: OnceLock<Open>,
    measuring: JoinHandle<()>,
    clock: Clock,
    /// Ends the looking for names when it goes.
    _names: Sender<()>,
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Watching {
    /// Starts to watch.
    ///
    /// # Errors
    ///
    /// When threads cannot be started.
    pub fn start(events: Events, watch: Watch) -> io::Result<Self> {
        let file = match watch.place {
            Place::Off => None,
            Place::File(file) => Some(file),
        };
        let recorder =
            file.as_ref().map(|file| Arc::new(Recorder::keeping(file.clone(), watch.retention, watch.tell)));
        let (live, metrics, book) = (Arc::<Live>::default(), Arc::<Metrics>::default(), Arc::new(watch.book));
        let names = NameMap::default();
        let remembered = file
            .as_deref()
            .and_then(|file| read(file, &names, Some((&live, (watch.clock)()))).ok())
            .unwrap_or_default();
        let counting = Arc::clone(&metrics);
        let mut observers = watch.observers;
        observers.push(Box::new(move |exchange| {
            counting.observe(exchange);
        }));
        let setup = Setup {
            estimator: watch.estimator,
            book: Arc::clone(&book),
            origins: watch.origins,
            names: names.clone(),
            recorder: recorder.clone(),
            remembered,
            observers,
        };
        let bodies = watch.bodies.map(|folder| Arc::new(Bodies::start(folder, Kept::default())));
        let events = match bodies.clone() {
            Some(bodies) => events.tapped(move |event| keep(&bodies, event)),
            None => events,
        };
        let measuring = measure::start(events, setup, Arc::clone(&live))?;
        let (ends, ended) = channel();
        if let Some(file) = file.clone() {
            std::thread::Builder::new().name("names".to_owned()).spawn(move || {
                while ended.recv_timeout(NAMES) == Err(RecvTimeoutError::Timeout) {
                    let _ = read(&file, &names, None);
                }
            })?;
        }
        let clock = watch.clock;
        let open = OnceLock::new();
        Ok(Self { live, metrics, book, file, recorder, bodies, open, measuring, clock, _names: ends })
    }

    /// Says who knows how many requests are under way; the first one that is said counts.
    pub fn ask_of_open(&self, open: impl Fn() -> u64 + Send + Sync + 'static) {
        let _ = self.open.set(Box::new(open));
    }

    /// The counters as they are at this moment, in the text format of OpenMetrics.
    #[must_use]
    pub fn counters(&self) -> String {
        let dropped = self.recorder.as_ref().map_or(0, |recorder| recorder.recorded().dropped);
        self.metrics.text(dropped, self.open.get().map_or(0, |open| open()))
    }

    /// The ledger's file, where there is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The report on a session, or without a name on the one seen last: from memory, else from the ledger, else empty.
    pub async fn context(&self, session: Option<&str>) -> Context {
        let found = match self.live.session(session) {
            Some(found) => Some(found),
            None => self.recall(session).await,
        };
        let Some(found) = found else { return context::empty(session) };
        let window = found.model().and_then(|model| measure::window(&self.book, model, (self.clock)()));
        found.report(window)
    }

    /// A session that is no longer in memory.
    async fn recall(&self, session: Option<&str>) -> Option<Session> {
        let mut ledger = Ledger::open(self.file()?).await.ok()??;
        let which = Which::of_session(session?);
        let turns = ledger.turns(&which, Order::Newest, Page::first(TURNS)).await.ok()?;
        (!turns.is_empty()).then(|| Session::of(turns.iter().rev()))
    }

    /// Ends the watching, when the relay is gone: what has passed is measured and written, but for no longer than
    /// `within`. Whether that was long enough.
    pub fn end(self, within: Duration) -> bool {
        let until = std::time::Instant::now() + within;
        while !self.measuring.is_finished() {
            if std::time::Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.measuring.join();
        let left = until.saturating_duration_since(std::time::Instant::now());
        let recorded = self.recorder.is_none_or(|recorder| recorder.flush(left));
        let left = until.saturating_duration_since(std::time::Instant::now());
        self.bodies.is_none_or(|bodies| bodies.flush(left)) && recorded
    }
}

/// What the ledger has of names, and, for who has just started, of conversations: the latest are told to `live`.
fn read(
    file: &Path,
    names: &NameMap,
    live: Option<(&Live, u64)>,
) -> Result<Vec<deadweight_store::Lineage>, Error> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
        return Ok(Vec::new());
    };
    runtime.block_on(async {
        let Some(mut ledger) = Ledger::open(file).await? else { return Ok(Vec::new()) };
        names.set(&ledger.names().await?);
        let Some((live, now_ms)) = live else { return Ok(Vec::new()) };
        let since = now_ms.saturating_sub(u64::try_from(REMEMBERED.as_millis()).unwrap_or(0));
        let lineages = ledger.lineages(since, MOST_REMEMBERED).await?;
        for lineage in lineages.iter().take(MOST_LIVE).rev() {
            let which = Which::of_session(&lineage.session);
            let turns = ledger.exchanges(&which, Order::Newest, Page::first(TURNS_LIVE)).await?;
            turns.iter().rev().for_each(|turn| live.observe(turn));
        }
        Ok(lineages)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{
        Answer, Begun, Copied, End, Ended, Event, ExchangeId, Noted, Sink, channel as exchange_channel,
    };
    use crate::provider::Provider;
    use bytes::Bytes;
    use std::time::SystemTime;

    fn watching(place: Place) -> (Sink, Watching) {
        let (sink, events) = exchange_channel(1 << 20);
        let watch = Watch {
            estimator: Box::new(deadweight_estimate::calibrated()),
            book: Book::new(),
            place,
            bodies: None,
            retention: None,
            origins: Origins::new(),
            observers: Vec::new(),
            clock: crate::clock::system(),
            tell: Box::new(|_| {}),
        };
        (sink, Watching::start(events, watch).unwrap())
    }

    /// A turn of the session `s` that says so many things, and its answer.
    fn turn(sink: &Sink, number: u128, messages: usize) {
        let messages: Vec<String> = (0..messages)
            .map(|at| {
                let role = if at % 2 == 0 { "user" } else { "assistant" };
                format!(
                    r#"{{"role":"{role}","content":"this is what was said at {at} in the conversation"}}"#
                )
            })
            .collect();
        let body = format!(r#"{{"model":"claude-opus-4-8","messages":[{}]}}"#, messages.join(","));
        let copied =
            |text: String| Copied { length: text.len() as u64, chunks: vec![Bytes::from(text)], whole: true };
        let received = copied(body);
        sink.tell(Event::Begun(Box::new(Begun {
            id: ExchangeId(number),
            at: SystemTime::now(),
            provider: Provider::Anthropic,
            upstream: Arc::from("https://example.test"),
            agent: None,
            method: "POST".to_owned(),
            path: "/v1/messages".to_owned(),
            dialect: Some(deadweight_wire::Dialect::AnthropicMessages),
            headers: Noted(vec![("x-claude-code-session-id", "s".to_owned())]),
            sent: received.clone(),
            received,
            edited: None,
        })));
        let answer = copied(format!(
            r#"{{"type":"message","usage":{{"input_tokens":{},"output_tokens":1}}}}"#,
            number * 1_000
        ));
        sink.tell(Event::Ended(Box::new(Ended {
            id: ExchangeId(number),
            status: Some(200),
            first_byte: None,
            took: Duration::from_millis(1),
            end: End::Complete,
            answer_bytes: 1,
            answer: Answer::Body { body: answer, encoding: None, stream: false },
            headers: Noted::default(),
            request_id: None,
            tunnel: None,
        })));
    }

    #[test]
    fn a_conversation_goes_on_after_a_restart_and_is_reported_from_the_ledger() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ledger.sqlite");
        let (sink, first) = watching(Place::File(file.clone()));
        turn(&sink, 1, 1);
        turn(&sink, 2, 3);
        drop(sink);
        assert!(first.end(Duration::from_secs(20)));

        let (sink, second) = watching(Place::File(file.clone()));
        // Nothing has passed yet: the ledger knows.
        let report = runtime.block_on(second.context(Some("s")));
        assert_eq!((report.known, report.turns.seen, report.tokens.resident), (true, 2, Some(2_000)));
        assert_eq!(runtime.block_on(second.context(Some("nobody"))), context::empty(Some("nobody")));
        let mut changes = second.live.changes();
        changes.mark_unchanged();
        turn(&sink, 3, 5);
        runtime.block_on(changes.changed()).unwrap();
        assert_eq!(runtime.block_on(second.context(None)).turns.seen, 3);
        drop(sink);
        assert!(second.end(Duration::from_secs(20)));

        let turns = runtime.block_on(async {
            let mut ledger = Ledger::open(&file).await.unwrap().unwrap();
            ledger.turns(&Which::of_session("s"), Order::Oldest, Page::first(10)).await.unwrap()
        });
        let short: Vec<_> = turns
            .iter()
            .map(|turn| (turn.turn, turn.cache.as_ref().map(|watch| watch.class.as_str())))
            .collect();
        assert_eq!(short, [(Some(1), Some("first")), (Some(2), Some("append")), (Some(3), Some("append"))]);
        assert!(turns.iter().all(|turn| turn.conversation == turns[0].conversation));
    }

    #[test]
    fn without_a_ledger_all_is_in_memory() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (sink, watching) = watching(Place::Off);
        let mut changes = watching.live.changes();
        turn(&sink, 7, 1);
        runtime.block_on(async {
            changes.wait_for(|count| *count > 0).await.unwrap();
        });
        let report = runtime.block_on(watching.context(None));
        assert_eq!((report.session.as_deref(), report.tokens.resident), (Some("s"), Some(7_000)));
        watching.ask_of_open(|| 3);
        let counters = watching.counters();
        for line in [
            "deadweight_bodies_total{changed=\"no\"} 1",
            "deadweight_open_requests 3",
            "deadweight_ledger_dropped_lines 0",
        ] {
            assert!(counters.contains(line), "{line}\nnot in\n{counters}");
        }
        drop(sink);
        assert!(watching.end(Duration::from_secs(20)));
    }
}
