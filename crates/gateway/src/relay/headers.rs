//! Headers on their way: what belongs to one connection stays on it, everything else passes as it is.

use super::config::Secret;
use super::credentials::{HEADERS as KEYS, without_key_among_protocols};
use super::guard::TOKEN_COOKIE;
use crate::exchange::Noted;
use crate::provider::Provider;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE,
};

/// Headers that belong to one connection (RFC 9110, 7.6.1), besides those that `Connection` names.
/// `Transfer-Encoding` is among them, but says how the body is framed: see [`upstream`].
const OF_CONNECTION: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade", "te"];

/// Makes the headers of a request those that go upstream, in place and in their order.
///
/// `websocket`: the connection is to be upgraded, and says so upstream too. `key`: the gateway's own key, which takes
/// the place of the client's.
pub(crate) fn upstream(
    headers: &mut HeaderMap,
    host: Option<&HeaderValue>,
    websocket: bool,
    key: Option<(Provider, &Secret)>,
) {
    let trailers = headers.get_all(TE).iter().any(|value| names(value, "trailers"));
    let framed = headers.contains_key(TRANSFER_ENCODING);
    let nominated = nominated(headers);
    let drop = |name: &HeaderName| {
        let text = name.as_str();
        (OF_CONNECTION.contains(&text) && !(websocket && name == UPGRADE))
            || text.starts_with("x-deadweight-")
            || (name == HOST && host.is_none())
            // Two lengths for one body are an attack on whoever believes the other one.
            || (name == CONTENT_LENGTH && framed)
            || (key.is_some() && KEYS.contains(&text))
            || nominated.iter().any(|one| one == name && !kept_though_named(one))
    };
    if headers.keys().any(drop) {
        retain(headers, |name| !drop(name));
    }
    without_cookie(headers);
    if let Some(host) = host {
        headers.insert(HOST, host.clone());
    }
    if websocket {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    } else if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    if let Some((provider, key)) = key {
        without_key_among_protocols(headers, None);
        put_key(headers, provider, key);
    }
}

/// Makes the headers of an answer those that go to the client. `upgraded`: the answer switches protocols.
pub(crate) fn downstream(headers: &mut HeaderMap, upgraded: bool) {
    let nominated = nominated(headers);
    let framed = headers.contains_key(TRANSFER_ENCODING);
    let drop = |name: &HeaderName| {
        let text = name.as_str();
        if upgraded && (name == UPGRADE || name == CONNECTION) {
            return false;
        }
        OF_CONNECTION.contains(&text)
            || name == TRANSFER_ENCODING
            // It is chunked, and has the length that it has (RFC 9112, 6.3).
            || (name == CONTENT_LENGTH && framed)
            || nominated.iter().any(|one| one == name && !kept_though_named(one))
    };
    if headers.keys().any(drop) {
        retain(headers, |name| !drop(name));
    }
}

/// What `Connection` may not take away, whoever says so: without it a request is another one.
fn kept_though_named(name: &HeaderName) -> bool {
    KEYS.contains(&name.as_str())
        || [
            HOST,
            CONTENT_LENGTH,
            TRANSFER_ENCODING,
            http::header::CONTENT_TYPE,
            http::header::CONTENT_ENCODING,
        ]
        .contains(name)
}

/// The headers that `Connection` names.
fn nominated(headers: &HeaderMap) -> Vec<HeaderName> {
    let mut out = Vec::new();
    for value in headers.get_all(CONNECTION) {
        for name in value.as_bytes().split(|byte| *byte == b',') {
            let name = name.trim_ascii();
            let usual = [&b"keep-alive"[..], b"close", b"upgrade", b"te"];
            if !usual.iter().any(|one| name.eq_ignore_ascii_case(one)) {
                out.extend(HeaderName::from_bytes(name));
            }
        }
    }
    out
}

/// Keeps some headers, all in their order. Taking them out one by one would change it.
fn retain(headers: &mut HeaderMap, keep: impl Fn(&HeaderName) -> bool) {
    let mut kept = HeaderMap::with_capacity(headers.keys_len());
    for (name, value) in &*headers {
        if keep(name) {
            kept.append(name.clone(), value.clone());
        }
    }
    *headers = kept;
}

