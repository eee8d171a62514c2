//! Other people's text, made safe to print: escape sequences out, control characters visible.

/// One line of foreign text for a terminal: ANSI escape sequences are dropped; control characters, and
/// the invisible ones that re-order or hide text, are written as escapes (`\t`, `\u{202e}`).
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest, &mut out),
            '\u{9b}' => skip_csi(&mut rest),
            c if is_unsafe(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Bytes of foreign text, one harmless line; what is not UTF-8 becomes U+FFFD.
pub fn bytes(text: &[u8]) -> String {
    line(&String::from_utf8_lossy(text))
}

/// At most `max` characters of a harmless line, with `…` where something was left out.
pub fn excerpt(text: &[u8], max: usize) -> String {
    // No more bytes than could be shown are looked at: the text may be huge.
    let window = &text[..text.len().min(max.saturating_mul(8))];
    let shown = bytes(window);
    let mut cut: String = shown.chars().take(max).collect();
    if cut.len() < shown.len() || window.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// One word of a command line, quoted where a shell would need it, and harmless.
pub fn word(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./:@=+,%~^{}$…".contains(c);
    if !text.is_empty() && text.chars().all(safe) {
        return text.to_owned();
    }
    format!("'{}'", line(text).replace('\'', "'\\''"))
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{61c}' | '\u{e0000}'..='\u{e007f}')
}

/// After an ESC: drops the sequence it opens; an ESC that opens none is shown.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_csi(rest);
        }
        // OSC, DCS, SOS, PM, APC: up to BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            while let Some(c) = rest.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    break;
                }
                if c == '\u{1b}' && rest.peek() == Some(&'\\') {
                    rest.next();
                    break;
                }
            }
        }
        Some('(' | ')' | '#' | '%') => {
            rest.next();
            rest.next();
        }
        Some(c) if c.is_ascii_alphanumeric() || matches!(c, '=' | '>' | '<' | '\\') => {
            rest.next();
        }
        _ => out.push_str("\\u{1b}"),
    }
}

/// Inside a CSI sequence: drops parameters and the final character.
fn skip_csi(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(&c) = rest.peek() {
        match c {
            '\u{20}'..='\u{3f}' => {
                rest.next();
            }
            '\u{40}'..='\u{7e}' => {
                rest.next();
                return;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_and_controls_show() {
        assert_eq!(line("\u{1b}[31;1mred\u{1b}[0m\u{1b}[2J"), "red");
        assert_eq!(line("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c"), "abc");
        assert_eq!(line("a\tb\u{0}c\u{202e}d\u{9b}31me"), "a\\tb\\u{0}c\\u{202e}de");
        assert_eq!(line("tail\u{1b}"), "tail\\u{1b}");
        assert_eq!(line("工具 أداة 🛠"), "工具 أداة 🛠");
    }

    #[test]
    fn words_are_quoted_where_needed() {
        assert_eq!(word("@scope/pkg@1.2"), "@scope/pkg@1.2");
        assert_eq!(word("a b"), "'a b'");
        assert_eq!(word("it's"), "'it'\\''s'");
        assert_eq!(word(""), "''");
        assert_eq!(word("a\nb"), "'a\\nb'");
    }

    #[test]
    fn excerpts_are_bounded() {
        assert_eq!(excerpt(b"abc", 3), "abc");
        assert_eq!(excerpt(b"abcd", 3), "abc…");
        assert_eq!(excerpt("é".repeat(1000).as_bytes(), 3), "ééé…");
    }

    proptest::proptest! {
        #[test]
        fn nothing_harmful_is_left(text in ".{0,64}|[\\x00-\\x9f\\u{200b}-\\u{206f}\\[\\];m0-9]{0,64}") {
            proptest::prop_assert!(!line(&text).chars().any(is_unsafe));
            proptest::prop_assert!(!word(&text).chars().any(is_unsafe));
        }
    }
}
