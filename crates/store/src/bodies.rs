//! Bodies, kept where a person asks for it: files of their owner's only, thrown away when they are old or many.

use crate::clock::{self, Reading};
use crate::private;
use crate::time::millis;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant, SystemTime};

/// How many bytes of bodies may wait to be written. What comes while so many wait is dropped and counted.
const WAITING_BYTES: u64 = 64 << 20;
/// How many bodies may.
const WAITING: usize = 1_024;
/// How often what is too old or too much is looked for.
const SWEEP: Duration = Duration::from_secs(600);

/// Which body of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The request as it came.
    Received,
    /// The request as it was sent, where that is another.
    Sent,
    /// The answer.
    Answer,
}

impl Side {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Received, Self::Sent, Self::Answer];

    /// The word that its files end in.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Sent => "sent",
            Self::Answer => "answer",
        }
    }
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// For how long.
    pub for_: Duration,
    /// How many bytes in all; the oldest go first.
    pub bytes: u64,
}

impl Default for Kept {
    /// Seven days, and 2 GB.
    fn default() -> Self {
        Self { for_: Duration::from_secs(7 * 86_400), bytes: 2_000_000_000 }
    }
}

/// Keeps bodies in a folder, by a thread of its own. Keeping never waits and never fails; what could not be kept is counted.
///
/// A body is in a file named by its exchange, `ab/ab01….received`, readable by its owner alone, exactly as it was sent. It
/// is there whole or not at all.
#[derive(Debug)]
pub struct Bodies {
    folder: PathBuf,
    sender: SyncSender<Message>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicU64,
    written: AtomicU64,
    dropped: AtomicU64,
}

enum Message {
    Body { id: String, side: Side, chunks: Vec<Chunk>, length: u64 },
    Flush(SyncSender<()>),
}

/// A piece of a body, shared with whoever forwards it.
type Chunk = Arc<dyn AsRef<[u8]> + Send + Sync>;

