//! JSON-RPC messages: the few that are sent, and the reading of whatever comes back.
//!
//! A message is parsed once. What is kept of it are slices of its own bytes, so that a tool definition
//! stays exactly as it was sent.

use bytes::Bytes;
use deadweight_wire::json::{Document, Kind, Parser, Value};

/// The newest protocol version of the legacy era, offered in `initialize`.
pub(crate) const LEGACY_VERSION: &str = "2025-11-25";
/// The protocol version of the modern era.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
/// Every version known here.
pub(crate) const KNOWN_VERSIONS: [&str; 6] =
    ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", LEGACY_VERSION, MODERN_VERSION];
/// JSON-RPC: the method does not exist.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// One of the requests made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The handshake of the legacy era.
    Initialize,
    /// The question for versions and capabilities of the modern era.
    Discover,
    /// A page of tools.
    ListTools,
}

impl Ask {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
            Self::ListTools => "tools/list",
        }
    }
}

/// A request on its way.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) ask: Ask,
    /// The message, one line without its end.
    pub(crate) body: Bytes,
    /// The protocol version that goes into the HTTP header, once there is one.
    pub(crate) version: Option<String>,
    /// Whether it is a request of the modern era.
    pub(crate) modern: bool,
}

/// `_meta` of the modern era, with its key.
fn modern_meta() -> String {
    format!(
        concat!(
            r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","#,
            r#""io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
        ),
        MODERN_VERSION,
        client_info()
    )
}

fn client_info() -> &'static str {
    concat!(r#"{"name":"deadweight","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#)
}

impl Request {
    fn new(id: u64, ask: Ask, params: &str, version: Option<String>, modern: bool) -> Self {
        let method = ask.method();
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        Self { id, ask, body: body.into(), version, modern }
    }

    /// No capability is declared: some servers hide or add tools by what the client can do, and a client
    /// that promises nothing gets what every client gets.
    pub(crate) fn initialize(id: u64) -> Self {
        let params = format!(
            r#"{{"protocolVersion":"{LEGACY_VERSION}","capabilities":{{}},"clientInfo":{}}}"#,
            client_info()
        );
        Self::new(id, Ask::Initialize, &params, None, false)
    }

    pub(crate) fn discover(id: u64) -> Self {
        let params = format!("{{{}}}", modern_meta());
        Self::new(id, Ask::Discover, &params, Some(MODERN_VERSION.to_owned()), true)
    }

    /// `cursor` is the JSON string as the server wrote it.
    pub(crate) fn list_tools(id: u64, cursor: Option<&str>, version: &str, modern: bool) -> Self {
        let cursor = cursor.map(|raw| format!(r#""cursor":{raw}"#));
        let meta = modern.then(modern_meta);
        let members: Vec<String> = cursor.into_iter().chain(meta).collect();
        Self::new(id, Ask::ListTools, &format!("{{{}}}", members.join(",")), Some(version.to_owned()), modern)
    }
}

/// `notifications/initialized`.
pub(crate) fn initialized() -> Bytes {
    Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
}

/// The answer to a request of the server: there is nobody here to ask, no model and no folder.
pub(crate) fn reply(id: &[u8], method: &str) -> Bytes {
    let outcome = match method {
        "ping" => r#""result":{}"#,
        "roots/list" => r#""result":{"roots":[]}"#,
        _ => r#""error":{"code":-32601,"message":"Method not found"}"#,
    };
    let mut body = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    body.extend_from_slice(id);
    body.push(b',');
    body.extend_from_slice(outcome.as_bytes());
    body.push(b'}');
    body.into()
}

/// One message from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// The answer to the request that is waited for.
    Answer(Answer),
    /// An answer to something else.
    Stray,
    /// A request; `id` is its raw JSON.
    Request { id: Bytes, method: String },
    /// A notification.
    Notification,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Handshake(Handshake),
    Page(Page),
    Error(RpcError),
    /// It has the form of an answer, but not the content.
    Malformed(String),
}

/// What a server says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Handshake {
    /// The version chosen (legacy), or the versions offered (modern).
    pub(crate) versions: Vec<String>,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) instructions: Option<String>,
    /// Whether the capability `tools` is declared.
    pub(crate) tools: bool,
}

/// One page of tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Name and raw definition of each tool; no name where it is no definition with one.
    pub(crate) tools: Vec<(Option<String>, Bytes)>,
    /// What is wrong with the first that has none.
    pub(crate) fault: Option<String>,
    /// The raw JSON string of the next page's cursor.
    pub(crate) next: Option<Bytes>,
    /// Bytes of the message that it came in, which all of its slices keep in memory.
    pub(crate) size: usize,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    /// `data.supported`, the protocol versions that the server knows.
    pub(crate) supported: Vec<String>,
}

