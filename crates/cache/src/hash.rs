//! The hash of this crate, and why it is this one.
//!
//! BLAKE3. The chain hash of a conversation is more than a fingerprint: decisions about a conversation are kept under
//! it and applied to whatever request has it, so nobody may be able to make two conversations with one hash, also not
//! an author of tool results who would like to. That rules out the quick hashes of hash tables. Among those that are
//! collision resistant it is the fastest on long texts, by a wide margin where a processor lacks instructions for
//! SHA-256, and every body is hashed.

use std::fmt;

/// A 256-bit hash. Shown as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its first 16 bytes: enough to tell conversations apart in memory, where nothing is decided by it.
    #[must_use]
    pub fn short(&self) -> [u8; 16] {
        let mut short = [0; 16];
        short.copy_from_slice(&self.0[..16]);
        short
    }

    /// The digest of parts of known number, each told from the next by its length, under a name for its use.
    pub(crate) fn of_parts(purpose: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self::finish(&hasher)
    }

    /// The digest of bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    pub(crate) fn finish(hasher: &blake3::Hasher) -> Self {
        Self(*hasher.finalize().as_bytes())
    }

    /// The next link of a chain: what it says hangs on all links before.
    pub(crate) fn chain(before: &Self, own: &Self) -> Self {
        let mut both = [0; 64];
        both[..32].copy_from_slice(&before.0);
        both[32..].copy_from_slice(&own.0);
        Self::of(&both)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0[..4])
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}
