//! Streamable HTTP: every message is a POST; an answer is JSON or an event stream.
//!
//! The stream that a client of the legacy era may open with GET is not opened: what comes on it has nothing
//! to do with a list of tools.

use super::client::{
    Body, Client, LAST_EVENT, METHOD, Refusal, SESSION, VERSION, compressed, content_type, kind, not_mcp,
    shown,
};
use super::events::Events;
use super::{Fault, sort};
use crate::error::Reason;
use crate::message::{Answer, Ask, Request};
use crate::meter::Meter;
use bytes::Bytes;
use deadweight_wire::json::Parser;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use std::time::Duration;
use tokio::task::JoinSet;

/// Answers to the server's own requests that may be under way at once; a server that asks more gets none.
const REPLIES: usize = 64;
/// How often a stream that ended without the answer is taken up again, and the pause before it.
const RESUMES: usize = 5;
const RESUME_PAUSE: Duration = Duration::from_millis(500);

/// A connection over streamable HTTP.
#[derive(Debug)]
pub(crate) struct HttpLink {
    client: Client,
    parser: Parser,
    session: Option<HeaderValue>,
    /// The version that goes into the header, once it is agreed on.
    version: Option<HeaderValue>,
    replies: JoinSet<()>,
    /// Whether `initialize` was answered with one of the statuses that an older transport's address has for it.
    may_be_older: bool,
}

impl HttpLink {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            parser: Parser::new(),
            session: None,
            version: None,
            replies: JoinSet::new(),
            may_be_older: false,
        }
    }

    pub(super) const fn may_be_older(&self) -> bool {
        self.may_be_older
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn forget_session(&mut self) {
        self.session = None;
        self.version = None;
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.extend(self.session.clone().map(|session| (SESSION, session)));
        headers.extend(self.version.clone().map(|version| (VERSION, version)));
        headers
    }

    /// Sends a request and reads its answer.
    pub(super) async fn exchange(&mut self, request: &Request, meter: &Meter<'_>) -> Result<Answer, Fault> {
        self.version = request.version.as_deref().and_then(|version| HeaderValue::from_str(version).ok());
        let mut headers = self.headers();
        if request.modern {
            // The modern era has no sessions, and wants its method in a header.
            headers.remove(SESSION);
            headers.insert(METHOD, HeaderValue::from_static(request.ask.method()));
        }
        let response = self.client.post(&request.body, &headers).await?;
        if !response.status().is_success() {
            return self.refused(response, request, meter).await;
        }
        if request.ask == Ask::Initialize
            && let Some(session) = response.headers().get(SESSION)
        {
            self.session = Some(session.clone());
        }
        let compressed = compressed(response.headers());
        match kind(response.headers()) {
            Body::Events => match (self.read_events(response, request, meter).await, compressed) {
                (Err(Reason::StreamEnded { .. }), Some(reason)) => Err(reason.into()),
                (read, _) => Ok(read?),
            },
            Body::Json | Body::Other => {
                let content_type = content_type(response.headers());
                let (status, headers) = (response.status(), response.headers().clone());
                let body = self.client.body(response, meter).await?;
                let is_json = content_type == "application/json"
                    || matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
                if is_json && let Some(answer) = sort(&mut self.parser, &body, request, meter, drop)? {
                    return Ok(answer);
                }
                Err(not_mcp(&headers, status, &body).into())
            }
        }
    }

    /// Sends a notification.
    pub(super) async fn notify(&mut self, body: &Bytes, version: &str) -> Result<(), Fault> {
        self.version = HeaderValue::from_str(version).ok();
        let response = self.client.post(body, &self.headers()).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(self.client.login(response.headers()).into());
        }
        // What else it says to a notification does not matter; the next request will show.
        Ok(())
    }

    /// An answer with a status that means no. It may still hold an error object, which is an answer.
    async fn refused(
        &mut self,
        response: Response,
        request: &Request,
        meter: &Meter<'_>,
    ) -> Result<Answer, Fault> {
        let (status, body) = match self.client.refusal(response, meter).await {
            Refusal::Login(reason) => return Err(reason.into()),
            Refusal::Status { status, body } => (status, body),
        };
        let has_session = self.session.is_some() && !request.modern;
        if status == StatusCode::NOT_FOUND && has_session && request.ask != Ask::Initialize {
            return Err(Fault::SessionGone);
        }
        if request.ask == Ask::Initialize {
            self.may_be_older = matches!(status.as_u16(), 400 | 404 | 405);
        }
        let is_object = body.trim_ascii_start().first() == Some(&b'{');
        if is_object && let Ok(Some(answer)) = sort(&mut self.parser, &body, request, meter, drop) {
            return Ok(answer);
        }
        let (status, excerpt) = (status.as_u16(), shown(&body));
        if request.ask == Ask::Initialize && self.may_be_older {
            return Err(Fault::NotStreamable { status, excerpt });
        }
        Err(Reason::HttpStatus { status, excerpt }.into())
    }

    /// Reads an event stream until the answer is there. A server may end the stream early and go on when
    /// it is asked to, if it gave its events ids.
    async fn read_events(
        &mut self,
        response: Response,
        request: &Request,
        meter: &Meter<'_>,
    ) -> Result<Answer, Reason> {
        let mut events = Events::new(response, self.client.max_message_bytes);
        for _ in 0..=RESUMES {
            while let Some(event) = events.next(meter).await? {
                if event.data.is_empty() {
                    continue;
                }
                let mut replies = Vec::new();
                let found = sort(&mut self.parser, &event.data, request, meter, |body| replies.push(body))?;
                for reply in replies {
                    self.reply(reply);
                }
                if let Some(answer) = found {
                    return Ok(answer);
                }
            }
            let Ok(id) = HeaderValue::from_bytes(&events.last_id) else { break };
            if id.is_empty() {
                break;
            }
            tokio::time::sleep(RESUME_PAUSE).await;
            let mut headers = self.headers();
            headers.insert(LAST_EVENT, id);
            let response = self.client.get_events(&headers).await?;
            if !response.status().is_success() || kind(response.headers()) != Body::Events {
                break;
            }
            events.go_on(response);
        }
        Err(Reason::StreamEnded { waiting_for: request.ask.method() })
    }

    /// Answers a request of the server, which is a POST of its own.
    fn reply(&mut self, body: Bytes) {
        while self.replies.try_join_next().is_some() {}
        if self.replies.len() >= REPLIES {
            return;
        }
        let (client, headers) = (self.client.clone(), self.headers());
        self.replies.spawn(async move {
            let _ = client.post_to(&client.url, &body, &headers).await;
        });
    }

    /// Ends the session, if there is one.
    pub(super) async fn close(mut self, patience: Duration) {
        if self.session.is_some() {
            self.client.delete(self.client.url.clone(), &self.headers(), patience).await;
        }
        self.replies.abort_all();
    }
}
