//! From findings to advice: tool by tool, then across the tools of a server.

use super::definitions::Definitions;
use super::rules::{Finding, LONG_TEXT, Place, look};
use super::stake::{Before, Cut, Texts};
use super::{Advice, AdvisedTool, Rule, Savings};
use crate::basis::Price;
use crate::catalogue::Server;
use deadweight_estimate::Estimator;
use deadweight_wire::definition::{Definition, compact};
use deadweight_wire::json::{Kind, Parser, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A definition counts as repeated from so many tools on.
const MANY_TOOLS: usize = 2;
/// At most so many places are named for one tool.
const NAMED_PLACES: usize = 3;

/// Collects findings while a catalogue is priced, and prices them once its total is known.
pub(crate) struct Adviser<'e> {
    estimator: &'e dyn Estimator,
    savings: Cut,
    /// By rule and server, in the order in which servers came.
    rules: BTreeMap<(Rule, usize), Stake>,
    servers: usize,
}

/// What one rule found at one server.
#[derive(Default)]
struct Stake {
    server: String,
    cut: Cut,
    outside: Price,
    tools: Vec<AdvisedTool>,
}

/// One tool with its findings.
struct Case {
    name: String,
    position: usize,
    findings: Vec<Finding>,
    /// Texts and ranges of the definitions it refers to.
    definitions: Vec<(String, Range<usize>)>,
    before: Before,
    output_schema: Price,
}

impl<'e> Adviser<'e> {
    pub(crate) fn new(estimator: &'e dyn Estimator) -> Self {
        Self { estimator, savings: Cut::default(), rules: BTreeMap::new(), servers: 0 }
    }

    /// Looks at one server; `weights` are its tools' bytes and the prices of their output schemas, in its order.
    pub(crate) fn server(
        &mut self,
        server: &Server,
        weights: impl Iterator<Item = (Before, Price)>,
        parser: &mut Parser,
    ) {
        let mut cases: Vec<Case> = Vec::with_capacity(server.tools.len());
        for ((position, raw), (before, output_schema)) in server.tools.iter().enumerate().zip(weights) {
            let case = parser.scope(raw, |document| {
                let root = document.ok()?.root();
                (root.kind() == Kind::Object).then(|| case(root, &server.label, position))
            });
            if let Some(case) = case {
                cases.push(Case { before, output_schema, ..case });
            }
        }
        repeated_definitions(&mut cases);
        duplicate_names(&mut cases, server);
        for case in cases.iter().filter(|case| !case.findings.is_empty()) {
            let raw = server.tools.get(case.position).map_or(&[][..], Vec::as_slice);
            let texts = parser.scope(raw, |document| {
                let root = document.ok()?.root();
                Some(Texts::of(&Definition::read(root), case.before))
            });
            if let Some(texts) = texts {
                self.case(case, &texts, &server.label);
            }
        }
        self.instructions(server);
        self.servers += 1;
    }

    /// Prices the findings of one tool: each rule by itself, and all together.
    fn case(&mut self, case: &Case, texts: &Texts, label: &str) {
        let mut by_rule: BTreeMap<Rule, Vec<&Finding>> = BTreeMap::new();
        for finding in &case.findings {
            by_rule.entry(finding.rule).or_default().push(finding);
        }
        let (mut cutting, mut last) = (0, Cut::default());
        for (rule, findings) in by_rule {
            let cut = texts.without(findings.iter().map(|finding| &finding.place), self.estimator);
            let stake = self.rules.entry((rule, self.servers)).or_default();
            label.clone_into(&mut stake.server);
            let mut tool = AdvisedTool {
                name: case.name.clone(),
                bytes: cut.bytes,
                tokens: cut.tokens(texts.bytes(), self.estimator),
                detail: detail(&findings),
            };
            if cut != Cut::default() {
                (cutting, last) = (cutting + 1, cut);
            }
            if rule.in_floor() {
                stake.cut.add(cut);
            } else {
                (tool.bytes, tool.tokens) = (case.output_schema.bytes, case.output_schema.tokens);
                stake.outside.bytes += case.output_schema.bytes;
                stake.outside.tokens += case.output_schema.tokens;
            }
            stake.tools.push(tool);
        }
        let all = case.findings.iter().map(|finding| &finding.place);
        self.savings.add(if cutting > 1 { texts.without(all, self.estimator) } else { last });
    }

    fn instructions(&mut self, server: &Server) {
        let Some(text) = &server.instructions else { return };
        let Some((at, _)) = text.char_indices().nth(LONG_TEXT) else { return };
        let beyond = text.get(at..).unwrap_or_default();
        let tokens = self.estimator.count(deadweight_estimate::Surface::Prose, beyond);
        let stake = self.rules.entry((Rule::LongInstructions, self.servers)).or_default();
        server.label.clone_into(&mut stake.server);
        stake.outside = Price { bytes: beyond.len() as u64, tokens };
    }

