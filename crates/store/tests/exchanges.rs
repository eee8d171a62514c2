//! Exchanges, from a record to what is read of it: written whole, replaced, summed up, thrown away, exported.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use deadweight_store::{
    AsReceived, Asked, By, CacheWatch, Call, Cost, Ended, Exchange, Export, Footprint, Form, Kind, Ledger,
    LeverAction, Lineage, Name, Names, Observed, Order, Origin, Outcome, Page, Receipt, Recorder, Segment,
    SessionOrder, Shown, Slice, Splice, StandingPart, Table, ToolLine, ToolSet, Which, prune, vacuum,
};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

fn recorder(file: &Path) -> Recorder {
    Recorder::start(file.to_owned(), |error| panic!("{error}"))
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn open(file: &Path) -> Ledger {
    now(Ledger::open(file)).unwrap().unwrap()
}

fn tool(name: &str, server: &str, tokens: u64) -> ToolLine {
    ToolLine {
        name: name.to_owned(),
        namespace: String::new(),
        origin: if server.is_empty() { Origin::Builtin } else { Origin::Mcp },
        server: server.to_owned(),
        own_name: if server.is_empty() {
            String::new()
        } else {
            name.rsplit("__").next().unwrap().to_owned()
        },
        bytes: tokens * 9 / 2,
        tokens,
        description_tokens: tokens / 3,
        deferred: false,
    }
}

fn set() -> Arc<ToolSet> {
    ToolSet::new(vec![
        tool("Bash", "", 1_000),
        tool("mcp__house__ring", "house", 400),
        tool("mcp__shed__dig", "shed", 50),
    ])
}

fn slice(tokens: u64) -> Slice {
    Slice { wire_bytes: tokens * 4, content_bytes: tokens * 3, tokens }
}

/// Turn `turn` of `session`, with everything that can be said of it.
fn turn(session: &str, turn: u64) -> Exchange {
    Exchange {
        id: format!(
            "{:0>16}{turn:016x}",
            session.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()
        ),
        at_ms: 1_000_000 + turn * 60_000,
        provider: "anthropic".to_owned(),
        asked: Asked::Generate,
        dialect: Some("anthropic-messages".to_owned()),
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        model: Some("claude-x-1".to_owned()),
        agent: Some("claude-code".to_owned()),
        session: session.to_owned(),
        conversation: format!("{session}/main"),
        turn: Some(turn),
        ended: Ended {
            how: "complete".to_owned(),
            status: Some(200),
            error: None,
            request_id: Some("req_1".to_owned()),
            streamed: true,
            first_byte_us: Some(300_000),
            took_us: 2_000_000,
            answer_bytes: 5_000,
        },
        receipt: Receipt {
            received_bytes: 10_000,
            received_sha256: Some("ab".repeat(32)),
            sent_bytes: 10_000,
            sent_sha256: Some("ab".repeat(32)),
            splices: Vec::new(),
        },
        footprint: Some(Footprint {
            estimator: "calibrated/1".to_owned(),
            system: slice(500),
            tools: slice(1_450),
            history: slice(turn * 100),
            tail: slice(50),
            envelope_bytes: 77,
            standing: vec![StandingPart { kind: "memory_file".to_owned(), content_bytes: 30, tokens: 8 }],
            delta: None,
            tool_count: 3,
            deferred_count: 0,
            layout: vec![Segment {
                slice: "tools".to_owned(),
                kind: "tools".to_owned(),
                count: 3,
                content_bytes: 4_350,
                tokens: 1_450,
                breakpoint: Some("1h".to_owned()),
            }],
        }),
        unmeasured: None,
        usage: Observed {
            uncached: Some(10),
            cache_read: Some(1_900),
            cache_write_5m: Some(100),
            cache_write_1h: None,
            cache_write_unspecified: None,
            output: Some(40),
            reasoning: None,
            prompt: Some(2_010),
        },
        cost: Some(Cost {
            uncached: 30,
            cache_read: 500,
            cache_write_5m: 375,
            cache_write_1h: 0,
            output: 600,
            equivalent_tokens: Some(300),
            price_date: "2026-11-20".to_owned(),
        }),
        cache: Some(CacheWatch {
            class: if turn == 1 { "first" } else { "append" }.to_owned(),
            also: Vec::new(),
            kept_tokens: 1_900,
            lost_tokens: 0,
            lost_nano: Some(0),
            gap_ms: (turn > 1).then_some(60_000),
            miss_reason: None,
            agrees: Some(true),
            received: None,
        }),
        tools: Some(set()),
        calls: vec![("Bash".to_owned(), 2)],
        levers: vec![LeverAction {
            lever: "dedup".to_owned(),
            edited: false,
            reason: "nothing_twice".to_owned(),
            ..LeverAction::default()
        }],
    }
}

/// A turn that lost its prefix.
fn leak(session: &str, at: u64) -> Exchange {
    let one = turn(session, at);
    Exchange {
        conversation: format!("{session}/sub"),
        cache: Some(CacheWatch {
            class: "tool_set".to_owned(),
            also: vec!["system".to_owned()],
            lost_tokens: 1_950,
            lost_nano: Some(7_000),
            miss_reason: Some("tools_changed".to_owned()),
            received: Some(AsReceived {
                class: "tool_order".to_owned(),
                also: vec!["system".to_owned()],
                lost_tokens: 2_950,
                lost_nano: None,
            }),
            ..one.cache.clone().unwrap()
        }),
        usage: Observed {
            cache_read: Some(0),
            cache_write_5m: None,
            cache_write_1h: Some(2_000),
            ..one.usage
        },
        tools: Some(ToolSet::new(vec![tool("Bash", "", 1_100)])),
        calls: vec![("mcp__house__ring".to_owned(), 1)],
        ..one
    }
}

#[test]
fn a_record_comes_back_as_it_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let mut edited = turn("a", 2);
    edited.receipt.sent_bytes = 9_000;
    edited.receipt.splices = vec![Splice { at: 100, removed: 1_000, inserted: 0, lever: "dedup".to_owned() }];
    edited.levers[0].edited = true;
    edited.levers[0].break_even = Some(12);
    edited.levers[0].names = vec!["mcp__git__push".to_owned(), "odd \"name\"".to_owned()];
    let bare = Exchange {
        id: "b1".repeat(16),
        at_ms: 5,
        unmeasured: Some("too large".to_owned()),
        ..Exchange::default()
    };
    for one in [turn("a", 1), edited.clone(), leak("a", 3), bare.clone()] {
        recorder.exchange(one);
    }
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    for one in [turn("a", 1), edited, leak("a", 3), bare] {
        assert_eq!(now(ledger.exchange(&one.id)).unwrap().unwrap(), one);
    }
    assert_eq!(now(ledger.exchange("b1b1")).unwrap().unwrap().at_ms, 5);
    for nothing in ["", "c", "0", "' OR 1 --", "%"] {
        assert!(now(ledger.exchange(nothing)).unwrap().is_none(), "{nothing}");
    }
    let found = now(ledger.neighbours(&turn("a", 1))).unwrap();
    assert_eq!((found.before, found.after), (None, Some(turn("a", 2).id)));
    assert_eq!(now(ledger.session_that_begins("a")).unwrap().as_deref(), Some("a"));
}

