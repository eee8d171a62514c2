//! What was recorded of exchanges, read back: sums, sessions, turns, the bill of each tool.

mod bill;
mod edited;
mod levers;
mod sessions;
mod sums;
mod turns;
mod uses;
mod which;

pub use bill::Billed;
pub use levers::LeverSum;
pub use sessions::{Session, SessionOrder};
pub use sums::{Bucket, By, Group, Sums};
pub use turns::{Leaks, Neighbours, Order};
pub use uses::ToolUse;
pub use which::{Page, Which};
