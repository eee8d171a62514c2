//! Logins at servers reached over HTTP.
//!
//! The protocol is rmcp's (`rmcp::transport::auth`): discovery of the authorization server with its many fallbacks,
//! registration, PKCE, the checks of state and issuer, exchange and renewal. It was chosen over the crate `oauth2`, which
//! it builds on and which has none of what MCP adds, and over code of our own, because it takes its HTTP client and its
//! store from outside and needs neither rmcp's transports nor its model of the protocol. What is here: that client
//! ([`carrier`]), the file in which logins are kept ([`file`]), the login itself ([`login`]), and the token that goes
//! with each request ([`Bearer`]).

mod carrier;
mod file;
mod login;

pub use login::{LoggedIn, LoginError, LoginOptions, login};

use crate::link::client::Client;
use carrier::Carrier;
use file::{Login, Store};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Mutex;

/// A token is renewed when it has less time left than this, or than half its life.
const BEFORE_END: u64 = 30;
/// How long nothing is tried after a renewal that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The resource that a login is for: the endpoint without what may hold a secret.
fn resource(url: &reqwest::Url) -> reqwest::Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The stored login of one server.
#[derive(Debug)]
pub(crate) struct Bearer {
    resource: reqwest::Url,
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    login: Option<Login>,
    looked: bool,
    failed: Option<tokio::time::Instant>,
}

impl Bearer {
    /// The login of this server in a file, which may come into it later. None for a server that is given credentials of its
    /// own.
    pub(crate) fn of(client: &Client, file: Option<&Path>) -> Option<Self> {
        if client.has_credentials() {
            return None;
        }
        let state = Mutex::default();
        Some(Self { resource: resource(&client.url), file: file?.to_owned(), state })
    }

    /// The value of the header `Authorization`; renewed first when its time is nearly over.
    pub(crate) async fn value(&self) -> Option<HeaderValue> {
        let mut state = self.state.lock().await;
        if !state.looked {
            state.looked = true;
            state.login = self.read().await;
        }
        let login = state.login.as_ref()?;
        if !login.ends_soon(now()) {
            return login.header();
        }
        let refused = login.token.clone();
        self.renew(&mut state, Some(&refused)).await;
        state.login.as_ref()?.header()
    }

    /// Another value for the header, when this one was refused. None if there is none.
    pub(crate) async fn renewed(&self, refused: Option<&HeaderValue>) -> Option<HeaderValue> {
        let mut state = self.state.lock().await;
        let current = state.login.as_ref().and_then(Login::header);
        if current.is_some() && current.as_ref() != refused {
            // Another request was faster.
            return current;
        }
        let token = state.login.as_ref().map(|login| login.token.clone());
        self.renew(&mut state, token.as_ref()).await;
        state.login.as_ref().and_then(Login::header).filter(|value| Some(value) != refused)
    }

    /// Whether there is a login.
    pub(crate) async fn is_there(&self) -> bool {
        self.state.lock().await.login.is_some()
    }

    async fn read(&self) -> Option<Login> {
        let store = Store::new(&self.file, self.resource.as_str());
        tokio::task::spawn_blocking(move || store.newest().ok().flatten()).await.ok().flatten()
    }

    /// Takes the login that another process has put into the file meanwhile, or renews this one.
    async fn renew(&self, state: &mut State, refused: Option<&crate::text::Text>) {
        let same = |login: &Login| refused.is_some_and(|refused| *refused == login.token);
        match self.read().await {
            Some(login) if !same(&login) && !login.ends_soon(now()) => {
                state.login = Some(login);
                return;
            }
            None => {
                state.login = None;
                return;
            }
            Some(_) => {}
        }
        if state.failed.is_some_and(|failed| failed.elapsed() < AFTER_FAILURE) {
            return;
        }
        let store = Store::new(&self.file, self.resource.as_str());
        // One process at a time: a refresh token works once.
        let Ok(_guard) = store.lock_for_renewal().await else { return };
        let Some(login) = self.read().await else { return };
        if !same(&login) && !login.ends_soon(now()) {
            state.login = Some(login);
            return;
        }
        match renew(&self.resource, store, &login).await {
            Ok(()) => {
                state.login = self.read().await;
                state.failed = None;
            }
            Err(_) => state.failed = Some(tokio::time::Instant::now()),
        }
    }
}

/// Renews a login and stores the new one.
async fn renew(resource: &reqwest::Url, store: Store, login: &Login) -> Result<(), AuthError> {
    let carrier = Arc::new(Carrier::new(resource)?);
    let mut manager = AuthorizationManager::new_with_oauth_http_client(resource.clone(), carrier).await?;
    manager.set_credential_store(store.with(login));
    if !manager.initialize_from_store().await? {
        return Err(AuthError::AuthorizationRequired);
    }
    if let Some(secret) = &login.secret {
        let config = OAuthClientConfig::new(&login.client, resource.as_str());
        manager.configure_client(config.with_client_secret(secret.reveal()))?;
    }
    manager.refresh_token().await.map(drop)
}

impl Client {
    /// Whether credentials were given for it.
    fn has_credentials(&self) -> bool {
        self.has_header(&AUTHORIZATION)
    }
}

#[cfg(test)]
mod tests;
