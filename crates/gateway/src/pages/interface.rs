//! The figures of the pages as JSON, under `/deadweight/v1/`. Changes are additive.

use super::query::Query;
use super::{Dashboard, Reply, model};
use deadweight_present::quote;
use deadweight_store::Error;
use serde::Serialize;
use serde_json::{Value, json};

/// What is asked for and is not there, or cannot be had.
enum Refused {
    NotFound(&'static str),
    Ledger(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Ledger(error)
    }
}

impl Dashboard {
    /// Answers what is asked of `/deadweight/v1/…`.
    pub(super) async fn interface(&self, what: &str, query: &Query) -> Reply {
        match self.figures(what, query).await {
            Ok(value) => reply(200, &value),
            Err(Refused::NotFound(why)) => reply(404, &json!({ "error": { "what": why } })),
            Err(Refused::Ledger(error)) => {
                let told = json!({ "error": { "what": error.to_string(), "file": error.file.display().to_string(), "try": error.remedy() } });
                reply(503, &told)
            }
        }
    }

    async fn figures(&self, what: &str, query: &Query) -> Result<Value, Refused> {
        let now_ms = (self.clock)();
        if !["overview", "sessions", "session", "requests", "request", "tools", "servers"].contains(&what) {
            return Err(Refused::NotFound(
                "there is: overview, sessions, session?session=, requests, request?id=, tools, servers, context?session=",
            ));
        }
        let Some(mut ledger) = self.open().await? else {
            return match what {
                "session" | "request" => Err(Refused::NotFound("the ledger is empty")),
                "overview" => stamped(what, &model::nothing(query, now_ms)),
                "sessions" => stamped(what, &model::no_sessions(query, now_ms)),
                _ => stamped(what, &json!({ what: [] })),
            };
        };
        match what {
            "overview" => stamped(what, &model::overview(&mut ledger, query, now_ms).await?),
            "sessions" => stamped(what, &model::sessions(&mut ledger, query, now_ms).await?),
            "session" => {
                let key = query.get("session").ok_or(Refused::NotFound("name one: session?session=KEY"))?;
                let one = model::session(&mut ledger, key, query, now_ms, self.book.as_deref()).await?;
                stamped(what, &one.ok_or(Refused::NotFound("no session of this name is in the ledger"))?)
            }
            "requests" => stamped(what, &model::requests(&mut ledger, query, now_ms).await?),
            "request" => {
                let id = query.get("id").ok_or(Refused::NotFound("name one: request?id=ID"))?;
                let one = model::request(&mut ledger, id, now_ms).await?;
                stamped(what, &one.ok_or(Refused::NotFound("no request of this name is in the ledger"))?)
            }
            "tools" => stamped(what, &model::tools(&mut ledger, query, now_ms).await?),
            _ => stamped(what, &model::servers(&mut ledger, query, now_ms).await?),
        }
    }
}

/// A model with its name, and who counted what.
fn stamped(what: &str, model: &impl Serialize) -> Result<Value, Refused> {
    let mut out = json!({
        "schema": format!("deadweight/{what}/1"),
        "provenance": {
            "tokens": "ESTIMATED", "footprint": "ESTIMATED", "money": "ESTIMATED", "usage": "OBSERVED", "calls": "WITNESSED",
            "observed": ["prompt", "uncached", "cache_read", "cache_write", "output"],
        },
    });
    let value =
        serde_json::to_value(model).map_err(|_| Refused::NotFound("this cannot be written as JSON"))?;
    if let (Value::Object(out), Value::Object(value)) = (&mut out, value) {
        out.extend(value);
    }
    Ok(out)
}

fn reply(status: u16, value: &Value) -> Reply {
    Reply::new(status, "application/json", format!("{}\n", quote::json(&format!("{value:#}"))))
}
