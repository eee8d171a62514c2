//! Two footprints side by side: what grew, what shrank, what is new and what is gone.
//!
//! Both sides must have been priced by the same estimator; the functions here take two reports of one kind, so the
//! fields and their framing are the same by construction, and [`Comparison::comparable`] tells about the estimator.
//! A side with servers that could not be measured must not be compared: their tools would seem to be gone.

use crate::basis::{Basis, Price};
use crate::catalogue::CatalogueFootprint;
use crate::request::{Part, RequestFootprint};
use deadweight_estimate::{Estimated, Stamp, Tokens};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The id of the JSON a [`Comparison`] serialises to.
pub const SCHEMA: &str = "deadweight/footprint-compare/1";

/// Two footprints side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Who counted.
    pub provenance: Stamp,
    /// What was counted, and how.
    pub basis: Basis,
    /// Whether both sides were counted by the same estimator; if not, no change in this report means anything.
    pub comparable: bool,
    /// What is compared with.
    pub base: Side,
    /// What is compared.
    pub now: Side,
    /// The floor's change.
    pub delta: Change,
    /// How many tools are new, gone, changed and the same.
    pub counts: Counts,
    /// For two requests, their slices, floor and total.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceChange>,
    /// How many tools are listed in `tools`.
    pub shown: u64,
    /// The tools that moved, those that moved most first.
    pub tools: Vec<ToolChange>,
}

/// One of the two footprints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// What it is called.
    pub label: String,
    /// Number of its tools.
    pub tool_count: u64,
    /// Bytes of its floor.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: Tokens<Estimated>,
}

/// A change from base to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// In bytes.
    pub bytes: i64,
    /// In tokens.
    pub tokens: i64,
}

/// How many tools did what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Only now.
    pub added: u64,
    /// Only in the base.
    pub removed: u64,
    /// In both, with another number of bytes or tokens.
    pub changed: u64,
    /// In both, with the same numbers.
    pub unchanged: u64,
}

/// What became of one slice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SliceChange {
    /// `system`, `tools`, `history`, `tail`, `floor`, `total`.
    pub slice: &'static str,
    /// What it was; `None` where the base is only a delta and has no total.
    pub base: Option<Price>,
    /// What it is.
    pub now: Option<Price>,
    /// The change, where both are known.
    pub delta: Option<Change>,
}

/// What became of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChange {
    /// Its server's label, where several servers are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Its name.
    pub name: String,
    /// What it was; `None` if it was not there.
    pub base: Option<Price>,
    /// What it is; `None` if it is gone.
    pub now: Option<Price>,
    /// The change; a tool that is not there weighs nothing.
    pub delta: Change,
}

/// Compares two catalogues. Tools are the same if their server's label and their name are; where each side has one
/// server, the name alone decides, since the labels are then only the names of two files or versions.
pub fn catalogues(base: &CatalogueFootprint, now: &CatalogueFootprint) -> Comparison {
    let single = base.servers.len() <= 1 && now.servers.len() <= 1;
    let rows = |report: &CatalogueFootprint| {
        let tools = report.tools.iter().map(|tool| {
            let server = (!single).then(|| tool.server.clone());
            (server, tool.name.clone(), Price { bytes: tool.bytes, tokens: tool.tokens })
        });
        tools.collect::<Vec<_>>()
    };
    let side = |report: &CatalogueFootprint| Side {
        label: labels(report),
        tool_count: report.tool_count,
        bytes: report.floor_bytes,
        tokens: report.floor_tokens,
    };
    let frame = Comparison {
        schema: SCHEMA,
        provenance: now.provenance.clone(),
        basis: now.basis.clone(),
        comparable: base.provenance == now.provenance,
        base: side(base),
        now: side(now),
        delta: Change::default(),
        counts: Counts::default(),
        slices: Vec::new(),
        shown: 0,
        tools: Vec::new(),
    };
    frame.with_tools(rows(base), rows(now))
}

