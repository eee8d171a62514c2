//! Two locks, and whether every raise between them says why.
#![allow(clippy::unwrap_used)]

mod common;

use common::{held, measured, one, pinned, refusals, server, text, tool};
use deadweight_estimate::calibrated;
use deadweight_gate::{Measured, Reason, Report, Verdict, compare, update};
use deadweight_lock::{CheckSetting, Level, Lock, Marks, Setting, ToolKey};

fn base() -> Measured {
    let mut now = one(vec![tool("a", 900, 90), tool("b", 900, 90), tool("c", 900, 90)]);
    now.servers[0].instructions = Some(text(300));
    now.memory = Some([("CLAUDE.md".to_owned(), text(700))].into());
    now
}

fn against(base: &Lock, now: &Lock) -> Report {
    compare(base, now, &calibrated())
}

fn edited(edit: impl FnOnce(&mut Lock)) -> Report {
    let lock = pinned(&base());
    let mut now = lock.clone();
    edit(&mut now);
    against(&lock, &now)
}

fn said(report: &Report) -> String {
    report
        .refusals()
        .map(|check| format!("{}: {}\n", check.subject.name.as_deref().unwrap_or("-"), check.message))
        .collect()
}

#[test]
fn the_same_lock_holds() {
    let report = edited(|_| {});
    assert_eq!((report.verdict, refusals(&report)), (Verdict::Holds, vec![]));
    assert!(report.tools.iter().all(|tool| tool.delta == 0));
}

#[test]
fn what_an_update_with_a_reason_makes_holds_and_without_one_is_not_made() {
    let lock = pinned(&base());
    let mut heavier = base();
    heavier.servers[0].tools = vec![tool("a", 1_000, 90), tool("b", 900, 90), tool("new", 90, 9)];
    heavier.servers[0].instructions = Some(text(400));
    heavier.memory =
        Some([("CLAUDE.md".to_owned(), text(800)), ("sub/AGENTS.md".to_owned(), text(10))].into());
    let refused = update(Some(&lock), &heavier, "calibrated/1", Some("  ")).unwrap_err();
    assert_eq!(refused.raised, ["CLAUDE.md", "s instructions", "s/a", "s/new", "sub/AGENTS.md"]);
    let updated = update(Some(&lock), &heavier, "calibrated/1", Some("exports for #88")).unwrap();
    assert_eq!(refusals(&against(&lock, &updated.lock)), []);
    let reasons: Vec<_> =
        updated.lock.tools.iter().map(|(key, entry)| (key.name.as_str(), entry.reason.as_deref())).collect();
    assert_eq!(reasons, [("a", Some("exports for #88")), ("b", None), ("new", Some("exports for #88"))]);
    // The next raise needs a reason of its own.
    heavier.servers[0].tools[0] = tool("a", 1_100, 90);
    let again = update(Some(&updated.lock), &heavier, "calibrated/1", Some("more fields")).unwrap();
    assert_eq!(refusals(&against(&updated.lock, &again.lock)), []);
    let mut lazy = again.lock;
    lazy.tools.get_mut(&ToolKey::new("s", "a")).unwrap().reason = Some("exports for #88".to_owned());
    assert_eq!(refusals(&against(&updated.lock, &lazy)), [Reason::RaiseWithoutCause]);
}

#[test]
fn every_raise_by_hand_is_refused() {
    let key = ToolKey::new("s", "a");
    let raise = |lock: &mut Lock, reason: Option<&str>, rehash: bool| {
        let entry = lock.tools.get_mut(&key).unwrap();
        let price = entry.price.as_mut().unwrap();
        price.bytes += 1;
        if rehash {
            price.hash = deadweight_lock::Hash::of_text("new");
        }
        entry.reason = reason.map(str::to_owned);
    };
    for (edit, expected) in [
        (
            Box::new(|lock: &mut Lock| raise(lock, Some("why not"), false)) as Box<dyn FnOnce(&mut Lock)>,
            "hash did not move",
        ),
        (Box::new(|lock| raise(lock, None, true)), "rose without a reason"),
        (Box::new(|lock| raise(lock, Some(" "), true)), "rose without a reason"),
        (
            Box::new(|lock| lock.tools.extend(pinned(&one(vec![tool("new", 9, 0)])).tools)),
            "came without a reason",
        ),
        (
            Box::new(|lock| lock.servers.get_mut("s").unwrap().instructions = Some(text(301))),
            "rose without a reason",
        ),
        (
            Box::new(|lock| lock.memory.get_mut("CLAUDE.md").unwrap().price = text(701)),
            "rose without a reason",
        ),
        (Box::new(|lock| lock.memory.get_mut("CLAUDE.md").unwrap().price.bytes = 701), "hash did not move"),
        (Box::new(|lock| lock.slack.floor = Setting::of(251)), "rose from 250 to 251"),
        (Box::new(|lock| lock.slack.memory = Setting::of(201)), "rose from 200 to 201"),
    ] {
        let report = edited(edit);
        assert_eq!(refusals(&report), [Reason::RaiseWithoutCause], "{expected}");
        assert!(said(&report).contains(expected), "{expected}: {}", said(&report));
    }
    assert_eq!(refusals(&edited(|lock| raise(lock, Some("cause"), true))), []);
    assert_eq!(
        refusals(&edited(
            |lock| lock.slack.floor = Setting { limit: 300, reason: Some("two teams".to_owned()), line: 3 }
        )),
        []
    );
    assert_eq!(refusals(&edited(|lock| lock.slack.floor = Setting::of(10))), []);
}