/// This test binary once more, playing the other part of the test of this name: there [`told`] says so.
fn part(name: &str, file: &Path, through: &[&str]) -> Child {
    let own = std::env::current_exe().unwrap().display().to_string();
    let line: Vec<&str> = through.iter().copied().chain([own.as_str()]).collect();
    Command::new(line[0])
        .args(&line[1..])
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("LEDGER_UNDER_TEST", file)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The ledger of a part, in the process that plays it.
fn told() -> Option<PathBuf> {
    std::env::var_os("LEDGER_UNDER_TEST").map(PathBuf::from)
}

fn record_until_killed(file: &Path) {
    let (recorder, mut out) = (recorder(file), std::io::stdout());
    for at in 1..1_000_000 {
        recorder.exchange(turn("a", at));
        writeln!(out, "recorded {at}").unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_process_that_is_killed_loses_at_most_the_exchanges_of_its_last_second() {
    if let Some(file) = told() {
        return record_until_killed(&file);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let mut child =
        part("a_process_that_is_killed_loses_at_most_the_exchanges_of_its_last_second", &file, &[]);
    let mut times: Vec<Instant> = Vec::new();
    let mut killed = None;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        if line.unwrap().contains("recorded ") {
            times.push(Instant::now());
        }
        if killed.is_none() && times.len() >= 1_000 {
            child.kill().unwrap();
            killed = Some(Instant::now());
        }
    }
    child.wait().unwrap();
    let mut ledger = open(&file);
    let kept = now(ledger.count(&Which::default())).unwrap();
    let lost = times.len() - usize::try_from(kept).unwrap();
    let within = killed.unwrap().duration_since(times[usize::try_from(kept).unwrap().min(times.len() - 1)]);
    assert!(within <= Duration::from_secs(1), "{lost} exchanges of the last {within:?} are lost");
    // What is there is there with all that hangs on it.
    let last = now(ledger.exchange(&turn("a", kept).id)).unwrap().unwrap();
    assert_eq!(last, turn("a", kept));
}

fn record_without_room(file: &Path) {
    let (sender, told) = std::sync::mpsc::channel();
    let recorder = Recorder::start(file.to_owned(), move |error| sender.send(error.to_string()).unwrap());
    for at in 1..=3_000 {
        let began = Instant::now();
        recorder.exchange(turn("a", at));
        assert!(began.elapsed() < Duration::from_millis(500));
        if at % 500 == 0 {
            recorder.flush(LONG);
        }
    }
    recorder.flush(LONG);
    let recorded = recorder.recorded();
    assert_eq!(recorded.written + recorded.dropped, 3_000, "{recorded:?}");
    assert!(recorded.written > 0 && recorded.dropped > 0, "{recorded:?}");
    assert!(!told.recv_timeout(LONG).unwrap().is_empty());
    let mut out = std::io::stdout();
    writeln!(out, "written {}", recorded.written).unwrap();
}

#[cfg(unix)]
#[test]
fn where_there_is_no_more_room_the_rest_is_counted_and_what_was_written_stays() {
    if let Some(file) = told() {
        return record_without_room(&file);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    // No file may become larger than 1 MiB, for this process and its children.
    let bound = "trap '' XFSZ; ulimit -f 2048; exec \"$@\"";
    let child = part(
        "where_there_is_no_more_room_the_rest_is_counted_and_what_was_written_stays",
        &file,
        &["sh", "-c", bound, "sh"],
    );
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let written = text.lines().find_map(|line| line.split_once("written ")).unwrap().1.trim().parse::<u64>();
    // It is read, and goes on where there is room again.
    assert_eq!(now(open(&file).count(&Which::default())), Ok(written.unwrap()));
    let recorder = recorder(&file);
    recorder.exchange(turn("b", 1));
    assert!(recorder.flush(LONG));
    assert_eq!(recorder.recorded().written, 1);
}

#[test]
fn an_exchange_is_replaced_by_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let end = turn("a", 1);
    let begin = Exchange {
        ended: Ended { how: "open".to_owned(), ..Ended::default() },
        usage: Observed::default(),
        cost: None,
        ..end.clone()
    };
    recorder.exchange(begin);
    recorder.exchange(end.clone());
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    assert_eq!(now(ledger.count(&Which::default())).unwrap(), 1);
    assert_eq!(now(ledger.exchange(&end.id)).unwrap().unwrap(), end);
}

#[test]
fn exchanges_are_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    for session in ["a", "b"] {
        for at in 1..=4 {
            recorder.exchange(turn(session, at));
        }
    }
    recorder.exchange(leak("b", 5));
    let count = Exchange {
        id: "c0".repeat(16),
        at_ms: 1_000_000,
        asked: Asked::Count,
        session: "b".to_owned(),
        ended: Ended { how: "complete".to_owned(), status: Some(404), ..Ended::default() },
        footprint: turn("b", 1).footprint,
        ..Exchange::default()
    };
    recorder.exchange(count);
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    let all = Which::default();
    let sums = now(ledger.sums(&all)).unwrap();
    assert_eq!(
        (sums.exchanges, sums.turns, sums.measured, sums.sessions, sums.conversations),
        (10, 9, 9, 2, 3)
    );
    assert_eq!((sums.failed, sums.changed, sums.observed, sums.priced), (1, 0, 9, 9));
    assert_eq!((sums.floor_tokens(), sums.floor_a_turn()), (9 * 1_950, Some(1_950)));
    assert_eq!(
        (sums.prompt, sums.cache_read, sums.cache_write),
        (Some(9 * 2_010), Some(8 * 1_900), Some(2_800))
    );
    assert_eq!(
        (sums.input_nano, sums.write_nano, sums.output_nano),
        (Some(9 * 905), Some(9 * 375), Some(9 * 600))
    );
    assert_eq!((sums.lost_tokens, sums.lost_nano, sums.nano()), (1_950, Some(7_000), Some(9 * 1_505)));

    let nothing = now(ledger.sums(&Which::of_session("nobody"))).unwrap();
    assert_eq!(
        (nothing.exchanges, nothing.prompt, nothing.nano(), nothing.floor_a_turn()),
        (0, None, None, None)
    );

    let series = now(ledger.series(&all, 60_000)).unwrap();
    assert_eq!(series.iter().map(|bucket| bucket.sums.turns).collect::<Vec<_>>(), [0, 2, 2, 2, 2, 1]);
    assert!(series.iter().all(|bucket| bucket.start_ms.is_multiple_of(60_000)));

    let classes = now(ledger.groups(&Which { turns_only: true, ..all.clone() }, By::Class)).unwrap();
    let classes: Vec<_> =
        classes.iter().map(|group| (group.of.as_deref().unwrap(), group.sums.turns)).collect();
    assert_eq!(classes, [("append", 6), ("first", 2), ("tool_set", 1)]);

    let sessions = now(ledger.sessions(&all, SessionOrder::Turns, Page::first(10))).unwrap();
    let names: Vec<_> = sessions.iter().map(|one| (one.session.as_str(), one.sums.turns)).collect();
    assert_eq!(names, [("b", 5), ("a", 4)]);
    assert_eq!(
        (sessions[1].floor, sessions[1].total, sessions[1].peak),
        (Some(1_950), Some(2_400), Some(2_400))
    );
    assert_eq!((sessions[1].agent.as_deref(), sessions[1].models), (Some("claude-code"), 1));
    let second = now(ledger.sessions(&all, SessionOrder::Turns, Page { limit: 1, offset: 1 })).unwrap();
    assert_eq!(second[0].session, "a");

    let leaks = now(ledger.leaks(&all, 3)).unwrap();
    assert_eq!((leaks.exchanges.len(), leaks.tokens, leaks.of_tokens), (1, 1_950, 1_950));
    assert_eq!((leaks.written, leaks.of_written, leaks.of_turns), (2_000, 2_800, 9));

    let failed = Which { failed_only: true, ..Which::default() };
    assert_eq!(now(ledger.exchanges(&failed, Order::Newest, Page::first(9))).unwrap().len(), 1);
    let carries =
        |tool: bool, name: &str| Which { carries: Some((tool, name.to_owned())), ..Which::default() };
    assert_eq!(now(ledger.count(&carries(false, "house"))).unwrap(), 8);
    assert_eq!(now(ledger.count(&carries(true, "Bash"))).unwrap(), 9);
    let oldest = now(ledger.turns(&Which::of_session("a"), Order::Oldest, Page::first(2))).unwrap();
    assert_eq!(oldest.iter().map(|one| one.turn).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(oldest[0].calls, [("Bash".to_owned(), 2)]);
}

#[test]
fn what_was_not_answered_is_no_turn_in_any_sum() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let mut all = Vec::new();
    for how in ["complete", "client_left", "upstream_cut", "unreachable", "timed_out", "stopped", "open"] {
        for status in [None, Some(101), Some(200), Some(204), Some(304), Some(400), Some(529)] {
            for error in [None, Some("truncated"), Some("overloaded_error")] {
                for asked in Asked::ALL {
                    let number = all.len() as u64;
                    let mut one = Exchange { id: format!("{number:032x}"), asked, ..leak("s", 1) };
                    one.ended.how = how.to_owned();
                    (one.ended.status, one.ended.error) = (status, error.map(str::to_owned));
                    all.push(one);
                }
            }
        }
    }
    all.iter().for_each(|one| recorder.exchange(one.clone()));
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    let turns = all.iter().filter(|one| one.is_turn()).count() as u64;
    assert_eq!(turns, 4);
    let sums = now(ledger.sums(&Which::default())).unwrap();
    assert_eq!((sums.turns, sums.measured, sums.floor_tokens()), (turns, turns, turns * 1_950));
    assert_eq!((sums.lost_tokens, sums.lost_nano), (turns * 1_950, Some(turns * 7_000)));
    let asked = Which { turns_only: true, ..Which::default() };
    let of_asked = now(ledger.sums(&asked)).unwrap();
    let open_ones =
        all.iter().filter(|one| one.asked == Asked::Generate && one.ended.how == "open").count() as u64;
    assert_eq!(of_asked.exchanges, of_asked.turns + of_asked.failed + open_ones);
    let failed = now(ledger.count(&Which { failed_only: true, ..Which::default() })).unwrap();
    assert_eq!(failed, sums.failed);
    assert_eq!(now(ledger.count(&Which { answered_only: true, ..Which::default() })).unwrap(), turns);
    let bill = now(ledger.bill(&Which::default())).unwrap();
    assert_eq!((bill[0].turns, bill[0].weighted_tokens), (turns, turns * 1_100));
    let leaks = now(ledger.leaks(&Which::default(), 1_000)).unwrap();
    assert_eq!((leaks.exchanges.len() as u64, leaks.of_turns), (turns, turns));
}

#[test]
fn an_export_keeps_to_every_filter_and_reads_each_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    for at in 1..=700 {
        let mut one = turn("a", at);
        one.calls = vec![("Bash".to_owned(), 1), ("Read".to_owned(), 1)];
        recorder.exchange(one);
        if at % 200 == 0 {
            assert!(recorder.flush(LONG));
        }
    }
    recorder.exchange(Exchange {
        model: Some("other".to_owned()),
        agent: Some("codex".to_owned()),
        ..leak("b", 701)
    });
    let call = |at_ms, server: &str, client: &str| Call {
        at_ms,
        kind: Kind::Call,
        server: server.to_owned(),
        tool: "dig".to_owned(),
        client: client.to_owned(),
        session: "p-1".to_owned(),
        bytes_in: 1,
        bytes_out: 1,
        duration_us: 1,
        outcome: Outcome::Ok,
        loaded: true,
        surface: "stubs".to_owned(),
    };
    recorder.record(call(1_000, "shed", "codex"));
    recorder.record(call(2_000, "house", "claude-code"));
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    let mut lines = |table, which: &Which| {
        let mut out = Vec::new();
        let count =
            now(ledger.export(&Export { table, form: Form::JsonLines, which: which.clone() }, &mut out))
                .unwrap();
        let text = String::from_utf8(out).unwrap();
        let different: std::collections::BTreeSet<&str> = text.lines().collect();
        assert_eq!(different.len() as u64, count, "{table:?}");
        count
    };
    let all = Which::default();
    let counts = [Table::Exchanges, Table::Tools, Table::Called, Table::Levers, Table::Calls];
    assert_eq!(counts.map(|table| lines(table, &all)), [701, 4, 1_401, 701, 2]);
    for (which, counts) in [
        (Which::of_session("b"), [1, 1, 1, 1, 0]),
        (Which { model: Some("other".to_owned()), ..all.clone() }, [1, 1, 1, 1, 0]),
        (Which { agent: Some("codex".to_owned()), ..all.clone() }, [1, 1, 1, 1, 1]),
        (Which { class: Some("tool_set".to_owned()), ..all.clone() }, [1, 1, 1, 1, 0]),
        (Which { carries: Some((false, "house".to_owned())), ..all.clone() }, [700, 3, 1_400, 700, 1]),
        (Which { failed_only: true, ..all.clone() }, [0, 0, 0, 0, 0]),
        (Which { turns_only: true, ..all.clone() }, [701, 4, 1_401, 701, 0]),
        (Which { until_ms: Some(turn("a", 3).at_ms), ..all.clone() }, [2, 3, 4, 2, 2]),
    ] {
        let tables = [Table::Exchanges, Table::Tools, Table::Called, Table::Levers, Table::Calls];
        assert_eq!(tables.map(|table| lines(table, &which)), counts, "{which:?}");
    }
    // A table without a line has its head.
    let mut out = Vec::new();
    let export = Export { table: Table::Levers, form: Form::Csv, which: Which::of_session("nobody") };
    assert_eq!(now(ledger.export(&export, &mut out)).unwrap(), 0);
    assert_eq!(out, b"exchange,at_ms,session,lever,edited,reason,splices,bytes,tokens,decided,replayed,break_even,names\r\n");
}

#[test]
fn tools_are_billed_by_the_turns_that_carried_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    for at in 1..=4 {
        recorder.exchange(turn("a", at));
    }
    recorder.exchange(leak("b", 5));
    recorder.record(Call {
        at_ms: 9_000_000,
        kind: Kind::Call,
        server: "shed".to_owned(),
        tool: "dig".to_owned(),
        client: String::new(),
        session: String::new(),
        bytes_in: 1,
        bytes_out: 1,
        duration_us: 1,
        outcome: Outcome::Ok,
        loaded: true,
        surface: "stubs".to_owned(),
    });
    assert!(recorder.flush(LONG));
    let bill = now(open(&file).bill(&Which::default())).unwrap();
    let lines: Vec<_> = bill
        .iter()
        .map(|one| (one.name.as_str(), one.turns, one.tokens, one.weighted_tokens, one.calls))
        .collect();
    assert_eq!(
        lines,
        [
            ("Bash", 5, 1_100, 5_100, 8),
            ("mcp__house__ring", 4, 400, 1_600, 1),
            ("mcp__shed__dig", 4, 50, 200, 0)
        ]
    );
    assert_eq!((bill[0].sessions, bill[0].proxy_calls, bill[0].origin), (2, None, Origin::Builtin));
    assert_eq!((bill[1].proxy_calls, bill[1].called_ms), (Some(0), Some(1_300_000)));
    assert_eq!((bill[2].proxy_calls, bill[2].called_ms), (Some(1), Some(9_000_000)));
    // 4 turns at 905 nano-USD for 2,010 tokens, and 400 tokens of each.
    assert_eq!(bill[1].nano, Some(4 * 905 * 400 / 2_010));
}