/// Compares two requests: slices, floor and total, and the tools by name.
pub fn requests(base: (&str, &RequestFootprint), now: (&str, &RequestFootprint)) -> Comparison {
    let rows = |report: &RequestFootprint| {
        let tools = report.tools.iter().map(|tool| {
            (
                tool.namespace.clone(),
                tool.name.clone(),
                Price { bytes: tool.content_bytes, tokens: tool.tokens },
            )
        });
        tools.collect::<Vec<_>>()
    };
    let side = |(label, report): (&str, &RequestFootprint)| Side {
        label: label.to_owned(),
        tool_count: report.tools.len() as u64,
        bytes: report.floor.content_bytes,
        tokens: report.floor.tokens,
    };
    let price = |part: Part| Some(Price { bytes: part.content_bytes, tokens: part.tokens });
    let parts = |report: &RequestFootprint| {
        let slices = report.slices;
        [
            ("system", price(slices.system)),
            ("tools", price(slices.tools)),
            ("history", price(slices.history)),
            ("tail", price(slices.tail)),
            ("floor", price(report.floor)),
            ("total", report.total.and_then(price)),
        ]
    };
    let slices = parts(base.1).into_iter().zip(parts(now.1)).map(|((slice, base), (_, now))| SliceChange {
        slice,
        base,
        now,
        delta: base.zip(now).map(|(base, now)| change(base, now)),
    });
    let frame = Comparison {
        schema: SCHEMA,
        provenance: now.1.provenance.clone(),
        basis: now.1.basis.clone(),
        comparable: base.1.provenance == now.1.provenance,
        base: side(base),
        now: side(now),
        delta: Change::default(),
        counts: Counts::default(),
        slices: slices.collect(),
        shown: 0,
        tools: Vec::new(),
    };
    frame.with_tools(rows(base.1), rows(now.1))
}

type Row = (Option<String>, String, Price);

impl Comparison {
    fn with_tools(mut self, base: Vec<Row>, now: Vec<Row>) -> Self {
        // The nth tool of a name is compared with the nth of that name: a list may name one twice.
        type Pair = (Option<Price>, Option<Price>);
        let mut pairs: BTreeMap<(Option<String>, String, usize), Pair> = BTreeMap::new();
        for (rows, is_now) in [(base, false), (now, true)] {
            let mut copies: BTreeMap<(Option<String>, String), usize> = BTreeMap::new();
            for (server, name, price) in rows {
                let copy = copies.entry((server.clone(), name.clone())).or_default();
                let pair = pairs.entry((server, name, *copy)).or_default();
                *copy += 1;
                if is_now {
                    pair.1 = Some(price);
                } else {
                    pair.0 = Some(price);
                }
            }
        }
        for ((server, name, _), (base, now)) in pairs {
            let counter = match (base, now) {
                (None, _) => &mut self.counts.added,
                (_, None) => &mut self.counts.removed,
                (Some(base), Some(now)) if base == now => {
                    self.counts.unchanged += 1;
                    continue;
                }
                _ => &mut self.counts.changed,
            };
            *counter += 1;
            let delta = change(base.unwrap_or_default(), now.unwrap_or_default());
            self.tools.push(ToolChange { server, name, base, now, delta });
        }
        self.tools.sort_by_cached_key(|tool| {
            let moved = (tool.delta.tokens.unsigned_abs(), tool.delta.bytes.unsigned_abs());
            (Reverse(moved), tool.server.clone(), tool.name.clone())
        });
        self.shown = self.tools.len() as u64;
        let floor = |side: &Side| Price { bytes: side.bytes, tokens: side.tokens };
        self.delta = change(floor(&self.base), floor(&self.now));
        self
    }

