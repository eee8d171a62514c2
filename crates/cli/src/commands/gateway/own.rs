//! What the gateway answers itself: counters and the report on a session.

use deadweight_gateway::relay::{AnswerBody, Answering, Handle, Own};
use deadweight_gateway::watching::Watching;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::body::Incoming;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Our own paths.
#[derive(Debug)]
pub(super) struct Pages {
    watching: Arc<Watching>,
}

impl Pages {
    pub(super) fn new(watching: Arc<Watching>) -> Self {
        Self { watching }
    }
}

/// Keeps the count of what is under way, for as long as the gateway runs.
pub(super) async fn count(watching: Arc<Watching>, handle: Handle) {
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    loop {
        clock.tick().await;
        watching.metrics.open(handle.counted().open.load(Ordering::Relaxed));
    }
}

impl Own for Pages {
    fn answer(&self, request: Parts, _: Incoming) -> Answering {
        let watching = Arc::clone(&self.watching);
        Box::pin(async move {
            match request.uri.path() {
                "/metrics" => {
                    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                    answer(StatusCode::OK, kind, watching.metrics.text())
                }
                "/deadweight/v1/context" => {
                    let session = session(request.uri.query().unwrap_or_default());
                    let report = watching.context(session.as_deref()).await;
                    match serde_json::to_string(&report) {
                        Ok(text) => answer(StatusCode::OK, "application/json", text),
                        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the report cannot be written\n"),
                    }
                }
                _ => plain(StatusCode::NOT_FOUND, "there is no such page\n"),
            }
        })
    }
}

fn plain(status: StatusCode, text: &str) -> Response<AnswerBody> {
    answer(status, "text/plain; charset=utf-8", text.to_owned())
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::own(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The session that a query names, percent-decoded.
fn session(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("session="))?;
    let mut out = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        out.push(match byte {
            b'%' => u8::try_from(hex(rest.next())? * 16 + hex(rest.next())?).ok()?,
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(out).ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::session;

    #[test]
    fn a_query_names_a_session() {
        assert_eq!(session("a=b&session=x%2F1+2").as_deref(), Some("x/1 2"));
        assert_eq!(session("session="), None);
        assert_eq!(session("session=%zz"), None);
        assert_eq!(session(""), None);
    }
}
