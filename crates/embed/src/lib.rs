//! What texts mean, as vectors, by a model on this machine.
//!
//! A model comes from a folder that the user names; nothing is ever fetched. What is read is the layout of
//! sentence-transformers: `config.json`, weights in `model.safetensors`, a WordPiece vocabulary in `tokenizer.json` or
//! `vocab.txt`. Models of the BERT family are supported, such as all-MiniLM-L6-v2; anything else is refused, with the
//! file that says so ([`ModelError`]).
//!
//! ```no_run
//! use std::path::Path;
//! use deadweight_embed::{Key, Meanings, Model, Vector};
//!
//! // One after the other:
//! let model = Model::open("models/all-MiniLM-L6-v2")?;
//! let vectors: Vec<Vector> =
//!     model.embed(&["Reads a file.", "open this document"]).iter().map(|numbers| Vector::new(numbers)).collect();
//! println!("{:.2}", vectors[0].cosine(&vectors[1]));
//!
//! // Or beside everything else, kept from run to run. Things may be said in several texts.
//! let meanings = Meanings::start(Path::new("models/all-MiniLM-L6-v2"), Some(Path::new("cache")));
//! let tools = [["read file: Reads a file.", "files read file: Reads a file. path"]];
//! meanings.learn(tools);
//! // Until all of them are there, this is `None` and whoever asks does without.
//! let keys = tools.map(|texts| Key::of(&texts));
//! let cosines = meanings.of(&["open this document"]).and_then(|parts| meanings.cosines(&parts, &keys));
//! # Ok::<(), deadweight_embed::ModelError>(())
//! ```
//!
//! # Why not a framework
//!
//! A model of this kind is one vocabulary and a few kinds of matrix product, so that reading and running it takes about a
//! thousand lines, of which the products are `ndarray`'s (matrixmultiply inside, which takes the widest instructions
//! that the processor has): four small packages more than the workspace has anyway. candle with `tokenizers` and
//! tract-onnx can run far more models; they would bring about 180 and 115 packages for the one kind that is of use here.
//! ONNX files would need the latter, and models of this family are published as safetensors, too.

mod arithmetic;
mod error;
mod folder;
mod meanings;
mod model;
mod network;
mod tokens;
mod vector;
mod vectors;
mod weights;

pub use error::ModelError;
pub use meanings::{Meanings, State};
pub use model::Model;
pub use vector::{Key, Vector};
pub use vectors::Vectors;
