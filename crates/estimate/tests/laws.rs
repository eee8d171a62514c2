//! The arithmetic of ratios, tallies, provenance and names.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]

use deadweight_estimate::{
    Counting, ESTIMATOR_NAMES, Estimated, Estimator, Forecast, Observed, Provenance, ProvenanceKind, Ratio,
    Stamp, Surface, Tally, Tokens, Witnessed, calibrated, chars4, estimator,
};
use proptest::prelude::*;

fn by_bytes(estimator: &dyn Estimator, surface: Surface, parts: &[u64]) -> u64 {
    let mut tally = Tally::new(estimator, surface);
    for bytes in parts {
        tally.add(*bytes, || panic!("a ratio looks at no text"));
    }
    tally.tokens().get()
}

#[test]
fn tool_definitions_of_known_size() {
    for (bytes, tokens) in [
        (20_283, 4_507),
        (2_264, 503),
        (2_234, 496),
        (2_033, 451),
        (1_566, 348),
        (1_222, 271),
        (1_175, 261),
        (1_101, 244),
        (999, 222),
    ] {
        assert_eq!(by_bytes(&calibrated(), Surface::ToolDefinition, &[bytes]), tokens, "{bytes} bytes");
    }
}

#[test]
fn ratios_round_down_at_their_edges() {
    for (bytes, prose, tool, chars) in [
        (0, 0, 0, 0),
        (3, 0, 0, 0),
        (4, 1, 0, 1),
        (5, 1, 1, 1),
        (15, 4, 3, 3),
        (u64::MAX, 4919131752989213764, 4099276460824344803, u64::MAX / 4),
    ] {
        assert_eq!(by_bytes(&calibrated(), Surface::Prose, &[bytes]), prose, "{bytes} bytes of prose");
        assert_eq!(
            by_bytes(&calibrated(), Surface::ToolDefinition, &[bytes]),
            tool,
            "{bytes} bytes of tools"
        );
        assert_eq!(by_bytes(&chars4(), Surface::Prose, &[bytes]), chars);
        assert_eq!(by_bytes(&chars4(), Surface::ToolDefinition, &[bytes]), chars);
    }
}

#[test]
fn a_ratio_needs_bytes_and_saturates() {
    assert_eq!(Ratio::new(1, 0), None);
    let steep = Ratio::new(3, 1).expect("1 byte is not 0");
    assert_eq!(steep.floor(u64::MAX), u64::MAX);
    assert_eq!((steep.tokens(), steep.bytes(), steep.to_string()), (3, 1, "3 tokens in 1 bytes".to_owned()));
}

#[test]
fn every_name_finds_its_estimator() {
    for name in ESTIMATOR_NAMES {
        let id = estimator(name).expect("a listed name").id();
        assert_eq!(id.to_string(), format!("{name}/1"));
        assert_eq!(estimator(&id.to_string()).expect("a listed name with its version").id(), id);
        assert_eq!(format!("{id:>12}").len(), 12, "ids take a width");
    }
    assert_eq!(ESTIMATOR_NAMES.first(), Some(&"calibrated"), "the default stands first");
}

#[test]
fn an_unknown_name_is_told_what_there_is() {
    let message = |name| match estimator(name) {
        Ok(found) => panic!("{name} found {}", found.id()),
        Err(error) => error.to_string(),
    };
    for name in ["", "claude", "CALIBRATED", "o200k_base", "learned:some-model"] {
        let message = message(name);
        assert!(message.contains(&format!("{name:?}")), "{message}");
        assert!(ESTIMATOR_NAMES.iter().all(|known| message.contains(known)), "{message}");
    }
    assert!(message("learned:some-model").contains("fitted"));
    for name in ["calibrated/2", "calibrated/", "calibrated/1/1", "calibrated/01"] {
        assert_eq!(
            message(name),
            format!("there is no estimator {name:?} in this build; it has calibrated/1")
        );
    }
}

