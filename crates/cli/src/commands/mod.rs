//! The commands, one file each.

pub(crate) mod footprint;
pub(crate) mod gate;
