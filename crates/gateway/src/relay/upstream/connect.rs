//! A connection to a provider: straight, or through the proxy that the environment names; TLS where the address says so.

use crate::relay::config::Target;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV4, SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tower_service::Service;

/// A connection, whatever it is made of.
pub(crate) type Io = TokioIo<Box<dyn Stream>>;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Makes connections to providers.
#[derive(Clone)]
pub(crate) struct Connector {
    http: HttpConnector,
    /// Offers HTTP/2 and HTTP/1.1.
    both: Arc<rustls::ClientConfig>,
    /// Offers HTTP/1.1 alone.
    one: Arc<rustls::ClientConfig>,
    proxies: Arc<Matcher>,
    time: Duration,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}

/// The system's roots, verified as the system does.
pub(crate) fn system_tls() -> Result<rustls::ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth())
}

impl Connector {
    pub(crate) fn new(tls: rustls::ClientConfig, proxies: Matcher, time: Duration) -> Self {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(30)));
        http.set_connect_timeout(Some(time));
        let (mut both, mut one) = (tls.clone(), tls);
        both.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        one.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { http, both: Arc::new(both), one: Arc::new(one), proxies: Arc::new(proxies), time }
    }

    /// Connects, and says whether the provider chose HTTP/2. `upgradable`: it may not.
    ///
    /// # Errors
    ///
    /// Why no connection came about, without keys.
    pub(crate) async fn connect(&self, target: &Target, upgradable: bool) -> Result<(Io, bool), String> {
        // The connection itself, and what is said on it before the first request.
        let whole = self.time.saturating_mul(2);
        match tokio::time::timeout(whole, self.try_connect(target, upgradable)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no connection within {} s", whole.as_secs())),
        }
    }

    async fn try_connect(&self, target: &Target, upgradable: bool) -> Result<(Io, bool), String> {
        let scheme = if target.https { "https" } else { "http" };
        let address: Uri = format!("{scheme}://{}/", target.authority)
            .parse()
            .map_err(|_| "its address is no URL".to_owned())?;
        // This machine is never asked through another one.
        let proxy = if target.is_loopback() { None } else { self.proxies.intercept(&address) };
        let stream: Box<dyn Stream> = match proxy {
            None => {
                Box::new(self.http.clone().call(address).await.map_err(|error| chain(&error))?.into_inner())
            }
            Some(proxy) => {
                let shown = proxy.uri().authority().map(|at| at.host().to_owned()).unwrap_or_default();
                self.through(&proxy, address)
                    .await
                    .map_err(|why| format!("through the proxy {shown}: {why}"))?
            }
        };
        if !target.https {
            return Ok((TokioIo::new(stream), false));
        }
        let config = if upgradable { &self.one } else { &self.both };
        let tls = encrypt(config, target.authority.host(), stream).await?;
        let is_h2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok((TokioIo::new(Box::new(tls)), is_h2))
    }

    async fn through(&self, proxy: &Intercept, address: Uri) -> Result<Box<dyn Stream>, String> {
        let at = proxy.uri().clone();
        let http = self.http.clone();
        let scheme = at.scheme_str().unwrap_or("http").to_owned();
        match scheme.as_str() {
            "http" => {
                let mut tunnel = Tunnel::new(at, http);
                if let Some(auth) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                let io = tunnel.call(address).await.map_err(|error| chain(&error))?;
                Ok(Box::new(io.into_inner()))
            }
            "https" => {
                let mut tunnel = Tunnel::new(at, Hop { http, tls: Arc::clone(&self.one) });
                if let Some(auth) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                let io = tunnel.call(address).await.map_err(|error| chain(&error))?;
                Ok(io.into_inner())
            }
            "socks5" | "socks5h" => {
                let mut socks = SocksV5::new(at, http).local_dns(scheme == "socks5");
                if let Some((user, password)) = proxy.raw_auth() {
                    socks = socks.with_auth(user.to_owned(), password.to_owned());
                }
                Ok(Box::new(socks.call(address).await.map_err(|error| chain(&error))?.into_inner()))
            }
            "socks4" | "socks4a" => {
                let mut socks = SocksV4::new(at, http).local_dns(scheme == "socks4");
                Ok(Box::new(socks.call(address).await.map_err(|error| chain(&error))?.into_inner()))
            }
            _ => Err("its kind is not known; http, https, socks4 and socks5 are".to_owned()),
        }
    }
}

/// An encrypted connection to a proxy.
#[derive(Clone)]
struct Hop {
    http: HttpConnector,
    tls: Arc<rustls::ClientConfig>,
}

impl Service<Uri> for Hop {
    type Response = Io;
    type Error = String;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Io, String>> + Send>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), String>> {
        self.http.poll_ready(cx).map_err(|error| chain(&error))
    }

    fn call(&mut self, at: Uri) -> Self::Future {
        let (mut http, tls) = (self.http.clone(), Arc::clone(&self.tls));
        Box::pin(async move {
            let host = at.host().unwrap_or_default().to_owned();
            let stream = http.call(at).await.map_err(|error| chain(&error))?.into_inner();
            let tls = encrypt(&tls, &host, Box::new(stream)).await?;
            Ok(TokioIo::new(Box::new(tls) as Box<dyn Stream>))
        })
    }
}

async fn encrypt(
    config: &Arc<rustls::ClientConfig>,
    host: &str,
    stream: Box<dyn Stream>,
) -> Result<tokio_rustls::client::TlsStream<Box<dyn Stream>>, String> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let name =
        ServerName::try_from(bare.to_owned()).map_err(|_| format!("`{bare}` cannot be verified by TLS"))?;
    let connected = TlsConnector::from(Arc::clone(config)).connect(name, stream).await;
    connected.map_err(|error| format!("TLS failed: {error}"))
}

/// An error with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !out.contains(&text) {
            out.push_str(": ");
            out.push_str(&text);
        }
        source = cause.source();
    }
    crate::relay::notes::plain(&out)
}
