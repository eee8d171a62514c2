//! Who may ask. A page in a browser can make a name of its own lead to this machine and then ask whoever listens here
//! (DNS rebinding); it cannot forge `Host` and `Origin`. Whoever is not on this machine must know the token.

use super::config::{Config, Secret, is_loopback};
use super::credentials::keys;
use crate::provider::Provider;
use http::header::{AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderMap, HeaderValue, ORIGIN};
use http::{Method, Uri};

/// The header with the token, which is never sent on.
pub const TOKEN_HEADER: &str = "x-deadweight-token";

/// The cookie with the token, for our own pages only.
pub const TOKEN_COOKIE: &str = "deadweight_token";

/// Why somebody may not ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request names a host that is not ours.
    Host,
    /// The request comes from a page of somebody else.
    Origin,
    /// The request names no host, or several.
    NoHost,
    /// A tunnel to anywhere is asked for.
    Connect,
    /// The token is missing.
    NoToken,
    /// The token is wrong.
    WrongToken,
}

/// Checks who asks.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    token: Option<Secret>,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// The providers whose keys are held: clients send the token where their key would be.
    held: Vec<Provider>,
}

impl Guard {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            token: config.token.clone(),
            hosts: config.hosts.clone(),
            origins: config.origins.clone(),
            held: config.keys.iter().map(|(provider, _)| *provider).collect(),
        }
    }

    /// Whether the request may be made at all, by its place.
    pub(crate) fn place(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        if method == Method::CONNECT {
            return Err(Denied::Connect);
        }
        let mut hosts = headers.get_all(HOST).iter();
        let named = match (hosts.next(), hosts.next(), uri.authority()) {
            (Some(host), None, None) => host.to_str().map_err(|_| Denied::Host)?,
            // The address of the request stands above the header, and must be ours too.
            (Some(host), None, Some(authority)) => {
                if !host.to_str().is_ok_and(|host| self.is_own(host)) {
                    return Err(Denied::Host);
                }
                authority.as_str()
            }
            (None, _, Some(authority)) => authority.as_str(),
            _ => return Err(Denied::NoHost),
        };
        if !self.is_own(named) {
            return Err(Denied::Host);
        }
        for origin in headers.get_all(ORIGIN) {
            if !self.may_ask(origin, named) {
                return Err(Denied::Origin);
            }
        }
        // Browsers send no origin with some requests that pages make; they do say where the page is from.
        let fetch = |name| headers.get(name).map(HeaderValue::as_bytes);
        let from_elsewhere = fetch("sec-fetch-site") == Some(b"cross-site") && !headers.contains_key(ORIGIN);
        let visit = fetch("sec-fetch-mode") == Some(b"navigate") && method == Method::GET;
        if from_elsewhere && !visit { Err(Denied::Origin) } else { Ok(()) }
    }

    /// Whether `host`, with or without a port, leads here and nowhere else. An address cannot be made to lead elsewhere.
    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        match bare {
            Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                name.eq_ignore_ascii_case("localhost")
                    || name.parse::<std::net::Ipv4Addr>().is_ok()
                    || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
            }
        }
    }

    fn may_ask(&self, origin: &HeaderValue, host: &str) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        if self.origins.iter().any(|own| own.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Some((scheme, place)) = origin.split_once("://") else { return false };
        if !matches!(scheme, "http" | "https") {
            return false;
        }
        // A page of ours, or one on this machine.
        place.eq_ignore_ascii_case(host)
            || place.parse().is_ok_and(|at: http::uri::Authority| on_loopback(&at))
    }

    /// Whether the request knows the token: one for our own pages and interfaces.
    pub(crate) fn own(&self, headers: &HeaderMap) -> Result<(), Denied> {
        let Some(token) = &self.token else { return Ok(()) };
        let cookie =
            headers.get_all(COOKIE).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
        let cookie = cookie
            .filter_map(|pair| pair.trim_ascii().strip_prefix(TOKEN_COOKIE.as_bytes())?.strip_prefix(b"="));
        Self::known(
            token,
            headers
                .get(TOKEN_HEADER)
                .map(HeaderValue::as_bytes)
                .into_iter()
                .chain(bearer(headers))
                .chain(cookie),
        )
    }

    /// Whether the request knows the token: one that is to be sent on to `provider`. The provider's key is in the headers
    /// where keys are, unless the gateway holds it: the token may stand there then, and is taken out.
    pub(crate) fn forwarded(&self, provider: Provider, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        let Some(token) = &self.token else { return Ok(()) };
        let own = headers.get(TOKEN_HEADER).map(HeaderValue::as_bytes).into_iter();
        if !self.held.contains(&provider) {
            return Self::known(token, own);
        }
        let keys: Vec<_> = keys(uri, headers).collect();
        Self::known(token, own.chain(keys.iter().map(AsRef::as_ref)))
    }

    fn known<'a>(token: &Secret, given: impl Iterator<Item = &'a [u8]>) -> Result<(), Denied> {
        let mut any = false;
        for given in given {
            if token.is(given) {
                return Ok(());
            }
            any = true;
        }
        Err(if any { Denied::WrongToken } else { Denied::NoToken })
    }
}

