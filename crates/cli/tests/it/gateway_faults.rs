//! The gateway when things go wrong around it: it is killed, its ledger cannot be used or is taken away, the system has no
//! descriptors left. Whatever happens to what it writes down, requests pass.

use crate::gateway::{Running, ask, eventually, start_by};
use crate::sandbox::Sandbox;
use deadweight_store::{Exchange, Ledger, Order, Page, Which};
use deadweight_testkit::raw_http::RawHttp;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ANSWER: &str = r#"{"type":"message","usage":{"input_tokens":7,"output_tokens":1}}"#;

fn provider() -> RawHttp {
    RawHttp::start(|_, answer| answer.json(200, ANSWER)).unwrap()
}

/// A gateway in front of a provider, under limits that the shell sets: `ulimit -f 8`, for instance.
fn start(sandbox: &Sandbox, limits: &str, listen: &str, provider: &RawHttp, ledger: &str) -> Running {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}\nexec \"$@\""), "sh", env!("CARGO_BIN_EXE_deadweight")]);
    shell.args(["gateway", "--json", "--listen", listen, "--ledger", ledger, "--upstream"]);
    shell.arg(format!("anthropic={}", provider.at("")));
    start_by(&mut shell, sandbox)
}

/// A turn of a conversation that has so many.
fn turn(conversation: &str, turns: usize) -> String {
    let said = |at: usize| {
        format!(
            r#"{{"role":"user","content":"this is what was asked for at {at} in {conversation}"}},{{"role":"assistant","content":"and this is what was done about it at {at}"}},"#
        )
    };
    let before: String = (0..turns).map(said).collect();
    format!(
        r#"{{"model":"claude-opus-4-8","max_tokens":9,"system":"You do as {conversation} says.","messages":[{before}{{"role":"user","content":"and what now?"}}]}}"#
    )
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Every exchange of a ledger, the oldest first, after SQLite itself has found nothing wrong with it.
fn recorded(file: &Path) -> Vec<Exchange> {
    now(async {
        use sqlx::{ConnectOptions, Connection};
        let mut connection =
            sqlx::sqlite::SqliteConnectOptions::new().filename(file).connect().await.unwrap();
        let (whole,): (String,) =
            sqlx::query_as("PRAGMA integrity_check").fetch_one(&mut connection).await.unwrap();
        assert_eq!(whole, "ok");
        connection.close().await.unwrap();
        let mut all = Vec::new();
        let Some(mut ledger) = Ledger::open(file).await.unwrap() else { return all };
        loop {
            let page = Page { limit: 1_000, offset: u32::try_from(all.len()).unwrap() };
            let next = ledger.exchanges(&Which::default(), Order::Oldest, page).await.unwrap();
            if next.is_empty() {
                return all;
            }
            all.extend(next);
        }
    })
}

/// Says that it is over when it goes.
struct Ends<'o>(&'o AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How many sessions a ledger remembers for a gateway that is started anew.
fn remembered(file: &Path) -> usize {
    now(async { Ledger::open(file).await.unwrap().unwrap().lineages(0, 100).await.unwrap().len() })
}

/// A port that nobody listens on, for a gateway that comes back to where it was.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn one_that_is_killed_at_any_moment_comes_back_and_goes_on() {
    let (provider, sandbox, address) = (provider(), Sandbox::new(), free());
    let file = sandbox.path().join("ledger.sqlite");
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut started = 0;
    std::thread::scope(|scope| {
        // Also where the test fails: else the clients go on for ever.
        let _ends = Ends(&over);
        for client in ["one", "two", "three"] {
            let (address, over, answered) = (&address, &over, &answered);
            scope.spawn(move || {
                // As clients do: a request that was broken off is sent again.
                let mut turns = 1;
                while !over.load(Ordering::Relaxed) {
                    match ask(address, "/v1/messages", &turn(client, turns)) {
                        Ok(answer) if answer.ends_with(ANSWER) => {
                            turns += 1;
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(answer) => assert!(!answer.contains("HTTP/1.1 2"), "{answer}"),
                        Err(_) => std::thread::sleep(Duration::from_millis(3)),
                    }
                    // Now and then it is taken back to its beginning, so that bodies stay small.
                    if turns == 40 {
                        turns = 1;
                    }
                }
            });
        }
        for round in 0..12_u64 {
            let mut gateway = start(&sandbox, "", &address, &provider, "ledger.sqlite");
            let before = answered.load(Ordering::Relaxed);
            eventually("clients are answered again", || answered.load(Ordering::Relaxed) > before + 3);
            // At another moment of what the writer does each time: it gathers, writes, and folds its log in.
            std::thread::sleep(Duration::from_millis(round * 53 % 401));
            if round == 11 {
                eventually("what is remembered is not written down", || remembered(&file) == 3);
            }
            gateway.child.kill().unwrap();
            gateway.child.wait().unwrap();
        }
        let gateway = start(&sandbox, "", &address, &provider, "ledger.sqlite");
        started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let before = answered.load(Ordering::Relaxed);
        eventually("clients are answered at last", || answered.load(Ordering::Relaxed) > before + 100);
        over.store(true, Ordering::Relaxed);
        let (code, log) = gateway.stop();
        assert_eq!(code, Some(0), "{log}");
        assert!(!log.contains("not recorded"), "{log}");
    });
    let all = recorded(&file);
    assert!(all.len() > 100 && all.len() <= provider.requests().len(), "{}", all.len());
    for one in &all {
        assert!(one.footprint.is_some() && one.turn.is_some(), "{one:?}");
        assert!(one.ended.status == Some(200) || one.ended.how != "complete", "{one:?}");
        assert_eq!(one.receipt.received_sha256, one.receipt.sent_sha256);
    }
    // What was remembered of the conversations is taken up again: none of the last was met in the middle.
    let last: Vec<_> = all.iter().filter(|one| u128::from(one.at_ms) >= started).collect();
    assert!(last.len() > 50, "{}", last.len());
    for watch in last.iter().filter_map(|one| one.cache.as_ref()) {
        assert!(!["first", "joined"].contains(&watch.class.as_str()), "{watch:?}");
    }
}

/// Sends so many requests, each of which must be answered; what the gateway says in its log, and how it ends.
fn served(gateway: Running, requests: usize) -> String {
    for at in 0..requests {
        let answer = gateway.ask("/v1/messages", &turn("one", at % 30));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(ANSWER), "{answer}");
    }
    let (code, log) = gateway.stop();
    assert_eq!(code, Some(0), "{log}");
    log
}

