//! Targets: what a person points at, and what it turns out to be.

pub(crate) mod ask;
pub(crate) mod file;
pub(crate) mod gather;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod place;
pub(crate) mod recognise;
pub(crate) mod words;
pub(crate) mod wrapped;
