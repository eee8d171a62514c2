//! The tools of a surface as search reads them, and names that are nearly right.

use super::{Access, Surface};
use deadweight_search::{Argument, Index, Tool};
use deadweight_wire::json::{Kind, Parser, Value};

/// How many arguments of one tool are read.
const ARGUMENTS: usize = 64;

/// How many near names are told.
const NEAR: usize = 3;

impl Surface {
    /// The index of every tool that can be called; made when it is first asked for.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::new();
            let mut parser = Parser::new();
            for (_, tool) in self.all() {
                if matches!(tool.access, Access::Denied | Access::Quarantined) {
                    continue;
                }
                let (description, arguments) = parser.scope(&tool.definition, |document| {
                    let root = document.ok().map(|document| document.root());
                    let description = root.and_then(|root| root.get("description")?.as_str());
                    let schema = root.and_then(|root| root.get("inputSchema"));
                    (description.unwrap_or_default().into_owned(), schema.map_or_else(Vec::new, arguments))
                });
                index.add(&Tool {
                    id: tool.shown.clone(),
                    server: self.label(tool.server).to_owned(),
                    name: tool.name.clone(),
                    description,
                    arguments,
                });
            }
            index
        })
    }

    /// The names of this list that are nearly `name`, the nearest first.
    pub fn near(&self, name: &str) -> Vec<String> {
        self.index().near(name, NEAR).into_iter().map(|near| near.id).collect()
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
