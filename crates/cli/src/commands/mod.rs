//! The commands, one file each.

pub(crate) mod footprint;
pub(crate) mod gate;
pub(crate) mod gateway;
pub(crate) mod ledger;
pub(crate) mod mcp;
pub(crate) mod run;
pub(crate) mod top;
