//! Estimators that count with a real tokenizer, byte-pair encoding over a compiled-in vocabulary.

use std::fmt;
use std::sync::LazyLock;

use tiktoken::CoreBpe;

use crate::estimator::{Counting, Estimator, EstimatorId, TextCounter};

static O200K: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::o200k_base);
static CL100K: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::cl100k_base);

/// A tokenizer as an estimator. Making one costs nothing: its vocabulary is loaded by the first count of the
/// process, or by [`Estimator::prepare`].
#[derive(Clone, Copy)]
pub struct BpeEstimator {
    id: &'static str,
    vocabulary: &'static LazyLock<CoreBpe>,
}

/// `o200k/1`: the exact count of OpenAI's `o200k_base`.
#[must_use]
pub const fn o200k() -> BpeEstimator {
    BpeEstimator { id: "o200k", vocabulary: &O200K }
}

/// `cl100k/1`: the exact count of OpenAI's older `cl100k_base`.
#[must_use]
pub const fn cl100k() -> BpeEstimator {
    BpeEstimator { id: "cl100k", vocabulary: &CL100K }
}

impl Estimator for BpeEstimator {
    fn id(&self) -> EstimatorId {
        EstimatorId::builtin(self.id, 1)
    }

    fn counting(&self) -> Counting<'_> {
        Counting::Text(self)
    }

    fn prepare(&self) {
        LazyLock::force(self.vocabulary);
    }
}

impl TextCounter for BpeEstimator {
    fn count(&self, text: &str) -> u64 {
        self.vocabulary.count(text) as u64
    }
}

impl fmt::Debug for BpeEstimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BpeEstimator").field(&self.id).finish()
    }
}