/// Why bytes are no message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoMessage {
    /// They have nothing to do with the protocol.
    Noise,
    /// They are meant to be a message, and broken.
    Broken { offset: usize, utf8: bool, detail: String },
}

/// Reads the bytes of one message, or of a batch of them, while `waiting` is waited for.
pub(crate) fn read(
    parser: &mut Parser,
    bytes: &Bytes,
    waiting: Option<&Request>,
) -> Result<Vec<Incoming>, NoMessage> {
    parser.scope(bytes, |parsed| match parsed {
        Ok(document) => classify(bytes, document, waiting),
        Err(_) if !is_meant_as_message(bytes) => Err(NoMessage::Noise),
        Err(error) => Err(NoMessage::Broken {
            offset: error.offset,
            utf8: error.kind == deadweight_wire::json::ErrorKind::InvalidUtf8,
            detail: without_offset(&error.to_string()),
        }),
    })
}

/// The parser's words without its ` (byte N)`: the offset is told apart from them.
fn without_offset(detail: &str) -> String {
    detail.split(" (byte ").next().unwrap_or_default().to_owned()
}

/// Whether a text that does not parse was meant to be protocol rather than talk.
fn is_meant_as_message(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    matches!(text.first(), Some(b'{' | b'[')) && memchr::memmem::find(text, b"\"jsonrpc\"").is_some()
}

/// Where in a line of noise a message begins: some programs write a line without ending it first.
pub(crate) fn message_within(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, b"{\"jsonrpc\"").filter(|at| *at > 0)
}

/// What a line of noise tells of messages that are not framed as MCP has it over standard streams, one on each
/// line: they never end there, and would be waited for in vain.
pub(crate) fn framing(line: &[u8]) -> Option<&'static str> {
    let line = line.trim_ascii();
    if let Some((name, length)) = line.split_at_checked(b"content-length:".len())
        && name.eq_ignore_ascii_case(b"content-length:")
        && length.trim_ascii().iter().all(u8::is_ascii_digit)
    {
        return Some(
            "it sends `Content-Length` headers, as language servers do; MCP has one message on each line",
        );
    }
    line.starts_with(b"\"jsonrpc\"").then_some("it spreads a message over several lines; MCP has one on each")
}

fn classify(
    bytes: &Bytes,
    document: Document<'_, '_>,
    waiting: Option<&Request>,
) -> Result<Vec<Incoming>, NoMessage> {
    let root = document.root();
    let batch: Vec<Value<'_, '_>> = match root.kind() {
        Kind::Object => vec![root],
        Kind::Array => root.elements().collect(),
        _ => return Err(NoMessage::Noise),
    };
    let read: Vec<Incoming> =
        batch.into_iter().filter_map(|message| classify_one(bytes, message, waiting)).collect();
    if read.is_empty() { Err(NoMessage::Noise) } else { Ok(read) }
}

fn classify_one(bytes: &Bytes, message: Value<'_, '_>, waiting: Option<&Request>) -> Option<Incoming> {
    let id = message.get("id").filter(|id| !id.is_null());
    let (result, error) = (message.get("result"), message.get("error"));
    if let Some(method) = message.get("method").and_then(|method| method.as_str()) {
        // Programs that log JSON to standard output have a `method` at times; they have no `jsonrpc`.
        message.get("jsonrpc")?;
        return Some(match id {
            Some(id) => Incoming::Request { id: slice(bytes, id), method: method.into_owned() },
            None => Incoming::Notification,
        });
    }
    if result.is_none() && error.is_none() {
        return message.get("jsonrpc").map(|_| Incoming::Stray);
    }
    if id.is_none() && message.get("jsonrpc").is_none() {
        return None;
    }
    let Some(request) = waiting.filter(|request| is_answer_to(id, error.is_some(), request.id)) else {
        return Some(Incoming::Stray);
    };
    Some(Incoming::Answer(match (error.filter(|error| !error.is_null()), result) {
        (Some(error), _) => Answer::Error(read_error(error)),
        (None, Some(result)) => read_result(bytes, result, request),
        (None, None) => Answer::Malformed("it holds neither a result nor an error".to_owned()),
    }))
}

/// Some servers write the id back as a string, or as a number with a fraction; an error without an id can only
/// be about the one request under way.
fn is_answer_to(id: Option<Value<'_, '_>>, error: bool, own: u64) -> bool {
    match id {
        Some(id) if id.kind() == Kind::Number => id.raw().parse() == Ok(own as f64),
        Some(id) => id.as_str().is_some_and(|text| text.parse() == Ok(own)),
        None => error,
    }
}

fn slice(bytes: &Bytes, value: Value<'_, '_>) -> Bytes {
    bytes.slice(value.span().range())
}

