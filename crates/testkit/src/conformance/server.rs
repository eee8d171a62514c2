//! The server itself: which method is answered by what, in both eras.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::content::{PNG, embedded, image, text};
use super::definitions::{self, WATCHED};
use super::protocol::{
    Answer, CAPABILITIES, Fault, LEGACY, LEVELS, LOG_LEVEL, MODERN, Peer, SUBSCRIPTION, TASKS, VERSION,
    notification,
};
use super::rounds;
use super::tasks::Tasks;
use super::tools;

/// What is known of a client of the legacy era.
#[derive(Debug, Default)]
pub(super) struct Session {
    state: Mutex<Known>,
}

#[derive(Debug, Default, Clone)]
struct Known {
    version: String,
    capabilities: Value,
    level: usize,
    subscribed: BTreeSet<String>,
}

/// Whether a notification is wanted, by method and params.
type Wants = Box<dyn Fn(&str, &Value) -> bool + Send>;

/// Somebody who is told of changes.
pub(super) struct Listener {
    /// The id of its subscription, in the modern era.
    subscription: Option<Value>,
    /// What it wants to be told.
    wants: Wants,
    /// Sends; false when it is gone.
    send: Box<dyn Fn(Value) -> bool + Send>,
}

/// The server's state.
#[derive(Default)]
pub(super) struct Server {
    pub(super) tasks: Tasks,
    listeners: Mutex<Vec<Listener>>,
}

/// A request, with who asks.
pub(super) struct Asked<'a> {
    pub(super) server: &'a Server,
    pub(super) params: &'a Value,
    /// Whether it came in the modern era.
    pub(super) modern: bool,
    pub(super) capabilities: Value,
    /// The least level of messages that the client wants; none at all if `None`.
    pub(super) level: Option<usize>,
    pub(super) peer: &'a dyn Peer,
}

impl Asked<'_> {
    /// Logs, where the client wants it.
    pub(super) fn log(&self, level: &str, words: &str) {
        let rank = LEVELS.iter().position(|name| *name == level).unwrap_or_default();
        if self.level.is_some_and(|least| rank >= least) {
            self.peer.notify(
                "notifications/message",
                &json!({ "level": level, "logger": "fixture", "data": words }),
            );
        }
    }

    /// Whether the client knows tasks.
    pub(super) fn knows_tasks(&self) -> bool {
        self.modern && self.capabilities["extensions"].get(TASKS).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// The agreed version.
    pub(super) fn version(&self) -> String {
        lock(&self.state).version.clone()
    }

    /// Answers a request of the legacy era.
    pub(super) fn answer(&self, server: &Server, method: &str, params: &Value, peer: &dyn Peer) -> Answer {
        match method {
            "initialize" => Ok(self.initialize(params)),
            "ping" => Ok(json!({})),
            "logging/setLevel" => {
                let level = LEVELS.iter().position(|name| params["level"] == *name);
                lock(&self.state).level = level.ok_or_else(|| Fault::invalid("there is no such level"))?;
                Ok(json!({}))
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                let uri = params["uri"].as_str().ok_or_else(|| Fault::invalid("uri is missing"))?.to_owned();
                let subscribed = &mut lock(&self.state).subscribed;
                if method.ends_with("/subscribe") {
                    subscribed.insert(uri)
                } else {
                    subscribed.remove(&uri)
                };
                Ok(json!({}))
            }
            _ => {
                let known = lock(&self.state).clone();
                let asked = Asked {
                    server,
                    params,
                    modern: false,
                    capabilities: known.capabilities,
                    level: Some(known.level),
                    peer,
                };
                common(method, &asked)
            }
        }
    }

    fn initialize(&self, params: &Value) -> Value {
        let wanted = params["protocolVersion"].as_str().unwrap_or_default();
        let version = if LEGACY.contains(&wanted) { wanted } else { LEGACY[0] };
        let mut state = lock(&self.state);
        state.version = version.to_owned();
        state.capabilities = params["capabilities"].clone();
        json!({
            "protocolVersion": version,
            "capabilities": {
                "tools": { "listChanged": true },
                "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "completions": {},
                "logging": {}
            },
            "serverInfo": info(),
            "instructions": INSTRUCTIONS
        })
    }
}

