//! How decisions are sealed: two gateways compare what they have sealed to see whether they agree, so the same decision is
//! sealed the same way every time.
//!
//! A sealed body is the number of the form, a nonce, and what XChaCha20-Poly1305 makes of the body, with form, kind and key of the
//! decision bound to it. The nonce is a keyed hash of kind, key and body: no two bodies share one, and who does not have the key
//! learns only which rows are the same. A body that says nothing stays nothing.

use crate::key::Key;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

/// The number of the form.
const FORM: u8 = 1;
const NONCE: usize = 24;

/// Seals and opens decisions.
pub(crate) struct Seal {
    cipher: XChaCha20Poly1305,
    nonces: Key,
}

impl Seal {
    /// With keys of its own, derived from the machine's.
    pub(crate) fn with(key: &Key) -> Self {
        Self {
            cipher: key.derived("deadweight 2026 decision journal: bodies").cipher(),
            nonces: key.derived("deadweight 2026 decision journal: nonces"),
        }
    }

    /// `None`: it is too large to be sealed.
    pub(crate) fn seal(&self, kind: u8, key: &[u8; 32], body: &[u8]) -> Option<Vec<u8>> {
        if body.is_empty() {
            return Some(Vec::new());
        }
        let bound = bound(kind, key);
        let mut hasher = blake3::Hasher::new_keyed(self.nonces.bytes());
        hasher.update(&bound).update(body);
        let mut nonce = [0_u8; NONCE];
        hasher.finalize_xof().fill(&mut nonce);
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), Payload { msg: body, aad: &bound }).ok()?;
        Some([&[FORM][..], &nonce, &sealed].concat())
    }

    /// `None`: it was sealed with another key, for another decision, or is damaged.
    pub(crate) fn open(&self, kind: u8, key: &[u8; 32], sealed: &[u8]) -> Option<Vec<u8>> {
        if sealed.is_empty() {
            return Some(Vec::new());
        }
        let (nonce, sealed) = sealed.strip_prefix(&[FORM])?.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: &bound(kind, key) };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

/// What a body is bound to. Its length is always the same, so that nothing of it can pass for the body.
fn bound(kind: u8, key: &[u8; 32]) -> [u8; 34] {
    let mut bound = [0; 34];
    bound[0] = FORM;
    bound[1] = kind;
    bound[2..].copy_from_slice(key);
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_sealed_the_same_and_opens_only_where_it_belongs() {
        let folder = tempfile::tempdir().unwrap();
        let key = |name: &str| Key::made(&folder.path().join(name)).unwrap();
        let (own, other) = (Seal::with(&key("a")), Seal::with(&key("b")));
        let again = Seal::with(&key("a"));
        let sealed = own.seal(1, &[2; 32], b"text").unwrap();
        assert_eq!(again.seal(1, &[2; 32], b"text").unwrap(), sealed);
        assert_eq!(again.open(1, &[2; 32], &sealed).unwrap(), b"text");
        let nonce = |sealed: &[u8]| sealed[1..=NONCE].to_vec();
        let others = [
            own.seal(2, &[2; 32], b"text").unwrap(),
            own.seal(1, &[3; 32], b"text").unwrap(),
            own.seal(1, &[2; 32], b"tex").unwrap(),
            other.seal(1, &[2; 32], b"text").unwrap(),
        ];
        assert!(others.iter().all(|one| nonce(one) != nonce(&sealed)));
        assert_eq!(own.open(2, &[2; 32], &sealed), None);
        assert_eq!(own.open(1, &[3; 32], &sealed), None);
        assert_eq!(other.open(1, &[2; 32], &sealed), None);
        let mut damaged = sealed.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(own.open(1, &[2; 32], &damaged), None);
        assert_eq!(own.open(1, &[2; 32], &sealed[..9]), None);
        assert_eq!(own.open(1, &[2; 32], &own.seal(1, &[2; 32], b"").unwrap()), Some(Vec::new()));
    }
}
