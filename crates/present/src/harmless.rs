//! Text from outside, made harmless for a terminal: what a server calls its tools must not move the
//! cursor, colour the screen, turn the line round or hide a character.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The left-to-right mark. It follows a name written from right to left, so that a terminal that orders
/// text by direction does not draw the numbers behind it into the name.
const LEFT_TO_RIGHT_MARK: char = '\u{200e}';

/// The longest that a name is drawn, in columns, where the screen asks for no less.
const LONGEST_NAME: usize = 160;

/// How many marks may sit on one letter, or joiners follow each other. Scripts need four or five.
const MARKS: usize = 8;

/// `text` with every character that acts instead of being seen written out (`\n`, `\x1b`, `\u{202e}`), and so the
/// marks that are piled up on one letter. Letters of every script, emoji and their joiners stay as they are.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let mut marks = 0;
    let mut to_write_out = move |character: char| {
        marks = if character.width() == Some(0) { marks + 1 } else { 0 };
        acts(character) || marks > MARKS
    };
    if !text.chars().any(to_write_out) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if to_write_out(character) {
            push_visible(&mut out, character);
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// A name from outside, [`harmless`] and of a length that a person can read: what is longer loses its middle.
pub fn short(text: &str) -> Cow<'_, str> {
    match harmless(text) {
        Cow::Borrowed(text) => cut_middle(text, LONGEST_NAME),
        Cow::Owned(text) => Cow::Owned(cut_middle(&text, LONGEST_NAME).into_owned()),
    }
}

/// [`harmless`] for text of several lines: line ends and tabs stay.
pub fn harmless_lines(text: &str) -> String {
    text.lines().map(|line| harmless(&line.replace('\t', "    ")).into_owned()).collect::<Vec<_>>().join("\n")
}

/// Whether a character acts on the terminal or on its neighbours, or is drawn as nothing at all.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_visible(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\u{ff}' => out.push_str(&format!("\\x{:02x}", u32::from(character))),
        _ => out.push_str(&character.escape_unicode().to_string()),
    }
}

/// How many columns `text` takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` in at most `columns` columns: what is too long loses its middle, so that both the prefix that
/// tells the family and the end that tells the member stay.
pub fn cut_middle(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else { return Cow::Borrowed("") };
    let tail_room = room / 2;
    let head = take(text.chars(), room - tail_room);
    let tail: String = take(text.chars().rev(), tail_room).chars().rev().collect();
    // A mark that combines with a character which was cut would sit on the ellipsis.
    let tail = tail.trim_start_matches(|c: char| c.width() == Some(0)).to_owned();
    Cow::Owned(format!("{head}…{tail}"))
}

/// As many of the characters as fit in `columns`.
fn take(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut out = String::new();
    for character in characters {
        out.push(character);
        if width(&out) > columns {
            out.pop();
            break;
        }
    }
    out
}

/// `text`, closed off when it is written from right to left.
pub fn closed(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.chars().any(right_to_left) {
        let mut owned = text.into_owned();
        owned.push(LEFT_TO_RIGHT_MARK);
        return Cow::Owned(owned);
    }
    text
}

fn right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acting_characters_are_written_out() {
        assert_eq!(harmless("a\x1b[31mred\x07"), "a\\x1b[31mred\\x07");
        assert_eq!(harmless("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
        assert_eq!(harmless("user\u{202e}gnp.exe"), "user\\u{202e}gnp.exe");
        assert_eq!(harmless("zero\u{200b}width\u{feff}"), "zero\\u{200b}width\\u{feff}");
        assert_eq!(harmless("c1\u{9b}31m"), "c1\\x9b31m");
        assert_eq!(harmless("tag\u{e0041}"), "tag\\u{e0041}");
    }

    #[test]
    fn seen_characters_stay() {
        for text in ["get_файл", "查询", "👩‍👩‍👧 family", "שלום", "naïve", "می‌خواهم", ""]
        {
            assert!(matches!(harmless(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn marks_are_not_piled_up() {
        let piled = format!("e{}x", "\u{301}".repeat(10));
        assert_eq!(harmless(&piled), format!("e{}\\u{{301}}\\u{{301}}x", "\u{301}".repeat(8)));
    }

    #[test]
    fn names_are_as_long_as_can_be_read() {
        assert!(matches!(short("get_file"), Cow::Borrowed("get_file")));
        let long = short(&"n".repeat(10_000_000)).into_owned();
        assert_eq!((width(&long), long.contains('…')), (LONGEST_NAME, true));
        let piled = short(&format!("e{}", "\u{301}".repeat(1_000_000))).into_owned();
        assert!(width(&piled) <= LONGEST_NAME && piled.len() < 4 * LONGEST_NAME, "{piled}");
        assert_eq!(short("a\nb"), "a\\nb");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(harmless_lines("a\tb\n\x1b[2Jc\n"), "a    b\n\\x1b[2Jc");
    }

    #[test]
    fn the_middle_is_cut_by_columns() {
        assert_eq!(cut_middle("create_pull_request_review", 26), "create_pull_request_review");
        assert_eq!(cut_middle("create_pull_request_review", 13), "create…review");
        assert_eq!(cut_middle("abc", 2), "a…");
        assert_eq!(cut_middle("abc", 1), "…");
        assert_eq!(cut_middle("abc", 0), "");
        for columns in 0..24 {
            for text in
                ["查询数据库中的所有记录", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}"]
            {
                assert!(width(&cut_middle(text, columns)) <= columns, "{text} in {columns}");
            }
        }
    }

    #[test]
    fn right_to_left_names_are_closed_off() {
        assert_eq!(closed("שלום".into()), "שלום\u{200e}");
        assert_eq!(closed("hello".into()), "hello");
        assert_eq!(width(&closed("שלום".into())), 4);
    }
}
