//! Surfaces to ask, and what they answered.

use bytes::Bytes;
use deadweight_lock::Lock;
use deadweight_mcp::surface::{
    Choice, Client, Input, Kept, Prepared, ServerTools, Settings, Surface, Target, ToolIx, ToolState,
};
use serde_json::{Value, json};

/// A surface in the making.
pub(crate) struct Case {
    pub(crate) settings: Settings,
    pub(crate) servers: Vec<(String, Vec<Bytes>, ToolState)>,
    pub(crate) lock: Option<Lock>,
    pub(crate) aggregate: bool,
}

impl Case {
    pub(crate) fn one(tools: Vec<Bytes>) -> Self {
        let settings = Settings { budget: 0, surface: Choice::Stubs, ..Settings::default() };
        Self {
            settings,
            servers: vec![("one".to_owned(), tools, ToolState::Ready)],
            lock: None,
            aggregate: false,
        }
    }

    pub(crate) fn many(servers: &[(&str, Vec<Bytes>)]) -> Self {
        let ready =
            |(label, tools): &(&str, Vec<Bytes>)| ((*label).to_owned(), tools.clone(), ToolState::Ready);
        Self { servers: servers.iter().map(ready).collect(), aggregate: true, ..Self::one(Vec::new()) }
    }

    pub(crate) fn and(mut self, label: &str, state: ToolState) -> Self {
        self.servers.push((label.to_owned(), Vec::new(), state));
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(crate) fn surface(&self) -> Surface {
        let servers: Vec<ServerTools<'_>> = self
            .servers
            .iter()
            .map(|(label, tools, state)| ServerTools { label, tools, state: state.clone() })
            .collect();
        Surface::new(&Input {
            settings: &self.settings,
            client: Client::default(),
            servers: &servers,
            lock: self.lock.as_ref(),
            aggregate: self.aggregate,
            kept: &Kept::default(),
        })
    }
}

/// A definition of this schema and these annotations.
pub(crate) fn tool(name: &str, schema: &Value, annotations: &Value) -> Bytes {
    let description = format!("Does what {name} says. Then tells at length what became of it.");
    let tool = json!({
        "name": name, "description": description, "inputSchema": schema, "annotations": annotations,
    });
    Bytes::from(tool.to_string())
}

/// A definition that says nothing about harm, as long as the answers that tests want.
pub(crate) fn long(name: &str, bytes: usize) -> Bytes {
    let schema = json!({"type": "object", "properties": {"argument": {"type": "string", "description": "x".repeat(bytes)}}});
    tool(name, &schema, &json!({}))
}

/// A surface of one read-only tool `t` of this schema.
pub(crate) fn reading(schema: &Value) -> Surface {
    Case::one(vec![tool("t", schema, &json!({"readOnlyHint": true}))]).surface()
}

pub(crate) fn index(surface: &Surface, name: &str) -> ToolIx {
    match surface.resolve(name) {
        Some(Target::Tool(index)) => index,
        other => unreachable!("{name}: {other:?}"),
    }
}

/// The text of a result, and whether it is an error.
pub(crate) fn read(result: &[u8]) -> (String, bool) {
    let value: Value = serde_json::from_slice(result).unwrap();
    let content = value["content"].as_array().unwrap();
    assert_eq!(content.len(), 1, "{value}");
    assert_eq!(content[0]["type"], "text");
    (content[0]["text"].as_str().unwrap().to_owned(), value["isError"].as_bool().unwrap())
}

/// The definitions among the lines of a text.
pub(crate) fn definitions(text: &str) -> Vec<Value> {
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What becomes of a call of the tool `t`.
pub(crate) fn call(surface: &Surface, arguments: &str, loaded: bool) -> Prepared {
    surface.prepare(index(surface, "t"), Some(arguments.as_bytes()), loaded)
}

/// The text of an answer in the place of a run.
pub(crate) fn answered(prepared: Prepared) -> String {
    match prepared {
        Prepared::Answer { result } => {
            let (text, is_error) = read(&result);
            assert!(is_error);
            text
        }
        Prepared::Run { .. } => unreachable!("it runs"),
    }
}

/// The arguments with which a call runs, where they are not those given.
pub(crate) fn ran(prepared: Prepared) -> Option<String> {
    match prepared {
        Prepared::Run { arguments } => arguments.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()),
        Prepared::Answer { result } => unreachable!("it does not run: {}", read(&result).0),
    }
}
