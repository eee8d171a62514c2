//! A login: a person is sent to the authorization server, and comes back with a code.

use super::carrier::Carrier;
use super::file::Store;
use super::resource;
use crate::harmless::excerpt;
use crate::link::client::Client;
use crate::listing::Options;
use crate::message::Request;
use crate::spec::{ServerSpec, Transport};
use crate::text::Text;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Most bytes of a request to the redirect's address.
const MOST: usize = 16 << 10;
/// How long a browser may take for a request.
const BROWSER: Duration = Duration::from_secs(10);

/// How a login is done.
#[derive(Debug, Clone)]
pub struct LoginOptions {
    /// The file in which logins are kept.
    pub file: PathBuf,
    /// The scopes to ask for; those that the server names if empty.
    pub scopes: Vec<String>,
    /// A client that is registered already, with its secret if it has one.
    pub client: Option<(String, Option<Text>)>,
    /// The port that the browser is sent back to; any free one if 0. A registered client may need a certain one.
    pub port: u16,
    /// How long the person may take. Default 5 minutes.
    pub patience: Duration,
}

impl LoginOptions {
    /// The defaults, with a file.
    pub fn in_file(file: impl Into<PathBuf>) -> Self {
        let patience = Duration::from_secs(300);
        Self { file: file.into(), scopes: Vec::new(), client: None, port: 0, patience }
    }
}

/// A login that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// What it is for: the server's address.
    pub resource: String,
    /// Who gave it.
    pub issuer: Option<String>,
    /// What it allows, as far as that is known.
    pub scopes: Vec<String>,
}

/// Why there is no login. Harmless to print.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The server is a process.
    #[error("the server is started as a process; only servers reached over HTTP have logins")]
    NotHttp,
    /// The server has credentials of its own in its configuration.
    #[error(
        "the server's configuration has a header Authorization, which goes before any login; take it out first"
    )]
    HasCredentials,
    /// The server cannot be asked where to log in, or does not say.
    #[error("it does not become clear where to log in: {detail}")]
    NoServer {
        /// What is wrong.
        detail: String,
    },
    /// This client is not known there, and cannot make itself known.
    #[error(
        "the authorization server does not register this client: {detail}; register one by hand and name it with --client-id"
    )]
    NotRegistered {
        /// What it said.
        detail: String,
    },
    /// The address that the browser is sent back to cannot be had.
    #[error("cannot listen for the browser on port {port}: {detail}")]
    NoListener {
        /// The port.
        port: u16,
        /// What the system said.
        detail: String,
    },
    /// The person or the server said no.
    #[error("the login was refused: {detail}")]
    Refused {
        /// What it said.
        detail: String,
    },
    /// Nobody came back.
    #[error("nobody came back from the browser within {} s", .patience.as_secs())]
    TimedOut {
        /// How long it was waited.
        patience: Duration,
    },
    /// The code was not exchanged for a token, or that could not be stored.
    #[error("the login could not be completed: {detail}")]
    NotCompleted {
        /// What is wrong.
        detail: String,
    },
}

fn shown(error: &AuthError) -> String {
    excerpt(error.to_string().as_bytes(), 300)
}

