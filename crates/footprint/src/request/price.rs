//! A request, priced in one walk over its anatomy.

use super::levers::for_slice;
use super::report::{
    AnomalyEntry, BlockFootprint, Image, Levers, NamespaceFootprint, Part, RequestFootprint, SCHEMA, Slices,
};
use super::tools::{content_len, content_text};
use super::{standing, tools};
use crate::basis::{Basis, percent};
use crate::origin::Origins;
use deadweight_estimate::image::{Size, anthropic_tokens, size_of_base64};
use deadweight_estimate::{Estimated, Estimator, Stamp, Surface, Tally, Tokens};
use deadweight_wire::anatomy::{Anatomy, AnomalyKind, Block, BlockKind, Media, MediaForm, Slice};
use deadweight_wire::json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Prices a request.
pub fn price(anatomy: &Anatomy<'_, '_>, estimator: &dyn Estimator, origins: &Origins) -> RequestFootprint {
    let profile = origins.profile_of(anatomy);
    let mut weighed = tools::weigh(anatomy, estimator, origins, profile);
    let blocks = Blocks::weigh(anatomy, estimator);

    let part = |slice: Slice| {
        let (content_bytes, tokens) = match slice {
            Slice::Tools => (weighed.slice.bytes(), weighed.slice.tokens()),
            other => blocks.slice(other),
        };
        Part { wire_bytes: anatomy.wire_bytes(slice) as u64, content_bytes, tokens, pct: 0.0 }
    };
    let mut parts = Slice::ALL.map(part);
    let all_tokens = parts.iter().map(|part| part.tokens).sum::<Tokens<Estimated>>().get();
    for part in &mut parts {
        part.pct = percent(part.tokens.get(), all_tokens);
    }
    let [system, tools, history, tail] = parts;
    let largest = Slice::ALL
        .into_iter()
        .zip(parts)
        .filter(|(_, part)| part.tokens > Tokens::ZERO)
        .reduce(|best, next| if next.1.tokens > best.1.tokens { next } else { best });
    weighed.share(all_tokens);
    RequestFootprint {
        schema: SCHEMA,
        provenance: Stamp::estimated(estimator),
        basis: Basis::of_request(estimator),
        dialect: anatomy.dialect.name(),
        model: anatomy.model.map(|model| content_text(model).into_owned()),
        agent: profile.map(|profile| profile.id),
        delta: anatomy.delta.map(|delta| delta.name()),
        body_bytes: anatomy.body_bytes as u64,
        envelope_bytes: anatomy.envelope_bytes() as u64,
        slices: Slices { system, tools, history, tail },
        standing: standing::weigh(anatomy, estimator, profile, all_tokens),
        floor: sum(&[system, tools], all_tokens),
        total: anatomy.delta.is_none().then(|| sum(&[system, tools, history, tail], all_tokens)),
        tool_count: weighed.tools.len() as u64,
        shown: weighed.tools.len() as u64,
        tools: weighed.tools,
        namespaces: NamespaceFootprint {
            count: anatomy.namespaces.len() as u64,
            content_bytes: weighed.namespaces.bytes(),
            tokens: weighed.namespaces.tokens(),
        },
        deferred: weighed.deferred,
        origins: weighed.origins,
        blocks: blocks.rows(),
        images: blocks.images,
        largest: largest.map(|(slice, _)| Levers { slice: slice.name(), levers: for_slice(slice) }),
        anomalies: anatomy
            .anomalies
            .iter()
            .map(|anomaly| entry(anomaly.span.start(), &anomaly.kind))
            .collect(),
    }
}

/// The tokens of a whole request: the total of its footprint, by the same code. `None` for a delta, which has none.
pub fn estimate(anatomy: &Anatomy<'_, '_>, estimator: &dyn Estimator) -> Option<Tokens<Estimated>> {
    price(anatomy, estimator, &Origins::new()).total.map(|total| total.tokens)
}

