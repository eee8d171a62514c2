//! `deadweight mcp`: what it says of itself, what it decides, what it finds, what it recorded.

use crate::sandbox::{Sandbox, TOOLS, server};
use deadweight_store::{Call, Kind, Listing, Outcome, Recorder};
use deadweight_testkit::scripted_mcp::Script;
use serde_json::{Value, json};
use std::time::Duration;

/// A list of tools whose schemas are worth leaving out.
pub(crate) fn heavy(names: &[&str]) -> String {
    let tool = |name: &&str| {
        json!({
            "name": name,
            "description": format!("Does what {name} says. Then it tells about it at length, {}", "and on ".repeat(20)),
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string", "description": "d".repeat(1_500) } },
                "required": ["text"],
            },
            "annotations": { "readOnlyHint": true },
        })
    };
    json!({ "tools": names.iter().map(tool).collect::<Vec<_>>() }).to_string()
}

fn json_of(run: &str) -> Value {
    let text = run.split_once("--- stdout ---\n").unwrap().1.split_once("--- stderr ---").unwrap().0;
    serde_json::from_str(text).unwrap()
}

#[test]
fn help() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["mcp", "-h"]));
    assert_run!(sandbox.run(&["mcp", "--help"]));
    assert_run!(sandbox.run(&["mcp", "search", "-h"]));
    assert_run!(sandbox.run(&["mcp", "status", "-h"]));
    assert_eq!(sandbox.run(&["help", "mcp", "search"]), sandbox.run(&["mcp", "search", "--help"]));
}

