//! What is planned for each agent, with folders of settings as a person may have them.

use super::around::Around;
use super::doors::foreseen;
use super::plan::{Became, Plan};
use super::{agent, claude, codex, gemini, no_proxy, opencode, plain};
use crate::args::AgentArg;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

#[test]
fn addresses_are_shown_without_logins() {
    for (address, shown) in [
        ("https://mcp.example/a?b=c", "https://mcp.example/a?…"),
        ("https://user:PW@mcp.example/a@b", "https://…@mcp.example/a@b"),
        ("https://user:P@W@mcp.example", "https://…@mcp.example"),
        ("see https://mcp.example", "see https://mcp.example"),
    ] {
        assert_eq!(super::without_login(address), shown);
    }
}

/// A machine with a home and a project.
struct Machine {
    root: tempfile::TempDir,
    env: HashMap<String, String>,
    wraps: bool,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("project/.git")).unwrap();
        let home = root.path().join("home").display().to_string();
        std::fs::create_dir_all(&home).unwrap();
        Self { root, env: HashMap::from([("HOME".to_owned(), home)]), wraps: true }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn bare(mut self) -> Self {
        self.wraps = false;
        self
    }

    fn file(self, path: &str, text: impl ToString) -> Self {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.to_string().replace("PROJECT", &self.project())).unwrap();
        self
    }

    fn project(&self) -> String {
        self.root.path().join("project").display().to_string()
    }

    fn plan(&self, line: &str) -> Planned {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let directory = self.root.path().join("project");
        let env = |name: &str| self.env.get(name).cloned();
        let around = Around {
            env: &env,
            directory: &directory,
            own: Path::new("/bin/deadweight"),
            folder: Path::new("/run/r"),
            root: self.root.path(),
            ledger: None,
            wraps: self.wraps,
        };
        let (agent, at) = agent::find(&words, None);
        let mut plan = Plan::new(agent, &words);
        match agent {
            AgentArg::Claude => claude::plan(&around, &mut plan, at),
            AgentArg::Codex => codex::plan(&around, &mut plan, at),
            AgentArg::Opencode => opencode::plan(&around, &mut plan),
            AgentArg::Gemini => gemini::plan(&around, &mut plan, at, &gemini::GEMINI),
            AgentArg::Qwen => gemini::plan(&around, &mut plan, at, &gemini::QWEN),
            AgentArg::Aider => plain::aider(&around, &mut plan, at),
            AgentArg::Other => plain::other(&around, &mut plan),
        }
        no_proxy(&around, &mut plan);
        Planned(plan)
    }
}

struct Planned(Plan);

impl Planned {
    fn line(&self) -> String {
        let words: Vec<String> =
            self.0.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        foreseen(&words.join(" "))
    }

    fn set(&self, name: &str) -> Option<String> {
        self.0.set.iter().find(|(own, _)| own == name).map(|(_, value)| foreseen(value))
    }

    fn file(&self, name: &str) -> Value {
        let path = Path::new("/run/r").join(name);
        let found = self.0.files.iter().find(|(own, _)| *own == path);
        found.map(|(_, text)| serde_json::from_str(&foreseen(text)).unwrap()).unwrap_or_default()
    }

    fn became(&self, label: &str) -> Option<Became> {
        self.0.servers.iter().find(|(own, _)| own == label).map(|(_, became)| *became)
    }

    fn upstreams(&self) -> Vec<String> {
        let doors = self.0.doors.all().iter().flatten();
        doors.map(|(provider, target)| format!("{provider} {}", target.shown())).collect()
    }
}

const LOCAL: &str = "http://127.0.0.1:PORT";

