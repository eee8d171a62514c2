//! A model: texts in, vectors out.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::arithmetic::unit;
use crate::error::ModelError;
use crate::folder::{self, Shape};
use crate::network::Network;
use crate::tokens::{Token, Tokenizer};
use crate::weights::Weights;

/// So many tokens go through the network at once: enough for its products to be large, little enough to stay in a
/// processor's cache.
const TOGETHER: usize = 512;

/// The files that make a model what it is.
const FILES: [&str; 7] = [
    "config.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
];

/// A sentence-embedding model, in memory. It can be shared between threads, and gives one and the same vector for a
/// text whatever else it is asked for.
pub struct Model {
    network: Network,
    tokenizer: Tokenizer,
    hash: [u8; 32],
}

impl Model {
    /// Reads the model in a folder: `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.txt`, in the
    /// layout of sentence-transformers. This takes as long as reading the file does, some tenths of a second.
    ///
    /// # Errors
    ///
    /// When a file is missing or broken, or the model is of a kind that is not supported; the error names the file.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let shape = Shape::read(folder)?;
        let tokenizer = Tokenizer::read(folder, shape.words, shape.tokens)?;
        let network = Network::read(&mut Weights::open(folder)?, &shape)?;
        Ok(Self { network, tokenizer, hash: hash(folder)? })
    }

    /// How many numbers a vector has.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.network.dimensions()
    }

    /// SHA-256 over the model's files: vectors of equal hashes can be compared.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// A vector of length 1 for each text, in their order; the cosine of two is the sum of their products. What is
    /// longer than the model can read is cut.
    #[must_use]
    pub fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut waiting: Vec<Vec<Token>> = Vec::new();
        let mut rows = 0;
        for text in texts {
            let tokens = self.tokenizer.tokens(text);
            if rows > 0 && rows + tokens.len() > TOGETHER {
                vectors.extend(self.network.run(&std::mem::take(&mut waiting)));
                rows = 0;
            }
            rows += tokens.len();
            waiting.push(tokens);
        }
        if !waiting.is_empty() {
            vectors.extend(self.network.run(&waiting));
        }
        for vector in &mut vectors {
            unit(vector);
        }
        vectors
    }

    /// The numbers of a text's tokens, as the model reads it.
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokenizer.tokens(text)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("dimensions", &self.dimensions()).finish_non_exhaustive()
    }
}

fn hash(folder: &Path) -> Result<[u8; 32], ModelError> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 18];
    for name in FILES {
        let path = folder.join(name);
        let unreadable = |source| ModelError::Unreadable { path: path.clone(), source };
        let mut file = match folder::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(error)),
        };
        hash.update(name);
        hash.update(file.metadata().map_err(unreadable)?.len().to_le_bytes());
        loop {
            match file.read(&mut piece).map_err(unreadable)? {
                0 => break,
                read => hash.update(&piece[..read]),
            }
        }
    }
    Ok(hash.finalize().into())
}
