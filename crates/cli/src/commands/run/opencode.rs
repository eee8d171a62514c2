//! opencode: a config in its environment, which is laid over those in its files. As of version 1.18 (measured and
//! documented, November 2026).

use super::around::{Around, json, json_text, merge};
use super::plan::{Became, Plan};
use super::servers::{OWN, before, is_own, own_env, own_words};
use deadweight_gateway::Provider;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The variable with the config.
const VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

/// Providers that it knows by themselves: their name, whose requests they take, their address, and the variables that
/// hold their keys.
const KNOWN: [(&str, Provider, &str, &[&str]); 3] = [
    ("anthropic", Provider::Anthropic, "https://api.anthropic.com/v1", &["ANTHROPIC_API_KEY"]),
    ("openai", Provider::OpenAi, "https://api.openai.com/v1", &["OPENAI_API_KEY"]),
    (
        "google",
        Provider::Gemini,
        "https://generativelanguage.googleapis.com/v1beta",
        &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    ),
];

/// Plans a run.
pub(super) fn plan(around: &Around<'_>, plan: &mut Plan) {
    let said = match around.set(VARIABLE) {
        None => json!({}),
        Some(text) => match json_text(&text) {
            Some(said) => said,
            None => {
                plan.notes.push(format!("{VARIABLE} cannot be read: nothing is seen of what opencode sends"));
                return;
            }
        },
    };
    let mut config = json!({});
    for file in files(around) {
        if let Some(more) = json(&file) {
            merge(&mut config, more);
        }
    }
    merge(&mut config, said.clone());
    let mut over = json!({});
    let providers = providers(around, plan, &config);
    if !providers.is_empty() {
        over["provider"] = Value::Object(providers);
    }
    if around.wraps {
        over["mcp"] = Value::Object(servers(around, plan, &config));
    }
    let mut all = said;
    merge(&mut all, over);
    plan.set(VARIABLE, all.to_string());
}

/// Its files, the weakest first.
fn files(around: &Around<'_>) -> Vec<PathBuf> {
    let names = ["opencode.json", "opencode.jsonc"];
    let global = around.set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| around.home(".config"));
    let mut files: Vec<PathBuf> = Vec::new();
    if let Some(global) = global.map(|folder| folder.join("opencode")) {
        files.extend(["config.json", "opencode.json", "opencode.jsonc"].map(|name| global.join(name)));
    }
    files.extend(around.set("OPENCODE_CONFIG").map(PathBuf::from));
    let project = around.project();
    for folder in project.iter().rev() {
        files.extend(names.map(|name| folder.join(name)));
    }
    for folder in project.iter().rev() {
        files.extend(names.map(|name| folder.join(".opencode").join(name)));
    }
    if let Some(folder) = around.set("OPENCODE_CONFIG_DIR").map(PathBuf::from) {
        files.extend(names.map(|name| folder.join(name)));
    }
    files
}

/// The addresses of its providers.
fn providers(around: &Around<'_>, plan: &mut Plan, config: &Value) -> Map<String, Value> {
    let empty = Map::new();
    let configured = config.get("provider").and_then(Value::as_object).unwrap_or(&empty);
    let data = around.set("XDG_DATA_HOME").map(PathBuf::from).or_else(|| around.home(".local/share"));
    // Which providers have a key. The keys are not looked at.
    let logins = data.and_then(|folder| json(&folder.join("opencode").join("auth.json"))).unwrap_or_default();
    let mut out = Map::new();
    let mut redirect = |plan: &mut Plan, name: &str, provider, base: &str| {
        if let Some(address) = plan.door(provider, name, base) {
            out.insert(name.to_owned(), json!({ "options": { "baseURL": address } }));
        }
    };
    for (name, entry) in configured {
        let known = KNOWN.iter().find(|(known, ..)| known == name);
        let package = entry.get("npm").and_then(Value::as_str);
        let provider = match package {
            Some("@ai-sdk/anthropic") => Some(Provider::Anthropic),
            Some("@ai-sdk/openai" | "@ai-sdk/openai-compatible") => Some(Provider::OpenAi),
            Some("@ai-sdk/google") => Some(Provider::Gemini),
            Some(_) => None,
            None => known.map(|(_, provider, ..)| *provider),
        };
        let written = entry.get("options").and_then(|options| options.get("baseURL")).and_then(Value::as_str);
        let base = match written {
            Some(text) => expanded(around, text),
            None => known.map(|(_, _, base, _)| (*base).to_owned()),
        };
        match (provider, base) {
            (Some(provider), Some(base)) => redirect(plan, name, provider, &base),
            _ => plan.notes.push(format!(
                "what goes to the provider {name} is not seen: it is not known how it is asked"
            )),
        }
    }
    for (name, provider, base, keys) in KNOWN {
        // One that has no key is not named: naming it would offer it.
        let by_key = keys.iter().any(|key| around.set(key).is_some());
        let by_login =
            logins.get(name).and_then(|login| login.get("type")).and_then(Value::as_str) == Some("api");
        if !configured.contains_key(name) && (by_key || by_login) {
            redirect(plan, name, provider, base);
        }
    }
    out
}

/// A text with `{env:NAME}` in it; none where a variable is not set, or it reads a file.
fn expanded(around: &Around<'_>, text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, more)) = rest.split_once("{env:") {
        let (name, after) = more.split_once('}')?;
        out.push_str(before);
        out.push_str(&around.set(name.trim())?);
        rest = after;
    }
    out.push_str(rest);
    (!out.contains("{file:")).then_some(out)
}

/// Its servers.
fn servers(around: &Around<'_>, plan: &mut Plan, config: &Value) -> Map<String, Value> {
    let mut out = Map::new();
    let configured = config.get("mcp").and_then(Value::as_object);
    for (label, entry) in configured.into_iter().flatten() {
        match server(around, label, entry) {
            Ok(entry) => {
                plan.became(label, Became::Wrapped);
                out.insert(label.clone(), entry);
            }
            Err(became) => plan.became(label, became),
        }
    }
    if !configured.is_some_and(|all| all.contains_key(OWN)) {
        let env: Map<String, Value> =
            own_env(around).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let own =
            json!({ "type": "local", "command": own_words(around), "environment": env, "enabled": true });
        out.insert(OWN.to_owned(), own);
    }
    out
}

/// What is laid over a server's entry. Arrays are replaced whole, objects are merged.
fn server(around: &Around<'_>, label: &str, entry: &Value) -> Result<Value, Became> {
    if entry.get("enabled") == Some(&Value::Bool(false)) {
        return Err(Became::Left("it is switched off"));
    }
    let words: Option<Vec<&str>> = entry
        .get("command")
        .and_then(Value::as_array)
        .map(|words| words.iter().filter_map(Value::as_str).collect());
    let Some([command, ..]) = words.as_deref() else {
        return Err(Became::Left("it may need a login that the agent holds"));
    };
    if is_own(command) {
        return Err(Became::Already);
    }
    let all: Vec<String> =
        before(around, label).into_iter().chain(words.into_iter().flatten().map(str::to_owned)).collect();
    let mut over = json!({ "type": "local", "command": all });
    if let Some(ledger) = &around.ledger {
        over["environment"] = json!({ "DEADWEIGHT_LEDGER": ledger });
    }
    Ok(over)
}