#[test]
fn wrong_calls() {
    let sandbox = Sandbox::new()
        .file(
            "servers.json",
            r#"{"mcpServers":{"house":{"command":"house"},"off":{"command":"x","disabled":true}}}"#,
        )
        .file("unset.json", r#"{"mcpServers":{"house":{"command":"house","env":{"KEY":"${HOUSE_KEY}"}}}}"#)
        .file("broken.lock", "version = \n");
    for call in [
        &["mcp"][..],
        &["mcp", "--config", "servers.json", "--server", "shed"],
        &["mcp", "--config", "unset.json", "--server", "house"],
        &["mcp", "--config", "nowhere.json"],
        &["mcp", "--url", "http://127.0.0.1:1", "--", "house"],
        &["mcp", "--http", "0.0.0.0:8080", "--", "house"],
        &["mcp", "--http", "example.com", "--", "house"],
        &["mcp", "--surface", "lazy", "--", "house"],
        &["mcp", "--schema-budget", "4k", "--", "house"],
        &["mcp", "--lock", "broken.lock", "--", "house"],
        &["mcp", "--lock", "nowhere.lock", "--", "house"],
        &["mcp", "--own", "--", "house"],
        &["mcp", "login", "house"],
        &["mcp", "login", "shed", "--config", "servers.json"],
        &["mcp", "login", "house", "--config", "servers.json"],
        &["mcp", "search"],
        &["mcp", "search", " "],
        &["mcp", "status", "--days", "0"],
    ] {
        insta::with_settings!({ filters => crate::sandbox::filters(), omit_expression => true, info => &call }, {
            insta::assert_snapshot!(sandbox.run(call));
        });
    }
}

#[test]
fn what_is_decided_and_why() {
    let sandbox = Sandbox::new().file("house.json", heavy(&["open_door", "close_door", "ring_bell"]));
    assert_run!(sandbox.run(&["mcp", "--explain", "--config", "house.json"]));
    assert_run!(sandbox.run(&["mcp", "--explain", "--config", "house.json", "--eager", "ring_bell,cellar"]));
    assert_run!(sandbox.run(&["mcp", "--explain", "--config", "house.json", "--quiet"]));
    let small = Sandbox::new().file("small.json", TOOLS);
    assert_run!(small.run(&["mcp", "--explain", "--config", "small.json"]));
    let pricey = ["mcp", "--explain", "--config", "small.json", "--schema-budget", "0"];
    assert_run!(small.run(&pricey));
}

#[test]
fn what_is_decided_as_json() {
    let sandbox = Sandbox::new().file("house.json", heavy(&["open_door", "close_door", "ring_bell"]));
    let call = ["mcp", "--explain", "--json", "--config", "house.json", "--client", "claude-code"];
    let report = json_of(&sandbox.run(&call));
    assert_eq!(report["schema"], "deadweight/mcp-explain/1");
    assert_eq!(report["client"]["name"], "claude-code");
    let list = &report["lists"][0];
    assert_eq!(list["saving"]["provenance"]["kind"], "ESTIMATED", "{report:#}");
    assert!(list["servers"][0]["saving"]["before"]["tokens"].as_u64().unwrap() > 1_000);
    let call = ["mcp", "--explain", "--json", "--config", "house.json"];
    let saving = &json_of(&sandbox.run(&call))["lists"][0]["saving"];
    let tokens = |name: &str| saving[name]["tokens"].as_i64().unwrap();
    assert_eq!(tokens("gross"), tokens("before") - tokens("after"));
    assert!(tokens("net") < tokens("gross") && tokens("net") > 0, "{saving}");
    assert!(saving["break_even"].as_u64().unwrap() >= 1);
}

#[test]
fn servers_of_the_projects_config_stand_each_alone() {
    let script = Script::named("house").tool("open_door");
    let config = json!({ "mcpServers": {
        "house": { "command": server(), "args": ["@house.json"] },
        "shed": { "command": server(), "args": ["@house.json"] },
        "gone": { "command": "no-such-program" },
    }});
    let sandbox = Sandbox::new().script("house.json", &script).file(".mcp.json", config.to_string());
    assert_run!(sandbox.run(&["mcp", "--explain"]));
    assert_run!(sandbox.run(&["mcp", "--explain", "--config", ".mcp.json", "--server", "shed", "--quiet"]));
    let together = sandbox.run(&["mcp", "--explain", "--config", ".mcp.json", "--json"]);
    assert!(together.starts_with("exit: 3\n"), "{together}");
    let report = json_of(&together);
    assert_eq!(report["lists"].as_array().map(Vec::len), Some(1));
    assert_eq!(report["failures"][0]["server"], "gone");
}

#[test]
fn what_stands_behind_the_proxy_is_what_is_meant() {
    let script = Script::named("house").tool("open_door");
    let sandbox = |config: Value| {
        let many = json!({ "mcpServers": { "shed": { "command": server(), "args": ["@house.json"] } } });
        let config = json!({ "mcpServers": config }).to_string();
        Sandbox::new()
            .script("house.json", &script)
            .file("many.json", many.to_string())
            .file(".mcp.json", config)
    };
    let bare = sandbox(json!({
        "house": { "command": server(), "args": ["@house.json"] },
        "shed": { "command": server(), "args": ["@house.json"] },
    }));
    let wrapped = sandbox(json!({
        "house": { "command": "deadweight", "args": ["mcp", "--name", "house", "--", server(), "@house.json"] },
        "many": { "command": "deadweight", "args": ["mcp", "--config", "many.json"] },
    }));
    for call in [&["mcp", "--explain", "--json"][..], &["footprint", "--json"]] {
        let (expected, found) = (bare.run(call), wrapped.run(call));
        assert_eq!(json_of(&expected), json_of(&found), "{call:?}");
        assert!(found.contains("`house`, `many` stand behind `deadweight mcp`"), "{found}");
    }
    assert!(!wrapped.path().join("deadweight").exists(), "nothing is recorded");
    let round = sandbox(json!({
        "all": { "command": "deadweight", "args": ["mcp", "--config", ".mcp.json"] },
        "house": { "command": server(), "args": ["@house.json"] },
    }));
    let told = round.run(&["mcp", "--explain"]);
    assert!(told.contains("`all` serves the config that it stands in"), "{told}");
}

#[test]
fn a_ranking_and_its_reasons() {
    let sandbox = Sandbox::new().file("house.json", TOOLS);
    let search = |query: &'static str| sandbox.run(&["mcp", "search", query, "--config", "house.json"]);
    assert_run!(search("book a room for three days"));
    assert_run!(search("ring the bell, and list all rooms"));
    assert_run!(search("list_roms"));
    assert_run!(search("bake a cake"));
    let report = json_of(&sandbox.run(&[
        "mcp",
        "search",
        "book a room",
        "--config",
        "house.json",
        "--json",
        "--top",
        "1",
    ]));
    assert_eq!(report["schema"], "deadweight/mcp-search/1");
    assert_eq!((&report["abstains"], &report["tools_searched"]), (&json!(false), &json!(3)));
    assert_eq!(report["hits"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&report["hits"][0]["tool"], &report["hits"][0]["server"]),
        (&json!("book_room"), &json!("house"))
    );
    assert!(report["hits"][0]["reasons"][0]["part"].as_f64().unwrap() > 0.0);
}

#[test]
fn where_nothing_was_recorded() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["mcp", "status"]));
    assert_run!(sandbox.run(&["mcp", "status", "--ledger", "off"]));
    assert_run!(sandbox.file("ledger.sqlite", "no ledger".repeat(100)).run(&[
        "mcp",
        "status",
        "--ledger",
        "ledger.sqlite"
    ]));
}