#[test]
fn claude_code_as_it_comes() {
    let plan = Machine::new().plan("claude -p go");
    assert_eq!(plan.line(), "claude --mcp-config=/run/r/mcp.json -p go");
    assert_eq!(plan.set("ANTHROPIC_BASE_URL"), Some(format!("{LOCAL}/anthropic")));
    assert_eq!(plan.set("ENABLE_TOOL_SEARCH").as_deref(), Some("true"));
    assert_eq!(plan.upstreams(), ["anthropic https://api.anthropic.com"]);
    let own = json!({ "command": "/bin/deadweight", "args": ["mcp", "--own"], "env": { "DEADWEIGHT_GATEWAY": LOCAL } });
    assert_eq!(plan.file("mcp.json"), json!({ "mcpServers": { "deadweight": own } }));
    let bare = Machine::new().bare().plan("claude -p go");
    assert_eq!((bare.line().as_str(), bare.0.files.len()), ("claude -p go", 0));
}

#[test]
fn claude_code_behind_somebody_elses_address() {
    let plan = Machine::new().env("ANTHROPIC_BASE_URL", "https://llm.example.com/a/").bare().plan("claude");
    assert_eq!(plan.set("ANTHROPIC_BASE_URL"), Some(format!("{LOCAL}/anthropic")));
    assert_eq!(plan.upstreams(), ["anthropic https://llm.example.com"]);
    // Whether its tool search may be used there, that address's owner knows.
    assert_eq!(plan.set("ENABLE_TOOL_SEARCH"), None);
    let servers = json!({ "mcpServers": { "user": { "command": "u" } } });
    let machine = || Machine::new().file("home/.claude.json", &servers);
    let env = |plan: &Planned| plan.file("mcp.json")["mcpServers"]["user"]["env"].clone();
    // Where it is off, the proxies know: they leave the schemas out instead.
    let off = machine().env("ENABLE_TOOL_SEARCH", "false").plan("claude");
    assert_eq!(off.set("ENABLE_TOOL_SEARCH"), None);
    assert_eq!((env(&off), off.0.notes.len()), (json!({ "ENABLE_TOOL_SEARCH": "false" }), 1));
    let elses = machine().env("ANTHROPIC_BASE_URL", "https://llm.example.com").plan("claude");
    assert_eq!(env(&elses), json!({ "ENABLE_TOOL_SEARCH": "false" }));
    let on = machine().env("ENABLE_TOOL_SEARCH", "auto").plan("claude");
    assert_eq!((env(&on), on.0.notes.len()), (Value::Null, 0));
}

#[test]
fn claude_codes_settings_go_before_its_environment() {
    let settings = json!({ "env": { "ANTHROPIC_BASE_URL": "https://llm.example.com" } });
    let machine = Machine::new().file("home/.claude/settings.json", settings).bare();
    let plan = machine.plan("claude --settings {\"model\":\"x\"} -p go");
    assert_eq!(plan.line(), "claude --settings=/run/r/settings.json -p go");
    let expected = json!({ "model": "x", "env": { "ANTHROPIC_BASE_URL": format!("{LOCAL}/anthropic") } });
    assert_eq!(plan.file("settings.json"), expected);
    assert_eq!(plan.upstreams(), ["anthropic https://llm.example.com"]);
}

