//! The calls of a request's tools: what each result is the answer to, and which file it read or changed.

use deadweight_profiles::work::{CHANGES, PARTS, PATHS, READS};
use deadweight_wire::anatomy::{Anatomy, BlockKind};
use deadweight_wire::json::{Kind, Parser, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// What a call does to the file it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Reads it, whole.
    Reads,
    /// Reads a part of it.
    ReadsPart,
    /// Changes it.
    Changes,
    /// Neither, or nobody knows.
    Other,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call<'d> {
    pub(crate) name: Cow<'d, str>,
    /// The message it stands in.
    pub(crate) message: u32,
    /// Its input as it was sent, cut.
    pub(crate) input: String,
    pub(crate) does: Does,
    /// The file.
    pub(crate) path: Option<String>,
}

/// The calls of a request, by the ids that join them to their results.
#[derive(Debug, Default)]
pub(crate) struct Calls<'d> {
    by_id: HashMap<Cow<'d, str>, usize>,
    all: Vec<Call<'d>>,
}

impl<'d> Calls<'d> {
    pub(crate) fn read(anatomy: &Anatomy<'_, 'd>) -> Self {
        let mut calls = Self::default();
        for (message, own) in anatomy.messages.iter().enumerate() {
            for block in anatomy.blocks_of(own).iter().filter(|block| block.kind == BlockKind::ToolUse) {
                let Some(name) = block.tool_name.and_then(|name| name.as_str()) else { continue };
                let input = block.content.get(1).copied();
                let (does, path) = does(&name, input);
                let raw = input
                    .map(|input| input.as_str().unwrap_or_else(|| input.raw().into()))
                    .unwrap_or_default();
                if let Some(id) = block.tool_id.and_then(|id| id.as_str()) {
                    calls.by_id.insert(id, calls.all.len());
                }
                calls.all.push(Call {
                    name,
                    message: message as u32,
                    input: crate::text::opening(&raw, 120),
                    does,
                    path,
                });
            }
        }
        calls
    }

    /// Every call, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Call<'d>> {
        self.all.iter()
    }

    /// The call that a result answers.
    pub(crate) fn get(&self, id: &str) -> Option<&Call<'d>> {
        self.all.get(*self.by_id.get(id)?)
    }

    /// Whether a later call changed the file that this one read, or read it again as a whole.
    pub(crate) fn superseded(&self, read: &Call<'_>) -> Option<Does> {
        let path = read.path.as_ref().filter(|_| matches!(read.does, Does::Reads | Does::ReadsPart))?;
        let mut later = self.all.iter().filter(|call| call.message > read.message);
        let over = |call: &&Call<'_>| {
            call.path.as_ref() == Some(path) && matches!(call.does, Does::Changes | Does::Reads)
        };
        later.find(over).map(|call| call.does)
    }
}

/// What a call does, and to which file.
fn does(name: &str, input: Option<Value<'_, '_>>) -> (Does, Option<String>) {
    let (reads, changes) = (READS.value.contains(&name), CHANGES.value.contains(&name));
    let Some(input) = input.filter(|_| reads || changes) else { return (Does::Other, None) };
    // OpenAI sends the input as a text that holds JSON.
    let read = match input.kind() {
        Kind::Object => members(input),
        Kind::String => {
            let text = input.as_str().unwrap_or_default();
            Parser::new().scope(text.as_bytes(), |document| document.ok().and_then(|own| members(own.root())))
        }
        _ => None,
    };
    let Some((path, part)) = read else { return (Does::Other, None) };
    let does = match (changes, part) {
        (true, _) => Does::Changes,
        (false, true) => Does::ReadsPart,
        (false, false) => Does::Reads,
    };
    (does, Some(path))
}

/// The file that an input names, and whether it asks for a part of it.
fn members(input: Value<'_, '_>) -> Option<(String, bool)> {
    let path = PATHS.value.iter().find_map(|key| input.get(key)?.as_str())?;
    let part = PARTS.value.iter().any(|key| input.get(key).is_some_and(|value| !value.is_null()));
    Some((path.into_owned(), part))
}
