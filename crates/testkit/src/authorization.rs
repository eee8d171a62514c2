//! A server that wants a login, and the authorization server that gives it: both on one free port of loopback.
//!
//! It checks what a client must do: PKCE with S256, the `resource` in every request, the redirect that it registered,
//! codes and refresh tokens that work once.

use crate::raw_http::{Answer, RawHttp};
use crate::upstream::Recorded;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How it behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// Whether its metadata is only where OpenID Connect has it.
    pub openid: bool,
    /// Whether clients get a secret, which they must show.
    pub secret: bool,
    /// The life of access tokens in seconds, as it says; 3,600 if 0.
    pub lifetime: u64,
    /// Whether the person says no.
    pub denies: bool,
}

/// The two servers. The endpoint is `/mcp`; it answers `tools/list` and everything else with an empty result.
#[derive(Debug)]
pub struct Authorization {
    server: RawHttp,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    base: String,
    /// Redirects by client.
    clients: BTreeMap<String, String>,
    /// Challenge and redirect by code.
    codes: BTreeMap<String, (String, String)>,
    access: Option<String>,
    refresh: Option<String>,
    made: usize,
    refreshed: usize,
    problems: Vec<String>,
}

impl Authorization {
    /// Listens.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(rules: Rules) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let server = RawHttp::start(move |request, answer| lock(&shared).answer(rules, request, answer))?;
        lock(&state).base = server.at("");
        Ok(Self { server, state })
    }

    /// The endpoint that wants a login.
    pub fn url(&self) -> String {
        self.server.at("/mcp")
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// How often a token was renewed.
    pub fn refreshed(&self) -> usize {
        lock(&self.state).refreshed
    }

    /// What clients did wrong.
    pub fn problems(&self) -> Vec<String> {
        lock(&self.state).problems.clone()
    }

    /// The access token that is good now.
    pub fn token(&self) -> Option<String> {
        lock(&self.state).access.clone()
    }

    /// Makes the access token worthless before its time; with `for_good` the refresh token too.
    pub fn revoke(&self, for_good: bool) {
        let mut state = lock(&self.state);
        state.access = None;
        if for_good {
            state.refresh = None;
        }
    }

    /// What a browser does with the address for a login: it goes there and where it is sent.
    ///
    /// # Errors
    ///
    /// When a server does not answer.
    pub fn browse(url: &str) -> io::Result<String> {
        let answer = get(url)?;
        let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
        match location {
            Some(location) => get(location.trim()),
            None => Ok(answer),
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A GET, the whole answer as text.
///
/// # Errors
///
/// When there is no answer.
pub fn get(url: &str) -> io::Result<String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host)?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

impl State {
    fn answer(&mut self, rules: Rules, request: &Recorded, answer: &mut Answer) -> io::Result<()> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let base = self.base.clone();
        match (request.method.as_str(), path) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                let metadata = json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]});
                answer.json(200, &metadata.to_string())
            }
            ("GET", "/.well-known/oauth-authorization-server") if !rules.openid => {
                answer.json(200, &metadata(&base).to_string())
            }
            ("GET", "/.well-known/openid-configuration") if rules.openid => {
                let mut metadata = metadata(&base);
                metadata["jwks_uri"] = format!("{base}/keys").into();
                metadata["subject_types_supported"] = json!(["public"]);
                metadata["id_token_signing_alg_values_supported"] = json!(["RS256"]);
                answer.json(200, &metadata.to_string())
            }
            ("POST", "/register") => {
                let message = request.json();
                self.made += 1;
                let client = format!("client-{}", self.made);
                let redirect = message["redirect_uris"][0].as_str().unwrap_or_default().to_owned();
                self.clients.insert(client.clone(), redirect);
                let mut registered = message;
                registered["client_id"] = client.into();
                if rules.secret {
                    registered["client_secret"] = "hunter2-secret".into();
                    registered["token_endpoint_auth_method"] = "client_secret_basic".into();
                }
                answer.json(201, &registered.to_string())
            }
            ("GET", "/authorize") => self.authorize(rules, &form(query), answer),
            ("POST", "/token") => self.token(rules, request, answer),
            ("POST", "/mcp") => {
                let good = self.access.as_ref().map(|token| format!("Bearer {token}"));
                if good.is_none() || request.header("authorization") != good.as_deref() {
                    let challenge = format!(
                        "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"tools\""
                    );
                    return answer.whole(401, &[("www-authenticate", &challenge)], b"");
                }
                let id = request.json()["id"].clone();
                answer.json(200, &json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string())
            }
            (_, "/mcp") => {
                let challenge =
                    format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
                answer.whole(401, &[("www-authenticate", &challenge)], b"")
            }
            _ => answer.whole(404, &[], b""),
        }
    }

    fn expect(&mut self, what: &str, holds: bool) {
        if !holds {
            self.problems.push(what.to_owned());
        }
    }

    fn authorize(
        &mut self,
        rules: Rules,
        query: &BTreeMap<String, String>,
        answer: &mut Answer,
    ) -> io::Result<()> {
        let get = |name: &str| query.get(name).cloned().unwrap_or_default();
        let (redirect, state) = (get("redirect_uri"), get("state"));
        let resource = format!("{}/mcp", self.base);
        self.expect(
            "the redirect is the registered one",
            self.clients.get(&get("client_id")) == Some(&redirect),
        );
        self.expect(
            "PKCE with S256",
            get("code_challenge_method") == "S256" && !get("code_challenge").is_empty(),
        );
        self.expect("the resource", get("resource") == resource);
        self.expect("the scope", get("scope") == "tools");
        self.expect("a state", state.len() >= 16);
        if rules.denies {
            let to = format!("{redirect}?error=access_denied&error_description=hunter2&state={state}");
            return answer.whole(302, &[("location", &to)], b"");
        }
        self.made += 1;
        let code = format!("code-{}", self.made);
        self.codes.insert(code.clone(), (get("code_challenge"), redirect.clone()));
        let to = format!("{redirect}?code={code}&state={state}");
        answer.whole(302, &[("location", &to)], b"")
    }

    fn token(&mut self, rules: Rules, request: &Recorded, answer: &mut Answer) -> io::Result<()> {
        let body = form(&String::from_utf8_lossy(&request.body));
        let get = |name: &str| body.get(name).cloned().unwrap_or_default();
        self.expect("the resource", get("resource") == format!("{}/mcp", self.base));
        if rules.secret {
            let basic = request.header("authorization").unwrap_or_default().starts_with("Basic ");
            self.expect("the secret", basic || get("client_secret") == "hunter2-secret");
        }
        let good = match get("grant_type").as_str() {
            "authorization_code" => {
                let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
                self.codes.remove(&get("code")).is_some_and(|(challenge, redirect)| {
                    challenge == verifier && redirect == get("redirect_uri")
                })
            }
            "refresh_token" => {
                let good = self.refresh.is_some() && self.refresh == body.get("refresh_token").cloned();
                self.refreshed += usize::from(good);
                good
            }
            _ => false,
        };
        if !good {
            return answer.json(400, r#"{"error":"invalid_grant"}"#);
        }
        self.made += 1;
        let (access, refresh) = (format!("access-{}", self.made), format!("refresh-{}", self.made));
        let lifetime = if rules.lifetime == 0 { 3_600 } else { rules.lifetime };
        let tokens = json!({"access_token": access, "token_type": "Bearer", "expires_in": lifetime, "refresh_token": refresh});
        (self.access, self.refresh) = (Some(access), Some(refresh));
        answer.json(200, &tokens.to_string())
    }
}

fn metadata(base: &str) -> Value {
    json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
    })
}

/// The members of a form or a query.
fn form(text: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        let mut parts = text.split('%');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let (hex, rest) = part.split_at_checked(2).unwrap_or((part, ""));
            bytes.extend(u8::from_str_radix(hex, 16).ok());
            bytes.extend(rest.as_bytes());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}
