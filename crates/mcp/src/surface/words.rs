//! The tools of a surface as search reads them, and names that are nearly right.

use super::load::callable;
use super::meaning::Searched;
use super::{Surface, Target, Tool};
use deadweight_search::{Argument, Index, Near, Tool as Indexed};
use deadweight_wire::json::{Kind, Parser, Value};

/// How many arguments of one tool are read.
const ARGUMENTS: usize = 64;

/// How many near names are told.
const NEAR: usize = 3;

/// How many are looked at, so that those of the right server are among them.
const MANY: usize = 32;

/// How many words at the beginning of a name are tried as something that was put before it.
const PREFIXES: usize = 4;

impl Surface {
    /// The index of every tool that can be called; made when it is first asked for.
    pub fn index(&self) -> &Index {
        &self.searched().index
    }

    /// Every tool that can be called, as it is searched; made when it is first asked for.
    pub(super) fn searched(&self) -> &Searched {
        self.searched.get_or_init(|| self.searched_of(None))
    }

    /// The tools of one server, or of all, as they are searched.
    pub(super) fn searched_of(&self, server: Option<usize>) -> Searched {
        let mut parser = Parser::new();
        let wanted = |tool: &&Tool| callable(tool) && server.is_none_or(|server| server == tool.server);
        let tools = self.all().map(|(_, tool)| tool).filter(wanted).map(|tool| {
            let (description, arguments) = parser.scope(&tool.definition, |document| {
                let root = document.ok().map(|document| document.root());
                let description = root.and_then(|root| root.get("description")?.as_str());
                let schema = root.and_then(|root| root.get("inputSchema"));
                (description.unwrap_or_default().into_owned(), schema.map_or_else(Vec::new, arguments))
            });
            Indexed {
                id: tool.shown.clone(),
                server: self.label(tool.server).to_owned(),
                name: tool.name.clone(),
                description,
                arguments,
            }
        });
        Searched::new(tools, self.meaning.as_ref())
    }

    /// The names of this list that are nearly `name`, the nearest first. What stands before the tool's own name, a server's
    /// label or a client's prefix, may be right, wrong or missing; where it is right it counts.
    pub fn near(&self, name: &str) -> Vec<String> {
        let index = self.index();
        let mut found = index.near(name, MANY);
        let mut rest = name;
        let mut tries = 0;
        while found.is_empty()
            && tries < PREFIXES
            && let Some((_, after)) = rest.split_once(|char| "_-./:".contains(char))
        {
            rest = after.trim_start_matches('_');
            found = index.near(rest, MANY);
            tries += 1;
        }
        let before =
            name.strip_suffix(rest).unwrap_or_default().trim_end_matches(|char| "_-./:".contains(char));
        let elsewhere = |near: &Near| match self.resolve(&near.id) {
            Some(Target::Tool(tool)) if !before.is_empty() => {
                let label = self.tool(tool).map_or("", |tool| self.label(tool.server));
                label.is_empty() || !before.ends_with(label)
            }
            _ => true,
        };
        found.sort_by_key(|near| (near.distance, elsewhere(near)));
        found.into_iter().take(NEAR).map(|near| near.id).collect()
    }
}

/// The properties of a schema, however deep, each with its description.
fn arguments(schema: Value<'_, '_>) -> Vec<Argument> {
    let mut out = Vec::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        for entry in value.entries() {
            if entry.key.is_str("properties") {
                for property in entry.value.entries() {
                    let description = property.value.get("description").and_then(|text| text.as_str());
                    out.push(Argument {
                        name: property.key.as_str().unwrap_or_default().into_owned(),
                        description: description.unwrap_or_default().into_owned(),
                    });
                    if out.len() == ARGUMENTS {
                        return out;
                    }
                    open.push(property.value);
                }
            } else if matches!(entry.value.kind(), Kind::Object | Kind::Array) {
                open.push(entry.value);
            }
        }
        open.extend(value.elements());
    }
    out
}
