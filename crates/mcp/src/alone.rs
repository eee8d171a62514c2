//! A server of our own, for the tools that belong to no other server, in both eras. Which tools it has is settled when it
//! starts; what they do is not its business.

use crate::message::{KNOWN_VERSIONS, LEGACY_VERSION, METHOD_NOT_FOUND, MODERN_VERSION};
use crate::relay::frame::{Frame, NoFrame};
use crate::relay::port::Kind;
use bytes::Bytes;
use deadweight_wire::json::Parser;
use serde_json::{Value, json};
use std::fmt;

/// Member of `_meta` that carries the version of a request without a handshake.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Member of `_meta` that says which subscription a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A tool that belongs to no server.
pub trait OwnTool: Send {
    /// Its definition, as `tools/list` hands it out. Its name is in there, and does not change.
    fn definition(&self) -> Value;

    /// What it says to a call with these arguments.
    ///
    /// # Errors
    ///
    /// What was wrong and what to do, in a sentence for the model.
    fn call(&mut self, arguments: &Value) -> Result<Value, String>;
}

/// The server. What a client says goes in, what it is answered comes out; there is nothing to remember in between.
#[derive(Default)]
pub struct Alone {
    parser: Parser,
    tools: Vec<Box<dyn OwnTool>>,
}

impl fmt::Debug for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alone").finish_non_exhaustive()
    }
}

/// An error's code and text, and what else is said about it.
struct Fault(i64, &'static str, Option<Value>);

impl Alone {
    /// A server of these tools.
    #[must_use]
    pub fn new(tools: Vec<Box<dyn OwnTool>>) -> Self {
        Self { parser: Parser::default(), tools }
    }

    /// Answers one line: a message, or an array of them. `None`: nothing is to be answered.
    pub fn answer(&mut self, line: &[u8]) -> Option<Bytes> {
        let line = Bytes::copy_from_slice(line);
        let together = line.trim_ascii_start().starts_with(b"[");
        let frames = match Frame::read(&mut self.parser, &line) {
            Ok(frames) => frames,
            Err(NoFrame::Json { .. }) => return Some(fault(b"null", &Fault(-32700, "Parse error", None))),
            Err(NoFrame::Shape { id }) => return Some(no_message(id.as_deref())),
        };
        if frames.is_empty() {
            return Some(no_message(None));
        }
        let answers: Vec<Bytes> = frames
            .into_iter()
            .filter_map(|frame| match frame {
                Ok(frame) => self.said(&frame),
                Err(NoFrame::Shape { id }) => Some(no_message(id.as_deref())),
                Err(NoFrame::Json { .. }) => Some(no_message(None)),
            })
            .collect();
        match (together, answers.as_slice()) {
            (_, []) => None,
            (false, [only, ..]) => Some(only.clone()),
            (true, all) => Some([b"[", all.join(&b","[..]).as_slice(), b"]"].concat().into()),
        }
    }
}

impl Alone {
    fn said(&mut self, frame: &Frame) -> Option<Bytes> {
        answer(&mut self.tools, frame)
    }
}

fn answer(tools: &mut [Box<dyn OwnTool>], frame: &Frame) -> Option<Bytes> {
    let Kind::Request { id, method } = frame.kind() else { return None };
    let params =
        frame.params().and_then(|params| serde_json::from_slice::<Value>(&params).ok()).unwrap_or_default();
    let modern = frame.is_modern() || method == "server/discover";
    let result = match modern {
        true => in_modern(tools, method, &params, id),
        false => in_legacy(tools, method, &params),
    };
    Some(match result {
        Ok(Said::Result(result)) => {
            [br#"{"jsonrpc":"2.0","id":"#, &id[..], br#","result":"#, result.to_string().as_bytes(), b"}"]
                .concat()
                .into()
        }
        Ok(Said::Notification(notification)) => notification.to_string().into(),
        Err(told) => fault(id, &told),
    })
}

/// What a request is answered with at first.
enum Said {
    Result(Value),
    /// A subscription that is never told anything: it is acknowledged, and stays open until the client ends it.
    Notification(Value),
}

fn in_legacy(tools: &mut [Box<dyn OwnTool>], method: &str, params: &Value) -> Result<Said, Fault> {
    let result = match method {
        "initialize" => {
            let wanted = params["protocolVersion"].as_str().unwrap_or_default();
            let known = KNOWN_VERSIONS.contains(&wanted) && wanted != MODERN_VERSION;
            let version = if known { wanted } else { LEGACY_VERSION };
            json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": info() })
        }
        "ping" => json!({}),
        "tools/list" => json!({ "tools": definitions(tools) }),
        "tools/call" => call(tools, params)?,
        _ => return Err(Fault(METHOD_NOT_FOUND, "Method not found", None)),
    };
    Ok(Said::Result(result))
}

fn in_modern(tools: &mut [Box<dyn OwnTool>], method: &str, params: &Value, id: &[u8]) -> Result<Said, Fault> {
    let version = params["_meta"][VERSION].as_str();
    if version != Some(MODERN_VERSION) {
        let told = json!({ "supported": [MODERN_VERSION], "requested": version });
        return Err(match version {
            Some(_) => Fault(-32022, "Unsupported protocol version", Some(told)),
            None => Fault(-32602, "the protocol version is missing", None),
        });
    }
    let result = match method {
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": [MODERN_VERSION],
            "capabilities": { "tools": {} },
            "ttlMs": 3_600_000,
            "cacheScope": "public",
            "_meta": { "io.modelcontextprotocol/serverInfo": info() },
        }),
        "tools/list" => {
            json!({
                "resultType": "complete",
                "tools": definitions(tools),
                "ttlMs": 3_600_000,
                "cacheScope": "public",
            })
        }
        "subscriptions/listen" => {
            let id: Value = serde_json::from_slice(id).unwrap_or_default();
            return Ok(Said::Notification(json!({
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": { SUBSCRIPTION: id }, "notifications": {} },
            })));
        }
        "tools/call" => {
            let mut result = call(tools, params)?;
            result["resultType"] = json!("complete");
            result
        }
        _ => return Err(Fault(METHOD_NOT_FOUND, "Method not found", None)),
    };
    Ok(Said::Result(result))
}

