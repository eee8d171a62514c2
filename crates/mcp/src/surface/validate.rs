//! Arguments held against the real schema, without trust in either.
//!
//! Nothing is fetched. Patterns are run by an engine that does not backtrack; those that need look-around by one that gives
//! up. What would take too long is not begun. `format` is a remark, as it is by default in the draft that MCP uses.

use super::cost::cost;
use super::reply::short;
use super::schema::Schema;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value as Json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many violations are told, and how long each may be.
const TOLD: usize = 8;
const TOLD_BYTES: usize = 240;

/// The size of one compiled pattern, in bytes, and how often one that looks around may try.
const PATTERN: usize = 256 * 1024;
const TRIES: usize = 20_000;

/// What violations may hold in copies of the arguments, in bytes. Where they could hold more, they are not told one by one.
const COPIES: usize = 64 << 20;

/// What holding arguments against a schema came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checked {
    /// They fit.
    Valid,
    /// They do not; in words, one violation each.
    Violations(Vec<String>),
    /// It cannot be said, and why.
    Unable(&'static str),
}

/// A schema made ready.
#[derive(Debug)]
pub(super) struct Compiled(Validator);

impl Schema {
    /// Whether arguments fit.
    pub(super) fn check(&self, arguments: &[u8]) -> Checked {
        let value: Json = match serde_json::from_slice(arguments) {
            // Some clients write none so.
            Ok(Json::Null) => Json::Object(Map::new()),
            Ok(value) => value,
            Err(_) => {
                return Checked::Unable("the arguments hold numbers, escapes or levels beyond what is read");
            }
        };
        if !value.is_object() {
            return Checked::Violations(vec![format!("the arguments must be an object, not {}", a(&value))]);
        }
        let Some(cost) = cost(self, &value) else {
            return Checked::Unable("the schema asks for too much work");
        };
        let compiled = match self.compiled.get_or_init(|| compile(self)) {
            Ok(compiled) => compiled,
            Err(why) => return Checked::Unable(why),
        };
        // The engines below are not ours, and the schema is anybody's.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let told = cost.copies.saturating_mul(arguments.len()) <= COPIES;
            compiled.check(&value, told)
        }));
        let mut violations = match checked {
            Ok(Ok(violations)) => violations,
            Ok(Err(why)) => return Checked::Unable(why),
            Err(_) => return Checked::Unable("the schema breaks the validator"),
        };
        violations.extend(self.unknown(&value));
        if violations.is_empty() { Checked::Valid } else { Checked::Violations(bounded(violations)) }
    }

    /// The members of the top level that the schema does not know, unless it says itself what becomes of such.
    fn unknown(&self, value: &Json) -> Vec<String> {
        let mut known = Members::default();
        self.members(self.root(), &mut known, 0);
        if known.open || !known.closed {
            return Vec::new();
        }
        let members = value.as_object().into_iter().flat_map(Map::keys);
        members
            .filter(|name| !known.names.contains(&name.as_str()))
            .map(|name| stranger(name, &known.names))
            .collect()
    }

    /// The names of properties that a schema and its parts know.
    fn members<'s>(&'s self, schema: &'s Json, known: &mut Members<'s>, depth: usize) {
        let Json::Object(map) = schema else { return };
        if depth > 16 {
            known.open = true;
            return;
        }
        let says = ["additionalProperties", "patternProperties", "unevaluatedProperties"];
        known.open |= says.iter().any(|key| map.contains_key(*key));
        if let Some(Json::Object(properties)) = map.get("properties") {
            known.closed = true;
            known.names.extend(properties.keys().map(String::as_str));
        }
        if let Some(reference) = map.get("$ref").and_then(Json::as_str) {
            match self.resolve(reference) {
                Some(target) => self.members(target, known, depth + 1),
                None => known.open = true,
            }
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for part in map.get(key).and_then(Json::as_array).into_iter().flatten() {
                self.members(part, known, depth + 1);
            }
        }
        for key in ["if", "then", "else"] {
            if let Some(part) = map.get(key) {
                self.members(part, known, depth + 1);
            }
        }
        for key in ["dependentSchemas", "dependencies"] {
            for part in map.get(key).and_then(Json::as_object).into_iter().flat_map(Map::values) {
                self.members(part, known, depth + 1);
            }
        }
    }
}

/// The members that a schema knows.
#[derive(Debug, Default)]
struct Members<'s> {
    names: Vec<&'s str>,
    /// Whether it names any. A schema that names none takes whatever comes.
    closed: bool,
    /// Whether it says itself what becomes of others.
    open: bool,
}

