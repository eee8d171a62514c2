//! A catalogue, priced.

use super::report::{
    Anomaly, AnomalyKind, CatalogueFootprint, SCHEMA, ServerFootprint, SortBy, ToolFootprint,
};
use super::tool::{Measured, Weight, measure, opaque};
use super::{Catalogue, Server};
use crate::advice::{Adviser, Before};
use crate::basis::{Basis, Price, percent};
use deadweight_estimate::{Estimator, Stamp, Surface, Tally};
use deadweight_wire::json::Parser;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Prices a catalogue. Totals and listings do not depend on the order of servers or tools in it; nothing in it can
/// make this fail: what is malformed is counted as it stands and named in `anomalies`.
pub fn price(catalogue: &Catalogue, estimator: &dyn Estimator) -> CatalogueFootprint {
    let mut parser = Parser::new();
    let mut adviser = Adviser::new(estimator);
    let mut anomalies = Vec::new();
    let mut total = Weight::new(estimator);
    let mut instructions = Tally::new(estimator, Surface::Prose);
    let mut servers = Vec::with_capacity(catalogue.servers.len());
    let mut tools = Vec::new();
    for server in &catalogue.servers {
        let first = tools.len();
        let (mut weight, mut name_bytes) = (Weight::new(estimator), 0);
        for (position, raw) in server.tools.iter().enumerate() {
            let measured = measure_raw(&mut parser, raw, estimator);
            weight.merge(&measured.weight);
            name_bytes += measured.name_bytes;
            for (kind, detail) in &measured.anomalies {
                anomalies.push(Anomaly {
                    server: server.label.clone(),
                    tool: measured.name.clone(),
                    kind: *kind,
                    detail: detail.clone(),
                });
            }
            tools.push(tool_row(server, position, measured));
        }
        let own_rows = tools.get(first..).unwrap_or_default();
        duplicate_names(server, own_rows, &mut anomalies);
        let before = |row: &ToolFootprint| Before::new(row.bytes, row.tokens, estimator);
        let weights = own_rows.iter().map(|row| (before(row), row.served.output_schema));
        adviser.server(server, weights, &mut parser);
        let mut own = Tally::new(estimator, Surface::Prose);
        if let Some(text) = &server.instructions {
            own.add(text.len() as u64, || Cow::Borrowed(text));
        }
        total.merge(&weight);
        instructions.merge(&own);
        servers.push(server_row(server, name_bytes, &weight, &own));
    }
    duplicate_servers(catalogue, &mut anomalies);
    anomalies.sort();

    let floor = Price::of(&total.whole);
    for tool in &mut tools {
        tool.pct = percent(tool.tokens.get(), floor.tokens.get());
    }
    for server in &mut servers {
        server.pct = percent(server.tokens.get(), floor.tokens.get());
    }
    servers.sort_by(|a, b| {
        (b.tokens, b.bytes, &a.server, &a.version).cmp(&(a.tokens, a.bytes, &b.server, &b.version))
    });
    let (advice, savings) = adviser.finish(floor.bytes);
    let mut failures = catalogue.failures.clone();
    failures.sort();
    let mut report = CatalogueFootprint {
        schema: SCHEMA,
        provenance: Stamp::estimated(estimator),
        basis: Basis::of_catalogue(estimator),
        tool_count: tools.len() as u64,
        floor_bytes: floor.bytes,
        floor_tokens: floor.tokens,
        descriptions: Price::of(&total.description),
        schemas: Price::of(&total.schema),
        served: total.served(),
        instructions: Price::of(&instructions),
        shown: tools.len() as u64,
        servers,
        tools,
        advice,
        savings,
        anomalies,
        failures,
    };
    report.sort(SortBy::Tokens);
    report
}

/// Measures the raw bytes of one definition, whatever they are.
pub(super) fn measure_raw<'e>(parser: &mut Parser, raw: &[u8], estimator: &'e dyn Estimator) -> Measured<'e> {
    parser.scope(raw, |document| match document {
        Ok(document) => measure(document.root(), estimator),
        Err(error) => opaque(
            &String::from_utf8_lossy(raw),
            AnomalyKind::InvalidJson,
            Some(error.to_string()),
            estimator,
        ),
    })
}

