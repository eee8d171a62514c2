//! `deadweight scorecard`: the measured card, beside what this machine's ledger shows. The measured figures change with
//! every lever, so it is their place that is tested, and not the figures.

use crate::sandbox::Sandbox;
use deadweight_store::{Asked, Ended, Exchange, LeverAction, Recorder};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const LEDGER: &str = ".local/share/deadweight/ledger.sqlite";

fn committed() -> Value {
    serde_json::from_str(deadweight_scorecard::COMMITTED).unwrap()
}

fn names() -> Vec<String> {
    let card = committed();
    let levers = card["levers"].as_array().unwrap();
    levers.iter().map(|lever| lever["name"].as_str().unwrap().to_owned()).collect()
}

fn stdout(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox.command(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A ledger with two turns of today: one that a lever changed, and one in which it had nothing to do.
fn recorded() -> Sandbox {
    let sandbox = Sandbox::new();
    let recorder = Recorder::start(sandbox.path().join(LEDGER), |error| panic!("{error}"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let action = |edited, reason: &str, bytes| LeverAction {
        lever: "dedup".to_owned(),
        edited,
        reason: reason.to_owned(),
        bytes,
        ..LeverAction::default()
    };
    for (id, levers) in [("a1", vec![action(true, "", 7_820)]), ("b2", vec![action(false, "nothing_new", 0)])]
    {
        recorder.exchange(Exchange {
            id: id.repeat(16),
            at_ms: now,
            provider: "anthropic".to_owned(),
            asked: Asked::Generate,
            ended: Ended { how: "complete".to_owned(), status: Some(200), ..Ended::default() },
            levers,
            ..Exchange::default()
        });
    }
    assert!(recorder.flush(Duration::from_secs(60)));
    sandbox
}

#[test]
fn the_measured_card_is_shown_where_nothing_was_recorded() {
    let sandbox = Sandbox::new();
    let text = stdout(&sandbox, &["scorecard"]);
    let grade = format!("  scorecard · grade {} · ", committed()["grade"].as_str().unwrap());
    assert!(text.starts_with(&grade), "{text}");
    assert!(text.contains("nothing is recorded yet"), "{text}");
    for name in names() {
        assert!(
            text.lines().any(|line| line.trim_start().starts_with(&format!("{name} attacks "))),
            "{name}: {text}"
        );
    }
    assert!(!sandbox.path().join(LEDGER).exists(), "looking makes no ledger");
}

#[test]
fn what_the_ledger_shows_stands_beside_it() {
    let sandbox = recorded();
    let text = stdout(&sandbox, &["scorecard"]);
    let row = text.lines().find(|line| line.trim_start().starts_with("dedup  ")).unwrap();
    assert!(row.trim_end().ends_with("  1  −7,820"), "{row}");
    assert!(text.contains("here: 2 requests in the last 30 days"), "{text}");
    assert!(text.replace("\n    ", " ").contains("dedup stood down 1 times, mostly nothing_new"), "{text}");
    let wide = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(wide <= 100, "{wide}: {text}");

    let json: Value = serde_json::from_str(&stdout(&sandbox, &["scorecard", "--json"])).unwrap();
    assert_eq!(json["schema"], "deadweight/scorecard/1");
    let mut card = json.clone();
    card.as_object_mut().unwrap().remove("ledger");
    assert_eq!(card, committed());
    assert_eq!(json["ledger"]["requests"], 2);
    let own = &json["ledger"]["levers"][0];
    assert_eq!((&own["lever"], &own["edited"], &own["bytes"]), (&"dedup".into(), &1.into(), &7_820.into()));
}

#[test]
fn policies_of_others_are_compared_and_the_page_is_the_committed_one() {
    let sandbox = Sandbox::new();
    let text = stdout(&sandbox, &["scorecard", "--compare"]);
    for part in ["all sessions", "deadweight, default profile", "compress all history on every turn"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = stdout(&sandbox, &["scorecard", "--markdown"]);
    assert!(page == include_str!("../../../../SCORECARD.md"));
    let off = stdout(&sandbox, &["scorecard", "--ledger", "off"]);
    assert!(off.contains("nothing is recorded"), "{off}");
}
