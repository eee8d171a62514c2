//! What a file is. The order is written in the help of `footprint`; keep the two alike.

use super::file::shown;
use super::place::Place;
use crate::args::KindArg;
use crate::exit::Trouble;
use deadweight_mcp::config;
use deadweight_wire::Dialect;
use deadweight_wire::definition::listed;
use deadweight_wire::json::{Document, Error, ErrorKind, Kind, Value};
use std::path::Path;

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// A list of tools.
    Tools,
    /// An MCP config.
    Config,
    /// A captured request.
    Request(Dialect),
}

/// What was found, and by which sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recognised {
    pub(crate) kind: TargetKind,
    /// For `--verbose`: why.
    pub(crate) because: &'static str,
}

/// What a person said about their files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hints {
    pub(crate) kind: Option<KindArg>,
    pub(crate) dialect: Option<Dialect>,
}

/// Tells what `bytes`, parsed to `document`, are.
pub(crate) fn recognise(
    path: &Path,
    bytes: &[u8],
    document: Result<Document<'_, '_>, Error>,
    hints: Hints,
) -> Result<Recognised, Trouble> {
    let found = |kind, because| Ok(Recognised { kind, because });
    if hints.kind == Some(KindArg::Config) {
        return match document {
            Ok(document) if config::detect(bytes).is_none() => Err(mismatch(
                path,
                KindArg::Config,
                "`mcpServers`, VS Code's `servers`, opencode's `mcp`, or Codex TOML",
                document.root(),
            )),
            _ => found(TargetKind::Config, "--as config"),
        };
    }
    if hints.kind.is_none() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return found(TargetKind::Config, "its name ends in .toml");
    }
    let root = match document {
        Ok(document) => document.root(),
        Err(_) if hints.kind.is_none() && config::detect(bytes).is_some() => {
            return found(TargetKind::Config, "it is a config with comments, or TOML");
        }
        Err(error) => return Err(not_json(path, bytes, error)),
    };
    if let Some(said) = hints
        .dialect
        .filter(|_| matches!(hints.kind, None | Some(KindArg::Request)) && root.kind() == Kind::Object)
    {
        fits(path, said, root)?;
    }
    match hints.kind {
        Some(KindArg::Tools) => match listed(root) {
            Some(_) => found(TargetKind::Tools, "--as tools"),
            None => Err(mismatch(
                path,
                KindArg::Tools,
                "an array of tools, or an object with `tools` or `result.tools`",
                root,
            )),
        },
        Some(KindArg::Request) => match hints
            .dialect
            .or_else(|| Dialect::of_shape(root.document()))
            .or_else(|| of_model(root).filter(|_| has_messages(root)))
        {
            Some(dialect) if root.kind() == Kind::Object => {
                found(TargetKind::Request(dialect), "--as request")
            }
            _ if has_messages(root) => Err(unclear_dialect(path)),
            _ => Err(mismatch(
                path,
                KindArg::Request,
                "an object with `messages`, `input` or `contents`",
                root,
            )),
        },
        Some(KindArg::Config | KindArg::Memory | KindArg::Skills) | None => by_shape(path, root, hints),
    }
}

fn by_shape(path: &Path, root: Value<'_, '_>, hints: Hints) -> Result<Recognised, Trouble> {
    let found = |kind, because| Ok(Recognised { kind, because });
    if let Some(dialect) = hints.dialect.filter(|_| root.kind() == Kind::Object) {
        return found(TargetKind::Request(dialect), "--dialect");
    }
    if root.kind() == Kind::Array || root.get("result").is_some_and(|result| result.get("tools").is_some()) {
        return match listed(root) {
            Some(_) => found(TargetKind::Tools, "it is a list of tools"),
            None => Err(unknown(path, root)),
        };
    }
    if root.get("jsonrpc").is_some()
        && let Some(error) = root.get("error")
    {
        let message = error.get("message").and_then(|message| message.as_str()).unwrap_or_default();
        return Err(Trouble::unmeasured("the target is a server's error, not a list of tools")
            .at("target", shown(path))
            .at("message", message)
            .attempt("ask the server again and keep the response of tools/list"));
    }
    let config =
        CONFIG_KEYS.iter().find(|(key, _)| root.get(key).is_some_and(|value| value.kind() == Kind::Object));
    if let Some((_, because)) = config
        && config::detect(root.document().bytes()).is_some()
    {
        return found(TargetKind::Config, because);
    }
    if let Some(dialect) = Dialect::of_shape(root.document()) {
        return found(TargetKind::Request(dialect), "it has the shape of a request");
    }
    if has_messages(root) {
        return match of_model(root) {
            Some(dialect) => found(TargetKind::Request(dialect), "it has messages, and its model is known"),
            None => Err(unclear_dialect(path)),
        };
    }
    if listed(root).is_some() {
        return found(TargetKind::Tools, "it has `tools`");
    }
    Err(unknown(path, root))
}

