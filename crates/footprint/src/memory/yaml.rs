//! The members of a YAML mapping, as far as front matter needs them: texts and lists of texts, by key.
//!
//! YAML is read as events and nothing is built from aliases, so that no file can blow up. Where it is not valid
//! (descriptions with a bare `: ` are common), its lines are read one by one, as agents do.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// A mapping's members.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Block {
    members: Vec<(String, Value)>,
    /// Whether it is YAML at all.
    pub(super) valid: bool,
}

/// A member's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A text, or whatever else stands as one: numbers, `true`. Nothing for `null`.
    Text(String),
    /// The texts of a list.
    List(Vec<String>),
    /// A mapping, an alias, a list of something else.
    Other,
}

impl Block {
    /// The value of a key; the last one where it occurs twice.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether a key occurs more than once.
    pub(super) fn repeats(&self, key: &str) -> bool {
        self.members.iter().filter(|(name, _)| name == key).count() > 1
    }
}

/// Reads a mapping.
pub(super) fn read(text: &str) -> Block {
    match events(text) {
        Some(members) => Block { members, valid: true },
        None => Block { members: lines(text), valid: false },
    }
}

/// What is open around the next event: the outer mapping's key that waits for its value, and how deep inside that
/// value the event lies.
#[derive(Default)]
struct Open {
    key: Option<String>,
    depth: usize,
    list: Option<Vec<String>>,
}

fn events(text: &str) -> Option<Vec<(String, Value)>> {
    let mut members = Vec::new();
    let mut outer = false;
    let mut open = Open::default();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.ok()?;
        match event {
            Event::MappingStart(..) if !outer => outer = true,
            Event::Scalar(..) | Event::SequenceStart(..) | Event::Alias(_) if !outer => return None,
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                open.key.get_or_insert_default();
                open.list = match event {
                    Event::SequenceStart(..) if open.depth == 0 => Some(Vec::new()),
                    _ => None,
                };
                open.depth += 1;
            }
            Event::SequenceEnd | Event::MappingEnd if open.depth > 0 => {
                open.depth -= 1;
                if open.depth == 0 {
                    let value = open.list.take().map_or(Value::Other, Value::List);
                    members.push((open.key.take().unwrap_or_default(), value));
                }
            }
            Event::Scalar(value, style, ..) => match (open.depth, open.key.take()) {
                (0, None) => open.key = Some(value.into_owned()),
                (0, Some(key)) => members.push((key, Value::Text(plain(&value, style)))),
                (depth, key) => {
                    open.key = key;
                    if let Some(list) = open.list.as_mut().filter(|_| depth == 1) {
                        list.push(plain(&value, style));
                    }
                }
            },
            Event::Alias(_) => match (open.depth, open.key.take()) {
                (0, key) => members.push((key.unwrap_or_default(), Value::Other)),
                (_, key) => {
                    open.key = key;
                    open.list = None;
                }
            },
            _ => {}
        }
    }
    Some(members)
}

/// A scalar as a text; `null` in its spellings is none.
fn plain(value: &str, style: ScalarStyle) -> String {
    match (style, value) {
        (ScalarStyle::Plain, "~" | "null" | "Null" | "NULL") => String::new(),
        _ => value.to_owned(),
    }
}

/// `key: value` lines, each with the indented lines below it.
fn lines(text: &str) -> Vec<(String, Value)> {
    let mut members: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = members.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            members.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    members.into_iter().map(|(key, value)| (key, Value::Text(unquoted(&value).to_owned()))).collect()
}

