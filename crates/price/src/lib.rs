//! What tokens cost: a dated book of prices, and exact arithmetic with money.
//!
//! - [`Book`]: which model costs what on which day; a user's own prices come before those that are built in.
//! - [`cost`]: what a response's counters cost, part by part.
//! - [`edit`]: when it pays to edit what is already in the cache.
//! - [`ttl`]: when it pays to have it cached for longer.
//!
//! Everything here is ESTIMATED: prices that somebody read on some day, times counters. Where a price is not known the
//! answer is `None`, never zero. Arithmetic is on integers; a price is kept in micro-dollars for a million tokens, which
//! is a trillionth of a dollar for a token, so that nothing is rounded before the end.

mod book;
pub mod cost;
mod data;
pub mod edit;
mod entry;
mod money;
pub mod ttl;

pub use book::{Book, Day, bare};
pub use cost::{Cost, Terms};
pub use entry::{Entry, Long, Rates};
pub use money::{Money, Rate, RateError};
