//! The rules that look at one tool.

use super::definitions::Definitions;
use super::walk::{Role, Site, Sites};
use super::{Rule, cut};
use crate::origin::formed_name;
use deadweight_profiles::{ALL, NameLimitEffect, Profile};
use deadweight_wire::definition::Definition;
use deadweight_wire::json::{Kind, Value};
use std::borrow::Cow;
use std::ops::Range;

/// Something a rule found in one tool.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) rule: Rule,
    pub(super) place: Place,
    pub(super) detail: Option<String>,
}

/// What would go.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// A range of the definition's bytes, inside its input schema.
    Schema(Range<usize>),
    /// A range of the decoded description.
    Description(Range<usize>),
    /// The whole tool.
    Whole,
    /// Its output schema, which is not in the floor.
    OutputSchema,
    /// Nothing: this is about breakage.
    Nothing,
}

/// More values than this make an enum a long list.
const LONG_ENUM: usize = 20;
/// Claude Code cuts descriptions and server instructions here.
pub(super) const LONG_TEXT: usize = 2_048;
/// A parameter's description that is shorter is no repetition when the tool's description holds it.
const SHORTEST_REPETITION: usize = 24;

/// Looks at one tool of the server `label`; `definitions` are those of its input schema.
pub(super) fn look<'id, 'd>(
    definition: &Definition<'id, 'd>,
    label: &str,
    definitions: &[Definitions<'id, 'd>],
) -> Vec<Finding> {
    let mut out = Vec::new();
    let name = definition.name.and_then(|name| name.as_str()).unwrap_or_default();
    long_name(label, &name, &mut out);
    long_description(definition, &mut out);
    if definition.output_schema.is_some_and(|schema| !schema.is_null()) {
        out.push(Finding { rule: Rule::OutputSchema, place: Place::OutputSchema, detail: None });
    }
    if let Some(schema) = definition.input_schema.filter(|schema| schema.kind() == Kind::Object) {
        combinators(schema, &mut out);
        let sites = Sites::of(schema);
        for (at, site) in sites.iter() {
            keywords(&sites, at, site, &name, &mut out);
        }
        for definitions in definitions {
            definitions.unused(schema, &mut out);
        }
        drop_what_goes_anyway(&mut out);
        repeated_parameters(definition, schema, &mut out);
    }
    out
}

/// Inside a definition that nothing refers to nothing else is worth saying.
fn drop_what_goes_anyway(findings: &mut Vec<Finding>) {
    let mut unused: Vec<Range<usize>> = findings
        .iter()
        .filter(|finding| finding.rule == Rule::UnusedDefinitions)
        .filter_map(|finding| match &finding.place {
            Place::Schema(range) => Some(range.clone()),
            _ => None,
        })
        .collect();
    cut::union(&mut unused);
    let goes = |range: &Range<usize>| {
        let next = unused.partition_point(|unused| unused.end < range.end);
        unused.get(next).is_some_and(|unused| unused.start <= range.start)
    };
    findings.retain(|finding| match &finding.place {
        Place::Schema(range) => finding.rule == Rule::UnusedDefinitions || !goes(range),
        _ => true,
    });
}

fn long_name(label: &str, name: &str, out: &mut Vec<Finding>) {
    let too_long = |profile: &&&Profile| -> Option<String> {
        let limit = profile.name_limit?.value;
        let chars = if limit.bare {
            label.chars().count() + name.chars().count()
        } else {
            formed_name(&profile.naming?.value, label, name).chars().count()
        };
        let beyond = match limit.beyond {
            NameLimitEffect::Refused => "the request is refused",
            NameLimitEffect::Hidden => "the tool is left out",
            NameLimitEffect::Shortened => "the name is shortened",
        };
        (chars > limit.chars)
            .then(|| format!("{}: {chars} of {} characters, {beyond}", profile.name, limit.chars))
    };
    let clients: Vec<String> = ALL.iter().filter_map(|profile| too_long(&profile)).collect();
    if !clients.is_empty() && !name.is_empty() {
        out.push(Finding { rule: Rule::LongName, place: Place::Nothing, detail: Some(clients.join("; ")) });
    }
}

fn long_description(definition: &Definition<'_, '_>, out: &mut Vec<Finding>) {
    let Some(description) = definition.description else { return };
    if description.decoded_len().is_none_or(|len| len <= LONG_TEXT) {
        return;
    }
    let text = description.as_str().unwrap_or_default();
    if let Some((at, _)) = text.char_indices().nth(LONG_TEXT) {
        let detail = Some(format!("{} characters", text.chars().count()));
        out.push(Finding { rule: Rule::LongDescription, place: Place::Description(at..text.len()), detail });
    }
}

fn combinators(schema: Value<'_, '_>, out: &mut Vec<Finding>) {
    let found: Vec<&str> =
        ["oneOf", "anyOf", "allOf"].into_iter().filter(|keyword| schema.get(keyword).is_some()).collect();
    if !found.is_empty() {
        let detail = Some(found.join(", "));
        out.push(Finding { rule: Rule::TopLevelCombinator, place: Place::Nothing, detail });
    }
}