fn tool_row(server: &Server, position: usize, measured: Measured<'_>) -> ToolFootprint {
    let Measured { name, name_bytes, weight, .. } = measured;
    ToolFootprint {
        server: server.label.clone(),
        name,
        position: position as u64,
        bytes: weight.whole.bytes(),
        tokens: weight.whole.tokens(),
        pct: 0.0,
        name_bytes,
        description_bytes: weight.description.bytes(),
        description_tokens: weight.description.tokens(),
        schema_bytes: weight.schema.bytes(),
        schema_tokens: weight.schema.tokens(),
        served: weight.served(),
    }
}

fn server_row(
    server: &Server,
    name_bytes: u64,
    weight: &Weight<'_>,
    instructions: &Tally<'_>,
) -> ServerFootprint {
    ServerFootprint {
        server: server.label.clone(),
        name: server.name.clone(),
        version: server.version.clone(),
        protocol_version: server.protocol_version.clone(),
        source: server.source.clone(),
        tool_count: server.tools.len() as u64,
        bytes: weight.whole.bytes(),
        tokens: weight.whole.tokens(),
        pct: 0.0,
        name_bytes,
        description_bytes: weight.description.bytes(),
        description_tokens: weight.description.tokens(),
        schema_bytes: weight.schema.bytes(),
        schema_tokens: weight.schema.tokens(),
        served: weight.served(),
        instructions: Price::of(instructions),
    }
}

fn duplicate_names(server: &Server, tools: &[ToolFootprint], anomalies: &mut Vec<Anomaly>) {
    let mut copies: BTreeMap<&str, u64> = BTreeMap::new();
    for tool in tools.iter().filter(|tool| !tool.name.is_empty()) {
        *copies.entry(&tool.name).or_default() += 1;
    }
    for (name, count) in copies.into_iter().filter(|(_, count)| *count > 1) {
        anomalies.push(Anomaly {
            server: server.label.clone(),
            tool: name.to_owned(),
            kind: AnomalyKind::DuplicateName,
            detail: Some(format!("{count} copies")),
        });
    }
}

fn duplicate_servers(catalogue: &Catalogue, anomalies: &mut Vec<Anomaly>) {
    let mut copies: BTreeMap<&str, u64> = BTreeMap::new();
    for server in &catalogue.servers {
        *copies.entry(&server.label).or_default() += 1;
    }
    for (label, count) in copies.into_iter().filter(|(_, count)| *count > 1) {
        anomalies.push(Anomaly {
            server: label.to_owned(),
            tool: String::new(),
            kind: AnomalyKind::DuplicateServer,
            detail: Some(format!("{count} servers")),
        });
    }
}

impl CatalogueFootprint {
    /// Sorts the tools.
    pub fn sort(&mut self, by: SortBy) {
        self.tools.sort_by(|a, b| {
            let first = match by {
                SortBy::Tokens => b.tokens.cmp(&a.tokens),
                SortBy::Description => (b.description_tokens, b.description_bytes)
                    .cmp(&(a.description_tokens, a.description_bytes)),
                SortBy::Schema => (b.schema_tokens, b.schema_bytes).cmp(&(a.schema_tokens, a.schema_bytes)),
                SortBy::Name => a.name.cmp(&b.name),
            };
            let rest = || {
                (b.tokens, b.bytes, &a.server, &a.name, a.position)
                    .cmp(&(a.tokens, a.bytes, &b.server, &b.name, b.position))
            };
            let by_server =
                || if by == SortBy::Name { a.server.cmp(&b.server) } else { std::cmp::Ordering::Equal };
            first.then_with(by_server).then_with(rest)
        });
    }

    /// Keeps the first `top` tools of the listing and returns what those it dropped sum to. Totals stay those of the whole catalogue.
    pub fn keep(&mut self, top: usize) -> Price {
        let dropped = self.tools.get(top..).unwrap_or_default();
        let bytes = dropped.iter().map(|tool| tool.bytes).sum();
        let tokens = dropped.iter().map(|tool| tool.tokens).sum();
        self.tools.truncate(top);
        self.shown = self.tools.len() as u64;
        Price { bytes, tokens }
    }
}
