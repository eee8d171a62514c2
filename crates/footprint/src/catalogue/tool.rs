//! One tool definition, measured.

use super::report::{AnomalyKind, Served};
use crate::basis::Price;
use deadweight_estimate::{Counting, Estimator, Surface, Tally};
use deadweight_wire::definition::{Definition, compact, compact_len};
use deadweight_wire::json::{Kind, Value};
use std::borrow::Cow;

/// What one definition weighs, and what is odd about it.
#[derive(Debug)]
pub(super) struct Measured<'e> {
    pub(super) name: String,
    pub(super) name_bytes: u64,
    pub(super) weight: Weight<'e>,
    pub(super) anomalies: Vec<(AnomalyKind, Option<String>)>,
}

/// Running counts of one tool, or of many merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight<'e> {
    /// Name, description and compact schema.
    pub(super) whole: Tally<'e>,
    pub(super) description: Tally<'e>,
    pub(super) schema: Tally<'e>,
    title: Tally<'e>,
    output_schema: Tally<'e>,
    annotations: Tally<'e>,
    icons: Tally<'e>,
    meta: Tally<'e>,
    execution: Tally<'e>,
}

impl<'e> Weight<'e> {
    pub(super) fn new(estimator: &'e dyn Estimator) -> Self {
        let empty = Tally::new(estimator, Surface::ToolDefinition);
        Self {
            whole: empty,
            description: empty,
            schema: empty,
            title: empty,
            output_schema: empty,
            annotations: empty,
            icons: empty,
            meta: empty,
            execution: empty,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.whole.merge(&other.whole);
        self.description.merge(&other.description);
        self.schema.merge(&other.schema);
        self.title.merge(&other.title);
        self.output_schema.merge(&other.output_schema);
        self.annotations.merge(&other.annotations);
        self.icons.merge(&other.icons);
        self.meta.merge(&other.meta);
        self.execution.merge(&other.execution);
    }

    pub(super) fn served(&self) -> Served {
        Served {
            title: Price::of(&self.title),
            output_schema: Price::of(&self.output_schema),
            annotations: Price::of(&self.annotations),
            icons: Price::of(&self.icons),
            meta: Price::of(&self.meta),
            execution: Price::of(&self.execution),
        }
    }

    fn add_whole(&mut self, bytes: u64, name: &str, description: &str, schema: &str) {
        self.whole.add(bytes, || Cow::Owned(tool_text(name, description, schema)));
    }
}

/// A member as it is counted: a string decoded, anything else as its compact text.
fn counted_len(value: Option<Value<'_, '_>>) -> u64 {
    value.map_or(0, |value| value.decoded_len().unwrap_or_else(|| compact_len(value.raw())) as u64)
}

/// The text whose length [`counted_len`] gives.
pub(crate) fn counted_text<'d>(value: Option<Value<'_, 'd>>) -> Cow<'d, str> {
    value.map_or(Cow::Borrowed(""), |value| value.as_str().unwrap_or_else(|| compact(value.raw())))
}

/// A schema as it is counted: its compact text, whatever it is.
pub(crate) fn schema_text<'d>(schema: Option<Value<'_, 'd>>) -> Cow<'d, str> {
    schema.map_or(Cow::Borrowed(""), |schema| compact(schema.raw()))
}

/// One tool's text as a tokenizer reads it.
pub(crate) fn tool_text(name: &str, description: &str, schema: &str) -> String {
    let mut text = String::with_capacity(name.len() + description.len() + schema.len() + 2);
    for part in [name, "\n", description, "\n", schema] {
        text.push_str(part);
    }
    text
}

/// Whether the estimator reads texts.
pub(crate) fn reads_text(estimator: &dyn Estimator) -> bool {
    matches!(estimator.counting(), Counting::Text(_))
}

/// Measures one definition.
pub(super) fn measure<'e>(root: Value<'_, '_>, estimator: &'e dyn Estimator) -> Measured<'e> {
    if root.kind() != Kind::Object {
        return opaque(&compact(root.raw()), AnomalyKind::NotAnObject, None, estimator);
    }
    let definition = Definition::read(root);
    let mut anomalies = Vec::new();
    find_anomalies(&definition, &mut anomalies);

    let description = definition.description.filter(|value| !value.is_null());
    let schema = definition.input_schema;
    let name = counted_text(definition.name);
    let name_bytes = counted_len(definition.name);
    let description_bytes = counted_len(description);
    let schema_bytes = schema.map_or(0, |schema| compact_len(schema.raw()) as u64);

    // A ratio needs lengths only: the texts are made for tokenizers alone.
    let (description_text, schema_text) = if reads_text(estimator) {
        (counted_text(description), schema_text(schema))
    } else {
        (Cow::Borrowed(""), Cow::Borrowed(""))
    };
    let mut weight = Weight::new(estimator);
    weight.description.add(description_bytes, || Cow::Borrowed(&*description_text));
    weight.schema.add(schema_bytes, || Cow::Borrowed(&*schema_text));
    weight.add_whole(name_bytes + description_bytes + schema_bytes, &name, &description_text, &schema_text);
    for (tally, value) in [
        (&mut weight.title, definition.title),
        (&mut weight.output_schema, definition.output_schema),
        (&mut weight.annotations, definition.annotations),
        (&mut weight.icons, definition.icons),
        (&mut weight.meta, definition.meta),
        (&mut weight.execution, definition.execution),
    ] {
        if let Some(value) = value {
            tally.add(counted_len(Some(value)), || counted_text(Some(value)));
        }
    }
    Measured { name: name.into_owned(), name_bytes, weight, anomalies }
}

