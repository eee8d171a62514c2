//! JSON written in every way it may be written.

use deadweight_testkit::layouts::text::Seed;
use proptest::prelude::*;

/// A JSON value whose objects keep their order and may hold a key twice.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    /// `null`, a bool or a number, as its text.
    Plain(&'static str),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object that is written as it stands.
    Object(Vec<(String, Json)>),
    /// An object that the dialect reads: its members may be written in any order, among members nobody
    /// knows, after members of the same name that do not count.
    Read(Vec<(&'static str, Json)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Plain("null"),
            serde_json::Value::Bool(true) => Self::Plain("true"),
            serde_json::Value::Bool(false) => Self::Plain("false"),
            serde_json::Value::Number(_) => Self::Plain("17"),
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Array(all) => Self::List(all.iter().map(Self::from).collect()),
            serde_json::Value::Object(all) => {
                Self::Object(all.iter().map(|(key, value)| (key.clone(), value.into())).collect())
            }
        }
    }
}

/// Writes JSON in a manner that a seed fixes.
#[derive(Debug)]
pub(crate) struct Writer {
    seed: Seed,
    /// The text so far.
    pub(crate) out: String,
    /// Whether [`Json::Read`] objects are shuffled and padded, white space and escapes are strewn in.
    wild: bool,
    /// The keys written twice.
    pub(crate) twice: usize,
}

impl Writer {
    /// Compact, everything as it stands.
    pub(crate) const fn plain() -> Self {
        Self { seed: Seed::new(0), out: String::new(), wild: false, twice: 0 }
    }

    /// Every freedom that JSON leaves.
    pub(crate) const fn wild(seed: u64) -> Self {
        Self { seed: Seed::new(seed), out: String::new(), wild: true, twice: 0 }
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.wild && self.seed.below(one_in) == 0
    }

    fn space(&mut self) {
        while self.chance(3) {
            self.out.push([' ', '\n', '\t', '\r'][self.seed.below(4)]);
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        let escape_some = self.chance(3);
        for letter in text.chars() {
            if (escape_some && self.chance(4)) || letter < ' ' || matches!(letter, '"' | '\\') {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    self.out.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                self.out.push(letter);
            }
        }
        self.out.push('"');
    }

    fn member(&mut self, key: &str, value: &Json, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(',');
        }
        self.space();
        self.text(key);
        self.space();
        self.out.push(':');
        self.write(value);
    }

    /// Writes a value with white space around it.
    pub(crate) fn write(&mut self, value: &Json) {
        self.space();
        match value {
            Json::Plain(text) => self.out.push_str(text),
            Json::Text(text) => self.text(text),
            Json::List(all) => {
                self.out.push('[');
                for (at, element) in all.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.write(element);
                }
                self.space();
                self.out.push(']');
            }
            Json::Object(all) => {
                self.out.push('{');
                let mut first = true;
                for (key, value) in all {
                    self.member(key, value, &mut first);
                }
                self.space();
                self.out.push('}');
            }
            Json::Read(all) => {
                self.out.push('{');
                let mut order: Vec<_> = all.iter().collect();
                if self.wild {
                    for at in (1..order.len()).rev() {
                        order.swap(at, self.seed.below(at + 1));
                    }
                }
                let mut first = true;
                for (at, (key, value)) in order.into_iter().enumerate() {
                    if self.chance(4) {
                        let nobody_knows = Json::List(vec![Json::Plain("1e400"), "x".into()]);
                        self.member(&format!("x_{at}"), &nobody_knows, &mut first);
                    }
                    if self.chance(8) {
                        let overruled = [Json::Plain("null"), Json::List(vec![]), "overruled".into()];
                        let pick = self.seed.below(overruled.len());
                        self.member(key, &overruled[pick], &mut first);
                        self.twice += 1;
                    }
                    self.member(key, value, &mut first);
                }
                self.space();
                self.out.push('}');
            }
        }
        self.space();
    }
}

/// `value` in compact JSON.
pub(crate) fn plain(value: &Json) -> String {
    let mut writer = Writer::plain();
    writer.write(value);
    writer.out
}

/// Keys that some dialect reads.
const KEYS: &[&str] = &[
    "model",
    "system",
    "messages",
    "tools",
    "contents",
    "input",
    "instructions",
    "type",
    "role",
    "content",
    "parts",
    "text",
    "name",
    "id",
    "tool_use_id",
    "call_id",
    "tool_calls",
    "function",
    "arguments",
    "output",
    "source",
    "data",
    "url",
    "image_url",
    "file",
    "cache_control",
    "ttl",
    "defer_loading",
    "tool",
    "definition",
    "tool_changes",
    "namespace",
    "parameters",
    "input_schema",
    "description",
    "functionDeclarations",
    "functionCall",
    "functionResponse",
    "response",
    "inlineData",
    "mimeType",
    "thought",
    "summary",
    "encrypted_content",
    "previous_response_id",
    "request",
    "systemInstruction",
    "reasoning_content",
    "custom",
    "outputs",
    "error",
    "title",
    "tool_references",
    "server_label",
    "refusal",
    "function_call",
    "anything",
];

/// Strings that mean something to some dialect.
const TEXTS: &[&str] = &[
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
    "model",
    "text",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "search_result",
    "tool_reference",
    "tool_addition",
    "tool_definition",
    "compaction",
    "web_fetch_tool_result",
    "web_fetch_result",
    "tool_search_tool_result",
    "tool_search_tool_search_result",
    "base64",
    "url",
    "file",
    "content",
    "message",
    "additional_tools",
    "namespace",
    "tool_search_output",
    "mcp_list_tools",
    "reasoning",
    "function_call",
    "function_call_output",
    "item_reference",
    "computer_call_output",
    "shell_call_output",
    "mcp_call",
    "input_text",
    "input_image",
    "response.create",
    "ephemeral",
    "1h",
    "image/png",
    "",
    "漢字 \"\\\n",
    "custom",
    "web_search",
    "something",
];

/// JSON built from the words of the dialects, nested in any way.
pub(crate) fn from_their_words() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        prop::sample::select(&["null", "true", "false", "0", "-1.5e3"][..]).prop_map(Json::Plain),
        prop::sample::select(TEXTS).prop_map(Json::from),
    ];
    leaf.prop_recursive(7, 96, 6, |inner| {
        let key = prop::sample::select(KEYS).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::List),
            prop::collection::vec((key, inner), 0..6).prop_map(Json::Object),
        ]
    })
}