fn on_loopback(authority: &http::uri::Authority) -> bool {
    is_loopback(authority.host())
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// Whether a request asks for a WebSocket.
pub(crate) fn wants_websocket(headers: &HeaderMap) -> bool {
    let has = |name, word: &str| {
        headers.get_all(name).iter().any(|value| {
            value
                .to_str()
                .is_ok_and(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word)))
        })
    };
    has(CONNECTION, "upgrade") && has(http::header::UPGRADE, "websocket")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in list {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    fn guard(change: impl FnOnce(&mut Config)) -> Guard {
        let mut config = Config::new(([127, 0, 0, 1], 0).into());
        change(&mut config);
        Guard::new(&config)
    }

    #[test]
    fn a_name_that_could_lead_elsewhere_is_not_ours() {
        let guard = guard(|config| config.hosts.push("gate.internal".to_owned()));
        let place =
            |list: &[(&str, &str)]| guard.place(&Method::POST, &Uri::from_static("/v1"), &headers(list));
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1:8787", "[::1]:8787", "192.168.0.7:1", "Gate.Internal:1"]
        {
            assert_eq!(place(&[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "a.localhost",
            "127.0.0.1.evil.example",
            "",
            "::1",
            "[evil]",
            "1",
        ] {
            assert_eq!(place(&[("host", host)]), Err(Denied::Host), "{host}");
        }
        assert_eq!(place(&[]), Err(Denied::NoHost));
        assert_eq!(place(&[("host", "localhost"), ("host", "localhost")]), Err(Denied::NoHost));
        let at = |uri: &'static str, list: &[(&str, &str)]| {
            guard.place(&Method::GET, &Uri::from_static(uri), &headers(list))
        };
        assert_eq!(at("http://localhost/x", &[]), Ok(()));
        assert_eq!(at("http://api.example.com/x", &[]), Err(Denied::Host));
        assert_eq!(at("http://api.example.com/x", &[("host", "localhost")]), Err(Denied::Host));
        assert_eq!(at("http://localhost/x", &[("host", "api.example.com")]), Err(Denied::Host));
        let connect = guard.place(&Method::CONNECT, &Uri::from_static("localhost:1"), &headers(&[]));
        assert_eq!(connect, Err(Denied::Connect));
    }

    #[test]
    fn a_page_of_somebody_else_may_not_ask() {
        let guard = guard(|config| config.origins.push("vscode-webview://x".to_owned()));
        let place = |list: &[(&str, &str)]| {
            let mut list = list.to_vec();
            list.push(("host", "127.0.0.1:8787"));
            guard.place(&Method::GET, &Uri::from_static("/"), &headers(&list))
        };
        for origin in
            ["http://127.0.0.1:8787", "http://localhost:3000", "https://[::1]", "vscode-webview://x"]
        {
            assert_eq!(place(&[("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in
            ["null", "https://evil.example", "http://localhost.evil.example", "file://", "http://192.168.0.9"]
        {
            assert_eq!(place(&[("origin", origin)]), Err(Denied::Origin), "{origin}");
        }
        assert_eq!(
            place(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]),
            Err(Denied::Origin)
        );
        assert_eq!(place(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), Ok(()));
        assert_eq!(place(&[("sec-fetch-site", "same-origin")]), Ok(()));
    }

    #[test]
    fn the_token_is_asked_for_on_every_road() {
        let guard = guard(|config| config.token = Some(Secret::new("hunter22")));
        let uri = Uri::from_static("/v1/messages");
        let own = |list: &[(&str, &str)]| guard.own(&headers(list));
        assert_eq!(own(&[]), Err(Denied::NoToken));
        assert_eq!(own(&[("authorization", "Bearer hunter22")]), Ok(()));
        assert_eq!(own(&[("x-deadweight-token", "hunter22")]), Ok(()));
        assert_eq!(own(&[("cookie", "a=b; deadweight_token=hunter22")]), Ok(()));
        assert_eq!(own(&[("cookie", "deadweight_token=hunter2")]), Err(Denied::WrongToken));
        assert_eq!(own(&[("authorization", "Bearer hunter23")]), Err(Denied::WrongToken));
        let on = |list: &[(&str, &str)]| guard.forwarded(Provider::Anthropic, &uri, &headers(list));
        assert_eq!(on(&[("x-deadweight-token", "hunter22"), ("x-api-key", "sk")]), Ok(()));
        // The place of the provider's key says nothing about us.
        assert_eq!(on(&[("authorization", "Bearer hunter22")]), Err(Denied::NoToken));
        assert_eq!(on(&[("cookie", "deadweight_token=hunter22")]), Err(Denied::NoToken));
    }

    #[test]
    fn where_keys_are_held_the_token_stands_in_their_place() {
        let guard = guard(|config| {
            config.token = Some(Secret::new("hunter22"));
            config.keys.push((crate::Provider::Anthropic, Secret::new("sk-ant-1")));
        });
        let to = |provider, uri: &'static str, list: &[(&str, &str)]| {
            guard.forwarded(provider, &Uri::from_static(uri), &headers(list))
        };
        let on = |uri, list: &[(&str, &str)]| to(Provider::Anthropic, uri, list);
        assert_eq!(on("/v1/messages", &[("x-api-key", "hunter22")]), Ok(()));
        assert_eq!(on("/v1/responses", &[("authorization", "Bearer hunter22")]), Ok(()));
        assert_eq!(on("/v1beta/models?alt=sse&key=hunter22", &[]), Ok(()));
        assert_eq!(on("/v1beta/models?key=hunter2", &[]), Err(Denied::WrongToken));
        // No key is held for this one: what stands in the key's place would be sent on to it.
        for provider in [Provider::OpenAi, Provider::Gemini, Provider::Bedrock, Provider::Vertex] {
            assert_eq!(to(provider, "/v1/x", &[("authorization", "Bearer hunter22")]), Err(Denied::NoToken));
            assert_eq!(
                to(provider, "/v1/x?key=hunter22", &[("x-goog-api-key", "hunter22")]),
                Err(Denied::NoToken)
            );
            assert_eq!(to(provider, "/v1/x", &[("x-deadweight-token", "hunter22")]), Ok(()));
        }
    }
}
