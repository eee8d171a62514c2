//! `deadweight gateway` as a process: it says where it listens, forwards, reads its settings again, and ends.

use crate::sandbox::Sandbox;
use deadweight_testkit::raw_http::RawHttp;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A gateway that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) address: String,
    _out: BufReader<std::process::ChildStdout>,
}

fn start(sandbox: &Sandbox, args: &[&str]) -> Running {
    let all: Vec<&str> = ["gateway", "--listen", "0", "--json"].iter().chain(args).copied().collect();
    start_by(Command::new(env!("CARGO_BIN_EXE_deadweight")).args(all), sandbox)
}

/// Starts one by a command that says where it listens.
pub(crate) fn start_by(command: &mut Command, sandbox: &Sandbox) -> Running {
    start_with(command, sandbox, &[])
}

fn start_with(command: &mut Command, sandbox: &Sandbox, variables: &[(&str, &str)]) -> Running {
    let mut child = command
        .env_clear()
        .envs(variables.iter().copied())
        .env("PATH", std::env::var("PATH").unwrap_or_default())
        .env("HOME", sandbox.path())
        .current_dir(sandbox.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["schema"], "deadweight/gateway/1");
    Running { child, address: ready["address"].as_str().unwrap().to_owned(), _out: out }
}

/// Whatever becomes of the test, it leaves none behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    pub(crate) fn ask(&self, path: &str, body: &str) -> String {
        ask(&self.address, path, body).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The lines of its log as they come.
    fn lines(&mut self) -> std::sync::mpsc::Receiver<String> {
        let log = BufReader::new(self.child.stderr.take().unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        told
    }

    /// Ends it; exit code and log.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        self.signal(Signal::TERM);
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

/// Asks over a connection of its own; the whole answer.
pub(crate) fn ask(address: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    let method = if body.is_empty() { "GET" } else { "POST" };
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: sk-ant-secret\r\n");
    let rest = format!("connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(format!("{head}{rest}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Waits until something holds; a test that waits for minutes has failed.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn requests_pass_settings_change_and_nothing_secret_is_told() {
    let (one, two) = (
        RawHttp::start(|_, a| a.json(200, "\"one\"")).unwrap(),
        RawHttp::start(|_, a| a.json(200, "\"two\"")).unwrap(),
    );
    let settings = ".config/deadweight/deadweight.toml";
    let upstream = |server: &RawHttp| format!("[gateway.upstream]\nanthropic = \"{}\"\n", server.at(""));
    let sandbox = Sandbox::new().file(settings, upstream(&one));
    let gateway = start(&sandbox, &["--log", "json"]);
    let body =
        "{\"model\":\"claude-x\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}";
    assert!(gateway.ask("/v1/messages", body).ends_with("\"one\""));
    assert_eq!(one.requests()[0].body, body.as_bytes());
    assert!(gateway.ask("/v1/models", "").starts_with("HTTP/1.1 421 "));
    assert!(gateway.ask("/metrics", "").contains("deadweight_"));
    eventually("the dashboard does not show it", || {
        gateway.ask("/deadweight/", "").contains("What your agents carry")
    });
    assert!(gateway.ask("/deadweight/v1/context", "").contains("\"deadweight/context/1\""));
    std::fs::write(sandbox.path().join(settings), upstream(&two)).unwrap();
    gateway.signal(Signal::HUP);
    eventually("the settings were not read again", || gateway.ask("/v1/messages", body).ends_with("\"two\""));
    // And without being told.
    std::fs::write(sandbox.path().join(settings), format!("{}\n", upstream(&one))).unwrap();
    eventually("the change was not seen", || gateway.ask("/v1/messages", body).ends_with("\"one\""));
    let (code, log) = gateway.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("\"event\":\"refused\"") && log.contains("\"event\":\"reloaded\""), "{log}");
    assert!(!log.contains("sk-ant-secret") && !log.contains("hello"), "{log}");
    assert!(sandbox.path().join(".local/share/deadweight/ledger.sqlite").is_file());
}

#[test]
fn what_would_let_others_in_does_not_start() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["gateway", "--listen", "0.0.0.0:8787"]));
    assert_run!(sandbox.run(&["gateway", "--listen", "0", "--hold-keys"]));
    let with_key = Sandbox::new().env("ANTHROPIC_API_KEY", "sk-ant-secret");
    assert_run!(with_key.run(&["gateway", "--listen", "0", "--hold-keys"]));
    assert_run!(sandbox.run(&["gateway", "--listen", "0.0.0.0:0", "--token", "hunter22"]));
    assert_run!(sandbox.run(&["gateway", "--upstream", "anthropic=http://api.example.com"]));
    assert_run!(sandbox.run(&["gateway", "--upstream", "antropic=https://api.example.com"]));
}

