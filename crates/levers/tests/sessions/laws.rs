//! Laws that hold for any request, in every dialect.

use deadweight_cache::Digest;
use deadweight_cache::prefix::Prefix;
use deadweight_levers::plan::{Outcome, plan};
use deadweight_levers::{Circumstances, Cold, Lever, Memory, Policy, Profile, ToolRule};
use deadweight_testkit::layouts::{Layout, Size, all};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::LazyLock;

static HOT: LazyLock<Vec<String>> = LazyLock::new(|| ["Read", "read", "shell"].map(str::to_owned).into());

fn policy(bits: u32, deny: &str) -> Policy {
    let mut policy = Policy {
        tools: ToolRule { deny: vec![deny.to_owned()], allow: Vec::new() },
        edit_bound: bits & 1 > 0,
        accept_loss: bits & 2 > 0,
        elide_at_first_send: bits & 4 > 0,
        late_tools: bits & (1 << 30) > 0,
        profile: if bits & (1 << 31) > 0 { Profile::Lean } else { Profile::Default },
        ..Policy::default()
    };
    for (at, lever) in Lever::ALL.into_iter().enumerate() {
        if bits & (8 << at) > 0 && bits & (512 << at) > 0 {
            policy.switches.insert(lever, false);
        }
    }
    let own = &mut policy.thresholds;
    (own.repeated, own.run, own.result, own.head, own.tail, own.stale) = (400, 300, 900, 200, 100, 500);
    (own.history, own.view, own.deferred) = (1_500, 700, 1_000);
    policy
}

fn circumstances(bits: u32) -> Circumstances<'static> {
    Circumstances {
        cold: (bits & 1 > 0).then_some(Cold::Idle),
        restore_tool: Some("Read"),
        pruned_before: bits & 2 > 0,
        appends_betas: bits & 8 > 0,
        hot: (bits & 4 > 0).then_some(HOT.as_slice()),
        ..Circumstances::default()
    }
}

fn dialect(layout: &Layout) -> Dialect {
    Dialect::of_name(layout.dialect).unwrap()
}

fn planned(
    body: &[u8],
    dialect: Dialect,
    policy: &Policy,
    own: &Circumstances<'_>,
    journal: &Memory,
) -> Outcome {
    plan(&mut Parser::new(), body, dialect, policy, own, journal)
}

fn prefix(body: &[u8], dialect: Dialect) -> Prefix {
    Parser::new().scope(body, |document| Prefix::read(&Anatomy::read(document.unwrap(), dialect)))
}

