//! What a gateway answers itself: the dashboard and its figures, the report on a session, the counters.

use crate::pages::{Dashboard, EVENTS_BEGIN, EVENTS_IDLE, EVENTS_IDLE_SECONDS, Reply, ReplyBody, event};
use crate::relay::{AnswerBody, Answering, Failure, Own};
use crate::watching::Watching;
use bytes::Bytes;
use deadweight_store::Place;
use futures_util::stream::unfold;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// After a change, how long others are waited for before it is told: they are told together, and are in the ledger then.
const TOGETHER: Duration = Duration::from_millis(400);

/// Answers `/deadweight/…` and `/metrics` from what is watched.
pub struct Answers {
    watching: Arc<Watching>,
    dashboard: Dashboard,
    ending: watch::Sender<bool>,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("dashboard", &self.dashboard).finish_non_exhaustive()
    }
}

impl Answers {
    /// Answers from `watching` and its ledger.
    #[must_use]
    pub fn new(watching: Arc<Watching>) -> Self {
        let place = watching.file().map_or(Place::Off, |file| Place::File(file.to_owned()));
        let dashboard = Dashboard::new(place, String::new()).with_book(Arc::clone(&watching.book));
        Self { watching, dashboard, ending: watch::Sender::new(false) }
    }

    /// Ends the streams of events, so that nobody waits for pages that are still open.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    fn events(&self) -> AnswerBody {
        let state = (self.watching.live.changes(), self.ending.subscribe(), true);
        AnswerBody::boxed(StreamBody::new(unfold(state, |(mut changes, mut ending, first)| async move {
            let text = if first { EVENTS_BEGIN.to_owned() } else { next(&mut changes, &mut ending).await? };
            let frame = Ok::<_, Failure>(Frame::data(Bytes::from(text)));
            Some((frame, (changes, ending, false)))
        })))
    }
}

/// What is told next; nothing at the end.
async fn next(changes: &mut watch::Receiver<u64>, ending: &mut watch::Receiver<bool>) -> Option<String> {
    tokio::select! {
        () = over(ending) => None,
        changed = changes.changed() => {
            changed.ok()?;
            tokio::time::sleep(TOGETHER).await;
            Some(event(*changes.borrow_and_update()))
        }
        () = tokio::time::sleep(Duration::from_secs(EVENTS_IDLE_SECONDS)) => Some(EVENTS_IDLE.to_owned()),
    }
}

/// Comes when all is to end.
async fn over(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}

impl Own for Answers {
    fn answer(&self, request: Parts, _: Incoming) -> Answering {
        let path = request.uri.path().to_owned();
        let query = request.uri.query().unwrap_or_default().to_owned();
        let get = matches!(request.method, Method::GET | Method::HEAD);
        let watching = Arc::clone(&self.watching);
        if get && path == "/metrics" {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            return Box::pin(async move { plain(StatusCode::OK, kind, watching.counters()) });
        }
        if get && path == "/deadweight/v1/context" {
            return Box::pin(async move {
                let report = watching.context(crate::pages::named_session(&query).as_deref()).await;
                match serde_json::to_string(&report) {
                    Ok(text) => plain(StatusCode::OK, "application/json", text),
                    Err(error) => plain(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "text/plain; charset=utf-8",
                        error.to_string(),
                    ),
                }
            });
        }
        let events = (get && path == "/deadweight/events").then(|| self.events());
        // The name by which the page was asked for is one that leads here.
        let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri.authority().map(http::uri::Authority::as_str));
        let dashboard =
            self.dashboard.clone().with_address(format!("http://{}", host.unwrap_or("127.0.0.1:8787")));
        let method = request.method;
        Box::pin(async move { response(dashboard.answer(method.as_str(), &path, &query).await, events) })
    }
}

fn response(reply: Reply, events: Option<AnswerBody>) -> Response<AnswerBody> {
    let body = match (reply.body, events) {
        (ReplyBody::Events, Some(events)) => events,
        (ReplyBody::Events, None) => AnswerBody::own(Bytes::new()),
        (ReplyBody::Whole(body), _) => AnswerBody::own(body.into()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}

fn plain(status: StatusCode, kind: &'static str, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::own(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_tell_of_changes_together_and_end() {
        let (changes, mut receiver) = {
            let sender = watch::Sender::new(0_u64);
            let receiver = sender.subscribe();
            (sender, receiver)
        };
        let ending = watch::Sender::new(false);
        let mut ends = ending.subscribe();
        (0..5).for_each(|_| changes.send_modify(|count| *count += 1));
        assert_eq!(next(&mut receiver, &mut ends).await.as_deref(), Some("event: change\ndata: 5\n\n"));
        ending.send_replace(true);
        assert_eq!(next(&mut receiver, &mut ends).await, None);
        drop(changes);
        let still = watch::Sender::new(false);
        assert_eq!(next(&mut receiver, &mut still.subscribe()).await, None);
    }
}
