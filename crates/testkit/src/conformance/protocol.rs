//! What both eras and both transports have in common: answers, faults, and who is spoken to.

use serde_json::{Value, json};

/// The version without a handshake.
pub(super) const MODERN: &str = "2026-07-28";
/// The versions with one, newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The extension whose tools answer with tasks.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Members of `_meta` that a request of the modern era carries.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The levels of log messages, least first.
pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// An error of the protocol.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Fault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(super) fn no_method() -> Self {
        Self::new(-32601, "Method not found")
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// A header that does not say what the body says.
    pub(super) fn header(name: &str) -> Self {
        Self::new(-32020, format!("the header {name} does not say what the body says"))
    }

    /// A capability that the client has not declared.
    pub(super) fn missing(capabilities: Value) -> Self {
        Self::new(-32021, "the client lacks a capability that this needs")
            .with(json!({ "requiredCapabilities": capabilities }))
    }

    /// The status of the modern era's HTTP answer.
    pub(super) const fn status(&self) -> u16 {
        match self.code {
            -32601 => 404,
            -32700 | -32600 | -32022..=-32020 => 400,
            _ => 200,
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// What a request is answered with.
pub(super) type Answer = Result<Value, Fault>;

/// The whole message that answers the request `id`.
pub(super) fn message(id: &Value, answer: &Answer) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => json!({ "jsonrpc": "2.0", "id": id, "error": fault.json() }),
    }
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// The client, while one of its requests runs.
pub(super) trait Peer {
    /// Tells it something that belongs to the request.
    fn notify(&self, method: &str, params: &Value);
    /// Asks it; `None` when it does not answer with a result.
    fn ask(&self, method: &str, params: &Value) -> Option<Value>;
    /// Ends the stream of the request before its answer, where there is one; the answer is fetched later.
    fn hang_up(&self) {}
}
