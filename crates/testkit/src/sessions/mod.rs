//! Sessions of coding agents, scripted: a client and the model it talks to, from a seed.
//!
//! - [`Client`] and its [`Conversation`]s make request bodies step by step from what the provider really answered.
//! - [`figures`]: how long sessions are, how large results, how long the gaps: published figures with their sources.
//! - [`Plan`]: one session with all that is to happen in it; [`set`] is the fixed set of them.
//! - [`play`] plays a plan over HTTP against whatever stands [`Between`] client and strict provider, and notes what came
//!   out at the provider's door.
//! - [`foreign`]: two policies of others, rebuilt from their published rules, to be held against.
//!
//! ```
//! use deadweight_testkit::sessions::{Line, Plan, play, Straight};
//!
//! let line = Line::start()?;
//! let plan = Plan { steps: 4, ..Plan::calm(7) };
//! let played = play(&plan, &line, &mut Straight::to(&line))?;
//! assert_eq!((played.requests, played.refused.len()), (4, 0));
//! # Ok::<(), std::io::Error>(())
//! ```

mod client;
mod conversation;
mod dice;
mod door;
pub mod figures;
pub mod foreign;
mod line;
mod plan;
mod play;
mod post;
mod text;

pub use client::{BINDING, CALM, Client, Kind, OLDER, Sizes};
pub use conversation::{Conversation, content};
pub use dice::Dice;
pub use line::{Clock, Line};
pub use plan::{Class, Fate, Plan, set};
pub use play::{Between, Played, Refused, Straight, Strike, play};
pub use post::{Answer, post};
pub use text::{picture, prose, tool};