#[test]
fn what_decides_who_may_ask_and_cannot_be_taken_does_not_start() {
    let settings = ".config/deadweight/deadweight.toml";
    for (file, what) in [
        ("[gateway]\ntoken = \"\"\n", "deadweight.toml:2"),
        ("[gateway]\ntoken = \"a\\nb\"\n", "deadweight.toml:2"),
        ("[gateway]\ntoken = 12345\n", "deadweight.toml:2"),
        ("[gateway]\ntokne = \"a-token-of-24-characters\"\n", "did you mean `token`?"),
        ("[gatway]\ntoken = \"a-token-of-24-characters\"\n", "did you mean `gateway`?"),
        ("gateway = 1\n", "`gateway` is no table"),
        ("[gateway]\nhold_keys = \"yes\"\n", "deadweight.toml:2"),
        ("[gateway]\nlisten = \"everywhere\"\n", "deadweight.toml:2"),
        ("[gateway.upstream]\nanthropic = \"http://10.0.0.5\"\n", "in the clear"),
        ("[gateway.upstream]\nantropic = \"https://llm.example\"\n", "is no provider"),
        ("[gateway.upstream]\nanthropic = \"https://me:hunter22@llm.example\"\n", "a user or a password"),
        ("[gateway]\nupstream = 5\n", "deadweight.toml:2"),
        ("[gateway]\ntoken = \"a-token-of-24-characters\"\n[gateway\n", "deadweight.toml:3"),
    ] {
        let told = Sandbox::new().file(settings, file).run(&["gateway", "--listen", "0"]);
        assert!(
            told.starts_with("exit: 2\n") && told.contains(what) && told.contains("  try "),
            "{file}: {told}"
        );
        assert!(!told.contains("hunter22"), "{told}");
    }
    for token in ["", "a\nb", " ", "two words"] {
        let flag = Sandbox::new().run(&["gateway", "--listen", "0", "--token", token]);
        assert!(flag.starts_with("exit: 2\n") && flag.contains("--token"), "{token:?}: {flag}");
        let variable = Sandbox::new().env("DEADWEIGHT_TOKEN", token);
        for args in [&["gateway", "--listen", "0"][..], &["mcp", "--http", "127.0.0.1:0", "--", "true"]] {
            let told = variable.run(args);
            assert!(told.starts_with("exit: 2\n") && told.contains("DEADWEIGHT_TOKEN"), "{token:?}: {told}");
        }
    }
    let mcp = Sandbox::new().file(settings, "[mcp]\ntoken = \"\"\n");
    let told = mcp.run(&["mcp", "--http", "127.0.0.1:0", "--", "true"]);
    assert!(told.starts_with("exit: 2\n") && told.contains("deadweight.toml:2"), "{told}");
}