/// The rules on single keywords of one schema inside the input schema.
fn keywords(sites: &Sites<'_, '_>, at: usize, site: &Site<'_, '_>, tool: &str, out: &mut Vec<Finding>) {
    let entries: Vec<_> = site.value.entries().collect();
    for (index, entry) in entries.iter().enumerate() {
        let Some(key) = entry.key.as_str() else { continue };
        let found = match &*key {
            "$schema" if entry.value.kind() == Kind::String => Some((Rule::SchemaUri, None)),
            "title" if is_derived(site, entry.value, tool) => Some((Rule::DerivedTitle, None)),
            "enum" => long_enum(entry.value).map(|values| {
                let path = sites.path(at);
                let at = if path.is_empty() { "the top".to_owned() } else { path };
                (Rule::LongEnum, Some(format!("{values} values at {at}")))
            }),
            other if says_nothing(other, entry.value) => Some((Rule::DefaultKeyword, None)),
            _ => None,
        };
        if let Some((rule, detail)) = found {
            out.push(Finding { rule, place: Place::Schema(cut::member(&entries, index)), detail });
        }
    }
}

fn long_enum(values: Value<'_, '_>) -> Option<usize> {
    let count = values.elements().count();
    (count > LONG_ENUM).then_some(count)
}

/// A text without case and punctuation.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What generators put behind a tool's name to title its arguments.
const ARGUMENT_TITLES: [&str; 7] = ["", "arguments", "args", "input", "parameters", "params", "schema"];

/// Whether a `title` only says again what the schema's key, or the tool's name, says.
fn is_derived(site: &Site<'_, '_>, title: Value<'_, '_>, tool: &str) -> bool {
    let Some(title) = title.as_str() else { return false };
    let title = plain(&title);
    match site.role {
        Role::Root => title.strip_prefix(&plain(tool)).is_some_and(|rest| ARGUMENT_TITLES.contains(&rest)),
        Role::Property | Role::Definition => {
            site.key.and_then(|key| key.as_str()).is_some_and(|key| plain(&key) == title)
        }
        Role::Other => false,
    }
}

/// Whether a keyword says what holds without it.
fn says_nothing(keyword: &str, value: Value<'_, '_>) -> bool {
    let raw = value.raw();
    match keyword {
        "additionalProperties" => {
            raw == "true" || (value.kind() == Kind::Object && value.entries().next().is_none())
        }
        "required" => value.kind() == Kind::Array && value.elements().next().is_none(),
        "minItems" | "minLength" | "minProperties" => raw == "0",
        "uniqueItems" | "nullable" | "deprecated" | "readOnly" | "writeOnly" => raw == "false",
        "description" => value.is_str(""),
        // The bounds of a double's exact integers, which one generator writes for every integer.
        "maximum" => raw == "9007199254740991",
        "minimum" => raw == "-9007199254740991",
        _ => false,
    }
}

/// How many parameters are looked for, and in how long a description: a bound on what a stranger can cost.
const MOST_PARAMETERS: usize = 256;
const LONGEST_SEARCHED: usize = 256 << 10;

fn repeated_parameters(definition: &Definition<'_, '_>, schema: Value<'_, '_>, out: &mut Vec<Finding>) {
    let Some(description) = definition.description else { return };
    let long = description.decoded_len().unwrap_or_default();
    let Some(properties) = schema.get("properties").filter(|_| long <= LONGEST_SEARCHED) else { return };
    let mut text: Option<Cow<'_, str>> = None;
    for property in properties.entries().take(MOST_PARAMETERS) {
        let Some(own) = property.value.get("description") else { continue };
        let len = own.decoded_len().unwrap_or_default();
        if len < SHORTEST_REPETITION || len > long {
            continue;
        }
        let text = text.get_or_insert_with(|| description.as_str().unwrap_or_default());
        let (own, name) = (own.as_str().unwrap_or_default(), property.key.as_str().unwrap_or_default());
        let own = own.trim().trim_end_matches('.');
        if own.len() < SHORTEST_REPETITION {
            continue;
        }
        if let Some(at) = text.find(own) {
            let range = with_its_line(text, at..at + own.len(), &name);
            let detail = Some(name.into_owned());
            out.push(Finding { rule: Rule::RepeatedParameter, place: Place::Description(range), detail });
        }
    }
}

/// The longest that a parameter's name with its type and punctuation can be before its description.
const LONGEST_LEAD: usize = 60;

/// A repetition with what stands before it on its line, when that only names the parameter, and its end.
fn with_its_line(text: &str, range: Range<usize>, name: &str) -> Range<usize> {
    let before = text.get(..range.start).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let lead = before.get(line..).unwrap_or_default();
    let names_it = !lead.is_empty() && lead.len() <= LONGEST_LEAD && plain(lead).starts_with(&plain(name));
    if !names_it || plain(name).is_empty() {
        return range;
    }
    let after = text.get(range.end..).unwrap_or_default();
    let dot = usize::from(after.starts_with('.'));
    let end = range.end + dot + usize::from(after.get(dot..).is_some_and(|rest| rest.starts_with('\n')));
    line..end
}
