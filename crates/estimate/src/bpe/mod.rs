//! Estimators that count with a real tokenizer: byte-pair encoding over a compiled-in vocabulary.
//!
//! Only the number of tokens is wanted, so this is a tokenizer that never makes tokens: [`split`] cuts the text into
//! pieces, and a piece is one token if the [`vocabulary`] has it, else [`merge`] counts what becomes of its bytes.
//! The vocabulary is laid out at build time, from the same data the `tiktoken` crate holds, in a table that is
//! searched where it lies in the binary: a process that counts one tool pays for a few pages of it.

mod class;
mod layout;
mod merge;
mod split;
mod vocabulary;

use std::fmt;

use self::merge::Merger;
use self::split::{Rules, piece_end};
use self::vocabulary::Vocabulary;
use crate::estimator::{Counting, Estimator, EstimatorId, TextCounter};

static O200K: Vocabulary = Vocabulary::new(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.bin")));
static CL100K: Vocabulary = Vocabulary::new(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.bin")));

/// A tokenizer as an estimator. Its counts are exact; what looks like a special token is ordinary text.
#[derive(Clone, Copy)]
pub struct BpeEstimator {
    name: &'static str,
    rules: Rules,
    vocabulary: &'static Vocabulary,
}

/// `o200k/1`: the count of OpenAI's `o200k_base`.
#[must_use]
pub fn o200k() -> BpeEstimator {
    BpeEstimator { name: "o200k", rules: Rules::O200k, vocabulary: &O200K }
}

/// `cl100k/1`: the count of OpenAI's older `cl100k_base`.
#[must_use]
pub fn cl100k() -> BpeEstimator {
    BpeEstimator { name: "cl100k", rules: Rules::Cl100k, vocabulary: &CL100K }
}

impl Estimator for BpeEstimator {
    fn id(&self) -> EstimatorId {
        EstimatorId::builtin(self.name, 1)
    }

    fn counting(&self) -> Counting<'_> {
        Counting::Text(self)
    }
}

impl TextCounter for BpeEstimator {
    fn count(&self, text: &str) -> u64 {
        let mut merger = Merger::default();
        let (mut from, mut count) = (0, 0);
        while from < text.len() {
            let end = piece_end(self.rules, text, from);
            count += merger.count(self.vocabulary, &text.as_bytes()[from..end]);
            from = end;
        }
        count as u64
    }
}

impl fmt::Debug for BpeEstimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BpeEstimator").field(&self.name).finish()
    }
}