/// Logs in at a server. `opener` is given the address that the person must visit.
///
/// # Errors
///
/// As [`LoginError`] says. Nothing is stored then.
pub async fn login(
    spec: &ServerSpec,
    options: &LoginOptions,
    opener: impl FnOnce(&str),
) -> Result<LoggedIn, LoginError> {
    let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &spec.transport else {
        return Err(LoginError::NotHttp);
    };
    let client = Client::new(url, headers, &Options::default()).map_err(|reason| LoginError::NoServer {
        detail: format!("its address cannot be used ({})", reason.code()),
    })?;
    if client.has_credentials() {
        return Err(LoginError::HasCredentials);
    }
    let resource = resource(&client.url);
    let no_server = |error: AuthError| LoginError::NoServer { detail: shown(&error) };
    let carrier = Arc::new(Carrier::new(&resource).map_err(no_server)?);
    let mut manager = AuthorizationManager::new_with_oauth_http_client(resource.clone(), carrier)
        .await
        .map_err(no_server)?;
    let challenge = challenge(&client).await;
    let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await.map_err(no_server)?;
    let issuer = found.metadata.issuer.clone();
    manager.set_metadata(found.metadata);

    let no_listener =
        |error: std::io::Error| LoginError::NoListener { port: options.port, detail: error.to_string() };
    let listener = TcpListener::bind(("127.0.0.1", options.port)).await.map_err(no_listener)?;
    let port = listener.local_addr().map_err(no_listener)?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");

    let scopes = if options.scopes.is_empty() {
        manager.select_initial_scopes(&[]).await
    } else {
        options.scopes.clone()
    };
    let scope_texts: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let not_registered = |error: AuthError| LoginError::NotRegistered { detail: shown(&error) };
    let secret = match &options.client {
        Some((id, secret)) => {
            let mut config = OAuthClientConfig::new(id, &redirect).with_scopes(scopes.clone());
            if let Some(secret) = secret {
                config = config.with_client_secret(secret.reveal());
            }
            manager.configure_client(config).map_err(not_registered)?;
            secret.as_ref().map(|secret| secret.reveal().to_owned())
        }
        None => {
            let registered = manager.register_client("deadweight", &redirect, &scope_texts).await;
            registered.map_err(not_registered)?.client_secret
        }
    };
    manager.set_credential_store(Store::new(&options.file, resource.as_str()).with_secret(secret));
    let visit = manager.get_authorization_url(&scope_texts).await.map_err(no_server)?;
    let state = Url::parse(&visit).ok().and_then(|url| parameter(&url, "state")).unwrap_or_default();
    opener(&visit);

    let back = timeout(options.patience, wait(&listener, &state)).await;
    let back = back.map_err(|_| LoginError::TimedOut { patience: options.patience })?.map_err(no_listener)?;
    let code = match back {
        Back::Code { code, issuer } => (code, issuer),
        Back::Error(detail) => return Err(LoginError::Refused { detail }),
    };
    manager
        .exchange_code_for_token_with_issuer(&code.0, &state, code.1.as_deref())
        .await
        .map_err(|error| LoginError::NotCompleted { detail: shown(&error) })?;
    let scopes = manager.get_current_scopes().await;
    Ok(LoggedIn { resource: resource.into(), issuer, scopes })
}

/// What the server says to a request without a login.
async fn challenge(client: &Client) -> Option<String> {
    let (body, headers) = (Request::initialize(0).body, HeaderMap::new());
    let sent = client.post_from(client.url.clone(), &body, &headers);
    let (response, _) = timeout(BROWSER, sent).await.ok()?.ok()?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return None;
    }
    let all = response.headers().get_all(WWW_AUTHENTICATE);
    let all: Vec<&str> = all.iter().filter_map(|value| value.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// What the browser comes back with.
enum Back {
    Code { code: String, issuer: Option<String> },
    Error(String),
}

/// Waits for the browser. Who comes without the right state is sent away, and it is waited on.
async fn wait(listener: &TcpListener, state: &str) -> std::io::Result<Back> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let Ok(Some(url)) = timeout(BROWSER, asked(&mut stream)).await else { continue };
        let is_ours = url.path() == "/callback" && parameter(&url, "state").as_deref() == Some(state);
        let back = if !is_ours {
            None
        } else if let Some(error) = parameter(&url, "error") {
            let detail =
                parameter(&url, "error_description").map(|text| format!(": {text}")).unwrap_or_default();
            Some(Back::Error(excerpt(format!("{error}{detail}").as_bytes(), 200)))
        } else {
            parameter(&url, "code").map(|code| Back::Code { code, issuer: parameter(&url, "iss") })
        };
        let (status, text) = match &back {
            Some(Back::Code { .. }) => ("200 OK", "You are logged in. This page can be closed."),
            Some(Back::Error(_)) => ("200 OK", "The login was refused. This page can be closed."),
            None => ("400 Bad Request", "This is not the login that is waited for."),
        };
        let page = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        let _ = timeout(BROWSER, stream.write_all(page.as_bytes())).await;
        let _ = stream.shutdown().await;
        if let Some(back) = back {
            return Ok(back);
        }
    }
}

/// The address that a browser asks for.
async fn asked(stream: &mut TcpStream) -> Option<Url> {
    let mut head = Vec::new();
    while memchr::memmem::find(&head, b"\r\n\r\n").is_none() && head.len() < MOST {
        let mut part = [0; 1024];
        let read = stream.read(&mut part).await.ok()?;
        if read == 0 {
            break;
        }
        head.extend_from_slice(part.get(..read)?);
    }
    let text = String::from_utf8_lossy(&head);
    let mut words = text.lines().next()?.split(' ');
    let path = (words.next() == Some("GET")).then(|| words.next()).flatten()?;
    Url::parse("http://127.0.0.1/").ok()?.join(path).ok()
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
