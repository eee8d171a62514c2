//! `deadweight ledger`: where it is, what stands in it, what leaves it.

use crate::sandbox::Sandbox;
use deadweight_store::{
    Asked, CacheWatch, Cost, Ended, Exchange, Footprint, LeverAction, Observed, Origin, Receipt, Recorder,
    Slice, Splice, StandingPart, ToolLine, ToolSet,
};
use std::time::Duration;

const LEDGER: &str = ".local/share/deadweight/ledger.sqlite";
/// 2026-12-01 00:41:07 UTC.
const AT: u64 = 1_796_085_667_000;

fn tool(name: &str, server: &str, tokens: u64) -> ToolLine {
    ToolLine {
        name: name.to_owned(),
        namespace: String::new(),
        origin: if server.is_empty() { Origin::Builtin } else { Origin::Mcp },
        server: server.to_owned(),
        own_name: String::new(),
        bytes: tokens * 9 / 2,
        tokens,
        description_tokens: tokens / 3,
        deferred: tokens == 77,
    }
}

fn slice(tokens: u64) -> Slice {
    Slice { wire_bytes: tokens * 5, content_bytes: tokens * 4, tokens }
}

fn turn(turn: u64) -> Exchange {
    let history = (turn - 1) * 2_300;
    Exchange {
        id: format!("7f3a{turn:028x}"),
        at_ms: AT + turn * 41_000,
        provider: "anthropic".to_owned(),
        asked: Asked::Generate,
        dialect: Some("anthropic-messages".to_owned()),
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        model: Some("claude-opus-5".to_owned()),
        agent: Some("claude-code".to_owned()),
        session: "5c1e0f2a-77aa".to_owned(),
        conversation: "main".to_owned(),
        turn: Some(turn),
        ended: Ended {
            how: "complete".to_owned(),
            status: Some(200),
            request_id: Some("req_011".to_owned()),
            streamed: true,
            first_byte_us: Some(412_000),
            took_us: 3_140_000,
            answer_bytes: 4_321,
            error: None,
        },
        receipt: Receipt {
            received_bytes: 51_030,
            received_sha256: Some("ab12".repeat(16)),
            sent_bytes: 51_030,
            sent_sha256: Some("ab12".repeat(16)),
            splices: Vec::new(),
        },
        footprint: Some(Footprint {
            estimator: "calibrated/1".to_owned(),
            system: slice(1_900),
            tools: slice(11_000),
            history: slice(history),
            tail: slice(120),
            envelope_bytes: 91,
            standing: vec![StandingPart {
                kind: "memory_file".to_owned(),
                content_bytes: 2_775,
                tokens: 740,
            }],
            tool_count: 3,
            ..Footprint::default()
        }),
        usage: Observed {
            uncached: Some(3),
            cache_read: Some(12_500 + history),
            cache_write_5m: Some(2_310),
            output: Some(412),
            prompt: Some(14_813 + history),
            ..Observed::default()
        },
        cost: Some(Cost {
            uncached: 15_000,
            cache_read: 6_250_000,
            cache_write_5m: 14_437_500,
            output: 10_300_000,
            equivalent_tokens: Some(4_140),
            price_date: "2026-11-20".to_owned(),
            ..Cost::default()
        }),
        cache: Some(CacheWatch {
            class: if turn == 1 { "first" } else { "append" }.to_owned(),
            kept_tokens: 12_900 + history,
            gap_ms: (turn > 1).then_some(41_000),
            agrees: Some(true),
            ..CacheWatch::default()
        }),
        tools: Some(ToolSet::new(vec![
            tool("Bash", "", 2_400),
            tool("mcp__git\u{202e}hub__create_issue", "github", 5_100),
            tool("mcp__shed__dig", "shed", 77),
        ])),
        calls: vec![("Bash".to_owned(), 2)],
        ..Exchange::default()
    }
}

