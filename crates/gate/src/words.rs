//! Names in sentences. A server chooses what its tools are called: any text, of any length.

/// Characters from which on a name is cut in the middle.
const LONGEST: usize = 100;

/// A name for a person: what moves the cursor, ends a line or turns the direction of writing is written out,
/// and it is not longer than a line.
pub(crate) fn shown(name: &str) -> String {
    let length = name.chars().count();
    let half = LONGEST / 2;
    let mut out = String::with_capacity(name.len().min(4 * LONGEST));
    for (at, c) in name.chars().enumerate() {
        if length > LONGEST && (half..length - half).contains(&at) {
            if at == half {
                out.push('…');
            }
        } else if acts(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
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
        assert_eq!(quoted("a`b\n::error::\u{1b}[2J\u{202e}"), r"`a'b\n::error::\u{1b}[2J\u{202e}`");
        assert_eq!(quoted(""), "``");
        let long = format!("begin{}end", "é".repeat(10_000));
        let cut = shown(&long);
        assert!(
            cut.starts_with("begin") && cut.ends_with("end") && cut.chars().count() == LONGEST + 1,
            "{cut}"
        );
    }
}
