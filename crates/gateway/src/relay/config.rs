//! What a gateway is told to do.

use crate::provider::Provider;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a body that are copied for measuring; larger ones pass through uncounted but for their length.
pub const BODY_BOUND: u64 = 48 << 20;

/// Text that is used and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the secret is this text, in a time that depends on the length of `given` only.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let mut differs = given.len() ^ own.len();
        for (index, byte) in given.iter().enumerate() {
            let other = own.get(index % own.len().max(1)).copied().unwrap_or_default();
            differs |= usize::from(byte ^ other);
        }
        std::hint::black_box(differs) == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// Whom requests are meant for that do not tell it themselves: the port is then one agent's own.
    pub provider: Option<Provider>,
    /// That agent's label.
    pub agent: Option<Arc<str>>,
}

impl Listen {
    /// An address for everybody.
    pub fn on(address: SocketAddr) -> Self {
        Self { address, provider: None, agent: None }
    }
}

/// Where a provider is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) https: bool,
    pub(crate) authority: Authority,
    /// What stands before every path, without a slash at its end.
    pub(crate) base: String,
    /// Scheme, host and port, for people and records.
    pub(crate) shown: Arc<str>,
    pub(crate) host_header: HeaderValue,
}

/// Why an address cannot be a provider's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It is no URL.
    #[error("it is no URL; write https://HOST or https://HOST/PATH")]
    Url,
    /// It has a name or password in it.
    #[error("it holds a user or a password, which are not taken from a URL")]
    UserInfo,
    /// It has a query.
    #[error("it has a query, which would be put before every path")]
    Query,
    /// It is not https, and not this machine.
    #[error("keys would go there in the clear; only this machine may be asked without https")]
    Clear,
    /// It has another scheme.
    #[error("its scheme is neither https nor http")]
    Scheme,
}

impl Target {
    /// Reads the address of a provider: `https://HOST[:PORT][/PATH]`, or `http://` on this machine.
    ///
    /// # Errors
    ///
    /// When it is no such URL; the error says what is wrong, and does not repeat the URL.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let url = url.trim();
        if url.contains('@') {
            return Err(TargetError::UserInfo);
        }
        let uri: Uri = url.parse().map_err(|_| TargetError::Url)?;
        let authority = uri.authority().cloned().ok_or(TargetError::Url)?;
        if authority.host().is_empty() {
            return Err(TargetError::Url);
        }
        if uri.query().is_some() {
            return Err(TargetError::Query);
        }
        let scheme = uri.scheme().ok_or(TargetError::Url)?;
        let https = *scheme == Scheme::HTTPS;
        if !https && *scheme != Scheme::HTTP {
            return Err(TargetError::Scheme);
        }
        if !https && !is_loopback(authority.host()) {
            return Err(TargetError::Clear);
        }
        let base = uri.path().trim_end_matches('/').to_owned();
        let host_header = HeaderValue::from_str(authority.as_str()).map_err(|_| TargetError::Url)?;
        let shown = format!("{scheme}://{authority}").into();
        Ok(Self { https, authority, base, shown, host_header })
    }

    /// Scheme, host and port.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(self.authority.host())
    }
}

/// Whether a host's name or address is this machine, without asking anybody.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Bounds on what is taken from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections of clients at a time; further ones wait.
    pub connections: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// How long a client may take from the first byte of a head to its last.
    pub head_time: Duration,
    /// How long a connection may be idle.
    pub idle_time: Duration,
    /// How long a connection to a provider may take to come about.
    pub connect_time: Duration,
    /// How long a provider may say nothing before its answer begins. None by default: a client that waits is let wait.
    pub answer_time: Option<Duration>,
    /// Bytes of a body that are copied for measuring.
    pub body_bound: u64,
    /// Requests that one HTTP/2 connection of a client may have open.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            headers: 128,
            head_bytes: 64 << 10,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(120),
            connect_time: Duration::from_secs(10),
            answer_time: None,
            body_bound: BODY_BOUND,
            streams: 256,
        }
    }
}

/// What a gateway is told to do.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen. Cannot be changed while the gateway runs.
    pub listen: Vec<Listen>,
    /// Where each provider is asked. Nobody else is ever asked.
    pub upstreams: Vec<(Provider, Target)>,
    /// What clients must send before anything is done for them. Without one, only this machine is listened to.
    pub token: Option<Secret>,
    /// Keys that the gateway holds: they are put in place of what clients send. Only together with a token.
    pub keys: Vec<(Provider, Secret)>,
    /// Names under which the gateway may be asked, besides `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Origins of web pages that may ask, besides those on this machine.
    pub origins: Vec<String>,
    /// Bounds.
    pub limits: Limits,
}

/// Why a gateway cannot be told this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Other machines could ask without a token.
    #[error("{address} can be reached from other machines, and nobody would be asked for a token")]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// Keys are held, and anybody could use them.
    #[error("keys are held, and whoever reaches this port could use them without a token")]
    KeysWithoutToken,
    /// A key that is held cannot be sent to such a provider.
    #[error("a key of {provider} cannot be held: its requests are signed")]
    Signed {
        /// The provider.
        provider: Provider,
    },
    /// A token or key cannot be sent in a header.
    #[error("{what} has characters that cannot be sent in a header")]
    Unsendable {
        /// Which.
        what: String,
    },
    /// Nobody listens.
    #[error("there is no address to listen on")]
    NoListener,
    /// A gateway that runs would ask for no token any more.
    #[error(
        "the gateway was started with a token and would ask for none any more; if that is meant, restart it"
    )]
    TokenGone,
    /// A gateway that runs would send to a provider's own address, or nowhere, what it sent to one that was named.
    #[error("no upstream is named for {provider} any more; if that is meant, restart the gateway")]
    UpstreamGone {
        /// The provider.
        provider: Provider,
    },
    /// A gateway that runs would send clients' keys in place of the one that it holds.
    #[error("the key of {provider} would be held no more; if that is meant, restart the gateway")]
    KeyGone {
        /// The provider.
        provider: Provider,
    },
}