impl Bodies {
    /// Keeps bodies in `folder`, which is made where there is none.
    pub fn start(folder: PathBuf, kept: Kept) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let counts = Arc::new(Counts::default());
        let keeper = Keeper { folder: folder.clone(), kept, counts: Arc::clone(&counts) };
        // Without a thread the receiver is gone, and every body is counted as dropped.
        let _ = std::thread::Builder::new().name("bodies".to_owned()).spawn(move || keeper.run(&receiver));
        Self { folder, sender, counts }
    }

    /// Keeps a body, given in pieces.
    pub fn keep<C: AsRef<[u8]> + Send + Sync + 'static>(&self, id: &str, side: Side, chunks: Vec<C>) {
        let length = chunks.iter().map(|chunk| chunk.as_ref().len() as u64).sum();
        let drop_it = || {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        };
        if !is_id(id) {
            return drop_it();
        }
        if self.counts.waiting.fetch_add(length, Ordering::AcqRel) + length > WAITING_BYTES {
            self.counts.waiting.fetch_sub(length, Ordering::AcqRel);
            return drop_it();
        }
        let chunks = chunks.into_iter().map(|chunk| Arc::new(chunk) as Chunk).collect();
        if self.sender.try_send(Message::Body { id: id.to_owned(), side, chunks, length }).is_err() {
            self.counts.waiting.fetch_sub(length, Ordering::AcqRel);
            drop_it();
        }
    }

    /// How many bodies were kept, and how many were not.
    #[must_use]
    pub fn counted(&self) -> (u64, u64) {
        (self.counts.written.load(Ordering::Relaxed), self.counts.dropped.load(Ordering::Relaxed))
    }

    /// Waits until everything that was given so far is written, but not longer than `within`; whether that was long enough.
    pub fn flush(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        let (sender, done) = sync_channel(1);
        loop {
            match self.sender.try_send(Message::Flush(sender.clone())) {
                Ok(()) => break,
                Err(mpsc::TrySendError::Full(_)) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => return false,
            }
        }
        done.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok()
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads a body back; `None` where it is not kept.
    ///
    /// # Errors
    ///
    /// When its file cannot be read.
    pub fn read(folder: &Path, id: &str, side: Side) -> io::Result<Option<Vec<u8>>> {
        if !is_id(id) {
            return Ok(None);
        }
        match fs::read(place(folder, id, side)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

/// The files of an exchange's bodies, as far as they are kept in `folder`.
#[must_use]
pub fn kept(folder: &Path, id: &str) -> Vec<(Side, PathBuf)> {
    if !is_id(id) {
        return Vec::new();
    }
    let files = Side::ALL.into_iter().map(|side| (side, place(folder, id, side)));
    files.filter(|(_, file)| file.is_file()).collect()
}

/// The folder of bodies beside a ledger's file.
#[must_use]
pub fn bodies_beside(ledger: &Path) -> PathBuf {
    ledger.with_file_name("bodies")
}

/// Whether it can be the name of a file: it must not lead out of the folder.
fn is_id(id: &str) -> bool {
    (4..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn place(folder: &Path, id: &str, side: Side) -> PathBuf {
    folder.join(&id[..2]).join(format!("{id}.{}", side.word()))
}

/// The thread's side.
struct Keeper {
    folder: PathBuf,
    kept: Kept,
    counts: Arc<Counts>,
}

impl Keeper {
    fn run(&self, receiver: &Receiver<Message>) {
        let mut swept: Option<Instant> = None;
        loop {
            if swept.is_none_or(|when| when.elapsed() >= SWEEP) {
                swept = Some(Instant::now());
                let _ = sweep(&self.folder, self.kept, SystemTime::now(), is_id);
            }
            match receiver.recv_timeout(SWEEP) {
                Ok(Message::Body { id, side, chunks, length }) => {
                    let outcome = write(&place(&self.folder, &id, side), &chunks);
                    let count = if outcome.is_ok() { &self.counts.written } else { &self.counts.dropped };
                    count.fetch_add(1, Ordering::Relaxed);
                    drop(chunks);
                    self.counts.waiting.fetch_sub(length, Ordering::AcqRel);
                }
                Ok(Message::Flush(done)) => {
                    let _ = done.try_send(());
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// Writes a file for its owner alone, beside its place first.
fn write(place: &Path, chunks: &[Chunk]) -> io::Result<()> {
    if let Some(folder) = place.parent() {
        private::make_folder(folder)?;
    }
    let beside = place.with_extension(format!("{}-part", std::process::id()));
    let written = (|| {
        let mut file = truncated(&beside)?;
        for chunk in chunks {
            file.write_all((**chunk).as_ref())?;
        }
        fs::rename(&beside, place)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn truncated(place: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

/// Throws away what is too old, as far as the clock is believed, and then the oldest until the rest is not too much. Files that
/// are not ours stay.
pub(crate) fn sweep(
    folder: &Path,
    kept: Kept,
    now: SystemTime,
    is_ours: impl Fn(&str) -> bool,
) -> io::Result<()> {
    let mut all: BTreeMap<(SystemTime, PathBuf), u64> = BTreeMap::new();
    for inner in fs::read_dir(folder)?.flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(inner.path())?.flatten() {
            let path = file.path();
            let ours = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(&is_ours);
            if let (true, Ok(metadata)) = (ours, file.metadata())
                && metadata.is_file()
            {
                let at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                all.insert((at, path), metadata.len());
            }
        }
    }
    let mut bytes: u64 = all.values().sum();
    let believed = believed(folder, now);
    for ((at, path), length) in all {
        let age = believed.and_then(|late| late.duration_since(at).ok());
        let old = age.is_some_and(|age| age > kept.for_);
        if !old && bytes <= kept.bytes {
            break;
        }
        if fs::remove_file(&path).is_ok() {
            bytes = bytes.saturating_sub(length);
        }
    }
    Ok(())
}

/// How late it is for certain, if that is known: see [`crate::clock`]. The reading is kept in a file of the folder.
fn believed(folder: &Path, now: SystemTime) -> Option<SystemTime> {
    let place = folder.join("clock");
    let kept = fs::read_to_string(&place).ok().and_then(|text| text.trim().parse().ok());
    let now_ms = millis(now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    let reading = clock::read(kept, now_ms);
    if reading == Reading::Early || private::write_whole(&place, &[now_ms.to_string().as_bytes()]).is_err() {
        return None;
    }
    match reading {
        Reading::Believed(late) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(late)),
        Reading::Early | Reading::Keep => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_body_comes_back_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let bodies = Bodies::start(folder.path().join("bodies"), Kept::default());
        bodies.keep(ID, Side::Received, vec![b"{\"a\":".to_vec(), b"1}".to_vec()]);
        bodies.keep("../../etc", Side::Received, vec![b"x".to_vec()]);
        assert!(bodies.flush(LONG));
        assert_eq!(bodies.counted(), (1, 1));
        assert_eq!(Bodies::read(bodies.folder(), ID, Side::Received).unwrap().unwrap(), b"{\"a\":1}");
        assert_eq!(Bodies::read(bodies.folder(), ID, Side::Answer).unwrap(), None);
        assert_eq!(Bodies::read(bodies.folder(), "../x", Side::Answer).unwrap(), None);
        assert_eq!(kept(bodies.folder(), ID), [(Side::Received, place(bodies.folder(), ID, Side::Received))]);
        assert_eq!((kept(bodies.folder(), "../x"), kept(bodies.folder(), "abcd")), (Vec::new(), Vec::new()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&place(bodies.folder(), ID, Side::Received)), 0o600);
            assert_eq!(mode(bodies.folder()), 0o700);
        }
    }

    #[test]
    fn the_old_and_then_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let inner = folder.path().join("01");
        fs::create_dir(&inner).unwrap();
        for (name, age, length) in [("0101.sent", 100, 10), ("0102.sent", 50, 10), ("0103.sent", 1, 10)] {
            let file = File::create(inner.join(name)).unwrap();
            file.set_len(length).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        fs::write(inner.join("notes.txt"), "mine").unwrap();
        sweep(folder.path(), Kept { for_: Duration::from_secs(80), bytes: 15 }, now, is_id).unwrap();
        let mut left: Vec<_> = fs::read_dir(&inner)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["0103.sent", "notes.txt"]);
    }

    #[test]
    fn a_clock_that_is_wrong_once_throws_nothing_away() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("01/0101.sent");
        fs::create_dir(file.parent().unwrap()).unwrap();
        let (now, day) = (SystemTime::now(), Duration::from_secs(86_400));
        let at = |days: u32| sweep(folder.path(), Kept::default(), now + day * days, is_id).unwrap();
        File::create(&file).unwrap().set_modified(now).unwrap();
        // A week is what they are kept for; the clock is 30 days ahead at one start, and right again at the next.
        for days in [0, 30, 30, 0, 1, 6] {
            at(days);
            assert!(file.exists(), "{days}");
        }
        at(9);
        assert!(file.exists());
        at(10);
        assert!(!file.exists());
    }

    #[test]
    fn what_cannot_be_kept_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bodies"), "a file").unwrap();
        let bodies = Bodies::start(folder.path().join("bodies"), Kept::default());
        bodies.keep(ID, Side::Sent, vec![vec![0_u8; 10]]);
        assert!(bodies.flush(LONG));
        bodies.keep(ID, Side::Sent, vec![vec![0_u8; 65 << 20]]);
        assert_eq!(bodies.counted(), (0, 2));
    }
}
