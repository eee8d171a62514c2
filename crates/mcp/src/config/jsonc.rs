//! JSON with comments and trailing commas, made plain JSON of the same length.

/// The same text with comments, commas before a closing bracket and a leading byte order mark turned into
/// spaces. Every other byte stays where it is, so that offsets and line numbers hold. A text that is not
/// JSON either way stays broken where it was.
pub(super) fn plain(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    if out.starts_with(b"\xef\xbb\xbf") {
        blank(&mut out, 0, 3);
    }
    let mut at = 0;
    // The last byte that is neither space nor comment, and where the last comma of that kind stands.
    let mut before = b' ';
    let mut comma = None;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(text, at);
                (before, comma) = (b'"', None);
                continue;
            }
            b'/' if text.get(at + 1) == Some(&b'/') => {
                let end = find(text, at, b"\n");
                blank(&mut out, at, end);
                at = end;
                continue;
            }
            b'/' if text.get(at + 1) == Some(&b'*') => {
                // One that is never closed stays, and is refused by the parser.
                let close = find(text, at + 2, b"*/");
                if close == text.len() {
                    return out;
                }
                blank(&mut out, at, close + 2);
                at = close + 2;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' => {
                comma = (!matches!(before, b'[' | b'{' | b',' | b' ')).then_some(at);
                before = b',';
            }
            b']' | b'}' => {
                if let Some(comma) = comma {
                    blank(&mut out, comma, comma + 1);
                }
                (before, comma) = (byte, None);
            }
            _ if at < 3 && text.starts_with(b"\xef\xbb\xbf") => {}
            _ => (before, comma) = (byte, None),
        }
        at += 1;
    }
    out
}

/// Turns bytes into spaces; line ends stay.
fn blank(out: &mut [u8], from: usize, to: usize) {
    for byte in out.get_mut(from..to).unwrap_or_default() {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// The offset after a string that begins at `at`.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Where `needle` begins at or after `from`; the end of the text if nowhere.
fn find(text: &[u8], from: usize, needle: &[u8]) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    memchr::memmem::find(rest, needle).map_or(text.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Option<serde_json::Value> {
        serde_json::from_slice(&plain(text.as_bytes())).ok()
    }

    #[test]
    fn comments_and_commas_go() {
        let text = "\u{feff}// head\n{ /* a */ \"url\": \"https://x//y /* no */ ,]\\\\\", // tail\r\n \"list\": [1, 2,\n],\n}";
        let value = parsed(text).unwrap();
        assert_eq!(value["url"], "https://x//y /* no */ ,]\\");
        assert_eq!(value["list"], serde_json::json!([1, 2]));
        let plain = plain(text.as_bytes());
        assert_eq!(plain.len(), text.len());
        assert_eq!(plain.iter().filter(|byte| **byte == b'\n').count(), 4);
    }

    #[test]
    fn what_is_broken_stays_broken() {
        for text in ["[,]", "[1,,]", "{,}", ",", "[1 /* ", "[1,", "\"a", "{\"a\":,}"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_json_is_left_alone(value in "[\\[\\]{},:\"/*\\\\ \na1]{0,40}") {
            if serde_json::from_str::<serde_json::Value>(&value).is_ok() {
                prop_assert_eq!(plain(value.as_bytes()), value.as_bytes());
            }
        }

        /// Wherever a comment stands between two tokens, it changes nothing.
        #[test]
        fn comments_change_nothing(
            list in prop::collection::vec("[a-z/*,\\[\\]]{0,6}", 1..6),
            comment in prop_oneof![Just("/* , ] \" */"), Just("// \" ,]\n"), Just("\t\r\n")],
            trailing in any::<bool>(),
        ) {
            let mut text = format!("{comment}[{comment}");
            for (index, item) in list.iter().enumerate() {
                let comma = if index + 1 < list.len() || trailing { "," } else { "" };
                text.push_str(&format!("{comment}\"{item}\"{comment}{comma}{comment}"));
            }
            text.push_str(&format!("{comment}]{comment}"));
            prop_assert_eq!(parsed(&text), Some(serde_json::json!(list)));
        }
    }
}
