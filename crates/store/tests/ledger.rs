//! The ledger as its users meet it: many processes, broken files, sudden ends.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use deadweight_store::{Call, Cause, Filter, Kind, Ledger, Listing, Outcome, Recorder, Totals};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

fn call(at_ms: u64, kind: Kind, server: &str, tool: &str) -> Call {
    Call {
        at_ms,
        kind,
        server: server.to_owned(),
        tool: tool.to_owned(),
        client: "tests 1".to_owned(),
        session: format!("of {}", std::process::id()),
        bytes_in: 10,
        bytes_out: 100,
        duration_us: 1_000,
        outcome: Outcome::Ok,
        loaded: kind == Kind::Load,
        surface: "stubs".to_owned(),
    }
}

fn recorder(file: &Path) -> Recorder {
    Recorder::start(file.to_owned(), |error| panic!("{error}"))
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn totals(file: &Path) -> Totals {
    now(async { Ledger::open(file).await.unwrap().unwrap().totals(Filter::default()).await.unwrap() })
}

/// This test binary once more, playing the other part of the test of this name: there [`told`] says so.
fn part(name: &str, file: &Path, lines: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("LEDGER_UNDER_TEST", file)
        .env("LINES_OF_TEST", lines.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The ledger and the lines of a part, in the process that plays it.
fn told() -> Option<(PathBuf, u64)> {
    let told = |name| std::env::var(name).ok();
    Some((told("LEDGER_UNDER_TEST")?.into(), told("LINES_OF_TEST")?.parse().unwrap()))
}

fn write_fast(file: &Path, lines: u64) {
    let recorder = recorder(file);
    for at in 0..lines {
        // As fast as a process can; what the queue cannot take is what real calls never bring.
        while recorder.recorded().written + 2_000 < at {
            std::thread::sleep(Duration::from_millis(1));
        }
        recorder.record(call(at, Kind::Call, "house", "ring"));
    }
    assert!(recorder.flush(LONG));
    assert_eq!((recorder.recorded().written, recorder.recorded().dropped), (lines, 0));
}

fn write_until_killed(file: &Path, lines: u64) {
    let recorder = recorder(file);
    let began = Instant::now();
    for at in 0..lines {
        let at_ms = u64::try_from(began.elapsed().as_millis()).unwrap();
        recorder.record(call(at_ms, Kind::Call, "house", &at.to_string()));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn eight_processes_write_a_thousand_lines_each() {
    if let Some((file, lines)) = told() {
        return write_fast(&file, lines);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let writers: Vec<Child> =
        (0..8).map(|_| part("eight_processes_write_a_thousand_lines_each", &file, 1_000)).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let totals = totals(&file);
    assert_eq!((totals.calls, totals.sessions), (8_000, 8));
    assert_eq!((totals.bytes_in, totals.bytes_out, totals.duration_us), (80_000, 800_000, 8_000_000));
}

#[test]
fn a_process_that_is_killed_loses_at_most_the_last_second() {
    if let Some((file, lines)) = told() {
        return write_until_killed(&file, lines);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let mut writer = part("a_process_that_is_killed_loses_at_most_the_last_second", &file, 1_000_000);
    // Not before it has begun to write.
    let began = Instant::now();
    while now(Ledger::open(&file)).ok().flatten().is_none() {
        assert!(began.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = Instant::now();
    std::thread::sleep(Duration::from_millis(2_500));
    writer.kill().unwrap();
    let lived = u64::try_from(seen.elapsed().as_millis()).unwrap();
    writer.wait().unwrap();
    let last = totals(&file).last_ms.unwrap();
    assert!(
        last + 1_000 >= lived,
        "lived {lived} ms after the ledger was made, the last line is of {last} ms"
    );
}

#[test]
fn lines_are_summed_up_by_server_and_tool() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    recorder.record(call(1_000, Kind::Call, "house", "ring"));
    recorder.record(Call { outcome: Outcome::Crashed, ..call(3_000, Kind::Call, "house", "ring") });
    recorder.record(Call { loaded: true, ..call(2_000, Kind::Call, "house", "ring") });
    recorder.record(call(1_500, Kind::Load, "house", "ring"));
    recorder.record(call(4_000, Kind::Call, "house", "book"));
    recorder.record(call(500, Kind::Search, "", ""));
    for outcome in Outcome::ALL {
        recorder.record(Call { outcome, ..call(9_000, Kind::Call, "shed", "dig") });
    }
    assert!(recorder.flush(LONG));
    now(async {
        let mut ledger = Ledger::open(&file).await.unwrap().unwrap();
        let usage = ledger.usage(Filter::default()).await.unwrap();
        let names: Vec<_> = usage.iter().map(|one| (one.server.as_str(), one.tool.as_str())).collect();
        assert_eq!(names, [("", ""), ("house", "book"), ("house", "ring"), ("shed", "dig")]);
        let ring = usage[2].totals;
        assert_eq!((ring.calls, ring.calls_unloaded, ring.calls_failed, ring.loads), (3, 2, 1, 1));
        assert_eq!((ring.bytes_in, ring.bytes_out, ring.load_bytes), (30, 300, 100));
        assert_eq!((ring.first_ms, ring.last_ms), (Some(1_000), Some(3_000)));
        assert_eq!((usage[0].totals.searches, usage[0].totals.load_bytes), (1, 100));
        let dig = usage[3].totals;
        assert_eq!((dig.calls, dig.calls_failed, dig.calls_refused), (7, 5, 1));
        let since = Filter { since_ms: Some(2_500), ..Filter::default() };
        assert_eq!(ledger.totals(since).await.unwrap().calls, 9);
        let of_house = Filter { server: Some("house"), ..Filter::default() };
        assert_eq!(ledger.totals(of_house).await.unwrap().calls, 4);
        let nobody = Filter { server: Some("nobody"), ..Filter::default() };
        assert_eq!(ledger.totals(nobody).await.unwrap(), Totals::default());
    });
}

#[test]
fn where_nothing_was_recorded_there_is_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    assert!(now(Ledger::open(&folder.path().join("none.sqlite"))).unwrap().is_none());
    assert!(!folder.path().join("none.sqlite").exists());
}

/// Records three lines into a ledger that cannot be used; why it says so, how often, and what it counts.
fn recorded_in_vain(file: &Path) -> (Cause, u64) {
    let (sender, causes) = channel();
    let recorder = Recorder::start(file.to_owned(), move |error| {
        assert!(!error.remedy().is_empty() && !error.to_string().is_empty());
        sender.send(error.cause).unwrap();
    });
    for at in 0..3 {
        recorder.record(call(at, Kind::Call, "house", "ring"));
        assert!(recorder.flush(LONG));
    }
    let dropped = recorder.recorded().dropped;
    assert_eq!(recorder.recorded().written, 0);
    drop(recorder);
    let causes: Vec<Cause> = causes.iter().collect();
    assert_eq!(causes.len(), 1, "{causes:?}");
    (causes[0], dropped)
}

#[test]
fn a_file_that_is_no_database_loses_lines_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let noise = "this is no database, but it is long enough to be taken for one ".repeat(100);
    std::fs::write(&file, &noise).unwrap();
    assert_eq!(recorded_in_vain(&file), (Cause::Corrupt, 3));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), noise);
    assert_eq!(now(Ledger::open(&file)).unwrap_err().cause, Cause::Corrupt);
}

#[test]
fn a_database_with_a_broken_page_loses_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let first = recorder(&file);
    first.record(call(1, Kind::Call, "house", "ring"));
    assert!(first.flush(LONG));
    drop(first);
    // Until its thread has ended and the log is folded into the file.
    let began = Instant::now();
    while folder.path().join("ledger.sqlite-wal").exists() && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4_096..].fill(0xA5);
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(recorded_in_vain(&file), (Cause::Corrupt, 3));
}

#[test]
fn a_folder_that_is_a_file_loses_lines() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), "x").unwrap();
    assert_eq!(recorded_in_vain(&folder.path().join("data/ledger.sqlite")), (Cause::Unopened, 3));
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_loses_lines() {
    // Where nobody may make a file, not even root.
    assert_eq!(recorded_in_vain(Path::new("/proc/sys/ledger.sqlite")), (Cause::Unopened, 3));
    assert_eq!(recorded_in_vain(Path::new("/proc/version")).1, 3);
}

