//! What the gate is told: targets priced, definitions hashed, memory files and skills found.

use super::surfaces;
use crate::args::Gate;
use crate::exit::Trouble;
use crate::target::file::{project_configs, stem};
use crate::target::gather::{self, Call, Gathered};
use deadweight_estimate::{Counting, Estimator, Surface, Tally};
use deadweight_footprint::catalogue::{self, Catalogue, Server, ToolFootprint};
use deadweight_gate::{Measured, MeasuredServer, Unmeasured};
use deadweight_lock::{Hash, Lock, TextPrice, ToolPrice, is_clean_source};
use deadweight_wire::json::Parser;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// Measures what the call names. What could not be measured is in both answers: for the verdict and for a
/// person.
pub(super) fn measure(
    args: &Gate,
    lock: Option<&Lock>,
    estimator: &dyn Estimator,
) -> Result<(Measured, Vec<Trouble>), Trouble> {
    let only = (!args.only.is_empty()).then(|| args.only.iter().cloned().collect());
    let complete = args.targets.is_empty();
    let files = surfaces::find(args, lock, estimator);
    let call = Call { command: "gate", targets: &args.targets, global: &args.global, only: &args.only };
    call.check()?;
    // A project may carry memory files and skills, and no servers at all.
    let gathered = if complete && files.any() && project_configs(Path::new("")).is_empty() {
        Gathered::default()
    } else {
        gather::targets(call)?
    };
    if let Some(body) = gathered.bodies.first() {
        return Err(Trouble::usage(
            "a captured request cannot be held against a lock: its tools are already those of an agent",
        )
        .at("target", body.label.clone())
        .attempt(
            "give the servers, a tools/list dump or an MCP config; deadweight footprint prices a request",
        ));
    }
    let unasked = gathered.memory.files.iter().map(|file| &file.path);
    if let Some(path) = unasked.chain(gathered.memory.skills.iter().map(|skill| &skill.path)).next() {
        return Err(Trouble::usage("memory files and skills are no targets of the gate")
            .at("target", path.clone())
            .attempt("leave it out: the gate finds them itself; deadweight footprint prices one"));
    }
    let mut labels = BTreeMap::new();
    for server in &gathered.servers {
        if labels.insert(server.label.as_str(), ()).is_some() {
            return Err(Trouble::usage(format!("two targets have the label `{}`", server.label))
                .attempt("give one of them another label with --name, one target at a time"));
        }
    }
    let mut troubles: Vec<Trouble> = Vec::new();
    let mut unmeasured = Vec::new();
    // A file that cannot be read is the server that the lock has by the file's stem.
    let known = |label: &str| lock.is_some_and(|lock| lock.servers.contains_key(label));
    let failed = gathered.failed.into_iter().map(|failed| {
        let stem = stem(Path::new(&failed.label));
        (if !known(&failed.label) && known(&stem) { stem } else { failed.label }, failed.trouble)
    });
    for (label, trouble) in failed.chain(files.unread) {
        unmeasured.push(Unmeasured { server: label, reason: trouble.reason() });
        troubles.push(trouble);
    }
    let catalogue = Catalogue { servers: gathered.servers, failures: Vec::new() };
    let report = catalogue::price(&catalogue, estimator);
    let basis = report.basis.fields.join(" + ");
    let mut rows: BTreeMap<(&str, u64), &ToolFootprint> = BTreeMap::new();
    for tool in &report.tools {
        rows.insert((&tool.server, tool.position), tool);
    }
    let bpe = matches!(estimator.counting(), Counting::Text(_));
    let mut parser = Parser::new();
    let servers = catalogue
        .servers
        .iter()
        .map(|server| MeasuredServer {
            label: server.label.clone(),
            source: server.source.clone().filter(|source| is_clean_source(source)),
            instructions: server
                .instructions
                .as_deref()
                .filter(|text| !text.is_empty())
                .map(|text| text_price(text, estimator)),
            tools: tools(server, &rows, &mut parser, bpe),
        })
        .collect();
    let measured =
        Measured { basis, servers, unmeasured, skills: files.skills, memory: files.memory, only, complete };
    Ok((measured, troubles))
}

fn tools(
    server: &Server,
    rows: &BTreeMap<(&str, u64), &ToolFootprint>,
    parser: &mut Parser,
    bpe: bool,
) -> Vec<(String, ToolPrice)> {
    let own = server.tools.iter().enumerate();
    own.filter_map(|(position, raw)| {
        let row = rows.get(&(server.label.as_str(), position as u64))?;
        let hash = parser.scope(raw, |document| match document {
            Ok(document) => Hash::of_value(document.root()),
            Err(_) => Hash::of_text(&String::from_utf8_lossy(raw)),
        });
        let price = ToolPrice {
            bytes: row.bytes,
            description_bytes: row.description_bytes,
            tokens: bpe.then(|| row.tokens.get()),
            description_tokens: bpe.then(|| row.description_tokens.get()),
            hash,
        };
        Some((row.name.clone(), price))
    })
    .collect()
}

fn text_price(text: &str, estimator: &dyn Estimator) -> TextPrice {
    let mut tally = Tally::new(estimator, Surface::Prose);
    tally.add(text.len() as u64, || Cow::Borrowed(text));
    let bpe = matches!(estimator.counting(), Counting::Text(_));
    TextPrice { bytes: tally.bytes(), tokens: bpe.then(|| tally.tokens().get()), hash: Hash::of_text(text) }
}