#[test]
fn an_equal_set_of_tools_stands_in_the_ledger_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    for session in ["a", "b"] {
        // Two recorders, as of two processes.
        let recorder = recorder(&file);
        (1..=50).for_each(|at| recorder.exchange(turn(session, at)));
        assert!(recorder.flush(LONG));
    }
    let mut out = Vec::new();
    let export = Export { table: Table::Tools, form: Form::JsonLines, which: Which::default() };
    assert_eq!(now(open(&file).export(&export, &mut out)).unwrap(), 3);
}

#[test]
fn what_is_too_old_goes_with_all_that_hangs_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    (1..=5_000).for_each(|at| {
        while recorder.recorded().written + 1_000 < at {
            std::thread::sleep(Duration::from_millis(1));
        }
        recorder.exchange(turn("a", at));
    });
    recorder.exchange(leak("b", 100_000));
    recorder.lineage(Lineage { session: "a".to_owned(), at_ms: 1, state: vec![1], sent: None });
    recorder.lineage(Lineage {
        session: "b".to_owned(),
        at_ms: 7_000_000_000,
        state: vec![2],
        sent: Some(vec![3]),
    });
    assert!(recorder.flush(LONG));
    drop(recorder);
    let before = leak("b", 100_000).at_ms;
    let pruned = now(prune(&file, before)).unwrap().unwrap();
    assert_eq!((pruned.exchanges, pruned.tool_sets, pruned.lineages), (5_000, 1, 1));
    let mut ledger = open(&file);
    assert_eq!(now(ledger.exchange(&leak("b", 100_000).id)).unwrap().unwrap(), leak("b", 100_000));
    let lineages = now(ledger.lineages(0, 9)).unwrap();
    assert_eq!((lineages.len(), &lineages[0].sent), (1, &Some(vec![3])));
    for (table, lines) in [(Table::Tools, 1), (Table::Called, 1), (Table::Levers, 1), (Table::Exchanges, 1)] {
        let export = Export { table, form: Form::Csv, which: Which::default() };
        assert_eq!(now(ledger.export(&export, &mut Vec::new())).unwrap(), lines, "{table:?}");
    }
    drop(ledger);
    let sizes = now(vacuum(&file)).unwrap().unwrap();
    assert!(sizes.after * 4 < sizes.before, "{sizes:?}");
    assert_eq!(now(prune(&folder.path().join("none"), 0)).unwrap(), None);
    assert_eq!(now(vacuum(&folder.path().join("none"))).unwrap(), None);
}

