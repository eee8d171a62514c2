//! A wrapped server, and what must hold when it is left.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deadweight_testkit::client::Client;
use deadweight_testkit::processes;
use deadweight_testkit::scripted_mcp::{self, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A time that nothing here needs: what has not come by then does not come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A name that no other test's processes have in their command line.
pub(crate) fn unique(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst))
}

/// A script with a name of its own and the tool `echo`.
pub(crate) fn script(name: &str) -> Script {
    Script::named(unique(name)).tool("echo")
}

/// A home of its own, with a folder for what a test writes down.
pub(crate) fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// `deadweight mcp` with these flags, in a home of its own: nothing of this process's environment reaches it.
pub(crate) fn proxy(home: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadweight"));
    command.env_clear().env("PATH", std::env::var("PATH").unwrap_or_default()).env("HOME", home);
    command.current_dir(home).arg("mcp").args(flags);
    command
}

/// The same, wrapping the server that plays `script`.
pub(crate) fn wrapping(home: &Path, flags: &[&str], script: &Script) -> Command {
    let mut command = proxy(home, flags);
    command.arg("--").arg(scripted_mcp::path()).arg(script.to_json());
    command
}

/// A client behind the proxy, with the script it wraps.
pub(crate) struct Case {
    pub(crate) client: Client,
    /// Goes when the case does.
    _home: TempDir,
    marker: String,
    record: String,
}

impl Case {
    /// Wraps a script eagerly and shakes hands.
    pub(crate) fn new(script: Script) -> Self {
        let mut case = Self::silent(script, &["--surface", "eager"]);
        case.client.initialize("proof", "1.0").unwrap();
        case
    }

    /// Wraps a script and says nothing yet.
    pub(crate) fn silent(mut script: Script, flags: &[&str]) -> Self {
        let home = home();
        let record = home.path().join("record.jsonl").display().to_string();
        script.record = Some(record.clone());
        let client = Client::start(&mut wrapping(home.path(), flags, &script)).unwrap();
        Self { client, _home: home, marker: script.name, record }
    }

    /// What has reached the server so far, whichever of its processes it was.
    pub(crate) fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until something that fits has reached the server.
    pub(crate) fn until_received(&self, fits: impl Fn(&Value) -> bool) -> Value {
        let until = std::time::Instant::now() + PATIENCE;
        loop {
            if let Some(message) = self.received().into_iter().find(|message| fits(message)) {
                return message;
            }
            assert!(std::time::Instant::now() < until, "it never came; only {:?}", self.received());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Calls a tool without waiting.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.client.ask("tools/call", &json!({ "name": tool, "arguments": arguments })).unwrap()
    }

    /// The answer to a call, which must come.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let answer = self.client.answer(id, PATIENCE);
        answer.unwrap_or_else(|| panic!("no answer to {id}; on standard error:\n{}", self.client.errors()))
    }

    /// The connection still works.
    pub(crate) fn works(&mut self) {
        let id = self.ask("echo", &json!({ "text": "still there" }));
        let answer = self.answer(id);
        assert_eq!(text(&answer), r#"echo {"text":"still there"}"#, "{answer}");
    }

    /// Leaves as clients do, by closing the input. Every request but those in `unanswered` has had its one answer, and
    /// no process is left.
    pub(crate) fn leave(mut self, unanswered: &[u64]) {
        self.client.close();
        let ended = self.client.ended(PATIENCE);
        assert!(ended.is_some(), "the proxy goes on running without a client");
        assert_eq!(processes::left(&self.marker, PATIENCE), Vec::<u32>::new(), "processes are left");
        for (id, count) in self.client.answers() {
            let expected = usize::from(!unanswered.contains(&id));
            assert_eq!(count, expected, "answers to request {id}; all that came: {:#?}", self.client.seen());
        }
    }

    /// The marker of the server's processes.
    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }
}

/// The first text of a tool's result.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Whether an answer says that something went wrong, in either of the ways there are.
pub(crate) fn failed(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}