#[test]
fn a_ledger_that_cannot_be_used_is_told_of_once_and_requests_pass() {
    let noise = "this is no database, but it is long enough to be taken for one ".repeat(200);
    let sandbox = Sandbox::new().file("noise.sqlite", &noise).file("file", "");
    for (limits, ledger, why) in [
        ("", "noise.sqlite", "damaged"),
        ("", "file/ledger.sqlite", "cannot be opened"),
        ("", "/proc/sys/ledger.sqlite", "cannot be opened"),
        ("", "/proc/version", "ledger"),
        // No room for the first page, and none for what comes after some hundred lines.
        ("ulimit -f 1", "full.sqlite", "ledger"),
        ("ulimit -f 2400", "fuller.sqlite", "ledger"),
    ] {
        let provider = provider();
        let requests = if ledger == "fuller.sqlite" { 1_500 } else { 10 };
        let log = served(start(&sandbox, limits, "0", &provider, ledger), requests);
        let told: Vec<&str> = log.lines().filter(|line| line.contains("not recorded")).collect();
        assert_eq!(told.len(), 1, "{ledger}: {log}");
        assert!(told[0].contains(why) && told[0].contains("--ledger"), "{}", told[0]);
        assert_eq!(provider.requests().len(), requests, "{ledger}");
    }
    assert_eq!(std::fs::read_to_string(sandbox.path().join("noise.sqlite")).unwrap(), noise);
    let kept = recorded(&sandbox.path().join("fuller.sqlite"));
    assert!(!kept.is_empty() && kept.len() < 1_500, "{}", kept.len());
}

#[test]
fn a_ledger_that_others_hold_makes_nobody_wait_and_is_written_when_they_let_go() {
    let (provider, sandbox) = (provider(), Sandbox::new());
    let file = sandbox.path().join("ledger.sqlite");
    assert!(!served(start(&sandbox, "", "0", &provider, "ledger.sqlite"), 1).contains("not recorded"));
    let gateway = start(&sandbox, "", "0", &provider, "ledger.sqlite");
    now(async {
        use sqlx::{ConnectOptions, Connection};
        let mut holder = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
        let held = holder.begin_with("BEGIN IMMEDIATE").await.unwrap();
        for at in 0..50 {
            assert!(gateway.ask("/v1/messages", &turn("one", at)).ends_with(ANSWER));
        }
        held.rollback().await.unwrap();
    });
    eventually("what passed meanwhile is not there", || recorded(&file).len() == 51);
    let (code, log) = gateway.stop();
    assert_eq!((code, log.contains("not recorded")), (Some(0), false), "{log}");
}

