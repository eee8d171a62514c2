//! Who may talk to the proxy over HTTP.
//!
//! A page in a browser can make a name of its own lead to this machine and then ask servers on loopback (DNS rebinding);
//! it cannot forge `Host` and `Origin`, so both must name this machine. Whoever listens for other machines must ask for a
//! token.

use super::reply::{self, Reply};
use crate::text::Text;
use axum::http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{StatusCode, Uri};
use std::net::{IpAddr, SocketAddr};

/// Checks who asks.
#[derive(Debug)]
pub(super) struct Gate {
    names: Vec<String>,
    /// Any name may lead here: it listens on every address, and those have names that nobody knows here.
    any_host: bool,
    token: Option<Text>,
}

impl Gate {
    pub(super) fn new(bound: SocketAddr, token: Option<Text>) -> Self {
        let mut names = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec();
        let own = match bound.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        if !names.contains(&own) {
            names.push(own);
        }
        Self { names, any_host: bound.ip().is_unspecified(), token }
    }

    /// The answer to whoever may not ask.
    pub(super) fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<Reply> {
        self.place(uri, headers).or_else(|| self.login(headers))
    }

    fn place(&self, uri: &Uri, headers: &HeaderMap) -> Option<Reply> {
        let refuse = |what: &str, value: &[u8]| {
            let value = crate::harmless::excerpt(value, 100);
            Some(reply::error(
                StatusCode::FORBIDDEN,
                None,
                -32000,
                &format!("Forbidden: {what} `{value}` does not name this server"),
            ))
        };
        let hosts: Vec<&[u8]> = headers.get_all(HOST).iter().map(HeaderValue::as_bytes).collect();
        let [host] = hosts.as_slice() else { return refuse("the header Host", b"") };
        if !self.any_host {
            if !self.is_own(host) {
                return refuse("the header Host", host);
            }
            if let Some(authority) = uri.authority()
                && !self.is_own(authority.as_str().as_bytes())
            {
                return refuse("the address", authority.as_str().as_bytes());
            }
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.as_bytes();
            let at = memchr::memmem::find(origin, b"://").map_or(origin.len(), |at| at + 3);
            let place = origin.get(at..).unwrap_or_default();
            let same = self.any_host && place.eq_ignore_ascii_case(host);
            if !same && !self.is_own(place) {
                return refuse("the header Origin", origin);
            }
        }
        None
    }

    /// Whether `host`, with or without a port, is one of the server's names.
    fn is_own(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn login(&self, headers: &HeaderMap) -> Option<Reply> {
        let token = self.token.as_ref()?;
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let (scheme, value) = given.split_at_checked(7).unwrap_or((given, b""));
        if scheme.eq_ignore_ascii_case(b"bearer ") && is_same(value, token.reveal().as_bytes()) {
            return None;
        }
        let challenge = if given.is_empty() {
            "Bearer realm=\"deadweight\""
        } else {
            "Bearer realm=\"deadweight\", error=\"invalid_token\""
        };
        let mut reply = reply::error(
            StatusCode::UNAUTHORIZED,
            None,
            -32000,
            "Unauthorized: send the token that this server was started with, as `Authorization: Bearer TOKEN`",
        );
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        Some(reply)
    }
}

/// Whether two texts are the same, in a time that depends on the length of `given` only.
fn is_same(given: &[u8], own: &[u8]) -> bool {
    let mut differs = given.len() ^ own.len();
    for (index, byte) in given.iter().enumerate() {
        let other = own.get(index % own.len().max(1)).copied().unwrap_or_default();
        differs |= usize::from(byte ^ other);
    }
    std::hint::black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(gate: &Gate, headers: &[(&str, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        gate.refusal(&Uri::from_static("/mcp"), &map).map(|reply| reply.status().as_u16())
    }

    #[test]
    fn host_and_origin_must_name_this_machine() {
        let gate = Gate::new(([127, 0, 0, 5], 80).into(), None);
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:80", "127.0.0.5"] {
            assert_eq!(status(&gate, &[("host", host)]), None, "{host}");
            let origin = format!("http://{host}");
            assert_eq!(status(&gate, &[("host", "localhost"), ("origin", &origin)]), None, "{origin}");
        }
        for host in ["evil.example", "localhost.evil.example:80", "127.0.0.6", "", "localhost:x", "::1"] {
            assert_eq!(status(&gate, &[("host", host)]), Some(403), "{host}");
            let origin = format!("https://{host}");
            assert_eq!(status(&gate, &[("host", "localhost"), ("origin", &origin)]), Some(403), "{origin}");
        }
        assert_eq!(status(&gate, &[]), Some(403));
        assert_eq!(status(&gate, &[("host", "localhost"), ("host", "localhost")]), Some(403));
        assert_eq!(status(&gate, &[("host", "localhost"), ("origin", "null")]), Some(403));
    }

    #[test]
    fn a_server_for_others_knows_no_names_but_no_foreign_pages() {
        let gate = Gate::new(([0, 0, 0, 0], 80).into(), Some("hunter22".into()));
        let login = ("authorization", "bearer hunter22");
        assert_eq!(status(&gate, &[("host", "my.box:80"), login]), None);
        assert_eq!(status(&gate, &[("host", "my.box:80"), ("origin", "http://my.box:80"), login]), None);
        assert_eq!(
            status(&gate, &[("host", "my.box:80"), ("origin", "http://evil.example"), login]),
            Some(403)
        );
    }

    #[test]
    fn the_token_is_asked_for() {
        let gate = Gate::new(([127, 0, 0, 1], 80).into(), Some("hunter22".into()));
        let with = |value: &str| status(&gate, &[("host", "localhost"), ("authorization", value)]);
        assert_eq!(with("Bearer hunter22"), None);
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer hunter2",
            "Bearer hunter222",
            "Basic hunter22",
            "Bearer hunter22hunter22",
        ] {
            assert_eq!(with(wrong), Some(401), "{wrong}");
        }
        assert_eq!(status(&gate, &[("host", "localhost")]), Some(401));
    }
}