/// A ledger with a session of four turns, of which the third lost the cache and was edited, and the fourth was refused.
fn recorded() -> Sandbox {
    let sandbox = Sandbox::new();
    let recorder = Recorder::start(sandbox.path().join(LEDGER), |error| panic!("{error}"));
    let mut third = turn(3);
    third.cache = Some(CacheWatch {
        class: "tool_set".to_owned(),
        also: vec!["system".to_owned()],
        kept_tokens: 0,
        lost_tokens: 17_500,
        lost_nano: Some(101_250_000),
        miss_reason: Some("tools_changed".to_owned()),
        agrees: Some(false),
        gap_ms: Some(1_320_000),
        received: None,
    });
    third.receipt.sent_bytes = 43_210;
    third.receipt.sent_sha256 = Some("cd34".repeat(16));
    third.receipt.splices =
        vec![Splice { at: 20_480, removed: 7_900, inserted: 80, lever: "dedup".to_owned() }];
    third.levers = vec![
        LeverAction {
            lever: "dedup".to_owned(),
            edited: true,
            splices: 1,
            bytes: 7_820,
            tokens: 1_955,
            ..LeverAction::default()
        },
        LeverAction {
            lever: "compact-history".to_owned(),
            reason: "thinking_bound".to_owned(),
            ..LeverAction::default()
        },
    ];
    let mut fourth = turn(4);
    fourth.ended = Ended {
        how: "complete".to_owned(),
        status: Some(529),
        error: Some("overloaded_error".to_owned()),
        ..fourth.ended
    };
    (fourth.usage, fourth.cost) = (Observed::default(), None);
    let other = Exchange {
        id: "c0".repeat(16),
        at_ms: AT,
        provider: "openai".to_owned(),
        method: "GET".to_owned(),
        path: "/v1/models".to_owned(),
        ended: Ended { how: "client_left".to_owned(), ..Ended::default() },
        ..Exchange::default()
    };
    for one in [turn(1), turn(2), third, fourth, other] {
        recorder.exchange(one);
    }
    assert!(recorder.flush(Duration::from_secs(60)));
    sandbox
}

#[test]
fn help() {
    let sandbox = Sandbox::new();
    assert_run!(sandbox.run(&["ledger", "-h"]));
    for command in ["path", "show", "export", "prune", "vacuum"] {
        insta::with_settings!({ filters => crate::sandbox::filters(), omit_expression => true, info => &command }, {
            insta::assert_snapshot!(sandbox.run(&["ledger", command, "-h"]));
        });
    }
}

#[test]
fn wrong_calls() {
    let sandbox = recorded().file("noise.sqlite", "this is no database ".repeat(1_000));
    for call in [
        &["ledger", "show"][..],
        &["ledger", "show", "nothing"],
        &["ledger", "show", "7f3a"],
        &["ledger", "show", "7f3a", "--ledger", "off"],
        &["ledger", "show", "7f3a", "--ledger", "nowhere.sqlite"],
        &["ledger", "show", "7f3a", "--ledger", "noise.sqlite"],
        &["ledger", "export", "--session", "x"],
        &["ledger", "export", "--format", "xml"],
        &["ledger", "export", "--session", "5c1e", "--table", "calls"],
        &["ledger", "export", "-o", "no/such/folder"],
        &["ledger", "prune", "--ledger", "nowhere.sqlite"],
        &["ledger", "vacuum", "--ledger", "nowhere.sqlite"],
        &["ledger", "prune", "--ledger", "postgres://house/db"],
    ] {
        insta::with_settings!({ filters => crate::sandbox::filters(), omit_expression => true, info => &call }, {
            insta::assert_snapshot!(sandbox.run(call));
        });
    }
}

#[test]
fn where_it_is() {
    let sandbox = recorded();
    assert_run!(sandbox.run(&["ledger", "path"]));
    assert_run!(sandbox.run(&["ledger", "path", "--ledger", "nowhere.sqlite", "--json"]));
}

#[test]
fn one_request_and_one_session() {
    let sandbox = recorded();
    for call in [
        &["ledger", "show", "7f3a0000000000000000000000000001"][..],
        &["ledger", "show", "7f3a0000000000000000000000000003", "--top", "1"],
        &["ledger", "show", "7f3a0000000000000000000000000004"],
        &["ledger", "show", "c0c0"],
        &["ledger", "show", "5c1e"],
        &["ledger", "show", "5c1e", "--top", "2"],
        &["ledger", "show", "7f3a0000000000000000000000000003", "--json"],
        &["ledger", "show", "5c1e", "--top", "1", "--json"],
    ] {
        insta::with_settings!({ filters => crate::sandbox::filters(), omit_expression => true, info => &call }, {
            insta::assert_snapshot!(sandbox.run(call));
        });
    }
}

