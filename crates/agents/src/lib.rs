//! What coding agents keep on this machine, found and read.
//!
//! - [`memory`]: memory files and what they import.
//! - [`skills`]: skills of a project, of a user, of plugins.
//!
//! Where each agent looks is data of `deadweight-profiles`; what is found is priced by `deadweight-footprint`.
//! Reading is bounded in every direction: size, depth, number, links that lead in circles. What cannot be read is
//! told with its reason, and is nobody's zero.

mod folders;
pub mod memory;
mod names;
mod read;
mod search;
pub mod skills;

pub use search::Search;
