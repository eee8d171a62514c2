//! What messages say that HTTP has to know: headers that repeat them, and what answers what.

use crate::relay::frame::{Frame, Key, NoFrame};
use crate::relay::port::{Id, Kind, Outbound};
use crate::surface::header_value;
use bytes::Bytes;
use deadweight_wire::json::{Parser, Value};

/// Where a request of 2026-07-28 says its version.
const CLAIM: &str = "io.modelcontextprotocol/protocolVersion";

/// The message with what 2026-07-28 wants to see in headers, taken from its own words: a request says itself that it is of
/// that era, even where nobody knows yet whether the server is.
pub(super) fn framed(mut message: Outbound) -> Outbound {
    let Kind::Request { method, .. } = &message.kind else { return message };
    if !message.modern && memchr::memmem::find(&message.bytes, CLAIM.as_bytes()).is_none() {
        return message;
    }
    let named = match &**method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    };
    let (version, name) = Parser::new().scope(&message.bytes, |document| {
        let params = document.ok().and_then(|document| document.root().get("params"));
        let text = |value: Option<Value<'_, '_>>| {
            value.and_then(|value| value.as_str()).map(std::borrow::Cow::into_owned)
        };
        let claim = params.and_then(|params| params.get("_meta")).and_then(|meta| meta.get(CLAIM));
        (text(claim), text(named.and_then(|key| params?.get(key))))
    });
    message.modern |= version.is_some();
    if !message.modern {
        return message;
    }
    message.version = version.or(message.version);
    if let Some(name) = name {
        message.headers.retain(|(key, _)| !key.eq_ignore_ascii_case("mcp-name"));
        message.headers.push(("mcp-name".to_owned(), header_value(&name)));
    }
    message
}

/// The messages in a text.
fn messages(bytes: &Bytes) -> Vec<Result<Frame, NoFrame>> {
    Frame::read(&mut Parser::new(), bytes).unwrap_or_default()
}

/// Whether a text is a message, or an error object without an id.
pub(super) fn is_message(bytes: &Bytes) -> bool {
    let looks_so = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
    looks_so && (messages(bytes).iter().any(Result::is_ok) || is_error_without_id(bytes))
}

/// Whether a text answers a request, or can answer nothing else.
pub(super) fn is_answer(bytes: &Bytes, id: &Id) -> bool {
    is_about(bytes, id) || is_error_without_id(bytes)
}

/// Whether a text answers a request by its id.
pub(super) fn is_about(bytes: &Bytes, id: &Id) -> bool {
    let key = Key::of(id);
    messages(bytes).into_iter().flatten().any(|frame| match frame.kind() {
        Kind::Response { id } => Key::of(id) == key || Key::of(id).other_kind() == key,
        _ => false,
    })
}

fn is_error_without_id(bytes: &Bytes) -> bool {
    Parser::new().scope(bytes, |document| {
        document.is_ok_and(|document| {
            let root = document.root();
            root.get("id").is_none_or(|id| id.is_null())
                && root.get("method").is_none()
                && root.get("jsonrpc").is_some()
                && root.get("error").is_some_and(|error| !error.is_null())
        })
    })
}
