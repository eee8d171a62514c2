//! Running servers, as the relay sees them: something that takes messages and reports what comes back.
//!
//! A [`Link`] is one running process or one connection. Everything it reports comes on one channel with the number of the
//! server and the generation of the link, so that what a dead link still says is told apart from what its successor says.

pub(crate) mod http;
mod older;
mod stdio;
mod words;

use crate::error::Reason;
use crate::listing::Options;
use crate::relay::port::{FromServer, Outbound};
use crate::spec::{ServerSpec, Transport};
use std::time::Duration;
use tokio::sync::mpsc;

/// A way to a running server. Dropping it ends the server at once.
#[derive(Debug)]
pub(crate) enum Link {
    /// A process.
    Stdio(stdio::StdioLink),
    /// A connection over HTTP.
    Http(Box<http::HttpLink>),
}

/// Where links report to.
pub(crate) type Reports = mpsc::Sender<FromServer>;

/// Starts the process, or makes ready to connect.
pub(crate) fn open(
    spec: &ServerSpec,
    options: &Options,
    server: usize,
    generation: u64,
    reports: Reports,
) -> Result<Link, Reason> {
    match &spec.transport {
        Transport::Stdio { .. } => {
            Ok(Link::Stdio(stdio::StdioLink::start(spec, options, server, generation, reports)?))
        }
        Transport::Http { .. } | Transport::Sse { .. } => {
            Ok(Link::Http(Box::new(http::HttpLink::open(spec, options, server, generation, reports)?)))
        }
    }
}

impl Link {
    /// Takes a message to be sent. What keeps it from getting there is reported, or is the end of the link.
    pub(crate) fn send(&self, message: Outbound) {
        match self {
            Self::Stdio(link) => link.send(message.bytes),
            Self::Http(link) => link.send(message),
        }
    }

    /// Bytes taken and not yet sent.
    pub(crate) fn queued(&self) -> usize {
        match self {
            Self::Stdio(link) => link.queued(),
            Self::Http(link) => link.queued(),
        }
    }

    /// Takes leave of the server and ends it, with everything it started.
    pub(crate) async fn close(self, grace: Duration) {
        match self {
            Self::Stdio(link) => link.close(grace).await,
            Self::Http(link) => link.close(grace).await,
        }
    }
}
