//! Our own paths: pages, interfaces, metrics, health. What answers them is brought along by whoever starts the gateway.

use super::tee::AnswerBody;
use http::request::Parts;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use std::pin::Pin;

/// An answer that is being made.
pub type Answering = Pin<Box<dyn Future<Output = Response<AnswerBody>> + Send>>;

/// Answers `/deadweight/…` and `/metrics`. The host, the origin and the token have been checked.
pub trait Own: Send + Sync + 'static {
    /// The answer.
    fn answer(&self, request: Parts, body: Incoming) -> Answering;

    /// Whether everything is there that the gateway needs besides itself, for `/readyz`; else what is not, in a
    /// sentence. The ledger is not needed: requests pass without it.
    ///
    /// # Errors
    ///
    /// What is missing.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A short text.
pub(crate) fn text(status: StatusCode, text: &'static str) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::own(text.into()));
    *response.status_mut() = status;
    let kind = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}