#[test]
fn a_recorder_throws_away_what_is_too_old_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let first = recorder(&file);
    first.exchange(turn("a", 1));
    assert!(first.flush(LONG));
    let at_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let later = |line: Exchange| {
        let own =
            Recorder::keeping(file.clone(), Some(Duration::from_secs(3_600)), |error| panic!("{error}"));
        own.exchange(line);
        assert!(own.flush(LONG));
        assert!(own.flush(LONG));
    };
    let there = |line: &Exchange| now(open(&file).exchange(&line.id)).unwrap().is_some();
    // With one reading of the clock it is not known how late it is: it may be years ahead.
    later(Exchange { at_ms, ..turn("b", 2) });
    assert!(there(&turn("a", 1)));
    // What was written yesterday says that it is as late as that.
    later(Exchange { at_ms: at_ms - 86_400_000, ..turn("c", 3) });
    later(Exchange { at_ms, ..turn("d", 4) });
    assert!(!there(&turn("a", 1)));
    assert_eq!(now(open(&file).count(&Which::default())).unwrap(), 3);
}

#[test]
fn exports_are_read_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    for at in 1..=1_203 {
        while recorder.recorded().written + 1_000 < at {
            std::thread::sleep(Duration::from_millis(1));
        }
        recorder.exchange(turn("a", at));
    }
    let harm = Exchange { model: Some("=HYPERLINK(\"x\",\"a\nb\")".to_owned()), ..turn("z", 1_204) };
    recorder.exchange(harm);
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    let mut export = |table, form, which| {
        let mut out = Vec::new();
        let lines = now(ledger.export(&Export { table, form, which }, &mut out)).unwrap();
        (lines, String::from_utf8(out).unwrap())
    };
    let (lines, text) = export(Table::Exchanges, Form::JsonLines, Which::default());
    assert_eq!((lines, text.lines().count()), (1_204, 1_204));
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["tool_set"], set().hash());
    assert_eq!(
        (&first["streamed"], &first["write_1h"]),
        (&serde_json::json!(true), &serde_json::Value::Null)
    );
    assert_eq!(first["layout"], serde_json::json!([["tools", "tools", 3, 4_350, 1_450, "1h"]]));
    assert!(first.get("number").is_none() && first.get("key").is_none());

    let (_, text) = export(Table::Exchanges, Form::Csv, Which::of_session("z"));
    assert!(text.starts_with("id,at_ms,provider,kind,"), "{text}");
    assert!(text.contains(",\"'=HYPERLINK(\"\"x\"\",\"\"a\\nb\"\")\","), "{text}");
    assert!(text.ends_with("\r\n"));
    let since = Which { since_ms: Some(turn("a", 1_200).at_ms), ..Which::default() };
    assert_eq!(export(Table::Called, Form::Csv, since.clone()).0, 5);
    assert_eq!(export(Table::Calls, Form::Csv, since).0, 0);
}