/// Takes the cookie that holds our token out of the others, which stay as they are.
fn without_cookie(headers: &mut HeaderMap) {
    let ours = |pair: &&[u8]| {
        pair.trim_ascii().strip_prefix(TOKEN_COOKIE.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
    };
    let pairs = |value: &'_ HeaderValue| value.as_bytes().split(|byte| *byte == b';').any(|pair| ours(&pair));
    if !headers.get_all(COOKIE).iter().any(pairs) {
        return;
    }
    let mut kept = HeaderMap::with_capacity(headers.keys_len());
    for (name, value) in &*headers {
        if name != COOKIE {
            kept.append(name.clone(), value.clone());
            continue;
        }
        let others = value.as_bytes().split(|byte| *byte == b';').filter(|pair| !ours(pair));
        let others: Vec<&[u8]> = others.map(<[u8]>::trim_ascii).collect();
        if let (false, Ok(value)) = (others.is_empty(), HeaderValue::from_bytes(&others.join(&b"; "[..]))) {
            kept.append(name.clone(), value);
        }
    }
    *headers = kept;
}

/// Takes some headers out, and leaves the others in their order.
pub(crate) fn without(headers: &mut HeaderMap, names: &[HeaderName]) {
    if names.iter().any(|name| headers.contains_key(name)) {
        retain(headers, |own| !names.contains(own));
    }
}

/// Whether a list holds a word.
fn names(value: &HeaderValue, word: &str) -> bool {
    let word_is = |one: &[u8]| {
        one.split(|byte| *byte == b';')
            .next()
            .is_some_and(|one| one.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    value.as_bytes().split(|byte| *byte == b',').any(word_is)
}

fn put_key(headers: &mut HeaderMap, provider: Provider, key: &Secret) {
    let key = key.reveal();
    let (name, text) = match provider {
        Provider::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        Provider::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
        Provider::OpenAi | Provider::Bedrock | Provider::Vertex => (AUTHORIZATION, format!("Bearer {key}")),
    };
    // The configuration was refused if this could fail.
    if let Ok(mut value) = HeaderValue::from_str(&text) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// Takes down the headers that are understood.
pub(crate) fn noted(headers: &HeaderMap, known: &'static [&'static str]) -> Noted {
    let mut out = Vec::new();
    for name in known {
        for value in headers.get_all(*name) {
            if let Ok(value) = value.to_str() {
                out.push((*name, value.to_owned()));
            }
        }
    }
    Noted(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(list: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        map
    }

    fn list(headers: &HeaderMap) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    fn texts(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn our_cookie_goes_no_further_and_others_do() {
        let cookies = |given: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(COOKIE, HeaderValue::from_static(value));
            }
            upstream(&mut headers, None, false, None);
            headers.get_all(COOKIE).iter().map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(cookies(&["deadweight_token=secret; other=1"]), ["other=1"]);
        assert_eq!(cookies(&["a=1;deadweight_token=secret", "b=2"]), ["a=1", "b=2"]);
        assert!(cookies(&["deadweight_token=secret"]).is_empty());
        assert_eq!(cookies(&["a=1;b=2"]), ["a=1;b=2"], "as it came");
    }

    #[test]
    fn what_belongs_to_a_connection_stays_on_it_and_the_rest_keeps_its_order() {
        let mut headers = map(&[
            ("host", "127.0.0.1:8787"),
            ("b", "1"),
            ("connection", "keep-alive, X-Hop, content-type"),
            ("x-hop", "1"),
            ("a", "1"),
            ("keep-alive", "timeout=5"),
            ("b", "2"),
            ("proxy-authorization", "Basic x"),
            ("x-deadweight-token", "hunter22"),
            ("content-type", "application/json"),
            ("te", "gzip"),
            ("x-api-key", "k"),
        ]);
        let host = HeaderValue::from_static("api.example.com");
        upstream(&mut headers, Some(&host), false, None);
        let expected = [
            ("host", "api.example.com"),
            ("b", "1"),
            ("b", "2"),
            ("a", "1"),
            ("content-type", "application/json"),
            ("x-api-key", "k"),
        ];
        assert_eq!(list(&headers), texts(&expected));
    }

    #[test]
    fn trailers_are_asked_for_where_the_client_does() {
        let mut headers = map(&[("te", "trailers, deflate;q=0.5"), ("connection", "TE")]);
        upstream(&mut headers, None, false, None);
        assert_eq!(list(&headers), texts(&[("te", "trailers"), ("connection", "te")]));
    }

    #[test]
    fn a_body_has_one_length() {
        let mut headers = map(&[("content-length", "3"), ("transfer-encoding", "chunked")]);
        upstream(&mut headers, None, false, None);
        assert_eq!(list(&headers), texts(&[("transfer-encoding", "chunked")]));
    }

    #[test]
    fn a_held_key_takes_the_place_of_what_was_sent() {
        for (provider, expected) in [
            (Provider::Anthropic, ("x-api-key", "sk-held")),
            (Provider::Gemini, ("x-goog-api-key", "sk-held")),
            (Provider::OpenAi, ("authorization", "Bearer sk-held")),
        ] {
            let mut headers =
                map(&[("authorization", "Bearer hunter22"), ("x-api-key", "hunter22"), ("a", "b")]);
            upstream(&mut headers, None, false, Some((provider, &Secret::new("sk-held"))));
            assert_eq!(list(&headers), texts(&[("a", "b"), expected]));
        }
    }

    #[test]
    fn an_upgrade_is_passed_on_whole() {
        let mut headers = map(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-key", "k"),
        ]);
        upstream(&mut headers, None, true, None);
        let expected = [("upgrade", "websocket"), ("sec-websocket-key", "k"), ("connection", "Upgrade")];
        assert_eq!(list(&headers), texts(&expected));
        let mut answer = map(&[("connection", "Upgrade"), ("upgrade", "websocket")]);
        downstream(&mut answer, true);
        assert_eq!(answer.len(), 2);
        let mut answer = map(&[
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
            ("keep-alive", "1"),
            ("x", "y"),
        ]);
        downstream(&mut answer, false);
        assert_eq!(list(&answer), texts(&[("x", "y")]));
        let mut answer = map(&[("content-length", "50"), ("transfer-encoding", "chunked"), ("x", "y")]);
        downstream(&mut answer, false);
        assert_eq!(list(&answer), texts(&[("x", "y")]));
    }
}
