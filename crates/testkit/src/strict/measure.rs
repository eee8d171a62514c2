//! The judge's own measure of what the model reads. Text counts a quarter of its bytes, a definition or an input a quarter
//! of its compact JSON, an image by its size; ids, roles and frames count nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::bill::tokens;
use super::json::Json;

/// What an image costs whose size cannot be read, and the most that any costs.
const IMAGE: u64 = 1_600;

/// Tokens of an image given in base64.
pub(crate) fn image(base64: &str) -> u64 {
    // 64 KB are more than any header; a whole number of groups of four.
    let head = base64.get(..base64.len().min(1 << 16) / 4 * 4).unwrap_or_default();
    let bytes = STANDARD.decode(head).unwrap_or_default();
    match size(&bytes) {
        Some((width, height)) => (u64::from(width) * u64::from(height) / 750).clamp(1, IMAGE),
        None => IMAGE,
    }
}

/// Width and height, where PNG, GIF and JPEG keep them.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let little = |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    if bytes.starts_with(b"\x89PNG") {
        return Some((big(16)?, big(20)?));
    }
    if bytes.starts_with(b"GIF8") {
        return Some((little(6)?, little(8)?));
    }
    if !bytes.starts_with(b"\xff\xd8") {
        return None;
    }
    let mut at = 2;
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        if mark != 0xFF {
            return None;
        }
        // Frames hold the size; these three markers of the same range are something else.
        if (0xC0..=0xCF).contains(&kind) && !matches!(kind, 0xC4 | 0xC8 | 0xCC) {
            return Some((half(at + 7)?, half(at + 5)?));
        }
        at += 2 + half(at + 2)? as usize;
    }
}

/// Tokens of an Anthropic block. `definition` gives the tokens of a tool that is referred to.
pub(crate) fn block(json: &Json<'_>, definition: &dyn Fn(&str) -> u64) -> u64 {
    let text = |key: &str| tokens(json.word(key).len());
    match json.kind() {
        "text" => text("text"),
        "thinking" => text("thinking"),
        "redacted_thinking" => text("data"),
        "tool_use" | "server_tool_use" => tokens(json.word("name").len() + json.get("input").size(None)),
        "tool_result" => match json.get("content") {
            Json::Text(text) => tokens(text.len()),
            content => content.items().iter().map(|item| block(item, definition)).sum(),
        },
        "tool_reference" => {
            let name = json.word("tool_name");
            definition(if name.is_empty() { json.word("name") } else { name })
        }
        "tool_search_tool_result" => {
            let found = json.get("content").get("tool_references").items();
            found.iter().map(|item| block(item, definition)).sum()
        }
        "tool_addition" | "tool_removal" => block(json.get("tool"), definition),
        "image" => match json.get("source").kind() {
            "base64" => image(json.get("source").word("data")),
            _ => IMAGE,
        },
        "document" if json.get("source").kind() == "base64" => {
            tokens(json.get("source").word("data").len() / 4 * 3)
        }
        _ => tokens(json.size(Some("cache_control"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{block, image};
    use crate::strict::json::Json;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn images_cost_by_their_size() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend(750u32.to_be_bytes());
        png.extend(100u32.to_be_bytes());
        assert_eq!(image(&STANDARD.encode(&png)), 100);
        let mut jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08".to_vec();
        jpeg.extend(30u16.to_be_bytes());
        jpeg.extend(75u16.to_be_bytes());
        assert_eq!(image(&STANDARD.encode(&jpeg)), 3);
        assert_eq!(image("bm90IGFuIGltYWdl"), 1_600);
    }

    #[test]
    fn blocks_count_what_is_read() {
        let count = |text: &str| block(&Json::read(text.as_bytes()).unwrap(), &|_| 77);
        assert_eq!(count(r#"{"type":"text","text":"12345678"}"#), 2);
        // `look` and `{"at":1}`: 4 + 8 bytes.
        assert_eq!(count(r#"{"type":"tool_use","id":"x","name":"look","input":{ "at" : 1 }}"#), 3);
        assert_eq!(count(r#"{"type":"tool_result","tool_use_id":"x","content":"1234"}"#), 1);
        let found = r#"{"type":"tool_result","content":[{"type":"tool_reference","tool_name":"t"},{"type":"text","text":"1234"}]}"#;
        assert_eq!(count(found), 78);
    }
}
