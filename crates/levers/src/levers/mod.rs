//! One file for each lever, and what they share.

pub(crate) mod breakpoints;
pub(crate) mod calls;
pub(crate) mod compact;
pub(crate) mod dedup;
pub(crate) mod defer;
pub(crate) mod elide;
pub(crate) mod late;
pub(crate) mod recover;
pub(crate) mod server_edit;
pub(crate) mod tools;
