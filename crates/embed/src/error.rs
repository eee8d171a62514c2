//! Why a model cannot be used.

use std::io;
use std::path::PathBuf;

/// What can be used, for every error that says that something cannot.
const SUPPORTED: &str = "supported are sentence-embedding models of the BERT family (such as all-MiniLM-L6-v2) with \
     `config.json`, `model.safetensors` and `tokenizer.json` or `vocab.txt`";

/// A folder holds no model that can be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file that must be there cannot be read.
    #[error("cannot read {}: {source}; {SUPPORTED}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("{} is broken: {what}; copy the model's folder anew", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A model of a kind that is not supported.
    #[error("{} {what}; {SUPPORTED}", path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What it says, as the rest of a sentence that begins with the file.
        what: String,
    },
}

impl ModelError {
    pub(crate) fn broken(path: impl Into<PathBuf>, what: impl ToString) -> Self {
        Self::Broken { path: path.into(), what: what.to_string() }
    }

    pub(crate) fn unsupported(path: impl Into<PathBuf>, what: impl ToString) -> Self {
        Self::Unsupported { path: path.into(), what: what.to_string() }
    }
}
