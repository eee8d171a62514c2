//! Configuration files of real agents, in the shapes they have.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

use deadweight_mcp::config::{Config, ConfigError, Context, Format, Server, detect, parse, read};
use deadweight_mcp::{Reason, Transport};
use proptest::prelude::*;
use std::path::Path;

const SECRET: &str = "hunter2-hunter2";

fn env(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some(SECRET.to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        _ => None,
    }
}

fn parsed(text: &str, file: &str) -> Result<Config, ConfigError> {
    parse(text.as_bytes(), Path::new(file), Context { env: &env, workspace: None })
}

/// One line a server: `label:line transport`, with everything revealed.
fn told(config: &Config) -> Vec<String> {
    let pair = |(name, value): &(String, deadweight_mcp::Text)| format!(" {name}={}", value.reveal());
    let one = |server: &deadweight_mcp::config::Configured| {
        let project = server.project.as_ref().map(|project| format!(" @{project}")).unwrap_or_default();
        let what = match &server.server {
            Server::Ready(spec) => match &spec.transport {
                Transport::Stdio { command, args, env, cwd } => {
                    let args: String = args.iter().map(|arg| format!(" {}", arg.reveal())).collect();
                    let env: String = env.iter().map(pair).collect();
                    let cwd =
                        cwd.as_ref().map(|cwd| format!(" in {}", cwd.reveal().display())).unwrap_or_default();
                    format!("stdio {}{args}{env}{cwd}", command.reveal())
                }
                Transport::Http { url, headers } => {
                    format!("http {}{}", url.reveal(), headers.iter().map(pair).collect::<String>())
                }
                Transport::Sse { url, headers } => {
                    format!("sse {}{}", url.reveal(), headers.iter().map(pair).collect::<String>())
                }
            },
            Server::Disabled => "disabled".to_owned(),
            Server::Faulty(error) => format!("faulty {}", error.reason.code()),
        };
        format!("{}:{}{project} {what}", server.label, server.line)
    };
    config.servers.iter().map(one).collect()
}

#[test]
fn claude_cursor_and_gemini() {
    let config = parsed(
        r#"{
  // who wrote this
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@scope/files", "${NONE:-/tmp}"], "env": {"KEY": "${TOKEN}", "N": 3, "B": true, "Z": null} },
    "remote": { "type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, },
    "old": { "type": "sse", "url": "https://h/sse" },
    "gemini": { "httpUrl": "https://h/new", "url": "https://h/old" },
    "off": { "command": "x", "disabled": true },
    "unset": { "command": "x",
      "args": ["${MISSING}"] },
    "asks": { "url": "https://h/${input:key}" },
    "odd": { "type": "ws", "url": "wss://h" },
    "empty": {},
    "wrong": { "command": ["x"] },
    "none": 7,
  },
}"#,
        "some/mcp.json",
    )
    .unwrap();
    assert_eq!(config.format, Format::McpServers);
    assert_eq!(
        told(&config),
        [
            "files:4 stdio npx -y @scope/files /tmp KEY=hunter2-hunter2 N=3 B=true",
            "remote:5 http https://h/mcp Authorization=Bearer hunter2-hunter2",
            "old:6 sse https://h/sse",
            "gemini:7 http https://h/new",
            "off:8 disabled",
            "unset:9 faulty unset_variable",
            "asks:11 faulty needs_input",
            "odd:12 faulty bad_entry",
            "empty:13 faulty bad_entry",
            "wrong:14 faulty bad_entry",
            "none:15 faulty bad_entry",
        ]
    );
    let shown = format!("{config:?} {}", config.ready().map(ToString::to_string).collect::<String>());
    assert!(!shown.contains("hunter2"), "{shown}");
    let Server::Faulty(error) = &config.servers[5].server else { panic!("not faulty") };
    assert_eq!(error.reason, Reason::UnsetVariable { name: "MISSING".into(), line: 10 });
    assert_eq!(
        error.explain().to_string(),
        "the server `unset` needs the variable `MISSING`, which is not set (line 10)\n\
         \x20 file  some/mcp.json (line 9)\n\
         \x20 try   export MISSING=…, or write a default: ${MISSING:-…}"
    );
}

