//! Codex: overrides on its command line, before its own words, so that what a person says there still counts. As of version
//! 0.171 (measured and documented, November 2026).

use super::around::{Around, json, text};
use super::plan::{Became, Plan};
use super::servers::{OWN, before, is_own, own_env, own_words};
use deadweight_gateway::Provider;
use serde_json::Value;
use std::path::PathBuf;
use toml_edit::{Document, Item, TableLike};

/// First words that begin no session.
const NO_SESSION: [&str; 13] = [
    "login",
    "logout",
    "mcp",
    "plugin",
    "completion",
    "update",
    "doctor",
    "sandbox",
    "debug",
    "apply",
    "features",
    "help",
    "cloud",
];
/// Flags that begin no session.
const NO_SESSION_FLAGS: [&str; 4] = ["-h", "--help", "-V", "--version"];

/// Plans a run. `at` is the place behind the agent's own word.
pub(super) fn plan(around: &Around<'_>, plan: &mut Plan, at: usize) {
    let behind = plan.words.get(at..).unwrap_or_default();
    let word = |word: &std::ffi::OsString| word.to_str().map(str::to_owned).unwrap_or_default();
    let first = behind.iter().map(word).find(|word| !word.starts_with('-')).unwrap_or_default();
    let asks = behind.iter().map(word).any(|word| NO_SESSION_FLAGS.contains(&word.as_str()));
    if NO_SESSION.contains(&first.as_str()) || asks {
        return;
    }
    let folder = around.set("CODEX_HOME").map(PathBuf::from).or_else(|| around.home(".codex"));
    let user = folder.as_ref().and_then(|folder| text(&folder.join("config.toml"))).unwrap_or_default();
    let project = text(&around.directory.join(".codex").join("config.toml")).unwrap_or_default();
    let Ok(user) = Document::parse(user.as_str()) else {
        plan.notes.push("Codex's config.toml is no TOML: nothing is seen of what it sends".to_owned());
        return;
    };
    // A project's own file counts where the project is trusted, for Codex and here.
    let trusted = around.project().iter().any(|folder| {
        let folder = folder.to_string_lossy();
        let trust = user.get("projects").and_then(|all| all.get(&*folder)?.get("trust_level")?.as_str());
        trust == Some("trusted")
    });
    let project = Document::parse(if trusted { project.as_str() } else { "" });
    let files: Vec<&dyn TableLike> = std::iter::once(user.as_table() as &dyn TableLike)
        .chain(project.as_ref().ok().map(|project| project.as_table() as &dyn TableLike))
        .collect();
    let mut words = Vec::new();
    addresses(around, plan, &files, folder.as_deref(), &mut words);
    if around.wraps {
        servers(around, plan, &files, &mut words);
    }
    plan.insert(at, words);
}

/// An override.
fn set(words: &mut Vec<String>, key: &str, value: &str) {
    words.extend(["-c".to_owned(), format!("{key}={value}")]);
}

/// A TOML string. JSON's are some of TOML's.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a name can stand in the key of an override as it is.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// The addresses of its providers.
fn addresses(
    around: &Around<'_>,
    plan: &mut Plan,
    files: &[&dyn TableLike],
    folder: Option<&std::path::Path>,
    words: &mut Vec<String>,
) {
    let text = |name: &str| files.iter().rev().find_map(|file| Some(file.get(name)?.as_str()?.to_owned()));
    let base = text("openai_base_url")
        .or_else(|| around.set("OPENAI_BASE_URL"))
        .or_else(|| own_address(around, folder));
    match base {
        Some(base) => {
            if let Some(address) = plan.door(Provider::OpenAi, "openai", &base) {
                set(words, "openai_base_url", &quoted(&address));
            }
        }
        None if text("model_provider").is_none_or(|name| name == "openai") => plan.notes.push(
            "it cannot be seen how Codex is logged in, and so which address it asks: set openai_base_url in its \
             config.toml, or a key in CODEX_API_KEY"
                .to_owned(),
        ),
        None => {}
    }
    let mut seen = Vec::new();
    for file in files.iter().rev() {
        let providers = file.get("model_providers").and_then(Item::as_table_like);
        for (name, item) in providers.into_iter().flat_map(TableLike::iter) {
            let Some(base) = item.get("base_url").and_then(Item::as_str) else { continue };
            if seen.contains(&name.to_owned()) {
                continue;
            }
            seen.push(name.to_owned());
            if !is_bare(name) {
                plan.notes.push(format!(
                    "what goes to the provider {name} is not seen: its name has other characters"
                ));
            } else if let Some(address) = plan.door(Provider::OpenAi, name, base) {
                set(words, &format!("model_providers.{name}.base_url"), &quoted(&address));
            }
        }
    }
}

