//! What is pinned is so.

use deadweight_levers::{Lever, Profile};
use deadweight_scorecard::known::KNOWN;

#[test]
fn defaults_are_pinned() {
    let pinned: Vec<_> = KNOWN.iter().map(|known| (known.name, known.on)).collect();
    let real: Vec<_> =
        Lever::ALL.into_iter().map(|lever| (lever.name(), lever.on(Profile::Default))).collect();
    assert_eq!(pinned, real);
    assert!(KNOWN.iter().all(|known| known.on == known.gate.is_empty()), "who is off waits for something");
}
