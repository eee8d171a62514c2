//! The originals of what levers cut, so that a model or a person can have them back: encrypted, each in a file of its own,
//! thrown away when they are old or many.
//!
//! An original is a text under the id that stands in its place in the conversation. What is kept is nobody's business who
//! does not have the key: a file of 32 random bytes for its owner alone, beside the journal, made with the first original.
//! Each file begins with the format's name and a random nonce; the rest is sealed with XChaCha20-Poly1305, the id with it,
//! so that a file that was damaged, exchanged or renamed is told from one that is as it was.

use crate::bodies::Kept;
use crate::key::Key;
use crate::private::{make_folder, write_whole};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// What each file begins with; the digit is the format's.
const MAGIC: &[u8; 4] = b"dwo1";
const NONCE: usize = 24;
/// The largest original. A request has 32 MB.
const LARGEST: usize = 64 << 20;
/// How often what is too old or too much is looked for.
const SWEEP: Duration = Duration::from_secs(600);

/// How long originals are kept, and how many bytes of them.
pub const KEPT: Kept = Kept { for_: Duration::from_secs(30 * 86_400), bytes: 1_000_000_000 };

/// Where originals are kept. Many processes share one folder.
pub struct Originals {
    folder: PathBuf,
    cipher: XChaCha20Poly1305,
    kept: Kept,
    swept: Mutex<Option<Instant>>,
    told: AtomicBool,
    tell: Tell,
}

/// Is told, once, of originals that cannot be opened.
type Tell = Box<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for Originals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Originals").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// What is kept under an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The text, as it was.
    Text(String),
    /// Nothing: it was never kept, or is thrown away.
    Nothing,
    /// Something that cannot be read: it is damaged, or sealed with another key.
    Damaged,
}

/// The folder of originals beside a ledger's: `originals` in the same folder.
#[must_use]
pub fn originals_beside(ledger: &Path) -> PathBuf {
    ledger.with_file_name("originals")
}

impl Originals {
    /// Opens the originals in `folder`, and makes folder and key where there are none. The key is beside the folder.
    ///
    /// # Errors
    ///
    /// The folder or the key cannot be made or read, or the key is not one.
    pub fn open(folder: PathBuf, kept: Kept) -> io::Result<Self> {
        make_folder(&folder)?;
        let key = Key::made(&key_of(&folder))?;
        Ok(Self::with(folder, &key, kept))
    }

    /// Opens the originals in `folder` for reading. `None` where none were ever kept.
    ///
    /// # Errors
    ///
    /// There is a key, and it cannot be read or is not one.
    pub fn existing(folder: PathBuf) -> io::Result<Option<Self>> {
        match Key::read(&key_of(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            key => Ok(Some(Self::with(folder, &key?, KEPT))),
        }
    }

    fn with(folder: PathBuf, key: &Key, kept: Kept) -> Self {
        let (told, tell) = (AtomicBool::new(false), Box::new(|_: &str| {}));
        Self { folder, cipher: key.cipher(), kept, swept: Mutex::new(None), told, tell }
    }

    /// `tell` is told, once, when an original is met that was sealed with another key.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a text. When it returns, the text is on the disk, whole, and can be had back with the key that is there; one that
    /// is kept already is kept anew from now on. A file of its name is not believed before it was opened.
    ///
    /// # Errors
    ///
    /// It is not kept: the id is not one, the text is too large, the file cannot be written.
    pub fn keep(&self, id: &str, text: &str) -> io::Result<()> {
        if !is_id(id) || text.len() > LARGEST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.sweep_now_and_then();
        let place = self.place(id);
        match self.get(id) {
            Ok(Found::Text(there)) if there == text => {
                let file = OpenOptions::new().write(true).open(&place);
                if file.and_then(|file| file.set_modified(SystemTime::now())).is_ok() {
                    return Ok(());
                }
            }
            Ok(Found::Damaged) => self.tell_of_key(&place),
            _ => {}
        }
        let mut nonce = [0_u8; NONCE];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let payload = Payload { msg: text.as_bytes(), aad: id.as_bytes() };
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| io::Error::other("it cannot be sealed"))?;
        if let Some(inner) = place.parent() {
            make_folder(inner)?;
        }
        write_whole(&place, &[MAGIC, &nonce, &sealed])
    }

