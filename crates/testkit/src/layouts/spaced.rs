//! JSON with a space after every comma and colon, as Python writes it.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io;

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// `value` as spaced JSON.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::new();
    let done = value.serialize(&mut Serializer::with_formatter(&mut out, Spaced));
    debug_assert!(done.is_ok(), "writing to a Vec cannot fail");
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_space_follows_commas_and_colons() {
        let value = serde_json::json!({ "a": [1, "x, y"], "b": {} });
        assert_eq!(super::to_string(&value), r#"{"a": [1, "x, y"], "b": {}}"#);
    }
}