fn unquoted(value: &str) -> &str {
    let value = value.trim().trim_start_matches(['>', '|']).trim_start();
    ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(yaml: &str, key: &str) -> Option<String> {
        match read(yaml).get(key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    #[test]
    fn every_form_of_a_text() {
        for (yaml, expected) in [
            ("d: plain words", "plain words"),
            ("d: plain first\n  second line\n\n  third", "plain first second line\nthird"),
            ("d: 'it''s'", "it's"),
            ("d: \"a \\\"b\\\"\\n\\u00e9\"", "a \"b\"\né"),
            ("d: \"folded\n  over\"", "folded over"),
            ("d: >\n  one\n  two\n\n  three\n", "one two\nthree\n"),
            ("d: >-\n  one\n  two\n", "one two"),
            ("d: |\n  one\n    two\n", "one\n  two\n"),
            ("d: |-\n  one\n", "one"),
            ("d: |+\n  one\n\n", "one\n\n"),
            ("d: |2\n    one\n", "  one\n"),
            ("d: one # comment", "one"),
            ("d: a#b", "a#b"),
            ("d: 12.50", "12.50"),
            ("d: true", "true"),
            ("d: null", ""),
            ("d: ~", ""),
            ("d: \"null\"", "null"),
            ("d:", ""),
            ("d: &a text", "text"),
            ("d: !!str 5", "5"),
            ("\"d\": x", "x"),
            ("d: 日本語 😀", "日本語 😀"),
            ("d: one\r\ne: two\r\n", "one"),
            ("{d: x, e: y}", "x"),
        ] {
            assert_eq!(text(yaml, "d").as_deref(), Some(expected), "{yaml:?}");
            assert!(read(yaml).valid, "{yaml:?}");
        }
    }

    #[test]
    fn what_is_not_yaml_is_read_by_lines() {
        for (yaml, expected) in [
            ("d: use it: always", "use it: always"),
            ("d: <b>: {open", "<b>: {open"),
            ("d: first: x\n  second: y\ne: z", "first: x second: y"),
            ("d: \"a\" b: c", "\"a\" b: c"),
            ("\td: x\nd: 'q: r' s: t", "'q: r' s: t"),
            ("x: {\nd: \"whole\"", "whole"),
        ] {
            assert_eq!(text(yaml, "d").as_deref(), Some(expected), "{yaml:?}");
            assert!(!read(yaml).valid, "{yaml:?}");
        }
    }

    #[test]
    fn lists_and_what_is_neither() {
        let block = read("l: [a, \"b\"]\nm:\n  - x\n  - y\nn: {k: v}\no: [[a]]\np: &p [q]\nr: *p\nz: end");
        assert_eq!(block.get("l"), Some(&Value::List(vec!["a".into(), "b".into()])));
        assert_eq!(block.get("m"), Some(&Value::List(vec!["x".into(), "y".into()])));
        assert_eq!(block.get("n"), Some(&Value::Other));
        assert_eq!(block.get("o"), Some(&Value::Other));
        assert_eq!(block.get("r"), Some(&Value::Other));
        assert_eq!(block.get("z"), Some(&Value::Text("end".into())));
        assert_eq!(block.get("k"), None);
    }

    #[test]
    fn the_last_of_two_counts() {
        let block = read("d: one\nd: two");
        assert_eq!(block.get("d"), Some(&Value::Text("two".into())));
        assert!(block.repeats("d") && !block.repeats("e"));
    }

    #[test]
    fn a_text_or_list_is_no_mapping() {
        for yaml in ["just words", "- a\n- b", "", "# comment"] {
            assert_eq!(read(yaml).get("d"), None, "{yaml:?}");
        }
    }

    #[test]
    fn aliases_are_never_expanded() {
        let mut bomb = String::from("a0: &a0 [x, x]\n");
        for level in 1..64 {
            let below = level - 1;
            bomb.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}]\n"));
        }
        bomb.push_str("d: still here");
        assert_eq!(text(&bomb, "d").as_deref(), Some("still here"));
    }

    #[test]
    fn depth_does_not_hurt() {
        let deep = format!("n: {}{}\nd: x", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(text(&deep, "d").as_deref(), Some("x"));
    }

    proptest! {
        #[test]
        fn anything_is_read(yaml in "[ -~\n\t{}:|>'\"*&é-]{0,80}") {
            read(&yaml);
        }

        #[test]
        fn a_quoted_text_comes_back(value in "[a-zA-Z0-9 :#,'é{}*&|>-]{0,40}") {
            let yaml = format!("d: \"{value}\"\n");
            prop_assert_eq!(text(&yaml, "d"), Some(value));
        }
    }
}
