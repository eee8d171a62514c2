//! Arguments that were written as strings, as what they are meant to be.
//!
//! Who has not seen a schema writes `"10"` for 10 and `"[1]"` for `[1]`. A string is taken for what it spells where the
//! schema cannot accept a string there and leaves one type to choose (beside `null`), and where the string is the JSON text
//! of a value of that type. Everything else stays byte for byte.
//!
//! What a schema accepts is guessed too widely rather than too narrowly: where it is not understood, it accepts anything.
//! So a value that is valid as it is never changes.

use super::schema::Schema;
use bytes::Bytes;
use deadweight_wire::json::{Kind, Parser, Value};
use deadweight_wire::splice::Edits;
use jsonschema::Draft;
use serde_json::Value as Json;

/// How often the text of a string may hold strings in its turn. Each time its escapes double, so no text goes deeper.
const ROUNDS: usize = 32;

/// How many steps are taken for one call. A schema or arguments that want more are left alone.
const STEPS: usize = 300_000;

/// How deep references and combinations are followed at one place.
const DEPTH: usize = 32;

impl Schema {
    /// The arguments with every string spelt out that this schema leaves no choice about. `None` when there is none, or when
    /// the arguments are not JSON.
    pub(super) fn coerce(&self, arguments: &[u8]) -> Option<Bytes> {
        let mut out: Option<Vec<u8>> = None;
        for _ in 0..ROUNDS {
            match self.round(out.as_deref().unwrap_or(arguments)) {
                Some(better) => out = Some(better),
                None => break,
            }
        }
        out.map(Bytes::from)
    }

    fn round(&self, arguments: &[u8]) -> Option<Vec<u8>> {
        memchr::memchr(b'"', arguments)?;
        let mut reader = Reader { schema: self, steps: 0 };
        Parser::new()
            .scope(arguments, |document| {
                let document = document.ok()?;
                let mut edits = Edits::new(document);
                let mut open = vec![(document.root(), View::One(self.root()))];
                while let Some((value, view)) = open.pop() {
                    match value.kind() {
                        Kind::String => {
                            if let Some(text) = spelt(value, reader.types(&view, 0)) {
                                edits.replace(value, text);
                            }
                        }
                        Kind::Object => {
                            for entry in value.entries() {
                                let Some(key) = entry.key.as_str() else { continue };
                                open.push((entry.value, reader.below(&view, value, Step::Key(&key), 0)));
                            }
                        }
                        Kind::Array => {
                            for (index, element) in value.elements().enumerate() {
                                open.push((element, reader.below(&view, value, Step::Index(index), 0)));
                            }
                        }
                        Kind::Null | Kind::Bool | Kind::Number => {}
                    }
                    if reader.steps > STEPS {
                        return None;
                    }
                }
                (!edits.is_empty()).then(|| edits.apply(&mut Parser::new()).ok()).flatten()
            })
            .map(deadweight_wire::splice::Spliced::into_bytes)
    }
}

/// What a string spells, if that is a value of the one type that is accepted.
fn spelt(value: Value<'_, '_>, accepted: Types) -> Option<String> {
    if accepted.has(Types::STRING) || value.has_lone_surrogate() {
        return None;
    }
    let text = value.as_str()?;
    if text == "null" && accepted.has(Types::NULL) {
        return Some(text.into_owned());
    }
    let wanted = match accepted.without(Types::NULL) {
        Types::NUMBER => is_number(&text, |number| number.is_finite()),
        // `1.0` and `1e3` are integers to a schema, and not to many servers.
        Types::INTEGER => is_number(&text, |_| !text.contains(['.', 'e', 'E'])),
        Types::BOOL => matches!(&*text, "true" | "false"),
        Types::OBJECT => is_json(text.trim(), Kind::Object),
        Types::ARRAY => is_json(text.trim(), Kind::Array),
        _ => false,
    };
    wanted.then(|| text.trim().to_owned())
}

/// Whether a text is a number as JSON spells it.
fn is_number(text: &str, fits: impl Fn(f64) -> bool) -> bool {
    text.starts_with(|char: char| char == '-' || char.is_ascii_digit())
        && text.ends_with(|char: char| char.is_ascii_digit())
        && is_json(text, Kind::Number)
        && text.parse().is_ok_and(fits)
}