/// What must be true of one outcome.
fn holds(name: &str, body: &[u8], outcome: &Outcome) {
    for action in &outcome.actions {
        let known = action.stood_down.is_none_or(|reason| action.lever.reasons().any(|own| own == reason));
        assert!(known, "{name}: {action:?}");
        assert!(action.decided > 0 || action.stood_down.is_some(), "{name}: silent {action:?}");
    }
    let Some(sent) = &outcome.body else {
        assert!(outcome.splices.is_empty() && !outcome.must_commit(), "{name}");
        return;
    };
    assert!(sent != body, "{name}: an edit that changes nothing");
    // Outside the splices the bytes are the same.
    let (mut old, mut new) = (0, 0);
    for splice in &outcome.splices {
        let kept = splice.at.start - old;
        assert!(body[old..splice.at.start] == sent[new..new + kept], "{name}");
        (old, new) = (splice.at.end, new + kept + splice.length);
    }
    assert!(body[old..] == sent[new..], "{name}");
    let saved: i64 = outcome.actions.iter().map(|action| action.saved_bytes).sum();
    assert_eq!(saved, body.len() as i64 - sent.len() as i64, "{name}: every byte has an owner");
    for original in &outcome.originals {
        assert_eq!(original.hash, Digest::from_bytes(*blake3::hash(original.text.as_bytes()).as_bytes()));
        if outcome.action(Lever::CompactHistory).unwrap().decided > 0 && original.text.ends_with("}\n") {
            // Messages that were left out, as they came; or a text that only ends as they do.
            let body = String::from_utf8_lossy(body);
            if original.text.lines().all(|line| body.contains(line)) {
                continue;
            }
        }
        let json = serde_json::to_string(&original.text).unwrap();
        let inner = json.trim_matches('"');
        let spaced = String::from_utf8_lossy(body);
        assert!(spaced.contains(inner) || original.text.contains(['\u{7f}', '/']), "{name}: not in the body");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// One request of each layout.
    #[test]
    fn one_request(bits in any::<u32>(), turns in 0_usize..6, text in 100_usize..3_000, deny in "[a-zA-Z*]{1,3}\\*") {
        let (policy, own) = (policy(bits, &deny), circumstances(bits >> 20));
        for layout in all(Size { tools: 4, turns, text }) {
            let (body, dialect) = (layout.body.as_bytes(), dialect(&layout));
            let outcome = planned(body, dialect, &policy, &own, &Memory::new());
            holds(layout.name, body, &outcome);
            prop_assert!(outcome == planned(body, dialect, &policy, &own, &Memory::new()), "deterministic");
            // As a retry, and after a restart, the same bytes and nothing new.
            let mut journal = Memory::new();
            outcome.records.iter().for_each(|record| journal.take(record.clone()));
            let journal = Memory::restore(journal.save()).unwrap();
            let again = planned(body, dialect, &policy, &own, &journal);
            prop_assert!(again.body == outcome.body, "{}: {:?} {:?}", layout.name, again.actions, outcome.actions);
            prop_assert!(!again.must_commit(), "{}: {:?}", layout.name, again.actions);
            // What was edited has nothing left to edit.
            if let Some(sent) = &outcome.body {
                let twice = planned(sent, dialect, &policy, &own, &Memory::new());
                prop_assert!(twice.body.is_none(), "{}: {:?}", layout.name, twice.actions);
            }
        }
    }

    /// Conversations that grow: what was decided about a message stays.
    #[test]
    fn growing_conversations(bits in any::<u32>(), text in 100_usize..3_000) {
        let mut sent: HashMap<(&str, Digest), Digest> = HashMap::new();
        let mut journals: HashMap<&str, Memory> = HashMap::new();
        for turns in 0..6 {
            // Levers are switched on and off as it goes.
            let policy = policy(bits.rotate_left(turns as u32 * 5), "*_e*");
            let own = Circumstances { cold: None, ..circumstances(bits >> turns) };
            for layout in all(Size { tools: 4, turns, text }) {
                let (body, dialect) = (layout.body.as_bytes(), dialect(&layout));
                let journal = journals.entry(layout.name).or_default();
                let outcome = planned(body, dialect, &policy, &own, journal);
                holds(layout.name, body, &outcome);
                outcome.records.iter().for_each(|record| journal.take(record.clone()));
                let out = outcome.body.as_deref().unwrap_or(body);
                let was = prefix(body, dialect).messages;
                let stays = |at: &usize| !outcome.left_out.contains(&(*at as u32));
                let stays = (0..was.len()).filter(stays).map(|at| was[at]);
                for (own, new) in stays.zip(prefix(out, dialect).messages) {
                    let before = sent.insert((layout.name, own.chain), new.own);
                    prop_assert!(before.is_none_or(|before| before == new.own), "{}", layout.name);
                }
            }
        }
    }

    /// Whatever the bytes are, nothing fails.
    #[test]
    fn any_bytes(mut noise in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        for layout in all(Size::SMALL) {
            let mut body = layout.body.clone().into_bytes();
            for (at, byte) in &mut noise {
                let at = at.index(body.len());
                body[at] = *byte;
            }
            let outcome = planned(&body, dialect(&layout), &policy(7, "*"), &circumstances(3), &Memory::new());
            holds(layout.name, &body, &outcome);
        }
    }
}
