//! The tools of a request, one by one and by origin.

use super::report::{OriginFootprint, RequestTool};
use crate::basis::percent;
use crate::catalogue::tool::{reads_text, tool_text};
use crate::origin::{Origin, Origins};
use deadweight_estimate::{Estimator, Surface, Tally};
use deadweight_profiles::Profile;
use deadweight_wire::anatomy::{Anatomy, BlockKind, Tool};
use deadweight_wire::json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The length in bytes of what the model reads in a value: a string decoded, anything else as sent.
pub(super) fn content_len(value: Value<'_, '_>) -> u64 {
    value.decoded_len().unwrap_or_else(|| value.raw().len()) as u64
}

/// What the model reads in a value.
pub(super) fn content_text<'d>(value: Value<'_, 'd>) -> Cow<'d, str> {
    value.as_str().unwrap_or(Cow::Borrowed(value.raw()))
}

fn text_of(value: Option<Value<'_, '_>>) -> String {
    value.map(content_text).unwrap_or_default().into_owned()
}

/// The tools of a request, weighed.
pub(super) struct Weighed<'e> {
    /// Names, descriptions and schemas of the tools that the model reads, and what namespaces add.
    pub(super) slice: Tally<'e>,
    /// What namespaces add: their own names and descriptions.
    pub(super) namespaces: Tally<'e>,
    pub(super) tools: Vec<RequestTool>,
    pub(super) deferred: Vec<RequestTool>,
    pub(super) origins: Vec<OriginFootprint>,
}

/// Weighs the tools. Shares are left for later: they need the whole.
pub(super) fn weigh<'e>(
    anatomy: &Anatomy<'_, '_>,
    estimator: &'e dyn Estimator,
    origins: &Origins,
    profile: Option<&'static Profile>,
) -> Weighed<'e> {
    let empty = Tally::new(estimator, Surface::ToolDefinition);
    let mut out = Weighed {
        slice: empty,
        namespaces: empty,
        tools: Vec::new(),
        deferred: Vec::new(),
        origins: Vec::new(),
    };
    let calls = calls(anatomy);
    let outside = Outside::of(anatomy);
    let mut by_origin: BTreeMap<Origin, (u64, u64, Tally<'e>)> = BTreeMap::new();
    for tool in &anatomy.tools {
        let (mut row, whole) = weigh_tool(tool, estimator);
        let server_type = tool.server_type.map(content_text);
        row.origin = origins.of(profile, &row.name, row.namespace.as_deref(), server_type.as_deref());
        row.calls = calls.get(row.name.as_str()).copied().unwrap_or_default();
        if outside.holds(tool, &row.name) {
            out.deferred.push(row);
            continue;
        }
        out.slice.merge(&whole);
        let sum = by_origin.entry(row.origin.clone()).or_insert((0, 0, empty));
        sum.0 += 1;
        sum.1 += row.wire_bytes;
        sum.2.merge(&whole);
        out.tools.push(row);
    }
    for namespace in &anatomy.namespaces {
        let bytes = namespace.content().map(content_len).sum();
        out.namespaces.add(bytes, || {
            let parts: Vec<_> = namespace.content().map(content_text).collect();
            Cow::Owned(parts.join("\n"))
        });
    }
    out.slice.merge(&out.namespaces);
    for rows in [&mut out.tools, &mut out.deferred] {
        rows.sort_by(|a, b| {
            (b.tokens, b.content_bytes, &a.namespace, &a.name).cmp(&(
                a.tokens,
                a.content_bytes,
                &b.namespace,
                &b.name,
            ))
        });
    }
    out.origins = by_origin
        .into_iter()
        .map(|(origin, (tool_count, wire_bytes, tally))| OriginFootprint {
            origin,
            tool_count,
            wire_bytes,
            content_bytes: tally.bytes(),
            tokens: tally.tokens(),
            pct: 0.0,
        })
        .collect();
    out.origins.sort_by_key(|sum| std::cmp::Reverse((sum.tokens, sum.content_bytes)));
    out
}

