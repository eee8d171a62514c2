//! What holds for any measurement.
#![allow(clippy::unwrap_used)]

mod common;

use common::{BASIS, held};
use deadweight_estimate::calibrated;
use deadweight_gate::{Measured, MeasuredServer, Reason, Verdict, compare, format, update};
use deadweight_lock::{Hash, Lock, TextPrice, ToolPrice, read};
use proptest::prelude::*;

fn price() -> impl Strategy<Value = ToolPrice> {
    (0u64..4_000, 0u64..400, any::<u8>()).prop_map(|(bytes, description_bytes, salt)| ToolPrice {
        bytes,
        description_bytes,
        tokens: None,
        description_tokens: None,
        hash: Hash::of_text(&format!("{bytes} {description_bytes} {salt}")),
    })
}

fn text() -> impl Strategy<Value = TextPrice> {
    (0u64..4_000).prop_map(|bytes| TextPrice { bytes, tokens: None, hash: Hash::of_text(&bytes.to_string()) })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{1,2}", "[a-c]#[2-3]", any::<String>()]
}

/// Names come again within a server, as real servers let them; labels do not.
fn any_measured() -> impl Strategy<Value = Measured> {
    let tools = prop::collection::vec((name(), price()), 0..8);
    let servers = prop::collection::btree_map(name(), (tools, prop::option::of(text())), 0..4);
    let files = || prop::collection::btree_map(name(), text(), 0..3);
    (servers, files(), prop::option::of(files())).prop_map(|(servers, skills, memory)| Measured {
        basis: BASIS.to_owned(),
        servers: servers
            .into_iter()
            .map(|(label, (tools, instructions))| MeasuredServer { label, tools, instructions, source: None })
            .collect(),
        skills: Some(skills),
        memory,
        complete: true,
        ..Measured::default()
    })
}

fn pin(old: Option<&Lock>, measured: &Measured) -> Lock {
    update(old, measured, "calibrated/1", Some("because")).unwrap().lock
}

proptest! {
    #[test]
    fn what_was_just_pinned_holds_on_paper_too(before in any_measured(), now in any_measured()) {
        let old = pin(None, &before);
        let text = deadweight_lock::update(None, &old).unwrap();
        let lock = pin(Some(&read(&text).unwrap()), &now);
        let text = deadweight_lock::update(Some(&text), &lock).unwrap();
        let report = held(&read(&text).unwrap(), &now);
        prop_assert_eq!(report.verdict, Verdict::Holds);
        prop_assert_eq!(report.warnings().count(), 0);
        prop_assert!(report.tools.iter().chain(&report.texts).all(|movement| movement.delta == 0));
    }

    #[test]
    fn an_update_with_a_new_reason_passes_the_review(before in any_measured(), now in any_measured()) {
        let old = pin(None, &before);
        prop_assert_eq!(compare(&old, &pin(Some(&old), &now), &calibrated()).verdict, Verdict::Holds);
    }

    #[test]
    fn order_never_matters(pinned in any_measured(), now in any_measured(), seed in any::<u64>()) {
        let lock = pin(None, &pinned);
        let mut shuffled = now.clone();
        let turn = |len: usize| if len == 0 { 0 } else { (seed % len as u64) as usize };
        let by = turn(shuffled.servers.len());
        shuffled.servers.rotate_left(by);
        shuffled.servers.reverse();
        for server in &mut shuffled.servers {
            let by = turn(server.tools.len());
            server.tools.rotate_left(by);
            server.tools.reverse();
        }
        prop_assert_eq!(held(&lock, &now), held(&lock, &shuffled));
        prop_assert_eq!(pin(None, &now), pin(None, &shuffled));
    }

    #[test]
    fn any_change_of_any_definition_is_reported(now in any_measured(), at in any::<prop::sample::Index>()) {
        let lock = pin(None, &now);
        let mut other = now.clone();
        let mut tools: Vec<&mut (String, ToolPrice)> =
            other.servers.iter_mut().flat_map(|server| &mut server.tools).collect();
        prop_assume!(!tools.is_empty());
        let index = at.index(tools.len());
        tools[index].1.hash = Hash::of_text("another definition");
        prop_assert_ne!(&now, &other);
        let report = held(&lock, &other);
        prop_assert!(report.checks.iter().any(|check| check.reason == Some(Reason::DefinitionChanged)));
    }

    #[test]
    fn every_report_is_well_formed(pinned in any_measured(), now in any_measured()) {
        let report = held(&pin(None, &pinned), &now);
        let sarif = format::sarif(&report, "a b/deadweight.lock", "0");
        let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
        let failed = report.checks.iter().filter(|check| check.reason.is_some()).count();
        prop_assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), failed);
        let annotations = format::github(&report, "deadweight.lock");
        prop_assert_eq!(annotations.lines().count(), failed);
        prop_assert!(annotations.lines().all(|line| line.starts_with("::error ") || line.starts_with("::warning ")));
        let junit = format::junit(&report);
        prop_assert_eq!(junit.matches("<testcase ").count(), report.checks.len());
        prop_assert!(!junit.chars().any(|c| c.is_control() && c != '\n'));
        let markdown = format::markdown(&report, Some("deadweight gate --update"));
        let columns = |line: &str| line.matches('|').count();
        for line in markdown.lines().filter(|line| line.starts_with('|')) {
            prop_assert!(columns(line) == 7 || columns(line) == 6, "{}", line);
        }
    }
}