#[test]
fn of_each_entry_and_client_the_last_names_count() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let names = |client: &str, at_ms, shown: &[&str]| Names {
        entry: "house".to_owned(),
        client: client.to_owned(),
        at_ms,
        tools: shown
            .iter()
            .map(|shown| Shown {
                shown: (*shown).to_owned(),
                server: "s".to_owned(),
                tool: shown.to_uppercase(),
            })
            .collect(),
    };
    recorder.names(names("x", 1, &["a", "b"]));
    recorder.names(names("y", 2, &["a"]));
    recorder.names(names("x", 3, &["c"]));
    assert!(recorder.flush(LONG));
    let all: Vec<Name> = now(open(&file).names()).unwrap();
    let read: Vec<_> =
        all.iter().map(|one| (one.client.as_str(), one.shown.as_str(), one.tool.as_str())).collect();
    assert_eq!(read, [("x", "c", "C"), ("y", "a", "A")]);
}

#[test]
fn layouts_of_any_length_are_bounded_and_lose_no_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let mut long = turn("a", 1);
    let footprint = long.footprint.as_mut().unwrap();
    let one = Segment { breakpoint: None, ..footprint.layout[0].clone() };
    footprint.layout = vec![one; 10_000];
    recorder.exchange(long.clone());
    assert!(recorder.flush(LONG));
    let read = now(open(&file).exchange(&long.id)).unwrap().unwrap().footprint.unwrap().layout;
    assert_eq!(read.len(), Footprint::SEGMENTS);
    let sum = |layout: &[Segment]| layout.iter().map(|one| one.tokens).sum::<u64>();
    assert_eq!(sum(&read), sum(&long.footprint.unwrap().layout));
}