/// Whether a request can be of the dialect that is said. Where its shape does not tell, the word of the person does.
fn fits(path: &Path, said: Dialect, root: Value<'_, '_>) -> Result<(), Trouble> {
    let shape = Dialect::of_shape(root.document());
    let either = has_messages(root);
    let fits = match shape {
        Some(shape) => shape == said,
        None => either && matches!(said, Dialect::AnthropicMessages | Dialect::OpenaiChat),
    };
    if fits {
        return Ok(());
    }
    Err(Trouble::usage(format!("the target is not what --dialect {said} says"))
        .at("target", shown(path))
        .at(
            "found",
            match shape {
                Some(shape) => format!("a request, {shape}"),
                None if either => "a request, anthropic-messages or openai-chat".to_owned(),
                None => described(root),
            },
        )
        .attempt("leave out --dialect to have it recognised"))
}

fn has_messages(root: Value<'_, '_>) -> bool {
    root.get("messages").is_some_and(|messages| messages.kind() == Kind::Array)
}

/// The dialect that a model is asked in, where messages alone do not tell. (A gateway may speak to Claude in
/// OpenAI's dialect; --dialect says so.)
fn of_model(root: Value<'_, '_>) -> Option<Dialect> {
    let model = root.get("model")?.as_str()?.to_ascii_lowercase();
    if model.starts_with("claude") {
        return Some(Dialect::AnthropicMessages);
    }
    ["gpt-", "chatgpt-", "o1", "o3", "o4"]
        .iter()
        .any(|known| model.starts_with(known))
        .then_some(Dialect::OpenaiChat)
}

fn unclear_dialect(path: &Path) -> Trouble {
    Trouble::unmeasured("the target is a request, but its shape does not tell of which dialect")
        .at("target", shown(path))
        .at("either", "anthropic-messages or openai-chat")
        .attempt("say which: --dialect anthropic-messages")
}

/// The members of a config that hold its servers, and how that is said.
const CONFIG_KEYS: [(&str, &str); 4] = [
    ("mcpServers", "it has `mcpServers`"),
    ("servers", "it has `servers`"),
    ("mcp", "it has `mcp`"),
    ("projects", "it has `projects` with servers"),
];

/// The error for a text that is not JSON, with the place and what stands there.
pub(crate) fn not_json(path: &Path, bytes: &[u8], error: Error) -> Trouble {
    if let Some((what, attempt)) = other_encoding(bytes) {
        return Trouble::unmeasured(what).at("target", shown(path)).attempt(attempt);
    }
    let place = Place::of(bytes, error.offset).in_file(&shown(path));
    let what = match error.kind {
        ErrorKind::InvalidUtf8 => "the target is not UTF-8",
        ErrorKind::UnexpectedEnd => "the target is JSON that ends too early",
        ErrorKind::TooLarge => "the target has 4 GiB or more",
        _ => "the target is not JSON",
    };
    let trouble = Trouble::unmeasured(what).at("at", place);
    match error.kind {
        ErrorKind::TooLarge => trouble,
        ErrorKind::InvalidUtf8 => {
            let byte = bytes.get(error.offset).copied().unwrap_or_default();
            trouble
                .at("reason", format!("the byte 0x{byte:02X} cannot stand there"))
                .attempt("save it as UTF-8")
        }
        ErrorKind::UnexpectedEnd => trouble.attempt("check that the capture was not cut off"),
        ErrorKind::TrailingData if next_line_is_json(bytes, error.offset) => {
            trouble.at("reason", error.kind_text()).attempt(
                "it looks like JSON Lines; price one line at a time: sed -n 1p FILE | deadweight footprint -",
            )
        }
        _ => trouble.at("reason", error.kind_text()).attempt(match bytes.trim_ascii_start().first() {
            Some(b'{' | b'[') => "correct the JSON there",
            _ => "if it is a command, put it after `--`; if it is a TOML config, say --as config",
        }),
    }
}

