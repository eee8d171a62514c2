//! Answers of the gateway's own, in the shape in which the provider puts its errors, so that clients can show them.
//! Shapes: the providers' API references, read on 2026-11-28.

use super::guard::Denied;
use super::route::Unclear;
use super::tee::AnswerBody;
use crate::provider::Provider;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderName, Response, StatusCode};
use std::fmt::Write;

/// Says in an answer that it is the gateway's own, and why it was given.
pub const ANSWERED: HeaderName = HeaderName::from_static("x-deadweight-answer");

/// An answer that is not the provider's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// From a closed list of words.
    pub(crate) reason: &'static str,
    pub(crate) text: String,
}

impl Refusal {
    fn new(status: StatusCode, reason: &'static str, text: impl Into<String>) -> Self {
        Self { status, reason, text: text.into() }
    }

    pub(crate) fn denied(denied: Denied) -> Self {
        match denied {
            Denied::Host => Self::new(
                StatusCode::FORBIDDEN,
                "host",
                "the request does not name this gateway as its host. Ask it as localhost or by its address, or start it \
                 with --allow-host NAME",
            ),
            Denied::NoHost => {
                Self::new(StatusCode::BAD_REQUEST, "no_host", "the request has no host, or more than one")
            }
            Denied::Origin => Self::new(
                StatusCode::FORBIDDEN,
                "origin",
                "the request comes from a web page that may not ask. If it should, start the gateway with \
                 --allow-origin ORIGIN",
            ),
            Denied::Connect => Self::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "connect",
                "this is no forward proxy. Set the base URL of your client to the gateway's address instead of a proxy",
            ),
            Denied::NoToken => Self::new(
                StatusCode::UNAUTHORIZED,
                "no_token",
                "the gateway wants its token. Send it as the header x-deadweight-token",
            ),
            Denied::WrongToken => Self::new(
                StatusCode::UNAUTHORIZED,
                "wrong_token",
                "the token is not the gateway's. Send the one it was started with as the header x-deadweight-token",
            ),
        }
    }

    pub(crate) fn unclear(unclear: Unclear, address: &str) -> Self {
        let remedy = format!(
            "Set the client's base URL to http://{address}/anthropic, /openai or /gemini, and the request goes there"
        );
        let text = match unclear {
            Unclear::NoSign => {
                format!(
                    "it is not clear which provider this request is meant for, so it was sent to none. {remedy}"
                )
            }
            Unclear::Contradiction { sign, of, path } => format!(
                "{sign} says that this request is meant for {of}, the rest of it says {path}, so it was sent to \
                 neither. {remedy}"
            ),
        };
        Self::new(StatusCode::MISDIRECTED_REQUEST, "ambiguous", text)
    }

    pub(crate) fn no_upstream(provider: Provider) -> Self {
        Self::new(
            StatusCode::MISDIRECTED_REQUEST,
            "no_upstream",
            format!("the gateway was not told where {provider} is. Start it with --upstream {provider}=URL"),
        )
    }

    pub(crate) fn unreachable(provider: Provider, upstream: &str, why: &str) -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            "unreachable",
            format!("{provider} could not be reached at {upstream}: {why}. Nothing was sent"),
        )
    }

    pub(crate) fn timed_out(provider: Provider, upstream: &str, seconds: u64) -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "timed_out",
            format!(
                "{provider} at {upstream} did not begin to answer within {seconds} s, as the gateway was told to wait"
            ),
        )
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is no such page of the gateway")
    }

    /// The answer, as this provider would put it.
    pub(crate) fn answer(&self, provider: Option<Provider>) -> Response<AnswerBody> {
        let body = self.body(provider);
        let mut answer = Response::new(AnswerBody::own(Bytes::from(body)));
        *answer.status_mut() = self.status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ANSWERED, HeaderValue::from_static(self.reason));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"deadweight\""));
        }
        answer
    }

    fn body(&self, provider: Option<Provider>) -> String {
        let text = quoted(&format!("deadweight gateway: {}", self.text));
        let status = self.status.as_u16();
        match provider {
            Some(Provider::Anthropic | Provider::Bedrock) | None => {
                let kind = match status {
                    401 => "authentication_error",
                    403 => "permission_error",
                    404 => "not_found_error",
                    400..=499 => "invalid_request_error",
                    _ => "api_error",
                };
                format!("{{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":{text}}}}}")
            }
            Some(Provider::OpenAi) => {
                let kind = if status < 500 { "invalid_request_error" } else { "server_error" };
                let code = self.reason;
                format!(
                    "{{\"error\":{{\"message\":{text},\"type\":\"{kind}\",\"param\":null,\"code\":\"{code}\"}}}}"
                )
            }
            Some(Provider::Gemini | Provider::Vertex) => {
                let name = match status {
                    401 => "UNAUTHENTICATED",
                    403 => "PERMISSION_DENIED",
                    404 => "NOT_FOUND",
                    504 => "DEADLINE_EXCEEDED",
                    400..=499 => "INVALID_ARGUMENT",
                    _ => "UNAVAILABLE",
                };
                format!("{{\"error\":{{\"code\":{status},\"message\":{text},\"status\":\"{name}\"}}}}")
            }
        }
    }
}

/// A text as JSON. It is all that the gateway ever writes of it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_shape_of_the_provider() {
        let refusal = Refusal::unreachable(Provider::Anthropic, "https://a", "no \"route\"");
        assert_eq!(
            refusal.body(Some(Provider::Anthropic)),
            "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"deadweight gateway: anthropic could not be \
             reached at https://a: no \\\"route\\\". Nothing was sent\"}}"
        );
        assert!(
            refusal
                .body(Some(Provider::OpenAi))
                .starts_with("{\"error\":{\"message\":\"deadweight gateway: ")
        );
        assert!(refusal.body(Some(Provider::Gemini)).ends_with("\"status\":\"UNAVAILABLE\"}}"));
        for provider in Provider::ALL.into_iter().map(Some).chain([None]) {
            for refusal in [Refusal::denied(Denied::NoToken), Refusal::not_found()] {
                let body = refusal.body(provider);
                assert!(
                    deadweight_wire::json::Parser::new().scope(body.as_bytes(), |read| read.is_ok()),
                    "{body}"
                );
            }
        }
    }
}
