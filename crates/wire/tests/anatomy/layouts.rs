//! The layouts of real agents. Each outline is a snapshot to be read in a diff.

use crate::outline::{check, outline, read};
use deadweight_testkit::layouts::{Size, all, claude_code};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::BlockKind;
use deadweight_wire::json::{Parser, Value};

#[test]
fn every_layout_has_its_outline() {
    for layout in all(Size::SMALL) {
        let dialect = Dialect::of_name(layout.dialect).unwrap();
        let text = read(&layout.body, dialect, |anatomy| {
            check(anatomy);
            outline(anatomy)
        });
        insta::assert_snapshot!(layout.name, text);
    }
}

#[test]
fn large_layouts_keep_the_same_laws() {
    for layout in all(Size { tools: 60, turns: 30, text: 2_000 }) {
        read(&layout.body, Dialect::of_name(layout.dialect).unwrap(), check);
    }
}

#[test]
fn paths_and_shapes_name_the_dialect() {
    for layout in all(Size::SMALL) {
        let dialect = Dialect::of_name(layout.dialect).unwrap();
        assert_eq!(Dialect::of_path(layout.path), Some(dialect), "{}", layout.name);
        let shape =
            Parser::new().scope(layout.body.as_bytes(), |document| Dialect::of_shape(document.unwrap()));
        assert_eq!(shape, Some(dialect), "{}", layout.name);
    }
}

/// What was said, without marks and whether a text stood alone or in an array.
fn said(body: &str) -> Vec<(BlockKind, Vec<String>)> {
    read(body, Dialect::AnthropicMessages, |anatomy| {
        let messages = anatomy.messages.iter().flat_map(|message| anatomy.blocks_of(message));
        let said = messages.map(|block| (block.kind, block.content.iter().map(text_of).collect()));
        said.collect()
    })
}

fn text_of(value: &Value<'_, '_>) -> String {
    value.as_str().map_or_else(|| value.raw().to_owned(), |text| text.into_owned())
}

#[test]
fn a_marker_that_moves_changes_bytes_but_not_what_was_said() {
    for turns in 0..6 {
        let now = claude_code(Size { turns, ..Size::SMALL });
        let next = claude_code(Size { turns: turns + 1, ..Size::SMALL });
        let (said_now, said_next) = (said(&now), said(&next));
        assert!(said_next.len() > said_now.len());
        assert_eq!(said_now, said_next[..said_now.len()], "{turns} turns");
        let messages = |body: &str| body.split(r#","system":["#).next().unwrap().len();
        assert!(!next.starts_with(&now[..messages(&now) - 1]), "the marked message keeps its bytes");
    }
}
