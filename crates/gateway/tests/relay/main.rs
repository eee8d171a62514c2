//! The reverse proxy between raw sockets: what goes in comes out, byte for byte.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what is wrong by failing"
)]

mod answers;
mod common;
mod edited;
mod faults;
mod guard;
mod identity;
mod lifecycle;
mod recorded;
mod requests;
mod tls;
mod websocket;
