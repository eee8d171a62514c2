//! The way back from what was cut.

use deadweight_levers::Lever;
use deadweight_levers::plan::Original;

/// Keeps what a lever cut, so that the model can have it back.
pub trait Originals: Send + Sync {
    /// Whether originals are kept at all.
    fn keeps(&self) -> bool;

    /// The name under which the model can ask for one, of those that its request offers. Where this says none, the tool
    /// is known by its description ([`deadweight_levers::restore_tool`]); without one nothing is cut.
    fn restore_tool<'a>(&self, _offered: &[&'a str]) -> Option<&'a str> {
        None
    }

    /// Keeps originals for a session. Only when all are on the disk is what was cut sent.
    ///
    /// # Errors
    /// They cannot be kept: why, in a sentence.
    fn keep(&self, session: &str, originals: &[Original], at_ms: u64) -> Result<(), String>;

    /// The levers of whose cuts too much was asked for again in this session, besides those of which the conversation
    /// itself shows it.
    fn backed_off(&self, _session: &str) -> Vec<Lever> {
        Vec::new()
    }
}

/// Keeps none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOriginals;

impl Originals for NoOriginals {
    fn keeps(&self) -> bool {
        false
    }

    fn keep(&self, _: &str, _: &[Original], _: u64) -> Result<(), String> {
        Err("originals are not kept".to_owned())
    }
}

impl Originals for deadweight_store::Originals {
    fn keeps(&self) -> bool {
        true
    }

    fn keep(&self, _: &str, originals: &[Original], _: u64) -> Result<(), String> {
        let keep = |own: &Original| Self::keep(self, &own.id, &own.text).map_err(|error| error.to_string());
        originals.iter().try_for_each(keep)
    }
}
