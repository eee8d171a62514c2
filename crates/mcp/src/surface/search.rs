//! `search_tools`: which tools do what is to be done.

use super::reply::{Reply, names, short};
use super::sentence::first_sentence;
use super::{Own, Surface, Target, Tool};
use bytes::Bytes;
use deadweight_wire::definition::Definition;
use deadweight_wire::json::Parser;
use serde_json::Value as Json;

/// How many hits are given unless a number is asked for, and how many at most.
const HITS: usize = 5;
const MOST: usize = 50;

/// How many bytes of an answer are hits, and how many those of one tool's arguments.
const HITS_BYTES: usize = 16 * 1024;
const ARGUMENTS_BYTES: usize = 160;

/// How many tools are named when none seems to fit.
const NEAREST: usize = 3;

impl Surface {
    /// Answers `search_tools {query, server?, limit?}`: tools with the first sentence of what they say of themselves and the
    /// names of their arguments. When nothing seems to fit it says so, and names the nearest as what they are. Without a query:
    /// the names by server.
    pub fn search(&self, arguments: &[u8]) -> Bytes {
        let value: Json = serde_json::from_slice(arguments).unwrap_or_default();
        let text = |key: &str| value.get(key).and_then(Json::as_str).map(str::trim).unwrap_or_default();
        let query = text("query");
        if query.is_empty() {
            let wrong = value.get("query").is_some_and(|query| !query.is_string() && !query.is_null());
            if wrong || !(value.is_object() || value.is_null()) {
                let name = self.own_shown(Own::Search);
                return Reply::of(&format!("`{name}` takes {{\"query\": …}}: in words, what is to be done."))
                    .error();
            }
            return self.listing("");
        }
        let limit = match value.get("limit") {
            Some(Json::Number(number)) => number.as_u64(),
            Some(Json::String(number)) => number.trim().parse().ok(),
            _ => None,
        };
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(HITS).clamp(1, MOST);
        let server = match text("server") {
            "" => None,
            label => match self.servers().position(|(known, _)| known.eq_ignore_ascii_case(label)) {
                Some(server) => Some(server),
                None => {
                    let labels = names(self.servers().map(|(label, _)| label), 2_000);
                    let label = short(label, 120);
                    return Reply::of(&format!("There is no server `{label}`. There are: {labels}.")).error();
                }
            },
        };
        self.hits(query, server, limit)
    }

    fn hits(&self, query: &str, server: Option<usize>, limit: usize) -> Bytes {
        let answer = self.rank(server, query, limit);
        let tool = |id: &str| match self.resolve(id) {
            Some(Target::Tool(index)) => self.tool(index),
            _ => None,
        };
        let hits: Vec<&Tool> = answer.hits.iter().filter_map(|hit| tool(&hit.id)).collect();
        let near = answer.did_you_mean.iter().filter_map(|near| tool(&near.id));
        let near: Vec<&str> = near.map(|tool| tool.shown.as_str()).take(NEAREST).collect();
        let mut reply = Reply::default();
        if hits.is_empty() || answer.abstains() {
            let nearest: Vec<&str> = if near.is_empty() {
                hits.iter().take(NEAREST).map(|tool| tool.shown.as_str()).collect()
            } else {
                near
            };
            let none = format!("No tool seems to do this: {}.", short(query, 120));
            if nearest.is_empty() {
                return self.listing(&format!("{none} There are:"));
            }
            reply.push(&none);
            reply.line().push("The nearest, which may be of no use: ").push(&names(nearest, 1_000)).push(".");
        } else {
            for hit in hits {
                let line = line(hit);
                if reply.len() + line.len() > HITS_BYTES {
                    break;
                }
                reply.line().push(&line);
            }
            let (load, call) = (self.own_shown(Own::Load), self.own_shown(Own::Call));
            let lists = |own: Own| self.own().iter().any(|tool| tool.own == own);
            if lists(Own::Load) && lists(Own::Call) {
                reply.line().push(&format!("Schemas: `{load}`. Calls: `{call}`."));
            }
        }
        for line in self.absent() {
            reply.line().push(&line);
        }
        reply.done()
    }
}

/// A tool in one line.
fn line(tool: &Tool) -> String {
    let (sentence, arguments) = Parser::new().scope(&tool.definition, |document| {
        let Ok(document) = document else { return (String::new(), Vec::new()) };
        let definition = Definition::read(document.root());
        let description = definition.description.and_then(|text| text.as_str()).unwrap_or_default();
        let schema = definition.input_schema;
        let required: Vec<String> = schema
            .and_then(|schema| schema.get("required"))
            .into_iter()
            .flat_map(|required| required.elements())
            .filter_map(|name| name.as_str().map(std::borrow::Cow::into_owned))
            .collect();
        let properties = schema.and_then(|schema| schema.get("properties"));
        let name = |name: std::borrow::Cow<'_, str>| {
            if required.iter().any(|required| **required == *name) {
                name.into_owned()
            } else {
                format!("{name}?")
            }
        };
        let arguments: Vec<String> = properties
            .into_iter()
            .flat_map(|properties| properties.entries())
            .filter_map(|entry| entry.key.as_str().map(name))
            .collect();
        (first_sentence(&description), arguments)
    });
    let mut line = tool.shown.clone();
    if !sentence.is_empty() {
        line.push_str(": ");
        line.push_str(&sentence);
    }
    if !arguments.is_empty() {
        line.push_str(" (");
        line.push_str(&names(arguments.iter().map(String::as_str), ARGUMENTS_BYTES));
        line.push(')');
    }
    line
}