impl Compiled {
    /// The violations; `Err` when it cannot be said.
    fn check(&self, value: &Json, told: bool) -> Result<Vec<String>, &'static str> {
        if self.0.is_valid(value) {
            return Ok(Vec::new());
        }
        if !told {
            return Ok(vec!["the arguments do not fit the schema".to_owned()]);
        }
        let mut out = Vec::new();
        for error in self.0.iter_errors(value).take(TOLD + 1) {
            if gave_up(&error) {
                return Err("a pattern of the schema takes too long");
            }
            tell(&error, 0, &mut out);
        }
        if out.is_empty() {
            out.push("the arguments do not fit the schema".to_owned());
        }
        Ok(out)
    }
}

/// Makes a schema ready.
fn compile(schema: &Schema) -> Result<Compiled, &'static str> {
    let options =
        || jsonschema::options().with_draft(schema.draft()).offline().should_validate_formats(false);
    let straight = PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN);
    let looking =
        PatternOptions::fancy_regex().backtrack_limit(TRIES).size_limit(PATTERN).dfa_size_limit(PATTERN);
    let built = catch_unwind(AssertUnwindSafe(|| {
        let first = options().with_pattern_options(straight).build(schema.root());
        first.or_else(|_| options().with_pattern_options(looking).build(schema.root()))
    }));
    match built {
        Ok(Ok(validator)) => Ok(Compiled(validator)),
        Ok(Err(_)) => Err("the schema is not one that can be read"),
        Err(_) => Err("the schema breaks the validator"),
    }
}

/// Whether the engine of patterns gave up.
fn gave_up(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. } => true,
        ValidationErrorKind::PropertyNames { error } => gave_up(error),
        _ => false,
    }
}

/// Puts a violation into words.
fn tell(error: &ValidationError<'_>, depth: usize, out: &mut Vec<String>) {
    let instance = error.instance();
    let what = match error.kind() {
        ValidationErrorKind::Required { property } => format!("{property} is missing"),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            out.extend(unexpected.iter().map(|name| at(error, &stranger(name, &[]))));
            return;
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(many) => {
                    many.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("must be {wanted}, is {}", a(instance))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            let options: Vec<String> = options.iter().map(|option| short(&option.to_string(), 60)).collect();
            let options = super::reply::names(options.iter().map(String::as_str), 160);
            format!("must be one of {options}; is {}", a(instance))
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("must be {}, is {}", short(&expected_value.to_string(), 80), a(instance))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }
            if depth < 4 =>
        {
            // Where all alternatives but one are of another type, that one is meant.
            let path = error.instance_path();
            let mut meant = context.iter().filter(|errors| {
                !errors.iter().any(|one| {
                    matches!(one.kind(), ValidationErrorKind::Type { .. }) && one.instance_path() == path
                })
            });
            match (meant.next(), meant.next()) {
                (Some(errors), None) if !errors.is_empty() => {
                    errors.iter().take(TOLD).for_each(|error| tell(error, depth + 1, out));
                    return;
                }
                _ => format!("fits none of {} alternatives; is {}", context.len(), a(instance)),
            }
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            format!("fits more than one alternative, and may fit only one; is {}", a(instance))
        }
        ValidationErrorKind::FalseSchema => "must not be there".to_owned(),
        ValidationErrorKind::Not { .. } => format!("must not be {}", a(instance)),
        ValidationErrorKind::PropertyNames { error } => format!("a name of a member is wrong: {error}"),
        _ => format!("{}", error.masked_with(a(instance))),
    };
    out.push(at(error, &what));
}

/// A violation with its place.
fn at(error: &ValidationError<'_>, what: &str) -> String {
    let path = error.instance_path().as_str();
    if path.is_empty() { what.to_owned() } else { format!("{}: {what}", short(path, 120)) }
}

/// An unknown member, and what may have been meant.
fn stranger(name: &str, known: &[&str]) -> String {
    let plain = |name: &str| -> String {
        name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let meant = known.iter().find(|known| plain(known) == plain(name));
    let name = Json::from(short(name, 80));
    match meant {
        Some(meant) => format!("{name} is unknown; did you mean {}?", Json::from(*meant)),
        None => format!("{name} is unknown"),
    }
}

/// A value in few words.
fn a(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => format!("the boolean {value}"),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) => format!("the string {}", Json::from(short(text, 40))),
        Json::Array(elements) => format!("an array of {}", elements.len()),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// Not too many, and none too long.
fn bounded(mut violations: Vec<String>) -> Vec<String> {
    let more = violations.len().saturating_sub(TOLD);
    violations.truncate(TOLD);
    let mut out: Vec<String> = violations.iter().map(|text| short(text, TOLD_BYTES)).collect();
    if more > 0 {
        out.push("more of the kind".to_owned());
    }
    out
}
