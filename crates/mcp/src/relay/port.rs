//! What crosses the border between the relay and the world: messages, and what links report.

use crate::error::Reason;
use bytes::Bytes;

/// A JSON-RPC id as its raw JSON text: `7`, `"a"`.
pub(crate) type Id = Bytes;

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is to be answered under its id.
    Request {
        /// Its id.
        id: Id,
        /// Its method.
        method: String,
    },
    /// It is not answered.
    Notification {
        /// Its method.
        method: String,
    },
    /// It answers a request.
    Response {
        /// The id of that request.
        id: Id,
    },
}

/// A message for a server.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    /// One JSON-RPC message without a line end.
    pub(crate) bytes: Bytes,
    /// What it is.
    pub(crate) kind: Kind,
    /// Of a notification or a response: the request of ours it belongs to, where that is known.
    pub(crate) about: Option<Id>,
    /// Whether it is of the protocol of 2026-07-28: no session, and its method in a header.
    pub(crate) modern: bool,
    /// The protocol version, once there is one.
    pub(crate) version: Option<String>,
    /// Further headers, where the transport has some.
    pub(crate) headers: Vec<(String, String)>,
}

/// What a link reports, and whose it is. Links of an earlier generation of a server are not listened to any more.
#[derive(Debug)]
pub(crate) struct FromServer {
    pub(crate) server: usize,
    pub(crate) generation: u64,
    pub(crate) event: Event,
}

/// What a link reports.
#[allow(dead_code, reason = "links over HTTP, which construct the rest, are being built")]
#[derive(Debug)]
pub(crate) enum Event {
    /// A message.
    Message {
        /// Its bytes: one message, or an array of them.
        bytes: Bytes,
        /// The request of ours on whose answer it came, where the transport tells.
        about: Option<Id>,
        /// The HTTP status, when the message was the direct answer to a POST.
        status: Option<u16>,
    },
    /// One message did not get there, or was not answered. The link lives on.
    Undelivered {
        /// The id of the request; none for a notification or a response.
        id: Option<Id>,
        /// Why.
        why: Undelivered,
    },
    /// The link is over: nothing more comes from it.
    Ended {
        /// Why.
        reason: Reason,
        /// What the process last wrote to standard error, harmless to print and without secrets.
        stderr: Vec<String>,
    },
}

/// Why a message did not get there, or was not answered.
#[allow(dead_code, reason = "links over HTTP, which construct these, are being built")]
#[derive(Debug)]
pub(crate) enum Undelivered {
    /// The server does not know the session any more; the request was not worked on.
    SessionGone,
    /// It was refused with this status and body, which is no message.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        body: Bytes,
    },
    /// The server could not be reached, or asks for a login.
    Unreachable(Reason),
    /// The answer ended before it came to the message.
    StreamEnded,
}

/// A message for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToClient {
    /// One JSON-RPC message without a line end.
    pub(crate) bytes: Bytes,
    /// The client's request that it belongs to, which may be the one it answers. Over HTTP it goes on the answer to that;
    /// without one, on the stream that stands by itself.
    pub(crate) about: Option<Id>,
    /// The HTTP status the server gave, when that was not 200.
    pub(crate) status: Option<u16>,
    /// Whether it ends the request that it is about.
    pub(crate) end: bool,
}

/// A message of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FromClient {
    /// Its bytes: one message, or an array of them.
    pub(crate) bytes: Bytes,
    /// `Mcp-…` headers that came with it, names in lower case, save those that the transport itself makes.
    pub(crate) headers: Vec<(String, String)>,
}
