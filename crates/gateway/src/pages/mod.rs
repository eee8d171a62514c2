//! The dashboard and the interface beside it: pages rendered here, kept up to date by server-sent events, and the same
//! figures as JSON under `/deadweight/v1/`.
//!
//! What they show is read from the ledger at the time; a page is a function of what was read. Nothing is loaded from
//! elsewhere, no text of a prompt is there to be shown, and what comes from outside cannot become markup.

mod chart;
mod interface;
mod model;
mod overview;
mod query;
mod request;
mod requests;
mod servers;
mod session;
mod sessions;
mod shell;
mod tools;
mod words;

use deadweight_price::Book;
use deadweight_store::{Error, Ledger, Place, now_ms};
use query::{Query, decode};
use std::borrow::Cow;
use std::sync::Arc;

/// Answers what is asked of `/deadweight/…`. Who may ask has been checked.
#[derive(Debug, Clone)]
pub struct Dashboard {
    ledger: Place,
    address: String,
    book: Option<Arc<Book>>,
    clock: fn() -> u64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers: name and value.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body.
    pub body: ReplyBody,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyBody {
    /// All of it.
    Whole(Vec<u8>),
    /// A stream of events without an end: first [`EVENTS_BEGIN`], then [`event`] for every change that is worth telling,
    /// [`EVENTS_IDLE`] where there was none for some seconds.
    Events,
}

/// What a stream of events begins with: how long a client waits before it asks again.
pub const EVENTS_BEGIN: &str = "retry: 2000\n\n";
/// What is sent so that nobody takes a quiet stream for a dead one.
pub const EVENTS_IDLE: &str = ": quiet\n\n";
/// Between two of [`EVENTS_IDLE`], in seconds.
pub const EVENTS_IDLE_SECONDS: u64 = 15;

/// The event that says that something changed; `count` counts up.
#[must_use]
pub fn event(count: u64) -> String {
    format!("event: change\ndata: {count}\n\n")
}

/// Pages load their own style and script, and nothing else; nobody may frame them.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

impl Reply {
    fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![
                ("content-type", kind.into()),
                ("cache-control", "no-store".into()),
                ("content-security-policy", POLICY.into()),
                ("x-content-type-options", "nosniff".into()),
                ("referrer-policy", "no-referrer".into()),
                ("cross-origin-resource-policy", "same-origin".into()),
            ],
            body: ReplyBody::Whole(body.into()),
        }
    }

    fn page(status: u16, page: String) -> Self {
        Self::new(status, "text/html; charset=utf-8", page)
    }

    fn kept(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let mut reply = Self::new(200, kind, body);
        reply.headers.retain(|(name, _)| *name != "cache-control");
        // They belong to one release: a minute keeps them from being asked for with every page.
        reply.headers.push(("cache-control", "max-age=60".into()));
        reply
    }

    fn to(place: &'static str) -> Self {
        let mut reply = Self::new(308, "text/plain; charset=utf-8", "");
        reply.headers.push(("location", place.into()));
        reply
    }
}

/// The session that a query names.
pub(crate) fn named_session(query: &str) -> Option<String> {
    Query::parse(query).text("session")
}

impl Dashboard {
    /// A dashboard of a ledger. `address`: where the gateway is reached, such as `http://127.0.0.1:8787`; an empty page
    /// tells it to who is to send something.
    #[must_use]
    pub fn new(ledger: Place, address: String) -> Self {
        Self { ledger, address, book: None, clock: now_ms }
    }

    /// The same with a book of prices, which knows how large the models' windows are.
    #[must_use]
    pub fn with_book(self, book: Arc<Book>) -> Self {
        Self { book: Some(book), ..self }
    }

    /// The same under another address.
    #[must_use]
    pub fn with_address(self, address: String) -> Self {
        Self { address, ..self }
    }