const INSTRUCTIONS: &str = "Call nothing here for its use: every tool exists to be tested.";

fn info() -> Value {
    json!({ "name": "deadweight-conformance-fixture", "version": "1.0.0" })
}

impl Server {
    /// Answers a request of the modern era, its headers left out of account. `subscriptions/listen` is the transport's.
    pub(super) fn answer(&self, method: &str, params: &Value, peer: &dyn Peer) -> Answer {
        let capabilities = modern(params)?.clone();
        let asked = Asked {
            server: self,
            params,
            modern: true,
            level: params["_meta"][LOG_LEVEL]
                .as_str()
                .and_then(|level| LEVELS.iter().position(|name| *name == level)),
            capabilities,
            peer,
        };
        let mut result = match method {
            "server/discover" => discover(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => {
                if !asked.knows_tasks() {
                    return Err(Fault::missing(json!({ "extensions": { TASKS: {} } })));
                }
                self.tasks.answer(method, params)?
            }
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                return Err(Fault::no_method());
            }
            _ => common(method, &asked)?,
        };
        if result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        let kept = method.ends_with("/list") || matches!(method, "resources/read" | "server/discover");
        if kept || method == "resources/templates/list" {
            result["ttlMs"] = json!(if method == "server/discover" { 60_000 } else { 0 });
            result["cacheScope"] = "public".into();
        }
        Ok(result)
    }

    /// Remembers a listener.
    pub(super) fn listen(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    /// Forgets the listener of this subscription.
    pub(super) fn leave(&self, subscription: &Value) {
        lock(&self.listeners).retain(|listener| listener.subscription.as_ref() != Some(subscription));
    }

    /// Tells everybody who wants to know it that a list has changed.
    pub(super) fn changed(&self, list: &str) {
        self.tell(&format!("notifications/{list}/list_changed"), &json!({}));
    }

    /// Tells everybody who watches the resource that it has changed.
    pub(super) fn updated(&self, uri: &str) {
        self.tell(UPDATED, &json!({ "uri": uri }));
    }

    fn tell(&self, method: &str, params: &Value) {
        lock(&self.listeners).retain(|listener| {
            if !(listener.wants)(method, params) {
                return true;
            }
            let mut params = params.clone();
            if let Some(id) = &listener.subscription {
                params["_meta"] = json!({ SUBSCRIPTION: id });
            }
            (listener.send)(notification(method, &params))
        });
    }
}

const UPDATED: &str = "notifications/resources/updated";

impl Listener {
    /// A subscription of the modern era, which is told what its filter names.
    pub(super) fn subscribed(
        id: Value,
        filter: Value,
        send: impl Fn(Value) -> bool + Send + 'static,
    ) -> Self {
        let wants = move |method: &str, params: &Value| {
            let words: Vec<&str> = method.split('/').collect();
            match words.as_slice() {
                [_, list, "list_changed"] => filter[format!("{list}ListChanged")] == true,
                [_, "resources", "updated"] => filter["resourceSubscriptions"]
                    .as_array()
                    .is_some_and(|uris| uris.contains(&params["uri"])),
                _ => false,
            }
        };
        Self { subscription: Some(id), wants: Box::new(wants), send: Box::new(send) }
    }

