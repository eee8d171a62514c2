//! The way back from what was cut.

use deadweight_levers::Lever;
use deadweight_levers::plan::Original;

/// Keeps what a lever cut, so that the model can have it back.
pub trait Originals: Send + Sync {
    /// Whether originals are kept at all.
    fn keeps(&self) -> bool;

    /// The name under which the model can ask for one, of those that its request offers. `None`: there is no way, and
    /// nothing is cut.
    fn restore_tool<'a>(&self, offered: &[&'a str]) -> Option<&'a str>;

    /// Keeps originals for a session. Only when all are on the disk is what was cut sent.
    ///
    /// # Errors
    /// They cannot be kept: why, in a sentence.
    fn keep(&self, session: &str, originals: &[Original], at_ms: u64) -> Result<(), String>;

    /// The levers of whose cuts too much was asked for again in this session.
    fn backed_off(&self, session: &str) -> Vec<Lever>;
}

/// Keeps none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOriginals;

impl Originals for NoOriginals {
    fn keeps(&self) -> bool {
        false
    }

    fn restore_tool<'a>(&self, _: &[&'a str]) -> Option<&'a str> {
        None
    }

    fn keep(&self, _: &str, _: &[Original], _: u64) -> Result<(), String> {
        Err("originals are not kept".to_owned())
    }

    fn backed_off(&self, _: &str) -> Vec<Lever> {
        Vec::new()
    }
}
