//! Any requests, one after the other in one session: nothing panics, the same request is the same chain, a chain hangs on
//! nothing but the messages before, a repeated request is a repeated one, memory is bounded, and a state that was saved and
//! taken back at any moment says what the one in memory says. Any bytes taken back as a state are refused or hold these laws.
//!
//! The first byte says in which dialect they are read and how far their times are apart; requests are parted by 0x1E, which no
//! JSON holds.

#![no_main]

use deadweight_cache::lineage::{Limits, Lineages, Placement, Relation};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::Lifetimes;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use libfuzzer_sys::fuzz_target;

const SESSION: &str = "session";
const LIMITS: Limits = Limits { sessions: 2, conversations: 3, tips: 2, messages: 64 };

fuzz_target!(|input: &[u8]| {
    let Some((&how, rest)) = input.split_first() else { return };
    let dialect = Dialect::ALL[usize::from(how) % Dialect::ALL.len()];
    let step = u64::from(how >> 2) * 20_000;
    let lifetimes = Lifetimes::of(dialect);
    taken_back(rest);

    let mut lineages = Lineages::new(LIMITS);
    let mut state: Option<Vec<u8>> = None;
    let mut at = 1_000_000;
    for body in rest.split(|byte| *byte == 0x1E) {
        let Some(prefix) = read(body, dialect) else { continue };
        assert_eq!(read(body, dialect).as_ref(), Some(&prefix), "a request is the same chain every time");
        chained(&prefix);
        at += step;
        let before = lineages.clone();
        let placed = lineages.place(SESSION, &prefix, at, &lifetimes);
        holds(&placed, &prefix);
        // As it was left, and as it is taken up again.
        let mut again = Lineages::new(LIMITS);
        if let Some(state) = &state {
            assert_eq!(again.restore(SESSION, state), Ok(()), "what was saved can be taken back");
            assert_eq!(again.place(SESSION, &prefix, at, &lifetimes), placed, "and says the same");
        }
        // Once more at once: it has been there.
        let repeated = lineages.clone().place(SESSION, &prefix, at, &lifetimes);
        match placed.relation {
            Relation::Partial => assert_eq!(repeated.relation, Relation::Partial),
            _ if prefix.messages.is_empty() => {}
            _ => {
                assert_eq!(repeated.relation, Relation::Retry, "{:?}", placed.relation);
                assert_eq!(repeated.conversation, placed.conversation);
                assert_eq!(repeated.known as usize, prefix.messages.len());
            }
        }
        if body.len() % 3 == 0 {
            lineages.failed(SESSION, &placed);
        }
        let (sessions, conversations, messages) = lineages.size();
        assert!(sessions <= LIMITS.sessions && conversations <= LIMITS.conversations);
        // What has just been used stays, however large it is.
        let own = prefix.messages.len().max(before.size().2.min(LIMITS.messages)) * (LIMITS.tips + 1);
        assert!(messages <= LIMITS.messages.max(own) + prefix.messages.len(), "{messages}");
        state = lineages.save(SESSION);
    }
});

fn read(body: &[u8], dialect: Dialect) -> Option<Prefix> {
    Parser::new().scope(body, |document| Some(Prefix::read(&Anatomy::read(document.ok()?, dialect))))
}

/// Sizes grow from message to message, and equal hashes stand for equal beginnings.
fn chained(prefix: &Prefix) {
    for pair in prefix.messages.windows(2) {
        assert!(pair[0].blocks <= pair[1].blocks && pair[0].tokens <= pair[1].tokens, "sizes add up");
        assert_ne!(pair[0].chain, pair[1].chain, "a message more is another history");
    }
    for mark in &prefix.marks {
        assert!(mark.tokens <= prefix.tokens(), "a marker marks a part");
    }
    assert_eq!(prefix.chain(), prefix.messages.last().map(|link| link.chain));
}

fn holds(placed: &Placement, prefix: &Prefix) {
    assert!(placed.request >= 1);
    assert!(placed.known as usize <= prefix.messages.len());
    assert_eq!(placed.turn.total, prefix.tokens());
    match placed.relation {
        Relation::First | Relation::Joined => assert_eq!((placed.request, placed.known), (1, 0)),
        Relation::Branch { at } | Relation::History { at } | Relation::Compaction { at } => {
            assert_eq!(at, placed.known, "what is another begins behind what is known");
        }
        Relation::Extends | Relation::Retry | Relation::Partial => {}
    }
}

/// Bytes from anywhere as a state: refused, or a state like any other.
fn taken_back(bytes: &[u8]) {
    let mut lineages = Lineages::new(LIMITS);
    if lineages.restore(SESSION, bytes).is_err() {
        assert_eq!(lineages.size(), (0, 0, 0), "of what is refused nothing is taken");
        return;
    }
    let state = lineages.save(SESSION);
    let mut again = Lineages::new(LIMITS);
    if let Some(state) = state {
        assert_eq!(again.restore(SESSION, &state), Ok(()));
        assert_eq!(again.size(), lineages.size());
    }
}