    /// The same with another clock, in milliseconds since 1970.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock, ..self }
    }

    /// Answers a request. `path` is that of the address, from `/deadweight` on, as it was sent; `query` what stands behind
    /// the `?`. It needs a Tokio runtime with time.
    pub async fn answer(&self, method: &str, path: &str, query: &str) -> Reply {
        if !matches!(method, "GET" | "HEAD") {
            let mut reply = Reply::new(405, "text/plain; charset=utf-8", "This can only be read: GET.\n");
            reply.headers.push(("allow", "GET, HEAD".into()));
            return reply;
        }
        let inner = path.strip_prefix(shell::ROOT).unwrap_or(path);
        if let Some(rest) = inner.strip_prefix("/v1/") {
            return self.interface(rest.trim_end_matches('/'), &Query::parse(query)).await;
        }
        match inner {
            "" => return Reply::to("/deadweight/"),
            "/events" => {
                let mut reply = Reply::new(200, "text/event-stream", "");
                reply.body = ReplyBody::Events;
                return reply;
            }
            "/style.css" => return Reply::kept("text/css; charset=utf-8", shell::style()),
            "/page.js" => return Reply::kept("text/javascript; charset=utf-8", include_str!("page.js")),
            "/icon.svg" => return Reply::kept("image/svg+xml", shell::icon()),
            _ => {}
        }
        match self.page(inner, &Query::parse(query)).await {
            Ok(reply) => reply,
            Err(error) => {
                let what = format!("{error}: {}", error.file.display());
                Reply::page(503, shell::trouble(&what, error.remedy()))
            }
        }
    }

    async fn page(&self, inner: &str, query: &Query) -> Result<Reply, Error> {
        let now_ms = (self.clock)();
        let Some(mut ledger) = self.open().await? else {
            return Ok(self.without_ledger(inner, query, now_ms));
        };
        let trimmed = inner.trim_end_matches('/');
        if let Some(key) = trimmed.strip_prefix("/session/") {
            let key = decode(key);
            return Ok(
                match model::session(&mut ledger, &key, query, now_ms, self.book.as_deref()).await? {
                    Some(one) => Reply::page(200, session::render(&one, query)),
                    None => Reply::page(
                        404,
                        shell::missing(
                            "No session of this name is in the ledger. It may have been thrown away: see --retention.",
                        ),
                    ),
                },
            );
        }
        if let Some(id) = trimmed.strip_prefix("/request/") {
            return Ok(match model::request(&mut ledger, &decode(id), now_ms).await? {
                Some(one) => Reply::page(200, request::render(&one)),
                None => Reply::page(
                    404,
                    shell::missing(
                        "No request of this name is in the ledger. It may have been thrown away: see --retention.",
                    ),
                ),
            });
        }
        Ok(match trimmed {
            "" => {
                let model = model::overview(&mut ledger, query, now_ms).await?;
                Reply::page(200, overview::render(&model, query, &self.address))
            }
            "/sessions" => {
                Reply::page(200, sessions::render(&model::sessions(&mut ledger, query, now_ms).await?, query))
            }
            "/requests" => {
                Reply::page(200, requests::render(&model::requests(&mut ledger, query, now_ms).await?, query))
            }
            "/tools" => {
                Reply::page(200, tools::render(&model::tools(&mut ledger, query, now_ms).await?, query))
            }
            "/servers" => {
                Reply::page(200, servers::render(&model::servers(&mut ledger, query, now_ms).await?, query))
            }
            _ => Reply::page(404, shell::missing("There is no such page.")),
        })
    }

    /// The ledger; `None` where nothing was recorded yet, or nothing is.
    async fn open(&self) -> Result<Option<Ledger>, Error> {
        match &self.ledger {
            Place::Off => Ok(None),
            Place::File(file) => Ledger::open(file).await,
        }
    }

    /// Every page of an empty ledger is the one that says how to fill it.
    fn without_ledger(&self, inner: &str, query: &Query, now_ms: u64) -> Reply {
        let known =
            ["", "/sessions", "/requests", "/tools", "/servers"].contains(&inner.trim_end_matches('/'));
        if !known {
            return Reply::page(404, shell::missing("There is nothing of this name: the ledger is empty."));
        }
        if self.ledger == Place::Off {
            let said = maud::html! {
                p { "The gateway runs without a ledger, so that there is nothing to show. Requests pass and are counted on " code { "/metrics" } "." }
                p { "With a ledger — sizes, names and counts, never text — this page fills itself:" }
                (shell::command("deadweight gateway --ledger ledger.sqlite"))
            };
            let body = shell::empty("Nothing is recorded", &said);
            return Reply::page(200, shell::page(shell::Here::Overview, "Nothing is recorded", &body));
        }
        let model = model::nothing(query, now_ms);
        Reply::page(
            200,
            shell::page(shell::Here::Overview, "Overview", &overview::nothing(&model, query, &self.address)),
        )
    }
}

#[cfg(test)]
mod tests;