/// Where it asks its own provider: with a login of ChatGPT elsewhere than with a key. Of its login only the kind is
/// looked at.
fn own_address(around: &Around<'_>, folder: Option<&std::path::Path>) -> Option<String> {
    const KEY: &str = "https://api.openai.com/v1";
    const LOGIN: &str = "https://chatgpt.com/backend-api/codex";
    if around.set("CODEX_API_KEY").is_some() {
        return Some(KEY.to_owned());
    }
    let login = json(&folder?.join("auth.json"))?;
    let mode = login.get("auth_mode").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let has_key = login.get("OPENAI_API_KEY").is_some_and(|key| !key.is_null());
    let has_tokens = login.get("tokens").is_some_and(|tokens| !tokens.is_null());
    let by_login = mode.starts_with("chatgpt") || (mode.is_empty() && has_tokens && !has_key);
    Some(if by_login { LOGIN } else { KEY }.to_owned())
}

/// Its servers.
fn servers(around: &Around<'_>, plan: &mut Plan, files: &[&dyn TableLike], words: &mut Vec<String>) {
    let mut own_is_taken = false;
    let mut seen: Vec<String> = Vec::new();
    for file in files.iter().rev() {
        let servers = file.get("mcp_servers").and_then(Item::as_table_like);
        for (label, item) in servers.into_iter().flat_map(TableLike::iter) {
            if seen.iter().any(|own| own == label) {
                continue;
            }
            seen.push(label.to_owned());
            own_is_taken |= label == OWN;
            match server(around, label, item) {
                Ok(overrides) => {
                    plan.became(label, Became::Wrapped);
                    overrides.into_iter().for_each(|(key, value)| set(words, &key, &value));
                }
                Err(became) => plan.became(label, became),
            }
        }
    }
    if own_is_taken {
        return;
    }
    let mut own = own_words(around);
    set(words, &format!("mcp_servers.{OWN}.command"), &quoted(&own.remove(0)));
    set(words, &format!("mcp_servers.{OWN}.args"), &Value::from(own).to_string());
    for (name, value) in own_env(around) {
        set(words, &format!("mcp_servers.{OWN}.env.{name}"), &quoted(&value));
    }
}

/// What puts a server behind the proxy.
fn server(around: &Around<'_>, label: &str, item: &Item) -> Result<Vec<(String, String)>, Became> {
    let table = item.as_table_like().ok_or(Became::Left("its entry is no table"))?;
    if table.get("enabled").and_then(Item::as_bool) == Some(false) {
        return Err(Became::Left("it is switched off"));
    }
    let Some(command) = table.get("command").and_then(Item::as_str) else {
        return Err(Became::Left("an override cannot make a command of a URL"));
    };
    if is_own(command) {
        return Err(Became::Already);
    }
    if !is_bare(label) {
        return Err(Became::Left("its name cannot stand in an override"));
    }
    let mut words = before(around, label);
    let own = words.remove(0);
    words.push(command.to_owned());
    let args = table.get("args").and_then(Item::as_array);
    for arg in args.into_iter().flatten() {
        words.push(arg.as_str().ok_or(Became::Left("its arguments are not all texts"))?.to_owned());
    }
    let key = |name: &str| format!("mcp_servers.{label}.{name}");
    let mut overrides = vec![(key("command"), quoted(&own)), (key("args"), Value::from(words).to_string())];
    // Codex hands its servers little of its environment.
    if let Some(ledger) = &around.ledger {
        overrides.push((key("env.DEADWEIGHT_LEDGER"), quoted(ledger)));
    }
    Ok(overrides)
}
