//! `restore`: what was left out of a conversation, in pieces.

use crate::settings::proxy::{Flags, Proxy};
use deadweight_levers::{RESTORE_SAYS, RESTORE_TOOL};
use deadweight_mcp::OwnTool;
use deadweight_mcp::config::process_env;
use deadweight_store::{Found, Originals, Place, originals_beside};
use serde_json::{Value, json};
use std::path::PathBuf;

/// How much one answer holds, in bytes of text: agents cut or spill what is much longer.
const PIECE: usize = 16 << 10;

/// The tool.
pub(super) struct Restore {
    /// Where the originals are; `None` where there is no ledger that they could be beside.
    folder: Option<PathBuf>,
}

impl Restore {
    /// Beside the ledger that the settings name.
    pub(super) fn of_settings() -> Self {
        let directory = std::env::current_dir().unwrap_or_default();
        let folder = match Proxy::resolve(&Flags::default(), &process_env, &directory).ledger {
            Place::File(file) => Some(originals_beside(&file)),
            Place::Off => None,
        };
        Self { folder }
    }

    fn find(&self, id: &str) -> Result<String, String> {
        let nothing = || {
            format!(
                "Nothing is kept under the id {id}. Originals are kept for 30 days. If you need what was left out, get it \
                 again: read the file, or run the command."
            )
        };
        let folder = self.folder.clone().ok_or_else(nothing)?;
        let unread =
            "What is kept cannot be read on this machine. Get it again: read the file, or run the command.";
        let originals = Originals::existing(folder).map_err(|_| unread.to_owned())?.ok_or_else(nothing)?;
        match originals.get(id).map_err(|_| unread.to_owned())? {
            Found::Text(text) => Ok(text),
            Found::Nothing => Err(nothing()),
            Found::Damaged => Err(unread.to_owned()),
        }
    }
}

impl OwnTool for Restore {
    fn definition(&self) -> Value {
        json!({
            "name": RESTORE_TOOL,
            "description": format!(
                "{RESTORE_SAYS}, by the id that stands in its place. An answer holds 16 KiB; go on at next_offset."
            ),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": "dw- and 20 characters" },
                    "offset": { "type": "integer", "minimum": 0, "description": "Where to begin, in bytes; 0 if left out" },
                },
                "required": ["id"],
                "additionalProperties": false,
            },
            "annotations": { "title": "Restore", "readOnlyHint": true, "openWorldHint": false },
        })
    }

    fn call(&mut self, arguments: &Value) -> Result<Value, String> {
        let Some(id) = arguments.get("id").and_then(Value::as_str) else {
            return Err("`id` is missing: it stands in the place of what was left out, as dw-…".to_owned());
        };
        let offset = match arguments.get("offset") {
            None | Some(Value::Null) => 0,
            // Some models write numbers as text.
            Some(offset) => offset
                .as_u64()
                .or_else(|| offset.as_str()?.parse().ok())
                .and_then(|offset| usize::try_from(offset).ok())
                .ok_or("`offset` is a number of bytes, from 0 on")?,
        };
        let text = self.find(id.trim())?;
        if offset > 0 && offset >= text.len() {
            return Err(format!(
                "There are {} bytes under that id; the offset lies behind them.",
                text.len()
            ));
        }
        let start = floor(&text, offset);
        let end = floor(&text, start + PIECE);
        let piece = text.get(start..end).unwrap_or_default();
        let next = (end < text.len()).then_some(end);
        Ok(
            json!({ "id": id.trim(), "offset": start, "bytes": text.len(), "next_offset": next, "text": piece }),
        )
    }
}

/// The largest place at or below `at` that is between two characters.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_store::ORIGINALS_KEPT;

    #[test]
    fn the_pieces_are_the_whole() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("originals");
        let text = "ä line — of text\n".repeat(4_000);
        let id = "dw-0123456789abcdef0123";
        Originals::open(folder.clone(), ORIGINALS_KEPT).unwrap().keep(id, &text).unwrap();
        let mut tool = Restore { folder: Some(folder) };
        let (mut whole, mut offset) = (String::new(), json!(0));
        while !offset.is_null() {
            let piece = tool.call(&json!({ "id": id, "offset": offset })).unwrap();
            assert!(piece["text"].as_str().unwrap().len() <= PIECE);
            assert_eq!(piece["bytes"], text.len());
            whole.push_str(piece["text"].as_str().unwrap());
            offset = piece["next_offset"].clone();
        }
        assert_eq!(whole, text);
        assert!(tool.call(&json!({ "id": id, "offset": "17" })).is_ok());
        for (arguments, says) in [
            (json!({}), "`id` is missing"),
            (json!({ "id": 1 }), "`id` is missing"),
            (json!({ "id": id, "offset": -1 }), "`offset` is a number"),
            (json!({ "id": id, "offset": 1_000_000 }), "lies behind them"),
            (json!({ "id": "dw-ffff456789abcdef0123" }), "Nothing is kept"),
            (json!({ "id": "../../etc/passwd" }), "Nothing is kept"),
        ] {
            assert!(tool.call(&arguments).unwrap_err().contains(says), "{arguments}");
        }
        assert!(Restore { folder: None }.call(&json!({ "id": id })).unwrap_err().contains("Nothing is kept"));
        let none = Restore { folder: Some(place.path().join("none")) }.call(&json!({ "id": id }));
        assert!(none.unwrap_err().contains("Nothing is kept"));
    }
}
