//! Numbers, names, times, money and pages as people read them: the same words in a terminal, in a report and in the
//! dashboard.
//!
//! What comes from outside passes through [`harmless`], or [`quote`] where it is to be copied; a number that could not be had is [`number::NONE`], never 0; what an
//! estimator counted is marked.

pub mod harmless;
pub mod html;
pub mod money;
pub mod number;
pub mod quote;
pub mod time;
pub mod treemap;
pub mod words;