impl Config {
    /// Listens on one address, with the providers' own addresses, and for this machine alone.
    pub fn new(address: SocketAddr) -> Self {
        let upstreams = Provider::ALL
            .into_iter()
            .filter_map(|provider| Some((provider, Target::parse(provider.default_upstream()?).ok()?)));
        Self {
            listen: vec![Listen::on(address)],
            upstreams: upstreams.collect(),
            token: None,
            keys: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Asks a provider somewhere else.
    pub fn set_upstream(&mut self, provider: Provider, target: Target) {
        match self.upstreams.iter_mut().find(|(own, _)| *own == provider) {
            Some((_, own)) => *own = target,
            None => self.upstreams.push((provider, target)),
        }
    }

    /// # Errors
    ///
    /// When it must not be done so.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.listen.is_empty() {
            return Err(ConfigError::NoListener);
        }
        if self.token.is_none() {
            if let Some(open) = self.listen.iter().find(|listen| !listen.address.ip().is_loopback()) {
                return Err(ConfigError::Open { address: open.address });
            }
            if !self.keys.is_empty() {
                return Err(ConfigError::KeysWithoutToken);
            }
        }
        let sendable = |secret: &Secret| {
            !secret.reveal().is_empty() && secret.reveal().bytes().all(|byte| byte.is_ascii_graphic())
        };
        if self.token.as_ref().is_some_and(|token| !sendable(token)) {
            return Err(ConfigError::Unsendable { what: "the token".to_owned() });
        }
        for (provider, key) in &self.keys {
            if matches!(provider, Provider::Bedrock | Provider::Vertex) {
                return Err(ConfigError::Signed { provider: *provider });
            }
            if !sendable(key) {
                return Err(ConfigError::Unsendable { what: format!("the key of {provider}") });
            }
        }
        Ok(())
    }
}

impl Config {
    /// Whether a gateway that runs by `before` may take this over: a file that an editor has just emptied must not open
    /// what was closed, or send keys elsewhere.
    ///
    /// # Errors
    ///
    /// When it would.
    pub(crate) fn may_follow(&self, before: &Self) -> Result<(), ConfigError> {
        if before.token.is_some() && self.token.is_none() {
            return Err(ConfigError::TokenGone);
        }
        for (provider, target) in &before.upstreams {
            let own = |provider: &Provider| Target::parse(provider.default_upstream()?).ok();
            let now = self.upstreams.iter().find(|(own, _)| own == provider).map(|(_, target)| target);
            let default = own(provider);
            if default.as_ref() != Some(target) && (now.is_none() || now == default.as_ref()) {
                return Err(ConfigError::UpstreamGone { provider: *provider });
            }
        }
        let held = |provider: &Provider| self.keys.iter().any(|(own, _)| own == provider);
        match before.keys.iter().find(|(provider, _)| !held(provider)) {
            Some((provider, _)) => Err(ConfigError::KeyGone { provider: *provider }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_https_or_this_machine() {
        for (url, error) in [
            ("https://api.example.com", None),
            ("https://api.example.com:8443/base/", None),
            ("http://127.0.0.1:9", None),
            ("http://localhost:9/v1", None),
            ("http://[::1]:9", None),
            ("http://api.example.com", Some(TargetError::Clear)),
            ("http://localhost.example.com", Some(TargetError::Clear)),
            ("ftp://localhost", Some(TargetError::Scheme)),
            ("https://user:pass@api.example.com", Some(TargetError::UserInfo)),
            ("https://api.example.com/?a=b", Some(TargetError::Query)),
            ("api.example.com", Some(TargetError::Url)),
            ("/v1", Some(TargetError::Url)),
            ("", Some(TargetError::Url)),
        ] {
            assert_eq!(Target::parse(url).err(), error, "{url}");
        }
        let target = Target::parse("https://api.example.com/base/").unwrap();
        assert_eq!((target.base.as_str(), target.shown()), ("/base", "https://api.example.com"));
    }

    #[test]
    fn nobody_is_let_in_by_oversight() {
        let mut config = Config::new(([127, 0, 0, 1], 0).into());
        assert_eq!(config.check(), Ok(()));
        config.keys.push((Provider::Anthropic, Secret::new("sk-ant-1")));
        assert_eq!(config.check(), Err(ConfigError::KeysWithoutToken));
        config.token = Some(Secret::new("hunter22"));
        assert_eq!(config.check(), Ok(()));
        config.keys.push((Provider::Bedrock, Secret::new("x")));
        assert_eq!(config.check(), Err(ConfigError::Signed { provider: Provider::Bedrock }));
        let mut open = Config::new(([0, 0, 0, 0], 8787).into());
        assert!(matches!(open.check(), Err(ConfigError::Open { .. })));
        open.token = Some(Secret::new("two words"));
        assert!(matches!(open.check(), Err(ConfigError::Unsendable { .. })));
        assert!(!format!("{open:?}").contains("two words"));
    }

    #[test]
    fn a_secret_is_compared_whole() {
        let secret = Secret::new("abc");
        assert!(secret.is(b"abc"));
        for other in [&b""[..], b"ab", b"abcd", b"abd", b"abcabc"] {
            assert!(!secret.is(other));
        }
    }
}
