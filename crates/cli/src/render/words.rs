//! What the reports' facts are called, shared by text, Markdown and HTML.

use super::harmless::short;
use super::number::{bytes, count, estimated, share};
use deadweight_estimate::{Estimated, Tokens};
use deadweight_footprint::advice::{Advice, AdviceKind, Rule};
use deadweight_footprint::catalogue::{AnomalyKind, CatalogueFootprint};
use deadweight_footprint::origin::Origin;
use deadweight_footprint::{Basis, Price};
pub(crate) use deadweight_present::words::standing;
use std::collections::BTreeMap;

/// `≈ 763 tok`.
pub(crate) fn tok(tokens: Tokens<Estimated>) -> String {
    format!("{} tok", estimated(tokens.get()))
}

/// `, 0.4 % of a window of 200,000`, where a window was given.
pub(crate) fn of_window(tokens: Tokens<Estimated>, window: Option<u64>) -> String {
    window.map_or_else(String::new, |window| {
        format!("{} of a window of {}", share(tokens.get(), window), super::number::thousands(window))
    })
}

/// What a server calls itself: name and version behind the label, where they say more than it.
pub(crate) fn title(label: &str, name: Option<&str>, version: Option<&str>) -> String {
    let mut out = short(label).into_owned();
    if let Some(name) = name.filter(|&name| name != label) {
        out.push_str(&format!(" ({}", short(name)));
        if let Some(version) = version {
            out.push_str(&format!(" {}", short(version)));
        }
        out.push(')');
    } else if let Some(version) = version {
        out.push_str(&format!(" {}", short(version)));
    }
    out
}

/// The first line of a report on a catalogue, in its parts: whose, how many, how much.
pub(crate) fn headline(report: &CatalogueFootprint, window: Option<u64>) -> Vec<String> {
    let whose = match report.servers.as_slice() {
        [only] => title(&only.server, only.name.as_deref(), only.version.as_deref()),
        many => count(many.len() as u64, "server", "servers"),
    };
    let failed = report.failures.len() as u64;
    let whose = match failed {
        0 => whose,
        _ => {
            let measured = report.servers.len() as u64;
            format!(
                "{} of {}",
                super::number::thousands(measured),
                count(measured + failed, "server", "servers")
            )
        }
    };
    let mut parts = vec![
        whose,
        count(report.tool_count, "tool", "tools"),
        format!("{} on every turn ({})", tok(report.floor_tokens), bytes(report.floor_bytes)),
    ];
    if window.is_some() {
        parts.push(of_window(report.floor_tokens, window));
    }
    parts
}

/// `output schemas ≈ 57 tok, annotations ≈ 258 tok`: what is served and not counted. Empty if nothing is.
pub(crate) fn also_served(report: &CatalogueFootprint) -> Vec<String> {
    let served = &report.served;
    let parts: [(&str, Price); 7] = [
        ("output schemas", served.output_schema),
        ("annotations", served.annotations),
        ("titles", served.title),
        ("icons", served.icons),
        ("`_meta`", served.meta),
        ("execution", served.execution),
        ("instructions", report.instructions),
    ];
    parts
        .into_iter()
        .filter(|(_, price)| price.bytes > 0)
        .map(|(what, price)| {
            let sent = if what == "instructions" { " (many agents send these)" } else { "" };
            format!("{what} {}{sent}", tok(price.tokens))
        })
        .collect()
}

/// What a rule of [`Advice`] is about, for `tools` tools.
pub(crate) fn rule(rule: Rule, tools: u64) -> String {
    let tools = count(tools, "tool", "tools");
    match rule {
        Rule::DuplicateName => format!("{tools} listed more than once"),
        Rule::TopLevelCombinator => {
            format!("oneOf, anyOf or allOf at the top of the schema in {tools} (Anthropic refuses them)")
        }
        Rule::LongName => format!("names over 64 characters with a client's prefix in {tools}"),
        Rule::LongDescription => format!("descriptions over 2,048 characters in {tools}"),
        Rule::SchemaUri => format!("`$schema` in {tools}"),
        Rule::UnusedDefinitions => format!("definitions that nothing refers to in {tools}"),
        Rule::RepeatedDefinitions => format!("the same definitions in {tools}"),
        Rule::LongEnum => format!("long enums in {tools}"),
        Rule::RepeatedParameter => format!("descriptions that repeat their parameters in {tools}"),
        Rule::DerivedTitle => format!("titles that only repeat a name in {tools}"),
        Rule::DefaultKeyword => format!("keywords that change nothing in {tools}"),
        Rule::OutputSchema => format!("output schemas of {tools}"),
        _ => format!("{rule:?} in {tools}"),
    }
}

