//! Edits of generated documents against a model: a tree to which the same is done by hand.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as it must be")]

mod support;

use deadweight_wire::json::{Document, ErrorKind, Kind, Parser, Span, Value};
use deadweight_wire::splice::{Edits, Reason, SpliceError, Spliced};
use proptest::prelude::*;
use proptest::sample::Index;
use support::Tree;

/// A value of the document and its copy in the model.
struct Node<'id, 'd> {
    value: Value<'id, 'd>,
    /// For the value of an object's entry, its key; then the entry can be removed, and is what is removed.
    key: Option<Value<'id, 'd>>,
    parent: Option<usize>,
    children: Vec<usize>,
    fate: Fate,
    before: Vec<String>,
    after: Vec<String>,
    appended: Vec<String>,
}

#[derive(Clone, PartialEq)]
enum Fate {
    Kept,
    Removed,
    Replaced(String),
}

#[derive(Debug, Clone)]
enum Action {
    Replace(String),
    Remove,
    Before(String),
    After(String),
    Append(String),
}

/// The model: all values, containers before what is in them.
fn model<'id, 'd>(doc: Document<'id, 'd>) -> Vec<Node<'id, 'd>> {
    let mut nodes: Vec<Node<'id, 'd>> = Vec::new();
    let mut todo = vec![(None, None, doc.root())];
    while let Some((parent, key, value)) = todo.pop() {
        let index = nodes.len();
        if let Some(parent) = parent {
            let parent: &mut Node<'id, 'd> = &mut nodes[parent];
            parent.children.push(index);
        }
        nodes.push(Node {
            value,
            key,
            parent,
            children: Vec::new(),
            fate: Fate::Kept,
            before: Vec::new(),
            after: Vec::new(),
            appended: Vec::new(),
        });
        let children: Vec<_> = value
            .elements()
            .map(|element| (Some(index), None, element))
            .chain(value.entries().map(|entry| (Some(index), Some(entry.key), entry.value)))
            .collect();
        todo.extend(children.into_iter().rev());
    }
    nodes
}

/// What the model says the document is after the edits, without white space.
fn render(nodes: &[Node<'_, '_>], index: usize, out: &mut String) {
    let node = &nodes[index];
    if let Fate::Replaced(text) = &node.fate {
        out.push_str(&compact(text));
        return;
    }
    let ends = match node.value.kind() {
        Kind::Array => ['[', ']'],
        Kind::Object => ['{', '}'],
        _ => return out.push_str(node.value.raw()),
    };
    let mut members = Vec::new();
    for &child in &node.children {
        let child_node = &nodes[child];
        members.extend(child_node.before.iter().map(|text| compact(text)));
        if child_node.fate != Fate::Removed {
            let mut member = String::new();
            if let Some(key) = child_node.key {
                member = format!("{}:", key.raw());
            }
            render(nodes, child, &mut member);
            members.push(member);
        }
        members.extend(child_node.after.iter().map(|text| compact(text)));
    }
    members.extend(node.appended.iter().map(|text| compact(text)));
    out.push(ends[0]);
    out.push_str(&members.join(","));
    out.push(ends[1]);
}

/// A text without its white space, by way of the model.
fn compact(text: &str) -> String {
    Parser::new().scope(text.as_bytes(), |doc| {
        let mut out = String::new();
        render(&model(doc.unwrap()), 0, &mut out);
        out
    })
}

/// Takes an edit to the list and to the model, where it is possible; says whether it was.
fn edit<'id>(edits: &mut Edits<'id, '_>, nodes: &mut [Node<'id, '_>], at: usize, action: &Action) -> bool {
    let in_array = nodes[at].parent.is_some_and(|parent| nodes[parent].value.kind() == Kind::Array);
    // Not in or under, nor above, what is replaced or removed, or has been edited.
    let gone = |nodes: &[Node<'_, '_>], at: usize| nodes[at].fate != Fate::Kept;
    let mut above = std::iter::successors(nodes[at].parent, |&parent| nodes[parent].parent);
    if above.any(|above| gone(nodes, above)) {
        return false;
    }
    let span = nodes[at].value.span();
    let edited_under = nodes.iter().enumerate().any(|(other, node)| {
        let inside = node.value.span().start() > span.start() && node.value.span().end() <= span.end();
        let touched = !node.before.is_empty() || !node.after.is_empty() || !node.appended.is_empty();
        (inside && (touched || gone(nodes, other))) || (other == at && !node.appended.is_empty())
    });
    let covers = matches!(action, Action::Replace(_) | Action::Remove);
    if covers && (edited_under || gone(nodes, at)) {
        return false;
    }
    let node = &mut nodes[at];
    match action {
        Action::Replace(text) => {
            edits.replace(node.value, text.as_str());
            node.fate = Fate::Replaced(text.clone());
        }
        Action::Remove => {
            match node.key {
                Some(key) => edits.remove(key.span().join(span)),
                None if in_array => edits.remove(node.value),
                None => return false,
            };
            node.fate = Fate::Removed;
        }
        Action::Before(text) if in_array => {
            edits.insert_before(node.value, text.as_str());
            node.before.push(text.clone());
        }
        Action::After(text) if in_array => {
            edits.insert_after(node.value, text.as_str());
            node.after.push(text.clone());
        }
        Action::Append(text) if node.value.kind() == Kind::Array && node.fate == Fate::Kept => {
            edits.append(node.value, text.as_str());
            node.appended.push(text.clone());
        }
        _ => return false,
    }
    true
}

