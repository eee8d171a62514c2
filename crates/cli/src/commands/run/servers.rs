//! Servers of an agent's config, put behind the proxy: the same entry under the same name, with another command.

use super::around::Around;
use super::doors::Doors;
use super::plan::{Became, Plan};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The name of the entry with our own tools.
pub(super) use deadweight_store::OWN_ENTRY as OWN;

/// Members of an entry that say how a remote server is reached; the rest stays with the entry.
const REMOTE: [&str; 7] = ["type", "transport", "url", "serverUrl", "httpUrl", "headers", "requestInit"];
/// Members by which a remote server gets a login that only the agent has.
const LOGINS: [&str; 5] = ["oauth", "headersHelper", "authProviderType", "auth", "targetAudience"];

/// The words before a server's command.
pub(super) fn before(around: &Around<'_>, label: &str) -> Vec<String> {
    vec![
        around.own.to_string_lossy().into_owned(),
        "mcp".to_owned(),
        format!("--name={label}"),
        "--".to_owned(),
    ]
}

/// The words that serve our own tools.
pub(super) fn own_words(around: &Around<'_>) -> Vec<String> {
    vec![around.own.to_string_lossy().into_owned(), "mcp".to_owned(), "--own".to_owned()]
}

/// What our own processes must find in their environment, because some agents do not hand theirs on.
pub(super) fn own_env(around: &Around<'_>) -> Vec<(&'static str, String)> {
    let mut env = vec![("DEADWEIGHT_GATEWAY", Doors::address(0))];
    env.extend(around.ledger.clone().map(|ledger| ("DEADWEIGHT_LEDGER", ledger)));
    env
}

pub(super) use crate::target::wrapped::is_own;

/// An entry as most agents write it (`command`, `args`, `env`, or `url` and `headers`), put behind the proxy. `None`
/// where it stays as it is. `remote` are entries of remote servers that go into a file of this run.
pub(super) fn wrapped(
    around: &Around<'_>,
    plan: &mut Plan,
    label: &str,
    entry: &Value,
    remote: &mut Remote,
) -> Option<Value> {
    let became = |plan: &mut Plan, became| {
        plan.became(label, became);
        None
    };
    let Some(members) = entry.as_object() else {
        return became(plan, Became::Left("its entry is no object"));
    };
    if let Some(command) = members.get("command") {
        let Some(command) = command.as_str().filter(|command| !command.is_empty()) else {
            return became(plan, Became::Left("its command is no text"));
        };
        if is_own(command) {
            return became(plan, Became::Already);
        }
        let args = members.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut words = before(around, label).into_iter().map(Value::from);
        let mut members = members.clone();
        members.insert("command".to_owned(), words.next().unwrap_or_default());
        let args = words.chain([Value::from(command)]).chain(args).collect();
        members.insert("args".to_owned(), Value::Array(args));
        with_env(&mut members, around, plan);
        plan.became(label, Became::Wrapped);
        return Some(Value::Object(members));
    }
    let url = ["httpUrl", "url", "serverUrl"].into_iter().find_map(|name| members.get(name)?.as_str());
    let Some(url) = url else {
        return became(plan, Became::Left("its entry has neither a command nor a URL"));
    };
    if !brings_its_keys(members, url) {
        return became(plan, Became::Left("it may need a login that the agent holds"));
    }
    let mut members = members.clone();
    let file = remote.add(label, entry);
    REMOTE.iter().for_each(|name| {
        members.shift_remove(*name);
    });
    let mut words = own_words(around);
    words.truncate(2);
    let command = words.remove(0);
    words.extend(["--config".to_owned(), file, format!("--server={label}")]);
    members.insert("command".to_owned(), command.into());
    members.insert("args".to_owned(), words.into());
    with_env(&mut members, around, plan);
    plan.became(label, Became::Wrapped);
    Some(Value::Object(members))
}

/// Whether a remote server needs no login: its entry brings its keys along, or it is on this machine.
fn brings_its_keys(members: &Map<String, Value>, url: &str) -> bool {
    if LOGINS.iter().any(|name| members.contains_key(*name)) {
        return false;
    }
    let has_headers =
        members.get("headers").and_then(Value::as_object).is_some_and(|headers| !headers.is_empty());
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let local = ["localhost", "127.0.0.1", "[::1]"];
    has_headers
        || local.iter().any(|name| {
            host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        })
}

fn with_env(members: &mut Map<String, Value>, around: &Around<'_>, plan: &Plan) {
    let ledger = around.ledger.iter().map(|ledger| ("DEADWEIGHT_LEDGER", ledger));
    let more = plan.for_servers.iter().map(|(name, value)| (*name, value));
    let all: Vec<(&str, &String)> = ledger.chain(more).collect();
    if all.is_empty() {
        return;
    }
    let env = members.entry("env").or_insert_with(|| json!({}));
    if let Some(env) = env.as_object_mut() {
        for (name, value) in all {
            env.entry(name).or_insert_with(|| value.as_str().into());
        }
    }
}

/// The entry with our own tools, as most agents write one.
pub(super) fn own(around: &Around<'_>) -> Value {
    let mut words = own_words(around);
    let command = words.remove(0);
    let env: Map<String, Value> =
        own_env(around).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    json!({ "command": command, "args": words, "env": env })
}

/// Remote servers whose addresses and headers go into a file of this run, which only its owner can read, because the
/// arguments of a process are seen by every user of the machine.
#[derive(Debug, Default)]
pub(super) struct Remote {
    path: String,
    entries: Map<String, Value>,
}

impl Remote {
    /// They go into this file.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_string_lossy().into_owned(), entries: Map::new() }
    }

    fn add(&mut self, label: &str, entry: &Value) -> String {
        self.entries.insert(label.to_owned(), entry.clone());
        self.path.clone()
    }

    /// The file, if there is anything in it.
    pub(super) fn into_plan(self, plan: &mut Plan) {
        if !self.entries.is_empty() {
            plan.files.push((self.path.into(), json!({ "mcpServers": self.entries }).to_string()));
        }
    }
}
