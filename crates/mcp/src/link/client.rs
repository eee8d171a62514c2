//! What both HTTP transports share: a client that stays at its origin, and words for what goes wrong.

use crate::error::Reason;
use crate::harmless::{excerpt, line};
use crate::listing::Options;
use crate::meter::Received;
use crate::redact::hide_in_url;
use crate::text::Text;
use bytes::{Bytes, BytesMut};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
    WWW_AUTHENTICATE,
};
use reqwest::{Response, StatusCode, Url};
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(15);
/// Redirects within the origin that are followed in a row.
const REDIRECTS: usize = 5;
/// Bytes of an answer that is shown in an error.
const EXCERPT: usize = 200;
/// Bytes of an answer that means no which are read, to find an error object in them.
const REFUSAL: usize = 256 << 10;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// An HTTP client for one server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    pub(crate) url: Url,
    headers: HeaderMap,
    pub(crate) max_message_bytes: usize,
}

/// The kinds of bodies that carry messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Json,
    Events,
    Other,
}

impl Client {
    pub(crate) fn new(url: &Text, headers: &[(String, Text)], options: &Options) -> Result<Self, Reason> {
        let url = parse_url(url.reveal().trim())?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let bad = || Reason::BadHeader { name: line(name) };
            let key = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value.reveal().trim()).map_err(|_| bad())?;
            value.set_sensitive(true);
            map.append(key, value);
        }
        let mut builder = builder(url.scheme() == "https")?;
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| Reason::Unreachable { detail: innermost(&error) })?;
        Ok(Self { http, url, headers: map, max_message_bytes: options.max_message_bytes })
    }

    /// Whether a header goes with every request.
    #[cfg(feature = "proxy")]
    pub(crate) fn has_header(&self, name: &HeaderName) -> bool {
        self.headers.contains_key(name)
    }

    /// Sends a message. A redirect within the origin moves the endpoint for good; one to another origin is
    /// not followed, since the message may hold credentials.
    pub(crate) async fn post(&mut self, body: &Bytes, extra: &HeaderMap) -> Result<Response, Reason> {
        let (response, url) = self.post_from(self.url.clone(), body, extra).await?;
        self.url = url;
        Ok(response)
    }

    /// Sends a message to `url` and follows redirects within the origin; also says where they led.
    pub(crate) async fn post_from(
        &self,
        mut url: Url,
        body: &Bytes,
        extra: &HeaderMap,
    ) -> Result<(Response, Url), Reason> {
        for _ in 0..=REDIRECTS {
            let response = self.post_to(&url, body, extra).await?;
            let Some(next) = redirect(&url, &response)? else { return Ok((response, url)) };
            url = next;
        }
        Err(Reason::TooManyRedirects)
    }

    /// Sends a message to `url` and follows nothing.
    pub(crate) async fn post_to(
        &self,
        url: &Url,
        body: &Bytes,
        extra: &HeaderMap,
    ) -> Result<Response, Reason> {
        self.http
            .post(url.clone())
            .headers(self.with(extra))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(body.clone())
            .send()
            .await
            .map_err(|error| unreachable(&error))
    }

    /// Opens an event stream.
    pub(crate) async fn get_events(&self, extra: &HeaderMap) -> Result<Response, Reason> {
        self.get_events_from(self.url.clone(), extra).await
    }

    /// Opens an event stream at `url`.
    pub(crate) async fn get_events_from(&self, mut url: Url, extra: &HeaderMap) -> Result<Response, Reason> {
        for _ in 0..=REDIRECTS {
            let response = self
                .http
                .get(url.clone())
                .headers(self.with(extra))
                .header(ACCEPT, "text/event-stream")
                .send()
                .await
                .map_err(|error| unreachable(&error))?;
            match redirect(&url, &response)? {
                Some(next) => url = next,
                None => return Ok(response),
            }
        }
        Err(Reason::TooManyRedirects)
    }

    /// Ends the session at `url`. What the server says to it does not matter.
    pub(crate) async fn delete(&self, url: Url, extra: &HeaderMap, patience: Duration) {
        let request = self.http.delete(url).headers(self.with(extra)).timeout(patience);
        let _ = request.send().await;
    }

    fn with(&self, extra: &HeaderMap) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(extra.iter().map(|(name, value)| (name.clone(), value.clone())));
        headers
    }

    /// Reads a body to its end, within the bound.
    pub(crate) async fn body(&self, response: Response, meter: &impl Received) -> Result<Bytes, Reason> {
        let limit = self.max_message_bytes;
        collect(response, limit, meter).await?.ok_or(Reason::MessageTooLarge { limit })
    }

    /// What a status that means no comes with: a login that is missing, or the status and what was said.
    pub(crate) async fn refusal(&self, response: Response, meter: &impl Received) -> Refusal {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            return Refusal::Login(self.login(response.headers()));
        }
        let body = collect(response, REFUSAL, meter).await.ok().flatten().unwrap_or_default();
        Refusal::Status { status, body }
    }

    /// What a 401 says about the login it wants.
    pub(crate) fn login(&self, answer: &HeaderMap) -> Reason {
        let challenges = answer.get_all(WWW_AUTHENTICATE);
        let challenge: Vec<&str> = challenges.iter().filter_map(|value| value.to_str().ok()).collect();
        let challenge = challenge.join(", ");
        let parameter =
            |name: &str| auth_parameter(&challenge, name).map(|value| excerpt(value.as_bytes(), EXCERPT));
        Reason::LoginNeeded {
            resource_metadata: parameter("resource_metadata").map(|url| hide_in_url(&url)),
            scope: parameter("scope"),
            credentials_sent: self.headers.contains_key(AUTHORIZATION),
        }
    }
}