    /// The advice on a catalogue whose tools have `floor_bytes`, and what all of it would save.
    pub(crate) fn finish(self, floor_bytes: u64) -> (Vec<Advice>, Savings) {
        let mut out: Vec<Advice> = Vec::with_capacity(self.rules.len());
        for ((rule, _), mut stake) in self.rules {
            stake.tools.sort_by(|a, b| (b.tokens, b.bytes, &a.name).cmp(&(a.tokens, a.bytes, &b.name)));
            let (bytes, tokens) = if rule.in_floor() {
                (stake.cut.bytes, stake.cut.tokens(floor_bytes, self.estimator))
            } else {
                (stake.outside.bytes, stake.outside.tokens)
            };
            out.push(Advice {
                rule,
                kind: rule.kind(),
                reason: rule.reason(),
                server: stake.server,
                tool_count: stake.tools.len() as u64,
                tools: stake.tools,
                bytes,
                tokens,
                in_floor: rule.in_floor(),
            });
        }
        out.sort_by(|a, b| {
            (a.kind, b.in_floor, b.tokens, b.bytes, a.rule, &a.server)
                .cmp(&(b.kind, a.in_floor, a.tokens, a.bytes, b.rule, &b.server))
        });
        let tokens = self.savings.tokens(floor_bytes, self.estimator);
        (out, Savings { bytes: self.savings.bytes, tokens })
    }
}

fn case(root: Value<'_, '_>, label: &str, position: usize) -> Case {
    let definition = Definition::read(root);
    let schema = definition.input_schema.filter(|schema| schema.kind() == Kind::Object);
    let definitions = schema.map(Definitions::of).unwrap_or_default();
    let used = definitions.iter().flat_map(Definitions::used);
    Case {
        name: crate::catalogue::tool::counted_text(definition.name).into_owned(),
        position,
        findings: look(&definition, label, &definitions),
        definitions: used.map(|(text, range)| (compact(text).into_owned(), range)).collect(),
        before: Before::default(),
        output_schema: Price::default(),
    }
}

/// The same definition in many tools: the copy in the first of them, by name, stays.
fn repeated_definitions(cases: &mut [Case]) {
    let mut copies: HashMap<Cow<'_, str>, Vec<(usize, Range<usize>)>> = HashMap::new();
    let definitions: Vec<Vec<(String, Range<usize>)>> =
        cases.iter_mut().map(|case| std::mem::take(&mut case.definitions)).collect();
    for (index, own) in definitions.iter().enumerate() {
        for (text, range) in own {
            copies.entry(Cow::Borrowed(text)).or_default().push((index, range.clone()));
        }
    }
    for mut copies in copies.into_values() {
        let name = |index: usize| cases.get(index).map(|case| case.name.clone());
        copies.sort_by_cached_key(|(index, range)| (name(*index), range.len(), *index));
        let mut tools: Vec<usize> = copies.iter().map(|(index, _)| *index).collect();
        tools.sort_unstable();
        tools.dedup();
        if tools.len() < MANY_TOOLS {
            continue;
        }
        for (index, range) in copies.into_iter().skip(1) {
            if let Some(case) = cases.get_mut(index) {
                let place = Place::Schema(range);
                case.findings.push(Finding { rule: Rule::RepeatedDefinitions, place, detail: None });
            }
        }
    }
}

/// All copies of a name but the heaviest; among equals it is the text that decides, never the order.
fn duplicate_names(cases: &mut [Case], server: &Server) {
    let mut copies: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| !case.name.is_empty()) {
        copies.entry(case.name.clone()).or_default().push(index);
    }
    for mut copies in copies.into_values().filter(|copies| copies.len() > 1) {
        copies.sort_by_cached_key(|index| {
            let case = cases.get(*index);
            let raw = case.and_then(|case| server.tools.get(case.position)).map_or(&[][..], Vec::as_slice);
            let text = String::from_utf8_lossy(raw);
            std::cmp::Reverse((case.map(|case| case.before.bytes), compact(&text).into_owned()))
        });
        for index in copies.into_iter().skip(1) {
            if let Some(case) = cases.get_mut(index) {
                case.findings.push(Finding { rule: Rule::DuplicateName, place: Place::Whole, detail: None });
            }
        }
    }
}

/// The places of a rule's findings in one tool, the first few by name.
fn detail(findings: &[&Finding]) -> Option<String> {
    let named: Vec<&str> = findings.iter().filter_map(|finding| finding.detail.as_deref()).collect();
    if named.is_empty() {
        return (findings.len() > 1).then(|| format!("{} places", findings.len()));
    }
    let mut text = named.iter().take(NAMED_PLACES).copied().collect::<Vec<_>>().join(", ");
    if let Some(more) = named.len().checked_sub(NAMED_PLACES).filter(|more| *more > 0) {
        text.push_str(&format!(", {more} more"));
    }
    Some(text)
}