#[test]
fn ceilings_and_checks_are_loosened_with_a_reason_or_not_at_all() {
    let mut before = pinned(&base());
    before.ceiling_tokens = Some(Setting::of(1_000));
    let strict =
        |level, reason: Option<&str>| CheckSetting { level, reason: reason.map(str::to_owned), line: 5 };
    before.checks.insert("TOOL_GREW".to_owned(), strict(Level::Error, None));
    let after = |edit: &dyn Fn(&mut Lock)| {
        let mut now = before.clone();
        edit(&mut now);
        said(&against(&before, &now))
    };
    assert!(
        after(&|lock| lock.ceiling_tokens = Some(Setting::of(1_001)))
            .contains("`ceiling_tokens` rose from 1000 to 1001")
    );
    assert!(after(&|lock| lock.ceiling_tokens = None).contains("was 1000 and is gone"));
    assert!(
        after(&|lock| drop(lock.checks.insert("TOOL_GREW".to_owned(), strict(Level::Warn, None))))
            .contains("TOOL_GREW was lowered")
    );
    assert!(after(&|lock| drop(lock.checks.remove("TOOL_GREW"))).contains("TOOL_GREW was lowered"));
    assert!(
        after(&|lock| drop(
            lock.checks.insert("FLOOR_BUDGET_EXCEEDED".to_owned(), strict(Level::Warn, Some("")))
        ))
        .contains("FLOOR_BUDGET_EXCEEDED was lowered")
    );
    for fine in [
        &|lock: &mut Lock| {
            drop(lock.checks.insert("TOOL_GREW".to_owned(), strict(Level::Warn, Some("vendor churn")))) as _
        },
        &|lock: &mut Lock| {
            lock.ceiling_tokens =
                Some(Setting { limit: 2_000, reason: Some("a second server".to_owned()), line: 1 })
        },
        &|lock: &mut Lock| lock.max_tools = Some(Setting::of(40)),
        &|lock: &mut Lock| drop(lock.checks.insert("TOOL_ADDED".to_owned(), strict(Level::Error, None))),
    ] as [&dyn Fn(&mut Lock); 4]
    {
        assert_eq!(after(fine), "");
    }
}

#[test]
fn a_lock_cannot_excuse_itself() {
    let before = pinned(&base());
    let warn = |reason: Option<&str>| CheckSetting {
        level: Level::Warn,
        reason: reason.map(str::to_owned),
        line: 5,
    };
    let review = |reason: Option<&str>| {
        let mut now = before.clone();
        now.checks.insert("RAISE_WITHOUT_CAUSE".to_owned(), warn(reason));
        now.slack.floor = Setting::of(9_999);
        against(&before, &now)
    };
    for untold in [None, Some(" ")] {
        let report = review(untold);
        assert_eq!(report.verdict, Verdict::Refused);
        assert_eq!(refusals(&report), [Reason::RaiseWithoutCause; 2], "the check and the slack");
    }
    assert_eq!(review(Some("the vendor's list is generated")).verdict, Verdict::Holds);
}

#[test]
fn another_estimator_is_named() {
    let report = edited(|lock| lock.estimator = "o200k/1".to_owned());
    assert_eq!(refusals(&report), [Reason::BasisMismatch]);
}

#[test]
fn movement_is_listed_biggest_first() {
    let lock = pinned(&base());
    let mut now = base();
    now.servers[0].tools = vec![tool("a", 1_350, 90), tool("b", 450, 90), tool("d", 4_500, 90)];
    let now = update(Some(&lock), &now, "calibrated/1", Some("x")).unwrap().lock;
    let report = against(&lock, &now);
    let moved: Vec<_> = report.tools.iter().map(|tool| (tool.name.as_str(), tool.delta)).collect();
    assert_eq!(moved, [("d", 1_000), ("c", -200), ("a", 100), ("b", -100)]);
}

#[test]
fn an_update_keeps_what_it_did_not_measure_and_the_policy_of_what_is_gone() {
    let both = measured(vec![server("s", vec![tool("a", 900, 0)]), server("t", vec![tool("b", 90, 0)])]);
    let mut lock = pinned(&both);
    let deny = Marks { deny: Some("never".to_owned()), ..Marks::default() };
    lock.tools.get_mut(&ToolKey::new("s", "a")).unwrap().marks = deny.clone();
    let now = one(vec![]);
    let kept = update(Some(&lock), &now, "calibrated/1", None).unwrap().lock;
    let a = &kept.tools[&ToolKey::new("s", "a")];
    assert_eq!((&a.price, &a.marks), (&None, &deny));
    assert!(kept.tools.contains_key(&ToolKey::new("t", "b")), "t was not among the targets");
    let all = Measured { complete: true, ..now };
    let left = update(Some(&lock), &all, "calibrated/1", None).unwrap().lock;
    assert_eq!(left.servers.keys().collect::<Vec<_>>(), ["s"], "t is not in the project any more");
    // A server that leaves the project leaves its policy behind, and nobody has to measure that.
    lock.servers.get_mut("s").unwrap().marks = deny.clone();
    let elsewhere = measured(vec![server("t", vec![tool("b", 90, 0)])]);
    let without =
        update(Some(&lock), &Measured { complete: true, ..elsewhere.clone() }, "calibrated/1", None);
    let without = without.unwrap().lock;
    assert_eq!((&without.servers["s"].marks, &without.tools[&ToolKey::new("s", "a")].marks), (&deny, &deny));
    assert_eq!(without.tools[&ToolKey::new("s", "a")].price, None);
    assert_eq!(held(&without, &elsewhere).verdict, Verdict::Holds);
}