#[test]
fn while_another_program_holds_it_lines_wait_and_recording_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let first = recorder(&file);
    first.record(call(1, Kind::Call, "house", "ring"));
    assert!(first.flush(LONG));
    let (sender, causes) = channel();
    let second = Recorder::start(file.clone(), move |error| sender.send(error.cause).unwrap());
    now(async {
        use sqlx::{ConnectOptions, Connection};
        let mut holder = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
        let held = holder.begin_with("BEGIN EXCLUSIVE").await.unwrap();
        let began = Instant::now();
        for at in 0..2_000 {
            second.record(call(at, Kind::Call, "house", "ring"));
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(second.recorded().written, 0);
        held.rollback().await.unwrap();
    });
    assert!(second.flush(LONG));
    assert_eq!((second.recorded().written, second.recorded().dropped), (2_000, 0));
    drop(second);
    assert_eq!(causes.iter().count(), 0);
    assert_eq!(totals(&file).calls, 2_001);
}

/// What recorders were told, and the lines that the ledger has then.
#[cfg(unix)]
fn taken_away(how: impl Fn(&Path)) -> (Vec<Cause>, u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/ledger.sqlite");
    let (sender, causes) = channel();
    let recorder = Recorder::start(file.clone(), move |error| sender.send(error.cause).unwrap());
    for at in 0..3 {
        recorder.record(call(at, Kind::Call, "house", "ring"));
        assert!(recorder.flush(LONG));
        assert!(file.exists());
        how(&file);
    }
    recorder.record(call(9, Kind::Call, "house", "book"));
    assert!(recorder.flush(LONG));
    let written = recorder.recorded().written;
    drop(recorder);
    (causes.iter().collect(), written, totals(&file).calls)
}