    /// What is kept under an id.
    ///
    /// # Errors
    ///
    /// Its file is there and cannot be read.
    pub fn get(&self, id: &str) -> io::Result<Found> {
        if !is_id(id) {
            return Ok(Found::Nothing);
        }
        let bytes = match fs::read(self.place(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            outcome => outcome?,
        };
        Ok(self.unseal(id, &bytes).map_or(Found::Damaged, Found::Text))
    }

    /// A file that is whole and cannot be opened: the key that it was sealed with was lost.
    fn tell_of_key(&self, place: &Path) {
        let whole = fs::read(place).is_ok_and(|bytes| bytes.starts_with(MAGIC));
        if whole && !self.told.swap(true, Ordering::Relaxed) {
            (self.tell)(&format!(
                "originals in {} were sealed with another key than the one in {} and cannot be had back; what is cut from \
                 now on is kept with the key that is there. If you still have the old key, end the gateway and put it back",
                self.folder.display(),
                key_of(&self.folder).display(),
            ));
        }
    }

    fn unseal(&self, id: &str, bytes: &[u8]) -> Option<String> {
        let (nonce, sealed) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: id.as_bytes() };
        let text = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(text).ok()
    }

    fn place(&self, id: &str) -> PathBuf {
        self.folder.join(id.get(3..5).unwrap_or_default()).join(id)
    }

    fn sweep_now_and_then(&self) {
        let Ok(mut swept) = self.swept.try_lock() else { return };
        if swept.is_none_or(|when| when.elapsed() >= SWEEP) {
            *swept = Some(Instant::now());
            let _ = crate::bodies::sweep(&self.folder, self.kept, SystemTime::now(), is_id);
        }
    }
}

/// The key of a folder: beside it.
fn key_of(folder: &Path) -> PathBuf {
    folder.with_extension("key")
}