fn definitions(tools: &[Box<dyn OwnTool>]) -> Vec<Value> {
    tools.iter().map(|tool| tool.definition()).collect()
}

/// Calls a tool. What goes wrong in it is a result, which the model reads.
fn call(tools: &mut [Box<dyn OwnTool>], params: &Value) -> Result<Value, Fault> {
    let named = |tool: &&mut Box<dyn OwnTool>| tool.definition()["name"] == params["name"];
    let tool = tools.iter_mut().find(named).ok_or_else(|| no_tool(params))?;
    let none = json!({});
    let arguments = params.get("arguments").unwrap_or(&none);
    Ok(match tool.call(arguments) {
        Ok(said) => json!({
            "content": [{ "type": "text", "text": said.to_string() }],
            "structuredContent": said,
            "isError": false,
        }),
        Err(wrong) => json!({ "content": [{ "type": "text", "text": wrong }], "isError": true }),
    })
}

fn no_tool(params: &Value) -> Fault {
    Fault(-32602, "Unknown tool", Some(json!({ "name": params["name"] })))
}

fn info() -> Value {
    json!({ "name": "deadweight", "version": env!("CARGO_PKG_VERSION") })
}

fn no_message(id: Option<&[u8]>) -> Bytes {
    fault(id.unwrap_or(b"null"), &Fault(-32600, "this is no JSON-RPC message", None))
}