fn action() -> impl Strategy<Value = Action> {
    let text = (support::tree(), support::spaces()).prop_map(|(tree, spaces)| support::write(&tree, &spaces));
    (0..6, text).prop_map(|(number, text)| match number {
        0 => Action::Replace(text),
        1 => Action::Before(text),
        2 => Action::After(text),
        3 => Action::Append(text),
        _ => Action::Remove,
    })
}

/// What [`Spliced`] promises, looked at from outside.
fn check_outside(old: &[u8], spliced: &Spliced) {
    let (mut old_at, mut new_at) = (0, 0);
    for edit in spliced.edits() {
        assert_eq!(&old[old_at..edit.before().start], &spliced.bytes()[new_at..edit.after().start]);
        (old_at, new_at) = (edit.before().end, edit.after().end);
    }
    assert_eq!(&old[old_at..], &spliced.bytes()[new_at..]);
    let inverse = spliced.inverse();
    assert_eq!(inverse.bytes(), old);
    assert_eq!(&inverse.inverse(), spliced);
}

/// Whether an edit touches what another one replaces or removes. To put something beside it is allowed.
fn touches<'id>((span, action): (Span<'id>, &Action), (other, other_action): (Span<'id>, &Action)) -> bool {
    let inside = other.start() <= span.start() && span.end() <= other.end();
    let beside = matches!(action, Action::Before(_) | Action::After(_)) && span == other;
    matches!(other_action, Action::Replace(_) | Action::Remove) && inside && !beside
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn edits_do_what_the_model_does_and_can_be_undone(
        tree in prop_oneof![
            support::tree(),
            proptest::collection::vec(support::tree(), 1..7).prop_map(Tree::Array),
        ],
        spaces in support::spaces(),
        actions in proptest::collection::vec((any::<Index>(), action()), 0..8),
    ) {
        let text = support::write(&tree, &spaces);
        Parser::new().scope(text.as_bytes(), |doc| {
            let doc = doc.unwrap();
            let mut nodes = model(doc);
            let mut edits = Edits::new(doc);
            for (at, action) in &actions {
                let at = at.index(nodes.len());
                edit(&mut edits, &mut nodes, at, action);
            }
            let spliced = edits.apply(&mut Parser::new()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            check_outside(text.as_bytes(), &spliced);
            let mut expected = String::new();
            render(&nodes, 0, &mut expected);
            let found = String::from_utf8(spliced.into_bytes()).unwrap();
            prop_assert_eq!(compact(&found), expected, "{}", text);
            Ok(())
        })?;
    }

    /// Of any two edits that are possible each alone, both are made exactly if neither touches what the other
    /// replaces or removes.
    #[test]
    fn overlaps_are_refused(
        tree in support::tree(),
        spaces in support::spaces(),
        pair in [(any::<Index>(), action()), (any::<Index>(), action())],
    ) {
        let text = support::write(&tree, &spaces);
        Parser::new().scope(text.as_bytes(), |doc| {
            let doc = doc.unwrap();
            let mut edits = Edits::new(doc);
            let mut touched = Vec::new();
            for (at, action) in &pair {
                let mut nodes = model(doc);
                let at = at.index(nodes.len());
                if !edit(&mut edits, &mut nodes, at, action) {
                    return Ok(());
                }
                let node = &nodes[at];
                let span = match (action, node.key) {
                    (Action::Remove, Some(key)) => key.span().join(node.value.span()),
                    _ => node.value.span(),
                };
                touched.push((span, action));
            }
            let overlaps = touches(touched[0], touched[1]) || touches(touched[1], touched[0]);
            match edits.apply(&mut Parser::new()) {
                Ok(spliced) => {
                    check_outside(text.as_bytes(), &spliced);
                    prop_assert!(!overlaps);
                }
                Err(error) => prop_assert!(overlaps && matches!(error.reason, Reason::Overlap { .. }), "{}", error),
            }
            Ok(())
        })?;
    }
}

/// Applies edits to one text.
fn apply(
    text: &str,
    change: impl for<'id, 'd> FnOnce(&mut Edits<'id, 'd>, Value<'id, 'd>),
) -> Result<String, SpliceError> {
    Parser::new().scope(text.as_bytes(), |doc| {
        let doc = doc.unwrap();
        let mut edits = Edits::new(doc);
        change(&mut edits, doc.root());
        let spliced = edits.apply(&mut Parser::new())?;
        check_outside(text.as_bytes(), &spliced);
        Ok(String::from_utf8(spliced.into_bytes()).unwrap())
    })
}

#[test]
fn removing_takes_one_comma_and_keeps_the_layout() {
    let lines = "[\n  1,\n  2,\n  3\n]";
    let remove = |numbers: &'static [usize]| {
        apply(lines, |edits, root| {
            for &number in numbers {
                edits.remove(root.elements().nth(number).unwrap());
            }
        })
        .unwrap()
    };
    assert_eq!(remove(&[0]), "[\n  2,\n  3\n]");
    assert_eq!(remove(&[1]), "[\n  1,\n  3\n]");
    assert_eq!(remove(&[2]), "[\n  1,\n  2\n]");
    assert_eq!(remove(&[0, 1]), "[\n  3\n]");
    assert_eq!(remove(&[2, 1]), "[\n  1\n]");
    assert_eq!(remove(&[0, 2]), "[\n  2\n]");
    assert_eq!(remove(&[0, 1, 2]), "[\n  \n]");
}