fn string(value: Option<Value<'_, '_>>) -> Option<String> {
    value.and_then(|value| value.as_str()).map(std::borrow::Cow::into_owned)
}

fn strings(value: Option<Value<'_, '_>>) -> Vec<String> {
    value.into_iter().flat_map(|list| list.elements()).filter_map(|item| string(Some(item))).collect()
}

fn read_error(error: Value<'_, '_>) -> RpcError {
    let code = error.get("code").and_then(|code| code.raw().parse::<f64>().ok()).unwrap_or(0.0);
    RpcError {
        // Codes are small integers; some servers write them with a fraction.
        code: code as i64,
        // Some servers send a string where the object should be.
        message: string(error.get("message")).or_else(|| string(Some(error))).unwrap_or_default(),
        supported: strings(error.get("data").and_then(|data| data.get("supported"))),
    }
}

fn read_result(bytes: &Bytes, result: Value<'_, '_>, request: &Request) -> Answer {
    if result.kind() != Kind::Object {
        return Answer::Malformed("its result is not an object".to_owned());
    }
    if let Some(kind) = result.get("resultType")
        && !kind.is_str("complete")
    {
        return Answer::Malformed(if kind.is_str("input_required") {
            "it asks a person for input".to_owned()
        } else {
            format!("its resultType is {}", crate::harmless::excerpt(kind.raw().as_bytes(), 40))
        });
    }
    match request.ask {
        Ask::Initialize | Ask::Discover => read_handshake(result, request.ask),
        Ask::ListTools => match read_page(bytes, result) {
            // What is measured is measured whole.
            Ok(Page { fault: Some(detail), .. }) | Err(detail) => Answer::Malformed(detail),
            Ok(page) => Answer::Page(page),
        },
    }
}

fn read_handshake(result: Value<'_, '_>, ask: Ask) -> Answer {
    let versions = match ask {
        Ask::Discover => strings(result.get("supportedVersions")),
        _ => string(result.get("protocolVersion")).into_iter().collect(),
    };
    if versions.is_empty() {
        return Answer::Malformed("it names no protocol version".to_owned());
    }
    // The modern era moved the server's name from the result into its `_meta`.
    let info = result.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
    let info = info.or_else(|| result.get("serverInfo"));
    Answer::Handshake(Handshake {
        versions,
        name: string(info.and_then(|info| info.get("name"))),
        version: string(info.and_then(|info| info.get("version"))),
        instructions: string(result.get("instructions")),
        tools: result
            .get("capabilities")
            .and_then(|capabilities| capabilities.get("tools"))
            .is_some_and(|tools| !tools.is_null()),
    })
}