fn fault(id: &[u8], Fault(code, message, data): &Fault) -> Bytes {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data.clone();
    }
    [br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.to_string().as_bytes(), b"}"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Value {
        Alone::default()
            .answer(line.as_bytes())
            .map_or(Value::Null, |answer| serde_json::from_slice(&answer).unwrap())
    }

    #[test]
    fn the_legacy_era() {
        let opening = said(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        );
        assert_eq!(opening["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(opening["result"]["capabilities"], json!({ "tools": {} }));
        let newer = said(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#,
        );
        assert_eq!(newer["result"]["protocolVersion"], LEGACY_VERSION);
        assert_eq!(said(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), Value::Null);
        let list = said(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#);
        assert_eq!(list, json!({ "jsonrpc": "2.0", "id": "a", "result": { "tools": [] } }));
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)["result"], json!({}));
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list"}"#)["error"]["code"], -32601);
        let call = said(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}"#);
        assert_eq!((&call["error"]["code"], &call["error"]["data"]["name"]), (&json!(-32602), &json!("x")));
    }

    #[test]
    fn the_modern_era() {
        let ask = |method: &str, version: &str| {
            said(&format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"_meta":{{"{VERSION}":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            ))
        };
        let discovered = &ask("server/discover", MODERN_VERSION)["result"];
        assert_eq!(discovered["supportedVersions"], json!([MODERN_VERSION]));
        assert_eq!(discovered["resultType"], "complete");
        assert_eq!(ask("tools/list", MODERN_VERSION)["result"]["tools"], json!([]));
        assert_eq!(ask("ping", MODERN_VERSION)["error"]["code"], -32601);
        assert_eq!(ask("tools/list", "2030-01-01")["error"]["code"], -32022);
        assert_eq!(ask("subscriptions/listen", MODERN_VERSION)["params"]["_meta"][SUBSCRIPTION], 7);
        assert_eq!(said(r#"{"jsonrpc":"2.0","id":7,"method":"server/discover"}"#)["error"]["code"], -32602);
    }

    struct Echo;

    impl OwnTool for Echo {
        fn definition(&self) -> Value {
            json!({ "name": "echo", "inputSchema": { "type": "object" } })
        }

        fn call(&mut self, arguments: &Value) -> Result<Value, String> {
            match arguments.get("say") {
                Some(say) => Ok(json!({ "said": say })),
                None => Err("say something".to_owned()),
            }
        }
    }

    #[test]
    fn its_tools_are_listed_and_called_in_both_eras() {
        let mut alone = Alone::new(vec![Box::new(Echo)]);
        let mut said = |line: &str| -> Value {
            serde_json::from_slice(&alone.answer(line.as_bytes()).unwrap()).unwrap()
        };
        let list = said(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        assert_eq!(list["result"]["tools"][0]["name"], "echo");
        let call = said(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"say":"hi"}}}"#,
        );
        assert_eq!(call["result"]["structuredContent"], json!({ "said": "hi" }));
        assert_eq!(call["result"]["content"][0]["text"], r#"{"said":"hi"}"#);
        let wrong = said(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}"#);
        assert_eq!(
            (&wrong["result"]["isError"], &wrong["result"]["content"][0]["text"]),
            (&json!(true), &json!("say something"))
        );
        let modern = said(&format!(
            r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"name":"echo","arguments":{{"say":1}},"_meta":{{"{VERSION}":"{MODERN_VERSION}"}}}}}}"#
        ));
        assert_eq!(modern["result"]["resultType"], "complete");
    }

    #[test]
    fn what_is_no_message() {
        assert_eq!(said("{")["error"]["code"], -32700);
        assert_eq!(
            said(r#"{"id":5}"#),
            json!({ "jsonrpc": "2.0", "id": 5, "error": { "code": -32600, "message": "this is no JSON-RPC message" } })
        );
        assert_eq!(said("[]")["error"]["code"], -32600);
        let both =
            said(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#);
        assert_eq!(both.as_array().map(Vec::len), Some(2));
    }
}
