//! JSON texts for property tests: trees, and trees written out with any white space.

use proptest::prelude::*;

/// A JSON value; strings and other scalars as they are written.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Scalar(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// A string as written, quotes included: escapes of all kinds, halves of surrogate pairs, characters of one to
/// four bytes, and enough plain text that scanners meet all of this at every place of a block.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ !#-\\[\\]-~]{0,40}",
        1 => "[ !#-\\[\\]-~]{60,70}",
        3 => proptest::sample::select(vec![
            r"\n", r"\t", r#"\""#, r"\\", r"\/", r"\b\f\r", r"\\\\\\\\\\", r"\u0000", r"\u007F", r"\u0080",
            r"\u07ff", r"\u0800", r"\uFFff", r"\ud83d\ude00", r"\uD800", r"\udFFF", r"\ud83d\ud83d\ude00",
            r"\ud83d\\ude00",
        ])
        .prop_map(str::to_owned),
        2 => proptest::sample::select(vec!["é", "ß\u{7f}", "–", "索引", "🎉", "\u{fffd}", "\u{10ffff}"])
            .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn scalar() -> impl Strategy<Value = String> {
    let other = proptest::sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "-0",
        "7",
        "-12.50",
        "1e400",
        "-1E-2",
        "0.1e+3",
        "123456789012345678901",
    ]);
    prop_oneof![3 => string(), 2 => other.prop_map(str::to_owned)]
}

/// A tree. Keys come from few, so that duplicates are common.
pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    scalar().prop_map(Tree::Scalar).prop_recursive(5, 60, 7, |inner| {
        let key = prop_oneof![
            proptest::sample::select(vec![r#""""#, r#""a""#, r#""type""#, r#""\u0061""#])
                .prop_map(str::to_owned),
            string(),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..7).prop_map(Tree::Array),
            proptest::collection::vec((key, inner), 0..7).prop_map(Tree::Object),
        ]
    })
}

/// White space for [`write`], which takes one piece for every place that can have some.
pub(crate) fn spaces() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(vec!["", "", "", " ", "\n  ", "\r\n\t "]), 1..20)
}

/// The tree as text, with the white space of `spaces` in turn.
pub(crate) fn write(tree: &Tree, spaces: &[&str]) -> String {
    let mut out = String::new();
    let mut spaces = spaces.iter().copied().cycle();
    let mut space = |out: &mut String| out.push_str(spaces.next().unwrap_or(""));
    space(&mut out);
    write_value(tree, &mut out, &mut space);
    space(&mut out);
    out
}

fn write_value(tree: &Tree, out: &mut String, space: &mut impl FnMut(&mut String)) {
    match tree {
        Tree::Scalar(text) => out.push_str(text),
        Tree::Array(elements) => {
            out.push('[');
            space(out);
            for (number, element) in elements.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                    space(out);
                }
                write_value(element, out, space);
                space(out);
            }
            out.push(']');
        }
        Tree::Object(entries) => {
            out.push('{');
            space(out);
            for (number, (key, value)) in entries.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                    space(out);
                }
                out.push_str(key);
                space(out);
                out.push(':');
                space(out);
                write_value(value, out, space);
                space(out);
            }
            out.push('}');
        }
    }
}
