//! Starting scripted servers, and looking for what is left of them.

use deadweight_mcp::{ListError, Listing, Options, ServerSpec, list, no_progress};
use deadweight_testkit::scripted_mcp::{self, Script};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A name that no other test's processes have in their command line.
pub(crate) fn unique(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst))
}

pub(crate) fn script(name: &str) -> Script {
    Script::named(unique(name))
}

pub(crate) fn spec(script: &Script) -> ServerSpec {
    ServerSpec::stdio(scripted_mcp::path().to_string_lossy(), [script.to_json()])
}

/// Bounds under which a server that hangs fails the test only after a time that no working one needs.
pub(crate) fn patient() -> Options {
    Options::default().with_timeout(Duration::from_secs(90))
}

/// Asks the server of a script; afterwards nothing of it may run.
pub(crate) async fn ask(script: &Script) -> Result<Listing, ListError> {
    ask_with(script, patient()).await
}

pub(crate) async fn ask_with(script: &Script, options: Options) -> Result<Listing, ListError> {
    let answer = list(&spec(script), &options, &no_progress).await;
    assert_eq!(running(&script.name), Vec::<String>::new(), "processes are left");
    answer
}

/// The processes, other than zombies, that have `marker` in their command line.
pub(crate) fn running(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        if !entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // A zombie's command line is empty.
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(marker) {
            found.push(format!("{}: {command}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Waits for a condition; fails after a time that it never needs.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < until, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn names(listing: &Listing) -> Vec<String> {
    let name = |tool: &bytes::Bytes| {
        let tool: serde_json::Value = serde_json::from_slice(tool).unwrap();
        tool["name"].as_str().unwrap().to_owned()
    };
    listing.tools.iter().map(name).collect()
}
