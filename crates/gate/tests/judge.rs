//! What holds, what refuses, and what other gates in the field let through.
#![allow(clippy::unwrap_used)]

mod common;

use common::{BASIS, held, measured, one, pinned, refusals, server, text, tool, warnings};
use deadweight_estimate::{calibrated, chars4, o200k};
use deadweight_gate::{Measured, Reason, Surface, Unmeasured, Verdict, check_settings, judge, update};
use deadweight_lock::{CheckSetting, Level, Lock, Setting};
use std::collections::BTreeMap;

/// 19 tools of 20,283 bytes, 4,507 tokens; descriptions of 6,984 bytes, 1,552 tokens.
fn published() -> Measured {
    let (bytes, descriptions) = (20_283, 6_984);
    let mut tools = vec![tool("t00", bytes - 18_000, descriptions - 18 * 360)];
    tools.extend((1..19).map(|at| tool(&format!("t{at:02}"), 1_000, 360)));
    one(tools)
}

/// The published set, made lighter or heavier in one tool so that the floor comes to `tokens`.
fn at(tokens: u64) -> Measured {
    let mut now = published();
    // The smallest number of bytes whose floor is `tokens`: ⌈tokens · 9 / 2⌉.
    let bytes = (tokens * 9).div_ceil(2);
    let tools = &mut now.servers[0].tools;
    let others: u64 = tools[1..].iter().map(|(_, price)| price.bytes).sum();
    let description_bytes = tools[0].1.description_bytes;
    tools[0] = tool("t00", bytes - others, description_bytes);
    now
}

#[test]
fn the_published_case_and_its_edges() {
    let lock = pinned(&published());
    let floor = |report: &deadweight_gate::Report| {
        let check = report.checks.iter().find(|check| check.surface == Surface::Floor).unwrap();
        (check.reason, check.measured, check.budget, check.slack)
    };
    let holds = held(&lock, &published());
    assert_eq!(floor(&holds), (None, Some(4_507), Some(4_507), Some(250)));
    let descriptions = holds.checks.iter().find(|check| check.surface == Surface::Descriptions).unwrap();
    assert_eq!(
        (descriptions.reason, descriptions.measured, descriptions.budget, descriptions.slack),
        (None, Some(1_552), Some(1_552), Some(200))
    );
    for (tokens, reason) in [
        (4_507, None),
        (4_508, Some(Reason::FloorBudgetExceeded)),
        (4_507 - 250, None),
        (4_507 - 251, Some(Reason::FloorBudgetStale)),
    ] {
        let report = held(&lock, &at(tokens));
        assert_eq!(floor(&report), (reason, Some(tokens), Some(4_507), Some(250)));
        let verdict = if reason.is_some() { Verdict::Refused } else { Verdict::Holds };
        assert_eq!(report.verdict, verdict, "{tokens}");
    }
}

#[test]
fn the_floor_is_that_of_the_byte_sum() {
    // 4 bytes alone are 0 tokens; nine such tools are 36 bytes, 8 tokens.
    let small = |count: usize| (0..count).map(|at| tool(&format!("t{at}"), 4, 0)).collect::<Vec<_>>();
    let report = held(&pinned(&one(small(9))), &one(small(9)));
    assert_eq!(report.checks[0].measured, Some(8));
    assert_eq!(report.tools.iter().filter_map(|movement| movement.tokens).sum::<u64>(), 0);
    // One more byte in all keeps the floor where it is.
    let mut more = small(9);
    more[0] = tool("t0", 5, 0);
    assert_eq!(refusals(&held(&pinned(&one(small(9))), &one(more))), []);
}

#[test]
fn descriptions_have_a_budget_of_their_own() {
    let lock = pinned(&one(vec![tool("a", 9_000, 4_500), tool("b", 9_000, 4_500)]));
    let wordier = one(vec![tool("a", 9_000, 4_505), tool("b", 9_000, 4_500)]);
    assert_eq!(refusals(&held(&lock, &wordier)), [Reason::DescBudgetExceeded]);
    let terser = one(vec![tool("a", 9_000, 3_500), tool("b", 9_000, 4_500)]);
    assert_eq!(refusals(&held(&lock, &terser)), [Reason::DescBudgetStale]);
}

