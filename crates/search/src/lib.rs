//! Ranking of tools: which of them fits what someone asks for.
//!
//! Tools come in as words in fields ([`Tool`]), requests as text; out come tools with a score, the reasons for it, and how
//! likely it is that the index holds what was asked for at all ([`Answer`]). The index is changed in place ([`Index`]),
//! and answers the same whatever way its tools came in. Nothing here knows where tools come from.
//!
//! ```
//! use deadweight_search::{Index, Tool};
//!
//! let mut index = Index::new();
//! for (name, description) in [("read_file", "Reads a file."), ("send_mail", "Sends a message to an address.")] {
//!     index.add(&Tool {
//!         id: name.to_owned(),
//!         server: "office".to_owned(),
//!         name: name.to_owned(),
//!         description: description.to_owned(),
//!         arguments: Vec::new(),
//!     });
//! }
//! let answer = index.search("mail this to my colleague", 5);
//! assert_eq!(answer.hits[0].id, "send_mail");
//! ```

mod answer;
mod confidence;
mod index;
mod lexicon;
mod near;
mod numbers;
mod rank;
mod request;
mod score;
mod second;
mod tool;
mod weights;
mod words;

pub use answer::{Answer, Hit, Reason};
pub use index::Index;
pub use near::Near;
pub use second::Second;
pub use tool::{Argument, Field, Tool};
pub use weights::Weights;
