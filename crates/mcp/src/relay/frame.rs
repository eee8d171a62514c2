//! One JSON-RPC message: its bytes, parsed once, and where in them the few members lie that a relay looks at.

use super::port::{Id, Kind};
use bytes::Bytes;
use deadweight_wire::json::{self, Parser, Value};
use deadweight_wire::splice::Edits;
use std::ops::Range;

/// A message and where its members lie. Nothing of it is ever written again: what is passed on are these bytes.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    bytes: Bytes,
    kind: Kind,
    error: bool,
    tool_error: bool,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    name: Option<String>,
    named_in_ref: bool,
    uri: Option<String>,
    arguments: Option<Range<usize>>,
    meta: Option<Range<usize>>,
    token: Option<Range<usize>>,
    request_id: Option<Range<usize>>,
    modern: bool,
    ambiguous: Option<&'static str>,
}

/// The members of a message, and of its `params`, by which it is judged or finds its way.
const ROUTING: [&str; 5] = ["id", "method", "params", "result", "error"];
const CALLING: [&str; 5] = ["name", "arguments", "uri", "ref", "_meta"];

/// Which of these keys a text is in another case. Some programs also take letters for the same that only look so: the long s,
/// the Kelvin sign.
fn in_other_case(key: &str, known: &[&'static str]) -> Option<&'static str> {
    if key.len() > 24 {
        return None;
    }
    let folded = || key.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    known.iter().copied().find(|known| folded().eq(known.chars()))
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoFrame {
    /// They are no JSON; at which byte, and what is wrong there.
    Json { offset: usize, detail: String },
    /// They are JSON, and no message; the id, if there is one.
    Shape { id: Option<Id> },
}

impl Frame {
    /// Reads one message, or each of an array of them.
    pub(crate) fn read(parser: &mut Parser, bytes: &Bytes) -> Result<Vec<Result<Self, NoFrame>>, NoFrame> {
        parser.scope(bytes, |document| {
            let document = match document {
                Ok(document) => document,
                Err(error) => return Err(NoFrame::Json { offset: error.offset, detail: error.to_string() }),
            };
            let root = document.root();
            if root.kind() == json::Kind::Array {
                let whole = root.elements();
                return Ok(whole.map(|value| Self::of(&bytes.slice(value.span().range()), value)).collect());
            }
            Ok(vec![Self::of(bytes, root)])
        })
    }

    /// Reads exactly one message.
    pub(crate) fn one(parser: &mut Parser, bytes: &Bytes) -> Result<Self, NoFrame> {
        Self::read(parser, bytes)?.pop().unwrap_or(Err(NoFrame::Shape { id: None }))
    }

    /// `bytes` are those of `value` (or of the text that is nothing but it).
    fn of(bytes: &Bytes, value: Value<'_, '_>) -> Result<Self, NoFrame> {
        // A text may have white space around its value; the bytes of an element begin where it does.
        let base = if bytes.len() == value.span().len() { value.span().start() } else { 0 };
        let at = |value: Value<'_, '_>| {
            let range = value.span().range();
            range.start - base..range.end - base
        };
        let slice = |value: Value<'_, '_>| bytes.slice(at(value));
        if value.kind() != json::Kind::Object {
            return Err(NoFrame::Shape { id: None });
        }
        // One walk over the members each of the message and of its `params`; of equal keys the last one counts.
        let (mut id, mut method, mut params, mut result, mut error) = (None, None, None, None, None);
        let mut ambiguous = None;
        for entry in value.entries() {
            let key = entry.key.as_str().unwrap_or_default();
            let place = match &*key {
                "id" => &mut id,
                "method" => &mut method,
                "params" => &mut params,
                "result" => &mut result,
                "error" => &mut error,
                other => {
                    ambiguous = ambiguous.or_else(|| in_other_case(other, &ROUTING));
                    continue;
                }
            };
            if place.replace(entry.value).is_some() {
                ambiguous = ambiguous.or_else(|| ROUTING.into_iter().find(|known| *known == key));
            }
        }
        let id_kind = id.map(|id: Value<'_, '_>| id.kind());
        let id = id.filter(|id| matches!(id.kind(), json::Kind::String | json::Kind::Number));
        if id.is_none() && id_kind.is_some_and(|kind| kind != json::Kind::Null) {
            // Nothing can be answered under such an id, and a request is not to pass for a notification.
            return Err(NoFrame::Shape { id: None });
        }
        let error = error.filter(|error: &Value<'_, '_>| !error.is_null());
        let kind = match (method.and_then(|method| method.as_str()), id) {
            (Some(method), Some(id)) => Kind::Request { id: slice(id), method: method.into_owned() },
            (Some(method), None) => Kind::Notification { method: method.into_owned() },
            (None, Some(id)) if result.is_some() || error.is_some() => Kind::Response { id: slice(id) },
            _ => return Err(NoFrame::Shape { id: id.map(slice) }),
        };
        let (mut name, mut uri, mut reference, mut meta) = (None, None, None, None);
        let (mut token, mut arguments, mut request_id) = (None, None, None);
        for entry in params.into_iter().flat_map(|params| params.entries()) {
            let key = entry.key.as_str().unwrap_or_default();
            let place = match &*key {
                "name" => &mut name,
                "uri" => &mut uri,
                "ref" => &mut reference,
                "_meta" => &mut meta,
                "progressToken" => &mut token,
                "arguments" => &mut arguments,
                "requestId" => &mut request_id,
                other => {
                    ambiguous = ambiguous.or_else(|| in_other_case(other, &CALLING));
                    continue;
                }
            };
            if place.replace(entry.value).is_some() {
                ambiguous = ambiguous.or_else(|| CALLING.into_iter().find(|known| *known == key));
            }
        }
        let in_reference = |key: &str| reference.and_then(|reference: Value<'_, '_>| reference.get(key));
        let text = |value: Option<Value<'_, '_>>| {
            value.and_then(|value| value.as_str()).map(|text| text.into_owned())
        };
        if !matches!(kind, Kind::Notification { .. }) {
            token = meta.and_then(|meta: Value<'_, '_>| meta.get("progressToken"));
        }
        Ok(Self {
            error: error.is_some(),
            tool_error: result.and_then(|result: Value<'_, '_>| result.get("isError")?.as_bool())
                == Some(true),
            params: params.map(at),
            result: result.map(at),
            named_in_ref: name.is_none(),
            name: text(name.or_else(|| in_reference("name"))),
            uri: text(uri.or_else(|| in_reference("uri"))),
            arguments: arguments.map(at),
            token: token.map(at),
            request_id: request_id.map(at),
            modern: meta.and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion")).is_some(),
            meta: meta.map(at),
            ambiguous,
            kind,
            bytes: bytes.clone(),
        })
    }

    /// The whole message.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// What it is.
    pub(crate) const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its method, if it has one.
    pub(crate) fn method(&self) -> Option<&str> {
        match &self.kind {
            Kind::Request { method, .. } | Kind::Notification { method } => Some(method),
            Kind::Response { .. } => None,
        }
    }

    /// The member by which it is judged, or finds its way, that stands in it twice or in another spelling of its letters. Of
    /// such members one program reads the first, another the last, and a third takes `Name` for `name`: what is judged here
    /// would not be what its server does.
    pub(crate) const fn ambiguous(&self) -> Option<&'static str> {
        self.ambiguous
    }

    /// Whether it is an answer that holds an error.
    pub(crate) const fn is_error(&self) -> bool {
        self.error
    }

    /// Whether it is an answer whose result says that a tool went wrong.
    pub(crate) const fn is_tool_error(&self) -> bool {
        self.tool_error
    }

    /// Whether it carries the protocol version that every request of 2026-07-28 has.
    pub(crate) const fn is_modern(&self) -> bool {
        self.modern
    }

    /// `params.name`, or the name in `params.ref`.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// `params.uri`, or the one in `params.ref`.
    pub(crate) fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
    }

    /// The raw `params`.
    pub(crate) fn params(&self) -> Option<Bytes> {
        self.slice(self.params.as_ref())
    }

    /// The raw `result`.
    pub(crate) fn result(&self) -> Option<Bytes> {
        self.slice(self.result.as_ref())
    }

    /// The raw `params.arguments`.
    pub(crate) fn arguments(&self) -> Option<Bytes> {
        self.slice(self.arguments.as_ref())
    }

    /// The raw `params._meta`.
    pub(crate) fn meta(&self) -> Option<Bytes> {
        self.slice(self.meta.as_ref())
    }

    /// The raw progress token: of a request the one in its `_meta`, of a notification the one in its `params`.
    pub(crate) fn token(&self) -> Option<Bytes> {
        self.slice(self.token.as_ref())
    }

    /// The raw `params.requestId`.
    pub(crate) fn request_id(&self) -> Option<Bytes> {
        self.slice(self.request_id.as_ref())
    }

    /// The same message under another id.
    pub(crate) fn with_id(&self, id: &[u8]) -> Bytes {
        self.with(&["id"], id)
    }

    /// The same message with another `params.name`, or name in `params.ref`, which comes as text.
    pub(crate) fn with_name(&self, name: &str) -> Bytes {
        let place: &[&str] = if self.named_in_ref { &["params", "ref", "name"] } else { &["params", "name"] };
        self.with(place, quoted(name).as_bytes())
    }

    /// The same message with another progress token.
    pub(crate) fn with_token(&self, token: &[u8]) -> Bytes {
        let place: &[&str] = match self.kind {
            Kind::Notification { .. } => &["params", "progressToken"],
            _ => &["params", "_meta", "progressToken"],
        };
        self.with(place, token)
    }

    /// The same message about another request.
    pub(crate) fn with_request_id(&self, id: &[u8]) -> Bytes {
        self.with(&["params", "requestId"], id)
    }

    /// The same request with other `params`.
    pub(crate) fn with_params(&self, params: &[u8]) -> Bytes {
        self.with(&["params"], params)
    }

    fn slice(&self, range: Option<&Range<usize>>) -> Option<Bytes> {
        range.map(|range| self.bytes.slice(range.clone()))
    }

    /// The message with another value at the place that these keys lead to; the same where there is none.
    fn with(&self, keys: &[&str], value: &[u8]) -> Bytes {
        replaced(&self.bytes, keys, value).unwrap_or_else(|| self.bytes.clone())
    }
}

/// A JSON text with another value at the place that these keys lead to: by a proven splice, so that everything else stays
/// byte for byte.
pub(crate) fn replaced(text: &Bytes, keys: &[&str], value: &[u8]) -> Option<Bytes> {
    Parser::new().scope(text, |document| {
        let document = document.ok()?;
        let place = keys.iter().try_fold(document.root(), |at, key| at.get(key))?;
        let mut edits = Edits::new(document);
        edits.replace(place, value);
        Some(edits.apply(&mut Parser::new()).ok()?.bytes().to_vec().into())
    })
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An id by its value: `1` and `1.0` are one, `1` and `"1"` are two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A number, as text in its shortest form.
    Number(String),
    /// A string, decoded.
    Text(String),
}

impl Key {
    /// The key of a raw id.
    pub(crate) fn of(id: &[u8]) -> Self {
        let text = String::from_utf8_lossy(id);
        // What nearly every client counts with is its own shortest form.
        if matches!(id, [b'0'] | [b'1'..=b'9', ..]) && id.len() < 16 && id.iter().all(u8::is_ascii_digit) {
            return Self::Number(text.into_owned());
        }
        if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            if inner.contains('\\') {
                let decoded = serde_json::from_str::<String>(&text);
                return Self::Text(decoded.unwrap_or_else(|_| inner.to_owned()));
            }
            return Self::Text(inner.to_owned());
        }
        match text.parse::<f64>() {
            Ok(0.0) => Self::Number("0".to_owned()),
            Ok(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Self::Number(format!("{number:.0}"))
            }
            _ => Self::Number(text.into_owned()),
        }
    }

    /// The same as the other kind: some servers give a number back as a string.
    pub(crate) fn other_kind(self) -> Self {
        match self {
            Self::Number(text) => Self::Text(text),
            Self::Text(text) => Self::Number(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Frame, NoFrame> {
        Frame::one(&mut Parser::new(), &Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn kinds_are_told_by_method_and_id() {
        let kind = |text: &str| read(text).map(|frame| frame.kind().clone());
        let id = |id: &'static str| Bytes::from_static(id.as_bytes());
        let request = Kind::Request { id: id("7"), method: "a/b".to_owned() };
        assert_eq!(kind(r#" {"method":"a/b","id":7,"x":1} "#), Ok(request));
        assert_eq!(kind(r#"{"method":"a","id":null}"#), Ok(Kind::Notification { method: "a".to_owned() }));
        assert_eq!(kind(r#"{"id":"q","result":{}}"#), Ok(Kind::Response { id: id("\"q\"") }));
        assert_eq!(kind(r#"{"id":"q","error":{}}"#), Ok(Kind::Response { id: id("\"q\"") }));
        assert_eq!(kind(r#"{"id":3}"#), Err(NoFrame::Shape { id: Some(id("3")) }));
        assert_eq!(kind("[]"), Err(NoFrame::Shape { id: None }));
        for id in ["true", "{}", "[1]"] {
            let text = format!(r#"{{"method":"tools/call","id":{id}}}"#);
            assert_eq!(kind(&text), Err(NoFrame::Shape { id: None }), "{text}");
        }
        assert!(matches!(kind("{"), Err(NoFrame::Json { .. })));
    }

    #[test]
    fn members_of_a_batch_keep_their_bytes() {
        let text = br#" [ {"id":1,"method":"a","params":{"name":"x"}} , {"method":"b"} ]"#;
        let frames = Frame::read(&mut Parser::new(), &Bytes::from_static(text)).unwrap();
        let frames: Vec<Frame> = frames.into_iter().map(Result::unwrap).collect();
        assert_eq!(frames[0].bytes(), &br#"{"id":1,"method":"a","params":{"name":"x"}}"#[..]);
        assert_eq!(frames[0].params().unwrap(), &br#"{"name":"x"}"#[..]);
        assert_eq!(frames[1].bytes(), &br#"{"method":"b"}"#[..]);
    }

    #[test]
    fn one_value_is_replaced_and_every_other_byte_stays() {
        let frame = read(
            r#"{ "id":1, "params" : {"_meta":{"progressToken":5},"name":"a","arguments":{"x":1.50}} ,"method":"tools/call"}"#,
        )
        .unwrap();
        assert_eq!(
            frame.with_name("b\"c"),
            r#"{ "id":1, "params" : {"_meta":{"progressToken":5},"name":"b\"c","arguments":{"x":1.50}} ,"method":"tools/call"}"#
        );
        assert_eq!(frame.token().unwrap(), "5");
        assert_eq!(
            frame.with_token(b"\"t\""),
            r#"{ "id":1, "params" : {"_meta":{"progressToken":"t"},"name":"a","arguments":{"x":1.50}} ,"method":"tools/call"}"#
        );
        let frame = read(
            r#"{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"}}}"#,
        );
        let renamed = frame.unwrap().with_name("q");
        assert_eq!(
            renamed,
            r#"{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"q"}}}"#
        );
    }

    #[test]
    fn members_that_can_be_read_in_two_ways_are_told() {
        for (text, expected) in [
            (r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"name":1,"Name":2}}}"#, None),
            (r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, Some("name")),
            (r#"{"id":1,"method":"tools/call","params":{"n\u0061me":"a","name":"b"}}"#, Some("name")),
            (r#"{"id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}"#, Some("name")),
            (r#"{"id":1,"method":"tools/call","params":{"NAME":"b"}}"#, Some("name")),
            (
                r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{},"Arguments":{}}}"#,
                Some("arguments"),
            ),
            (r#"{"id":1,"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}"#, Some("params")),
            (
                r#"{"id":1,"method":"tools/call","params":{"name":"a"},"param\u017f":{"name":"b"}}"#,
                Some("params"),
            ),
            (r#"{"id":1,"method":"ping","method":"tools/call"}"#, Some("method")),
            (r#"{"id":1,"method":"ping","Method":"tools/call"}"#, Some("method")),
            (r#"{"id":1,"id":2,"method":"ping"}"#, Some("id")),
            (r#"{"method":"notifications/x","ID":2}"#, Some("id")),
            (r#"{"id":1,"result":{},"Method":"tools/call"}"#, Some("method")),
        ] {
            assert_eq!(read(text).unwrap().ambiguous(), expected, "{text}");
        }
    }

    #[test]
    fn ids_are_compared_by_value() {
        assert_eq!(Key::of(b"1"), Key::of(b"1.0"));
        assert_eq!(Key::of(b"-0"), Key::of(b"0"));
        assert_eq!(Key::of(br#""a\u0062""#), Key::of(br#""ab""#));
        assert_ne!(Key::of(b"1"), Key::of(br#""1""#));
        assert_eq!(Key::of(b"1").other_kind(), Key::of(br#""1""#));
    }
}