#[test]
fn what_levers_did_is_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    let action = |lever: &str, edited, reason: &str, bytes| LeverAction {
        lever: lever.to_owned(),
        edited,
        decided: u64::from(edited),
        replayed: 0,
        reason: reason.to_owned(),
        splices: u64::from(edited),
        bytes,
        tokens: bytes / 4,
        ..LeverAction::default()
    };
    for (number, levers) in [
        vec![action("dedup", true, "", 4_000), action("elide-results", false, "not_cold", 0)],
        vec![action("dedup", true, "", -400), action("elide-results", false, "not_cold", 0)],
        vec![action("dedup", false, "nothing_new", 0), action("elide-results", false, "joined", 0)],
        Vec::new(),
    ]
    .into_iter()
    .enumerate()
    {
        recorder.exchange(Exchange { levers, ..turn("a", number as u64 + 1) });
    }
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    let sums = now(ledger.levers(&Which::default())).unwrap();
    let short: Vec<_> = sums
        .iter()
        .map(|own| (own.lever.as_str(), own.requests, own.edited, own.bytes, own.tokens))
        .collect();
    assert_eq!(short, [("dedup", 3, 2, 3_600, 900), ("elide-results", 3, 0, 0, 0)]);
    let reasons =
        |at: usize| sums[at].stood_down.iter().map(|(why, count)| (why.as_str(), *count)).collect::<Vec<_>>();
    assert_eq!((reasons(0), reasons(1)), (vec![("nothing_new", 1)], vec![("joined", 1), ("not_cold", 2)]));
    // The third turn alone.
    let late = Which { since_ms: Some(turn("a", 3).at_ms), ..Which::default() };
    assert_eq!(now(ledger.levers(&late)).unwrap()[0].edited, 0);
}

