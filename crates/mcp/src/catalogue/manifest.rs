//! What a server said of itself and its tools, as one file: a line of JSON that says how long each part is and what they
//! hash to, and then the parts, raw.

use crate::listing::Era;
use bytes::Bytes;
use deadweight_lock::Hash;
use deadweight_wire::json::{Kind, Parser};
use serde_json::{Value, json};

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// In which era.
    pub era: Era,
    /// The protocol version it agreed to.
    pub version: String,
    /// The result of `initialize` or `server/discover`, raw.
    pub opening: Bytes,
    /// The first page's result without its tools (see [`page`](super::page)).
    pub frame: Bytes,
    /// The definitions of all pages, raw, in order.
    pub tools: Vec<Bytes>,
}

/// Why a file is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub &'static str);

/// What the first line of a file says it is.
const FORMAT: &str = "deadweight-manifest/1";

/// The most bytes that a file may have.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// The most bytes that the first line may have.
const MOST_HEADER: usize = 4 << 20;

impl Manifest {
    /// As a file. `None` when there is nothing worth keeping: a list without tools, or one that is too large.
    pub fn encode(&self) -> Option<Vec<u8>> {
        if self.tools.is_empty() {
            return None;
        }
        let mut body = Vec::new();
        for part in [&self.opening, &self.frame].into_iter().chain(&self.tools) {
            body.extend_from_slice(part);
        }
        let header = json!({
            "format": FORMAT,
            "era": era_name(self.era),
            "version": self.version,
            "opening": self.opening.len(),
            "frame": self.frame.len(),
            "tools": self.tools.iter().map(Bytes::len).collect::<Vec<_>>(),
            "hash": Hash::of_text(std::str::from_utf8(&body).ok()?).to_string(),
        });
        let mut out = header.to_string().into_bytes();
        if out.len() > MOST_HEADER || out.len() + body.len() + 1 > MOST_BYTES {
            return None;
        }
        out.push(b'\n');
        out.extend_from_slice(&body);
        Some(out)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When it is not, byte for byte, what [`Manifest::encode`] makes.
    pub fn decode(file: &Bytes) -> Result<Self, Broken> {
        let end = memchr::memchr(b'\n', file.get(..file.len().min(MOST_HEADER + 1)).unwrap_or_default());
        let end = end.ok_or(Broken("it has no first line"))?;
        let header: Value = serde_json::from_slice(file.get(..end).unwrap_or_default())
            .map_err(|_| Broken("its first line is no JSON"))?;
        if header.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(Broken("it is of another format"));
        }
        let text = |key: &str| {
            header.get(key).and_then(Value::as_str).ok_or(Broken("its first line lacks a member"))
        };
        let length = |value: Option<&Value>| {
            let length = value.and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
            length.ok_or(Broken("a length in its first line is none"))
        };
        let mut rest = file.slice(end + 1..);
        if Hash::parse(text("hash")?) != std::str::from_utf8(&rest).ok().map(Hash::of_text) {
            return Err(Broken("its parts are not those that were written"));
        }
        let mut take = |length: usize| {
            if length > rest.len() {
                return Err(Broken("it is too short"));
            }
            Ok(rest.split_to(length))
        };
        let opening = take(length(header.get("opening"))?)?;
        let frame = take(length(header.get("frame"))?)?;
        let lengths = header.get("tools").and_then(Value::as_array).ok_or(Broken("it has no tools"))?;
        let tools = lengths.iter().map(|one| take(length(Some(one))?)).collect::<Result<Vec<_>, _>>()?;
        if !rest.is_empty() {
            return Err(Broken("it is too long"));
        }
        if tools.is_empty() {
            return Err(Broken("it has no tools"));
        }
        let mut parser = Parser::new();
        let mut is = |part: &Bytes, kind: Option<Kind>| {
            parser.scope(part, |document| {
                document.is_ok_and(|document| kind.is_none_or(|kind| document.root().kind() == kind))
            })
        };
        let whole = is(&opening, Some(Kind::Object)) && is(&frame, Some(Kind::Object));
        if !whole || !tools.iter().all(|tool| is(tool, None)) {
            return Err(Broken("a part of it is no JSON"));
        }
        Ok(Self { era: era(text("era")?)?, version: text("version")?.to_owned(), opening, frame, tools })
    }
}

const fn era_name(era: Era) -> &'static str {
    match era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    }
}

fn era(name: &str) -> Result<Era, Broken> {
    [Era::Legacy, Era::Modern].into_iter().find(|era| era_name(*era) == name).ok_or(Broken("it names no era"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manifest() -> Manifest {
        Manifest {
            era: Era::Modern,
            version: "2026-07-28".to_owned(),
            opening: Bytes::from_static(br#"{"serverInfo":{"name":"s"}}"#),
            frame: Bytes::from_static(br#"{"tools":[] ,"ttlMs":1.0}"#),
            tools: vec![Bytes::from_static(br#"{"name":"a\n"}"#), Bytes::from_static(b"17")],
        }
    }

    #[test]
    fn a_manifest_comes_back_byte_for_byte() {
        let file = Bytes::from(manifest().encode().unwrap());
        assert_eq!(Manifest::decode(&file), Ok(manifest()));
        assert_eq!(Manifest { tools: Vec::new(), ..manifest() }.encode(), None);
    }

    #[test]
    fn whatever_is_broken_is_told_and_no_list() {
        let file = manifest().encode().unwrap();
        for cut in 0..file.len() {
            assert!(Manifest::decode(&Bytes::copy_from_slice(&file[..cut])).is_err(), "cut at {cut}");
        }
        let longer = [&file[..], b" "].concat();
        assert!(Manifest::decode(&Bytes::from(longer)).is_err());
        let text = String::from_utf8(file).unwrap();
        for (from, to) in
            [("modern", "middle"), ("manifest/1", "manifest/2"), ("\"opening\":27", "\"opening\":28")]
        {
            assert!(text.contains(from));
            assert!(Manifest::decode(&Bytes::from(text.replace(from, to))).is_err(), "{to}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..300_usize, flip in 1..=255_u8) {
            let _ = Manifest::decode(&Bytes::from(bytes));
            let mut file = manifest().encode().unwrap();
            let at = at % file.len();
            file[at] ^= flip;
            if let Ok(read) = Manifest::decode(&Bytes::from(file)) {
                // Only the version's text is not under the hash.
                prop_assert_eq!(read.tools, manifest().tools);
            }
        }
    }
}