#[test]
fn slack_is_never_more_than_a_fifth_of_the_budget() {
    // 450 bytes are 100 tokens; a fifth is 20.
    let lock = pinned(&one(vec![tool("a", 450, 0)]));
    assert_eq!(refusals(&held(&lock, &one(vec![tool("a", 360, 0)]))), []);
    assert_eq!(refusals(&held(&lock, &one(vec![tool("a", 355, 0)]))), [Reason::FloorBudgetStale]);
}

#[test]
fn no_tools_at_all_is_stale_whatever_the_slack() {
    for bytes in [1_044, 1, 20_283] {
        let mut lock = pinned(&one(vec![tool("a", bytes, 0)]));
        lock.slack.floor = Setting::of(1_000_000);
        let report = held(&lock, &one(vec![]));
        assert!(refusals(&report).contains(&Reason::FloorBudgetStale), "{bytes}");
        assert_eq!(report.verdict, Verdict::Refused);
    }
    // 1,044 bytes are 232 tokens.
    assert_eq!(held(&pinned(&one(vec![tool("a", 1_044, 0)])), &one(vec![])).checks[0].budget, Some(232));
}

#[test]
fn one_server_that_lists_nothing_does_not_hide_behind_another() {
    let both =
        |small: Vec<_>| measured(vec![server("big", vec![tool("a", 90_000, 0)]), server("small", small)]);
    let report = held(&pinned(&both(vec![tool("b", 90, 0)])), &both(vec![]));
    assert_eq!(refusals(&report), [Reason::FloorBudgetStale]);
    assert_eq!(report.refusals().next().unwrap().subject.server.as_deref(), Some("small"));
}

#[test]
fn a_dead_server_is_unmeasured_and_never_free() {
    let both = measured(vec![server("a", vec![tool("t", 900, 0)]), server("b", vec![tool("t", 900, 0)])]);
    let lock = pinned(&both);
    let mut dead = measured(vec![server("a", vec![tool("t", 900, 0)])]);
    let unasked = held(&lock, &dead);
    assert_eq!((unasked.verdict, unasked.verdict.exit_code()), (Verdict::Unmeasured, 3));
    dead.unmeasured.push(Unmeasured { server: "b".to_owned(), reason: "it ended".to_owned() });
    let report = held(&lock, &dead);
    assert_eq!(refusals(&report), [Reason::Unmeasured], "the others hold and say so");
    assert_eq!(report.failures[0].reason, "it ended");
    // Unmeasured wins over any refusal, and nothing lowers it.
    dead.servers[0].tools.push(tool("more", 90_000, 0));
    let mut lax = lock.clone();
    let warn = CheckSetting { level: Level::Warn, reason: Some("please".to_owned()), line: 7 };
    lax.checks.insert("UNMEASURED".to_owned(), warn);
    let report = held(&lax, &dead);
    assert_eq!(report.verdict.exit_code(), 3);
    assert!(refusals(&report).contains(&Reason::FloorBudgetExceeded));
    assert_eq!(check_settings(&lax).unwrap_err().line, 7);
    // Narrowed to what can be asked, it is no matter.
    dead.only = Some(["a".to_owned()].into());
    assert_eq!(held(&lock, &dead).verdict.exit_code(), 1);
    // Narrowed to what nobody knows, it is not vacuously true.
    dead.only = Some(["typo".to_owned()].into());
    assert_eq!(held(&lock, &dead).verdict.exit_code(), 3);
}

#[test]
fn an_unknown_check_is_refused_with_its_line() {
    let mut lock = pinned(&published());
    let setting = CheckSetting { level: Level::Warn, reason: None, line: 9 };
    lock.checks.insert("FLOOR_BUDGET_EXCEDED".to_owned(), setting);
    let error = check_settings(&lock).unwrap_err();
    assert_eq!(error.line, 9);
    assert!(error.what.contains("FLOOR_BUDGET_EXCEDED") && error.remedy.contains("FLOOR_BUDGET_EXCEEDED"));
}

