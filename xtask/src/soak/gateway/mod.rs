//! Real clients, headless, straight to a scripted provider and through `deadweight run`.
//!
//! What must hold for each client: a session of many turns with tools comes to its end; the provider sees the same
//! requests either way, also after it has refused with 400, 429 or 529, broken a stream off, or answered slowly; what is
//! told at the end is what the provider saw and billed; servers behind the proxy keep the client's rules.

mod judge;
mod script;
pub(crate) mod sdk;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadweight_testkit::upstream::{Recorded, Upstream};
use serde_json::{Value, json};

use crate::fixtures::clients::Surroundings;
use crate::fixtures::{self, Layout, record, script as tools};
use crate::{Context, Failure, Result, place, print, say, shell, test};

use super::clients::server;
use script::{Beat, Bill, Billed, Played};

/// The clients, in the ways in which they are set up.
pub const LAYOUTS: [Layout; 10] = [
    Layout::Claude,
    Layout::ClaudeEager,
    Layout::Codex,
    Layout::CodexGpt55,
    Layout::Opencode,
    Layout::OpencodeAnthropic,
    Layout::Gemini,
    Layout::Qwen,
    Layout::Aider,
    Layout::AiderAnthropic,
];

/// Those of them that the tests run; beside them the SDKs.
pub const TESTED: [Layout; 2] = [Layout::Claude, Layout::Codex];

/// What a run left behind.
#[derive(Debug, Default)]
struct Ran {
    /// Every request, in order.
    requests: Vec<Recorded>,
    /// What the provider billed.
    billed: Billed,
    /// What reached the server.
    received: Vec<Value>,
    /// What was told at the end, where the client ran through the gateway.
    report: Value,
    /// How the client ended.
    ended: String,
    /// Whether requests without tools are the conversation too.
    toolless: bool,
}

impl Ran {
    fn is_conversation(&self, request: &Recorded) -> bool {
        request.endpoint().is_generation() && (self.toolless || tools::tools_of(&request.json()).is_some())
    }
}

/// Runs the clients named, or the SDKs alone, or all of them.
pub(super) fn run(named: &[Layout], sdks_alone: bool, cut_off: bool) -> Result {
    let layouts = match named {
        [] if sdks_alone => &[],
        [] => LAYOUTS.as_slice(),
        named => named,
    };
    let deadweight = test::deadweight()?;
    if !cut_off {
        for layout in layouts {
            layout.client().install()?;
        }
        if named.is_empty() {
            sdk::install()?;
        }
        let names = named.iter().flat_map(|layout| ["--client".to_owned(), layout.name()]);
        let again = ["soak", "gateway", "--cut-off"].map(str::to_owned).into_iter().chain(names);
        let again = again.chain(sdks_alone.then(|| "--sdks".to_owned()));
        if let Some(mut again) = fixtures::cut_off(again)? {
            again.env("DEADWEIGHT_BIN", &deadweight);
            return shell::run(&mut again);
        }
        say(
            "warning: no network namespaces here: nothing but their settings keeps the clients off the network",
        );
    }
    let mut failed = Vec::new();
    for layout in layouts {
        match one(*layout, &deadweight) {
            Ok(line) => print(line),
            Err(failure) => {
                say(format_args!("{}: {failure}", layout.name()));
                failed.push(layout.name());
            }
        }
    }
    if named.is_empty() {
        match sdk::run(&deadweight) {
            Ok(line) => print(line),
            Err(failure) => {
                say(format_args!("sdk: {failure}"));
                failed.push("sdk".to_owned());
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("not as it must be: {}", failed.join(", "))))
    }
}

/// One client, in all that is tried with it; a line for people.
fn one(layout: Layout, deadweight: &Path) -> Result<String> {
    let folder = place::workspace().join("recorded/gateway").join(layout.name());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let list = || Beat::Call("note_list", json!({ "limit": 3 }));
    let append = || json!({ "note_id": "n-1", "text": "grüße \"世界\"\n" });
    let session =
        || vec![list(), Beat::Call("note_append", append()), Beat::Slow("note_list", json!({ "limit": 4 }))];
    let case = |name: &str, beats: &dyn Fn() -> Vec<Beat>| -> Result<(Ran, Ran)> {
        let direct = play(layout, &Way::Direct, beats(), &[], &folder.join(name).join("direct"))?;
        // The same is to arrive, so that no lever is at work here.
        let flags = &["--bare-servers", "--ledger", "off", "--profile", "faithful"];
        let way = Way::Through { deadweight, flags };
        let through = play(layout, &way, beats(), &[], &folder.join(name).join("through"))?;
        judge::same(&direct, &through).context(format_args!("{name}"))?;
        Ok((direct, through))
    };
    let (direct, through) = case("session", &session)?;
    judge::seen(&through).context("session")?;
    if through.ended != "0" {
        return Err(Failure::new(format!("the client ended with {}", through.ended)));
    }
    let turns = through.billed.turns;
    if layout.has_servers() && direct.received.iter().filter(|own| own["method"] == "tools/call").count() < 3
    {
        return Err(Failure::new("session: the client did not call what the model called"));
    }
    levers(layout, deadweight, session(), &direct, &folder.join("levers"))
        .context("with levers as they are by default")?;
    // A client without tools has said all it has to say after its first answer.
    let first = || if layout.has_servers() { vec![list()] } else { Vec::new() };
    let after = |more: Vec<Beat>| first().into_iter().chain(more).collect::<Vec<_>>();
    let refused = || after(vec![Beat::Refuse(429), Beat::Refuse(529), list()]);
    let (_, through) = case("refused", &refused)?;
    judge::failures(&through, &[("429", 1), ("529", 1)]).context("refused")?;
    judge::billed(&through).context("refused")?;
    let (_, through) = case("cut", &|| after(vec![Beat::Cut("note_list", json!({ "limit": 5 })), list()]))?;
    judge::failures(&through, &[("upstream_cut", 1)]).context("cut")?;
    let (_, through) = case("bad", &|| after(vec![Beat::Refuse(400)]))?;
    judge::failures(&through, &[("400", 1)]).context("bad")?;
    judge::billed(&through).context("bad")?;
    if layout.has_servers() {
        let denied = [server::DENIED];
        let beats = vec![list(), Beat::Call(server::DENIED, json!({ "note_id": "n-1" }))];
        let ledger = folder.join("ledger.sqlite");
        let ledger = ledger.to_string_lossy();
        let way = Way::Through { deadweight, flags: &["--ledger", &ledger] };
        let through = play(layout, &way, beats, &denied, &folder.join("servers"))?;
        judge::called(&through, server::LABEL, "note_list", server::DENIED).context("servers")?;
        judge::seen(&through).context("servers")?;
    }
    Ok(format!("{:<20} as without the gateway; {turns} turns told as they were billed", layout.name()))
}

