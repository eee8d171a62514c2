//! A real sentence-embedding model (`xtask/models`), read and run.
//!
//! The expected tokens and numbers were taken on 2026-11-30 from the same files in another way: tokens by Hugging Face's
//! `tokenizers` 0.23.3 with padding off and truncation at 256, vectors by the network written out in numpy with numbers of
//! 64 bits.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use deadweight_embed::{Model, ModelError, Vector};
use xtask::provision;

/// A text, how many tokens it has, the first of them, and the first numbers of its vector.
type Expected = (&'static str, usize, &'static [u32], [f32; 6]);

const EXPECTED: [Expected; 5] = [
    (
        "Reads a file.",
        6,
        &[101, 9631, 1037, 5371, 1012, 102],
        [0.026_259, 0.024_515, -0.112_931, 0.000_951, -0.037_994, -0.038_853],
    ),
    (
        "What is the weather like in Reykjavík tomorrow?",
        11,
        &[101, 2054, 2003, 1996, 4633, 2066, 1999, 28559, 4826, 1029, 102],
        [0.028_869, 0.061_043, 0.063_114, 0.095_078, 0.022_446, -0.059_097],
    ),
    (
        "日本語 and naïve café №5 “quotes”…",
        14,
        &[101, 1864, 1876, 1950, 1998, 15743, 7668, 1578, 2629, 1523, 16614, 1524],
        [-0.031_595, 0.036_606, 0.081_583, 0.005_901, 0.010_23, 0.056_752],
    ),
    (
        "getUserById(snake_case_name)",
        13,
        &[101, 2131, 20330, 3762, 3593, 1006, 7488, 1035, 2553, 1035, 2171, 1007],
        [-0.003_905, 0.086_359, -0.055_291, -0.041_795, -0.096_401, -0.040_951],
    ),
    ("", 2, &[101, 102], [-0.118_838, 0.048_299, -0.002_548, -0.011_011, 0.051_951, 0.010_292]),
];

#[test]
fn vectors_are_those_that_others_compute() {
    let folder = provision::model().unwrap();
    let model = Model::open(&folder).unwrap();
    assert_eq!(model.dimensions(), 384);
    let texts = EXPECTED.map(|(text, ..)| text);
    for ((text, count, tokens, numbers), vector) in EXPECTED.iter().zip(model.embed(&texts)) {
        let ours = model.tokens(text);
        assert_eq!((ours.len(), &ours[..tokens.len()]), (*count, *tokens), "{text:?}");
        for (ours, theirs) in vector.iter().zip(numbers) {
            assert!((ours - theirs).abs() < 5e-6, "{text:?}: {ours} and {theirs}");
        }
    }
    // What is too long is cut.
    let long = "word ".repeat(300);
    assert_eq!(model.tokens(&long).len(), 256);
    assert!((model.embed(&[&long])[0][1] + 0.095_586).abs() < 5e-6);

    // What means the same is near, without a word in common.
    let say =
        ["fetch the forecast", "What will it be like outside tomorrow, sunny or rainy?", "Deletes a branch."];
    let [a, b, c] =
        <[Vec<f32>; 3]>::try_from(model.embed(&say)).unwrap().map(|numbers| Vector::new(&numbers));
    assert!(a.cosine(&b) > a.cosine(&c) + 0.2, "{} and {}", a.cosine(&b), a.cosine(&c));

    // The package's own code is no model.
    let error = Model::open(folder.parent().unwrap()).unwrap_err();
    assert!(
        matches!(&error, ModelError::Unreadable { path, .. } if path.ends_with("config.json")),
        "{error}"
    );
}