fn is_json(text: &str, kind: Kind) -> bool {
    Parser::new()
        .scope(text.as_bytes(), |document| document.is_ok_and(|document| document.root().kind() == kind))
}

/// A set of JSON types. Numbers are integers and fractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Types(u8);

impl Types {
    const NONE: Self = Self(0);
    const INTEGER: Self = Self(1);
    const NUMBER: Self = Self(1 | 2);
    const STRING: Self = Self(4);
    const BOOL: Self = Self(8);
    const NULL: Self = Self(16);
    const OBJECT: Self = Self(32);
    const ARRAY: Self = Self(64);
    const ALL: Self = Self(127);

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The types that a `type` keyword names.
    fn named(value: &Json) -> Self {
        match value {
            Json::String(name) => match name.as_str() {
                "integer" => Self::INTEGER,
                "number" => Self::NUMBER,
                "string" => Self::STRING,
                "boolean" => Self::BOOL,
                "null" => Self::NULL,
                "object" => Self::OBJECT,
                "array" => Self::ARRAY,
                _ => Self::ALL,
            },
            Json::Array(names) => names.iter().map(Self::named).fold(Self::NONE, Self::or),
            _ => Self::ALL,
        }
    }

    /// The type of a value.
    fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            // An integer may be written as a fraction, and the other way round.
            Json::Number(number) if number.is_f64() && number.as_f64().is_some_and(|n| n.fract() != 0.0) => {
                Self::NUMBER
            }
            Json::Number(_) => Self::INTEGER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }
}

