//! `context_value`: how full the model's window is, how fast it fills, and what to do about it. The gateway knows; where
//! there is none, the report is empty, as valid as any, and says how to have one.

use crate::ask::Gateway;
use crate::exit::Trouble;
use deadweight_gateway::context::{self, Advice};
use deadweight_mcp::OwnTool;
use serde_json::{Value, json};

/// The tool.
pub(super) struct ContextValue {
    /// The gateway, if one is named.
    gateway: Option<Result<Gateway, Trouble>>,
}

impl ContextValue {
    /// The gateway is the one in `DEADWEIGHT_GATEWAY`; `DEADWEIGHT_TOKEN` is its token.
    pub(super) fn of_environment() -> Self {
        Self { gateway: Gateway::of_environment() }
    }

    /// What the gateway says, or what is to be done so that it can.
    fn ask(&self, session: Option<&str>) -> Result<Value, Advice> {
        let Some(gateway) = &self.gateway else {
            return Err(Advice {
                step: "Nothing is known of this session: no gateway is named. Tell the user to start the agent with \
                       `deadweight run -- COMMAND`, or to run `deadweight gateway` and set DEADWEIGHT_GATEWAY to its address"
                    .to_owned(),
                basis: "DEADWEIGHT_GATEWAY is not set".to_owned(),
            });
        };
        let pairs: Vec<(&str, &str)> = session.map(|session| ("session", session)).into_iter().collect();
        let asked = match gateway {
            Ok(gateway) => gateway.get("context", &pairs, context::SCHEMA),
            Err(trouble) => Err(trouble.clone()),
        };
        asked.map_err(|trouble| Advice {
            step: "Nothing is known of this session: the gateway cannot be asked. Tell the user to start it again \
                   (`deadweight gateway`), or to set DEADWEIGHT_GATEWAY, and DEADWEIGHT_TOKEN where it has one, to the one \
                   that runs"
                .to_owned(),
            basis: trouble.reason(),
        })
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
        Ok(self.ask(session).unwrap_or_else(|advice| {
            let report = context::Context { advice: Some(advice), ..context::empty(session) };
            serde_json::to_value(report).unwrap_or_default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gateway_the_report_is_empty_valid_and_says_what_to_do() {
        for (gateway, basis) in [
            (None, "DEADWEIGHT_GATEWAY is not set"),
            (
                Some("http://127.0.0.1:9"),
                "no gateway answers at http://127.0.0.1:9; system: Connection refused",
            ),
            (
                Some("nonsense"),
                "no gateway answers at nonsense; system: its address is no http(s) URL, or TLS cannot be had",
            ),
        ] {
            let mut tool = ContextValue { gateway: gateway.map(|url| Gateway::at(Some(url))) };
            let report = tool.call(&json!({ "session": "s" })).unwrap();
            assert_eq!(
                (&report["schema"], &report["known"], &report["session"]),
                (&json!("deadweight/context/1"), &json!(false), &json!("s"))
            );
            assert_eq!(report["advice"]["basis"], basis);
            assert!(report["advice"]["step"].as_str().unwrap().contains("DEADWEIGHT_GATEWAY"));
        }
        assert!(ContextValue { gateway: None }.call(&json!({ "session": 1 })).is_err());
    }
}
