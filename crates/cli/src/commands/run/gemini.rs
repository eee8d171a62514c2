//! gemini-cli, and qwen-code, which comes of it: addresses in the environment, servers in settings of the system, which go
//! before all others and are those of this run. As of gemini-cli 0.61 and qwen-code 0.24 (measured and documented, November
//! 2026).

use super::around::{Around, is_on, json, merge};
use super::plan::{Became, Plan};
use super::servers::{OWN, Remote, own, wrapped};
use deadweight_gateway::Provider;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What tells the two apart.
pub(super) struct Kin {
    /// The folder of their settings.
    folder: &'static str,
    /// The variable that says where settings of the system are.
    variable: &'static str,
    /// Where they are otherwise.
    places: [&'static str; 2],
}

/// gemini-cli.
pub(super) const GEMINI: Kin = Kin {
    folder: ".gemini",
    variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    places: ["/etc/gemini-cli/settings.json", "/Library/Application Support/GeminiCli/settings.json"],
};

/// qwen-code.
pub(super) const QWEN: Kin = Kin {
    folder: ".qwen",
    variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
    places: ["/etc/qwen-code/settings.json", "/Library/Application Support/QwenCode/settings.json"],
};

/// First words that begin no session.
const NO_SESSION: [&str; 8] = ["mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"];
/// Flags that begin no session.
const NO_SESSION_FLAGS: [&str; 6] =
    ["-h", "--help", "-v", "--version", "--list-sessions", "--list-extensions"];

/// Settings, by whose they are.
struct Settings {
    user: Value,
    project: Value,
    system: Value,
}

/// Plans a run. `at` is the place behind the agent's own word.
pub(super) fn plan(around: &Around<'_>, plan: &mut Plan, at: usize, kin: &Kin) {
    let words: Vec<String> =
        plan.words.iter().skip(at).map(|word| word.to_string_lossy().into_owned()).collect();
    let read = |file: Option<PathBuf>| file.and_then(|file| json(&file)).unwrap_or_default();
    let trusted = around.is_on("GEMINI_CLI_TRUST_WORKSPACE")
        || words.iter().any(|word| word == "--skip-trust")
        || is_trusted(around, kin);
    let system = around
        .set(kin.variable)
        .map(PathBuf::from)
        .or_else(|| kin.places.iter().map(|place| around.machine(place)).find(|file| file.is_file()));
    let settings = Settings {
        user: read(around.home(&format!("{}/settings.json", kin.folder))),
        project: read(trusted.then(|| around.directory.join(kin.folder).join("settings.json"))),
        system: read(system),
    };
    let mut over = json!({});
    if kin.folder == QWEN.folder {
        qwen_address(around, plan, &settings);
    } else {
        address(around, plan, &settings, &mut over);
    }
    let first = words.iter().find(|word| !word.starts_with('-')).map(String::as_str).unwrap_or_default();
    let session =
        !NO_SESSION.contains(&first) && !words.iter().any(|word| NO_SESSION_FLAGS.contains(&word.as_str()));
    if around.wraps && session {
        over["mcpServers"] = Value::Object(servers(around, plan, &settings, kin));
    }
    if over.as_object().is_some_and(Map::is_empty) {
        return;
    }
    let mut all = if settings.system.is_object() { settings.system } else { json!({}) };
    merge(&mut all, over);
    let file = plan.file(around.folder, "settings.json", all.to_string());
    plan.set(kin.variable, file);
}

/// The address of its provider.
fn address(around: &Around<'_>, plan: &mut Plan, settings: &Settings, over: &mut Value) {
    let says = |settings: &Value| {
        settings.pointer("/security/auth/selectedType").and_then(Value::as_str).map(str::to_owned)
    };
    let selected =
        says(&settings.system).or_else(|| says(&settings.project)).or_else(|| says(&settings.user));
    let vertex = around.is_on("GOOGLE_GENAI_USE_VERTEXAI") || selected.as_deref() == Some("vertex-ai");
    if matches!(selected.as_deref(), Some("oauth-personal" | "compute-default-credentials" | "cloud-shell"))
        || around.is_on("GOOGLE_GENAI_USE_GCA")
    {
        plan.notes.push(
            "with a Google login gemini-cli asks a service that no address can be given for: it is not seen"
                .to_owned(),
        );
        return;
    }
    if vertex {
        let region = around.set("GOOGLE_CLOUD_LOCATION");
        let default = match region.as_deref() {
            None | Some("global") => "https://aiplatform.googleapis.com".to_owned(),
            Some(region) => format!("https://{region}-aiplatform.googleapis.com"),
        };
        plan.redirect(around, Provider::Vertex, "GOOGLE_VERTEX_BASE_URL", &default);
        return;
    }
    // An address in the environment makes it choose another kind of login by itself, one that knows no stored key.
    if selected.is_none() && around.set("GOOGLE_GEMINI_BASE_URL").is_none() {
        over["security"] = json!({ "auth": { "selectedType": "gemini-api-key" } });
    }
    plan.redirect(
        around,
        Provider::Gemini,
        "GOOGLE_GEMINI_BASE_URL",
        Provider::Gemini.default_upstream().unwrap_or_default(),
    );
}

/// The address of qwen-code's provider.
fn qwen_address(around: &Around<'_>, plan: &mut Plan, settings: &Settings) {
    let written = [&settings.system, &settings.project, &settings.user]
        .into_iter()
        .find_map(|settings| settings.pointer("/security/auth/baseUrl")?.as_str().map(str::to_owned));
    match around.set("OPENAI_BASE_URL").or(written) {
        Some(base) => {
            if let Some(address) = plan.door(Provider::OpenAi, "OPENAI_BASE_URL", &base) {
                plan.set("OPENAI_BASE_URL", address);
            }
        }
        None => plan.notes.push(
            "it cannot be seen which address qwen-code asks; set OPENAI_BASE_URL, and it is seen".to_owned(),
        ),
    }
}

/// Whether the user trusts the folder, so that its own settings count.
fn is_trusted(around: &Around<'_>, kin: &Kin) -> bool {
    let file = around.home(&format!("{}/trustedFolders.json", kin.folder));
    let Some(Value::Object(folders)) = file.and_then(|file| json(&file)) else { return false };
    let says =
        |folder: &std::path::Path| folders.get(folder.to_string_lossy().as_ref()).and_then(Value::as_str);
    for folder in around.directory.ancestors() {
        match says(folder) {
            Some("TRUST_FOLDER") => return true,
            Some("DO_NOT_TRUST") => return false,
            _ => {}
        }
        let below = |name: &Value| name.as_str() == Some("TRUST_PARENT");
        let child = folders
            .iter()
            .any(|(path, trust)| below(trust) && std::path::Path::new(path).parent() == Some(folder));
        if child {
            return true;
        }
    }
    false
}

/// Its servers. An entry of the system takes the place of one of the same name, whole.
fn servers(around: &Around<'_>, plan: &mut Plan, settings: &Settings, kin: &Kin) -> Map<String, Value> {
    let mut all = Map::new();
    for settings in [&settings.user, &settings.project, &settings.system] {
        let servers = settings.get("mcpServers").and_then(Value::as_object);
        all.extend(servers.into_iter().flatten().map(|(name, entry)| (name.clone(), entry.clone())));
    }
    // Its variables are expanded as in its own folder.
    let mut remote = Remote::at(&around.folder.join(kin.folder).join("remote.json"));
    let own_is_taken = all.contains_key(OWN);
    let mut out = Map::new();
    for (label, entry) in all {
        if entry.get("enabled") == Some(&Value::Bool(false))
            || entry.get("disabled").is_some_and(|off| is_on(&off.to_string()))
        {
            plan.became(&label, Became::Left("it is switched off"));
        } else if let Some(entry) = wrapped(around, plan, &label, &entry, &mut remote) {
            out.insert(label, entry);
        }
    }
    remote.into_plan(plan);
    if !own_is_taken {
        out.insert(OWN.to_owned(), own(around));
    }
    out
}