fn sum(parts: &[Part], all_tokens: u64) -> Part {
    let tokens = parts.iter().map(|part| part.tokens).sum::<Tokens<Estimated>>();
    Part {
        wire_bytes: parts.iter().map(|part| part.wire_bytes).sum(),
        content_bytes: parts.iter().map(|part| part.content_bytes).sum(),
        tokens,
        pct: percent(tokens.get(), all_tokens),
    }
}

/// The blocks of one kind in one slice.
struct Sum<'e> {
    count: u64,
    wire_bytes: u64,
    text: Tally<'e>,
    images: Tokens<Estimated>,
}

/// The blocks of a request by slice, kind and, where the kind is unknown, the type they name.
struct Blocks<'e, 'd> {
    estimator: &'e dyn Estimator,
    sums: BTreeMap<(Slice, BlockKind, Option<Cow<'d, str>>), Sum<'e>>,
    images: Vec<Image>,
}

impl<'e, 'd> Blocks<'e, 'd> {
    fn weigh(anatomy: &Anatomy<'_, 'd>, estimator: &'e dyn Estimator) -> Self {
        let mut out = Self { estimator, sums: BTreeMap::new(), images: Vec::new() };
        for (slice, block) in anatomy.blocks() {
            out.add(slice, block);
        }
        out
    }

    fn add(&mut self, slice: Slice, block: &Block<'_, 'd>) {
        let images = block.images().map(size).fold(Tokens::ZERO, |sum, size| {
            let tokens = anthropic_tokens(size);
            self.images.push(Image { slice: slice.name(), size, tokens });
            sum + tokens
        });
        let type_name = match block.kind {
            BlockKind::Unknown => block.type_name.and_then(|name| Value::as_str(&name)),
            _ => None,
        };
        let empty = Tally::new(self.estimator, Surface::Prose);
        let own = self.sums.entry((slice, block.kind, type_name)).or_insert(Sum {
            count: 0,
            wire_bytes: 0,
            text: empty,
            images: Tokens::ZERO,
        });
        own.count += 1;
        own.wire_bytes += block.value.span().len() as u64;
        own.images += images;
        for value in block.content.iter() {
            own.text.add(content_len(*value), || content_text(*value));
        }
    }

    /// Content bytes and tokens of the blocks of one slice: one count over all its texts, and its images.
    fn slice(&self, slice: Slice) -> (u64, Tokens<Estimated>) {
        let mut text = Tally::new(self.estimator, Surface::Prose);
        let mut images = Tokens::ZERO;
        for ((own, ..), sum) in &self.sums {
            if *own == slice {
                text.merge(&sum.text);
                images += sum.images;
            }
        }
        (text.bytes(), text.tokens() + images)
    }

    fn rows(&self) -> Vec<BlockFootprint> {
        let row = |((slice, kind, type_name), sum): (&(Slice, BlockKind, Option<Cow<'d, str>>), &Sum<'e>)| {
            BlockFootprint {
                slice: slice.name(),
                kind: kind.name(),
                type_name: type_name.as_deref().map(str::to_owned),
                count: sum.count,
                wire_bytes: sum.wire_bytes,
                content_bytes: sum.text.bytes(),
                tokens: sum.text.tokens() + sum.images,
            }
        };
        self.sums.iter().map(row).collect()
    }
}

/// The size of an image whose bytes are in the request.
/// What an image costs: by its size where its header is in the request, never by the length of its base64.
pub fn image_tokens(media: &Media<'_, '_>) -> Tokens<Estimated> {
    anthropic_tokens(size(media))
}

fn size(media: &Media<'_, '_>) -> Option<Size> {
    match media.form {
        MediaForm::Base64 | MediaForm::DataUrl => size_of_base64(&media.source?.as_str()?),
        _ => None,
    }
}

fn entry(offset: usize, kind: &AnomalyKind) -> AnomalyEntry {
    let detail = match kind {
        AnomalyKind::UnknownBlock(text)
        | AnomalyKind::DuplicateKey(text)
        | AnomalyKind::UnknownRole(text) => Some(text.clone()),
        AnomalyKind::WrongType(member) | AnomalyKind::Missing(member) => Some((*member).to_owned()),
        _ => None,
    };
    AnomalyEntry { kind: kind.name(), detail, offset: offset as u64 }
}