/// The same session with levers on: the client has the same conversation, and what is told is what was billed.
fn levers(layout: Layout, deadweight: &Path, beats: Vec<Beat>, direct: &Ran, folder: &Path) -> Result {
    let ledger = folder.join("ledger.sqlite");
    let ledger = ledger.to_string_lossy();
    let way = Way::Through { deadweight, flags: &["--bare-servers", "--ledger", &ledger] };
    let through = play(layout, &way, beats, &[], folder)?;
    judge::same_but_marks(direct, &through)?;
    judge::billed(&through)
}

/// How a client reaches its provider.
enum Way<'a> {
    Direct,
    Through { deadweight: &'a Path, flags: &'a [&'a str] },
}

/// Plays the beats with one client.
fn play(layout: Layout, way: &Way<'_>, beats: Vec<Beat>, denied: &[&str], folder: &Path) -> Result<Ran> {
    fs::create_dir_all(folder)?;
    // The same place either way, because clients tell the model where they are.
    let scratch =
        std::env::temp_dir().join(format!("deadweight-run-{}-{}", layout.name(), std::process::id()));
    let (home, project) = (scratch.join("home"), scratch.join("project"));
    for path in [&home, &project] {
        fs::create_dir_all(path)?;
    }
    record::project_files(&project)?;
    let received: PathBuf = scratch.join("received.jsonl");
    let command = server::command(&received, &scratch.join("crashed"))?;
    let bill = Bill::default();
    let toolless = !layout.has_servers();
    let upstream = Upstream::with_script(Played::new(beats, toolless, bill.clone()))?;
    let url = upstream.url();
    let around = Surroundings {
        home: &home,
        project: &project,
        provider: &url,
        label: server::LABEL,
        server: &command,
        denied,
    };
    let log = folder.join("client.log");
    let ran = launch(layout.command(&around)?, way, &log, folder)?;
    let requests = upstream.requests();
    drop(upstream);
    let left = deadweight_testkit::processes::left(server::MARKER, std::time::Duration::from_secs(10));
    for (number, request) in requests.iter().enumerate() {
        fs::write(folder.join(format!("{number:02}.body")), &request.body)?;
    }
    let text = fs::read_to_string(&received).unwrap_or_default();
    fs::remove_dir_all(&scratch)?;
    if !left.is_empty() {
        return Err(Failure::new(format!("processes are left: {left:?}")));
    }
    let received = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok(Ran { requests, billed: bill.sums(), received, toolless, ..ran })
}

/// Runs a client one way or the other, and reads what was told at its end.
fn launch(client: Command, way: &Way<'_>, log: &Path, folder: &Path) -> Result<Ran> {
    let report = folder.join("report.json");
    let mut command = match way {
        Way::Direct => client,
        Way::Through { deadweight, flags } => {
            let mut run = Command::new(deadweight);
            run.env_clear().envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
            if let Some(directory) = client.get_current_dir() {
                run.current_dir(directory);
            }
            run.arg("run").arg("--json").arg(&report).args(*flags).arg("--").arg(client.get_program());
            run.args(client.get_args());
            run
        }
    };
    let status =
        record::status(&mut command, log).context(format_args!("what it said is in {}", log.display()))?;
    let ended =
        status.code().map_or_else(|| format!("signal {:?}", status.signal()), |code| code.to_string());
    let report = match way {
        Way::Direct => Value::Null,
        Way::Through { .. } => serde_json::from_str(&fs::read_to_string(&report).unwrap_or_default())
            .map_err(|error| {
                Failure::new(format!("no report: {error}; what it said is in {}", log.display()))
            })?,
    };
    Ok(Ran { report, ended, ..Ran::default() })
}
