//! The relay: one client's connection and the servers behind it, without any I/O of its own.

#![allow(dead_code, reason = "what uses it is being built")]

pub(crate) mod frame;
pub(crate) mod port;
