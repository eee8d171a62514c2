//! Text from outside inside of commands and settings that a person copies: it stays one word, whatever it is.

use crate::harmless::harmless;

/// A text as one word of a shell's command line.
pub fn shell(text: &str) -> String {
    let plain =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@:=,+%".contains(c));
    // A word that begins with a dash is a flag, however it is quoted, and a `=` before a name expands in some shells.
    if plain && !text.starts_with('=') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Whether a name can stand in a command or a setting to be copied: none of its characters acts on the terminal that it is
/// pasted into, and it is no flag.
pub fn can_be_copied(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && harmless(name) == name
}

/// A JSON text in which no character acts on a terminal: those that JSON leaves as they are, `U+007F` and such that turn
/// or hide what stands around them, are written as `\uXXXX`, which means the same. Outside of strings JSON has none.
pub fn json(text: &str) -> String {
    let acts =
        |c: char| !matches!(c, '\n' | '\r' | '\t') && harmless(c.encode_utf8(&mut [0; 4])) != *c.to_string();
    let plain = |byte: &u8| byte.is_ascii() && *byte != 0x7f;
    if text.as_bytes().iter().all(plain) || !text.chars().any(acts) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_is_one_word() {
        for (text, word) in [
            ("github", "github"),
            ("@scope/server.js", "@scope/server.js"),
            ("my server; rm -rf", "'my server; rm -rf'"),
            ("it's", "'it'\\''s'"),
            ("$(id)`id`\"", "'$(id)`id`\"'"),
            ("a\nb", "'a\nb'"),
            ("=ls", "'=ls'"),
            ("~root", "'~root'"),
            ("", "''"),
        ] {
            assert_eq!(shell(text), word);
        }
    }

    #[test]
    fn what_acts_is_not_copied() {
        assert!(can_be_copied("mcp__github__create_issue") && can_be_copied("查询"));
        for name in ["", "-rf", "--dangerously", "a\nb", "a\x1b[31m", "user\u{202e}gnp", "zero\u{200b}"] {
            assert!(!can_be_copied(name), "{name:?}");
        }
    }

    #[test]
    fn json_means_the_same_and_acts_on_nothing() {
        assert_eq!(json("{\"a\":\"b\"}\n"), "{\"a\":\"b\"}\n");
        assert_eq!(
            json("{\"\u{202e}\":\"\u{9b}31m\u{7f}\u{e0041}\"}"),
            "{\"\\u202e\":\"\\u009b31m\\u007f\\udb40\\udc41\"}"
        );
    }
}
