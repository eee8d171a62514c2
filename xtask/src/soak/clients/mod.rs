//! Real clients, headless, with a scripted model and a scripted server: first bare, then with the proxy between them.
//!
//! What must hold for each client: its body is accepted by its provider and shows no schema, a deferred tool can be called
//! at once and after a load, arguments that are strings become what the schema wants, wrong ones are answered with the
//! schema and reach no server, a server that crashes is there again at the next call, a list that grows shows where the
//! client looks again, and a rule that denies a tool of the bare server denies it still.

mod body;
mod judge;
pub(super) mod server;
mod session;

use std::fs;
use std::path::{Path, PathBuf};

use deadweight_testkit::upstream::{Recorded, Upstream};
use serde_json::Value;

use crate::fixtures::clients::Surroundings;
use crate::fixtures::{self, Layout, record};
use crate::{Context, Failure, Result, place, print, say, shell, test};

use session::{Plan, Session};

/// The clients, in the ways in which they are set up.
const LAYOUTS: [Layout; 6] = [
    Layout::Claude,
    Layout::ClaudeEager,
    Layout::Codex,
    Layout::Opencode,
    Layout::OpencodeAnthropic,
    Layout::Gemini,
];

/// What a run left behind.
#[derive(Debug)]
struct Ran {
    /// The requests to the model that carry the conversation.
    requests: Vec<Recorded>,
    /// What reached the server.
    received: Vec<Value>,
    /// What each call of the plan was answered with, as the model read it.
    answers: Vec<Option<String>>,
}

/// Runs the clients named, or all of them.
pub(super) fn run(named: &[Layout], cut_off: bool) -> Result {
    let layouts = if named.is_empty() { LAYOUTS.as_slice() } else { named };
    let deadweight = test::deadweight()?;
    if !cut_off {
        for layout in layouts {
            layout.client().install()?;
        }
        let names = layouts.iter().flat_map(|layout| ["--client".to_owned(), layout.name()]);
        let again = ["soak", "clients", "--cut-off"].map(str::to_owned).into_iter().chain(names);
        if let Some(mut again) = fixtures::cut_off(again)? {
            again.env("DEADWEIGHT_BIN", &deadweight);
            return shell::run(&mut again);
        }
        say(
            "warning: no network namespaces here: nothing but their settings keeps the clients off the network",
        );
    }
    print("client               tools slice, bytes: bare   through the proxy   saved   of the first body");
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
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("not as it must be: {}", failed.join(", "))))
    }
}

/// One client, bare and proxied; a line of the table.
fn one(layout: Layout, deadweight: &Path) -> Result<String> {
    let folder = place::workspace().join("recorded/proxy").join(layout.name());
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let bare = play(layout, None, &[], &folder.join("bare"))?;
    let proxied = play(layout, Some(deadweight), &[], &folder.join("proxied"))?;
    let denied = [server::DENIED];
    let refused = play(layout, None, &denied, &folder.join("bare-denied"))?;
    let still = play(layout, Some(deadweight), &denied, &folder.join("proxied-denied"))?;
    judge::denied(&refused, &still)?;
    judge::held_against(layout, &bare, &proxied)?;
    let bytes = |ran: &Ran| tools_slice(deadweight, &folder, ran);
    let ((before, whole), (after, _)) = (bytes(&bare)?, bytes(&proxied)?);
    let saved = before.saturating_sub(after);
    Ok(format!(
        "{:<20} {before:>24} {after:>19} {saved:>7} {:>15.1} %",
        layout.name(),
        100.0 * saved as f64 / whole as f64
    ))
}

/// The bytes of the tools slice, and of all, of the conversation's first body.
fn tools_slice(deadweight: &Path, folder: &Path, ran: &Ran) -> Result<(u64, u64)> {
    let first = ran.requests.first().ok_or_else(|| Failure::new("no request to the model came"))?;
    let file = folder.join("first.body");
    fs::write(&file, &first.body)?;
    let mut footprint = shell::command(deadweight);
    footprint.args(["footprint", "--json", "--as", "request"]).arg(&file);
    let report: Value = serde_json::from_str(&shell::output(&mut footprint)?)?;
    let tools = &report["slices"]["tools"]["wire_bytes"];
    let tools = tools.as_u64().ok_or_else(|| Failure::new(format!("no tools slice in {report}")))?;
    Ok((tools, first.body.len() as u64))
}

/// Plays the plan with one client.
fn play(layout: Layout, deadweight: Option<&Path>, denied: &[&str], folder: &Path) -> Result<Ran> {
    fs::create_dir_all(folder)?;
    let scratch =
        std::env::temp_dir().join(format!("deadweight-soak-{}-{}", layout.name(), std::process::id()));
    let (home, project) = (scratch.join("home"), scratch.join("project"));
    for path in [&home, &project] {
        fs::create_dir_all(path)?;
    }
    record::project_files(&project)?;
    let received: PathBuf = scratch.join("received.jsonl");
    let mut command = server::command(&received, &scratch.join("crashed"))?;
    if let Some(deadweight) = deadweight {
        // Whether its own search is off cannot be seen from outside; who turns it off says so to the proxy as well.
        let flags: &[&str] = if layout == Layout::ClaudeEager { &["--surface", "stubs"] } else { &[] };
        let words = [deadweight.to_str().unwrap_or_default(), "mcp"].into_iter().chain(flags.iter().copied());
        command.splice(0..0, words.chain(["--"]).map(str::to_owned).collect::<Vec<_>>());
    }
    let plan = Plan::of(deadweight.is_some(), denied);
    let calls = plan.calls.len();
    let upstream = Upstream::with_script(Session::new(plan))?;
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
    let ended = record::run(&mut layout.command(&around)?, &log);
    let requests = upstream.requests();
    drop(upstream);
    let left = deadweight_testkit::processes::left(server::MARKER, std::time::Duration::from_secs(10));
    let requests: Vec<Recorded> =
        requests.into_iter().filter(|request| request.endpoint().is_generation()).collect();
    for (number, request) in requests.iter().enumerate() {
        fs::write(folder.join(format!("{number:02}.body")), &request.body)?;
    }
    let received = fs::read_to_string(&received).unwrap_or_default();
    fs::write(folder.join("received.jsonl"), &received)?;
    fs::remove_dir_all(&scratch)?;
    ended.context(format_args!("what it said is in {}", log.display()))?;
    if !left.is_empty() {
        return Err(Failure::new(format!("processes are left: {left:?}")));
    }
    let conversation: Vec<Recorded> = requests
        .into_iter()
        .filter(|request| fixtures::script::tools_of(&request.json()).is_some())
        .collect();
    let last = conversation.last().map(Recorded::json).unwrap_or_default();
    let answers = (0..calls).map(|call| body::answer(&last, call)).collect();
    let received = received.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok(Ran { requests: conversation, received, answers })
}
