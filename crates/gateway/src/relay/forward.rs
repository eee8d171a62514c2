//! One request, from its head to the head of its answer.

use super::asked;
use super::config::{Config, Secret};
use super::credentials;
use super::editing::{self, After, Edited};
use super::editor::{Asked, Editor};
use super::gather::Source;
use super::guard::{Guard, wants_websocket};
use super::headers;
use super::line::Status;
use super::login;
use super::notes::{Level, Note};
use super::own::{Own, text};
use super::passage::{Desk, Head, Passage, Went};
use super::refuse::{ANSWERED, Refusal};
use super::route::{Route, route};
use super::tee::{Account, AnswerBody, Failure, RequestBody, Wanted};
use super::tunnel::Tunnel;
use super::upstream::{self, Connector, Failed, Upstream};
use crate::exchange::{ANSWER_HEADERS, End, REQUEST_HEADERS};
use crate::provider::Provider;
use deadweight_wire::Dialect;
use http::header::{EXPECT, HOST};
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// What holds for requests that come now. Those that are under way keep what held when they came.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) config: Config,
    pub(crate) guard: Guard,
    pub(crate) upstreams: Vec<(Provider, Arc<Upstream>)>,
}

impl Rules {
    /// The rules of a configuration. Connections of upstreams that stay are taken along.
    pub(crate) fn new(config: Config, connector: &Connector, desk: &Desk, before: Option<&Self>) -> Self {
        let upstreams = config.upstreams.iter().map(|(provider, target)| {
            let same = before.and_then(|before| {
                let mut all = before.upstreams.iter();
                all.find(|(own, upstream)| own == provider && upstream.target == *target)
            });
            let upstream = match same {
                Some((_, upstream)) => Arc::clone(upstream),
                None => Upstream::new(target.clone(), connector.clone(), Arc::clone(&desk.counted)),
            };
            (*provider, upstream)
        });
        let upstreams = upstreams.collect();
        Self { guard: Guard::new(&config), upstreams, config }
    }

    fn upstream(&self, provider: Provider) -> Option<&Arc<Upstream>> {
        self.upstreams.iter().find(|(own, _)| *own == provider).map(|(_, upstream)| upstream)
    }

    /// The key that is held for a provider, and the token that stands in its place.
    fn key(&self, provider: Provider) -> Option<(Provider, &Secret)> {
        self.config.keys.iter().find(|(own, _)| *own == provider).map(|(own, key)| (*own, key))
    }
}

/// What all connections share.
pub(crate) struct Relay {
    pub(crate) rules: RwLock<Arc<Rules>>,
    pub(crate) desk: Desk,
    pub(crate) own: Option<Arc<dyn Own>>,
    pub(crate) editor: Option<Arc<dyn Editor>>,
    pub(crate) connector: Connector,
    pub(crate) phase: watch::Receiver<super::Phase>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Where a request came in.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) provider: Option<Provider>,
    pub(crate) agent: Option<Arc<str>>,
    /// The line, where answers before the answer can be put on it.
    pub(crate) line: Option<Arc<Status>>,
}