#[test]
fn what_was_recorded() {
    let sandbox = Sandbox::new();
    let recorder = Recorder::start(sandbox.path().join("ledger.sqlite"), |error| unreachable!("{error}"));
    let call = |server: &str, tool: &str, minute: u64| Call {
        at_ms: 1_796_075_940_000 + minute * 60_000,
        kind: Kind::Call,
        server: server.to_owned(),
        tool: tool.to_owned(),
        client: "claude-code 2.1".to_owned(),
        session: "a".to_owned(),
        bytes_in: 120,
        bytes_out: 4_210,
        duration_us: 900,
        outcome: Outcome::Ok,
        loaded: false,
        surface: "stubs".to_owned(),
    };
    recorder.record(call("house", "ring_bell", 0));
    recorder.record(call("house", "ring_bell", 1));
    recorder.record(Call { outcome: Outcome::Crashed, loaded: true, ..call("shed", "dig", 2) });
    recorder.record(Call { kind: Kind::Load, ..call("shed", "dig", 1) });
    recorder.record(Call { kind: Kind::Search, ..call("", "", 3) });
    let listing = |server: &str, client: &str| Listing {
        entry: "house".to_owned(),
        server: server.to_owned(),
        client: client.to_owned(),
        at_ms: 1_796_075_940_000,
        surface: "stubs".to_owned(),
        deferred: true,
        why: "descriptions and schemas weigh 22950 bytes, more than the budget of 4096".to_owned(),
        tools: 26,
        estimator: "calibrated/1".to_owned(),
        before_tokens: 5_100,
        after_tokens: 360,
        own_tokens: 70,
        gross_tokens: 4_740,
        net_tokens: 4_670,
        load_tokens: 190,
        break_even: Some(24),
    };
    recorder.listed(listing("house", "claude-code"));
    recorder.listed(Listing { deferred: false, break_even: None, ..listing("cellar", "claude-code") });
    assert!(recorder.flush(Duration::from_secs(30)));
    assert_run!(sandbox.run(&["mcp", "status", "--ledger", "ledger.sqlite"]));
    assert_run!(sandbox.run(&["mcp", "status", "--ledger", "ledger.sqlite", "--quiet"]));
    assert_run!(sandbox.run(&["mcp", "status", "--ledger", "ledger.sqlite", "--json"]));
}

/// What one client says, line by line.
fn talk(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn opening() -> [Value; 2] {
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ]
}

#[test]
fn an_entry_of_its_own() {
    let [first, second] = opening();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_run!(Sandbox::new().run_with(&["mcp", "--own"], &talk(&[first, second, list])));
}

#[test]
fn a_server_behind_the_proxy() {
    let script = Script::named("house").tool("open_door");
    let sandbox = Sandbox::new().script("house.json", &script);
    let [first, second] = opening();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let call = ["mcp", "--name", "house", "--", server(), "@house.json"];
    let answers = conversation(&sandbox, &call, &talk(&[first, second, list]), 2);
    assert!(
        answers.iter().any(|answer| answer["id"] == 1 && answer["result"]["protocolVersion"] == "2025-06-18")
    );
    let listed = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    assert_eq!(listed["result"]["tools"][0]["name"], "open_door");
}

/// Says something to a proxy, waits for so many answers, and closes its input, on which it must end in good order.
fn conversation(sandbox: &Sandbox, call: &[&str], said: &str, answers: usize) -> Vec<Value> {
    use std::io::{BufRead, BufReader, Write};
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_deadweight"))
        .args(call)
        .current_dir(sandbox.path())
        .env("HOME", sandbox.path())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CACHE_HOME")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(said.as_bytes()).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let heard = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .filter(|message| message.get("method").is_none())
        .take(answers)
        .collect();
    drop(input);
    assert!(child.wait().unwrap().success());
    heard
}

