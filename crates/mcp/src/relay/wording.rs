//! The messages that are written here, and their words.

use super::frame::{Frame, quoted};
use crate::error::{Failure, Reason};
use crate::listing::Stage;
use crate::spec::{ServerSpec, Transport};
use bytes::Bytes;
use deadweight_wire::json::{Kind, Parser};
use std::time::Duration;

/// JSON-RPC: no JSON.
pub(super) const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: no request.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: no such method.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: wrong parameters, such as a name that does not exist.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// A server that does not run, or ended. Of the range in which MCP defines no codes.
pub(super) const NOT_AVAILABLE: i64 = -32000;

/// A response.
pub(super) fn response(id: &[u8], member: &str, value: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(value.len() + id.len() + 40);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id);
    out.extend_from_slice(b",\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
    out.push(b'}');
    out.into()
}

/// A response with an error.
pub(super) fn error(id: &[u8], code: i64, message: &str) -> Bytes {
    response(id, "error", format!(r#"{{"code":{code},"message":{}}}"#, quoted(message)).as_bytes())
}

/// A request.
pub(super) fn request(id: &[u8], method: &str, params: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(params.len() + id.len() + method.len() + 60);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id);
    out.extend_from_slice(br#","method":"#);
    out.extend_from_slice(quoted(method).as_bytes());
    if !params.is_empty() {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params);
    }
    out.push(b'}');
    out.into()
}

/// A notification.
pub(super) fn notification(method: &str, params: &[u8]) -> Bytes {
    let mut out = format!(r#"{{"jsonrpc":"2.0","method":{}"#, quoted(method)).into_bytes();
    if !params.is_empty() {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params);
    }
    out.push(b'}');
    out.into()
}

/// An object with further members in front of its own; those of the same name are left out of it.
pub(super) fn with_members(object: &[u8], members: &[(&str, &[u8])]) -> Bytes {
    Parser::new().scope(object, |document| {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for (key, value) in members {
            let mut part = quoted(key).into_bytes();
            part.push(b':');
            part.extend_from_slice(value);
            parts.push(part);
        }
        if let Ok(document) = document
            && document.root().kind() == Kind::Object
        {
            for entry in document.root().entries() {
                if !members.iter().any(|(key, _)| entry.key.is_str(key)) {
                    let range = entry.key.span().start()..entry.value.span().end();
                    parts.push(object.get(range).unwrap_or_default().to_vec());
                }
            }
        }
        let mut out = b"{".to_vec();
        out.extend_from_slice(&parts.join(&b','));
        out.push(b'}');
        out.into()
    })
}

/// The members of `_meta` that belong to the conversation and not to one request.
pub(super) fn lasting_meta(meta: &[u8]) -> Bytes {
    Parser::new().scope(meta, |document| {
        let Ok(document) = document else { return Bytes::from_static(b"{}") };
        let parts: Vec<&[u8]> = document
            .root()
            .entries()
            .filter(|entry| {
                entry.key.as_str().is_some_and(|key| {
                    matches!(
                        &*key,
                        "io.modelcontextprotocol/protocolVersion"
                            | "io.modelcontextprotocol/clientInfo"
                            | "io.modelcontextprotocol/clientCapabilities"
                    )
                })
            })
            .map(|entry| meta.get(entry.key.span().start()..entry.value.span().end()).unwrap_or_default())
            .collect();
        let mut out = b"{".to_vec();
        out.extend_from_slice(&parts.join(&b','));
        out.push(b'}');
        out.into()
    })
}

/// A request of the legacy era as one of 2026-07-28: its `params._meta` gets the members that every request has there.
pub(super) fn modernised(request: &Bytes, meta: &[u8]) -> Bytes {
    let Ok(frame) = Frame::one(&mut Parser::new(), request) else { return request.clone() };
    let members = members_of(meta);
    let members: Vec<(&str, &[u8])> =
        members.iter().map(|(key, value)| (key.as_str(), value.as_slice())).collect();
    let own = frame.meta().unwrap_or_else(|| Bytes::from_static(b"{}"));
    let meta = with_members(&own, &members);
    match frame.params() {
        Some(params) => frame.with_params(&with_members(&params, &[("_meta", &meta)])),
        None => {
            let params = with_members(b"{}", &[("_meta", &meta)]);
            with_members(request, &[("params", &params)])
        }
    }
}

/// The members of an object, raw.
fn members_of(object: &[u8]) -> Vec<(String, Vec<u8>)> {
    Parser::new().scope(object, |document| {
        let Ok(document) = document else { return Vec::new() };
        let entries = document.root().entries();
        entries
            .filter_map(|entry| {
                Some((entry.key.as_str()?.into_owned(), entry.value.raw().as_bytes().to_vec()))
            })
            .collect()
    })
}

/// The raw value at a place in a text.
pub(super) fn member(text: &[u8], keys: &[&str]) -> Option<Bytes> {
    Parser::new().scope(text, |document| {
        let at = keys.iter().try_fold(document.ok()?.root(), |at, key| at.get(key))?;
        Some(Bytes::copy_from_slice(at.raw().as_bytes()))
    })
}

/// The string at a place in a text.
pub(crate) fn text(text: &[u8], keys: &[&str]) -> Option<String> {
    Parser::new().scope(text, |document| {
        let at = keys.iter().try_fold(document.ok()?.root(), |at, key| at.get(key))?;
        at.as_str().map(std::borrow::Cow::into_owned)
    })
}

/// Whether something stands at a place in a text that is neither `null` nor `false`.
pub(super) fn has(text: &[u8], keys: &[&str]) -> bool {
    member(text, keys).is_some_and(|value| &value[..] != b"null" && &value[..] != b"false")
}

/// The result of a call that went wrong, for the model to read.
pub(super) fn tool_error(text: &str, modern: bool) -> Bytes {
    let kind = if modern { r#""resultType":"complete","# } else { "" };
    format!(r#"{{{kind}"content":[{{"type":"text","text":{}}}],"isError":true}}"#, quoted(text)).into()
}

/// A result with `resultType`, which the protocol of 2026-07-28 asks of every result.
pub(super) fn complete(result: Bytes, modern: bool) -> Bytes {
    if !modern || member(&result, &["resultType"]).is_some() {
        return result;
    }
    with_members(&result, &[("resultType", br#""complete""#)])
}

/// A server that could not be started, for a person: harmless to print and without secrets.
pub(crate) fn failure(spec: &ServerSpec, reason: Reason, stderr: Vec<String>) -> Failure {
    let secrets = spec.secrets();
    Failure {
        server: crate::harmless::line(&spec.display_name()),
        target: spec.transport.to_string(),
        remote: !matches!(spec.transport, Transport::Stdio { .. }),
        origin: spec.origin.clone(),
        stage: Stage::Starting,
        elapsed: Duration::ZERO,
        reason: reason.scrubbed(|text| crate::redact::scrub(text, &secrets)),
        stderr,
        stdout: Vec::new(),
        stray_answers: 0,
    }
}

/// Why a server does not work, in one or two sentences: harmless to print and without secrets.
pub(super) fn why(spec: &ServerSpec, reason: Reason, stderr: Vec<String>) -> String {
    let last = stderr.last().cloned();
    let explained = failure(spec, reason, stderr).explain();
    let mut text = explained.what;
    if let Some(last) = last {
        text.push_str("; it last wrote: ");
        text.push_str(&last);
    }
    if let Some((_, lines)) = explained.details.iter().find(|(label, _)| *label == "try") {
        text.push_str("; try: ");
        text.push_str(&lines.join(" "));
    }
    text
}

/// How a server ended that was at work, in the same way.
pub(super) fn how_it_ended(spec: &ServerSpec, reason: Reason, stderr: Vec<String>) -> String {
    let how = match &reason {
        Reason::Exited { code: Some(code), .. } => format!("it ended with exit code {code}"),
        Reason::Exited { signal: Some(signal), .. } => format!("it was ended by signal {signal}"),
        Reason::Exited { .. } | Reason::OutputClosed => "it closed its output".to_owned(),
        _ => return why(spec, reason, stderr),
    };
    match stderr.last() {
        Some(last) => format!("{how}; it last wrote: {last}"),
        None => how,
    }
}

/// What a call is answered with whose server does not work.
pub(super) fn not_available(label: &str, reason: &str) -> String {
    format!("The MCP server `{label}` is not available: {reason}")
}

/// What a call is answered with whose server ended while it worked on it.
pub(super) fn ended(label: &str, reason: &str) -> String {
    format!(
        "The MCP server `{label}` ended before it answered this call: {reason}. Whether the call had an effect is not \
        known. The server is started again with the next call."
    )
}

/// Whether it is certain that a message did not get to its server, or was turned away there.
pub(super) const fn kept_from_running(reason: &Reason) -> bool {
    match reason {
        Reason::Unreachable { .. }
        | Reason::BadUrl { .. }
        | Reason::BadHeader { .. }
        | Reason::LoginNeeded { .. }
        | Reason::RedirectedElsewhere { .. }
        | Reason::TooManyRedirects
        | Reason::ForeignEndpoint { .. } => true,
        // 408 and 499 are said of requests that took too long.
        Reason::HttpStatus { status, .. } => matches!(status, 400..=407 | 409..=498),
        _ => false,
    }
}

/// What a call is answered with whose server took it and gave no whole answer.
pub(super) fn broken(spec: &ServerSpec, label: &str, reason: Reason) -> String {
    let what = failure(spec, reason, Vec::new()).explain().what;
    format!(
        "The MCP server `{label}` gave no answer to this call: {what}. Whether the call had an effect is not known; look \
        before you repeat it."
    )
}

/// What a call is answered with that was not sent yet when its server ended.
pub(super) fn ended_before(label: &str, reason: &str) -> String {
    format!(
        "The MCP server `{label}` ended before this call was sent to it: {reason}. Nothing was run. The server is started \
        again with the next call."
    )
}

/// Why there is no list of a server that takes too long, and what to do.
pub(super) fn no_list(spec: &ServerSpec, reason: Reason) -> String {
    let what = failure(spec, reason, Vec::new()).explain().what;
    format!(
        "{what}. It is asked again with the next list. Try: look what it waits for (a login, a download, a question on its \
        terminal), or start it by itself and restart this client"
    )
}

/// The result of `initialize` for a server that has said nothing.
pub(super) fn own_opening(version: &str, name: &str, capabilities: &str, instructions: &str) -> Bytes {
    let instructions = if instructions.is_empty() {
        String::new()
    } else {
        format!(r#","instructions":{}"#, quoted(instructions))
    };
    format!(
        r#"{{"protocolVersion":{},"capabilities":{capabilities},"serverInfo":{{"name":{},"version":"{}"}}{instructions}}}"#,
        quoted(version),
        quoted(name),
        env!("CARGO_PKG_VERSION")
    )
    .into()
}

/// The result of `server/discover` for an aggregate, or a server that has said nothing.
pub(super) fn own_discovery(name: &str, capabilities: &str, instructions: &str, legacy: &[&str]) -> Bytes {
    let versions: Vec<String> =
        std::iter::once(crate::message::MODERN_VERSION).chain(legacy.iter().copied()).map(quoted).collect();
    let instructions = if instructions.is_empty() {
        String::new()
    } else {
        format!(r#","instructions":{}"#, quoted(instructions))
    };
    format!(
        concat!(
            r#"{{"resultType":"complete","supportedVersions":[{}],"capabilities":{}{},"#,
            r#""ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":{},"version":"{}"}}}}}}"#
        ),
        versions.join(","),
        capabilities,
        instructions,
        quoted(name),
        env!("CARGO_PKG_VERSION")
    )
    .into()
}
