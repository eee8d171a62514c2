//! Clients: how they reach the proxy.

pub(crate) mod http;
pub(crate) mod stdio;
