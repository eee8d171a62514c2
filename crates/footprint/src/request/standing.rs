//! Text that is repeated on every turn though it stands in the first messages.
//!
//! Looked for before the first message of the model only: in texts that begin with a marker of one of the
//! profiles, and in `system` messages that stand there, section by section.

use super::report::{Standing, StandingPart};
use crate::basis::{Price, percent};
use deadweight_estimate::{Estimator, Surface, Tally};
use deadweight_profiles::{ALL, Marker, Profile, StandingKind};
use deadweight_wire::anatomy::{Anatomy, BlockKind, Role, Slice};
use deadweight_wire::json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The kind of a `system` message among the first ones in which no marker stands.
const SYSTEM_MESSAGE: &str = "system_message";

/// Weighs the standing text of a request. `all_tokens` is what the share is taken of; the markers of `profile` are
/// looked for before those of others.
pub(super) fn weigh(
    anatomy: &Anatomy<'_, '_>,
    estimator: &dyn Estimator,
    profile: Option<&'static Profile>,
    all_tokens: u64,
) -> Standing {
    let marks = Marks::of(profile);
    let mut parts: BTreeMap<(&'static str, Slice), Tally<'_>> = BTreeMap::new();
    let mut add = |kind: &'static str, slice: Slice, text: &str| {
        let tally = parts.entry((kind, slice)).or_insert_with(|| Tally::new(estimator, Surface::Prose));
        tally.add(text.len() as u64, || Cow::Borrowed(text));
    };
    for message in anatomy.messages.iter().take_while(|message| message.role != Role::Assistant) {
        for block in anatomy.blocks_of(message) {
            let system = block.kind == BlockKind::SystemText;
            if !system && block.kind != BlockKind::Text {
                continue;
            }
            for value in block.content.iter() {
                let marked = marks.begin(*value);
                if !marked && !system {
                    continue;
                }
                let text = value.as_str().unwrap_or_default();
                if marked {
                    marks.pieces(&text, |kind, piece| add(kind, message.slice, piece));
                } else {
                    marks.sections(&text, |kind, section| add(kind, message.slice, section));
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

/// The markers and section heads of all profiles, those of the request's agent first.
struct Marks {
    profiles: Vec<&'static Profile>,
}

impl Marks {
    fn of(profile: Option<&'static Profile>) -> Self {
        let others = ALL.iter().copied().filter(|other| profile.is_none_or(|own| own.id != other.id));
        Self { profiles: profile.into_iter().chain(others).collect() }
    }

    fn marker(&self, text: &str) -> Option<&'static Marker> {
        let all = self.profiles.iter().flat_map(|profile| profile.standing);
        all.map(|fact| &fact.value).find(|marker| text.starts_with(marker.open))
    }

    /// Whether a string begins with a marker, told from its first characters, without decoding the rest.
    fn begin(&self, value: Value<'_, '_>) -> bool {
        let inside = value.raw().strip_prefix('"');
        inside.is_some_and(|inside| self.marker(head(inside).trim_start()).is_some())
    }

    /// The standing pieces that a text begins with, one after another.
    fn pieces(&self, text: &str, mut found: impl FnMut(&'static str, &str)) {
        let mut rest = text.trim_start();
        while let Some(marker) = self.marker(rest) {
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
            found(kind.unwrap_or(marker.otherwise).name(), piece);
            rest = left.trim_start();
        }
    }

    /// A `system` message's sections; what stands before the first known head is [`SYSTEM_MESSAGE`], unless it
    /// lists tools.
    fn sections(&self, text: &str, mut found: impl FnMut(&'static str, &str)) {
        let kind_of = |line: &str| {
            let heads = self.profiles.iter().flat_map(|profile| profile.sections);
            heads.map(|fact| fact.value).find(|(head, _)| line.starts_with(head)).map(|(_, kind)| kind.name())
        };
        let (mut kind, mut start, mut at) = (None, 0, 0);
        let mut end = |kind: Option<&'static str>, section: &str| {
            let unknown = if lists_tools(section) { StandingKind::ToolNames.name() } else { SYSTEM_MESSAGE };
            if !section.is_empty() {
                found(kind.unwrap_or(unknown), section);
            }
        };
        for line in text.split_inclusive('\n') {
            if let Some(next) = kind_of(line) {
                end(kind, text.get(start..at).unwrap_or_default());
                (kind, start) = (Some(next), at);
            }
            at += line.len();
        }
        end(kind, text.get(start..).unwrap_or_default());
    }
}

/// Whether a text lists MCP tools by name, one a line; the words around such lists change from version to version.
fn lists_tools(text: &str) -> bool {
    text.lines().any(|line| line.trim_start_matches(['-', '*', ' ']).starts_with("mcp__"))
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
