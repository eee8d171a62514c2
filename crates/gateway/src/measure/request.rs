//! What one request carries, read off a copy of its body.

use super::{NameMap, decode, layout, session};
use crate::exchange::Begun;
use deadweight_cache::prefix::Prefix;
use deadweight_estimate::Estimator;
use deadweight_footprint::origin::{Origin, Origins};
use deadweight_footprint::request::{RequestFootprint, RequestTool, price};
use deadweight_profiles::by_id;
use deadweight_store::{Asked, Footprint, Slice, StandingPart, ToolLine, ToolSet};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, BlockKind};
use deadweight_wire::dialect::model_of_path;
use deadweight_wire::json::Parser;
use std::borrow::Cow;
use std::sync::Arc;

/// A decoded body larger than this is not measured, in bytes.
pub(super) const MOST: usize = 64 << 20;

/// What was read of a request.
#[derive(Debug)]
pub(super) struct Measured {
    /// Its format.
    pub dialect: Dialect,
    /// The model it names, in body or path.
    pub model: Option<String>,
    /// The agent, by its headers or its words.
    pub agent: Option<&'static str>,
    /// What it carries.
    pub footprint: Footprint,
    /// Its tools.
    pub tools: Arc<ToolSet>,
    /// The prefix that the provider's cache goes by.
    pub prefix: Prefix,
    /// Every call of a tool in its messages: the number of the message, from 0, and the tool's name.
    pub calls: Vec<(usize, String)>,
}

/// Why a request was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unmeasured {
    /// The body passed without being copied.
    #[error("larger than what is copied")]
    TooLarge,
    /// It was not read to its end.
    #[error("not read to its end")]
    Cut,
    /// Its encoding is not known.
    #[error("its Content-Encoding is not known")]
    Encoding,
    /// Its encoding is damaged, or it is too large without it.
    #[error("its Content-Encoding cannot be undone")]
    Damaged,
    /// It is no JSON.
    #[error("not JSON")]
    NotJson,
    /// Nothing tells its format.
    #[error("its format is not known")]
    Format,
}

/// What is asked for.
pub(super) fn asked(begun: &Begun) -> Asked {
    let counts = ["/count_tokens", ":countTokens", "/input_tokens"];
    match begun.dialect {
        _ if begun.method != "POST" => Asked::Other,
        _ if counts.iter().any(|end| begun.path.ends_with(end)) => Asked::Count,
        Some(_) => Asked::Generate,
        None => Asked::Other,
    }
}

/// Measures a request. `room`: where a body that came in pieces is put together.
pub(super) fn measure(
    begun: &Begun,
    room: &mut Vec<u8>,
    parser: &mut Parser,
    origins: &Origins,
    names: &NameMap,
    estimator: &dyn Estimator,
) -> Result<Measured, Unmeasured> {
    if !begun.received.whole {
        return Err(match begun.received.chunks.is_empty() {
            true if begun.received.length > 0 => Unmeasured::TooLarge,
            _ => Unmeasured::Cut,
        });
    }
    let body = begun.received.joined(room);
    let body = match begun.headers.get("content-encoding") {
        None => Cow::Borrowed(body),
        Some(encoding) => {
            let decoded = decode::decode(encoding, body, MOST).ok_or(Unmeasured::Encoding)?;
            if !decoded.whole {
                return Err(Unmeasured::Damaged);
            }
            decoded.bytes
        }
    };
    of_body(begun, &body, parser, origins, names, estimator)
}

/// Measures a request's body in the clear.
pub(super) fn of_body(
    begun: &Begun,
    body: &[u8],
    parser: &mut Parser,
    origins: &Origins,
    names: &NameMap,
    estimator: &dyn Estimator,
) -> Result<Measured, Unmeasured> {
    let profile = begun.agent.as_deref().and_then(by_id).or_else(|| session::agent(&begun.headers));
    let named: Origins;
    let origins = match profile {
        Some(profile) => {
            named = origins.clone().with_profile(profile);
            &named
        }
        None => origins,
    };
    parser.scope(body, |document| {
        let document = document.map_err(|_| Unmeasured::NotJson)?;
        let dialect = begun.dialect.or_else(|| Dialect::of_shape(document)).ok_or(Unmeasured::Format)?;
        let anatomy = Anatomy::read(document, dialect);
        let report = price(&anatomy, estimator, origins);
        let model = report.model.clone().or_else(|| model_of_path(&begun.path).map(Cow::into_owned));
        let mut prefix = Prefix::read(&anatomy);
        if prefix.model.is_none() {
            prefix.model = model.as_deref().map(Into::into);
        }
        Ok(Measured {
            dialect,
            model,
            agent: report.agent,
            footprint: Footprint { layout: layout::segments(&anatomy, estimator), ..footprint(&report) },
            tools: tools(&report, names),
            prefix,
            calls: calls(&anatomy),
        })
    })
}

