//! JSON as it was sent: members in their order, numbers as they were spelt, strings decoded.
//!
//! The provider must see that `1.0` became `1` or that two members changed places, and must not see white space or
//! escapes. No value type of a library keeps just that, so the judge reads JSON itself.

use std::borrow::Cow;

/// Deeper nesting than this is refused.
const DEEPEST: usize = 256;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// The number's own text.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// What `get` and `at` give when there is nothing.
pub(crate) static NOTHING: Json<'static> = Json::Null;

impl<'a> Json<'a> {
    /// Reads one document; the error says where it goes wrong.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("invalid UTF-8: {error}"))?;
        let mut reader = Reader { text, bytes, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at < bytes.len() { Err(reader.wrong("the end")) } else { Ok(value) }
    }

    /// The member `key`; the last one when there are several; `null` when there is none.
    pub(crate) fn get(&self, key: &str) -> &Json<'a> {
        self.find(key).unwrap_or(&NOTHING)
    }

    /// The member `key`, when it is there.
    pub(crate) fn find(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(members) => members.iter().rev().find(|(own, _)| own == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Json<'a>] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The text of the member `key`; empty when it is something else.
    pub(crate) fn word(&self, key: &str) -> &str {
        self.get(key).text().unwrap_or_default()
    }

    /// The text of `type`.
    pub(crate) fn kind(&self) -> &str {
        self.word("type")
    }

    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Number(text) = self { text.parse().ok() } else { None }
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Writes the value in the one form that is hashed: no white space, no escapes, members in their order, numbers as
    /// they were spelt. Members named `skip` are left out at any depth, save inside what belongs to a tool.
    pub(crate) fn write(&self, out: &mut Vec<u8>, skip: Option<&str>) {
        match self {
            Self::Null => out.extend(b"null"),
            Self::Bool(true) => out.extend(b"true"),
            Self::Bool(false) => out.extend(b"false"),
            Self::Number(text) => out.extend(text.as_bytes()),
            Self::Text(text) => write_text(text, out),
            Self::Array(items) => {
                out.push(b'[');
                for item in items {
                    item.write(out, skip);
                    out.push(b',');
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (key, value) in members.iter().filter(|(key, _)| Some(key.as_ref()) != skip) {
                    write_text(key, out);
                    out.push(b':');
                    value.write(out, skip.filter(|_| !matches!(key.as_ref(), "input" | "input_schema")));
                    out.push(b',');
                }
                out.push(b'}');
            }
        }
    }

    /// Writes what the value means, however it is spelt: members by name, numbers by value, without what is null or empty.
    pub(crate) fn meaning(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(text) => out.extend(text.parse::<f64>().unwrap_or_default().to_bits().to_le_bytes()),
            Self::Array(items) => {
                out.push(b'[');
                for item in items {
                    item.meaning(out);
                    out.push(b',');
                }
                out.push(b']');
            }
            Self::Object(members) => {
                let mut sorted: Vec<_> = members
                    .iter()
                    .filter(|(_, value)| {
                        !value.is_null() && !matches!(value, Self::Array(items) if items.is_empty())
                    })
                    .collect();
                sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
                out.push(b'{');
                for (key, value) in sorted {
                    write_text(key, out);
                    value.meaning(out);
                }
                out.push(b'}');
            }
            plain => plain.write(out, None),
        }
    }

    /// Bytes of the value without white space and escapes: what tools are measured by.
    pub(crate) fn size(&self, skip: Option<&str>) -> usize {
        match self {
            Self::Null | Self::Bool(true) => 4,
            Self::Bool(false) => 5,
            Self::Number(text) => text.len(),
            Self::Text(text) => text.len() + 2,
            Self::Array(items) => {
                2 + items.len().saturating_sub(1) + items.iter().map(|item| item.size(skip)).sum::<usize>()
            }
            Self::Object(members) => {
                let kept = members.iter().filter(|(key, _)| Some(key.as_ref()) != skip);
                let sizes = kept.map(|(key, value)| key.len() + 4 + value.size(skip));
                2 + sizes.sum::<usize>().saturating_sub(1)
            }
        }
    }
}

/// A string so that no two strings are written alike: its length, then its bytes. Cheaper than escapes.
fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, expected: &str) -> String {
        format!("expected {expected} at byte {}", self.at)
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn next_is(&mut self, byte: u8) -> bool {
        self.space();
        let is = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is);
        is
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, String> {
        if depth > DEEPEST {
            return Err(self.wrong("less nesting"));
        }
        self.space();
        match self.bytes.get(self.at) {
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'{') => {
                self.at += 1;
                let mut members = Vec::new();
                if self.next_is(b'}') {
                    return Ok(Json::Object(members));
                }
                loop {
                    self.space();
                    let key = self.string()?;
                    if !self.next_is(b':') {
                        return Err(self.wrong("a colon"));
                    }
                    members.push((key, self.value(depth + 1)?));
                    if self.next_is(b'}') {
                        return Ok(Json::Object(members));
                    }
                    if !self.next_is(b',') {
                        return Err(self.wrong("a comma or the end of an object"));
                    }
                }
            }
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                if self.next_is(b']') {
                    return Ok(Json::Array(items));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if self.next_is(b']') {
                        return Ok(Json::Array(items));
                    }
                    if !self.next_is(b',') {
                        return Err(self.wrong("a comma or the end of an array"));
                    }
                }
            }
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                while matches!(self.bytes.get(self.at), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                {
                    self.at += 1;
                }
                let number = &self.text[start..self.at];
                number.parse::<f64>().map(|_| Json::Number(number)).map_err(|_| self.wrong("a number"))
            }
            _ => Err(self.wrong("a value")),
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, String> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.wrong(word))
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, String> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(self.wrong("a string"));
        }
        self.at += 1;
        let start = self.at;
        let run = self.run()?;
        if self.bytes[self.at] == b'"' {
            self.at += 1;
            return Ok(Cow::Borrowed(run));
        }
        let mut decoded = String::with_capacity((self.at - start) * 2);
        decoded.push_str(run);
        while self.bytes[self.at] == b'\\' {
            self.at += 1;
            self.escape(&mut decoded)?;
            let run = self.run()?;
            decoded.push_str(run);
        }
        self.at += 1;
        Ok(Cow::Owned(decoded))
    }

    /// The characters up to the next quote or backslash.
    fn run(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let Some(length) = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20) else {
            return Err(self.wrong("the end of a string"));
        };
        self.at += length;
        if self.bytes[self.at] < 0x20 {
            return Err(self.wrong("no control character in a string"));
        }
        Ok(&self.text[start..self.at])
    }

    fn escape(&mut self, out: &mut String) -> Result<(), String> {
        let Some(&byte) = self.bytes.get(self.at) else { return Err(self.wrong("an escape")) };
        self.at += 1;
        out.push(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                let low = |unit: u32| (0xDC00..0xE000).contains(&unit);
                if (0xD800..0xDC00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    let second = self.hex()?;
                    if low(second) {
                        let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                    } else {
                        self.at = back;
                        char::REPLACEMENT_CHARACTER
                    }
                } else {
                    char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
            }
            _ => return Err(self.wrong("a known escape")),
        });
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.wrong("four hex digits"))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.wrong("four hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    fn hashed(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Json::read(text.as_bytes()).unwrap().write(&mut out, Some("skip"));
        out
    }

    #[test]
    fn white_space_and_escapes_are_not_seen() {
        assert_eq!(
            hashed(r#"{"a":"\u00e4\n/","b":[1,true]}"#),
            hashed("{ \"a\" : \"ä\\n\\/\" ,\n \"b\":[ 1 , true ] }")
        );
        assert_eq!(hashed(r#""\ud83d\ude00""#), hashed("\"😀\""));
    }

    #[test]
    fn spelling_and_order_are_seen() {
        assert_ne!(hashed("[1.0]"), hashed("[1]"));
        assert_ne!(hashed("[1e2]"), hashed("[100]"));
        assert_ne!(hashed(r#"{"a":1,"b":2}"#), hashed(r#"{"b":2,"a":1}"#));
        assert_ne!(hashed(r#"["a","b"]"#), hashed(r#"["a\",\"b"]"#));
    }

    #[test]
    fn members_are_left_out_at_any_depth() {
        assert_eq!(hashed(r#"{"a":[{"skip":1,"b":2}],"skip":{}}"#), hashed(r#"{"a":[{"b":2}]}"#));
    }

    #[test]
    fn meaning_does_not_depend_on_spelling() {
        let meaning = |text: &str| {
            let mut out = Vec::new();
            Json::read(text.as_bytes()).unwrap().meaning(&mut out);
            out
        };
        assert_eq!(meaning(r#"{"a":1.0,"b":[true],"c":null}"#), meaning(r#"{"b":[true],"a":1,"d":[]}"#));
        assert_ne!(meaning(r#"{"a":1}"#), meaning(r#"{"a":2}"#));
    }

    #[test]
    fn the_size_is_that_of_compact_json() {
        for text in [r#"{"a":[1,2,{"b":null}],"c":"d","e":true,"f":{}}"#, "[]", "{}", "[false,1.50]"] {
            assert_eq!(Json::read(text.as_bytes()).unwrap().size(None), text.len(), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "nul", "\"\u{1}\"", "1 2", "\"\\x\"", "01x"] {
            assert!(Json::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
