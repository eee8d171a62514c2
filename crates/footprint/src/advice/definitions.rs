//! Definitions below `$defs` and `definitions`: which of them anything refers to.

use super::rules::{Finding, Place};
use super::walk::AllEntries;
use super::{Rule, cut};
use deadweight_wire::json::{Entry, Kind, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The definitions of a schema under one keyword, and the names of those that are referred to.
pub(super) struct Definitions<'id, 'd> {
    keyword: &'static str,
    entries: Vec<Entry<'id, 'd>>,
    used: HashSet<Cow<'d, str>>,
}

impl<'id, 'd> Definitions<'id, 'd> {
    /// The definitions of an input schema. Empty, too, where references are made in ways that are not followed
    /// here (anchors, ids, escaped names): nothing is said about those.
    pub(super) fn of(schema: Value<'id, 'd>) -> Vec<Self> {
        let of = |keyword: &'static str| {
            let all = schema.get(keyword).filter(|all| all.kind() == Kind::Object)?;
            let entries: Vec<_> = all.entries().collect();
            let used = used_names(schema, keyword, &entries)?;
            Some(Self { keyword, entries, used })
        };
        ["$defs", "definitions"].into_iter().filter_map(of).collect()
    }

    fn is_used(&self, entry: &Entry<'id, 'd>) -> bool {
        entry.key.as_str().is_some_and(|key| self.used.contains(&key))
    }

    /// Those that nothing refers to.
    pub(super) fn unused(&self, schema: Value<'id, 'd>, out: &mut Vec<Finding>) {
        let mut push = |range, detail| {
            out.push(Finding {
                rule: Rule::UnusedDefinitions,
                place: Place::Schema(range),
                detail: Some(detail),
            });
        };
        if !self.entries.is_empty() && !self.entries.iter().any(|entry| self.is_used(entry)) {
            // Nothing is left, so the whole member goes.
            let outer: Vec<_> = schema.entries().collect();
            let index = outer.iter().rposition(|entry| entry.key.is_str(self.keyword)).unwrap_or_default();
            return push(cut::member(&outer, index), format!("all of {}", self.keyword));
        }
        for (index, entry) in self.entries.iter().enumerate().filter(|(_, entry)| !self.is_used(entry)) {
            push(cut::member(&self.entries, index), entry.key.as_str().unwrap_or_default().into_owned());
        }
    }

    /// Those that are referred to, for the rule that compares tools: text and range.
    pub(super) fn used(&self) -> impl Iterator<Item = (&'d str, Range<usize>)> {
        let used = self.entries.iter().enumerate().filter(|(_, entry)| self.is_used(entry));
        used.map(|(index, entry)| (entry.value.raw(), cut::member(&self.entries, index)))
    }
}

/// The names that a schema refers to from outside its definitions, or, step by step, from a definition that is
/// itself referred to. `None` when references are made in ways that cannot be followed here.
fn used_names<'d>(
    schema: Value<'_, 'd>,
    keyword: &str,
    entries: &[Entry<'_, 'd>],
) -> Option<HashSet<Cow<'d, str>>> {
    let lead = format!("#/{keyword}/");
    // Entries lie in the order of the text: the one around an offset is found by bisection.
    let holder = |at: usize| {
        let index = entries.partition_point(|entry| entry.value.span().end() <= at);
        entries
            .get(index)
            .filter(|entry| entry.value.span().start() <= at)
            .and_then(|entry| entry.key.as_str())
    };
    let mut used = HashSet::new();
    let mut reached: Vec<Cow<'d, str>> = Vec::new();
    let mut between: HashMap<Cow<'d, str>, Vec<Cow<'d, str>>> = HashMap::new();
    for entry in AllEntries::of(schema) {
        let Some(key) = entry.key.as_str() else { continue };
        if matches!(&*key, "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$id") {
            return None;
        }
        if key != "$ref" {
            continue;
        }
        let Some(target) = entry.value.as_str() else { continue };
        let Some(name) = target.strip_prefix(&lead).and_then(|rest| rest.split('/').next()) else { continue };
        if name.contains(['~', '%']) {
            return None;
        }
        let name = Cow::Owned(name.to_owned());
        match holder(entry.value.span().start()) {
            Some(owner) => between.entry(owner).or_default().push(name),
            None => reached.push(name),
        }
    }
    while let Some(name) = reached.pop() {
        reached.extend(between.remove(&name).unwrap_or_default());
        used.insert(name);
    }
    Some(used)
}