#[test]
fn what_is_used_is_told_by_agent_and_name_from_sessions_that_called_something() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = recorder(&file);
    for (session, calls) in [("a", true), ("a", true), ("b", true), ("c", false)] {
        let at = recorder.recorded().written + 10;
        let mut one = turn(session, at);
        one.agent = Some("codex".to_owned());
        if !calls {
            one.calls = Vec::new();
        }
        recorder.exchange(one);
        assert!(recorder.flush(LONG));
    }
    let mut other = turn("d", 50);
    other.agent = None;
    recorder.exchange(other);
    assert!(recorder.flush(LONG));
    let mut ledger = open(&file);
    let uses = now(ledger.tool_uses(0)).unwrap();
    let of = |agent: Option<&str>, name: &str| {
        let one = uses.iter().find(|one| one.agent.as_deref() == agent && one.name == name);
        one.map(|one| (one.sessions, one.calls))
    };
    assert_eq!(of(Some("codex"), "Bash"), Some((2, 6)));
    let idle = set().tools().iter().find(|tool| tool.name != "Bash").unwrap().name.clone();
    assert_eq!(of(Some("codex"), &idle), Some((2, 0)));
    assert_eq!((of(None, "Bash"), of(None, &idle)), (Some((1, 2)), Some((1, 0))));
    assert!(now(ledger.tool_uses(u64::MAX)).unwrap().is_empty());
}
