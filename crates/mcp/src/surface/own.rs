//! Our own tools, as they are listed: few words, no state, the same bytes every time.

use super::stub::quoted;
use bytes::Bytes;

/// A tool of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Own {
    /// `load_tool_schemas`: full definitions by name, server or what is to be done.
    Load,
    /// `search_tools`: names of tools that fit.
    Search,
    /// `call_tool`: calls a tool that is not listed.
    Call,
    /// `read_result`: pages through a result that was cut.
    ReadResult,
}

impl Own {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::Search, Self::Load, Self::Call, Self::ReadResult];

    /// Its name, unless a server has a tool of that name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load_tool_schemas",
            Self::Search => "search_tools",
            Self::Call => "call_tool",
            Self::ReadResult => "read_result",
        }
    }

    /// Its entry in the list, under the name it has there. `aggregate`: whether there are servers to choose from.
    pub(crate) fn definition(self, shown: &str, aggregate: bool) -> Bytes {
        let (description, properties, required) = match (self, aggregate) {
            (Self::Load, false) => (LOAD, LOAD_ONE, ""),
            (Self::Load, true) => (LOAD, LOAD_MANY, ""),
            (Self::Search, _) => (SEARCH, SEARCH_PROPERTIES, r#","required":["query"]"#),
            (Self::Call, _) => (CALL, CALL_PROPERTIES, r#","required":["name","arguments"]"#),
            (Self::ReadResult, _) => (READ, READ_PROPERTIES, r#","required":["id"]"#),
        };
        // What a call may do is what any tool behind it may do.
        let annotations = match self {
            Self::Call => {
                r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}"#
            }
            Self::Load | Self::Search | Self::ReadResult => r#"{"readOnlyHint":true}"#,
        };
        Bytes::from(format!(
            r#"{{"name":{},"description":{},"inputSchema":{{"type":"object","properties":{{{properties}}}{required}}},"annotations":{annotations}}}"#,
            quoted(shown),
            quoted(description),
        ))
    }
}

const LOAD: &str = "Returns the full schemas of tools listed without parameters; load all you need at once. \
    A call with wrong arguments returns it too.";
const LOAD_ONE: &str = r#""tools":{"type":"array","items":{"type":"string"}},"query":{"type":"string","description":"what to do"}"#;
const LOAD_MANY: &str = r#""tools":{"type":"array","items":{"type":"string"}},"server":{"type":"string"},"query":{"type":"string","description":"what to do"}"#;

const SEARCH: &str = "Finds tools by what is to be done. Returns names and purposes.";
const SEARCH_PROPERTIES: &str =
    r#""query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":50}"#;

const CALL: &str = "Calls a tool by name. Load its schema first.";
const CALL_PROPERTIES: &str =
    r#""name":{"type":"string"},"arguments":{"type":"object","additionalProperties":true}"#;

const READ: &str = "Reads on in a result that was cut.";
const READ_PROPERTIES: &str = r#""id":{"type":"string","description":"from the cut result"},"offset":{"type":"integer","minimum":0,"description":"in bytes"}"#;