/// What is demanded of a value at one place.
#[derive(Debug, Clone)]
enum View<'s> {
    One(&'s Json),
    All(Vec<View<'s>>),
    Any(Vec<View<'s>>),
}

/// The way from a container to what it holds.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

struct Reader<'s> {
    schema: &'s Schema,
    steps: usize,
}

impl<'s> Reader<'s> {
    /// The types that are accepted, or more.
    fn types(&mut self, view: &View<'s>, depth: usize) -> Types {
        self.steps += 1;
        if depth > DEPTH || self.steps > STEPS {
            return Types::ALL;
        }
        match view {
            View::One(schema) => self.types_of(schema, depth),
            View::All(views) => {
                views.iter().fold(Types::ALL, |types, view| types.and(self.types(view, depth + 1)))
            }
            View::Any(views) => {
                views.iter().fold(Types::NONE, |types, view| types.or(self.types(view, depth + 1)))
            }
        }
    }

    fn types_of(&mut self, schema: &'s Json, depth: usize) -> Types {
        self.steps += 1;
        if depth > DEPTH || self.steps > STEPS {
            return Types::ALL;
        }
        let map = match schema {
            Json::Bool(false) => return Types::NONE,
            Json::Object(map) => map,
            _ => return Types::ALL,
        };
        let mut types = Types::ALL;
        if let Some(reference) = map.get("$ref").and_then(Json::as_str) {
            if let Some(target) = self.schema.resolve(reference) {
                types = self.types_of(target, depth + 1);
            }
            if self.schema.ref_stands_alone() {
                return types;
            }
        }
        if let Some(named) = map.get("type") {
            types = types.and(Types::named(named));
        }
        if let Some(Json::Array(values)) = map.get("enum") {
            self.steps += values.len();
            types = types.and(values.iter().map(Types::of).fold(Types::NONE, Types::or));
        }
        if let Some(value) = map.get("const").filter(|_| self.schema.draft() != Draft::Draft4) {
            types = types.and(Types::of(value));
        }
        for all in list(map.get("allOf")) {
            types = types.and(self.types_of(all, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Json::Array(any)) = map.get(key) {
                let any = any.iter().fold(Types::NONE, |types, one| types.or(self.types_of(one, depth + 1)));
                types = types.and(any);
            }
        }
        types
    }

    /// What is demanded of what stands at `step` in `container`, of which `view` is demanded.
    fn below(&mut self, view: &View<'s>, container: Value<'_, '_>, step: Step<'_>, depth: usize) -> View<'s> {
        self.steps += 1;
        if depth > DEPTH || self.steps > STEPS {
            return View::All(Vec::new());
        }
        match view {
            View::One(schema) => self.below_one(schema, container, step, depth),
            View::All(views) => {
                View::All(views.iter().map(|view| self.below(view, container, step, depth + 1)).collect())
            }
            View::Any(views) => {
                View::Any(views.iter().map(|view| self.below(view, container, step, depth + 1)).collect())
            }
        }
    }

    fn below_one(
        &mut self,
        schema: &'s Json,
        container: Value<'_, '_>,
        step: Step<'_>,
        depth: usize,
    ) -> View<'s> {
        self.steps += 1;
        let Json::Object(map) = schema else { return View::All(Vec::new()) };
        if depth > DEPTH || self.steps > STEPS {
            return View::All(Vec::new());
        }
        let mut all = Vec::new();
        if let Some(reference) = map.get("$ref").and_then(Json::as_str) {
            if let Some(target) = self.schema.resolve(reference) {
                all.push(self.below_one(target, container, step, depth + 1));
            }
            if self.schema.ref_stands_alone() {
                return View::All(all);
            }
        }
        all.extend(self.own(map, step).map(View::One));
        for one in list(map.get("allOf")) {
            all.push(self.below_one(one, container, step, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Json::Array(branches)) = map.get(key) {
                let mut any = Vec::new();
                for branch in branches {
                    if !self.contradicts(branch, container, depth + 1) {
                        any.push(self.below_one(branch, container, step, depth + 1));
                    }
                }
                all.push(View::Any(any));
            }
        }
        if all.len() == 1 {
            return all.pop().unwrap_or(View::All(Vec::new()));
        }
        View::All(all)
    }

    /// What a schema itself demands there.
    fn own(&self, map: &'s serde_json::Map<String, Json>, step: Step<'_>) -> Option<&'s Json> {
        match step {
            Step::Key(key) => match map.get("properties").and_then(|properties| properties.get(key)) {
                Some(property) => Some(property),
                // A pattern may fit the key; then `additionalProperties` is not about it.
                None if map.contains_key("patternProperties") => None,
                None => map.get("additionalProperties"),
            },
            Step::Index(index) => {
                let first = match self.schema.draft() {
                    Draft::Draft202012 => map.get("prefixItems"),
                    _ => None,
                };
                match (first, map.get("items")) {
                    (Some(Json::Array(first)), _) if index < first.len() => first.get(index),
                    (_, Some(Json::Array(tuple))) => tuple.get(index).or_else(|| map.get("additionalItems")),
                    (_, items) => items,
                }
            }
        }
    }

    /// Whether a container cannot be what a branch describes: it is of another type, or another value stands where the branch
    /// wants a certain one.
    fn contradicts(&mut self, branch: &'s Json, container: Value<'_, '_>, depth: usize) -> bool {
        self.steps += 1;
        if depth > DEPTH || self.steps > STEPS {
            return false;
        }
        let kind = if container.kind() == Kind::Array { Types::ARRAY } else { Types::OBJECT };
        if !self.types_of(branch, depth).has(kind) {
            return true;
        }
        if let Some(reference) = branch.get("$ref").and_then(Json::as_str) {
            let target = self.schema.resolve(reference);
            if target.is_some_and(|target| self.contradicts(target, container, depth + 1)) {
                return true;
            }
            if self.schema.ref_stands_alone() {
                return false;
            }
        }
        let Some(Json::Object(properties)) = branch.get("properties") else { return false };
        for (name, property) in properties {
            self.steps += 1;
            let certain = match (property.get("const"), property.get("enum")) {
                _ if property.get("$ref").is_some() => continue,
                (Some(value), _) if self.schema.draft() != Draft::Draft4 => std::slice::from_ref(value),
                (_, Some(Json::Array(values))) => values.as_slice(),
                _ => continue,
            };
            let Some(member) = container.get(name).filter(|member| member.kind() == Kind::String) else {
                continue;
            };
            self.steps += certain.len();
            if !certain.iter().any(|value| value.as_str().is_some_and(|text| member.is_str(text))) {
                return true;
            }
        }
        false
    }
}

fn list(value: Option<&Json>) -> &[Json] {
    match value {
        Some(Json::Array(list)) => list,
        _ => &[],
    }
}