#[test]
fn calls_are_recorded_and_nothing_of_what_they_said() {
    let script = Script::named("house").tool("open_door");
    let sandbox = Sandbox::new().script("house.json", &script);
    let [first, second] = opening();
    let ring = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "no_such_tool", "arguments": { "secret": "hunter2" },
    }});
    let call = ["mcp", "--name", "house", "--", server(), "@house.json"];
    conversation(&sandbox, &call, &talk(&[first, second, ring]), 2);
    let ledger = sandbox.path().join(".local/share/deadweight");
    for file in std::fs::read_dir(&ledger).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
    }
    assert!(ledger.join("ledger.sqlite").exists());
    // What was listed is there too, priced.
    let status = json_of(&sandbox.run(&["mcp", "status", "--json"]));
    let listing = &status["listings"][0];
    assert_eq!((&listing["server"], &listing["client"]), (&json!("house"), &json!("tests")), "{status:#}");
    assert!(listing["before_tokens"].as_u64().unwrap() > 0 && listing["deferred"] == false);
    // Turned off, nothing is made.
    let sandbox = Sandbox::new().script("house.json", &script);
    let call = ["mcp", "--ledger", "off", "--name", "house", "--", server(), "@house.json"];
    conversation(&sandbox, &call, &talk(&opening()), 1);
    assert!(!sandbox.path().join(".local/share/deadweight").exists());
}

/// A proxy that runs, with its client's end of the streams.
fn started(sandbox: &Sandbox, call: &[&str]) -> std::process::Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_deadweight"))
        .args(call)
        .current_dir(sandbox.path())
        .env("HOME", sandbox.path())
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CACHE_HOME")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn servers_end_with_the_proxy() {
    use std::io::Write;
    let sandbox = Sandbox::new();
    for signal in ["-TERM", "-INT", ""] {
        let file = sandbox.path().join("pid");
        let _ = std::fs::remove_file(&file);
        let mut proxy = started(&sandbox, &["mcp", "--", "sh", "-c", "echo $$ >pid; sleep 1000 & wait"]);
        let mut input = proxy.stdin.take().unwrap();
        input.write_all(talk(&opening()).as_bytes()).unwrap();
        let pid = loop {
            match std::fs::read_to_string(&file) {
                Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let expected = if signal.is_empty() {
            drop(input);
            0
        } else {
            let id = proxy.id().to_string();
            assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
            if signal == "-TERM" { 143 } else { 130 }
        };
        assert_eq!(proxy.wait().unwrap().code(), Some(expected), "{signal}");
        let left = std::process::Command::new("ps").args(["-o", "pid=", "-g", &pid]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout).trim(), "", "{signal}: group {pid}");
    }
}

#[test]
fn a_config_that_names_its_own_proxy_does_not_start_itself_for_ever() {
    let config = json!({ "mcpServers": {
        "all": { "command": env!("CARGO_BIN_EXE_deadweight"), "args": ["mcp", "--config", "servers.json"] },
        "house": { "command": server(), "args": ["@house.json"] },
    }});
    let sandbox = Sandbox::new()
        .script("house.json", &Script::named("house").tool("open_door"))
        .file("servers.json", config.to_string());
    let [first, second] = opening();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let answers =
        conversation(&sandbox, &["mcp", "--config", "servers.json"], &talk(&[first, second, list]), 2);
    let text = json!(answers).to_string();
    assert!(text.contains("house__open_door") && !text.contains("not available"), "{text}");
}

#[test]
fn a_lock_is_a_plain_file_of_a_bounded_size() {
    let long = format!("# {}\n", "x".repeat(5 << 20));
    for what in ["/dev/zero", "pipe", "large"] {
        let sandbox = Sandbox::new().file("tools.json", crate::sandbox::TOOLS).file("large", &long);
        let made = std::process::Command::new("mkfifo").arg(sandbox.path().join("pipe")).status().unwrap();
        assert!(made.success());
        std::os::unix::fs::symlink(what, sandbox.path().join("deadweight.lock")).unwrap();
        let ways: [&[&str]; 3] = [
            &["gate", "tools.json"],
            &["mcp", "--name", "s", "--", "true"],
            &["mcp", "--explain", "--name", "s", "--", "true"],
        ];
        for way in ways {
            let run = sandbox.run(way);
            let why = if what == "large" { "it is larger than 4 MB" } else { "it is no plain file" };
            assert!(run.starts_with("exit: 3") && run.contains(why), "{way:?} {what}: {run}");
            assert!(run.contains("deadweight.lock") && run.contains("try  "), "{run}");
        }
    }
}

