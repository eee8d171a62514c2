//! Estimators fitted to observed usage.
#![allow(clippy::expect_used, reason = "a test may fail")]

use deadweight_estimate::{
    Estimator, Fit, FitError, Learned, Sample, Surface, SurfaceRatios, Tally, Tokens, calibrated, estimator,
};
use proptest::prelude::*;

fn sample(prose_bytes: u64, tool_bytes: u64, tokens: u64) -> Sample {
    Sample { prose_bytes, tool_bytes, tokens: Tokens::new(tokens) }
}

/// A session: the tools stay, the history grows.
fn session(steps: u64, tool_bytes: u64, tokens: impl Fn(u64, u64) -> u64) -> Vec<Sample> {
    (0..steps)
        .map(|step| {
            let prose = 8_000 + step * 6_500;
            sample(prose, tool_bytes, tokens(prose, tool_bytes))
        })
        .collect()
}

fn millionths(ratios: SurfaceRatios) -> (u64, u64) {
    assert_eq!((ratios.prose.bytes(), ratios.tool_definition.bytes()), (1_000_000, 1_000_000));
    (ratios.prose.tokens(), ratios.tool_definition.tokens())
}

#[test]
fn a_session_gives_back_the_ratios_it_was_made_with() {
    let samples = session(30, 52_000, |prose, tools| prose * 3 / 10 + tools / 5);
    let learned = Learned::fit("some-model", &samples).expect("30 samples are enough");
    let (prose, tools) = millionths(learned.ratios());
    assert!(prose.abs_diff(300_000) < 20, "{prose}");
    assert!(tools.abs_diff(200_000) < 20, "{tools}");
    assert_eq!((learned.model(), learned.samples(), learned.how()), ("some-model", 30, Fit::BySurface));
    assert_eq!(learned.error_permille(), 0);
    assert_eq!(learned.id().to_string(), "learned:some-model/1");
    let mut tally = Tally::new(&learned, Surface::Prose);
    tally.add(1_000, || "".into());
    assert_eq!(tally.tokens().get(), prose / 1_000);
}

#[test]
fn one_mix_of_bytes_scales_calibrated() {
    // Twice what calibrated says, always in the same proportion: no telling which bytes the tokens came from.
    let samples: Vec<_> = (1..=40).map(|n| sample(n * 1_500, n * 900, n * 1_200)).collect();
    let learned = Learned::fit("m", &samples).expect("40 samples are enough");
    assert_eq!(learned.how(), Fit::Scaled);
    assert_eq!(millionths(learned.ratios()), (533_333, 444_444));
    let base = calibrated().ratios();
    let proportion = |ratios: SurfaceRatios| {
        ratios.prose.tokens() * ratios.tool_definition.bytes() * 1_000
            / (ratios.tool_definition.tokens() * ratios.prose.bytes())
    };
    assert_eq!(proportion(learned.ratios()), proportion(base));
}

#[test]
fn requests_without_tools_fit_too() {
    let samples: Vec<_> = (1..=25).map(|n| sample(n * 4_000, 0, n * 1_000)).collect();
    let learned = Learned::fit("m", &samples).expect("25 samples are enough");
    assert_eq!((learned.how(), millionths(learned.ratios()).0), (Fit::Scaled, 250_000));
}

#[test]
fn a_negative_ratio_is_never_learned() {
    // More tools, fewer tokens: least squares alone would price tools below nothing.
    let samples: Vec<_> = (0..30).map(|n| sample(100_000, n * 1_000, 30_000 - n * 300)).collect();
    let learned = Learned::fit("m", &samples).expect("30 samples are enough");
    assert_eq!(learned.how(), Fit::Scaled);
}