/// A text that is no UTF-8 from its first bytes on: what it is, and what to do about it.
fn other_encoding(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [b'{' | b'[', 0, ..] | [0, b'{' | b'[', ..] => Some((
            "the target is UTF-16, not UTF-8",
            "save it as UTF-8 (PowerShell: Set-Content -Encoding utf8; else: iconv -f UTF-16 -t UTF-8)",
        )),
        [0x1F, 0x8B, ..] => Some((
            "the target is compressed with gzip",
            "unpack it on the way: gzip -dc FILE | deadweight footprint -",
        )),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some((
            "the target is compressed with zstd",
            "unpack it on the way: zstd -dc FILE | deadweight footprint -",
        )),
        _ => None,
    }
}

fn next_line_is_json(bytes: &[u8], offset: usize) -> bool {
    matches!(bytes.get(offset), Some(b'{' | b'['))
        && bytes.get(..offset).and_then(|before| before.last()).is_some_and(|&byte| byte == b'\n')
}

/// The reason alone, without the offset that its own text names.
trait KindText {
    fn kind_text(&self) -> String;
}

impl KindText for Error {
    fn kind_text(&self) -> String {
        let text = self.to_string();
        text.rsplit_once(" (byte").map_or(text.clone(), |(reason, _)| reason.to_owned())
    }
}

fn mismatch(path: &Path, kind: KindArg, wanted: &str, root: Value<'_, '_>) -> Trouble {
    Trouble::usage(format!("the target is not what --as {} says", kind.word()))
        .at("target", shown(path))
        .at("wanted", wanted)
        .at("found", described(root))
        .attempt("leave out --as to have it recognised, or name another kind: tools, config, request, memory, skills")
}

fn unknown(path: &Path, root: Value<'_, '_>) -> Trouble {
    Trouble::unmeasured("the target is JSON, but neither tools, nor an MCP config, nor a request")
        .at("target", shown(path))
        .at("found", described(root))
        .attempt("give a tools/list dump, an MCP config or a captured request body; --as KIND settles doubt")
}

/// What a value is, in a few words.
fn described(root: Value<'_, '_>) -> String {
    match root.kind() {
        Kind::Object => {
            let keys: Vec<String> = root
                .entries()
                .take(6)
                .filter_map(|entry| entry.key.as_str())
                .map(|key| format!("`{key}`"))
                .collect();
            let more = root.entries().nth(6).is_some();
            match keys.is_empty() {
                true => "an empty object".to_owned(),
                false => format!("an object with {}{}", keys.join(", "), if more { ", …" } else { "" }),
            }
        }
        Kind::Array => match root.elements().next() {
            Some(first) => format!("an array that starts with {}", described_shallow(first)),
            None => "an empty array".to_owned(),
        },
        _ => described_shallow(root).to_owned(),
    }
}

fn described_shallow(value: Value<'_, '_>) -> &'static str {
    match value.kind() {
        Kind::Null => "null",
        Kind::Bool => "true or false",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}

