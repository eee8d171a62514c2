//! What is shown: the figures of the last 24 hours, as the gateway tells them.

use serde_json::Value;

/// What goes on now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Now {
    /// Where the gateway is.
    pub(super) url: String,
    /// When it was asked, in milliseconds since 1970.
    pub(super) now_ms: u64,
    pub(super) sums: Sums,
    pub(super) sessions: Vec<Session>,
    /// The latest first.
    pub(super) requests: Vec<Request>,
    /// Who estimated.
    pub(super) estimators: Vec<String>,
}

/// Sums over exchanges; what could not be had is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) turns: u64,
    pub(super) failed: u64,
    pub(super) changed: u64,
    pub(super) exchanges: u64,
    pub(super) prompt: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) nano: Option<u64>,
    pub(super) lost_tokens: u64,
    pub(super) last_ms: Option<u64>,
}

/// One session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Session {
    pub(super) key: String,
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
    pub(super) floor: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) sums: Sums,
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Request {
    pub(super) at_ms: u64,
    pub(super) session: String,
    pub(super) turn: Option<u64>,
    /// Tokens of system, tools, history and tail, ESTIMATED.
    pub(super) slices: Option<[u64; 4]>,
    pub(super) prompt: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) class: Option<String>,
    pub(super) lost: u64,
    pub(super) status: Option<u64>,
    pub(super) ended: String,
    pub(super) changed: bool,
}

impl Now {
    /// Reads the gateway's figures. What a later version leaves out is not there.
    pub(super) fn of(url: &str, said: &Value) -> Self {
        let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
        let estimators = list(&said["basis"], "estimators");
        Self {
            url: url.to_owned(),
            now_ms: said["range"]["now_ms"].as_u64().unwrap_or(0),
            sums: Sums::of(&said["sums"]),
            sessions: list(said, "sessions").iter().map(Session::of).collect(),
            requests: list(said, "latest").iter().map(Request::of).collect(),
            estimators: estimators.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
        }
    }
}

impl Sums {
    fn of(value: &Value) -> Self {
        let count = |name: &str| value[name].as_u64();
        let nano = match (count("input_nano"), count("output_nano")) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        };
        Self {
            turns: count("turns").unwrap_or(0),
            failed: count("failed").unwrap_or(0),
            changed: count("changed").unwrap_or(0),
            exchanges: count("exchanges").unwrap_or(0),
            prompt: count("prompt"),
            cache_read: count("cache_read"),
            cache_write: count("cache_write"),
            output: count("output"),
            nano,
            lost_tokens: count("lost_tokens").unwrap_or(0),
            last_ms: count("last_ms"),
        }
    }
}

impl Session {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Self {
            key: text("session").unwrap_or_default(),
            agent: text("agent"),
            model: text("model"),
            floor: value["floor"].as_u64(),
            total: value["total"].as_u64(),
            sums: Sums::of(&value["sums"]),
        }
    }
}

impl Request {
    fn of(value: &Value) -> Self {
        let footprint = &value["footprint"];
        let slices = footprint.is_object().then(|| {
            ["system", "tools", "history", "tail"]
                .map(|slice| footprint[slice]["tokens"].as_u64().unwrap_or(0))
        });
        let receipt = &value["receipt"];
        Self {
            at_ms: value["at_ms"].as_u64().unwrap_or(0),
            session: value["session"].as_str().unwrap_or_default().to_owned(),
            turn: value["turn"].as_u64(),
            slices,
            prompt: value["usage"]["prompt"].as_u64(),
            cache_read: value["usage"]["cache_read"].as_u64(),
            class: value["cache"]["class"].as_str().map(str::to_owned),
            lost: value["cache"]["lost_tokens"].as_u64().unwrap_or(0),
            status: value["ended"]["status"].as_u64(),
            ended: value["ended"]["how"].as_str().unwrap_or_default().to_owned(),
            changed: receipt["received_sha256"] != receipt["sent_sha256"],
        }
    }
}
