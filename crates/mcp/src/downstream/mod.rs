//! Clients: how they reach the proxy.

pub(crate) mod stdio;
