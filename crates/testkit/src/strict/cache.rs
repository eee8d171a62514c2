//! The prompt cache: which prefixes are kept, from when, until when.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

/// What stands for a prefix or a block.
pub(crate) type Hash = [u8; 32];

/// The hash of some parts, one after the other.
pub(crate) fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Five minutes or an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ttl {
    FiveMinutes,
    Hour,
}

impl Ttl {
    pub(crate) fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::FiveMinutes => 300,
            Self::Hour => 3_600,
        })
    }
}

/// One kept prefix.
#[derive(Debug, Clone, Copy)]
struct Kept {
    /// When the response to the request that wrote it began; nothing reads it before.
    readable: Option<Duration>,
    lasts: Duration,
    /// When it is forgotten: so long after the *start* of the last request that wrote or read it.
    until: Duration,
}

/// All kept prefixes of one account.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    kept: HashMap<Hash, Kept>,
    swept: Duration,
}

impl Cache {
    /// Whether the prefix can be read at `at`.
    pub(crate) fn has(&self, prefix: &Hash, at: Duration) -> bool {
        self.kept
            .get(prefix)
            .is_some_and(|kept| kept.readable.is_some_and(|readable| readable <= at) && at < kept.until)
    }

    /// A request that began at `at` read the prefix.
    pub(crate) fn used(&mut self, prefix: &Hash, at: Duration) {
        if let Some(kept) = self.kept.get_mut(prefix) {
            kept.until = kept.until.max(at + kept.lasts);
        }
    }

    /// A request that began at `at` writes the prefix. It can be read when the response has begun.
    pub(crate) fn write(&mut self, prefix: Hash, at: Duration, lasts: Duration) {
        self.sweep(at);
        let live = self.has(&prefix, at);
        let kept = self.kept.entry(prefix).or_insert(Kept { readable: None, lasts, until: at + lasts });
        if !live && kept.until <= at {
            *kept = Kept { readable: None, lasts, until: at + lasts };
        }
        kept.lasts = kept.lasts.max(lasts);
        kept.until = kept.until.max(at + lasts);
    }

    /// The response to a request that wrote the prefix began at `at`.
    pub(crate) fn began(&mut self, prefix: &Hash, at: Duration) {
        if let Some(kept) = self.kept.get_mut(prefix) {
            kept.readable = Some(kept.readable.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// Forgets what has run out, now and then.
    fn sweep(&mut self, at: Duration) {
        if at > self.swept + Duration::from_secs(3_600) {
            self.swept = at;
            self.kept.retain(|_, kept| at < kept.until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, Ttl};
    use std::time::Duration;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_prefix_is_readable_from_the_first_response_until_its_time_is_up() {
        let mut cache = Cache::default();
        cache.write([1; 32], s(10), Ttl::FiveMinutes.length());
        assert!(!cache.has(&[1; 32], s(11)));
        cache.began(&[1; 32], s(12));
        assert!(!cache.has(&[1; 32], s(11)) && cache.has(&[1; 32], s(12)));
        // Counted from the start of the request, at 10, not from the response.
        assert!(cache.has(&[1; 32], s(309)) && !cache.has(&[1; 32], s(310)));
        cache.used(&[1; 32], s(300));
        assert!(cache.has(&[1; 32], s(599)) && !cache.has(&[1; 32], s(600)));
    }

    #[test]
    fn what_ran_out_must_be_written_anew() {
        let mut cache = Cache::default();
        cache.write([1; 32], s(0), Ttl::Hour.length());
        cache.began(&[1; 32], s(1));
        cache.write([1; 32], s(9_000), Ttl::FiveMinutes.length());
        assert!(!cache.has(&[1; 32], s(9_001)));
        cache.began(&[1; 32], s(9_001));
        assert!(cache.has(&[1; 32], s(9_299)) && !cache.has(&[1; 32], s(9_300)));
    }
}
