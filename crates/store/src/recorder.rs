//! The background writer: lines go in without waiting, and are written together a moment later by a thread of their own.

use crate::call::Call;
use crate::error::{Cause, Error};
use crate::exchange::{Exchange, KnownSets};
use crate::files::Files;
use crate::ledger;
use crate::lineage::Lineage;
use crate::listing::Listing;
use crate::names::Names;
use crate::prune;
use crate::schema::{self, Access};
use sqlx::sqlite::SqliteConnection;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// How many lines may wait to be written. What comes while so many wait is dropped and counted.
const WAITING: usize = 4_096;
/// How many lines are written in one transaction.
const BATCH: usize = 512;
/// How long the first line of a batch waits for others. With the time a write takes, this is what a process that is
/// killed loses.
const GATHER: Duration = Duration::from_millis(200);
/// How often it is looked for them meanwhile. Lines do not wake the writer one by one: a thread that is woken for each
/// takes more of the processor than what it does with it.
const LOOK: Duration = Duration::from_millis(20);
/// After a ledger could not be used, how long until it is tried again.
const AGAIN: Duration = Duration::from_secs(10);
/// How often what is too old is looked for.
const PRUNE: Duration = Duration::from_secs(3_600);
/// The same as [`AGAIN`] for one that is only locked, for which lines are kept.
const LOCKED: Duration = Duration::from_millis(500);

/// Records calls. It may be shared between threads; recording never waits and never fails.
pub struct Recorder {
    sender: SyncSender<Message>,
    counts: Arc<Counts>,
}

/// How many lines were written, and how many were not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Lines that are in the ledger.
    pub written: u64,
    /// Lines that were lost: the ledger could not take them, or not in time.
    pub dropped: u64,
}

#[derive(Default)]
struct Counts {
    written: AtomicU64,
    dropped: AtomicU64,
}

enum Message {
    Line(Line),
    /// Everything before this is to be written, and then answered.
    Flush(SyncSender<()>),
}

/// Is told why lines are lost, once, and that the ledger was taken away, once.
type Tell = Box<dyn FnMut(&Error) + Send>;

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("recorded", &self.recorded()).finish()
    }
}

impl Recorder {
    /// Records into the ledger in `file`, which is made where there is none, also where it is deleted or replaced later.
    /// `tell` is told, on the recorder's own thread, why a line is lost the first time that one is, and that the file was
    /// taken away ([`Cause::Gone`]) the first time that it was.
    pub fn start(file: PathBuf, tell: impl FnMut(&Error) + Send + 'static) -> Self {
        Self::keeping(file, None, tell)
    }

    /// Like [`Recorder::start`]; what is older than `retention` is thrown away, when the ledger is opened and then once
    /// an hour, as far as the clock is believed. `None` keeps everything.
    pub fn keeping(
        file: PathBuf,
        retention: Option<Duration>,
        tell: impl FnMut(&Error) + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            file,
            receiver,
            counts: Arc::clone(&counts),
            tell: Box::new(tell),
            told: (false, false),
            connection: None,
            open_as: Files::default(),
            sets: KnownSets::default(),
            retention,
            pruned: None,
            not_before: None,
        };
        // Without a thread the receiver is gone, and every line is counted as dropped.
        let _ = std::thread::Builder::new().name("ledger".to_owned()).spawn(move || writer.run());
        Self { sender, counts }
    }

    /// Records a call.
    pub fn record(&self, call: Call) {
        self.send(Line::Call(Box::new(call)));
    }

    /// Records what was listed of a server, in the place of what was listed of it to the same client before.
    pub fn listed(&self, listing: Listing) {
        self.send(Line::Listing(Box::new(listing)));
    }

    /// Records an exchange, in the place of one of the same name.
    pub fn exchange(&self, exchange: Exchange) {
        self.send(Line::Exchange(Box::new(exchange)));
    }

    /// Records the names that a proxy shows a client, in the place of those before.
    pub fn names(&self, names: Names) {
        self.send(Line::Names(Box::new(names)));
    }

    /// Records what is remembered of a session's conversations, in the place of what was before.
    pub fn lineage(&self, lineage: Lineage) {
        self.send(Line::Lineage(Box::new(lineage)));
    }

    fn send(&self, line: Line) {
        if self.sender.try_send(Message::Line(line)).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What became of the lines so far. Lines that wait are in neither count.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        Recorded {
            written: self.counts.written.load(Ordering::Relaxed),
            dropped: self.counts.dropped.load(Ordering::Relaxed),
        }
    }

    /// Waits until everything recorded so far is written, or given up, but not longer than `within`; whether that
    /// was long enough. It blocks, and is for the end of a process.
    pub fn flush(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        let (sender, done) = sync_channel(1);
        loop {
            match self.sender.try_send(Message::Flush(sender.clone())) {
                Ok(()) => break,
                Err(TrySendError::Full(_)) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => return false,
            }
        }
        done.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok()
    }
}

/// What is written.
#[derive(Debug)]
pub(crate) enum Line {
    Call(Box<Call>),
    Listing(Box<Listing>),
    Exchange(Box<Exchange>),
    Names(Box<Names>),
    Lineage(Box<Lineage>),
}

