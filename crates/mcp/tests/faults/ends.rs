//! Ends: of servers that die, of servers that do not, and of questions that are given up.

use crate::support::{ask, ask_with, eventually, names, patient, running, script, spec, unique};
use deadweight_mcp::{Anomaly, Reason, ServerSpec, Stage, list, no_progress};
use deadweight_testkit::scripted_mcp::{self, Act, Script};
use std::time::Duration;

/// The server of a script, with SIGTERM ignored by it and by all it starts.
fn stubborn(script: &Script) -> ServerSpec {
    let path = scripted_mcp::path().to_string_lossy().into_owned();
    ServerSpec::stdio(
        "sh",
        ["-c", r#"trap "" TERM; "$@"; exit $?"#, "sh", &path, &script.to_json()].map(str::to_owned),
    )
}

#[tokio::test]
async fn death_at_start_tells_code_and_last_words() {
    let acts = [
        Act::Stdout("Loading".into()),
        Act::StderrFlood(100_000),
        Act::Stderr("\u{1b}[31mError: API_TOKEN is not set\u{1b}[0m".into()),
        Act::Exit(3),
    ];
    let error = ask(&script("dies").on("start", acts)).await.unwrap_err();
    assert_eq!(error.reason, Reason::Exited { code: Some(3), signal: None });
    assert_eq!(error.stage, Stage::Starting);
    assert_eq!(error.stderr.last().map(String::as_str), Some("Error: API_TOKEN is not set"));
    assert_eq!(error.stdout, ["Loading"]);
    let text = error.explain().to_string();
    assert!(text.contains("ended before it listed its tools (exit code 3, after"), "{text}");
    assert!(text.ends_with("\n  try      set it in the environment"), "{text}");
}

#[tokio::test]
async fn death_by_a_signal_tells_which() {
    let error = ask(&script("killed").on("tools/list", [Act::Signal(9)])).await.unwrap_err();
    assert_eq!(error.reason, Reason::Exited { code: None, signal: Some(9) });
    assert_eq!(error.stage, Stage::Listing);
    assert!(error.to_string().contains("(by SIGKILL, after"), "{error}");
}

#[tokio::test]
async fn death_that_leaves_the_output_open_is_noticed() {
    let error = ask(&script("orphan").on("initialize", [Act::Grandchild, Act::Exit(1)])).await.unwrap_err();
    assert_eq!(error.reason, Reason::Exited { code: Some(1), signal: None });
}

#[tokio::test]
async fn a_launcher_may_end_before_its_server() {
    let script = script("launched").tool("a").on("initialize", [Act::Sleep(400)]);
    let path = scripted_mcp::path().to_string_lossy().into_owned();
    // A background job of a shell gets no standard input unless it is handed one.
    let spec = ServerSpec::stdio(
        "sh",
        ["-c", r#"exec 3<&0; "$@" <&3 & exit 0"#, "sh", &path, &script.to_json()].map(str::to_owned),
    );
    let listing = list(&spec, &patient(), &no_progress).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    assert_eq!(listing.anomalies, [Anomaly::LauncherEnded]);
    assert_eq!(running(&script.name), Vec::<String>::new());
}

#[tokio::test]
async fn a_closed_output_is_noticed() {
    let acts = [Act::Grandchild, Act::CloseStdout, Act::Sleep(600_000)];
    // The grandchild holds the output open in the first case, nobody does in the second.
    let mut options = patient();
    options.timeout = Duration::from_secs(3);
    let error = ask_with(&script("held").on("initialize", acts.clone()), options).await.unwrap_err();
    assert!(matches!(error.reason, Reason::TimedOut { waiting_for: "initialize", .. }), "{error}");
    let script = script("closed").on("initialize", acts.into_iter().skip(1));
    assert_eq!(ask(&script).await.unwrap_err().reason, Reason::OutputClosed);
}

#[tokio::test]
async fn silence_ends_at_the_timeout_and_leaves_nothing() {
    let options = patient().with_timeout(Duration::from_secs(2));
    let page = scripted_mcp::Page { next: Some("on".into()), ..Default::default() };
    let mut script =
        script("silent").tool("a").page(page).on("tools/list", [Act::Grandchild, Act::Sleep(600_000)]);
    script.linger = true;
    let error = ask_with(&script, options).await.unwrap_err();
    assert_eq!(
        error.reason,
        Reason::TimedOut { limit: Duration::from_secs(2), waiting_for: "tools/list", pages: 0 }
    );
    assert!(error.explain().to_string().contains("--timeout 4"), "{}", error.explain());
}

#[tokio::test]
async fn a_slow_start_is_waited_for() {
    let told = std::sync::atomic::AtomicUsize::new(0);
    let watch = |progress: deadweight_mcp::Progress<'_>| {
        if progress.stage == Stage::Starting && !progress.elapsed.is_zero() {
            told.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    };
    let script = script("slow").tool("a").on("start", [Act::Sleep(1_300)]);
    let listing = list(&spec(&script), &patient(), &watch).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    assert!(listing.elapsed >= Duration::from_millis(1_300));
    assert!(told.into_inner() >= 3, "progress is told while nothing happens");
}

#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    // Nobody minds SIGTERM.
    let script = script("family").tool("a").on("start", [Act::Grandchild, Act::Grandchild]);
    assert_eq!(names(&ask(&script).await.unwrap()), ["a"]);
    // The server goes on without input, and everybody ignores SIGTERM.
    let mut stubborn_script = crate::support::script("stubborn").tool("a").on("start", [Act::Grandchild]);
    stubborn_script.linger = true;
    let mut options = patient();
    options.grace = Duration::from_millis(200);
    let listing = list(&stubborn(&stubborn_script), &options, &no_progress).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    assert_eq!(running(&stubborn_script.name), Vec::<String>::new());
}

#[tokio::test]
async fn a_question_that_is_dropped_leaves_nothing() {
    let script = script("dropped").on("start", [Act::Grandchild, Act::Sleep(600_000)]);
    let spec = stubborn(&script);
    let options = patient();
    let started = || running(&script.name).iter().any(|process| process.contains("--for-ever"));
    tokio::select! {
        answer = list(&spec, &options, &no_progress) => panic!("{answer:?}"),
        () = eventually("the start", started) => {}
    }
    eventually("the end", || running(&script.name).is_empty()).await;
}

#[tokio::test]
async fn the_end_of_this_process_ends_them_all() {
    // nextest runs every test in a process of its own; `end_all` lets no server start afterwards.
    if std::env::var_os("NEXTEST").is_none() {
        return;
    }
    let scripts: Vec<Script> =
        (0..3).map(|_| script("ended").on("start", [Act::Grandchild, Act::Sleep(600_000)])).collect();
    let specs: Vec<ServerSpec> = scripts.iter().map(stubborn).collect();
    let asking = tokio::spawn(async move {
        deadweight_mcp::list_all(&specs, &patient(), &no_progress)
            .await
            .into_iter()
            .filter(Result::is_ok)
            .count()
    });
    let started =
        |script: &Script| running(&script.name).iter().any(|process| process.contains("--for-ever"));
    eventually("the start", || scripts.iter().all(started)).await;
    tokio::task::spawn_blocking(|| deadweight_mcp::end_all(Duration::from_millis(100))).await.unwrap();
    for script in &scripts {
        eventually("the end", || running(&script.name).is_empty()).await;
    }
    assert_eq!(asking.await.unwrap(), 0);
    let late = script("late").tool("a");
    let error = list(&spec(&late), &patient(), &no_progress).await.unwrap_err();
    assert!(matches!(error.reason, Reason::NotStarted { .. }), "{error}");
}

#[tokio::test]
async fn programs_that_cannot_be_started_say_why() {
    let start = async |program: &str, cwd: Option<&str>| {
        let mut spec = ServerSpec::stdio(program, Vec::<String>::new());
        if let deadweight_mcp::Transport::Stdio { cwd: own, .. } = &mut spec.transport {
            *own = cwd.map(Into::into);
        }
        list(&spec, &patient(), &no_progress).await.unwrap_err()
    };
    let missing = unique("no-such-program");
    assert_eq!(start(&missing, None).await.reason, Reason::ProgramNotFound { program: missing });
    assert!(matches!(start("/", None).await.reason, Reason::ProgramNotExecutable { .. }));
    let error = start("cat", Some("/no/such/folder")).await;
    assert_eq!(error.reason, Reason::NoWorkingDirectory { cwd: "/no/such/folder".into() });
    assert!(error.explain().to_string().contains("  cwd      /no/such/folder"), "{}", error.explain());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server");
    std::fs::write(&file, "#!/no/such/interpreter\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = start(&file.to_string_lossy(), None).await;
    assert!(error.to_string().ends_with("names an interpreter that is not there"), "{error}");
}