    /// Keeps the first `top` tools of the listing and returns the sum of the changes of those it dropped.
    pub fn keep(&mut self, top: usize) -> Change {
        let dropped = self.tools.get(top..).unwrap_or_default();
        let sum = dropped.iter().fold(Change::default(), |sum, tool| Change {
            bytes: sum.bytes.saturating_add(tool.delta.bytes),
            tokens: sum.tokens.saturating_add(tool.delta.tokens),
        });
        self.tools.truncate(top);
        self.shown = self.tools.len() as u64;
        sum
    }
}

/// The change from `base` to `now`; saturates at the bounds of `i64`.
fn change(base: Price, now: Price) -> Change {
    let bytes = i128::from(now.bytes) - i128::from(base.bytes);
    Change {
        bytes: i64::try_from(bytes).unwrap_or(if bytes < 0 { i64::MIN } else { i64::MAX }),
        tokens: now.tokens.change_from(base.tokens),
    }
}

fn labels(report: &CatalogueFootprint) -> String {
    match report.servers.as_slice() {
        [only] => match &only.version {
            Some(version) => format!("{} {version}", only.server),
            None => only.server.clone(),
        },
        many => format!("{} servers", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, Server, price};
    use deadweight_estimate::calibrated;

    fn priced(servers: &[(&str, &[(&str, &str)])]) -> CatalogueFootprint {
        let servers = servers.iter().map(|(label, tools)| Server {
            label: (*label).to_owned(),
            tools: tools
                .iter()
                .map(|(name, description)| {
                    format!(r#"{{"name":"{name}","description":"{description}","inputSchema":{{}}}}"#)
                        .into_bytes()
                })
                .collect(),
            ..Server::default()
        });
        price(&Catalogue { servers: servers.collect(), failures: Vec::new() }, &calibrated())
    }

    fn moved(comparison: &Comparison) -> Vec<(&str, i64)> {
        comparison.tools.iter().map(|tool| (tool.name.as_str(), tool.delta.bytes)).collect()
    }

    #[test]
    fn movers_come_first_and_what_stood_still_is_only_counted() {
        let base = priced(&[("old", &[("same", "x"), ("gone", "0123456789"), ("grown", "y")])]);
        let now = priced(&[("new", &[("grown", &"y".repeat(41)), ("same", "x"), ("fresh", "z")])]);
        let comparison = catalogues(&base, &now);
        assert_eq!(moved(&comparison), [("grown", 40), ("gone", -16), ("fresh", 8)]);
        assert_eq!(comparison.counts, Counts { added: 1, removed: 1, changed: 1, unchanged: 1 });
        assert_eq!(comparison.delta.bytes, 32);
        let sum: i64 = comparison.tools.iter().map(|tool| tool.delta.bytes).sum();
        assert_eq!(comparison.delta.bytes, sum);
        assert!(comparison.comparable);
    }

    #[test]
    fn one_name_on_two_servers_is_two_tools() {
        let base = priced(&[("a", &[("x", "1")]), ("b", &[("x", "1")])]);
        let now = priced(&[("a", &[("x", "1")]), ("b", &[("x", "123")])]);
        let comparison = catalogues(&base, &now);
        assert_eq!(moved(&comparison), [("x", 2)]);
        assert_eq!(comparison.tools[0].server.as_deref(), Some("b"));
    }

    #[test]
    fn copies_of_one_name_are_compared_one_by_one() {
        let base = priced(&[("a", &[("x", "1"), ("x", "1")])]);
        let now = priced(&[("a", &[("x", "1")])]);
        let comparison = catalogues(&base, &now);
        assert_eq!(comparison.counts, Counts { removed: 1, unchanged: 1, ..Counts::default() });
    }

    #[test]
    fn what_is_not_listed_is_still_summed() {
        let base = priced(&[("a", &[])]);
        let now = priced(&[("a", &[("x", "1"), ("y", "12"), ("z", "123")])]);
        let mut comparison = catalogues(&base, &now);
        let hidden = comparison.keep(1);
        assert_eq!((moved(&comparison), hidden.bytes, comparison.shown), (vec![("z", 6)], 9, 1));
        assert_eq!(comparison.counts.added, 3);
    }
}
