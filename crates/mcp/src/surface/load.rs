//! `load_tool_schemas`: the full definitions, by name, by server, or by what is to be done.

use super::call::Found;
use super::known::Known;
use super::reply::{Reply, names, short};
use super::{Access, Own, Surface, Target, Tool, ToolIx};
use bytes::Bytes;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;

/// The most bytes of definitions that one answer holds; a single definition is always whole. The largest of the public
/// servers that were measured has 98 tools in 100 KB; a model reads 128 KiB as some 30,000 tokens.
pub const LOADED_BYTES: usize = 128 * 1024;

/// How many tools are loaded for what is to be done.
const BY_QUERY: usize = 5;

/// For how many unknown names it is said what may have been meant, and how many remarks there are at most.
const EXPLAINED: usize = 10;
const REMARKS: usize = 50;

/// How many names are looked up in one call, and how many bytes of names a list may have.
const NAMES: usize = 500;
pub(super) const LISTING_BYTES: usize = 32 * 1024;

/// What a load answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// A `CallToolResult`, without `resultType`.
    pub result: Bytes,
    /// The tools whose full definition is in it.
    pub tools: Vec<ToolIx>,
}

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    tools: Vec<String>,
    servers: Vec<String>,
    query: Option<String>,
}

/// An answer on its way.
#[derive(Debug, Default)]
struct Gathered {
    tools: Vec<ToolIx>,
    seen: HashSet<ToolIx>,
    remarks: Vec<String>,
    /// The names that are nobody's; empty where a remark is about it.
    unknown: Vec<String>,
}

impl Gathered {
    fn add(&mut self, tool: ToolIx) {
        if self.seen.insert(tool) {
            self.tools.push(tool);
        }
    }
}

impl Surface {
    /// Answers `load_tool_schemas {tools?, server?, query?}`. Every definition is given in full each time it is asked for, once
    /// in an answer, in the order asked for; what could not be found is named with what may have been meant. Without
    /// arguments: the names by server.
    pub fn load(&self, arguments: &[u8]) -> Loaded {
        let asked = match asked(arguments) {
            Ok(asked) => asked,
            Err(what) => {
                let mut reply = Reply::of(&what);
                reply.push(" ").push(&self.load_usage());
                return Loaded { result: reply.error(), tools: Vec::new() };
            }
        };
        if asked.tools.is_empty() && asked.servers.is_empty() && asked.query.is_none() {
            return Loaded { result: self.listing(""), tools: Vec::new() };
        }
        let mut gathered = Gathered::default();
        for name in &asked.tools {
            self.gather_tool(name, &mut gathered);
        }
        for server in &asked.servers {
            self.gather_server(server, &mut gathered);
        }
        if let Some(query) = &asked.query {
            self.gather_query(query, &mut gathered);
        }
        self.loaded(gathered)
    }

    fn load_usage(&self) -> String {
        format!(
            "`{}` takes `tools` (a list of names), `server` (its label, for all of its tools) or `query` (what is to be done).",
            self.own_shown(Own::Load)
        )
    }

    fn gather_tool(&self, name: &str, gathered: &mut Gathered) {
        let found = self.lookup(name);
        match &found {
            Found::Target(Target::Tool(index)) => self.gather(*index, gathered),
            Found::Target(Target::Own(_)) => {
                gathered.remarks.push(format!("`{}` is listed with its schema.", short(name, 120)));
            }
            // Looking for names that are nearly right takes time, and many wrong ones have one cause.
            Found::Nothing if gathered.unknown.len() >= EXPLAINED => gathered.unknown.push(short(name, 120)),
            _ => {
                gathered.remarks.extend(self.not_found(name, &found));
                if found == Found::Nothing {
                    gathered.unknown.push(String::new());
                }
            }
        }
    }

    /// One tool, unless it may not be called.
    fn gather(&self, index: ToolIx, gathered: &mut Gathered) {
        match self.tool(index).map(|tool| tool.access) {
            Some(Access::Denied | Access::Quarantined) => {
                let why = self.why_not(index);
                let why = why.strip_prefix("Not run: ").unwrap_or(&why);
                gathered.remarks.push(format!("Not loaded: {why}"));
            }
            _ => gathered.add(index),
        }
    }

    fn gather_server(&self, label: &str, gathered: &mut Gathered) {
        let labels: Vec<&str> = self.servers().map(|(label, _)| label).collect();
        let wanted = label.trim();
        let exact = labels.iter().position(|known| *known == wanted);
        let found = exact.or_else(|| labels.iter().position(|known| known.eq_ignore_ascii_case(wanted)));
        let Some(server) = found else {
            gathered.remarks.push(format!(
                "There is no server `{}`. There are: {}.",
                short(wanted, 120),
                names(labels, 2_000)
            ));
            return;
        };
        let before = gathered.tools.len();
        let mut some = false;
        for (index, _) in self.all().filter(|(_, tool)| tool.server == server && callable(tool)) {
            some = true;
            gathered.add(index);
        }
        if !some && gathered.tools.len() == before {
            gathered.remarks.push(format!("Server `{}` has no tools here.", self.label(server)));
        }
    }

