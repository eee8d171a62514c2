//! Asking a running gateway for its figures. It is asked itself, never through a proxy, and is not followed anywhere.

use crate::exit::Trouble;
use deadweight_mcp::direct;
use serde_json::Value;
use std::time::Duration;

/// The variable that says where a gateway is. `deadweight run` sets it for its agent.
const VARIABLE: &str = "DEADWEIGHT_GATEWAY";
/// Where a gateway is when nobody says otherwise.
const DEFAULT: &str = "http://127.0.0.1:8787";
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 8 << 20;

/// A gateway.
pub(crate) struct Gateway {
    url: String,
    token: Option<String>,
    runtime: tokio::runtime::Runtime,
}

impl Gateway {
    /// The gateway at `url`, else the one in the environment, else that on its usual port.
    pub(crate) fn at(url: Option<&str>) -> Result<Self, Trouble> {
        let url = url.map(str::to_owned).or_else(|| set(VARIABLE)).unwrap_or_else(|| DEFAULT.to_owned());
        Self::new(&url, set("DEADWEIGHT_TOKEN"))
    }

    /// The gateway in the environment, if one is named there.
    pub(crate) fn of_environment() -> Option<Result<Self, Trouble>> {
        set(VARIABLE).map(|url| Self::new(&url, set("DEADWEIGHT_TOKEN")))
    }

    fn new(url: &str, token: Option<String>) -> Result<Self, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Trouble::unmeasured("the gateway cannot be asked")
                .at("system", crate::target::file::system(&error))
        })?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), token, runtime })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What it says under `/deadweight/v1/` to `what`, with these pairs in the query; it must be of this schema.
    pub(crate) fn get(&self, what: &str, pairs: &[(&str, &str)], schema: &str) -> Result<Value, Trouble> {
        let (client, mut address) = direct(&format!("{}/deadweight/v1/{what}", self.url), PATIENCE)
            .map_err(|_| self.absent("its address is no http(s) URL, or TLS cannot be had"))?;
        if !pairs.is_empty() {
            address.query_pairs_mut().extend_pairs(pairs);
        }
        self.runtime.block_on(async {
            let mut request = client.get(address);
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            let mut answer =
                request.send().await.map_err(|error| self.absent(&plain(&error.without_url())))?;
            let status = answer.status().as_u16();
            let mut body = Vec::new();
            while let Some(chunk) =
                answer.chunk().await.map_err(|error| self.absent(&plain(&error.without_url())))?
            {
                body.extend_from_slice(&chunk);
                if body.len() > LARGEST {
                    return Err(self.absent("its answer is too large"));
                }
            }
            let value: Value = serde_json::from_slice(&body).unwrap_or_default();
            match (status, value["schema"].as_str()) {
                (200, Some(own)) if own == schema => Ok(value),
                (401 | 403, _) => {
                    Err(Trouble::unmeasured(format!("the gateway at {} wants a token", self.url))
                        .attempt("put it into DEADWEIGHT_TOKEN"))
                }
                // Its ledger cannot be read, or there is nothing of that name.
                (_, None) if value["error"]["what"].is_string() => {
                    let mut trouble =
                        Trouble::unmeasured(value["error"]["what"].as_str().unwrap_or_default());
                    for (label, member) in [("ledger", "file"), ("try", "try")] {
                        if let Some(text) = value["error"][member].as_str() {
                            trouble = trouble.at(label, text);
                        }
                    }
                    Err(trouble.at("gateway", &self.url))
                }
                _ => Err(Trouble::unmeasured(format!(
                    "what answers at {} is no gateway of deadweight",
                    self.url
                ))
                .at("answer", format!("status {status}, and not {schema}"))
                .attempt("say where the gateway is (--url URL); it says so itself when it starts")),
            }
        })
    }

    /// Nobody is there.
    fn absent(&self, why: &str) -> Trouble {
        Trouble::unmeasured(format!("no gateway answers at {}", self.url))
            .at("system", why)
            .attempt("start one (deadweight gateway, deadweight run), or say where it is: --url URL")
    }
}

/// A variable that is set, and to something.
fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What went wrong, down to its cause.
fn plain(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = cause.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
