//! Where keys stand in a request: what is looked at before anything is sent, and where our own token is taken out.

use super::config::Secret;
use super::guard::TOKEN_COOKIE;
use http::Uri;
use http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use std::borrow::Cow;

/// Headers that hold a provider's key.
pub(crate) const HEADERS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// How a browser, which can set no header for a WebSocket, names its key among the protocols (OpenAI's documentation of its
/// realtime interface, 2026).
const IN_PROTOCOL: &str = "openai-insecure-api-key.";

/// Names of the query that hold one.
const IN_QUERY: [&str; 3] = ["key", "api_key", "access_token"];

/// Every key that a request carries, without the word before it. A header may stand several times, and each may be the one
/// that somebody reads.
pub(crate) fn keys<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> impl Iterator<Item = Cow<'a, [u8]>> {
    let values = HEADERS.iter().flat_map(|name| headers.get_all(*name));
    let in_headers = values.flat_map(|value| readings(value.as_bytes()));
    let protocols = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().flat_map(protocols);
    let in_protocols = protocols.filter_map(|own| own.strip_prefix(IN_PROTOCOL.as_bytes()));
    in_headers.chain(in_protocols).map(Cow::Borrowed).chain(in_query(uri.query().unwrap_or_default()))
}

/// The protocols that a header offers.
fn protocols(value: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Takes the keys out from among the protocols of a WebSocket, all of them or the token alone, and leaves what else is
/// offered.
pub(crate) fn without_key_among_protocols(headers: &mut HeaderMap, token: Option<&Secret>) {
    let is_key = |own: &[u8]| {
        let key = own.strip_prefix(IN_PROTOCOL.as_bytes());
        match token {
            None => key.is_some(),
            Some(token) => token.is(key.unwrap_or(own)),
        }
    };
    if !headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().flat_map(protocols).any(is_key) {
        return;
    }
    let mut kept = HeaderMap::with_capacity(headers.keys_len());
    for (name, value) in &*headers {
        if name != SEC_WEBSOCKET_PROTOCOL {
            kept.append(name.clone(), value.clone());
            continue;
        }
        let others: Vec<&[u8]> = protocols(value).filter(|own| !is_key(own)).collect();
        if let (false, Ok(value)) = (others.is_empty(), HeaderValue::from_bytes(&others.join(&b", "[..]))) {
            kept.append(name.clone(), value);
        }
    }
    *headers = kept;
}

/// What of a header may be a key: all of it, what stands behind the first word, and every word.
fn readings(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = value.trim_ascii();
    let behind =
        whole.iter().position(u8::is_ascii_whitespace).and_then(|at| whole.get(at..)).map(<[u8]>::trim_ascii);
    let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
    std::iter::once(whole).chain(behind).chain(whole.split(between).filter(|word| !word.is_empty()))
}

fn in_query(query: &str) -> impl Iterator<Item = Cow<'_, [u8]>> {
    query.split('&').filter_map(of_pair)
}

/// The key of a pair of the query, if it is one that has a key.
fn of_pair(pair: &str) -> Option<Cow<'_, [u8]>> {
    let (name, value) = pair.split_once('=')?;
    let name = decoded(name);
    IN_QUERY.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes())).then(|| decoded(value))
}

/// Text of a query as it is read.
fn decoded(text: &str) -> Cow<'_, [u8]> {
    if !text.contains('%') {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match after {
            [high, low, ..] if *first == b'%' => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                digit(high).zip(digit(low)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            }
            _ => None,
        };
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    Cow::Owned(out)
}

