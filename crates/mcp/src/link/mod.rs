//! The three ways to exchange messages with a server.

pub(crate) mod client;
pub(crate) mod events;
mod http;
mod sse;
pub(crate) mod stdio;

use crate::error::Reason;
use crate::harmless::excerpt;
use crate::listing::{Options, TransportKind};
use crate::message::{self, Answer, Incoming, NoMessage, Request};
use crate::meter::Meter;
use crate::spec::Transport;
use crate::tail::Tail;
use bytes::Bytes;
use deadweight_wire::json::Parser;
use std::time::Duration;
use tokio::time::timeout;

/// How long an event stream may take to name the address for messages.
const ENDPOINT: Duration = Duration::from_secs(10);

/// Why an exchange did not come to an answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// For good.
    Final(Reason),
    /// This is no endpoint of streamable HTTP; it may be one of the older transport.
    NotStreamable { status: u16, excerpt: String },
    /// The server does not know the session any more.
    SessionGone,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self::Final(reason)
    }
}

/// Reads one message from any transport and sorts what is in it. Requests of the server are answered
/// through `reply`; the awaited answer is returned when it is there.
pub(crate) fn sort(
    parser: &mut Parser,
    bytes: &Bytes,
    request: &Request,
    meter: &Meter<'_>,
    mut reply: impl FnMut(Bytes),
) -> Result<Option<Answer>, Reason> {
    let mut text = bytes.clone();
    let mut read = message::read(parser, &text, Some(request));
    if read == Err(NoMessage::Noise)
        && let Some(at) = message::message_within(&text)
    {
        meter.noise(&text[..at]);
        text = text.slice(at..);
        read = message::read(parser, &text, Some(request));
    }
    let waiting_for = request.ask.method();
    let messages = match read {
        Ok(messages) => messages,
        Err(NoMessage::Noise) => {
            meter.noise(&text);
            return match message::framing(&text) {
                Some(detail) => Err(Reason::Malformed { page: None, detail: detail.to_owned() }),
                None => Ok(None),
            };
        }
        Err(NoMessage::Broken { offset, utf8: true, .. }) => {
            return Err(Reason::InvalidUtf8 { offset, waiting_for });
        }
        Err(NoMessage::Broken { offset, detail, .. }) => {
            let from = offset.saturating_sub(30);
            let around = text.get(from..text.len().min(offset + 30)).unwrap_or_default();
            let cut = if from > 0 { "…" } else { "" };
            let excerpt = format!("{cut}{}", excerpt(around, 70));
            return Err(Reason::InvalidJson { offset, detail, waiting_for, excerpt });
        }
    };
    let mut answer = None;
    for message in messages {
        match message {
            Incoming::Answer(found) if answer.is_none() => answer = Some(found),
            Incoming::Answer(_) | Incoming::Stray => meter.stray_answer(),
            Incoming::Request { method, .. }
                if matches!(&*method, "initialize" | "tools/list" | "server/discover") =>
            {
                // Only clients ask that. (`cat` does it, and a shell that echoes.)
                let detail = "it sends back what it is sent".to_owned();
                return Err(Reason::Malformed { page: None, detail });
            }
            Incoming::Request { id, method } => {
                meter.client_request(&method);
                reply(message::reply(&id, &method));
            }
            Incoming::Notification => {}
        }
    }
    Ok(answer)
}

/// A way to a server.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(Box<stdio::StdioLink>),
    Http(Box<http::HttpLink>),
    Sse(Box<sse::SseLink>),
}

impl Link {
    /// Starts the process, or makes ready to connect.
    pub(crate) fn open(transport: &Transport, options: &Options) -> Result<Self, Reason> {
        Ok(match transport {
            Transport::Stdio { command, args, env, cwd } => {
                Self::Stdio(Box::new(stdio::StdioLink::start(command, args, env, cwd.as_ref(), options)?))
            }
            Transport::Http { url, headers } => {
                Self::Http(Box::new(http::HttpLink::new(client::Client::new(url, headers, options)?)))
            }
            Transport::Sse { url, headers } => {
                Self::Sse(Box::new(sse::SseLink::new(client::Client::new(url, headers, options)?)))
            }
        })
    }

    pub(crate) const fn kind(&self) -> TransportKind {
        match self {
            Self::Stdio(_) => TransportKind::Stdio,
            Self::Http(_) => TransportKind::Http,
            Self::Sse(_) => TransportKind::Sse,
        }
    }

    /// Sends a request and waits for its answer; what else comes meanwhile is dealt with.
    pub(crate) async fn exchange(&mut self, request: &Request, meter: &Meter<'_>) -> Result<Answer, Fault> {
        match self {
            Self::Stdio(link) => Ok(link.exchange(request, meter).await?),
            Self::Http(link) => link.exchange(request, meter).await,
            Self::Sse(link) => Ok(link.exchange(request, meter).await?),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&mut self, body: &Bytes, version: &str) -> Result<(), Fault> {
        match self {
            Self::Stdio(link) => link.send(body),
            Self::Http(link) => link.notify(body, version).await?,
            Self::Sse(link) => link.notify(body).await?,
        }
        Ok(())
    }

    /// Whether the address may be one of the older transport: it refused `initialize` as such an address does.
    pub(crate) const fn may_be_older(&self) -> bool {
        matches!(self, Self::Http(link) if link.may_be_older())
    }

    /// Turns to the older transport, if the address turns out to be one of its event streams.
    pub(crate) async fn fall_back_to_sse(&mut self, meter: &Meter<'_>) -> Result<bool, Reason> {
        let Self::Http(link) = self else { return Ok(false) };
        let mut older = sse::SseLink::new(link.client().clone());
        // An address that gives a stream, but never says where messages go, is none of the older transport.
        let connected = timeout(ENDPOINT, older.connect(meter)).await.unwrap_or(Err(sse::NoStream::Not));
        match connected {
            Ok(()) => {
                *self = Self::Sse(Box::new(older));
                Ok(true)
            }
            Err(sse::NoStream::Not) => Ok(false),
            Err(sse::NoStream::Broken(reason)) => Err(reason),
        }
    }

    /// Drops what is known of a session that is gone.
    pub(crate) fn forget_session(&mut self) {
        if let Self::Http(link) = self {
            link.forget_session();
        }
    }

    /// Takes leave: ends the process and everything it started, or the session. For a process, what it
    /// last wrote to standard error is returned.
    pub(crate) async fn close(self, grace: Duration) -> Option<Tail> {
        match self {
            Self::Stdio(link) => Some(link.close(grace).await),
            Self::Http(link) => {
                link.close(grace).await;
                None
            }
            Self::Sse(_) => None,
        }
    }
}