    /// A legacy client, which is told everything once its session has begun, and of the resources that it watches.
    pub(super) fn legacy(session: Arc<Session>, send: impl Fn(Value) -> bool + Send + 'static) -> Self {
        let wants = move |method: &str, params: &Value| {
            let state = lock(&session.state);
            let watches = || params["uri"].as_str().is_some_and(|uri| state.subscribed.contains(uri));
            !state.version.is_empty() && (method != UPDATED || watches())
        };
        Self { subscription: None, wants: Box::new(wants), send: Box::new(send) }
    }
}

/// The first message of a subscription, and what it will be told.
pub(super) fn acknowledged(id: &Value, params: &Value) -> Result<(Value, Value), Fault> {
    modern(params)?;
    let filter = params["notifications"].clone();
    let params = json!({ "_meta": { SUBSCRIPTION: id }, "notifications": filter });
    Ok((notification("notifications/subscriptions/acknowledged", &params), filter))
}

/// The client's capabilities out of a request of the modern era, when that says all it must.
fn modern(params: &Value) -> Result<&Value, Fault> {
    let meta = &params["_meta"];
    let version = meta[VERSION].as_str().ok_or_else(|| Fault::invalid("the protocol version is missing"))?;
    let capabilities = meta.get(CAPABILITIES).filter(|capabilities| capabilities.is_object());
    let capabilities = capabilities.ok_or_else(|| Fault::invalid("the client's capabilities are missing"))?;
    if version != MODERN {
        return Err(Fault::new(-32022, "Unsupported protocol version")
            .with(json!({ "supported": [MODERN], "requested": version })));
    }
    Ok(capabilities)
}

fn discover() -> Value {
    json!({
        "supportedVersions": [MODERN],
        "capabilities": {
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "completions": {},
            "logging": {},
            "extensions": { TASKS: {} }
        },
        "instructions": INSTRUCTIONS,
        "_meta": { "io.modelcontextprotocol/serverInfo": info() }
    })
}

/// What both eras have.
fn common(method: &str, asked: &Asked<'_>) -> Answer {
    match method {
        "tools/list" => Ok(json!({ "tools": definitions::tools() })),
        "tools/call" => tools::call(asked),
        "prompts/list" => Ok(json!({ "prompts": definitions::prompts() })),
        "prompts/get" => prompt(asked.params),
        "resources/list" => Ok(json!({ "resources": definitions::resources() })),
        "resources/templates/list" => Ok(json!({ "resourceTemplates": definitions::templates() })),
        "resources/read" => resource(asked),
        "completion/complete" => {
            let given = asked.params["argument"]["value"].as_str().unwrap_or_default();
            let values: Vec<&str> = ["paris", "park", "party", "test", "tester"]
                .into_iter()
                .filter(|value| value.starts_with(given))
                .collect();
            Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
        }
        _ => Err(Fault::no_method()),
    }
}

fn prompt(params: &Value) -> Answer {
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default().to_owned();
    let says = |content: Value| json!({ "role": "user", "content": content });
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => json!([says(text("This is a simple prompt for testing."))]),
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            json!([says(text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'")))])
        }
        "test_prompt_with_embedded_resource" => json!([
            says(embedded(&argument("resourceUri"), "text/plain", "Embedded resource content for testing.")),
            says(text("Please process the embedded resource above."))
        ]),
        "test_prompt_with_image" => json!([says(image()), says(text("Please analyze the image above."))]),
        "test_input_required_result_prompt" => return rounds::prompt_that_asks(params),
        _ => return Err(Fault::invalid("there is no such prompt")),
    };
    Ok(json!({ "messages": messages }))
}

fn resource(asked: &Asked<'_>) -> Answer {
    let uri = asked.params["uri"].as_str().unwrap_or_default();
    let template = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, template) {
        ("test://static-text", _) => {
            let words = "This is the content of the static text resource.";
            json!({ "uri": uri, "mimeType": "text/plain", "text": words })
        }
        ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        (WATCHED, _) => json!({ "uri": uri, "mimeType": "text/plain", "text": "Watched." }),
        (_, Some(id)) => {
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() })
        }
        _ => {
            let code = if asked.modern { -32602 } else { -32002 };
            return Err(Fault::new(code, "Resource not found").with(json!({ "uri": uri })));
        }
    };
    Ok(json!({ "contents": [content] }))
}
