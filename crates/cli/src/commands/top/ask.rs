//! Asking a gateway for its figures.

use super::model::Now;
use crate::exit::Trouble;
use deadweight_mcp::direct;
use serde_json::Value;
use std::time::Duration;

/// Where a gateway is when nobody says otherwise.
const DEFAULT: &str = "http://127.0.0.1:8787";
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 8 << 20;

/// A gateway.
pub(super) struct Gateway {
    url: String,
    token: Option<String>,
    runtime: tokio::runtime::Runtime,
}

impl Gateway {
    /// The gateway at `url`, else at `DEADWEIGHT_GATEWAY`, else on its usual port; `DEADWEIGHT_TOKEN` is its token.
    pub(super) fn new(url: Option<&str>) -> Result<Self, Trouble> {
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let url = url
            .map(str::to_owned)
            .or_else(|| set("DEADWEIGHT_GATEWAY"))
            .unwrap_or_else(|| DEFAULT.to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Trouble::unmeasured("the gateway cannot be asked")
                .at("system", crate::target::file::system(&error))
        })?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), token: set("DEADWEIGHT_TOKEN"), runtime })
    }

    /// What goes on now.
    pub(super) fn now(&self) -> Result<Now, Trouble> {
        let overview = self.get("overview?days=1")?;
        let sessions = self.get("sessions?days=1")?;
        let requests = self.get("requests?days=1")?;
        Ok(Now::of(&self.url, &overview, &sessions, &requests))
    }

    fn get(&self, what: &str) -> Result<Value, Trouble> {
        let absent = |why: String| {
            Trouble::unmeasured(format!("no gateway answers at {}", self.url))
                .at("system", why)
                .attempt("start one (deadweight gateway), or say where it is: --url URL")
        };
        let (client, address) = direct(&format!("{}/deadweight/v1/{what}", self.url), PATIENCE)
            .map_err(|_| absent("its address is no http(s) URL, or TLS cannot be had".to_owned()))?;
        self.runtime.block_on(async {
            let mut request = client.get(address);
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            let mut answer = request.send().await.map_err(|error| absent(error.without_url().to_string()))?;
            let status = answer.status();
            if matches!(status.as_u16(), 401 | 403) {
                return Err(Trouble::refused(format!("the gateway at {} wants a token", self.url))
                    .attempt("put it into DEADWEIGHT_TOKEN"));
            }
            let mut body = Vec::new();
            while let Some(chunk) =
                answer.chunk().await.map_err(|error| absent(error.without_url().to_string()))?
            {
                body.extend_from_slice(&chunk);
                if body.len() > LARGEST {
                    return Err(absent("its answer is too large".to_owned()));
                }
            }
            let value: Value = serde_json::from_slice(&body).map_err(|_| {
                absent(format!("what answers there is no gateway (status {})", status.as_u16()))
            })?;
            match value["error"]["what"].as_str() {
                Some(what) => Err(Trouble::unmeasured(what.to_owned())),
                None => Ok(value),
            }
        })
    }
}
