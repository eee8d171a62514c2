//! The anatomy of requests: recorded layouts, small cases, and whatever JSON there is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod anything;
mod cases;
mod generated;
mod json_text;
mod layouts;
mod outline;
mod slices;
