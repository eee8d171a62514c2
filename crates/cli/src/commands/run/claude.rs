//! Claude Code: an address in its environment or, where its settings say one, in settings of this run; servers in a config
//! of this run, whose entries go before those of the same name elsewhere. As of version 2.1.332 (measured and documented,
//! November 2026).

use super::around::{Around, is_on, json, json_text, merge};
use super::plan::{Became, Plan};
use super::servers::{OWN, Remote, own, wrapped};
use deadweight_gateway::Provider;
use deadweight_profiles::TOOL_SEARCH;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Its provider's own address.
const PROVIDER: &str = "https://api.anthropic.com";
/// First words that begin no session.
const NO_SESSION: [&str; 22] = [
    "mcp",
    "config",
    "doctor",
    "update",
    "upgrade",
    "install",
    "plugin",
    "plugins",
    "auth",
    "login",
    "logout",
    "setup-token",
    "agents",
    "attach",
    "logs",
    "stop",
    "rm",
    "project",
    "gateway",
    "daemon",
    "migrate-installer",
    "remote-control",
];
/// Why a project's server is left out.
const UNAPPROVED: &str = "it is not approved for this project";
/// Flags that begin no session.
const NO_SESSION_FLAGS: [&str; 4] = ["-h", "--help", "-v", "--version"];
/// Settings by which an organisation says which servers may run, by their command or address.
const POLICIES: [&str; 3] = ["allowedMcpServers", "deniedMcpServers", "allowManagedMcpServersOnly"];

/// What the command line says that matters here.
#[derive(Debug, Default)]
struct Line {
    /// The value of `--settings`.
    settings: Option<String>,
    /// The values of `--mcp-config`.
    configs: Vec<String>,
    /// Whether no other servers count.
    strict: bool,
    /// Whether a session begins.
    session: bool,
    /// Whether nobody can be asked anything.
    print: bool,
    /// Whether the project's own settings count.
    project: bool,
    /// The words without `--settings` and `--mcp-config`.
    rest: Vec<std::ffi::OsString>,
}

impl Line {
    /// Reads the words behind the agent's own.
    fn read(words: &[std::ffi::OsString]) -> Self {
        let mut line = Self { session: true, project: true, ..Self::default() };
        if words.first().and_then(|word| word.to_str()).is_some_and(|word| NO_SESSION.contains(&word)) {
            line.session = false;
        }
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            let Some(text) = word.to_str() else {
                line.rest.push(word.clone());
                continue;
            };
            match text {
                "--" => {
                    line.rest.extend_from_slice(words.get(at - 1..).unwrap_or_default());
                    break;
                }
                "--settings" => {
                    line.settings = words.get(at).and_then(|word| word.to_str()).map(str::to_owned);
                    at += 1;
                    continue;
                }
                "--mcp-config" => {
                    // It takes every word up to the next flag.
                    while let Some(value) = words.get(at).and_then(|word| word.to_str())
                        && !value.starts_with('-')
                    {
                        line.configs.push(value.to_owned());
                        at += 1;
                    }
                    continue;
                }
                "--strict-mcp-config" | "--bare" => line.strict = true,
                "-p" | "--print" => line.print = true,
                "--setting-sources" => {
                    let sources = words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
                    line.project = has_project(sources);
                }
                _ if NO_SESSION_FLAGS.contains(&text) => line.session = false,
                _ => {
                    if let Some(value) = text.strip_prefix("--settings=") {
                        line.settings = Some(value.to_owned());
                        continue;
                    }
                    if let Some(value) = text.strip_prefix("--setting-sources=") {
                        line.project = has_project(value);
                    }
                    if let Some(value) = text.strip_prefix("--mcp-config=") {
                        line.configs.push(value.to_owned());
                        continue;
                    }
                }
            }
            line.rest.push(word.clone());
        }
        line
    }
}

