//! The dashboard in a real browser: every page wide, dark and on a phone, held to the accessibility rules of axe; what it does
//! by itself, by keyboard and without a script. Screenshots stay in `target/pages`.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

#[path = "../../crates/gateway/tests/sample/mod.rs"]
mod sample;
#[path = "../../crates/gateway/tests/sample/serve.rs"]
mod serve;

use deadweight_store::{Asked, Exchange, Ledger, Order, Page, Recorder, Which};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use xtask::{place, provision};

/// The id of a turn in the middle of the session that has everything.
fn turn(file: &Path) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut ledger = Ledger::open(file).await.unwrap().unwrap();
        let which = Which { conversation: Some("main".to_owned()), ..Which::of_session(sample::LONG) };
        let turns = ledger.exchanges(&which, Order::Oldest, Page { limit: 1, offset: 26 }).await.unwrap();
        turns[0].id.clone()
    })
}

#[test]
fn every_page_in_a_real_browser() {
    let browser = provision::browser().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    sample::fill(&file);
    let address = serve::serve(&file, || sample::NOW).unwrap();
    let shots = place::target().join("pages");
    fs::create_dir_all(&shots).unwrap();
    let pages = json!({
        "overview": "/deadweight/",
        "sessions": "/deadweight/sessions",
        "session": format!("/deadweight/session/{}?conversation=main", sample::LONG),
        "request": format!("/deadweight/request/{}", turn(&file)),
        "requests": "/deadweight/requests?kind=any&days=30",
        "tools": "/deadweight/tools",
        "servers": "/deadweight/servers",
        "nothing": "/deadweight/sessions?agent=nobody",
    });
    let mut child = Command::new("node")
        .arg(place::workspace().join("xtask/pages/check.mjs"))
        .args([browser.modules.as_os_str(), browser.program.as_os_str()])
        .arg(&address)
        .arg(&shots)
        .arg(pages.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut last = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        last = line.unwrap();
        if last == "NOW" {
            now(&file);
        }
    }
    assert!(child.wait().unwrap().success(), "{last}");
    let wrong: Vec<String> = serde_json::from_str(&last).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Records a turn while the browser looks.
fn now(file: &Path) {
    let recorder = Recorder::start(file.to_owned(), |_| {});
    recorder.exchange(Exchange {
        id: "ee".repeat(16),
        at_ms: sample::NOW - 1_000,
        asked: Asked::Generate,
        model: Some("model-of-now".to_owned()),
        session: "now".to_owned(),
        ..Exchange::default()
    });
    assert!(recorder.flush(Duration::from_secs(30)));
}