/// A request as it was sent, where that is another than what came.
pub(super) struct Sent {
    /// The prefix that the provider's cache goes by.
    pub prefix: Prefix,
    /// Whether some of what was changed had been changed before: then there was a request before it that was sent so.
    pub goes_on: bool,
}

/// Reads the body that was sent. `received`: the prefix of the one that came. `None`: it cannot be read.
pub(super) fn sent(
    begun: &Begun,
    dialect: Dialect,
    received: &Prefix,
    room: &mut Vec<u8>,
    parser: &mut Parser,
) -> Option<Sent> {
    if !begun.sent.whole {
        return None;
    }
    let goes_on = begun.edited.as_ref().is_some_and(|edited| {
        edited.actions.iter().any(|action| action.replayed > 0 && action.lever != "place-breakpoints")
    });
    // What was changed is not compressed.
    parser.scope(begun.sent.joined(room), |document| {
        let mut prefix = Prefix::read(&Anatomy::read(document.ok()?, dialect));
        if prefix.model.is_none() {
            prefix.model.clone_from(&received.model);
        }
        Some(Sent { prefix, goes_on })
    })
}

fn calls(anatomy: &Anatomy<'_, '_>) -> Vec<(usize, String)> {
    let of = |(at, message)| {
        let uses = anatomy.blocks_of(message).iter().filter(|block| block.kind == BlockKind::ToolUse);
        uses.filter_map(move |block| Some((at, block.tool_name?.as_str()?.into_owned())))
    };
    anatomy.messages.iter().enumerate().flat_map(of).collect()
}

fn footprint(report: &RequestFootprint) -> Footprint {
    let slice = |part: &deadweight_footprint::request::Part| Slice {
        wire_bytes: part.wire_bytes,
        content_bytes: part.content_bytes,
        tokens: part.tokens.get(),
    };
    let mut standing: Vec<StandingPart> = Vec::new();
    for part in &report.standing.parts {
        match standing.iter_mut().find(|own| own.kind == part.kind) {
            Some(own) => {
                own.content_bytes += part.price.bytes;
                own.tokens += part.price.tokens.get();
            }
            None => standing.push(StandingPart {
                kind: part.kind.to_owned(),
                content_bytes: part.price.bytes,
                tokens: part.price.tokens.get(),
            }),
        }
    }
    Footprint {
        estimator: report.basis.estimator.to_string(),
        system: slice(&report.slices.system),
        tools: slice(&report.slices.tools),
        history: slice(&report.slices.history),
        tail: slice(&report.slices.tail),
        envelope_bytes: report.envelope_bytes,
        standing,
        delta: report.delta.map(str::to_owned),
        tool_count: report.tool_count,
        deferred_count: report.deferred.len() as u64,
        layout: Vec::new(),
    }
}

fn tools(report: &RequestFootprint, names: &NameMap) -> Arc<ToolSet> {
    // The order of the request is not in the report, and an order there must be: equal sets are stored once.
    let mut lines: Vec<ToolLine> = report
        .tools
        .iter()
        .map(|tool| line(tool, false))
        .chain(report.deferred.iter().map(|tool| line(tool, true)))
        .collect();
    lines.iter_mut().for_each(|line| names.resolve(line));
    lines.sort_by(|a, b| (b.tokens, &a.name, &a.namespace).cmp(&(a.tokens, &b.name, &b.namespace)));
    ToolSet::new(lines)
}

fn line(tool: &RequestTool, deferred: bool) -> ToolLine {
    let (origin, server) = match &tool.origin {
        Origin::Builtin => (deadweight_store::Origin::Builtin, String::new()),
        Origin::Mcp { server } => (deadweight_store::Origin::Mcp, server.clone()),
        Origin::Unknown => (deadweight_store::Origin::Unknown, String::new()),
    };
    ToolLine {
        name: tool.name.clone(),
        namespace: tool.namespace.clone().unwrap_or_default(),
        origin,
        server,
        own_name: String::new(),
        bytes: tool.content_bytes,
        tokens: tool.tokens.get(),
        description_tokens: tool.description_tokens.get(),
        deferred,
    }
}