/// The thread's side.
struct Writer {
    file: PathBuf,
    receiver: Receiver<Message>,
    counts: Arc<Counts>,
    tell: Tell,
    /// Whether it was told of lost lines, and of a ledger that was taken away.
    told: (bool, bool),
    connection: Option<SqliteConnection>,
    /// Which files these are.
    open_as: Files,
    /// The sets of tools that are known to be in the ledger.
    sets: KnownSets,
    /// How long lines are kept.
    retention: Option<Duration>,
    /// When lines were last thrown away.
    pruned: Option<Instant>,
    /// When the ledger is tried again, after it could not be used.
    not_before: Option<(Instant, Error)>,
}

impl Writer {
    fn run(mut self) {
        // Of this thread and of SQLite's own, which it starts: whoever records goes first. Linux has it for each thread.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, 10);
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.tell(&Error::of_io(&self.file.clone(), &error)),
        };
        // At once, so that the trouble of a ledger that cannot be used is known before the first call.
        if let Err(error) = runtime.block_on(self.open())
            && error.cause != Cause::Locked
        {
            self.fail(error);
        }
        let mut batch: Vec<Line> = Vec::new();
        let mut flushes: Vec<SyncSender<()>> = Vec::new();
        loop {
            let open = self.gather(&mut batch, &mut flushes);
            while !batch.is_empty() {
                let written = runtime.block_on(self.write(&batch));
                let ending = !open || !flushes.is_empty();
                match written {
                    Ok(()) => {
                        self.counts.written.fetch_add(batch.len() as u64, Ordering::Relaxed);
                        batch.clear();
                    }
                    // Whoever holds it will let go of it; meanwhile lines wait, and then the queue is full.
                    Err(error) if error.cause == Cause::Locked && !ending => {
                        if self.counts.dropped.load(Ordering::Relaxed) > 0 {
                            self.tell(&error);
                        }
                        std::thread::sleep(LOCKED);
                    }
                    Err(error) => {
                        self.counts.dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
                        batch.clear();
                        self.fail(error);
                    }
                }
            }
            for flushed in flushes.drain(..) {
                let _ = flushed.try_send(());
            }
            if !open {
                return;
            }
            runtime.block_on(self.prune());
        }
    }

    /// Waits for a line and then a moment for others; whether more can come.
    fn gather(&self, batch: &mut Vec<Line>, flushes: &mut Vec<SyncSender<()>>) -> bool {
        let mut until: Option<Instant> = None;
        while batch.len() < BATCH {
            let message = match until {
                None => self.receiver.recv().map_err(|_| TryRecvError::Disconnected),
                Some(_) => self.receiver.try_recv(),
            };
            match message {
                Ok(Message::Line(line)) => {
                    batch.push(line);
                    until = until.or_else(|| Some(Instant::now() + GATHER));
                }
                Ok(Message::Flush(done)) => {
                    flushes.push(done);
                    return true;
                }
                Err(TryRecvError::Empty) if until.is_some_and(|until| Instant::now() < until) => {
                    std::thread::sleep(LOOK);
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    async fn open(&mut self) -> Result<(), Error> {
        if self.connection.is_none() {
            if let Some((when, error)) = &self.not_before
                && Instant::now() < *when
            {
                return Err(error.clone());
            }
            self.connection = Some(schema::open(&self.file, Access::Write).await?);
            self.open_as = Files::of(&self.file);
            self.not_before = None;
        }
        Ok(())
    }

    /// Where the file was deleted or replaced, what is under its name is opened next.
    async fn look(&mut self) {
        if self.connection.is_none() || !self.open_as.are_gone(&self.file) {
            return;
        }
        let gone = Error::new(&self.file.clone(), Cause::Gone, "");
        self.tell(&gone);
        self.sets.forget();
        if let Some(connection) = self.connection.take() {
            self.open_as.leave(&self.file, connection).await;
        }
    }

    async fn write(&mut self, batch: &[Line]) -> Result<(), Error> {
        self.look().await;
        self.open().await?;
        match &mut self.connection {
            Some(connection) => ledger::write(connection, &mut self.sets, &self.file, batch).await,
            None => Ok(()),
        }
    }

    /// Throws away what is too old, where it is time to. That it could not be done is no harm: it is tried again.
    async fn prune(&mut self) {
        let due = self.pruned.is_none_or(|when| when.elapsed() >= PRUNE);
        if let (true, Some(retention), Some(connection)) = (due, self.retention, &mut self.connection) {
            self.pruned = Some(Instant::now());
            let _ = prune::by_itself(connection, retention).await;
        }
    }

    /// The ledger cannot be used for now: it is opened anew, later.
    fn fail(&mut self, error: Error) {
        self.tell(&error);
        self.connection = None;
        self.sets.forget();
        if self.not_before.is_none() {
            self.not_before = Some((Instant::now() + AGAIN, error));
        }
    }

    fn tell(&mut self, error: &Error) {
        let told = if error.cause == Cause::Gone { &mut self.told.1 } else { &mut self.told.0 };
        if !std::mem::replace(told, true) {
            (self.tell)(error);
        }
    }
}
