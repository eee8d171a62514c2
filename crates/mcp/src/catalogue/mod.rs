//! What servers said when they last listed their tools, and what was decided about it then, kept on disk.
//!
//! A [`Manifest`] lets a list be served at once while its server is still being started; it is compared with what the
//! server then says. [`Kept`] decisions give the same list after a restart. Everything here can be
//! deleted at any time: a file that is missing or broken costs a wait, never a wrong answer.
//!
//! - [`page`]: one `tools/list` result, taken apart and put together again.
//! - [`manifest_key`] and [`decision_key`]: which file belongs to what.
//! - [`Cache`]: the folder.

mod cache;
mod decisions;
mod key;
mod manifest;
pub mod page;
#[cfg(feature = "proxy")]
mod shelf;

pub use crate::surface::Kept;
pub use cache::{Cache, CacheError, Found};
pub use key::{Circumstances, decision_key, manifest_key};
pub use manifest::{Broken, Manifest};
pub use page::{frame, list_result};
#[cfg(feature = "proxy")]
pub(crate) use shelf::shelf;
