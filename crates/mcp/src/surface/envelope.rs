//! Arguments in an envelope: where a client's placeholder must name a property, a model writes a tool's arguments into that.

use super::call::object;
use super::schema::Schema;
use bytes::Bytes;
use deadweight_wire::json::Parser;

/// The arguments out of their envelope. `None` when they are in none: other members stand beside it, or the tool's own
/// schema has a property of that name.
pub(super) fn open(arguments: &[u8], envelope: &str, schema: Option<&Schema>) -> Option<Bytes> {
    let own = schema.and_then(|schema| schema.root().get("properties")?.get(envelope));
    if own.is_some() {
        return None;
    }
    Parser::new().scope(arguments, |document| {
        let root = document.ok()?.root();
        let mut entries = root.entries();
        let only = entries.next().filter(|entry| entry.key.is_str(envelope))?;
        entries.next().is_none().then(|| object(only.value)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_opened_and_nothing_else_is() {
        let schema = Schema::new(r#"{"type":"object","properties":{"id":{"type":"integer"}}}"#);
        let own = Schema::new(r#"{"type":"object","properties":{"arguments":{"type":"object"}}}"#);
        let opened = |arguments: &str| open(arguments.as_bytes(), "arguments", schema.as_ref());
        for (arguments, expected) in [
            (r#"{"arguments":{"id": 1.0}}"#, r#"{"id": 1.0}"#),
            (r#"{"arguments":"{\"id\":1}"}"#, r#"{"id":1}"#),
            (r#"{"arguments":null}"#, "{}"),
        ] {
            assert_eq!(opened(arguments).as_deref(), Some(expected.as_bytes()), "{arguments}");
            assert_eq!(open(arguments.as_bytes(), "arguments", own.as_ref()), None, "{arguments}");
        }
        for arguments in
            [r#"{"id":1}"#, r#"{"arguments":{},"id":1}"#, r#"{"arguments":[1]}"#, "{}", "[]", "{"]
        {
            assert_eq!(opened(arguments), None, "{arguments}");
        }
        assert_eq!(open(br#"{"arguments":{"x":1}}"#, "arguments", None).as_deref(), Some(&br#"{"x":1}"#[..]));
    }
}