#[cfg(unix)]
#[test]
fn a_ledger_that_is_taken_away_is_made_anew_and_that_is_told_once() {
    let delete = |file: &Path| std::fs::remove_file(file).unwrap();
    assert_eq!(taken_away(delete), (vec![Cause::Gone], 4, 1));
    let with_all = |file: &Path| {
        for name in std::fs::read_dir(file.parent().unwrap()).unwrap() {
            std::fs::remove_file(name.unwrap().path()).unwrap();
        }
    };
    assert_eq!(taken_away(with_all), (vec![Cause::Gone], 4, 1));
    let folder = |file: &Path| std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    assert_eq!(taken_away(folder), (vec![Cause::Gone], 4, 1));
    let other = tempfile::tempdir().unwrap();
    let old = other.path().join("old.sqlite");
    let renamed = |file: &Path| std::fs::rename(file, &old).unwrap();
    assert_eq!(taken_away(renamed), (vec![Cause::Gone], 4, 1));
    // With all that was written to it, also what stood in the log that was left behind.
    assert_eq!(totals(&old).calls, 1);
    // Another one in its place: it is gone on with.
    let kept = other.path().join("kept.sqlite");
    let first = recorder(&kept);
    (0..5).for_each(|at| first.record(call(at, Kind::Call, "shed", "dig")));
    assert!(first.flush(LONG));
    drop(first);
    let began = Instant::now();
    while other.path().join("kept.sqlite-wal").exists() && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(10));
    }
    let replaced = |file: &Path| {
        std::fs::copy(&kept, file.with_extension("new")).unwrap();
        std::fs::rename(file.with_extension("new"), file).unwrap();
    };
    assert_eq!(taken_away(replaced), (vec![Cause::Gone], 4, 6));
}

#[test]
fn what_the_queue_cannot_take_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = Recorder::start(file.clone(), |_| ());
    for at in 0..50_000 {
        recorder.record(call(at, Kind::Call, "house", "ring"));
    }
    assert!(recorder.flush(LONG));
    let recorded = recorder.recorded();
    assert!(recorded.written >= 4_096, "{recorded:?}");
    assert_eq!(recorded.written + recorded.dropped, 50_000);
    assert_eq!(totals(&file).calls, recorded.written);
}

#[test]
fn of_each_server_and_client_the_last_list_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let one = |server: &str, client: &str, at_ms| Listing {
        entry: "house".to_owned(),
        server: server.to_owned(),
        client: client.to_owned(),
        at_ms,
        surface: "stubs".to_owned(),
        deferred: true,
        why: "it is large".to_owned(),
        tools: 3,
        estimator: "calibrated/1".to_owned(),
        before_tokens: 1_000,
        after_tokens: 100,
        own_tokens: 50,
        gross_tokens: 900,
        net_tokens: 850,
        load_tokens: 300,
        break_even: Some(2),
    };
    let grown = Listing { net_tokens: -5, break_even: None, deferred: false, ..one("b", "x", 3) };
    for listing in [one("b", "x", 1), one("a", "y", 2), grown.clone(), one("a", "x", 1)] {
        recorder.listed(listing);
    }
    assert!(recorder.flush(LONG));
    let all = now(async { Ledger::open(&file).await.unwrap().unwrap().listings().await.unwrap() });
    assert_eq!(all, [one("a", "x", 1), one("a", "y", 2), grown]);
}
