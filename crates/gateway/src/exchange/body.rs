//! A body as copied on its way, and the receipt for it.

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// The SHA-256 of a body.
pub type Hash = [u8; 32];

/// A body as copied on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// The body in the pieces it passed in. They share memory with what was forwarded. Empty above the bound.
    pub chunks: Vec<Bytes>,
    /// Its length in bytes, as far as it passed, also above the bound.
    pub length: u64,
    /// Whether all of it is here.
    pub whole: bool,
}

impl Copied {
    /// The body in one piece; `None` where it is not whole. It is copied only where it came in several.
    pub fn bytes(&self) -> Option<Bytes> {
        if !self.whole {
            return None;
        }
        Some(match self.chunks.as_slice() {
            [] => Bytes::new(),
            [only] => only.clone(),
            several => {
                let mut all = Vec::with_capacity(usize::try_from(self.length).unwrap_or_default());
                several.iter().for_each(|chunk| all.extend_from_slice(chunk));
                all.into()
            }
        })
    }

    /// The body in one piece, as far as it is here. Where it came in several they are put together in `room`, in place of
    /// what that held.
    pub fn joined<'a>(&'a self, room: &'a mut Vec<u8>) -> &'a [u8] {
        match self.chunks.as_slice() {
            [] => &[],
            [only] => only,
            several => {
                room.clear();
                room.reserve(usize::try_from(self.length).unwrap_or_default());
                several.iter().for_each(|chunk| room.extend_from_slice(chunk));
                room
            }
        }
    }

    /// Its hash; `None` where it is not whole.
    pub fn sha256(&self) -> Option<Hash> {
        self.whole.then(|| {
            let mut hasher = Sha256::new();
            self.chunks.iter().for_each(|chunk| hasher.update(chunk));
            hasher.finalize().into()
        })
    }

    /// Whether both are the very same memory, piece by piece, so that what is true of the bytes of one is true of the
    /// other's.
    pub fn is_same_memory(&self, other: &Self) -> bool {
        self.whole
            && other.whole
            && self.length == other.length
            && self.chunks.len() == other.chunks.len()
            && self
                .chunks
                .iter()
                .zip(&other.chunks)
                .all(|(one, two)| one.as_ptr() == two.as_ptr() && one.len() == two.len())
    }

    /// Forgets the bytes and keeps the length.
    pub fn forget(&mut self) {
        self.chunks = Vec::new();
        self.whole = false;
    }
}

/// What was received and what was sent, proven by hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The hash of the body as received; `None` where it was not copied.
    pub received: Option<Hash>,
    /// The hash of the body as sent; `None` where it was not copied.
    pub sent: Option<Hash>,
}

impl Receipt {
    /// Hashes both bodies: once where they are the same memory.
    pub fn of(received: &Copied, sent: &Copied) -> Self {
        let hash = received.sha256();
        let sent = if received.is_same_memory(sent) { hash } else { sent.sha256() };
        Self { received: hash, sent }
    }

    /// Whether the body was changed; `None` where that is not known.
    pub fn changed(&self) -> Option<bool> {
        Some(self.received? != self.sent?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(chunks: &[&'static str]) -> Copied {
        let chunks: Vec<Bytes> = chunks.iter().map(|chunk| Bytes::from_static(chunk.as_bytes())).collect();
        Copied { length: chunks.iter().map(|chunk| chunk.len() as u64).sum(), chunks, whole: true }
    }

    #[test]
    fn a_body_in_pieces_is_the_body() {
        let body = copied(&["{\"a\"", ":1}"]);
        assert_eq!(body.bytes().unwrap(), "{\"a\":1}");
        let mut room = b"what was there before".to_vec();
        assert_eq!(body.joined(&mut room), b"{\"a\":1}");
        assert_eq!(copied(&["{}"]).joined(&mut room), b"{}");
        assert_eq!(copied(&[]).joined(&mut room), b"");
        assert_eq!(body.sha256(), copied(&["{\"a\":1}"]).sha256());
        assert_eq!(Copied { whole: false, ..body }.bytes(), None);
    }

    #[test]
    fn a_receipt_tells_whether_the_body_changed() {
        let body = copied(&["{\"a\"", ":1}"]);
        let receipt = Receipt::of(&body, &body.clone());
        assert!(body.is_same_memory(&body.clone()));
        assert_eq!(receipt.changed(), Some(false));
        assert_eq!(Receipt::of(&body, &copied(&["{\"a\":1}"])).changed(), Some(false));
        assert_eq!(Receipt::of(&body, &copied(&["{\"a\":2}"])).changed(), Some(true));
        let mut cut = body.clone();
        cut.forget();
        assert_eq!(cut.length, 7);
        assert_eq!(Receipt::of(&body, &cut).changed(), None);
    }
}