#[test]
fn growth_does_not_hide_behind_shrinking_or_removal() {
    let lock = pinned(&one(vec![tool("a", 4_500, 0), tool("b", 4_500, 0), tool("c", 450, 0)]));
    let now = one(vec![tool("a", 4_545, 0), tool("b", 4_500, 0)]);
    let report = held(&lock, &now);
    assert_eq!(report.verdict, Verdict::Holds);
    assert_eq!(warnings(&report), [Reason::ToolGrew, Reason::DefinitionChanged]);
    let moved: Vec<_> = report.tools.iter().map(|tool| (tool.name.as_str(), tool.delta)).collect();
    assert_eq!(moved, [("c", -100), ("a", 10), ("b", 0)], "biggest movement first");
    let mut strict = lock;
    let error = CheckSetting { level: Level::Error, reason: None, line: 1 };
    strict.checks.insert("TOOL_GREW".to_owned(), error);
    assert_eq!(refusals(&held(&strict, &now)), [Reason::ToolGrew]);
}

#[test]
fn a_new_tool_is_named_and_can_be_refused() {
    let lock = pinned(&one(vec![tool("a", 9_000, 0)]));
    let now = one(vec![tool("a", 8_900, 0), tool("new", 90, 0)]);
    assert!(warnings(&held(&lock, &now)).contains(&Reason::ToolAdded));
    let mut strict = lock;
    strict
        .checks
        .insert("TOOL_ADDED".to_owned(), CheckSetting { level: Level::Error, reason: None, line: 1 });
    assert_eq!(refusals(&held(&strict, &now)), [Reason::ToolAdded]);
}

#[test]
fn a_definition_that_changes_behind_its_price_is_shown() {
    let lock = pinned(&one(vec![tool("a", 900, 10)]));
    let mut now = one(vec![tool("a", 900, 10)]);
    now.servers[0].tools[0].1.hash = deadweight_lock::Hash::of_text("another of the same size");
    let report = held(&lock, &now);
    assert_eq!((report.verdict, warnings(&report)), (Verdict::Holds, vec![Reason::DefinitionChanged]));
}

#[test]
fn an_entry_that_was_raised_by_hand_is_found_out() {
    let mut lock = pinned(&published());
    let entry = lock.tools.values_mut().next().unwrap();
    let price = entry.price.as_mut().unwrap();
    price.bytes += 100;
    assert_eq!(refusals(&held(&lock, &published())), [Reason::RaiseWithoutCause]);
}

#[test]
fn ceilings_are_for_the_sum_over_all_servers() {
    // 66,000 tokens under a limit of 100, in two servers: what one gate of the field lets pass.
    let heavy = measured(vec![
        server("a", vec![tool("t", 148_500, 0)]),
        server("b", vec![tool("t", 148_500, 0), tool("u", 9, 0)]),
    ]);
    let mut lock = pinned(&heavy);
    lock.ceiling_tokens = Some(Setting::of(100));
    lock.max_tool_tokens = Some(Setting::of(100));
    lock.max_tools = Some(Setting::of(2));
    assert_eq!(
        refusals(&held(&lock, &heavy)),
        [Reason::CeilingExceeded, Reason::ToolTooLarge, Reason::ToolTooLarge, Reason::ToolCountExceeded]
    );
    lock.ceiling_tokens = Some(Setting::of(66_002));
    lock.max_tool_tokens = Some(Setting::of(33_000));
    lock.max_tools = Some(Setting::of(3));
    assert_eq!(refusals(&held(&lock, &heavy)), [], "a limit that is just reached holds");
}

#[test]
fn other_surfaces_have_budgets_too() {
    let with = |instructions: u64, skill: u64, memory: u64| {
        let mut now = one(vec![tool("a", 900, 0)]);
        now.servers[0].instructions = (instructions > 0).then(|| text(instructions));
        let files = |path: &str, bytes: u64| -> Option<BTreeMap<_, _>> {
            Some((bytes > 0).then(|| (path.to_owned(), text(bytes))).into_iter().collect())
        };
        (now.skills, now.memory) = (files("review", skill), files("CLAUDE.md", memory));
        now
    };
    let lock = pinned(&with(15_000, 15_000, 15_000));
    assert_eq!(refusals(&held(&lock, &with(15_000, 15_000, 15_000))), []);
    for (now, expected) in [
        (with(15_004, 15_000, 15_000), Reason::InstructionsBudgetExceeded),
        (with(14_246, 15_000, 15_000), Reason::InstructionsBudgetStale),
        (with(0, 15_000, 15_000), Reason::InstructionsBudgetStale),
        (with(15_000, 15_004, 15_000), Reason::SkillBudgetExceeded),
        (with(15_000, 14_246, 15_000), Reason::SkillBudgetStale),
        (with(15_000, 15_000, 15_004), Reason::MemoryBudgetExceeded),
        (with(15_000, 15_000, 14_246), Reason::MemoryBudgetStale),
        (with(15_000, 15_000, 0), Reason::MemoryBudgetStale),
    ] {
        assert_eq!(refusals(&held(&lock, &now)), [expected]);
    }
    // 14,250 bytes are 3,800 tokens, exactly the slack of 200 below 4,000.
    assert_eq!(refusals(&held(&lock, &with(14_250, 14_250, 14_250))), []);
    assert!(warnings(&held(&lock, &with(14_999, 15_000, 15_000))).contains(&Reason::DefinitionChanged));
    let unseen = Measured { skills: None, memory: None, ..with(15_000, 1, 1) };
    assert_eq!(refusals(&held(&lock, &unseen)), [], "a surface nobody looked at is not judged");
}