/// Whether it is an id as levers write them: it must not lead out of the folder.
fn is_id(id: &str) -> bool {
    id.strip_prefix("dw-").is_some_and(|rest| {
        rest.len() == 20 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "dw-0123456789abcdef0123";
    const OTHER: &str = "dw-ffff456789abcdef0123";

    fn open(folder: &Path) -> Originals {
        Originals::open(folder.join("originals"), KEPT).unwrap()
    }

    #[test]
    fn an_original_comes_back_exactly_and_only_with_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let own = open(folder.path());
        let text = "line 1\nthe secret of line 2 — ä\u{0}\n";
        own.keep(ID, text).unwrap();
        assert_eq!(own.get(ID).unwrap(), Found::Text(text.to_owned()));
        // In another process, and for reading only.
        let again = Originals::existing(folder.path().join("originals")).unwrap().unwrap();
        assert_eq!(again.get(ID).unwrap(), Found::Text(text.to_owned()));
        let bytes = fs::read(own.place(ID)).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
        // Two seals of one text differ.
        own.keep(OTHER, text).unwrap();
        assert_ne!(fs::read(own.place(OTHER)).unwrap()[4..], bytes[4..]);
        fs::write(folder.path().join("originals.key"), [7; 32]).unwrap();
        assert_eq!(open(folder.path()).get(ID).unwrap(), Found::Damaged);
        fs::write(folder.path().join("originals.key"), [7; 9]).unwrap();
        assert!(Originals::open(folder.path().join("originals"), KEPT).is_err());
        assert!(Originals::existing(folder.path().join("originals")).is_err());
    }

    #[test]
    fn what_is_not_there_or_not_as_it_was_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Originals::existing(folder.path().join("originals")).unwrap().is_none());
        let own = open(folder.path());
        assert_eq!(own.get(ID).unwrap(), Found::Nothing);
        for id in ["", "dw-", "../../../etc/passwd", "dw-0123456789abcdef012/", "dw-0123456789ABCDEF0123"] {
            assert_eq!(own.get(id).unwrap(), Found::Nothing);
            assert!(own.keep(id, "x").is_err());
        }
        own.keep(ID, "text").unwrap();
        // Under another name it is not what was kept under that name.
        fs::create_dir_all(own.place(OTHER).parent().unwrap()).unwrap();
        fs::copy(own.place(ID), own.place(OTHER)).unwrap();
        assert_eq!(own.get(OTHER).unwrap(), Found::Damaged);
        let mut bytes = fs::read(own.place(ID)).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(own.place(ID), &bytes).unwrap();
        assert_eq!(own.get(ID).unwrap(), Found::Damaged);
        fs::write(own.place(ID), &bytes[..10]).unwrap();
        assert_eq!(own.get(ID).unwrap(), Found::Damaged);
    }

    #[test]
    fn the_old_go_and_what_is_kept_again_stays() {
        let folder = tempfile::tempdir().unwrap();
        let own = open(folder.path());
        for id in [ID, OTHER] {
            own.keep(id, "text").unwrap();
            let file = OpenOptions::new().write(true).open(own.place(id)).unwrap();
            file.set_modified(SystemTime::now() - KEPT.for_ - Duration::from_secs(2 * 86_400)).unwrap();
        }
        let own = open(folder.path());
        own.swept.lock().unwrap().replace(Instant::now());
        own.keep(ID, "text").unwrap();
        // Yesterday it was looked too; else the clock is not believed.
        let yesterday = SystemTime::now() - Duration::from_secs(86_400);
        crate::bodies::sweep(own.folder(), KEPT, yesterday, is_id).unwrap();
        assert_eq!(own.get(OTHER).unwrap(), Found::Text("text".to_owned()));
        *own.swept.lock().unwrap() = None;
        own.keep("dw-aaaa456789abcdef0123", "more").unwrap();
        assert_eq!(own.get(ID).unwrap(), Found::Text("text".to_owned()));
        assert_eq!(own.get(OTHER).unwrap(), Found::Nothing);
    }

    #[test]
    fn a_file_that_cannot_be_opened_does_not_count_as_kept() {
        use std::sync::Arc;
        let folder = tempfile::tempdir().unwrap();
        let text = || Found::Text("text".to_owned());
        let own = open(folder.path());
        own.keep(ID, "text").unwrap();
        own.keep(OTHER, "text").unwrap();
        // Empty, and cut off: nobody's key was lost.
        for left in [0, 10] {
            let bytes = fs::read(own.place(ID)).unwrap();
            fs::write(own.place(ID), &bytes[..left]).unwrap();
            own.keep(ID, "text").unwrap();
            assert_eq!(own.get(ID).unwrap(), text());
        }
        fs::remove_file(folder.path().join("originals.key")).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let tell = Arc::clone(&told);
        let own = open(folder.path()).telling(move |text| tell.lock().unwrap().push(text.to_owned()));
        for id in [ID, OTHER, ID] {
            own.keep(id, "text").unwrap();
            assert_eq!(own.get(id).unwrap(), text());
        }
        let told = told.lock().unwrap();
        assert!(told.len() == 1 && told[0].contains("sealed with another key"), "{told:?}");
    }

    #[test]
    fn many_make_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::thread::scope(|scope| {
            for at in 0..8 {
                scope.spawn(move || {
                    let id = format!("dw-{at:020x}");
                    open(path).keep(&id, "text").unwrap();
                });
            }
        });
        let own = open(path);
        for at in 0..8 {
            assert_eq!(own.get(&format!("dw-{at:020x}")).unwrap(), Found::Text("text".to_owned()));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let one = own.place("dw-00000000000000000001");
            assert_eq!((mode(&path.join("originals.key")), mode(&one)), (0o600, 0o600));
            assert_eq!((mode(own.folder()), mode(one.parent().unwrap())), (0o700, 0o700));
        }
        let left: Vec<_> = fs::read_dir(path).unwrap().collect();
        assert_eq!(left.len(), 2, "nothing is left beside folder and key");
    }
}