impl TargetKind {
    /// What it is called in a sentence.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Tools => "a list of tools".to_owned(),
            Self::Config => "an MCP config".to_owned(),
            Self::Request(dialect) => format!("a captured request, {dialect}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_wire::json::Parser;

    fn told(path: &str, text: &str, hints: Hints) -> Result<TargetKind, String> {
        Parser::new().scope(text.as_bytes(), |document| {
            recognise(Path::new(path), text.as_bytes(), document, hints)
                .map(|recognised| recognised.kind)
                .map_err(|trouble| trouble.what)
        })
    }

    #[test]
    fn the_written_order_holds() {
        use Dialect::{AnthropicMessages, GeminiGenerate, OpenaiChat, OpenaiResponses};
        use TargetKind::{Config, Request, Tools};
        for (path, text, kind) in [
            // 3. TOML by its name, whatever is in it.
            ("config.toml", r#"{"tools":[]}"#, Config),
            // 4. Arrays and responses are lists.
            ("x.json", "[]", Tools),
            ("x.json", r#"[{"name":"a"}]"#, Tools),
            ("x.json", r#"[{"type":"function","function":{"name":"a"}}]"#, Tools),
            ("x.json", r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#, Tools),
            ("x.json", r#"{"result":{"tools":[{"name":"a"}]},"mcpServers":{"a":{"command":"x"}}}"#, Tools),
            // 5. Servers make a config, even beside a list.
            ("x.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#, Config),
            ("x.json", r#"{"mcpServers":{}}"#, Config),
            ("x.json", r#"{"servers":{"a":{"command":"x"}},"inputs":[]}"#, Config),
            ("x.json", r#"{"mcp":{"a":{"type":"local","command":["x"]}}}"#, Config),
            ("x.json", r#"{"mcpServers":{"a":{"command":"x"}},"tools":[]}"#, Config),
            ("x", "// servers\n{\"mcpServers\":{\"a\":{\"command\":\"x\"},},}", Config),
            ("x", "[mcp_servers.a]\ncommand = \"x\"\n", Config),
            // 6. Requests, by the signs of their dialects; their tools do not make them lists.
            ("x.json", r#"{"system":"s","messages":[],"tools":[{"name":"a"}]}"#, Request(AnthropicMessages)),
            ("x.json", r#"{"messages":[{"role":"developer","content":"x"}]}"#, Request(OpenaiChat)),
            (
                "x.json",
                r#"{"model":"claude-x","messages":[{"role":"user","content":"x"}]}"#,
                Request(AnthropicMessages),
            ),
            (
                "x.json",
                r#"{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}"#,
                Request(OpenaiChat),
            ),
            ("x.json", r#"{"input":"x","tools":[]}"#, Request(OpenaiResponses)),
            ("x.json", r#"{"contents":[],"tools":[]}"#, Request(GeminiGenerate)),
            // Anthropic's connector names servers in an array: no config.
            ("x.json", r#"{"messages":[],"mcp_servers":[{"url":"x"}]}"#, Request(AnthropicMessages)),
            // 7. What is left with tools.
            ("x.json", r#"{"tools":[{"name":"a"}],"nextCursor":"b"}"#, Tools),
            ("x.json", r#"{"tools":[]}"#, Tools),
        ] {
            assert_eq!(told(path, text, Hints::default()), Ok(kind), "{path}: {text}");
        }
    }

    #[test]
    fn what_is_said_comes_first() {
        let body = r#"{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a"}]}"#;
        let said = |kind, dialect| told("x.json", body, Hints { kind, dialect });
        assert_eq!(said(Some(KindArg::Tools), None), Ok(TargetKind::Tools));
        let chat = Some(Dialect::OpenaiChat);
        assert_eq!(said(None, chat), Ok(TargetKind::Request(Dialect::OpenaiChat)));
        assert_eq!(said(Some(KindArg::Request), chat), Ok(TargetKind::Request(Dialect::OpenaiChat)));
        assert!(said(Some(KindArg::Config), None).is_err());
        assert!(said(Some(KindArg::Request), None).unwrap_err().contains("does not tell of which dialect"));
        assert!(said(None, None).unwrap_err().contains("does not tell of which dialect"));
        for wrong in [Dialect::GeminiGenerate, Dialect::OpenaiResponses] {
            assert!(said(None, Some(wrong)).unwrap_err().contains("not what --dialect"), "{wrong}");
        }
        let toml = Hints { kind: Some(KindArg::Tools), dialect: None };
        assert_eq!(told("x.toml", "[]", toml), Ok(TargetKind::Tools));
    }

    #[test]
    fn what_is_nothing_is_said_to_be_nothing() {
        for text in ["{}", "1", "null", "\"x\"", "[1]", r#"{"tools":{}}"#, r#"{"servers":["a"]}"#] {
            assert!(told("x.json", text, Hints::default()).is_err(), "{text}");
        }
    }
}
