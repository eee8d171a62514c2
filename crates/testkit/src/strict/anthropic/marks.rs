//! Cache breakpoints: where they are, how many, in which order.

use super::super::cache::Ttl;
use super::super::json::Json;
use super::super::rules::Rule;
use super::super::verdict::Refusal;
use super::prompt::{Block, Prompt, shape};

const MOST: usize = 4;

/// A marked place: number among the positions of the prompt, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) place: usize,
    pub(super) ttl: Ttl,
}

/// Gathers marks in the order in which the prompt is rendered.
#[derive(Default)]
pub(super) struct Marks {
    found: Vec<Mark>,
    count: usize,
    five_minutes_seen: bool,
}

fn ttl(value: &Json<'_>, path: &str) -> Result<Option<Ttl>, Refusal> {
    if value.is_null() {
        return Ok(None);
    }
    if value.kind() != "ephemeral" {
        return Err(shape(&format!("{path}.cache_control.type"), "Input should be 'ephemeral'"));
    }
    match value.find("ttl").map(|ttl| ttl.text().unwrap_or("?")) {
        None | Some("5m") => Ok(Some(Ttl::FiveMinutes)),
        Some("1h") => Ok(Some(Ttl::Hour)),
        Some(_) => Err(shape(&format!("{path}.cache_control.ttl"), "Input should be '5m' or '1h'")),
    }
}

impl Marks {
    fn add(&mut self, ttl: Ttl, place: usize, path: &str) -> Result<(), Refusal> {
        self.count += 1;
        if ttl == Ttl::Hour && self.five_minutes_seen {
            let path = if path.is_empty() {
                "cache_control.ttl".to_owned()
            } else {
                format!("{path}.cache_control.ttl")
            };
            return Err(Refusal::new(
                Rule::TtlOrder,
                format!(
                    "{path}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
                ),
            ));
        }
        self.five_minutes_seen |= ttl == Ttl::FiveMinutes;
        match self.found.last_mut() {
            // Marks inside one block end the same prefix.
            Some(last) if last.place == place => last.ttl = last.ttl.max(ttl),
            _ => self.found.push(Mark { place, ttl }),
        }
        Ok(())
    }

    /// The mark on a tool's definition.
    pub(super) fn tool(&mut self, at: usize, tool: &Json<'_>, place: usize) -> Result<(), Refusal> {
        let path = || {
            if super::tools::is_custom(tool) { format!("tools.{at}.custom") } else { format!("tools.{at}") }
        };
        match ttl(tool.get("cache_control"), &path())? {
            Some(ttl) => self.add(ttl, place, &path()),
            None => Ok(()),
        }
    }

    /// The marks on a block and on what is in it.
    pub(super) fn block(
        &mut self,
        block: &Block<'_>,
        place: usize,
        path: &dyn Fn() -> String,
    ) -> Result<(), Refusal> {
        let Block::Json(json) = block else { return Ok(()) };
        for (at, inner) in json.get("content").items().iter().enumerate() {
            let mark = inner.get("cache_control");
            if !mark.is_null() {
                let path = format!("{}.content.{at}", path());
                if let Some(ttl) = ttl(mark, &path)? {
                    self.add(ttl, place, &path)?;
                }
            }
        }
        let mark = json.get("cache_control");
        if mark.is_null() {
            return Ok(());
        }
        if block.is_thinking() {
            let message = format!("{}.cache_control: Extra inputs are not permitted", path());
            return Err(Refusal::new(Rule::MarkedThinking, message));
        }
        match ttl(mark, &path())? {
            Some(ttl) => self.add(ttl, place, &path()),
            None => Ok(()),
        }
    }

    /// The end: automatic caching marks `last`, the last place that can be marked, and takes one of the four.
    pub(super) fn finish(mut self, prompt: &Prompt<'_>, last: Option<usize>) -> Result<Vec<Mark>, Refusal> {
        let automatic = ttl(prompt.body.get("cache_control"), "")?;
        if let (Some(ttl), Some(last)) = (automatic, last)
            && self.found.iter().all(|mark| mark.place != last)
        {
            self.add(ttl, last, "")?;
        }
        if self.count > MOST {
            let message =
                format!("A maximum of 4 blocks with cache_control may be provided. Found {}.", self.count);
            return Err(Refusal::new(Rule::Breakpoints, message));
        }
        Ok(self.found)
    }
}
