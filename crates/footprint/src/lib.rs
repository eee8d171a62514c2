//! The footprint of a request and of a tool catalogue, and the advice that follows.
//!
//! - [`catalogue`]: what a set of MCP servers adds to every request.
//! - [`request`]: what one captured request carries.
//! - [`compare`]: two footprints side by side.
//! - [`memory`]: what memory files and skills add to every request.
//! - [`advice`]: what could be sent less, and what that would save.
//! - [`origin`]: whose a tool is.
//!
//! No I/O, no clock: bytes and an estimator come in, a report goes out. Reports are plain structs that serialise to
//! the JSON the commands print.

pub mod advice;
mod basis;
pub mod catalogue;
pub mod compare;
pub mod memory;
pub mod origin;
pub mod request;

pub use basis::{Basis, BytesPerToken, Price, percent};
