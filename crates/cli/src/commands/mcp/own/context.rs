//! `context_value`: how full the model's window is, how fast it fills, and what to do about it. The gateway knows; where
//! there is none, the report is empty, and as valid as any.

use deadweight_gateway::context;
use deadweight_mcp::{OwnTool, direct};
use serde_json::{Value, json};
use std::time::Duration;

/// How long the gateway may take. It is on this machine, and answers from memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest report that is read, in bytes.
const LARGEST: usize = 1 << 20;

/// The tool.
pub(super) struct ContextValue {
    /// Where the gateway is, if there is one.
    gateway: Option<String>,
    token: Option<String>,
}

impl ContextValue {
    /// The gateway is the one in `DEADWEIGHT_GATEWAY`; `DEADWEIGHT_TOKEN` is its token.
    pub(super) fn of_environment() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        Self { gateway: set("DEADWEIGHT_GATEWAY"), token: set("DEADWEIGHT_TOKEN") }
    }

    /// What the gateway says; `None` where it cannot be asked or says nothing that is a report.
    fn ask(&self, session: Option<&str>) -> Option<Value> {
        let gateway = self.gateway.as_deref()?.trim_end_matches('/');
        // The gateway is asked itself, never through a proxy, and is not followed anywhere.
        let (client, mut address) = direct(&format!("{gateway}/deadweight/v1/context"), PATIENCE).ok()?;
        if let Some(session) = session {
            address.query_pairs_mut().append_pair("session", session);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let body = runtime.block_on(async {
            let mut request = client.get(address);
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            let mut answer = request.send().await.ok()?.error_for_status().ok()?;
            let mut body = Vec::new();
            while let Some(chunk) = answer.chunk().await.ok()? {
                body.extend_from_slice(&chunk);
                if body.len() > LARGEST {
                    return None;
                }
            }
            Some(body)
        })?;
        let report: Value = serde_json::from_slice(&body).ok()?;
        (report["schema"] == context::SCHEMA).then_some(report)
    }
}

impl OwnTool for ContextValue {
    fn definition(&self) -> Value {
        json!({
            "name": "context_value",
            "description": "Tells how full this conversation's context window is, how fast it fills, and one step to take.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "session": { "type": "string", "description": "A session's id; without it, the latest session" },
                },
                "additionalProperties": false,
            },
            "annotations": { "title": "Context value", "readOnlyHint": true, "openWorldHint": false },
        })
    }

    fn call(&mut self, arguments: &Value) -> Result<Value, String> {
        let session = match arguments.get("session") {
            None | Some(Value::Null) => None,
            Some(Value::String(session)) => Some(session.as_str()),
            Some(_) => {
                return Err(
                    "`session` is the id of a session, as text; leave it out for the latest one".to_owned()
                );
            }
        };
        let report = self.ask(session);
        Ok(report.unwrap_or_else(|| serde_json::to_value(context::empty(session)).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gateway_the_report_is_empty_and_valid() {
        for gateway in [None, Some("http://127.0.0.1:9".to_owned()), Some("nonsense".to_owned())] {
            let mut tool = ContextValue { gateway, token: None };
            let report = tool.call(&json!({ "session": "s" })).unwrap();
            assert_eq!(
                (&report["schema"], &report["known"]),
                (&json!("deadweight/context/1"), &json!(false))
            );
            assert_eq!(report["session"], "s");
        }
        assert!(ContextValue { gateway: None, token: None }.call(&json!({ "session": 1 })).is_err());
    }
}