#[test]
fn a_ledger_that_is_taken_away_is_told_of_once_and_made_anew() {
    let (provider, sandbox) = (provider(), Sandbox::new());
    let file = sandbox.path().join("ledger.sqlite");
    let gateway = start(&sandbox, "", "0", &provider, "ledger.sqlite");
    for round in 0..3 {
        assert!(gateway.ask("/v1/messages", &turn("one", round + 1)).ends_with(ANSWER));
        eventually("there is no ledger", || file.exists() && recorded(&file).len() == 1);
        std::fs::remove_file(&file).unwrap();
    }
    assert!(gateway.ask("/v1/messages", &turn("one", 4)).ends_with(ANSWER));
    let (code, log) = gateway.stop();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(log.matches("was deleted or replaced").count(), 1, "{log}");
    assert!(!log.contains("not recorded"), "{log}");
    // The conversation is the one that it was.
    let all = recorded(&file);
    assert_eq!((all.len(), all[0].turn), (1, Some(4)));
}

#[test]
fn a_run_whose_files_may_not_grow_is_no_end_of_the_agent() {
    let sandbox = Sandbox::new();
    let line = format!(
        "ulimit -f 1; exec {} run --ledger full.sqlite -- sh -c 'echo it ran; exit 7'",
        env!("CARGO_BIN_EXE_deadweight")
    );
    let output = Command::new("sh")
        .args(["-c", &line])
        .env("HOME", sandbox.path())
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "it ran\n");
}

/// Sends a request on a connection that stays.
fn say(stream: &mut TcpStream, method: &str, path: &str, body: &str) {
    let length = body.len();
    let text =
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).unwrap();
}

/// Reads until a text has come.
fn hear(stream: &mut TcpStream, end: &str) {
    let mut heard = Vec::new();
    let mut piece = [0; 4_096];
    while !heard.ends_with(end.as_bytes()) {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&piece[..count]);
    }
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

#[test]
fn five_thousand_connections_are_held_and_served() {
    const MANY: usize = 5_000;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let (provider, sandbox) = (provider(), Sandbox::new());
    let gateway = start(&sandbox, "", "0", &provider, "ledger.sqlite");
    let mut all: Vec<TcpStream> = (0..MANY).map(|_| connect(&gateway.address)).collect();
    for _ in 0..2 {
        all.iter_mut().for_each(|stream| say(stream, "GET", "/healthz", ""));
        all.iter_mut().for_each(|stream| hear(stream, "ok\n"));
    }
    // And what they are there for.
    let step = MANY / 50;
    for stream in all.iter_mut().step_by(step) {
        say(stream, "POST", "/v1/messages", &turn("one", 3));
    }
    all.iter_mut().step_by(step).for_each(|stream| hear(stream, ANSWER));
    assert!(gateway.ask("/v1/messages", &turn("two", 3)).ends_with(ANSWER));
    assert_eq!(provider.requests().len(), 51);
    drop(all);
    let (code, log) = gateway.stop();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn without_descriptors_it_waits_and_goes_on_when_there_are_some() {
    let (provider, sandbox) = (provider(), Sandbox::new());
    let gateway = start(&sandbox, "ulimit -n 48", "0", &provider, "ledger.sqlite");
    assert!(gateway.ask("/v1/messages", &turn("one", 0)).ends_with(ANSWER));
    let mut all: Vec<TcpStream> = (0..80).map(|_| connect(&gateway.address)).collect();
    all.iter_mut().for_each(|stream| say(stream, "GET", "/healthz", ""));
    // Those that were let in are served, and there is nobody for the others yet.
    hear(&mut all[0], "ok\n");
    let last = all.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(last.read(&mut [0; 16]).is_err(), "there were descriptors for everybody");
    last.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A client that leaves makes room for one that waits.
    let last = all.pop().unwrap();
    drop(all);
    let mut last = last;
    hear(&mut last, "ok\n");
    let answered = || {
        let answer = ask(&gateway.address, "/v1/messages", &turn("one", 1));
        answer.is_ok_and(|text| text.ends_with(ANSWER))
    };
    eventually("no request passes any more", answered);
    // The ledger as well, which may have been without one itself.
    let file = sandbox.path().join("ledger.sqlite");
    eventually("nothing is recorded any more", || answered() && file.exists() && recorded(&file).len() >= 2);
    let (code, log) = gateway.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("could not be accepted"), "{log}");
}