/// An answer that means no.
pub(crate) enum Refusal {
    Login(Reason),
    Status { status: StatusCode, body: Bytes },
}

impl Refusal {
    pub(crate) fn into_reason(self) -> Reason {
        match self {
            Self::Login(reason) => reason,
            Self::Status { status, body } => {
                Reason::HttpStatus { status: status.as_u16(), excerpt: shown(&body) }
            }
        }
    }
}

/// Why a body that came with a status that means yes is none of MCP's.
pub(crate) fn not_mcp(headers: &HeaderMap, status: StatusCode, body: &[u8]) -> Reason {
    if let Some(reason) = compressed(headers) {
        return reason;
    }
    let content_type = match (content_type(headers).as_str(), body.is_empty()) {
        (_, true) => format!("nothing (HTTP {})", status.as_u16()),
        ("", false) => "something without a content type".to_owned(),
        (named, false) => excerpt(named.as_bytes(), 60),
    };
    Reason::NotMcp { content_type, excerpt: shown(body) }
}

/// The beginning of a body, for an error; a page of HTML and what is no text are not worth showing.
pub(crate) fn shown(body: &[u8]) -> String {
    let text = body.trim_ascii();
    let start = &text[..text.len().min(EXCERPT)];
    let is_text = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    if text.first() == Some(&b'<') || !is_text { String::new() } else { excerpt(text, EXCERPT) }
}

/// What a body is, by its type; without one, by its first byte.
pub(crate) fn kind(headers: &HeaderMap) -> Body {
    match content_type(headers).as_str() {
        "application/json" => Body::Json,
        "text/event-stream" => Body::Events,
        _ => Body::Other,
    }
}

/// The content type without its parameters, in lower case.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

async fn collect(
    mut response: Response,
    limit: usize,
    meter: &impl Received,
) -> Result<Option<Bytes>, Reason> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
        meter.received(chunk.len());
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body.freeze()))
}

fn parse_url(text: &str) -> Result<Url, Reason> {
    let bad = |detail: &str| Reason::BadUrl { detail: detail.to_owned() };
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it begins neither with http:// nor with https://"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("it names no host"));
    }
    Ok(url)
}

/// A client for asking a program of ours at `url`: directly, never through a proxy, following nothing, and with no more
/// time than `patience`.
///
/// # Errors
///
/// When `url` is none, or TLS is needed and cannot be had.
pub fn direct(url: &str, patience: std::time::Duration) -> Result<(reqwest::Client, Url), Reason> {
    let url = parse_url(url)?;
    let client = builder(url.scheme() == "https")?.no_proxy().timeout(patience).build();
    let client = client.map_err(|error| Reason::Unreachable { detail: error.to_string() })?;
    Ok((client, url))
}