/// Takes every header out in which the token stands, and leaves the others in their order.
pub(crate) fn without_token(headers: &mut HeaderMap, token: &Secret) {
    without_key_among_protocols(headers, Some(token));
    let has = |name: &HeaderName, value: &HeaderValue| {
        let value = value.as_bytes();
        if name == COOKIE {
            // Our own cookie is taken out from among the others.
            let pairs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let others = pairs.filter(|pair| !pair.starts_with(TOKEN_COOKIE.as_bytes()));
            return others
                .filter_map(|pair| pair.splitn(2, |byte| *byte == b'=').nth(1))
                .any(|value| token.is(value));
        }
        let parts = value.split(|byte| matches!(byte, b'=' | b'"' | b'\''));
        readings(value).chain(parts).any(|part| token.is(part))
    };
    if !headers.iter().any(|(name, value)| has(name, value)) {
        return;
    }
    let mut kept = HeaderMap::with_capacity(headers.keys_len());
    for (name, value) in &*headers {
        if !has(name, value) {
            kept.append(name.clone(), value.clone());
        }
    }
    *headers = kept;
}

/// A query without the pairs whose value is the token. `None`: it stays as it is.
pub(crate) fn query_without_token(query: &str, token: &Secret) -> Option<String> {
    let is_token = |pair: &&str| {
        let value = pair.split_once('=').map_or(*pair, |(_, value)| value);
        token.is(&decoded(value))
    };
    let pairs: Vec<&str> = query.split('&').collect();
    if !pairs.iter().any(is_token) {
        return None;
    }
    Some(pairs.into_iter().filter(|pair| !is_token(pair)).collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn a_key_among_the_protocols_of_a_websocket_is_a_key() {
        let offered = "realtime, openai-insecure-api-key.hunter22,openai-insecure-api-key.sk-proj-1, v1";
        let headers = || {
            let mut headers = HeaderMap::new();
            headers.append("a", HeaderValue::from_static("1"));
            headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(offered));
            headers
                .append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("openai-insecure-api-key.hunter22"));
            headers
        };
        let uri = Uri::from_static("/v1/realtime");
        let found: Vec<_> = keys(&uri, &headers()).map(|key| key.into_owned()).collect();
        assert_eq!(found, [&b"hunter22"[..], b"sk-proj-1", b"hunter22"]);
        for (token, left) in [
            (Some(Secret::new("hunter22")), "realtime, openai-insecure-api-key.sk-proj-1, v1"),
            (
                Some(Secret::new("v1")),
                "realtime, openai-insecure-api-key.hunter22, openai-insecure-api-key.sk-proj-1",
            ),
            (None, "realtime, v1"),
        ] {
            let mut headers = headers();
            without_key_among_protocols(&mut headers, token.as_ref());
            assert_eq!(headers.get(SEC_WEBSOCKET_PROTOCOL).unwrap(), left);
            assert!(headers.contains_key("a"));
        }
        let mut others = HeaderMap::new();
        others.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("a,  b"));
        without_token(&mut others, &Secret::new("hunter22"));
        assert_eq!(others.get(SEC_WEBSOCKET_PROTOCOL).unwrap(), "a,  b");
    }

    #[test]
    fn the_token_is_taken_out_wherever_it_stands() {
        let token = Secret::new("hunter22");
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("b", "1"),
            ("authorization", "Bearer hunter22"),
            ("authorization", "Bearer sk-1"),
            ("x-api-key", "hunter22"),
            ("x-other", "hunter22"),
            ("x-list", "a, hunter22"),
            ("x-pair", "token=\"hunter22\""),
            ("cookie", "a=hunter22"),
            ("cookie", "b=1; deadweight_token=hunter22"),
            ("a", "hunter222"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        without_token(&mut headers, &token);
        let kept: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        let expected = [
            ("b", "1"),
            ("authorization", "Bearer sk-1"),
            ("cookie", "b=1; deadweight_token=hunter22"),
            ("a", "hunter222"),
        ];
        assert_eq!(kept, expected);
        for (query, expected) in [
            ("alt=sse&key=hunter22&x=%20", Some("alt=sse&x=%20")),
            ("key=hunter22", Some("")),
            ("hunter22", Some("")),
            ("a=%68unter22&b", Some("b")),
            ("alt=sse&key=hunter23", None),
            ("a=%zz&b=%", None),
            ("a=hunter22%", None),
        ] {
            assert_eq!(query_without_token(query, &token).as_deref(), expected, "{query}");
        }
    }
}