#[test]
fn another_basis_is_a_mismatch_and_nothing_is_compared() {
    let lock = pinned(&published());
    let report = judge(&lock, &published(), &chars4());
    assert_eq!((refusals(&report), report.tools.len()), (vec![Reason::BasisMismatch], 0));
    let other = Measured { basis: "name only".to_owned(), ..published() };
    assert_eq!(refusals(&held(&lock, &other)), [Reason::BasisMismatch]);
    // Lowered to a warning: bytes can still be compared under another ratio, …
    let mut lax = lock.clone();
    let warn = CheckSetting { level: Level::Warn, reason: None, line: 1 };
    lax.checks.insert("BASIS_MISMATCH".to_owned(), warn);
    let report = judge(&lax, &published(), &chars4());
    assert_eq!((report.verdict, warnings(&report)), (Verdict::Holds, vec![Reason::BasisMismatch]));
    assert_eq!(
        report.checks.iter().find(|check| check.surface == Surface::Floor).unwrap().budget,
        Some(5_070)
    );
    // … other fields and missing token counts cannot: that is not measured, not passed.
    assert_eq!(held(&lax, &Measured { basis: String::new(), ..published() }).verdict.exit_code(), 3);
    assert_eq!(judge(&lax, &published(), &o200k()).verdict.exit_code(), 3);
}

#[test]
fn a_tokenizer_budgets_token_sums_and_needs_them() {
    let with = |tokens: u64| {
        let mut now = one(vec![tool("a", 900, 90), tool("b", 900, 90)]);
        for (_, price) in &mut now.servers[0].tools {
            (price.tokens, price.description_tokens) = (Some(tokens), Some(tokens / 10));
        }
        now
    };
    let lock = update(None, &with(100), "o200k/1", None).unwrap().lock;
    let report = judge(&lock, &with(100), &o200k());
    assert_eq!((report.checks[0].measured, report.checks[0].budget), (Some(200), Some(200)));
    assert!(refusals(&judge(&lock, &with(101), &o200k())).contains(&Reason::FloorBudgetExceeded));
    let mut bare = lock;
    bare.tools.values_mut().for_each(|entry| entry.price.as_mut().unwrap().tokens = None);
    assert_eq!(refusals(&judge(&bare, &with(100), &o200k())), [Reason::BasisMismatch]);
}

#[test]
fn a_learned_estimator_cannot_price_a_lock() {
    let samples = deadweight_estimate::calibrated();
    let lock = Lock { estimator: "learned:m/1".to_owned(), ..Lock::new("x", BASIS) };
    let report = judge(&lock, &measured(vec![]), &Named(samples));
    assert_eq!(refusals(&report), [Reason::BasisMismatch]);
}

/// A ratio that calls itself learned.
struct Named(deadweight_estimate::RatioEstimator);

impl deadweight_estimate::Estimator for Named {
    fn id(&self) -> deadweight_estimate::EstimatorId {
        deadweight_estimate::EstimatorId { name: "learned:m".into(), version: 1 }
    }
    fn counting(&self) -> deadweight_estimate::Counting<'_> {
        self.0.counting()
    }
}

#[test]
fn the_json_has_the_members_it_promises() {
    let lock = pinned(&one(vec![tool("a", 900, 0)]));
    let now = one(vec![tool("a", 945, 0), tool("b", 9, 0)]);
    let json = serde_json::to_value(judge(&lock, &now, &calibrated())).unwrap();
    insta::assert_json_snapshot!(json);
}