/// Whether the project's settings are among those that are read.
fn has_project(sources: &str) -> bool {
    sources.split(',').any(|source| source.trim() == "project")
}

/// The settings that hold, weakest first.
struct Settings {
    /// The user's, the project's, the project's of this user.
    files: Vec<(PathBuf, Value)>,
    /// Those of the command line.
    said: Option<Value>,
    /// Those of an organisation.
    managed: Vec<Value>,
}

impl Settings {
    fn read(around: &Around<'_>, line: &Line) -> Self {
        let user = folder(around).map(|folder| folder.join("settings.json"));
        let project = around.directory.join(".claude");
        let files = user
            .into_iter()
            .chain([project.join("settings.json"), project.join("settings.local.json")])
            .filter_map(|file| Some((file.clone(), json(&file)?)))
            .collect();
        let said = line.settings.as_deref().and_then(|value| given(around, value));
        let managed = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"]
            .into_iter()
            .flat_map(|folder| {
                ["managed-settings.json", "managed-mcp.json"].map(|file| format!("{folder}/{file}"))
            })
            .filter_map(|file| json(&around.machine(&file)))
            .collect();
        Self { files, said, managed }
    }

    fn all(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.files.iter().map(|(_, value)| value).chain(&self.said).chain(&self.managed)
    }

    /// A variable that settings put into the environment: they go before what is there.
    fn variable(&self, name: &str) -> Option<String> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        };
        self.all().rev().find_map(|settings| text(settings.get("env")?.get(name)?))
    }

    /// Whether somebody says which servers may run by their command or address: a command before theirs would pass by
    /// what is denied.
    fn have_policies(&self) -> bool {
        let by_command = |value: &Value| {
            let text = value.to_string();
            text.contains("serverCommand") || text.contains("serverUrl")
        };
        self.managed.iter().any(|settings| {
            settings.get("mcpServers").is_some() || POLICIES.iter().any(|name| settings.get(name).is_some())
        }) || self
            .all()
            .any(|settings| POLICIES.iter().any(|name| settings.get(name).is_some_and(by_command)))
    }
}

/// A JSON text, or a file with one.
fn given(around: &Around<'_>, value: &str) -> Option<Value> {
    if value.trim_start().starts_with('{') { json_text(value) } else { json(&around.directory.join(value)) }
}