impl Weighed<'_> {
    /// Fills in the shares.
    pub(super) fn share(&mut self, all_tokens: u64) {
        for tool in self.tools.iter_mut().chain(&mut self.deferred) {
            tool.pct = percent(tool.tokens.get(), all_tokens);
        }
        for origin in &mut self.origins {
            origin.pct = percent(origin.tokens.get(), all_tokens);
        }
    }
}

fn weigh_tool<'e>(tool: &Tool<'_, '_>, estimator: &'e dyn Estimator) -> (RequestTool, Tally<'e>) {
    let empty = Tally::new(estimator, Surface::ToolDefinition);
    let len = |value: Option<Value<'_, '_>>| value.map_or(0, content_len);
    let (description_bytes, schema_bytes) = (len(tool.description), len(tool.schema));
    let name = text_of(tool.name);
    // A ratio needs lengths only.
    let (description, schema) = if reads_text(estimator) {
        (text_of(tool.description), text_of(tool.schema))
    } else {
        (String::new(), String::new())
    };
    let (mut whole, mut described) = (empty, empty);
    described.add(description_bytes, || Cow::Borrowed(&*description));
    whole.add(len(tool.name) + description_bytes + schema_bytes, || {
        Cow::Owned(tool_text(&name, &description, &schema))
    });
    let row = RequestTool {
        name,
        namespace: tool.namespace.map(|namespace| content_text(namespace).into_owned()),
        origin: Origin::Unknown,
        wire_bytes: tool.value.span().len() as u64,
        content_bytes: whole.bytes(),
        tokens: whole.tokens(),
        pct: 0.0,
        description_bytes,
        description_tokens: described.tokens(),
        schema_bytes,
        deferred: tool.deferred,
        calls: 0,
    };
    (row, whole)
}

/// How often each name is called.
fn calls<'d>(anatomy: &Anatomy<'_, 'd>) -> HashMap<Cow<'d, str>, u64> {
    let mut calls = HashMap::new();
    if anatomy.tools.is_empty() {
        return calls;
    }
    for (_, block) in anatomy.blocks().filter(|(_, block)| block.kind == BlockKind::ToolUse) {
        if let Some(name) = block.tool_name.and_then(|name| name.as_str()) {
            *calls.entry(name).or_default() += 1;
        }
    }
    calls
}

/// Which deferred tools the model does not read.
///
/// A definition with `defer_loading` is left out of the prompt. It is read from where it is found on: where a
/// `tool_reference` (or an addition) names it, or where a search's own output carries it inside a message.
struct Outside<'d> {
    found: HashSet<Cow<'d, str>>,
    messages: Vec<(usize, usize)>,
}

impl<'d> Outside<'d> {
    fn of(anatomy: &Anatomy<'_, 'd>) -> Self {
        let mut out = Self { found: HashSet::new(), messages: Vec::new() };
        if !anatomy.tools.iter().any(|tool| tool.deferred) {
            return out;
        }
        for message in &anatomy.messages {
            let span = message.value.span();
            out.messages.push((span.start(), span.end()));
        }
        for (_, block) in anatomy.blocks() {
            let named = match block.kind {
                BlockKind::ToolReference => true,
                BlockKind::ToolChange => block.type_name.is_some_and(|name| name.is_str("tool_addition")),
                _ => false,
            };
            if named {
                out.found.extend(block.tool_name.and_then(|name| name.as_str()));
            }
            for inner in block.inner.iter().filter(|inner| inner.kind == BlockKind::ToolReference) {
                out.found.extend(block.inner_content(inner).iter().filter_map(Value::as_str));
            }
        }
        out
    }

    fn holds(&self, tool: &Tool<'_, '_>, name: &str) -> bool {
        let at = tool.value.span().start();
        tool.deferred
            && !self.found.contains(name)
            && !self.messages.iter().any(|(start, end)| (*start..*end).contains(&at))
    }
}
