//! Locks of any content: reading never panics and places its errors, writing is a fixed point that says the same,
//! no comment of a person is lost, and no source that is not clean gets through.

#![no_main]

use deadweight_lock::{Lock, is_clean_source, read, source_of_command, source_of_url, update};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    for source in [source_of_url(text), source_of_command(text, &[]), source_of_command("npx", &words)] {
        assert!(is_clean_source(&source), "{source:?}");
    }

    let lock = match read(text) {
        Ok(lock) => lock,
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.lines().count() + 1);
            assert!(error.column >= 1 && !error.what.is_empty() && !error.remedy.is_empty());
            assert_eq!(update(Some(text), &Lock::new("calibrated/1", "b")), Err(error), "never overwritten");
            return;
        }
    };
    for server in lock.servers.values() {
        assert!(server.source.as_deref().is_none_or(is_clean_source));
    }
    let written = update(Some(text), &lock).expect("what can be read can be written");
    let again = read(&written).expect("what was written can be read");
    assert_eq!(unplaced(again.clone()), unplaced(lock.clone()), "nothing else is said");
    assert_eq!(update(Some(&written), &again).as_ref(), Ok(&written), "a fixed point");
    // A mark that no key or value holds is in a comment, and stays as often as it was there.
    for mark in ["#a", "#b", "# c"] {
        if !format!("{lock:?}").contains('#') {
            assert!(written.matches(mark).count() >= text.matches(mark).count(), "{mark}");
        }
    }
});

/// A lock without its line numbers, which are no part of what it says. (Rules stand in the order of their lines.)
fn unplaced(mut lock: Lock) -> Lock {
    lock.servers.values_mut().for_each(|entry| entry.line = 0);
    lock.tools.values_mut().for_each(|entry| entry.line = 0);
    lock.skills.values_mut().chain(lock.memory.values_mut()).for_each(|entry| entry.line = 0);
    lock.checks.values_mut().for_each(|check| check.line = 0);
    lock.rules.iter_mut().for_each(|rule| rule.line = 0);
    let slack = &mut lock.slack;
    let slacks = [
        &mut slack.floor,
        &mut slack.descriptions,
        &mut slack.instructions,
        &mut slack.skills,
        &mut slack.memory,
    ];
    let limits = [&mut lock.ceiling_tokens, &mut lock.max_tool_tokens, &mut lock.max_tools];
    slacks.into_iter().chain(limits.into_iter().flatten()).for_each(|setting| setting.line = 0);
    lock
}