/// Where its settings of the user are.
fn folder(around: &Around<'_>) -> Option<PathBuf> {
    around.set("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| around.home(".claude"))
}

/// Plans a run. `at` is the place behind the agent's own word.
pub(super) fn plan(around: &Around<'_>, plan: &mut Plan, at: usize) {
    let line = Line::read(plan.words.get(at..).unwrap_or_default());
    let settings = Settings::read(around, &line);
    let mut over = Map::new();
    address(around, plan, &settings, &mut over);
    if !line.session {
        return;
    }
    let mut words = Vec::new();
    let mut rest_from = plan.words.get(at..).unwrap_or_default().to_vec();
    let mut config = None;
    if around.wraps {
        config = servers(around, plan, &line, &settings);
    }
    // What is said again below is taken out; where it cannot be understood, it stays where it is.
    let whole = line.settings.is_none() || settings.said.is_some();
    if (config.is_some() || !over.is_empty()) && whole {
        rest_from = line.rest.clone();
        let mut said = settings.said.clone();
        if !over.is_empty() {
            merge(said.get_or_insert_with(|| json!({})), json!({ "env": over }));
        }
        if let Some(said) = said {
            let file = plan.file(around.folder, "settings.json", said.to_string());
            words.push(format!("--settings={file}"));
        }
        if config.is_none() {
            words.extend(line.configs.iter().map(|value| format!("--mcp-config={value}")));
        }
    } else if !over.is_empty() {
        plan.notes.push(
            "--settings cannot be read, and other settings hold an address: nothing is seen".to_owned(),
        );
    }
    if let Some(config) = config.filter(|_| whole) {
        let file = plan.file(around.folder, "mcp.json", config.to_string());
        // In one word: in two, it would take the words behind it too.
        words.push(format!("--mcp-config={file}"));
    }
    plan.words.truncate(at);
    plan.words.extend(words.into_iter().map(std::ffi::OsString::from));
    plan.words.append(&mut rest_from);
}

/// Its provider's address.
fn address(around: &Around<'_>, plan: &mut Plan, settings: &Settings, over: &mut Map<String, Value>) {
    let variable = |name: &str| settings.variable(name).or_else(|| around.set(name));
    let mut redirect = |plan: &mut Plan, provider, name: &str, default: &str| {
        let base = variable(name).unwrap_or_else(|| default.to_owned());
        let Some(address) = plan.door(provider, name, &base) else { return };
        if settings.variable(name).is_some() {
            over.insert(name.to_owned(), address.as_str().into());
        }
        plan.set(name, address);
    };
    let uses = |name: &str| variable(name).is_some_and(|value| is_on(&value));
    if uses("CLAUDE_CODE_USE_BEDROCK") {
        match variable("ANTHROPIC_BEDROCK_BASE_URL") {
            Some(base) if uses("CLAUDE_CODE_SKIP_BEDROCK_AUTH") => {
                redirect(plan, Provider::Bedrock, "ANTHROPIC_BEDROCK_BASE_URL", &base);
            }
            _ => plan.notes.push(
                "requests to Bedrock are signed for its own host, and do not go through the gateway"
                    .to_owned(),
            ),
        }
        return;
    }
    if uses("CLAUDE_CODE_USE_VERTEX") {
        let default = match variable("CLOUD_ML_REGION").as_deref() {
            None | Some("global") => "https://aiplatform.googleapis.com/v1".to_owned(),
            Some(region) => format!("https://{region}-aiplatform.googleapis.com/v1"),
        };
        redirect(plan, Provider::Vertex, "ANTHROPIC_VERTEX_BASE_URL", &default);
        return;
    }
    if uses("CLAUDE_CODE_USE_FOUNDRY") {
        plan.notes.push("requests to Foundry do not go through the gateway".to_owned());
        return;
    }
    let base = variable("ANTHROPIC_BASE_URL").unwrap_or_else(|| PROVIDER.to_owned());
    redirect(plan, Provider::Anthropic, "ANTHROPIC_BASE_URL", PROVIDER);
    // Behind an address that is not its provider's, it leaves its tool search off. Where it asked its provider so far,
    // it would have searched; behind somebody else's address, nobody knows whether it may.
    let is_providers = base.trim_end_matches('/') == PROVIDER;
    if is_providers
        && variable("ENABLE_TOOL_SEARCH").is_none()
        && (around.env)("ENABLE_TOOL_SEARCH").is_none()
    {
        plan.set("ENABLE_TOOL_SEARCH", "true");
    }
    // Its servers may not be handed its environment.
    let (_, name, off) = TOOL_SEARCH.value;
    let said = variable(name);
    if let Some(value) = said.clone().or_else(|| (!is_providers).then(|| "false".to_owned()))
        && off.contains(&value.to_ascii_lowercase().as_str())
    {
        if around.wraps && said.is_some() {
            plan.notes.push(format!(
                "Claude Code's own tool search is off ({name}={value}): the proxy leaves its servers' schemas out instead"
            ));
        }
        plan.for_servers.push((name, value));
    }
}

/// The config with the servers of this run.
fn servers(around: &Around<'_>, plan: &mut Plan, line: &Line, settings: &Settings) -> Option<Value> {
    if settings.have_policies() {
        plan.notes.push(
            "settings say which MCP servers may run, by their commands: servers are left as they are"
                .to_owned(),
        );
        return None;
    }
    let mut said = Map::new();
    for value in &line.configs {
        let Some(config) = given(around, value) else {
            plan.notes.push(format!("--mcp-config {value} cannot be read: servers are left as they are"));
            return None;
        };
        let servers = config.get("mcpServers").and_then(Value::as_object);
        said.extend(servers.into_iter().flatten().map(|(name, entry)| (name.clone(), entry.clone())));
    }
    let mut remote = Remote::at(&around.folder.join("remote.json"));
    let mut all = Map::new();
    if !line.strict {
        for (label, entry) in configured(around, plan, line, settings) {
            if !said.contains_key(&label)
                && let Some(entry) = wrapped(around, plan, &label, &entry, &mut remote)
            {
                all.insert(label, local(entry));
            }
        }
    }
    for (label, entry) in said {
        let entry = wrapped(around, plan, &label, &entry, &mut remote).map_or(entry, local);
        all.insert(label, entry);
    }
    remote.into_plan(plan);
    if !all.contains_key(OWN) && !plan.servers.iter().any(|(label, _)| label == OWN) {
        all.insert(OWN.to_owned(), own(around));
    }
    Some(json!({ "mcpServers": all }))
}

/// An entry that starts a program, whatever it was before.
fn local(mut entry: Value) -> Value {
    if let Some(members) = entry.as_object_mut()
        && members.contains_key("type")
    {
        members.insert("type".to_owned(), "stdio".into());
    }
    entry
}

/// The servers that would run without us, by name: those of the user, of the project where they were approved, and those of
/// the user for this project, in this order.
///
/// Where nobody can be asked (`-p`), Claude Code starts a project's servers that were neither approved nor rejected, as long
/// as the project's settings count at all.
fn configured(around: &Around<'_>, plan: &mut Plan, line: &Line, settings: &Settings) -> Map<String, Value> {
    let file = match around.set("CLAUDE_CONFIG_DIR") {
        Some(folder) => Some(Path::new(&folder).join(".claude.json")),
        None => around.home(".claude.json"),
    };
    let own = file.and_then(|file| json(&file)).unwrap_or_default();
    let root = around.project().pop();
    let of_project = [Some(around.directory), root.as_deref()]
        .into_iter()
        .flatten()
        .find_map(|folder| own.get("projects")?.get(folder.to_string_lossy().as_ref()));
    let list = |settings: &Value, name: &str| -> Vec<String> {
        let names = settings.get(name).and_then(Value::as_array);
        names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    // What a project's own settings say of its own servers is not the user's word.
    let checked_in = around.directory.join(".claude").join("settings.json");
    let users = || {
        let files = settings.files.iter().filter(|(file, _)| *file != checked_in).map(|(_, value)| value);
        files.chain(&settings.said).chain(&settings.managed).chain(of_project)
    };
    let rejects = |label: &str| {
        settings
            .all()
            .chain(of_project)
            .any(|from| list(from, "disabledMcpjsonServers").iter().any(|own| own == label))
    };
    let approves = |label: &str| {
        users().any(|from| {
            from.get("enableAllProjectMcpServers") == Some(&Value::Bool(true))
                || list(from, "enabledMcpjsonServers").iter().any(|own| own == label)
        })
    };
    let servers =
        |from: &Value| from.get("mcpServers").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut all = servers(&own);
    for folder in around.project().iter().rev() {
        for (label, entry) in json(&folder.join(".mcp.json")).map(|file| servers(&file)).unwrap_or_default() {
            if !rejects(&label) && (approves(&label) || (line.print && line.project)) {
                all.insert(label, entry);
            } else {
                // Another one of this name must not take its place either.
                all.shift_remove(&label);
                let why = if rejects(&label) { "it is rejected for this project" } else { UNAPPROVED };
                plan.became(&label, Became::Left(why));
            }
        }
    }
    all.extend(of_project.map(servers).into_iter().flatten());
    for label in of_project.map(|project| list(project, "disabledMcpServers")).unwrap_or_default() {
        if all.shift_remove(&label).is_some() {
            plan.became(&label, Became::Left("it is switched off"));
        }
    }
    all
}
