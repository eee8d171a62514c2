//! The server on standard streams.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::protocol::{Fault, Peer, VERSION, message, notification};
use super::server::{Listener, Server, Session, acknowledged};

#[derive(Default)]
struct Streams {
    server: Server,
    session: Arc<Session>,
    asked: AtomicU64,
    waiting: Mutex<BTreeMap<String, Sender<Value>>>,
}

/// Serves until standard input ends; then the process ends with whatever still runs.
pub(super) fn serve() {
    let streams = Arc::new(Streams::default());
    // A client of the modern era is told through its subscriptions alone.
    streams.server.listen(Listener::legacy(Arc::clone(&streams.session), |value| {
        line(&value);
        true
    }));
    for text in io::stdin().lock().lines() {
        let Ok(text) = text else { break };
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => streams.take(value),
            Err(error) => line(&message(&Value::Null, &Err(Fault::new(-32700, error.to_string())))),
        }
    }
    std::process::exit(0);
}

fn line(value: &Value) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(format!("{value}\n").as_bytes()).and_then(|()| out.flush());
}

impl Streams {
    fn take(self: &Arc<Self>, value: Value) {
        let Some(method) = value["method"].as_str().map(str::to_owned) else {
            let id = value["id"].to_string();
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            if let Some(waiting) = waiting {
                let _ = waiting.send(value);
            }
            return;
        };
        let params = &value["params"];
        let Some(id) = value.get("id").filter(|id| !id.is_null()).cloned() else {
            if method == "notifications/cancelled" {
                self.server.leave(&params["requestId"]);
            }
            return;
        };
        if method == "subscriptions/listen" {
            match acknowledged(&id, params) {
                Ok((first, filter)) => {
                    line(&first);
                    self.server.listen(Listener::subscribed(id, filter, |value| {
                        line(&value);
                        true
                    }));
                }
                Err(fault) => line(&message(&id, &Err(fault))),
            }
            return;
        }
        let own = Arc::clone(self);
        thread::spawn(move || {
            let params = &value["params"];
            let modern = method == "server/discover" || params["_meta"].get(VERSION).is_some();
            let answer = if modern {
                own.server.answer(&method, params, own.as_ref())
            } else {
                own.session.answer(&own.server, &method, params, own.as_ref())
            };
            line(&message(&id, &answer));
        });
    }
}

impl Peer for Streams {
    fn notify(&self, method: &str, params: &Value) {
        line(&notification(method, params));
    }

    fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let id = format!("ask-{}", self.asked.fetch_add(1, Ordering::SeqCst));
        let (tell, told) = channel();
        let key = Value::from(id.as_str()).to_string();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(key, tell);
        line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        told.recv_timeout(Duration::from_secs(60)).ok()?.get("result").cloned()
    }
}