#[test]
fn too_few_samples_are_refused() {
    let samples = session(19, 10_000, |prose, tools| (prose + tools) / 4);
    assert_eq!(Learned::fit("m", &samples), Err(FitError::TooFewSamples { have: 19 }));
    let mut padded = samples.clone();
    padded.extend([sample(0, 0, 500), sample(500, 500, 0)]);
    assert_eq!(
        Learned::fit("m", &padded),
        Err(FitError::TooFewSamples { have: 19 }),
        "empty samples do not count"
    );
    padded.push(sample(5_000, 10_000, 3_750));
    assert!(Learned::fit("m", &padded).is_ok_and(|learned| learned.samples() == 20));
    let message = FitError::TooFewSamples { have: 19 }.to_string();
    assert_eq!(message, "19 usable samples are too few to fit an estimator; it takes 20");
}

#[test]
fn tokens_that_do_not_go_with_the_bytes_are_refused() {
    for tokens_per_kilobyte in [1, 5_000] {
        let samples = session(30, 10_000, |prose, tools| (prose + tools) * tokens_per_kilobyte / 1_000);
        assert_eq!(Learned::fit("m", &samples), Err(FitError::Implausible));
    }
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    for (prose, tools) in [(u64::MAX, u64::MAX / 3), (u64::MAX / 2, 1), (1, u64::MAX)] {
        let samples: Vec<_> = (0..5_000_u64)
            .map(|n| sample(prose - prose / 10_000 * n, tools / 5_000 * (n % 70), u64::MAX / 8))
            .collect();
        // Nonsense may be refused; it is not mistaken for anything else.
        match Learned::fit("m", &samples) {
            Ok(learned) => assert_eq!(learned.samples(), 5_000),
            Err(error) => assert_eq!(error, FitError::Implausible),
        }
    }
}

#[test]
fn a_stored_fit_is_the_same_fit() {
    let learned =
        Learned::fit("a/b", &session(25, 9_000, |p, t| p / 4 + t / 5)).expect("25 samples are enough");
    let stored = serde_json::to_string(&learned).expect("it can be written");
    let back: Learned = serde_json::from_str(&stored).expect("it can be read");
    assert_eq!(back, learned);
    assert!(stored.contains(r#""fit":"by_surface""#), "{stored}");
    let broken = stored.replace(r#""bytes":1000000"#, r#""bytes":0"#);
    assert!(serde_json::from_str::<Learned>(&broken).is_err(), "a ratio over 0 bytes is none");
    assert!(estimator(&learned.id().to_string()).is_err(), "a fit is not found by name");
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let one =
        (1_000..4_000_000_u64, 0..400_000_u64, 150..450_u64).prop_map(|(prose, tools, per_thousand)| {
            sample(prose, tools, (prose + tools) * per_thousand / 1_000)
        });
    prop::collection::vec(one, 20..120)
}

proptest! {
    /// The order of the samples does not matter.
    #[test]
    fn a_fit_is_the_same_in_any_order(samples in samples(), seed in any::<prop::sample::Index>()) {
        let mut turned = samples.clone();
        turned.rotate_left(seed.index(samples.len()));
        turned.reverse();
        prop_assert_eq!(Learned::fit("m", &turned), Learned::fit("m", &samples));
    }

    /// What is learned lies within the bounds of what text can cost.
    #[test]
    fn ratios_are_plausible(samples in samples()) {
        if let Ok(learned) = Learned::fit("m", &samples) {
            let (prose, tools) = millionths(learned.ratios());
            prop_assert!((20_000..=1_000_000).contains(&prose) && (20_000..=1_000_000).contains(&tools));
        }
    }

    /// Any two ratios are found again when the bytes tell them apart.
    #[test]
    fn two_ratios_are_found_again(prose in 150_000..400_000_u64, tools in 150_000..400_000_u64) {
        let samples = session(40, 60_000, |p, t| (p * prose + t * tools) / 1_000_000);
        let learned = Learned::fit("m", &samples).expect("40 samples are enough");
        let found = millionths(learned.ratios());
        prop_assert!(found.0.abs_diff(prose) < 30 && found.1.abs_diff(tools) < 60, "{found:?} for {prose} and {tools}");
        prop_assert_eq!(learned.error_permille(), 0);
    }
}
