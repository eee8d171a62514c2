//! Text that is repeated on every turn though it stands in the first messages.
//!
//! Looked for before the first message of the model only: in texts that begin with a marker of one of the
//! profiles, and in `system` messages that stand there.

use super::report::{Standing, StandingPart};
use crate::basis::{Price, percent};
use deadweight_estimate::{Estimator, Surface, Tally};
use deadweight_profiles::{ALL, Marker, StandingKind};
use deadweight_wire::anatomy::{Anatomy, BlockKind, Role, Slice};
use deadweight_wire::json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The kind of a `system` message among the first ones in which no marker stands.
const SYSTEM_MESSAGE: &str = "system_message";

/// Weighs the standing text of a request. `all_tokens` is what the share is taken of.
pub(super) fn weigh(anatomy: &Anatomy<'_, '_>, estimator: &dyn Estimator, all_tokens: u64) -> Standing {
    let mut parts: BTreeMap<(&'static str, Slice), Tally<'_>> = BTreeMap::new();
    let mut add = |kind: &'static str, slice: Slice, bytes: usize, text: Cow<'_, str>| {
        let tally = parts.entry((kind, slice)).or_insert_with(|| Tally::new(estimator, Surface::Prose));
        tally.add(bytes as u64, || text);
    };
    for message in anatomy.messages.iter().take_while(|message| message.role != Role::Assistant) {
        for block in anatomy.blocks_of(message) {
            if !matches!(block.kind, BlockKind::Text | BlockKind::SystemText) {
                continue;
            }
            for value in block.content.iter() {
                let pieces = if begins_with_marker(*value) { pieces(*value) } else { Vec::new() };
                let system = block.kind == BlockKind::SystemText;
                if system && pieces.is_empty() {
                    let text = value.as_str().unwrap_or_default();
                    let kind =
                        if lists_tools(&text) { StandingKind::ToolNames.name() } else { SYSTEM_MESSAGE };
                    add(kind, message.slice, text.len(), text);
                }
                for (kind, text) in pieces {
                    add(kind.name(), message.slice, text.len(), Cow::Owned(text));
                }
            }
        }
    }
    let mut whole = Tally::new(estimator, Surface::Prose);
    for tally in parts.values() {
        whole.merge(tally);
    }
    Standing {
        content_bytes: whole.bytes(),
        tokens: whole.tokens(),
        pct: percent(whole.tokens().get(), all_tokens),
        parts: parts
            .into_iter()
            .map(|((kind, slice), tally)| StandingPart {
                kind,
                slice: slice.name(),
                price: Price::of(&tally),
            })
            .collect(),
    }
}

/// Whether a text lists MCP tools by name, one a line; the words around such lists change from version to version.
fn lists_tools(text: &str) -> bool {
    text.lines().any(|line| line.trim_start_matches(['-', '*', ' ']).starts_with("mcp__"))
}

fn markers() -> impl Iterator<Item = &'static Marker> {
    ALL.iter().flat_map(|profile| profile.standing).map(|fact| &fact.value)
}

/// Whether a string begins with a marker, told from its first characters, without decoding the rest.
fn begins_with_marker(value: Value<'_, '_>) -> bool {
    let raw = value.raw();
    let Some(inside) = raw.strip_prefix('"') else { return false };
    let head = head(inside);
    markers().any(|marker| head.trim_start().starts_with(marker.open))
}

/// How many characters the first look takes: white space and the longest opening.
const HEAD: usize = 120;

/// The first characters of a string's inside, escapes resolved as far as markers need it.
fn head(inside: &str) -> String {
    let mut out = String::with_capacity(HEAD);
    let mut chars = inside.chars();
    for _ in 0..HEAD {
        match chars.next() {
            None | Some('"') => break,
            Some('\\') => match chars.next() {
                Some('n' | 'r' | 't') => out.push(' '),
                Some('u') => {
                    let hex: String = chars.by_ref().take(4).collect();
                    let unit = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                    out.push(unit.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some(other) => out.push(other),
                None => break,
            },
            Some(other) => out.push(other),
        }
    }
    out
}

/// The standing pieces that a text begins with, one after another.
fn pieces(value: Value<'_, '_>) -> Vec<(StandingKind, String)> {
    let mut out = Vec::new();
    let text = value.as_str().unwrap_or_default();
    let mut rest = text.trim_start();
    while let Some(marker) = markers().find(|marker| rest.starts_with(marker.open)) {
        let end = match marker.close {
            None => rest.len(),
            // A piece that is never closed is none.
            Some(close) => match rest.find(close) {
                Some(at) => at + close.len(),
                None => break,
            },
        };
        let (piece, left) = rest.split_at(end);
        let kind = marker.kinds.iter().find(|(phrase, _)| piece.contains(phrase)).map(|(_, kind)| *kind);
        out.push((kind.unwrap_or(marker.otherwise), piece.to_owned()));
        rest = left.trim_start();
    }
    out
}