impl Relay {
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// When the provider broke off before its answer: the client's connection breaks too.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        door: Arc<Door>,
    ) -> Result<Response<AnswerBody>, Failure> {
        let rules = self.rules();
        let (parts, body) = request.into_parts();
        if let Err(denied) = rules.guard.place(&parts.method, &parts.uri, &parts.headers) {
            return Ok(self.refuse(&Refusal::denied(denied), None));
        }
        let provider = match route(&parts.uri, &parts.headers, door.provider) {
            Route::Own => return Ok(self.own(&rules, parts, body).await),
            Route::To { provider, taken } => (provider, taken),
            Route::Refuse(unclear) => {
                let address = door.address.to_string();
                return Ok(self.refuse(&Refusal::unclear(unclear, &address), None));
            }
        };
        if let Err(denied) = rules.guard.forwarded(provider.0, &parts.uri, &parts.headers) {
            return Ok(self.refuse(&Refusal::denied(denied), Some(provider.0)));
        }
        self.forward(&rules, provider, parts, body, &door).await
    }

    fn refuse(&self, refusal: &Refusal, provider: Option<Provider>) -> Response<AnswerBody> {
        self.desk.counted.refused.fetch_add(1, Ordering::Relaxed);
        let note = Note::new(Level::Info, "refused", format!("a request was refused: {}", refusal.text))
            .with("reason", refusal.reason)
            .with("status", refusal.status.as_u16());
        self.desk.notes.tell(note);
        refusal.answer(provider)
    }

    async fn own(&self, rules: &Rules, parts: Parts, body: Incoming) -> Response<AnswerBody> {
        match parts.uri.path() {
            // These say nothing to anybody, and must be had by whoever watches over processes.
            "/healthz" => return text(StatusCode::OK, "ok\n"),
            "/readyz" => {
                let draining = *self.phase.borrow() != super::Phase::Serving;
                let missing = self.own.as_ref().and_then(|own| own.ready().err());
                return match (draining, missing) {
                    (true, _) => text(StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
                    (false, Some(_)) => text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
                    (false, None) => text(StatusCode::OK, "ready\n"),
                };
            }
            "/" => return text(StatusCode::OK, "deadweight gateway. What passes is shown at /deadweight/\n"),
            _ => {}
        }
        if let (Some(token), login::PATH) = (&rules.config.token, parts.uri.path()) {
            return login::answer(token, &parts.method, body).await;
        }
        if let Err(denied) = rules.guard.own(&parts.headers) {
            if login::wanted(&parts.method, parts.uri.path(), &parts.headers) {
                return login::page(StatusCode::UNAUTHORIZED);
            }
            return self.refuse(&Refusal::denied(denied), None);
        }
        match &self.own {
            Some(own) => {
                let mut response = own.answer(parts, body).await;
                response.headers_mut().insert(ANSWERED, http::HeaderValue::from_static("own"));
                response
            }
            None => Refusal::not_found().answer(None),
        }
    }

    async fn forward(
        &self,
        rules: &Rules,
        (provider, taken): (Provider, usize),
        mut parts: Parts,
        body: Incoming,
        door: &Door,
    ) -> Result<Response<AnswerBody>, Failure> {
        let Some(upstream) = rules.upstream(provider) else {
            return Ok(self.refuse(&Refusal::no_upstream(provider), Some(provider)));
        };
        let key = rules.key(provider);
        let whole = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut rest = std::borrow::Cow::Borrowed(whole.get(taken..).unwrap_or_default());
        // Whoever sends the token twice has not meant it for the provider.
        if let Some(token) = &rules.config.token {
            credentials::without_token(&mut parts.headers, token);
        }
        if let (Some(token), Some((path, query))) = (&rules.config.token, rest.split_once('?'))
            && let Some(query) = credentials::query_without_token(query, token)
        {
            let mark = if query.is_empty() { "" } else { "?" };
            rest = format!("{path}{mark}{query}").into();
        }
        let path = upstream.path(&rest).map_err(Failure::new)?;
        let dialect = Dialect::of_path(path.path());
        let head = Head {
            provider,
            upstream: Arc::clone(&upstream.target.shown),
            agent: door.agent.clone(),
            method: parts.method.as_str().to_owned(),
            path: path.path().to_owned(),
            dialect,
            headers: headers::noted(&parts.headers, REQUEST_HEADERS),
        };
        let bound = rules.config.limits.body_bound;
        let asked = self.asked(&head, &parts, door, key.is_some());
        let passage = Passage::new(&self.desk, head, bound);
        let websocket = parts.version == Version::HTTP_11 && wants_websocket(&parts.headers);
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        // An HTTP/2 client names the host in the address alone.
        let host = parts.headers.contains_key(HOST).then_some(&upstream.target.host_header);
        headers::upstream(&mut parts.headers, host, websocket, key);
        let mut edited = Edited::default();
        let source = match asked {
            Some((editor, asked)) if body.size_hint().lower() <= bound => {
                match editing::edited(&*editor, asked, body, &mut parts.headers, &passage, bound).await {
                    Ok((source, own)) => {
                        edited = own;
                        source
                    }
                    Err(error) => {
                        passage.request_broke();
                        let why = upstream::explained(&error);
                        passage.end(passage.broke(why.clone()), Went::nowhere());
                        return Err(Failure::new(why));
                    }
                }
            }
            _ => Source::Passing(body),
        };
        let wanted = parts.headers.contains_key(EXPECT).then(|| Arc::new(Wanted::default()));
        let mut request =
            Request::from_parts(parts, RequestBody::new(source, Arc::clone(&passage), wanted.clone()));
        let line = door.line.clone();
        if line.is_some() || wanted.is_some() {
            hyper::ext::on_informational(&mut request, move |early| match (early.status(), &wanted, &line) {
                (StatusCode::CONTINUE, Some(wanted), _) => wanted.say(),
                (StatusCode::CONTINUE, None, _) | (StatusCode::SWITCHING_PROTOCOLS, ..) => {}
                (status, _, Some(line)) => line.inform(status, early.headers()),
                _ => {}
            });
        }
        let sent = loop {
            let sent = upstream.send(request, &path, websocket);
            let sent = match rules.config.limits.answer_time {
                None => sent.await,
                Some(time) => match tokio::time::timeout(time, sent).await {
                    Ok(sent) => sent,
                    Err(_) => {
                        let refusal = Refusal::timed_out(provider, upstream.target.shown(), time.as_secs());
                        passage.end(End::TimedOut, Went { status: Some(504), ..Went::nowhere() });
                        return Ok(self.refuse(&refusal, Some(provider)));
                    }
                },
            };
            match sent {
                Ok((response, lease)) => match edited.answered(response, lease, &passage).await {
                    After::Pass(parts, body, lease) => break Ok((parts, body, lease)),
                    After::Again(original) => request = original,
                },
                Err(failed) => break Err(failed),
            }
        };
        passage.settled();
        match sent {
            Ok((mut parts, body, lease)) => {
                parts.version = Version::HTTP_11;
                let noted = headers::noted(&parts.headers, ANSWER_HEADERS);
                let upgraded = parts.status == StatusCode::SWITCHING_PROTOCOLS;
                if upgraded
                    && let (Some(client), Some(of_provider)) =
                        (upgrade, parts.extensions.remove::<OnUpgrade>())
                {
                    let tunnel = Tunnel { client, provider: of_provider, passage, headers: noted, websocket };
                    self.tunnel(tunnel);
                    headers::downstream(&mut parts.headers, true);
                    return Ok(Response::from_parts(parts, AnswerBody::own(bytes::Bytes::new())));
                }
                let account = Account::new(passage, parts.status.as_u16(), &parts.headers, noted, dialect);
                headers::downstream(&mut parts.headers, false);
                Ok(Response::from_parts(parts, AnswerBody::passing(body, account, lease)))
            }
            Err(Failed::Unreachable(why)) => {
                let refusal = Refusal::unreachable(provider, upstream.target.shown(), &why);
                let note = Note::new(Level::Warning, "unreachable", refusal.text.clone())
                    .with("provider", provider)
                    .with("upstream", upstream.target.shown());
                self.desk.notes.tell(note);
                passage.end(End::Unreachable { detail: why }, Went { status: Some(502), ..Went::nowhere() });
                self.desk.counted.refused.fetch_add(1, Ordering::Relaxed);
                Ok(refusal.answer(Some(provider)))
            }
            Err(Failed::Cut(why)) => {
                let end = passage.broke(why.clone());
                if end == (End::UpstreamCut { detail: why.clone() }) {
                    let shown = upstream.target.shown();
                    let text = format!("{provider} at {shown} broke off before it answered: {why}");
                    let note = Note::new(Level::Warning, "upstream_cut", text)
                        .with("provider", provider)
                        .with("after_ms", passage.elapsed().as_millis());
                    self.desk.notes.tell(note);
                }
                passage.end(end, Went::nowhere());
                Err(Failure::new(why))
            }
        }
    }

    /// The editor that asks for a request with this head, if one does, and what it is told.
    fn asked(&self, head: &Head, parts: &Parts, door: &Door, held: bool) -> Option<(Arc<dyn Editor>, Asked)> {
        let editor = self.editor.as_ref()?;
        let dialect = head.dialect.filter(|_| parts.method == http::Method::POST)?;
        let mut asked = asked::asked(
            head.provider,
            dialect,
            (&head.path, parts.uri.query()),
            &parts.headers,
            head.headers.clone(),
            held,
        );
        asked.agent.clone_from(&door.agent);
        asked.at_ms = (self.desk.clock)();
        // What passes does not depend on whether an editor works.
        let wants = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| editor.wants(&asked)));
        wants.unwrap_or(false).then(|| (Arc::clone(editor), asked))
    }

    /// Carries what an upgraded connection says, until it ends or the gateway does.
    fn tunnel(&self, tunnel: Tunnel) {
        let over = super::reached(&self.phase, super::Phase::Stopping);
        tokio::spawn(async move {
            tokio::select! {
                () = tunnel.run() => {}
                () = over => {}
            }
        });
    }
}
