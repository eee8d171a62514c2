//! Vectors of texts that were embedded before, in memory and in one file for each model.
//!
//! The file is a header and then records of one length, each with its checksum. It is only ever appended to, or written
//! anew beside and put in its place; processes that share it take turns by a lock file. What does not fit its checksum
//! is left out and is gone at the next writing, so that the worst a broken file can do is to cost time.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::model::Model;
use crate::vector::{Key, Vector};

const MAGIC: [u8; 8] = *b"DWVEC 1\n";
/// The magic, the model's hash, the dimensions and room for later.
const HEADER: usize = 64;
const CHECKSUM: usize = 8;
/// The longest file. Past it the older half is left out.
const LONGEST: usize = 32 << 20;

/// Vectors by the texts they stand for, all of one model.
#[derive(Debug)]
pub struct Vectors {
    header: [u8; HEADER],
    dimensions: usize,
    longest: usize,
    known: HashMap<Key, Vector>,
    /// In which order they came.
    order: Vec<Key>,
    path: Option<PathBuf>,
}

impl Vectors {
    /// None yet, and none that are kept longer than this value.
    #[must_use]
    pub fn in_memory(model: &Model) -> Self {
        Self::new(model.hash(), model.dimensions(), None)
    }

    /// Those that a folder keeps of a model; the folder is made when it is not there. A file that is broken counts as
    /// far as it is whole, and is made whole.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made, read or written.
    pub fn open(folder: &Path, model: &Model) -> io::Result<Self> {
        Self::open_with(folder, model.hash(), model.dimensions(), LONGEST)
    }

