//! Any JSON through the planner, as a request of each dialect: outside the splices the bytes are the same, planning again
//! gives the same, and so does the journal after a restart.

#![no_main]

use deadweight_levers::plan::{Outcome, plan};
use deadweight_levers::{Circumstances, Cold, Memory, Policy, Profile, ToolRule};
use deadweight_wire::Dialect;
use deadweight_wire::json::Parser;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static HOT: LazyLock<Vec<String>> = LazyLock::new(|| vec!["Read".to_owned(), "restore".to_owned()]);

static POLICIES: LazyLock<[Policy; 2]> = LazyLock::new(|| {
    [Profile::Default, Profile::Lean].map(|profile| {
        let tools = ToolRule { deny: vec!["git*".to_owned()], allow: Vec::new() };
        let lean = profile == Profile::Lean;
        let mut policy = Policy { profile, tools, accept_loss: lean, edit_bound: lean, ..Policy::default() };
        let own = &mut policy.thresholds;
        (own.repeated, own.run, own.result, own.head, own.tail, own.stale) = (64, 64, 256, 64, 32, 64);
        (own.history, own.view, own.recent, own.deferred, own.cached) = (200, 80, 2, 64, 16);
        policy
    })
});

fuzz_target!(|bytes: &[u8]| {
    for dialect in Dialect::ALL {
        for policy in POLICIES.iter() {
            for cold in [None, Some(Cold::Idle)] {
                check(bytes, dialect, policy, cold);
            }
        }
    }
});

fn check(body: &[u8], dialect: Dialect, policy: &Policy, cold: Option<Cold>) {
    let own = Circumstances {
        cold,
        restore_tool: Some("restore"),
        hot: Some(HOT.as_slice()),
        appends_betas: true,
        ..Circumstances::default()
    };
    let mut journal = Memory::new();
    let outcome = plan(&mut Parser::new(), body, dialect, policy, &own, &journal);
    holds(body, &outcome);
    for record in &outcome.records {
        journal.take(record.clone());
    }
    let journal = Memory::restore(journal.save()).expect("what was written can be read");
    let again = plan(&mut Parser::new(), body, dialect, policy, &own, &journal);
    assert!(again.body == outcome.body, "a retry goes out otherwise");
    assert!(!again.must_commit(), "a retry decides something new");
    holds(body, &again);
}

fn holds(body: &[u8], outcome: &Outcome) {
    for action in &outcome.actions {
        assert!(
            action.stood_down.is_none_or(|reason| action.lever.reasons().any(|own| own == reason)),
            "{action:?}"
        );
    }
    let Some(sent) = &outcome.body else {
        assert!(outcome.splices.is_empty() && !outcome.must_commit());
        return;
    };
    let (mut old, mut new) = (0, 0);
    for splice in &outcome.splices {
        let kept = splice.at.start - old;
        assert!(body[old..splice.at.start] == sent[new..new + kept], "bytes outside the splices changed");
        (old, new) = (splice.at.end, new + kept + splice.length);
    }
    assert!(body[old..] == sent[new..], "bytes outside the splices changed");
}