/// What would save, whatever else it is for, or what breaks: one part of a sentence a rule, servers added up,
/// the most tokens first.
pub(crate) fn advice_by_rule(advice: &[Advice], kind: AdviceKind) -> Vec<String> {
    let mut rules: BTreeMap<Rule, (u64, Tokens<Estimated>)> = BTreeMap::new();
    for entry in advice.iter().filter(|entry| match kind {
        AdviceKind::Saves => entry.in_floor && entry.tokens.get() > 0,
        AdviceKind::Breaks => entry.kind == kind,
    }) {
        let sum = rules.entry(entry.rule).or_default();
        sum.0 += entry.tool_count;
        sum.1 += entry.tokens;
    }
    let mut rules: Vec<_> = rules.into_iter().collect();
    rules.sort_by_key(|&(rule, (_, tokens))| (std::cmp::Reverse(tokens), rule));
    rules
        .into_iter()
        .map(|(found, (tools, tokens))| match kind {
            AdviceKind::Saves => format!("{} ({})", rule(found, tools), estimated(tokens.get())),
            AdviceKind::Breaks => rule(found, tools),
        })
        .collect()
}

/// What an anomaly of a catalogue is, in a few words.
pub(crate) const fn anomaly(kind: AnomalyKind) -> &'static str {
    match kind {
        AnomalyKind::InvalidJson => "not JSON, all of it counted as schema",
        AnomalyKind::NotAnObject => "not an object, all of it counted as schema",
        AnomalyKind::MissingName => "no name",
        AnomalyKind::MissingDescription => "no description",
        AnomalyKind::MissingSchema => "no input schema",
        AnomalyKind::BooleanSchema => "a boolean input schema, which several clients refuse",
        AnomalyKind::WrongType => "a member of the wrong type",
        AnomalyKind::DuplicateKey => "a member given twice, of which the last counts",
        AnomalyKind::DuplicateName => "a name listed twice, each copy counted",
        AnomalyKind::DuplicateServer => "two servers under one label",
        _ => "something unknown",
    }
}

/// The basis as one line.
pub(crate) fn basis(basis: &Basis) -> String {
    let mut out = format!("basis: {} · estimator {}", basis.fields.join(" + "), basis.estimator);
    if let Some(ratio) = &basis.bytes_per_token {
        out.push_str(&format!(" (tool definitions {} B/tok, prose {})", ratio.tool_definition, ratio.prose));
    }
    out.push_str(match &basis.bytes_per_token {
        Some(_) => " · exact for OpenAI: --estimator o200k",
        None => " · the exact count of that vocabulary",
    });
    out
}

/// Why a request is only a part of what the model reads.
pub(crate) fn delta(delta: &str) -> String {
    match delta {
        "previous_response" => "it continues an earlier response that the provider kept".to_owned(),
        "frame" => "it is one frame of a session".to_owned(),
        "stored" => "it names parts that the provider keeps".to_owned(),
        "cached_content" => "it stands on a cache that the provider keeps".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Whose a tool is.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Builtin => "built-in".to_owned(),
        Origin::Mcp { server } => server.clone(),
        Origin::Unknown => "unknown".to_owned(),
    }
}

/// A percentage from a report, to a tenth there: decimals below 10 % only.
pub(crate) fn pct(pct: f64) -> String {
    if pct > 0.0 && pct < 10.0 { format!("{pct:.1} %") } else { format!("{pct:.0} %") }
}
