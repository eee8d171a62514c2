//! The HTTP+SSE transport of 2024-11-05: one event stream down, POSTs up to the address it names first.

use super::client::{Body, Client, Refusal, kind};
use super::events::Events;
use super::sort;
use crate::error::Reason;
use crate::message::{Answer, Request};
use crate::meter::Meter;
use crate::redact::hide_in_url;
use bytes::Bytes;
use deadweight_wire::json::Parser;
use reqwest::Url;
use reqwest::header::HeaderMap;
use tokio::task::JoinSet;

/// Answers to the server's own requests that may be under way at once.
const REPLIES: usize = 64;

/// A connection over the older transport.
#[derive(Debug)]
pub(crate) struct SseLink {
    client: Client,
    parser: Parser,
    stream: Option<(Events, Url)>,
    replies: JoinSet<()>,
}

/// Why there is no event stream of the older transport.
#[derive(Debug)]
pub(super) enum NoStream {
    /// The address does not lead to one.
    Not,
    /// It does, but it cannot be used; or the address cannot be reached.
    Broken(Reason),
}

impl From<Reason> for NoStream {
    fn from(reason: Reason) -> Self {
        Self::Broken(reason)
    }
}

impl SseLink {
    pub(super) fn new(client: Client) -> Self {
        Self { client, parser: Parser::new(), stream: None, replies: JoinSet::new() }
    }

    /// Opens the stream and waits for the address for messages.
    pub(super) async fn connect(&mut self, meter: &Meter<'_>) -> Result<(), NoStream> {
        let response = self.client.get_events(&HeaderMap::new()).await?;
        if !response.status().is_success() {
            return match self.client.refusal(response, meter).await {
                Refusal::Login(reason) => Err(reason.into()),
                Refusal::Status { .. } => Err(NoStream::Not),
            };
        }
        if kind(response.headers()) != Body::Events {
            return Err(NoStream::Not);
        }
        // Relative to where redirects led.
        let base = response.url().clone();
        let mut events = Events::new(response, self.client.max_message_bytes);
        while let Some(event) = events.next(meter).await? {
            if &event.name[..] != b"endpoint" {
                continue;
            }
            let text = String::from_utf8_lossy(event.data.trim_ascii()).into_owned();
            let shown = || crate::harmless::excerpt(hide_in_url(&text).as_bytes(), 200);
            let endpoint = base.join(&text).map_err(|_| Reason::ForeignEndpoint { endpoint: shown() })?;
            // Else whoever runs the stream could have this client's credentials sent anywhere.
            if endpoint.origin() != base.origin() {
                return Err(Reason::ForeignEndpoint { endpoint: shown() }.into());
            }
            self.stream = Some((events, endpoint));
            return Ok(());
        }
        Err(NoStream::Not)
    }

    /// Sends a request and reads the stream until its answer. Both at once: the answer may come on the
    /// stream before the POST is answered.
    pub(super) async fn exchange(&mut self, request: &Request, meter: &Meter<'_>) -> Result<Answer, Reason> {
        if self.stream.is_none() {
            match self.connect(meter).await {
                Ok(()) => {}
                Err(NoStream::Broken(reason)) => return Err(reason),
                Err(NoStream::Not) => {
                    let detail = "it is no event stream with an `endpoint` event";
                    return Err(Reason::BadUrl { detail: detail.to_owned() });
                }
            }
        }
        let waiting_for = request.ask.method();
        let Self { client, parser, stream, replies } = self;
        let Some((events, endpoint)) = stream else { return Err(Reason::StreamEnded { waiting_for }) };
        let mut sent = false;
        let no_headers = HeaderMap::new();
        let mut sending = std::pin::pin!(client.post_to(endpoint, &request.body, &no_headers));
        loop {
            tokio::select! {
                biased;
                event = events.next(meter) => {
                    let Some(event) = event? else { return Err(Reason::StreamEnded { waiting_for }) };
                    if &event.name[..] != b"message" {
                        continue;
                    }
                    let mut bodies = Vec::new();
                    let found = sort(parser, &event.data, request, meter, |body| bodies.push(body))?;
                    for body in bodies {
                        reply(replies, client, endpoint, body);
                    }
                    if let Some(answer) = found {
                        return Ok(answer);
                    }
                }
                response = &mut sending, if !sent => {
                    sent = true;
                    let response = response?;
                    if !response.status().is_success() {
                        return Err(client.refusal(response, meter).await.into_reason());
                    }
                }
            }
        }
    }

    /// Sends a notification.
    pub(super) async fn notify(&mut self, body: &Bytes) -> Result<(), Reason> {
        if let Some((_, endpoint)) = &self.stream {
            self.client.post_to(endpoint, body, &HeaderMap::new()).await?;
        }
        Ok(())
    }
}

fn reply(replies: &mut JoinSet<()>, client: &Client, endpoint: &Url, body: Bytes) {
    while replies.try_join_next().is_some() {}
    if replies.len() < REPLIES {
        let (client, endpoint) = (client.clone(), endpoint.clone());
        replies.spawn(async move {
            let _ = client.post_to(&endpoint, &body, &HeaderMap::new()).await;
        });
    }
}