#[test]
fn of_equal_keys_and_equal_values_only_the_one_that_was_named_changes() {
    let text = r#"{"t":["x"],"a":{"t":["x"]},"t":["x"],"b":"\"t\":[\"x\"]"}"#;
    let replaced = apply(text, |edits, root| {
        edits.replace(root.get("t").unwrap(), "[]");
    });
    assert_eq!(replaced.unwrap(), r#"{"t":["x"],"a":{"t":["x"]},"t":[],"b":"\"t\":[\"x\"]"}"#);
    let removed = apply(text, |edits, root| {
        edits.remove(root.entries().filter(|entry| entry.key.is_str("t")).last().unwrap());
    });
    assert_eq!(removed.unwrap(), r#"{"t":["x"],"a":{"t":["x"]},"b":"\"t\":[\"x\"]"}"#);
}

#[test]
fn insertions_stand_in_the_order_of_the_calls() {
    let text = "[ 1 , 2 ]";
    let inserted = apply(text, |edits, root| {
        let [one, two] = [0, 1].map(|number| root.elements().nth(number).unwrap());
        edits.append(root, "7").insert_after(two, "6").append(root, "8");
        edits.insert_before(two, "4").insert_after(one, "3").insert_before(two, "5").insert_before(one, "0");
    });
    assert_eq!(inserted.unwrap(), "[ 0,1,3 , 4,5,2,6,7,8 ]");
    let nothing_left = apply(text, |edits, root| {
        for element in root.elements() {
            edits.remove(element);
        }
        edits.insert_after(root.elements().next().unwrap(), "3");
    });
    assert_eq!(nothing_left.unwrap(), "[ 3  ]");
    assert_eq!(
        apply("[ ]", |edits, root| {
            edits.append(root, "1").append(root, "2");
        })
        .unwrap(),
        "[1,2 ]"
    );
}

#[test]
fn what_cannot_be_edited_is_refused_with_its_place() {
    let text = r#"{"a": [1, [2]], "b": 3}"#;
    let refused = |change: for<'id, 'd> fn(&mut Edits<'id, 'd>, Value<'id, 'd>)| {
        let error = apply(text, change).unwrap_err();
        (error.reason, error.offset)
    };
    type Change = for<'id, 'd> fn(&mut Edits<'id, 'd>, Value<'id, 'd>);
    let cases: [(Change, Reason, usize); 13] = [
        (
            |edits, root| {
                edits.remove(root);
            },
            Reason::RemovesRoot,
            0,
        ),
        (
            |edits, root| {
                edits.remove(root.get("b").unwrap());
            },
            Reason::RemovesEntryValue,
            21,
        ),
        (
            |edits, root| {
                edits.remove(root.entries().next().unwrap().key);
            },
            Reason::NotAValue,
            1,
        ),
        (
            |edits, root| {
                edits.replace(root.entries().next().unwrap(), "1");
            },
            Reason::NotAValue,
            1,
        ),
        (
            // The elements from the first to the last: more than one value.
            |edits, root| {
                let spans = root.get("a").unwrap().elements().map(|element| element.span());
                edits.remove(spans.reduce(|one, other| one.join(other)).unwrap());
            },
            Reason::NotAValue,
            7,
        ),
        (
            |edits, root| {
                edits.insert_after(root, "1");
            },
            Reason::NotAnElement,
            0,
        ),
        (
            |edits, root| {
                edits.insert_before(root.get("b").unwrap(), "1");
            },
            Reason::NotAnElement,
            21,
        ),
        (
            |edits, root| {
                edits.insert_before(root.entries().next().unwrap(), "1");
            },
            Reason::NotAnElement,
            1,
        ),
        (
            |edits, root| {
                edits.append(root, "1");
            },
            Reason::NotAnArray,
            0,
        ),
        (
            |edits, root| {
                edits.append(root.entries().next().unwrap(), "1");
            },
            Reason::NotAnArray,
            1,
        ),
        (
            |edits, root| {
                let outer = root.get("a").unwrap();
                edits.append(outer.elements().last().unwrap(), "1").replace(outer, "[]");
            },
            Reason::Overlap { with: 6 },
            10,
        ),
        (
            |edits, root| {
                edits.replace(root.get("b").unwrap(), "1").remove(root.entries().last().unwrap());
            },
            Reason::Overlap { with: 16 },
            21,
        ),
        (
            |edits, root| {
                edits.replace(root.get("b").unwrap(), "4}, {");
            },
            Reason::TextNotJson(deadweight_wire::json::Error { offset: 1, kind: ErrorKind::TrailingData }),
            21,
        ),
    ];
    for (number, (change, reason, offset)) in cases.into_iter().enumerate() {
        assert_eq!(refused(change), (reason, offset), "case {number}");
    }
    for text in ["", "1,2", "]", "\"a", "\"\u{1}\""] {
        let error = apply("[1]", |edits, root| {
            edits.append(root, text);
        })
        .unwrap_err();
        assert!(matches!(error.reason, Reason::TextNotJson(_)), "{text}");
    }
}

#[test]
fn edits_at_the_bottom_of_a_million_levels() {
    const DEPTH: usize = 1_000_000;
    let text = ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat();
    Parser::new().scope(text.as_bytes(), |doc| {
        let doc = doc.unwrap();
        let innermost =
            std::iter::successors(Some(doc.root()), |value| value.elements().next()).last().unwrap();
        let spliced = Edits::new(doc).append(innermost, "1").apply(&mut Parser::new()).unwrap();
        assert_eq!(spliced.bytes()[DEPTH - 1..=DEPTH + 1], *b"[1]");
        assert_eq!(spliced.inverse().bytes(), text.as_bytes());
    });
}

#[test]
fn an_entry_is_put_behind_the_last() {
    let put = |text: &str, key: &str, value: &str| {
        Parser::new().scope(text.as_bytes(), |doc| {
            let doc = doc.unwrap();
            let mut edits = Edits::new(doc);
            edits.append_entry(doc.root(), key, value);
            let spliced = edits.apply(&mut Parser::new())?;
            assert_eq!(spliced.inverse().bytes(), text.as_bytes());
            Ok::<_, SpliceError>(String::from_utf8(spliced.into_bytes()).unwrap())
        })
    };
    assert_eq!(put(r#"{"a": [1] }"#, "\"b\"", "{}").unwrap(), r#"{"a": [1],"b":{} }"#);
    assert_eq!(put("{ }", "\"b\"", "1").unwrap(), r#"{"b":1 }"#);
    let reason = |text: &str, key: &str, value: &str| put(text, key, value).unwrap_err().reason;
    assert_eq!(reason("[1]", "\"b\"", "1"), Reason::NotAnObject);
    assert_eq!(reason(r#"{"a":1}"#, "\"a\"", "2"), Reason::BadKey);
    assert_eq!(reason(r#"{"a":1}"#, "7", "2"), Reason::BadKey);
    assert_eq!(reason(r#"{"a":1}"#, "\"\\u0061\"", "2"), Reason::BadKey);
    assert!(matches!(reason(r#"{"a":1}"#, "\"b\"", "1,"), Reason::TextNotJson(_)));
    assert!(matches!(reason(r#"{"a":1}"#, "b", "1"), Reason::TextNotJson(_)));
    // Beside edits of the last entry, and with another of the same key.
    Parser::new().scope(br#"{"a":1,"b":[2,3]}"#, |doc| {
        let doc = doc.unwrap();
        let last = doc.root().get("b").unwrap();
        let mut edits = Edits::new(doc);
        edits.remove(last.elements().last().unwrap()).append(last, "4").append_entry(
            doc.root(),
            "\"c\"",
            "5",
        );
        assert_eq!(edits.apply(&mut Parser::new()).unwrap().bytes(), br#"{"a":1,"b":[2,4],"c":5}"#);
        edits.append_entry(doc.root(), "\"c\"", "6");
        assert_eq!(edits.apply(&mut Parser::new()).unwrap_err().reason, Reason::BadKey);
    });
}