#[test]
fn exports() {
    let sandbox = recorded();
    for call in [
        &["ledger", "export", "--session", "5c1e", "--format", "csv"][..],
        &["ledger", "export", "--table", "tools"],
        &["ledger", "export", "--table", "levers", "--format", "csv"],
        &["ledger", "export", "--table", "called"],
        &["ledger", "export", "--table", "calls", "--format", "csv"],
    ] {
        insta::with_settings!({ filters => crate::sandbox::filters(), omit_expression => true, info => &call }, {
            insta::assert_snapshot!(sandbox.run(call));
        });
    }
    assert_run!(sandbox.run(&["ledger", "export", "-o", "out.jsonl"]));
    let text = std::fs::read_to_string(sandbox.path().join("out.jsonl")).unwrap();
    assert_eq!(
        text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).count(),
        5
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(sandbox.path().join("out.jsonl")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // What is there is replaced only by what was exported, and the ledger by nothing.
    let path = sandbox.path();
    let out = path.join("out.jsonl");
    #[cfg(unix)]
    std::fs::set_permissions(&out, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for (arguments, exit) in [
        (&["--session", "nobody", "-o", "out.jsonl"][..], "exit: 1\n"),
        (&["--ledger", "mistyped.sqlite", "-o", "out.jsonl"], "exit: 3\n"),
        (&["-o", LEDGER], "exit: 2\n"),
    ] {
        let run = sandbox.run(&[&["ledger", "export"], arguments].concat());
        assert!(run.starts_with(exit), "{arguments:?}: {run}");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), text);
    }
    assert!(sandbox.run(&["ledger", "export", "-o", "out.jsonl"]).starts_with("exit: 0\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn what_is_old_is_thrown_away() {
    let sandbox = recorded();
    let recorder = Recorder::start(sandbox.path().join(LEDGER), |error| panic!("{error}"));
    recorder.exchange(Exchange { id: "0d".repeat(16), at_ms: 1_000, ..turn(1) });
    assert!(recorder.flush(Duration::from_secs(60)));
    drop(recorder);
    // Recorded in the future of most machines: only the one of 1970 is old.
    assert_run!(sandbox.run(&["ledger", "prune"]));
    assert_run!(sandbox.run(&["ledger", "prune", "--quiet"]));
    let run = sandbox.run(&["ledger", "vacuum", "--json"]);
    assert!(run.starts_with("exit: 0\n") && run.contains("deadweight/ledger-vacuum/1"), "{run}");
}

#[test]
fn what_is_kept_is_said_by_the_settings() {
    let keeps = |setting: &str| {
        let sandbox = recorded()
            .file(".config/deadweight/deadweight.toml", format!("[gateway]\nretention = {setting}\n"));
        let recorder = Recorder::start(sandbox.path().join(LEDGER), |error| panic!("{error}"));
        recorder.exchange(Exchange { id: "0d".repeat(16), at_ms: 1_000, ..turn(1) });
        assert!(recorder.flush(Duration::from_secs(60)));
        sandbox
    };
    // Kept for ever is kept, whatever the default of the command would be; nobody throws away everything by a 0.
    let for_ever = keeps("0");
    assert_run!(for_ever.run(&["ledger", "prune"]));
    assert_run!(for_ever.run(&["ledger", "prune", "--retention", "0"]));
    assert_run!(for_ever.run(&["ledger", "prune", "--retention", "400"]));
    assert_run!(keeps("7").run(&["ledger", "prune"]));
}

#[test]
fn a_project_may_switch_recording_off_and_nothing_else() {
    for table in ["mcp", "gateway"] {
        let say = |value: &str| {
            Sandbox::new().file("deadweight.toml", format!("[{table}]\nledger = \"{value}\"\n"))
        };
        assert_run!(say("off").run(&["ledger", "path"]));
        assert_run!(say("theirs.sqlite").run(&["ledger", "path"]));
    }
}