#[test]
fn claude_codes_servers_of_all_places() {
    let server = |command: &str| json!({ "command": command, "args": ["x"], "env": { "K": "${V}" } });
    let machine = Machine::new()
        .file(
            "home/.claude.json",
            json!({
                "mcpServers": { "user": server("u"), "shared": server("u"), "off": server("o"), "docs": { "type": "http", "url": "https://mcp.example.com" } },
                "projects": { "PROJECT": {
                    "mcpServers": { "local": server("l") },
                    "disabledMcpServers": ["off"]
                } }
            }),
        )
        .file("project/.mcp.json", json!({ "mcpServers": { "yes": server("y"), "no": server("n"), "shared": server("p"), "unasked": server("q") } }))
        .file("project/.claude/settings.json", json!({ "enabledMcpjsonServers": ["unasked"] }))
        .file("project/.claude/settings.local.json", json!({ "enabledMcpjsonServers": ["yes"], "disabledMcpjsonServers": ["no"] }))
        .file("project/extra.json", json!({ "mcpServers": { "extra": server("e"), "keyed": { "type": "http", "url": "https://k.example.com", "headers": { "Authorization": "Bearer s3cret" }, "timeout": 5 } } }));
    let plan = machine.plan("claude --mcp-config extra.json --model m");
    assert_eq!(plan.line(), "claude --mcp-config=/run/r/mcp.json --model m");
    let config = plan.file("mcp.json");
    let names: Vec<&String> = config["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["user", "yes", "local", "extra", "keyed", "deadweight"]);
    assert_eq!(
        config["mcpServers"]["user"],
        json!({ "command": "/bin/deadweight", "args": ["mcp", "--name=user", "--", "u", "x"], "env": { "K": "${V}" } })
    );
    assert_eq!(
        config["mcpServers"]["keyed"],
        json!({ "timeout": 5, "command": "/bin/deadweight", "args": ["mcp", "--config", "/run/r/remote.json", "--server=keyed"] })
    );
    assert_eq!(plan.file("remote.json")["mcpServers"]["keyed"]["headers"]["Authorization"], "Bearer s3cret");
    assert_eq!(plan.became("docs"), Some(Became::Left("it may need a login that the agent holds")));
    assert_eq!(plan.became("off"), Some(Became::Left("it is switched off")));
    for label in ["unasked", "shared"] {
        assert_eq!(plan.became(label), Some(Became::Left("it is not approved for this project")), "{label}");
    }
    assert_eq!(plan.became("no"), Some(Became::Left("it is rejected for this project")));
    // Where nobody can be asked, it starts what was not rejected, as long as the project's settings count.
    let asks_nobody = machine.plan("claude -p go");
    for (label, command) in [("unasked", "q"), ("shared", "p"), ("yes", "y")] {
        assert_eq!(asks_nobody.became(label), Some(Became::Wrapped), "{label}");
        assert_eq!(asks_nobody.file("mcp.json")["mcpServers"][label]["args"][3], command);
    }
    assert_eq!(asks_nobody.became("no"), Some(Became::Left("it is rejected for this project")));
    let without = machine.plan("claude -p --setting-sources user go");
    assert_eq!(without.became("unasked"), Some(Became::Left("it is not approved for this project")));
    let strict = machine.plan("claude --strict-mcp-config --mcp-config extra.json");
    let config = strict.file("mcp.json");
    let names: Vec<&String> = config["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["extra", "keyed", "deadweight"]);
    assert_eq!(strict.line(), "claude --mcp-config=/run/r/mcp.json --strict-mcp-config");
}

#[test]
fn claude_codes_policies_and_other_commands_are_left_alone() {
    let policy = json!({ "deniedMcpServers": [{ "serverCommand": ["npx", "bad"] }] });
    let plan = Machine::new().file("home/.claude/settings.json", policy).plan("claude -p go");
    assert_eq!((plan.line().as_str(), plan.0.notes.len()), ("claude -p go", 1));
    let plan = Machine::new().plan("claude mcp list");
    assert_eq!(plan.line(), "claude mcp list");
    assert!(plan.set("ANTHROPIC_BASE_URL").is_some());
    let plan = Machine::new().env("CLAUDE_CODE_USE_BEDROCK", "1").bare().plan("claude");
    assert_eq!((plan.set("ANTHROPIC_BASE_URL"), plan.0.notes.len()), (None, 1));
}

#[test]
fn codex_by_overrides() {
    let config = r#"
model_provider = "mine"
[model_providers.mine]
base_url = "https://llm.example.com/v1"
[model_providers.other]
base_url = "http://127.0.0.1:9/v1"
[mcp_servers.notes]
command = "npx"
args = ["-y", "notes \"x\""]
[mcp_servers.off]
command = "npx"
enabled = false
[mcp_servers.far]
url = "https://mcp.example.com"
"#;
    let machine = Machine::new().file("home/.codex/config.toml", config);
    let plan = machine.plan("codex exec go");
    let expected = "codex \
        -c model_providers.mine.base_url=\"http://127.0.0.1:PORT/openai/v1\" \
        -c model_providers.other.base_url=\"http://127.0.0.1:PORT2/openai/v1\" \
        -c mcp_servers.notes.command=\"/bin/deadweight\" \
        -c mcp_servers.notes.args=[\"mcp\",\"--name=notes\",\"--\",\"npx\",\"-y\",\"notes \\\"x\\\"\"] \
        -c mcp_servers.deadweight.command=\"/bin/deadweight\" \
        -c mcp_servers.deadweight.args=[\"mcp\",\"--own\"] \
        -c mcp_servers.deadweight.env.DEADWEIGHT_GATEWAY=\"http://127.0.0.1:PORT\" exec go";
    assert_eq!(plan.line(), expected);
    assert_eq!(plan.became("off"), Some(Became::Left("it is switched off")));
    assert_eq!(plan.became("far"), Some(Became::Left("an override cannot make a command of a URL")));
    assert_eq!(machine.plan("codex mcp list").line(), "codex mcp list");
}

#[test]
fn codex_with_a_login_with_a_key_and_with_neither() {
    let login =
        |auth: Value| Machine::new().file("home/.codex/auth.json", auth).bare().plan("codex").upstreams();
    assert_eq!(login(json!({ "auth_mode": "chatgpt", "tokens": {} })), ["openai https://chatgpt.com"]);
    assert_eq!(
        login(json!({ "OPENAI_API_KEY": null, "tokens": { "a": 1 } })),
        ["openai https://chatgpt.com"]
    );
    assert_eq!(login(json!({ "OPENAI_API_KEY": "k" })), ["openai https://api.openai.com"]);
    let unknown = Machine::new().bare().plan("codex");
    assert_eq!((unknown.line().as_str(), unknown.0.notes.len()), ("codex", 1));
    let project = "[mcp_servers.p]\ncommand = \"p\"\n";
    let machine = || Machine::new().env("CODEX_API_KEY", "k").file("project/.codex/config.toml", project);
    assert_eq!(machine().plan("codex").became("p"), None);
    let trusted =
        machine().file("home/.codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n");
    assert_eq!(trusted.plan("codex").became("p"), Some(Became::Wrapped));
}

#[test]
fn opencode_by_a_config_over_its_own() {
    let global = json!({
        "provider": { "mine": { "npm": "@ai-sdk/openai-compatible", "options": { "baseURL": "{env:MINE}/v1" } }, "odd": { "npm": "x" } },
        "mcp": { "notes": { "type": "local", "command": ["npx", "notes"] }, "far": { "type": "remote", "url": "https://x" } }
    });
    let machine = Machine::new()
        .env("MINE", "https://llm.example.com")
        .env("ANTHROPIC_API_KEY", "k")
        .env("OPENCODE_CONFIG_CONTENT", r#"{"theme":"x","mcp":{"notes":{"enabled":true}}}"#)
        .file("home/.config/opencode/opencode.jsonc", global)
        .file(
            "project/opencode.json",
            json!({ "mcp": { "off": { "type": "local", "command": ["o"], "enabled": false } } }),
        );
    let plan = machine.plan("opencode run go");
    let content: Value = serde_json::from_str(&plan.set("OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
    let expected = json!({
        "theme": "x",
        "mcp": {
            "notes": { "enabled": true, "type": "local", "command": ["/bin/deadweight", "mcp", "--name=notes", "--", "npx", "notes"] },
            "deadweight": { "type": "local", "command": ["/bin/deadweight", "mcp", "--own"], "environment": { "DEADWEIGHT_GATEWAY": LOCAL }, "enabled": true }
        },
        "provider": {
            "mine": { "options": { "baseURL": format!("{LOCAL}/openai/v1") } },
            "anthropic": { "options": { "baseURL": format!("{LOCAL}/anthropic/v1") } }
        }
    });
    assert_eq!(content, expected);
    assert_eq!(plan.0.notes.len(), 1);
    assert_eq!(plan.became("off"), Some(Became::Left("it is switched off")));
}

#[test]
fn gemini_cli_by_settings_of_the_system() {
    let user = json!({ "mcpServers": { "notes": { "command": "npx", "args": ["notes"], "trust": true, "excludeTools": ["x"] } } });
    let project = json!({ "mcpServers": { "p": { "command": "p" } } });
    let machine = Machine::new()
        .file("home/.gemini/settings.json", user)
        .file("project/.gemini/settings.json", project)
        .file("etc/gemini-cli/settings.json", json!({ "admin": { "x": 1 } }));
    let plan = machine.plan("gemini -p go");
    assert_eq!(plan.line(), "gemini -p go");
    assert_eq!(plan.set("GOOGLE_GEMINI_BASE_URL"), Some(format!("{LOCAL}/gemini")));
    assert_eq!(plan.set("GEMINI_CLI_SYSTEM_SETTINGS_PATH").as_deref(), Some("/run/r/settings.json"));
    let settings = plan.file("settings.json");
    assert_eq!(
        (&settings["admin"]["x"], &settings["security"]["auth"]["selectedType"]),
        (&json!(1), &json!("gemini-api-key"))
    );
    assert_eq!(
        settings["mcpServers"]["notes"],
        json!({ "command": "/bin/deadweight", "args": ["mcp", "--name=notes", "--", "npx", "notes"], "trust": true, "excludeTools": ["x"] })
    );
    // The folder is not trusted: its own settings do not count, for gemini-cli and here.
    assert_eq!(plan.became("p"), None);
    assert_eq!(machine.plan("gemini --skip-trust -p go").became("p"), Some(Became::Wrapped));
    let trusted = machine.file("home/.gemini/trustedFolders.json", r#"{"PROJECT":"TRUST_FOLDER"}"#);
    assert_eq!(trusted.plan("gemini").became("p"), Some(Became::Wrapped));
    let login = json!({ "security": { "auth": { "selectedType": "oauth-personal" } } });
    let login = Machine::new().file("home/.gemini/settings.json", login).bare().plan("gemini");
    assert_eq!((login.set("GOOGLE_GEMINI_BASE_URL"), login.0.notes.len()), (None, 1));
}

#[test]
fn agents_that_go_by_their_environment() {
    let aider =
        Machine::new().env("OPENAI_API_BASE", "https://llm.example.com/v1").plan("aider --message go");
    assert_eq!(aider.set("OPENAI_API_BASE"), Some(format!("{LOCAL}/openai/v1")));
    assert_eq!(aider.set("ANTHROPIC_API_BASE"), Some(format!("{LOCAL}/anthropic")));
    let written =
        Machine::new().file("project/.aider.conf.yml", "openai-api-base: https://conf.example.com/v1\n");
    let written = written.plan("aider");
    assert_eq!(
        written.upstreams(),
        ["openai https://conf.example.com", "anthropic https://api.anthropic.com"]
    );
    let other = Machine::new().env("OPENAI_API_BASE", "https://llm.example.com/v1").plan("python bot.py");
    assert_eq!(other.set("OPENAI_BASE_URL"), Some(format!("{LOCAL}/openai/v1")));
    assert_eq!(other.set("ANTHROPIC_BASE_URL"), Some(format!("{LOCAL}/anthropic")));
    assert_eq!(other.set("GOOGLE_GEMINI_BASE_URL"), Some(format!("{LOCAL}/gemini")));
    assert_eq!(other.upstreams().len(), 3);
}

#[test]
fn a_proxy_of_the_network_does_not_get_what_is_for_this_machine() {
    let plan =
        Machine::new().env("https_proxy", "http://proxy:3128").env("NO_PROXY", "a.example").plan("claude");
    assert_eq!(plan.set("no_proxy").as_deref(), Some("a.example,127.0.0.1"));
    assert_eq!(Machine::new().plan("claude").set("no_proxy"), None);
    let plan = Machine::new().env("ANTHROPIC_BASE_URL", "http://llm.example.com").bare().plan("claude");
    assert_eq!((plan.set("ANTHROPIC_BASE_URL"), plan.0.notes.len()), (None, 1));
}
