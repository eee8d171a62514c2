//! One `tools/list` result: its definitions, and the frame around them.

use bytes::Bytes;
use deadweight_wire::json::{Kind, Parser};
use deadweight_wire::splice::Edits;

/// A result, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The result with an empty `tools` and without `nextCursor`; everything else keeps its bytes.
    pub frame: Bytes,
    /// The definitions, raw, in order.
    pub tools: Vec<Bytes>,
    /// `nextCursor`, as raw JSON text, unless there is no further page.
    pub next: Option<Bytes>,
}

/// Takes a `tools/list` result apart. `None` when it is no object with an array `tools`. Of a key that stands twice the
/// last counts, and the others go.
pub fn split(result: &Bytes) -> Option<Page> {
    Parser::new().scope(result, |document| {
        let document = document.ok()?;
        let root = document.root();
        let list = root.get("tools").filter(|list| list.kind() == Kind::Array)?;
        let next = root.get("nextCursor").filter(|next| !next.is_null());
        let mut edits = Edits::new(document);
        for entry in root.entries() {
            if entry.key.is_str("tools") {
                if entry.value.span() == list.span() {
                    edits.replace(list, "[]");
                } else {
                    edits.remove(entry);
                }
            } else if entry.key.is_str("nextCursor") {
                edits.remove(entry);
            }
        }
        Some(Page {
            frame: edits.apply(&mut Parser::new()).ok()?.into_bytes().into(),
            tools: list.elements().map(|tool| result.slice(tool.span().range())).collect(),
            next: next.map(|next| result.slice(next.span().range())),
        })
    })
}

/// The result with these tools: `list` is a JSON array. `None` when `frame` is none of [`split`]'s, or `list` no JSON.
pub fn join(frame: &[u8], list: &[u8]) -> Option<Bytes> {
    let spliced = Parser::new().scope(frame, |document| {
        let document = document.ok()?;
        let tools = document.root().get("tools")?;
        let mut edits = Edits::new(document);
        edits.replace(tools, list);
        edits.apply(&mut Parser::new()).ok()
    })?;
    Some(spliced.into_bytes().into())
}

/// The frame of a list that no server gave.
pub const BARE: &[u8] = br#"{"tools":[]}"#;

/// The frame of a first page; a bare one where that is no page.
pub fn frame(first: &Bytes) -> Bytes {
    split(first).map_or(Bytes::from_static(BARE), |page| page.frame)
}

/// [`join`], with a bare frame where `frame` is none.
pub fn list_result(frame: &[u8], list: &[u8]) -> Bytes {
    join(frame, list).or_else(|| join(BARE, list)).unwrap_or(Bytes::from_static(BARE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_comes_apart_and_together_again() {
        let result = Bytes::from_static(
            br#"{ "_meta" : {"a":1.0}, "tools": [ {"name":"a"} , 17 ], "nextCursor":"c" ,"ttlMs":5}"#,
        );
        let page = split(&result).unwrap();
        assert_eq!(page.tools, [&br#"{"name":"a"}"#[..], b"17"]);
        assert_eq!(page.next.as_deref(), Some(&br#""c""#[..]));
        let joined = join(&page.frame, br#"[{"name":"a"}]"#).unwrap();
        assert_eq!(joined, &br#"{ "_meta" : {"a":1.0}, "tools": [{"name":"a"}] ,"ttlMs":5}"#[..]);
        assert_eq!(split(&joined).unwrap().frame, page.frame);
    }

    #[test]
    fn odd_results_are_told_from_lists() {
        for odd in ["[]", "{}", r#"{"tools":{}}"#, "17", "{"] {
            assert_eq!(split(&Bytes::from(odd)), None, "{odd}");
        }
        let twice = Bytes::from_static(br#"{"tools":[1],"nextCursor":null,"tools":[2]}"#);
        let page = split(&twice).unwrap();
        assert_eq!((&page.frame[..], page.tools, page.next), (BARE, vec![Bytes::from_static(b"2")], None));
        assert_eq!(join(b"{}", b"[]"), None);
        assert_eq!(join(BARE, b"[1"), None);
    }
}