/// A client that follows no redirect by itself; with TLS or without.
pub(crate) fn builder(needs_tls: bool) -> Result<reqwest::ClientBuilder, Reason> {
    Ok(reqwest::Client::builder()
        .user_agent(concat!("deadweight/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .tls_backend_preconfigured(tls(needs_tls)?))
}

/// Whether a URL leads to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// TLS with ring, and with the roots of the system where they are needed. (Looking them up takes time and
/// fails on machines that have none, so plain HTTP does not.)
fn tls(needed: bool) -> Result<rustls::ClientConfig, Reason> {
    use rustls_platform_verifier::BuilderVerifierExt;
    let cannot =
        |error: rustls::Error| Reason::Unreachable { detail: format!("TLS cannot be used: {error}") };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(cannot)?;
    if needed {
        return Ok(builder.with_platform_verifier().map_err(cannot)?.with_no_client_auth());
    }
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// Where a redirect leads, if the answer is one and stays at its origin.
fn redirect(from: &Url, response: &Response) -> Result<Option<Url>, Reason> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let to = from.join(location).map_err(|_| Reason::RedirectedElsewhere { to: line(location) })?;
    if to.origin() == from.origin() {
        return Ok(Some(to));
    }
    Err(Reason::RedirectedElsewhere { to: line(&hide_in_url(to.as_str())) })
}

fn unreachable(error: &reqwest::Error) -> Reason {
    // Once there was a connection, something came over it.
    if error.is_connect() || error.is_builder() {
        return Reason::Unreachable { detail: innermost(error) };
    }
    Reason::BadHttp { detail: innermost(error) }
}

/// With what a body is compressed, if its headers say so: nothing of the kind is ever asked for.
pub(crate) fn compressed(headers: &HeaderMap) -> Option<Reason> {
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    let named = !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity");
    named.then(|| Reason::Compressed { encoding: excerpt(encoding.as_bytes(), 40) })
}

/// The last cause of an error, which is the one that says something; the outer ones repeat the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    // `Connection refused (os error 111)`: the number helps nobody.
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    let lower: String = match letters.next() {
        // Not the first letter of an abbreviation.
        Some(first) if !letters.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    };
    excerpt(lower.as_bytes(), EXCERPT)
}

/// The value of a parameter in a `WWW-Authenticate` header: a token or a quoted string.
fn auth_parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while let Some(at) = rest.find('=') {
        let key = rest[..at].rsplit([' ', ',', '\t']).next().unwrap_or_default();
        let is_it = key.eq_ignore_ascii_case(name);
        let mut value = String::new();
        let tail = &rest[at + 1..];
        let used = match tail.strip_prefix('"') {
            Some(quoted) => {
                let mut escaped = false;
                let mut used = tail.len();
                for (index, c) in quoted.char_indices() {
                    match c {
                        _ if escaped => (value.push(c), escaped = false).0,
                        '\\' => escaped = true,
                        '"' => {
                            used = index + 2;
                            break;
                        }
                        c => value.push(c),
                    }
                }
                used
            }
            None => {
                let end = tail.find([' ', ',', '\t']).unwrap_or(tail.len());
                value.push_str(&tail[..end]);
                end
            }
        };
        if is_it {
            return Some(value);
        }
        rest = tail.get(used..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let challenge = r#"Basic realm="a, resource_metadata=no \" x", Bearer error=invalid_token, resource_metadata="https://h/.well-known/x", scope=read"#;
        let get = |name| auth_parameter(challenge, name);
        assert_eq!(get("resource_metadata").as_deref(), Some("https://h/.well-known/x"));
        assert_eq!(get("SCOPE").as_deref(), Some("read"));
        assert_eq!(get("error").as_deref(), Some("invalid_token"));
        assert_eq!(get("realm").as_deref(), Some("a, resource_metadata=no \" x"));
        assert_eq!(get("none"), None);
    }

    #[test]
    fn urls_are_checked() {
        assert!(parse_url("http://127.0.0.1:1/mcp").is_ok());
        for bad in ["", "host/mcp", "ftp://h/", "http://", "file:///x"] {
            assert!(matches!(parse_url(bad), Err(Reason::BadUrl { .. })), "{bad}");
        }
        let loopback = |url: &str| is_loopback(&Url::parse(url).unwrap());
        assert!(
            loopback("http://localhost:1/") && loopback("http://[::1]/") && loopback("http://127.0.0.2/")
        );
        assert!(!loopback("http://localhost.example.com/") && !loopback("https://10.0.0.1/"));
    }

    proptest::proptest! {
        #[test]
        fn no_challenge_breaks_the_reader(challenge in "[a-z=\", \\\\é]{0,40}") {
            auth_parameter(&challenge, "a");
        }
    }
}
