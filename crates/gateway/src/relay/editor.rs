//! Where a request may be changed on its way: who does it is brought along by whoever starts the gateway.
//!
//! A request is read to its end before it is sent only where an [`Editor`] asks for it by its head. Whatever goes wrong
//! with an editor, the body goes as it came.

use crate::exchange::{Edited, Noted};
use crate::provider::Provider;
use bytes::Bytes;
use deadweight_wire::Dialect;
use futures_util::FutureExt;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How long an editor may take at the very most. It has bounds of its own that are much shorter.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a request before its body is read. No key is in it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Who is asked.
    pub provider: Provider,
    /// The format.
    pub dialect: Dialect,
    /// The path as it is sent upstream, without the query.
    pub path: String,
    /// The headers that are understood.
    pub headers: Noted,
    /// The label of the port it came in by, where that port is one agent's own.
    pub agent: Option<Arc<str>>,
    /// Whose key it comes with: a hash of it. `None`: it comes without one.
    pub account: Option<[u8; 32]>,
    /// Whose conversations it may belong to. Keys that are renewed all the time (OAuth) are one holder's.
    pub holder: [u8; 32],
    /// Whether a subscription pays for it and not an account.
    pub subscription: bool,
    /// Whether the client has put a signature or a checksum over the body.
    pub signed: bool,
    /// When its head arrived, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What is to be sent.
#[derive(Default)]
pub struct Edit {
    /// The body to send, not compressed. `None`: the one that came, byte for byte.
    pub body: Option<Bytes>,
    /// What has to be in the header `anthropic-beta` besides what is there, for that body.
    pub betas: Vec<&'static str>,
    /// What goes into the record.
    pub edited: Option<Edited>,
    /// Is told how it went.
    pub trail: Option<Box<dyn Trail>>,
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.body.as_ref().map(Bytes::len);
        f.debug_struct("Edit").field("body", &length).field("edited", &self.edited).finish_non_exhaustive()
    }
}

/// What the provider answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The status.
    pub status: u16,
    /// The body of the answer, where the provider refused a request that was edited, or that the trail listens for.
    pub refusal: Option<&'a [u8]>,
    /// How that body is compressed, if it is.
    pub encoding: Option<&'a str>,
}

/// What is to be done with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It goes to the client.
    Pass,
    /// The body as it came is sent once, and the answer to that goes to the client. With it comes what then goes into
    /// the record.
    SendOriginal(Edited),
}

/// Work of an editor.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Follows an edited request. When it is dropped and was told nothing, there was no answer.
pub trait Trail: Send + Sync {
    /// Whether it wants to be told what a refusal says also where the body went as it came.
    fn listens(&self) -> bool {
        false
    }

    /// The provider has begun to answer. It is told a second time when the original was sent.
    fn answered<'a>(&'a mut self, answer: Answered<'a>) -> Work<'a, Next>;
}

/// Changes requests.
pub trait Editor: Send + Sync {
    /// Whether a request with this head is one for it. If not, nothing of its body is waited for.
    fn wants(&self, asked: &Asked) -> bool;

    /// What is to be sent for it. `body` is as it came, compressed if it was.
    fn edit(&self, asked: Asked, body: Bytes) -> Work<'static, Edit>;
}

/// Asks the editor; where it fails or takes too long, nothing is changed.
pub(crate) async fn ask(editor: &dyn Editor, asked: Asked, body: Bytes) -> Edit {
    let work = AssertUnwindSafe(async { editor.edit(asked, body).await }).catch_unwind();
    tokio::time::timeout(PATIENCE, work).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// Tells the trail; where it fails or takes too long, the answer passes.
pub(crate) async fn tell(trail: &mut dyn Trail, answer: Answered<'_>) -> Next {
    let work = AssertUnwindSafe(async { trail.answered(answer).await }).catch_unwind();
    tokio::time::timeout(PATIENCE, work).await.ok().and_then(Result::ok).unwrap_or(Next::Pass)
}

/// Whether an answer may mean that the provider did not like what was edited.
pub(crate) const fn is_refusal(status: u16) -> bool {
    matches!(status, 400 | 413 | 422)
}