#[test]
fn provenance_is_written_in_capitals() {
    let written = |value: &dyn Fn() -> serde_json::Result<String>| value().expect("it can be written");
    let kinds = [
        (Estimated::KIND, "ESTIMATED"),
        (Observed::KIND, "OBSERVED"),
        (Witnessed::KIND, "WITNESSED"),
        (Forecast::KIND, "FORECAST"),
    ];
    for (kind, name) in kinds {
        assert_eq!(written(&|| serde_json::to_string(&kind)), format!("\"{name}\""));
        assert_eq!(kind.to_string(), name);
    }
    let stamp = Stamp::estimated(&calibrated());
    assert_eq!(
        written(&|| serde_json::to_string(&stamp)),
        r#"{"kind":"ESTIMATED","estimator":"calibrated/1"}"#
    );
    assert_eq!(stamp.to_string(), "ESTIMATED (calibrated/1)");
    assert_eq!(written(&|| serde_json::to_string(&Stamp::of::<Observed>())), r#"{"kind":"OBSERVED"}"#);
    assert_eq!(Stamp::of::<Forecast>().to_string(), "FORECAST");
    let tokens = Tokens::<Witnessed>::new(7);
    assert_eq!(written(&|| serde_json::to_string(&tokens)), "7");
    assert_eq!((tokens.kind(), format!("{tokens:?}")), (ProvenanceKind::Witnessed, "7 WITNESSED".to_owned()));
}

#[test]
fn tokens_saturate_and_never_wrap() {
    let most = Tokens::<Observed>::new(u64::MAX);
    let few = Tokens::<Observed>::new(3);
    assert_eq!(most + few, most);
    assert_eq!([most, few].iter().sum::<Tokens<Observed>>(), most);
    assert_eq!(few.checked_sub(most), None);
    assert_eq!(most.checked_sub(few).map(Tokens::get), Some(u64::MAX - 3));
    assert_eq!((few.change_from(most), most.change_from(few)), (i64::MIN, i64::MAX));
    assert_eq!((few.change_from(Tokens::new(5)), few.change_from(few)), (-2, 0));
}

fn any_ratio() -> impl Strategy<Value = Ratio> {
    (any::<u64>(), 1..=u64::MAX)
        .prop_filter_map("bytes are not 0", |(tokens, bytes)| Ratio::new(tokens, bytes))
}

fn surface() -> impl Strategy<Value = Surface> {
    prop_oneof![Just(Surface::Prose), Just(Surface::ToolDefinition)]
}

proptest! {
    /// More bytes are never fewer tokens.
    #[test]
    fn ratios_are_monotone(ratio in any_ratio(), bytes: u64, more: u64) {
        prop_assert!(ratio.floor(bytes) <= ratio.floor(bytes.saturating_add(more)));
    }

    /// The floor is the largest whole number of tokens that these bytes hold.
    #[test]
    fn a_ratio_is_its_exact_floor(tokens in 0..=u64::from(u32::MAX), unit in 1..=u64::from(u32::MAX), bytes in 0..=u64::from(u32::MAX)) {
        let ratio = Ratio::new(tokens, unit).expect("a unit is not 0");
        let floor = u128::from(ratio.floor(bytes));
        let exact = u128::from(bytes) * u128::from(tokens);
        prop_assert!(floor * u128::from(unit) <= exact);
        prop_assert!((floor + 1) * u128::from(unit) > exact);
    }

    /// Counted together, parts are worth at least what they are worth apart, and less than one token a part more.
    #[test]
    fn apart_and_together_differ_by_rounding_only(parts in prop::collection::vec(0..1_u64 << 40, 1..20), surface in surface()) {
        for estimator in [calibrated(), chars4()] {
            let together = by_bytes(&estimator, surface, &parts);
            let apart: u64 = parts.iter().map(|part| by_bytes(&estimator, surface, &[*part])).sum();
            prop_assert!(apart <= together);
            prop_assert!(together < apart + parts.len() as u64);
        }
    }

    /// With a ratio, only the sum of the bytes matters: not their order, nor how they are split, nor in how many
    /// tallies they were counted.
    #[test]
    fn a_tally_is_the_floor_of_the_sum(parts in prop::collection::vec(0..1_u64 << 40, 0..20), at in any::<prop::sample::Index>(), surface in surface()) {
        for estimator in [calibrated(), chars4()] {
            let Counting::Ratio(ratios) = estimator.counting() else { panic!("a ratio counts bytes") };
            let expected = ratios.of(surface).floor(parts.iter().sum());
            prop_assert_eq!(by_bytes(&estimator, surface, &parts), expected);
            let (left, right) = parts.split_at(if parts.is_empty() { 0 } else { at.index(parts.len()) });
            let mut merged = Tally::new(&estimator, surface);
            for half in [right, left] {
                let mut tally = Tally::new(&estimator, surface);
                half.iter().for_each(|bytes| tally.add(*bytes, || panic!("a ratio looks at no text")));
                merged.merge(&tally);
            }
            prop_assert_eq!(merged.tokens().get(), expected);
        }
    }

    /// One text counted at once is a tally of one part.
    #[test]
    fn counting_a_text_is_a_tally_of_one(text in "\\PC{0,80}", surface in surface()) {
        for name in ESTIMATOR_NAMES {
            let estimator = estimator(name).expect("a listed name");
            let mut tally = Tally::new(&*estimator, surface);
            tally.add(text.len() as u64, || text.as_str().into());
            prop_assert_eq!(estimator.count(surface, &text), tally.tokens());
        }
    }
}
