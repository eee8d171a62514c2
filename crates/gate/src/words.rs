//! Names in sentences. A server chooses what its tools are called: any text, of any length.

/// Characters from which on a name is cut in the middle.
const LONGEST: usize = 100;

/// A name for a person: no character that moves the cursor, ends a line or turns the direction of writing,
/// and not longer than a line.
pub(crate) fn shown(name: &str) -> String {
    let harmless = |c: char| match c {
        '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let length = name.chars().count();
    if length <= LONGEST {
        return name.chars().map(harmless).collect();
    }
    let half = LONGEST / 2;
    let (head, tail) = (name.chars().take(half), name.chars().skip(length - half));
    head.chain(std::iter::once('…')).chain(tail).map(harmless).collect()
}

/// The same in backticks, which nothing in it can end.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", shown(name).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_no_longer_than_a_line() {
        assert_eq!(quoted("create_issue"), "`create_issue`");
        assert_eq!(quoted("a`b\n::error::\u{1b}[2J\u{202e}"), "`a'b\u{fffd}::error::\u{fffd}[2J\u{fffd}`");
        assert_eq!(quoted(""), "``");
        let long = format!("begin{}end", "é".repeat(10_000));
        let cut = shown(&long);
        assert!(
            cut.starts_with("begin") && cut.ends_with("end") && cut.chars().count() == LONGEST + 1,
            "{cut}"
        );
    }
}