    fn gather_query(&self, query: &str, gathered: &mut Gathered) {
        let answer = self.rank(None, query, BY_QUERY);
        let hits: Vec<&str> = answer.hits.iter().map(|hit| hit.id.as_str()).collect();
        if hits.is_empty() || answer.abstains() {
            let mut remark = format!("No tool seems to do this: {}.", short(query, 120));
            if !hits.is_empty() {
                remark.push_str(&format!(" The nearest, not loaded: {}.", names(hits, 1_000)));
            }
            gathered.remarks.push(remark);
            return;
        }
        for hit in hits {
            if let Some(Target::Tool(index)) = self.resolve(hit) {
                gathered.add(index);
            }
        }
    }

    /// Writes the answer.
    fn loaded(&self, gathered: Gathered) -> Loaded {
        let mut reply = Reply::default();
        let mut tools = Vec::new();
        let mut left_out = Vec::new();
        for index in gathered.tools {
            let Some(tool) = self.tool(index) else { continue };
            let known = Known::of(&tool.full);
            let fits = tools.is_empty() || reply.len() + known.rendered().len() <= LOADED_BYTES;
            if !fits || !left_out.is_empty() {
                left_out.push(tool.shown.as_str());
                continue;
            }
            reply.line().push_escaped(known.rendered());
            tools.push(index);
        }
        if !left_out.is_empty() {
            reply.line().push(&format!(
                "Left out, because one answer holds {} KiB: {}. Ask for them by name in `tools`.",
                LOADED_BYTES / 1024,
                names(left_out, 8_000)
            ));
        }
        for remark in gathered.remarks.iter().take(REMARKS) {
            reply.line().push(remark);
        }
        let unknown: Vec<&str> =
            gathered.unknown.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        if !unknown.is_empty() {
            reply.line().push(&format!("Nor is there: {}.", names(unknown, 4_000)));
        }
        for line in self.absent() {
            reply.line().push(&line);
        }
        let result = if tools.is_empty() { reply.error() } else { reply.done() };
        Loaded { result, tools }
    }

    /// The names of all tools that can be called, by server, below a line that says why.
    pub(super) fn listing(&self, why: &str) -> Bytes {
        let mut reply = Reply::of(why);
        let labels: Vec<&str> = self.servers().map(|(label, _)| label).collect();
        let share = LISTING_BYTES / labels.len().max(1);
        for (server, label) in labels.iter().enumerate() {
            let tools = self.all().filter(|(_, tool)| tool.server == server && callable(tool));
            let mut tools = tools.map(|(_, tool)| tool.shown.as_str()).peekable();
            if tools.peek().is_none() {
                continue;
            }
            let label = short(label, 120);
            reply.line().push(&format!("{label}: {}", names(tools, share)));
        }
        if !self.all().any(|(_, tool)| callable(tool)) {
            reply.line().push("There are no tools.");
        } else {
            reply.line().push(&self.load_usage());
        }
        for line in self.absent() {
            reply.line().push(&line);
        }
        reply.done()
    }
}

/// Whether a tool can be called.
pub(super) fn callable(tool: &Tool) -> bool {
    matches!(tool.access, Access::Eager | Access::Deferred)
}

/// Reads the arguments; also as strings, because some models write lists so.
fn asked(arguments: &[u8]) -> Result<Asked, String> {
    let value: Json = match serde_json::from_slice(arguments) {
        Ok(value) => value,
        Err(_) => return Err("The arguments are not JSON.".to_owned()),
    };
    let map = match value {
        Json::Object(map) => map,
        Json::Null => Map::new(),
        _ => return Err("The arguments are no object.".to_owned()),
    };
    let mut asked = Asked::default();
    for (key, value) in &map {
        match key.as_str() {
            "tools" => asked.tools = texts(key, value)?,
            "server" => asked.servers = texts(key, value)?,
            "query" => asked.query = texts(key, value)?.into_iter().next(),
            _ => return Err(format!("There is no argument `{}`.", short(key, 80))),
        }
    }
    Ok(asked)
}

/// One text or a list of texts.
fn texts(key: &str, value: &Json) -> Result<Vec<String>, String> {
    let text = |value: &Json| match value {
        Json::String(text) => Ok(text.clone()),
        _ => Err(format!("`{key}` holds something that is no text.")),
    };
    let list: Vec<String> = match value {
        Json::Null => Vec::new(),
        Json::Array(list) => list.iter().take(NAMES).map(text).collect::<Result<_, _>>()?,
        Json::String(one) if key != "query" && one.trim_start().starts_with('[') => {
            let list: Result<Vec<String>, _> = serde_json::from_str(one);
            list.map_err(|_| format!("`{key}` is no list of texts."))?
        }
        Json::String(one) if key == "tools" => one.split(',').map(str::to_owned).collect(),
        value => vec![text(value)?],
    };
    Ok(list.into_iter().take(NAMES).filter(|text| !text.trim().is_empty()).collect())
}