#[test]
fn a_file_that_is_broken_or_emptied_opens_nothing() {
    let provider = RawHttp::start(|_, a| a.json(200, "\"asked\"")).unwrap();
    let settings = ".config/deadweight/deadweight.toml";
    let whole = format!(
        "[gateway]\ntoken = \"a-token-of-24-characters\"\nhold_keys = true\n[gateway.upstream]\nanthropic = \"{0}\"\n\
         bedrock = \"{0}\"\n",
        provider.at("")
    );
    let sandbox = Sandbox::new().file(settings, &whole);
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadweight"));
    command.args(["gateway", "--listen", "0", "--json"]);
    let mut gateway = start_with(&mut command, &sandbox, &[("ANTHROPIC_API_KEY", "sk-ant-held")]);
    let lines = gateway.lines();
    let secret = "a-token-of-24-characters";
    let anthropic = format!("anthropic = \"{}\"\n", provider.at(""));
    let file = sandbox.path().join(settings);
    let cases = [
        (format!("{whole}[gateway\n"), "deadweight.toml:7"),
        (whole.replace(secret, ""), "deadweight.toml:2"),
        (whole.replace("hold_keys = true", "hold_keys = \"aye\""), "deadweight.toml:3"),
        (whole.replace(&anthropic, "anthropic = \"http://10.0.0.5\"\n"), "deadweight.toml:5"),
        (whole.replace(&anthropic, "anthropic = \"http://127.0.0.1:9"), "deadweight.toml:5"),
        (String::new(), "restart"),
        (whole.replace("token = ", "# "), "token"),
        (whole.replace(&anthropic, ""), "no upstream is named for anthropic"),
        (whole.replace("hold_keys = true", "hold_keys = false"), "the key of anthropic"),
        ("\u{0}".to_owned(), "deadweight.toml:1"),
    ];
    for (content, told) in cases {
        std::fs::write(&file, &content).unwrap();
        gateway.signal(Signal::HUP);
        let line = loop {
            let line = lines.recv_timeout(Duration::from_secs(60)).expect(&content);
            if line.contains("not taken") {
                break line;
            }
        };
        assert!(line.contains(told) && line.contains("all of the old ones hold"), "{content}: {line}");
        assert!(!line.contains(secret));
        let asked = provider.requests().len();
        assert!(gateway.ask("/v1/messages", "{}").starts_with("HTTP/1.1 401 "), "{content}");
        assert!(gateway.ask("/deadweight/v1/context", "").starts_with("HTTP/1.1 401 "), "{content}");
        assert_eq!(provider.requests().len(), asked, "{content}");
        let known = gateway.ask(&format!("/v1/messages?key={secret}"), "{}");
        assert!(known.ends_with("\"asked\""), "{content}: {known}");
        let got = &provider.requests()[asked];
        assert_eq!(got.header("x-api-key"), Some("sk-ant-held"), "{content}");
        // A watcher that saw the change by itself has nothing more to say.
        std::fs::write(&file, &whole).unwrap();
        gateway.signal(Signal::HUP);
        while !lines.recv_timeout(Duration::from_secs(60)).expect("it is whole again").contains("read again")
        {
        }
        while lines.recv_timeout(Duration::from_millis(1500)).is_ok() {}
    }
}

#[test]
fn bodies_are_kept_where_a_person_asks_for_it() {
    use std::os::unix::fs::PermissionsExt;
    let server = RawHttp::start(|_, a| a.json(200, "{\"type\":\"message\"}")).unwrap();
    let upstream = format!("[gateway.upstream]\nanthropic = \"{}\"\n", server.at(""));
    let body = "{\"model\":\"claude-x\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"a secret\"}]}";
    for args in [&[][..], &["--keep-bodies"]] {
        let sandbox = Sandbox::new().file(".config/deadweight/deadweight.toml", &upstream);
        let gateway = start(&sandbox, args);
        assert!(gateway.ask("/v1/messages", body).ends_with("{\"type\":\"message\"}"));
        let (code, log) = gateway.stop();
        assert_eq!(code, Some(0), "{log}");
        let data = sandbox.path().join(".local/share/deadweight");
        let export = sandbox.command(&["ledger", "export"]).output().unwrap().stdout;
        let line: serde_json::Value = serde_json::from_slice(&export).unwrap();
        let id = line["id"].as_str().unwrap();
        let files = ["received", "answer"]
            .map(|side| data.join("bodies").join(&id[..2]).join(format!("{id}.{side}")));
        let show = sandbox.run(&["ledger", "show", id]);
        if args.is_empty() {
            assert!(!data.join("bodies").exists() && !show.contains("body kept"), "{show}");
            continue;
        }
        assert!(log.contains("bodies are kept, prompts and all"), "{log}");
        assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), body);
        assert_eq!(std::fs::read_to_string(&files[1]).unwrap(), "{\"type\":\"message\"}");
        for file in &files {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(show.contains(&file.file_name().unwrap().to_string_lossy().into_owned()), "{show}");
        }
    }
    let without = Sandbox::new();
    assert_run!(without.run(&["gateway", "--listen", "0", "--ledger", "off", "--keep-bodies"]));
}