#[test]
fn claudes_own_file_has_projects() {
    let config = parsed(
        r#"{"mcpServers":{"user":{"type":"stdio","command":"a"}},
"projects":{
 "/tmp":{"mcpServers":{"here":{"command":"b"},"gone":{"command":"c"}},"disabledMcpServers":["gone"]},
 "/no/such/project":{"mcpServers":{"there":{"command":"d"}}},
 "/plain":{"history":[]}}}"#,
        "/home/me/.claude.json",
    )
    .unwrap();
    assert_eq!(
        told(&config),
        [
            "user:1 stdio a",
            "here:3 @/tmp stdio b in /tmp",
            "gone:3 @/tmp disabled",
            "there:4 @/no/such/project stdio d",
        ]
    );
}

#[test]
fn vs_code_has_inputs_and_env_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".vscode/mcp.json");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(folder.path().join(".env"), "# keys\nexport A=\"1 2\"\nB=${TOKEN}\n").unwrap();
    std::fs::write(
        &file,
        r#"{"inputs":[{"id":"key","type":"promptString"}],
"servers":{
"local":{"command":"${workspaceFolder}/run","envFile":"${workspaceFolder}/.env","env":{"C":"${env:TOKEN}"}},
"asks":{"type":"http","url":"https://h/mcp","headers":{"k":"${input:key}"}},
"nofile":{"command":"x","envFile":"${workspaceFolder}/none"}}}"#,
    )
    .unwrap();
    let config = read(&file, Context { env: &env, workspace: None }).unwrap();
    assert_eq!(config.format, Format::VsCode);
    let root = folder.path().display();
    assert_eq!(
        told(&config),
        [
            format!("local:3 stdio {root}/run A=1 2 B=${{TOKEN}} C={SECRET} in {root}"),
            "asks:4 faulty needs_input".to_owned(),
            "nofile:5 faulty bad_entry".to_owned(),
        ]
    );
    let settings =
        parsed(r#"{"editor.x":1,"mcp":{"servers":{"a":{"url":"http://h/"}}}}"#, "settings.json").unwrap();
    assert_eq!((settings.format, told(&settings)), (Format::VsCode, vec!["a:1 http http://h/".to_owned()]));
}

#[test]
fn codex_is_toml_and_expands_nothing() {
    let config = parsed(
        r#"model = "x"
[mcp_servers.files]
command = "sh"
args = ["-c", "exec ${TOKEN}"]
env = { KEY = "v" }
cwd = "/srv"

[mcp_servers.files.tools.read]
approval_mode = "approve"

[mcp_servers."a b"]
url = "https://h/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X = "y" }
[mcp_servers."a b".env_http_headers]
Z = "TOKEN"

[mcp_servers.off]
command = "x"
enabled = false
[mcp_servers.unset]
url = "https://h"
bearer_token_env_var = "MISSING"
[mcp_servers.bad]
command = 3
"#,
        "/home/me/.codex/config.toml",
    )
    .unwrap();
    assert_eq!(config.format, Format::Codex);
    assert_eq!(
        told(&config),
        [
            "files:2 stdio sh -c exec ${TOKEN} KEY=v in /srv",
            "a b:11 http https://h/mcp X=y Authorization=Bearer hunter2-hunter2 Z=hunter2-hunter2",
            "off:18 disabled",
            "unset:21 faulty unset_variable",
            "bad:24 faulty bad_entry",
        ]
    );
    let Server::Faulty(error) = &config.servers[3].server else { panic!("not faulty") };
    assert_eq!(error.reason, Reason::UnsetVariable { name: "MISSING".into(), line: 23 });
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn opencode_has_commands_as_lists() {
    let config = parsed(
        r#"{"$schema":"https://opencode.ai/config.json",
"mcp":{
"local":{"type":"local","command":["bun","x","pkg"],"environment":{"K":"{env:TOKEN}"}},
"off":{"type":"local","command":["x"],"enabled":false},
"remote":{"type":"remote","url":"https://h/mcp","headers":{"A":"Bearer {env:TOKEN}"}},
"unset":{"type":"remote","url":"https://{env:MISSING}/"},
"empty":{"type":"local","command":[]}}}"#,
        "opencode.jsonc",
    )
    .unwrap();
    assert_eq!(config.format, Format::OpenCode);
    assert_eq!(
        told(&config),
        [
            "local:3 stdio bun x pkg K=hunter2-hunter2",
            "off:4 disabled",
            "remote:5 http https://h/mcp A=Bearer hunter2-hunter2",
            "unset:6 faulty unset_variable",
            "empty:7 faulty bad_entry",
        ]
    );
}