/// Reads a page. One element that is no definition does not spoil the others.
pub(crate) fn read_page(bytes: &Bytes, result: Value<'_, '_>) -> Result<Page, String> {
    let list = result.get("tools").ok_or("it has no `tools`")?;
    if list.kind() != Kind::Array {
        return Err("its `tools` is not an array".to_owned());
    }
    let (mut tools, mut fault) = (Vec::new(), None);
    for (index, tool) in list.elements().enumerate() {
        let is_object = tool.kind() == Kind::Object;
        let name = string(tool.get("name")).filter(|_| is_object);
        if name.is_none() && fault.is_none() {
            let what = if is_object { "has no name" } else { "is not an object" };
            fault = Some(format!("tool {} {what}", index + 1));
        }
        tools.push((name, slice(bytes, tool)));
    }
    let next = match result.get("nextCursor") {
        None => None,
        Some(cursor) if cursor.is_null() => None,
        // Not an end by the letter of the protocol, but the one that every client takes it for.
        Some(cursor) if cursor.is_str("") => None,
        Some(cursor) if cursor.kind() == Kind::String => Some(slice(bytes, cursor)),
        Some(_) => return Err("its `nextCursor` is not a string".to_owned()),
    };
    Ok(Page { tools, fault, next, size: bytes.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(text: &str, waiting: Option<&Request>) -> Result<Vec<Incoming>, NoMessage> {
        read(&mut Parser::new(), &Bytes::copy_from_slice(text.as_bytes()), waiting)
    }

    fn list() -> Request {
        Request::list_tools(7, None, LEGACY_VERSION, false)
    }

    fn answer(text: &str) -> Answer {
        match read_one(text, Some(&list())).unwrap().pop() {
            Some(Incoming::Answer(answer)) => answer,
            other => panic!("no answer: {other:?}"),
        }
    }

    #[test]
    fn definitions_keep_their_bytes() {
        let tool = r#"{ "b":1e400,"name" : "caf\u00e9","inputSchema":true, "a":[ 1.0 ,{}] }"#;
        let text = format!(r#" {{"id":"7","result":{{"tools":[ {tool} ,{tool}],"nextCursor":"a\/b"}}}} "#);
        let Answer::Page(page) = answer(&text) else { panic!("no page") };
        assert_eq!(page.tools.len(), 2);
        assert_eq!(page.tools[1], (Some("café".to_owned()), Bytes::copy_from_slice(tool.as_bytes())));
        assert_eq!(page.next.as_deref(), Some(&br#""a\/b""#[..]));
        let next = Request::list_tools(8, Some(r#""a\/b""#), LEGACY_VERSION, false);
        assert_eq!(
            &next.body[..],
            br#"{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"a\/b"}}"#
        );
    }

    #[test]
    fn pages_that_are_none_say_why() {
        let malformed = |result: &str, expected: &str| {
            let found = answer(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#));
            assert_eq!(found, Answer::Malformed(expected.to_owned()));
        };
        malformed("[]", "its result is not an object");
        malformed("{}", "it has no `tools`");
        malformed(r#"{"tools":{}}"#, "its `tools` is not an array");
        malformed(r#"{"tools":[{"name":"a"},true]}"#, "tool 2 is not an object");
        malformed(r#"{"tools":[{"title":"a"}]}"#, "tool 1 has no name");
        malformed(r#"{"tools":[{"name":1}]}"#, "tool 1 has no name");
        malformed(r#"{"tools":[],"nextCursor":3}"#, "its `nextCursor` is not a string");
        malformed(r#"{"resultType":"input_required"}"#, "it asks a person for input");
        malformed(r#"{"resultType":"odd"}"#, "its resultType is \"odd\"");
    }

    #[test]
    fn ends_of_lists_come_in_three_forms() {
        for end in ["", r#","nextCursor":null"#, r#","nextCursor":"""#] {
            let Answer::Page(page) =
                answer(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"tools":[]{end}}}}}"#))
            else {
                panic!("no page")
            };
            assert_eq!(page.next, None);
        }
    }

    #[test]
    fn noise_is_told_from_broken_messages() {
        for noise in
            ["", "Server running", "{\"level\":30,\"method\":\"GET\"}", "[1,2]", "42", "{oops", "null"]
        {
            assert_eq!(read_one(noise, Some(&list())), Err(NoMessage::Noise), "{noise}");
        }
        let broken = read_one(r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[}"#, Some(&list()));
        assert!(matches!(broken, Err(NoMessage::Broken { offset: 43, utf8: false, .. })), "{broken:?}");
        let bytes = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff\"}");
        let broken = read(&mut Parser::new(), &bytes, None);
        assert!(matches!(broken, Err(NoMessage::Broken { offset: 34, utf8: true, .. })), "{broken:?}");
        assert_eq!(message_within(b"Starting... {\"jsonrpc\":1}"), Some(12));
        for framed in [&b"Content-Length: 12\r"[..], b"content-length:7", b"  \"jsonrpc\": \"2.0\","] {
            assert!(framing(framed).is_some());
        }
        for talk in [&b"Content-Length is 7"[..], b"Content-Length: 7 bytes", b"{", b"", b"jsonrpc ready"] {
            assert_eq!(framing(talk), None);
        }
    }

    #[test]
    fn everything_else_is_sorted() {
        let sorted = |text: &str| read_one(text, Some(&list())).unwrap();
        assert_eq!(sorted(r#"{"jsonrpc":"2.0","id":6,"result":{}}"#), [Incoming::Stray]);
        assert_eq!(
            sorted(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#),
            [Incoming::Notification]
        );
        assert_eq!(
            sorted(
                r#"[{"jsonrpc":"2.0","id":"x\n","method":"ping"},{"jsonrpc":"2.0","id":7,"error":{"code":-32601.0,"message":"no"}}]"#
            ),
            [
                Incoming::Request { id: Bytes::from_static(br#""x\n""#), method: "ping".into() },
                Incoming::Answer(Answer::Error(RpcError {
                    code: -32601,
                    message: "no".into(),
                    supported: vec![]
                })),
            ]
        );
        assert_eq!(
            answer(
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"v","data":{"supported":["a",1]}}}"#
            ),
            Answer::Error(RpcError { code: -32022, message: "v".into(), supported: vec!["a".into()] })
        );
    }

    #[test]
    fn replies_are_valid_json() {
        for method in ["ping", "roots/list", "sampling/createMessage"] {
            let body = reply(br#""id""#, method);
            assert!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["id"] == "id");
        }
        for request in
            [Request::initialize(1), Request::discover(2), Request::list_tools(3, Some("\"c\""), "v", true)]
        {
            serde_json::from_slice::<serde_json::Value>(&request.body).unwrap();
        }
    }
}