    fn open_with(folder: &Path, hash: [u8; 32], dimensions: usize, longest: usize) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
        let name: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut vectors = Self::new(hash, dimensions, Some(folder.join(format!("vectors-{name}"))));
        vectors.longest = longest;
        let lock = vectors.lock()?;
        if !vectors.read()? {
            vectors.rewrite()?;
        }
        drop(lock);
        Ok(vectors)
    }

    fn new(hash: [u8; 32], dimensions: usize, path: Option<PathBuf>) -> Self {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..40].copy_from_slice(&hash);
        header[40..44].copy_from_slice(&u32::try_from(dimensions).unwrap_or(u32::MAX).to_le_bytes());
        let (known, order) = Default::default();
        Self { header, dimensions, longest: LONGEST, known, order, path }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The vector of what has this key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Vector> {
        self.known.get(key)
    }

    /// Adds vectors, and writes those that are new to the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be written; in memory they are there in any case.
    pub fn add(&mut self, vectors: impl IntoIterator<Item = (Key, Vector)>) -> io::Result<()> {
        let mut records = Vec::new();
        for (key, vector) in vectors {
            if vector.numbers().len() == self.dimensions && !self.known.contains_key(&key) {
                record(&key, &vector, &mut records);
                self.insert(key, vector);
            }
        }
        self.forget_oldest();
        if records.is_empty() || self.path.is_none() {
            return Ok(());
        }
        let _lock = self.lock()?;
        let whole = self.open_file()?.metadata()?.len();
        if whole < HEADER as u64 || whole + records.len() as u64 > self.longest as u64 {
            return self.rewrite();
        }
        let mut file = self.open_file()?;
        // In one go; what is cut off by a crash does not fit its checksum.
        file.write_all(&records)
    }

    fn insert(&mut self, key: Key, vector: Vector) {
        if self.known.insert(key, vector).is_none() {
            self.order.push(key);
        }
    }

    /// How long one record is.
    fn width(&self) -> usize {
        32 + 2 * self.dimensions + CHECKSUM
    }

    /// Leaves the older half out when there are more than the file may hold.
    fn forget_oldest(&mut self) {
        let most = self.longest.saturating_sub(HEADER) / self.width();
        if self.order.len() > most {
            for key in self.order.drain(..self.order.len() - most / 2) {
                self.known.remove(&key);
            }
        }
    }

    /// Reads the file; whether it is as it should be.
    fn read(&mut self) -> io::Result<bool> {
        let mut bytes = Vec::new();
        self.open_file()?.take(2 * self.longest as u64).read_to_end(&mut bytes)?;
        let Some((header, records)) = bytes.split_at_checked(HEADER) else { return Ok(false) };
        if header != self.header {
            return Ok(false);
        }
        let mut whole = bytes.len() <= self.longest;
        let records = records.chunks(self.width());
        for bytes in records {
            match self.parse(bytes) {
                Some((key, vector)) => {
                    // Two processes may have embedded one text.
                    whole &= !self.known.contains_key(&key);
                    self.insert(key, vector);
                }
                None => whole = false,
            }
        }
        self.forget_oldest();
        Ok(whole)
    }

    fn parse(&self, bytes: &[u8]) -> Option<(Key, Vector)> {
        if bytes.len() != self.width() {
            return None;
        }
        let (content, checksum) = bytes.split_at_checked(bytes.len() - CHECKSUM)?;
        if checksum != &Sha256::digest(content)[..CHECKSUM] {
            return None;
        }
        let (key, numbers) = content.split_at_checked(32)?;
        let numbers = numbers.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
        Some((Key(key.try_into().ok()?), Vector::from_numbers(numbers)?))
    }

    /// Writes the file anew, and puts it in the place of the old one.
    fn rewrite(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut bytes = self.header.to_vec();
        for key in &self.order {
            if let Some(vector) = self.known.get(key) {
                record(key, vector, &mut bytes);
            }
        }
        // Whoever writes holds the lock, so that nobody else writes here.
        let beside = path.with_extension("new");
        let mut file = private().write(true).create(true).truncate(true).open(&beside)?;
        file.write_all(&bytes)?;
        fs::rename(beside, path)
    }

    /// The file, to read and to append to, made when it is not there.
    fn open_file(&self) -> io::Result<File> {
        let path = self.path.as_deref().ok_or(io::ErrorKind::NotFound)?;
        let file = private().read(true).append(true).create(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(format!("{} is not a regular file", path.display())));
        }
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(file)
    }

    /// Holds the other processes off while it lives.
    fn lock(&self) -> io::Result<File> {
        let path = self.path.as_deref().ok_or(io::ErrorKind::NotFound)?;
        let file = private().write(true).create(true).truncate(false).open(path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

/// Files that only their owner reads.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn record(key: &Key, vector: &Vector, to: &mut Vec<u8>) {
    let start = to.len();
    to.extend_from_slice(&key.0);
    to.extend(vector.numbers().iter().flat_map(|number| number.to_le_bytes()));
    let checksum = Sha256::digest(&to[start..]);
    to.extend_from_slice(&checksum[..CHECKSUM]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: [u8; 32] = [7; 32];

    fn open(folder: &Path) -> Vectors {
        Vectors::open_with(folder, HASH, 8, 64 + 20 * 56).unwrap()
    }

    fn vector(seed: usize) -> (Key, Vector) {
        let numbers: Vec<f32> = (0..8).map(|at| ((seed * 31 + at * 17) % 23) as f32 - 11.0).collect();
        (Key::of(&[seed.to_string()]), Vector::new(&numbers))
    }

    fn file(folder: &Path) -> PathBuf {
        folder.join("vectors-0707070707070707")
    }

    #[test]
    fn what_was_added_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = open(folder.path());
        first.add((0..5).map(vector)).unwrap();
        first.add((3..9).map(vector)).unwrap();
        let second = open(folder.path());
        assert_eq!(second.len(), 9);
        for seed in 0..9 {
            let (key, vector) = vector(seed);
            assert_eq!(second.get(&key), Some(&vector));
        }
        assert_eq!(fs::metadata(file(folder.path())).unwrap().len(), 64 + 9 * 56);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("a/b");
        open(&folder).add([vector(1)]).unwrap();
        fs::set_permissions(file(&folder), fs::Permissions::from_mode(0o644)).unwrap();
        open(&folder);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file(&folder))), (0o700, 0o600));
    }

    #[test]
    fn every_break_costs_no_more_than_what_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).add((0..5).map(vector)).unwrap();
        let path = file(folder.path());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            fs::write(&path, &bytes).unwrap();
            let read = open(folder.path()).len();
            assert_eq!(read, if at < HEADER { 0 } else { 4 }, "a bit of byte {at}");
            // And it is whole again.
            assert_eq!(fs::metadata(&path).unwrap().len() as usize, HEADER + read * 56);
        }
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut vectors = open(folder.path());
            assert_eq!(vectors.len(), cut.saturating_sub(HEADER) / 56, "cut at {cut}");
            vectors.add((0..5).map(vector)).unwrap();
            assert_eq!(open(folder.path()).len(), 5);
        }
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut vectors = open(folder.path());
        for seed in 0..500 {
            vectors.add([vector(seed)]).unwrap();
            assert!(fs::metadata(file(folder.path())).unwrap().len() <= 64 + 20 * 56);
            assert!(vectors.len() <= 20 && vectors.order.len() <= 20);
        }
        assert!(open(folder.path()).get(&Key::of(&["499"])).is_some());
    }

    #[test]
    fn several_write_at_once() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = folder.path();
                scope.spawn(move || {
                    let mut vectors = open(path);
                    for seed in 0..4 {
                        vectors.add([vector(writer * 4 + seed)]).unwrap();
                    }
                });
            }
        });
        assert_eq!(open(folder.path()).len(), 16);
    }

    #[test]
    fn vectors_of_another_size_are_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mut vectors = open(folder.path());
        vectors.add([(Key::of(&["x"]), Vector::new(&[1.0, 0.0]))]).unwrap();
        assert!(vectors.is_empty());
    }
}