#[test]
fn a_projects_servers_run_in_the_project() {
    let text =
        r#"{"mcpServers":{"a":{"command":"x"},"b":{"command":"x","cwd":"sub"},"c":{"command":"$TOKEN"}}}"#;
    let of = |file: &str| told(&parsed(text, file).unwrap());
    assert_eq!(of("/p/.mcp.json"), ["a:1 stdio x in /p", "b:1 stdio x in /p/sub", "c:1 stdio $TOKEN in /p"]);
    assert_eq!(of("/p/.cursor/mcp.json")[0], "a:1 stdio x in /p");
    assert_eq!(of("/home/me/.cursor/mcp.json"), ["a:1 stdio x", "b:1 stdio x in sub", "c:1 stdio $TOKEN"]);
    assert_eq!(of("/p/servers.json")[0], "a:1 stdio x");
    assert_eq!(of(".mcp.json")[0], "a:1 stdio x");
    assert_eq!(of("/home/me/.gemini/settings.json")[2], "c:1 stdio hunter2-hunter2");
}

#[test]
fn what_is_no_configuration_says_so() {
    let error = |text: &str, file: &str| parsed(text, file).unwrap_err().to_string();
    assert_eq!(
        error("{\"mcpServers\":{\n\"a\":{]}}", "x.json"),
        "the config file `x.json` cannot be read: it is not JSON: expected a key in double quotes (line 2)"
    );
    assert_eq!(
        error("{\"tools\":[]}", "x.json"),
        "the config file `x.json` cannot be read: it names no MCP servers"
    );
    assert!(
        error("a = \n", "c.toml").starts_with("the config file `c.toml` cannot be read: it is not TOML: ")
    );
    assert!(error("a = 1\n", "c.toml").ends_with("it has no table `mcp_servers`"));
    let missing = read(Path::new("/no/such/file.json"), Context { env: &env, workspace: None }).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the config file `/no/such/file.json` cannot be read: no such file or directory"
    );
    for (text, format) in [
        (r#"/* c */{"mcpServers":{}}"#, Some(Format::McpServers)),
        (r#"{"servers":{"a":{"command":"x"}}}"#, Some(Format::VsCode)),
        (r#"{"servers":{"a":{"host":"x"}}}"#, None),
        ("[mcp_servers.a]\ncommand='x'", Some(Format::Codex)),
        (r#"{"model":"m","mcp_servers":[],"tools":[]}"#, None),
        (r#"[{"name":"tool"}]"#, None),
        ("", None),
    ] {
        assert_eq!(detect(text.as_bytes()), format, "{text}");
    }
}

#[test]
fn depth_is_no_danger() {
    let deep = format!(
        r#"{{"mcpServers":{{"a":{{"command":"x","deep":{}1{}}}}}}}"#,
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert_eq!(told(&parsed(&deep, "x.json").unwrap()), ["a:1 stdio x"]);
    let deep =
        format!("[mcp_servers.a]\ncommand = 'x'\ndeep = {}1{}\n", "[".repeat(5_000), "]".repeat(5_000));
    assert!(parsed(&deep, "x.toml").is_err());
}

/// Pieces of configurations, to be put together wrongly.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[\"${TOKEN}\"]}}}".to_owned()),
        Just("{\"mcp\":{\"a\":{\"type\":\"local\",\"command\":[\"{env:TOKEN}\"]}}}".to_owned()),
        Just("[mcp_servers.a]\nurl=\"https://u:p@h\"\nbearer_token_env_var=\"TOKEN\"\n".to_owned()),
        Just("\"headers\":{\"A\":\"${TOKEN}\"}".to_owned()),
        "[\\[\\]{}:,\"/*=\n ]{1,3}",
        Just("/*".to_owned()),
        Just("//".to_owned()),
        Just("\u{feff}".to_owned()),
        "[a-z0-9.$_é]{1,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// No text breaks the reader, and no error or spec shows what a variable holds.
    #[test]
    fn no_text_breaks_it(pieces in prop::collection::vec(piece(), 0..8), cut in 0usize..200, toml in any::<bool>()) {
        let text = pieces.concat();
        let bytes = &text.as_bytes()[cut.min(text.len())..];
        let file = Path::new(if toml { "/p/.x/a.toml" } else { "/p/.x/a.json" });
        let shown = match parse(bytes, file, Context { env: &env, workspace: None }) {
            Ok(config) => format!("{config:?}{}", config.ready().map(ToString::to_string).collect::<String>()),
            Err(error) => error.explain().to_string(),
        };
        prop_assert!(!shown.contains(SECRET), "{}", shown);
        detect(bytes);
    }

    /// Names and values of any text arrive as they are, and lines are counted right.
    #[test]
    fn any_text_arrives(names in prop::collection::btree_set("[^${}]{1,8}", 1..4), value in "[^$]{0,12}") {
        let mut text = "{\n\"mcpServers\":{".to_owned();
        for (index, name) in names.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let (name, value) = (serde_json::json!(name), serde_json::json!(value));
            text.push_str(&format!("{comma}\n{name}:{{\"command\":\"x\",\"args\":[{value}]}}"));
        }
        text.push_str("}}");
        let config = parsed(&text, "x.json").unwrap();
        let expected: Vec<String> = names.iter().enumerate().map(|(index, name)| format!("{name}:{} stdio x {value}", index + 3)).collect();
        prop_assert_eq!(told(&config), expected);
    }
}

#[test]
fn of_a_key_that_is_given_twice_the_last_counts() {
    let text = r#"{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"},"\u0061":{"command":"z"}}}"#;
    let config = parsed(text, "mcp.json").unwrap();
    assert_eq!(told(&config), ["b:1 stdio y", "a:1 stdio z"]);
}

#[test]
fn values_in_paths_are_never_printed() {
    let text = r#"{"mcpServers":{
        "a":{"command":"no-such-program","cwd":"/no/${TOKEN}"},
        "b":{"command":"x","envFile":"${TOKEN}/env"}}}"#;
    let config = parsed(text, "/p/mcp.json").unwrap();
    let [Server::Ready(a), Server::Faulty(b)] = [&config.servers[0].server, &config.servers[1].server] else {
        panic!("{config:?}")
    };
    let Transport::Stdio { cwd: Some(cwd), .. } = &a.transport else { panic!("{a:?}") };
    assert_eq!(cwd.reveal(), Path::new("/no").join(SECRET));
    assert_eq!(cwd.shown(), Path::new("/no/${TOKEN}"));
    let told = b.explain().to_string();
    assert!(told.contains("its env file `/p/${TOKEN}/env` cannot be read: no such file"), "{told}");
    assert!(!format!("{config:?}{told}").contains(SECRET));
}