/// Measures what is no definition at all: its whole text is counted as if it were a schema, because it is served.
pub(super) fn opaque<'e>(
    text: &str,
    kind: AnomalyKind,
    detail: Option<String>,
    estimator: &'e dyn Estimator,
) -> Measured<'e> {
    let mut weight = Weight::new(estimator);
    weight.schema.add(text.len() as u64, || Cow::Borrowed(text));
    weight.add_whole(text.len() as u64, "", "", text);
    Measured { name: String::new(), name_bytes: 0, weight, anomalies: vec![(kind, detail)] }
}

fn find_anomalies(definition: &Definition<'_, '_>, out: &mut Vec<(AnomalyKind, Option<String>)>) {
    let mut wrong = |member: &str, value: Option<Value<'_, '_>>, kinds: &[Kind]| {
        if value.is_some_and(|value| !kinds.contains(&value.kind())) {
            out.push((AnomalyKind::WrongType, Some(member.to_owned())));
        }
    };
    wrong("name", definition.name, &[Kind::String]);
    wrong("title", definition.title, &[Kind::String]);
    wrong("description", definition.description, &[Kind::String, Kind::Null]);
    wrong("inputSchema", definition.input_schema, &[Kind::Object, Kind::Bool]);
    wrong("outputSchema", definition.output_schema, &[Kind::Object, Kind::Null]);
    wrong("annotations", definition.annotations, &[Kind::Object, Kind::Null]);
    wrong("icons", definition.icons, &[Kind::Array, Kind::Null]);
    wrong("_meta", definition.meta, &[Kind::Object, Kind::Null]);
    wrong("execution", definition.execution, &[Kind::Object, Kind::Null]);
    if definition.name.is_none() {
        out.push((AnomalyKind::MissingName, None));
    }
    if definition.description.is_none_or(|value| value.is_null()) {
        out.push((AnomalyKind::MissingDescription, None));
    }
    match definition.input_schema {
        None if definition.server_type.is_none() => out.push((AnomalyKind::MissingSchema, None)),
        Some(schema) if schema.kind() == Kind::Bool => out.push((AnomalyKind::BooleanSchema, None)),
        _ => {}
    }
    let mut keys: Vec<_> = definition.value.entries().filter_map(|entry| entry.key.as_str()).collect();
    keys.sort_unstable();
    let mut repeated: Vec<_> =
        keys.windows(2).filter(|pair| pair.first() == pair.last()).filter_map(|pair| pair.first()).collect();
    repeated.dedup();
    for key in repeated {
        out.push((AnomalyKind::DuplicateKey, Some(key.clone().into_owned())));
    }
}