#[test]
fn a_target_that_never_ends_is_refused() {
    let sandbox = Sandbox::new();
    for target in ["pipe", "zero"] {
        std::process::Command::new("mkfifo").arg(sandbox.path().join("pipe")).status().unwrap();
        let _ = std::os::unix::fs::symlink("/dev/zero", sandbox.path().join("zero"));
        for way in [&["footprint", target][..], &["mcp", "--config", target]] {
            let run = sandbox.run(way);
            assert!(!run.starts_with("exit: 0") && run.contains("it is no plain file"), "{way:?}: {run}");
        }
    }
}

#[test]
fn a_key_in_the_path_of_a_url_is_not_shown() {
    let sandbox = Sandbox::new();
    let url = "http://user:pw@127.0.0.1:9/sEcr3tValP/mcp";
    for way in [
        &["mcp", "--url", url, "--explain"][..],
        &["mcp", "--url", url, "--explain", "--json"],
        &["footprint", "--url", url],
    ] {
        let run = sandbox.run(way);
        assert!(!run.contains("sEcr3t") && run.contains("/…/mcp"), "{way:?}: {run}");
    }
}

#[test]
fn no_server_is_given_a_secret_of_ours() {
    let script = "env >> seen; exit 1";
    let told = |sandbox: &Sandbox| {
        let seen = std::fs::read_to_string(sandbox.path().join("seen")).unwrap_or_default();
        let of_ours = seen.lines().filter(|line| line.contains("s3cret-of-ours")).map(str::to_owned);
        (seen.contains("PATH="), of_ours.collect::<Vec<_>>())
    };
    let secret = || {
        let sandbox = Sandbox::new();
        sandbox.env("DEADWEIGHT_TOKEN", "s3cret-of-ours").env("DEADWEIGHT_CLIENT_SECRET", "s3cret-of-ours")
    };
    let own = env!("CARGO_BIN_EXE_deadweight");
    let ways: [&[&str]; 5] = [
        &["footprint", "--", "sh", "-c", script],
        &["gate", "--update", "--", "sh", "-c", script],
        &["mcp", "--name", "s", "--", "sh", "-c", script],
        &["mcp", "search", "x", "--", "sh", "-c", script],
        // Through a proxy within a proxy, as `run` puts them.
        &["footprint", "--", own, "mcp", "--name=s", "--", "sh", "-c", script],
    ];
    for way in ways {
        let sandbox = secret();
        conversation_of(&sandbox, way);
        assert_eq!(told(&sandbox), (true, Vec::new()), "{way:?}");
    }
    // Whoever wants to hand one on says so.
    let config = json!({ "mcpServers": { "s": {
        "command": "sh", "args": ["-c", script], "env": { "DEADWEIGHT_TOKEN": "${DEADWEIGHT_TOKEN}" },
    } } });
    let sandbox = secret().file("c.json", config.to_string());
    sandbox.run(&["footprint", "c.json"]);
    assert_eq!(told(&sandbox).1, ["DEADWEIGHT_TOKEN=s3cret-of-ours"]);
}

/// Opens a session, whatever comes of it.
fn conversation_of(sandbox: &Sandbox, way: &[&str]) {
    let input: String = opening().iter().map(|message| format!("{message}\n")).collect();
    sandbox.run_with(way, &input);
}

#[test]
fn clients_over_http() {
    use std::io::{BufRead, BufReader, Read, Write};
    let sandbox = Sandbox::new().script("house.json", &Script::named("house").tool("open_door"));
    let mut proxy = std::process::Command::new(env!("CARGO_BIN_EXE_deadweight"))
        .args(["mcp", "--http", "0", "--name", "house", "--", server(), "@house.json"])
        .current_dir(sandbox.path())
        .env("HOME", sandbox.path())
        .env("DEADWEIGHT_TOKEN", "hunter2")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(proxy.stderr.take().unwrap()).lines().find_map(|line| {
        Some(line.unwrap().split_once("serving on http://")?.1.trim_end_matches("/mcp").to_owned())
    });
    let address = told.unwrap();
    let ask = |token: &str| {
        let [first, _] = opening();
        let body = first.to_string();
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let refused = ask("other");
    let opened = ask("hunter2");
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(opened.starts_with("HTTP/1.1 200") && opened.contains("2025-06-18"), "{opened}");
}
