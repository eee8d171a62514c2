//! Scripted sessions over HTTP: straight to the strict provider nothing is refused, and what others do is seen at its door.

// Helpers of tests stop at what cannot be, as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

use deadweight_testkit::sessions::foreign::{Foreign, Rewriting};
use deadweight_testkit::sessions::{
    BINDING, CALM, Fate, Kind, Line, Plan, Played, Sizes, Straight, play, set,
};

fn straight(plan: &Plan) -> Played {
    let line = Line::start().unwrap();
    play(plan, &line, &mut Straight::to(&line)).unwrap()
}

fn foreign(policy: Foreign, plan: &Plan) -> Played {
    let line = Line::start().unwrap();
    let mut between = Rewriting::start(policy, &line).unwrap();
    play(plan, &line, &mut between).unwrap()
}

fn sound(played: &Played) {
    assert_eq!(played.refused, [], "{:?}", played.refused);
    assert_eq!((played.dropped, played.lost, played.orphans), (0, 0, 0));
    assert!(played.rewritten.is_empty(), "{:?}", played.rewritten);
}

/// Of each kind one session, cut short.
#[test]
fn nothing_is_refused_with_nothing_in_between() {
    for plan in set(10) {
        let plan = Plan { steps: plan.steps.min(25), ..plan };
        let mut played = straight(&plan);
        // Thinking of another model's is left out, whoever brings it.
        let dropped = if plan.kind.switches_model { std::mem::take(&mut played.dropped) } else { 0 };
        sound(&played);
        assert_eq!((played.edited, dropped > 0), (0, plan.kind.switches_model));
        assert!(played.requests >= plan.steps && played.sent.len() == played.requests, "{plan:?}");
        let again = straight(&plan);
        assert_eq!((again.bill, again.sent), (played.bill, played.sent), "the same each time: {plan:?}");
    }
}

#[test]
fn others_rewrite_what_is_cached_and_break_bound_thinking() {
    let older = Plan {
        seed: 5,
        kind: Kind { sizes: Sizes::Published, heavy: true, ..CALM },
        steps: 40,
        fate: Fate::Calm,
        busy: false,
        persists: false,
    };
    let bound = Plan { kind: Kind { model: BINDING, ..older.kind }, ..older };
    for policy in Foreign::ALL {
        let played = foreign(policy, &older);
        assert_eq!(played.refused, [], "{}", policy.name());
        assert!(!played.rewritten.is_empty() && played.edited > 0, "{}", policy.name());
        assert_eq!(played.lost > 0, policy == Foreign::CompressAll);
        let played = foreign(policy, &bound);
        assert_eq!(played.refused.len(), 1, "{}", policy.name());
        assert!(
            played.refused[0].message.contains("bound to a different conversation"),
            "{:?}",
            played.refused
        );
        assert!(played.refused[0].step < 39);
    }
    sound(&straight(&older));
    sound(&straight(&bound));
}
