//! Answers of our own to a model: results of calls with one text each.

use bytes::Bytes;

/// A text on its way to a model. Held as the inside of a JSON string, so that what was escaped once is not again.
#[derive(Debug, Default)]
pub(super) struct Reply {
    escaped: String,
}

impl Reply {
    /// One that begins with `text`.
    pub(super) fn of(text: &str) -> Self {
        let mut reply = Self::default();
        reply.push(text);
        reply
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &str) -> &mut Self {
        self.escaped.push_str(&escaped(text));
        self
    }

    /// Adds text that [`escaped`] has made.
    pub(super) fn push_escaped(&mut self, text: &str) -> &mut Self {
        self.escaped.push_str(text);
        self
    }

    /// Begins a new line, unless there is nothing yet.
    pub(super) fn line(&mut self) -> &mut Self {
        if !self.escaped.is_empty() {
            self.escaped.push_str("\\n");
        }
        self
    }

    /// How many bytes the text has as JSON.
    pub(super) fn len(&self) -> usize {
        self.escaped.len()
    }

    /// The result of a call that did what was asked.
    pub(super) fn done(&self) -> Bytes {
        self.result("false")
    }

    /// The result of a call that did not.
    pub(super) fn error(&self) -> Bytes {
        self.result("true")
    }

    fn result(&self, is_error: &str) -> Bytes {
        let text = &self.escaped;
        Bytes::from(format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":{is_error}}}"#))
    }
}

/// The text as it stands between the quotes of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut quoted = super::stub::quoted(text);
    quoted.pop();
    if !quoted.is_empty() {
        quoted.remove(0);
    }
    quoted
}

/// At most `max` bytes of `text`, cut at a character, with `…` where something is missing.
pub(super) fn short(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", text.get(..floor(text, max)).unwrap_or_default())
}

/// The last boundary of a character that is not behind `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first boundary of a character that is not before `at`.
pub(super) fn ceiling(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Names in a row, as many as fit into `max` bytes, with how many more there are. At least one is named.
pub(super) fn names<'a>(all: impl IntoIterator<Item = &'a str>, max: usize) -> String {
    let mut out = String::new();
    let mut more = 0;
    for name in all {
        let name = short(name, 200);
        if more > 0 || (!out.is_empty() && out.len() + name.len() + 2 > max) {
            more += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&name);
    }
    if more > 0 {
        out.push_str(&format!(" and {more} more"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_a_result() {
        let mut reply = Reply::of("a \"b\"");
        reply.line().push("é\u{1}");
        let value: serde_json::Value = serde_json::from_slice(&reply.error()).unwrap();
        assert_eq!(value["content"][0]["text"], "a \"b\"\né\u{1}");
        assert_eq!(value["isError"], true);
    }

    #[test]
    fn names_are_bounded() {
        assert_eq!(names(["a", "b"], 100), "a, b");
        assert_eq!(names(["aaa", "bbb", "c"], 6), "aaa and 2 more");
        assert_eq!(names([], 6), "");
    }

    #[test]
    fn cuts_are_at_characters() {
        assert_eq!(short("日本", 4), "日…");
        assert_eq!((floor("日本", 4), ceiling("日本", 4), ceiling("日本", 9)), (3, 6, 6));
    }
}
