//! Text, code and tools made from a seed: the same on every machine.

use serde_json::{Value, json};

/// A small generator of numbers (splitmix64): fixed by its seed for ever.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// Starts at `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of `all`.
    pub fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all.get(self.below(all.len().max(1))).copied().unwrap_or_default()
    }
}

const WORDS: &[&str] = &[
    "the",
    "file",
    "before",
    "change",
    "agent",
    "every",
    "reads",
    "a",
    "result",
    "which",
    "keeps",
    "order",
    "only",
    "when",
    "asked",
    "must",
    "never",
    "guess",
    "path",
    "line",
    "build",
    "test",
    "short",
    "answer",
    "user",
    "wants",
    "then",
    "stop",
    "check",
    "again",
    "é\u{301}tude",
    "naïve",
    "漢字",
    "🦀",
];

const NAMES: &[&str] =
    &["index", "total", "reader", "span", "offset", "limit", "cursor", "label", "weight", "entry", "batch"];

const VERBS: &[&str] = &["list", "get", "create", "update", "delete", "search", "move", "merge", "close"];

const THINGS: &[&str] =
    &["issue", "page", "branch", "record", "channel", "node", "release", "comment", "label"];

/// At least `bytes` bytes of sentences.
pub fn prose(seed: u64, bytes: usize) -> String {
    let mut from = Seed::new(seed);
    let mut out = String::with_capacity(bytes + 16);
    while out.len() < bytes {
        let words = 5 + from.below(9);
        for word in 0..words {
            if word > 0 {
                out.push(' ');
            }
            out.push_str(from.pick(WORDS));
        }
        out.push_str(if from.below(6) == 0 { ".\n\n" } else { ". " });
    }
    out
}

/// At least `bytes` bytes of something like source code: short lines, tabs, quotes, back slashes.
pub fn code(seed: u64, bytes: usize) -> String {
    let mut from = Seed::new(seed);
    let mut out = String::with_capacity(bytes + 64);
    while out.len() < bytes {
        let (name, other) = (from.pick(NAMES), from.pick(NAMES));
        match from.below(6) {
            0 => out.push_str(&format!("fn {name}_{other}({other}: usize) -> usize {{\n")),
            1 => out.push_str(&format!("\tlet {name} = {other}.get(\"{name}\\t{other}\")?;\n")),
            2 => out.push_str(&format!("    // {}\n", prose(from.next(), 30))),
            3 => out.push_str(&format!("    if {name} > {} {{ return {other}; }}\n", from.below(1000))),
            4 => out.push_str(&format!("    write!(out, \"{{{name}}} of {{{other}}}\\n\")?;\r\n")),
            _ => out.push_str("}\n\n"),
        }
    }
    out
}

/// A tool as its server defines it.
#[derive(Debug, Clone)]
pub struct ToolText {
    /// Its name, unique by number.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

/// Tool number `at` of the catalogue that `seed` stands for.
pub fn tool(seed: u64, at: usize) -> ToolText {
    let mut from = Seed::new(seed ^ ((at as u64) << 32));
    let name = format!("{}_{}_{at}", from.pick(VERBS), from.pick(THINGS));
    let mut properties = serde_json::Map::new();
    for property in 0..1 + from.below(4) {
        let text = prose(from.next(), 40);
        let kind = from.pick(&["string", "integer", "boolean"]);
        let key = format!("{}_{property}", from.pick(NAMES));
        properties.insert(key, json!({ "type": kind, "description": text }));
    }
    let required: Vec<_> = properties.keys().take(1).cloned().collect();
    let size = 80 + from.below(200);
    ToolText {
        name,
        description: prose(from.next(), size),
        schema: json!({ "type": "object", "properties": properties, "required": required }),
    }
}

/// The bytes of a PNG's first chunk for a picture of that size, as base64: enough to read the size from.
pub fn png_base64(width: u32, height: u32) -> String {
    let mut bytes = vec![0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', 0, 0, 0, 13];
    bytes.extend_from_slice(b"IHDR");
    bytes.extend_from_slice(&width.to_be_bytes());
    bytes.extend_from_slice(&height.to_be_bytes());
    // Depth, colour, compression, filter, interlace; a check sum nobody here verifies.
    bytes.extend_from_slice(&[8, 6, 0, 0, 0, 0, 0, 0, 0]);
    base64(&bytes)
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let group = (at(0) << 16) | (at(1) << 8) | at(2);
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) & 63;
            let letter = if place <= chunk.len() { ALPHABET[digit as usize] } else { b'=' };
            out.push(char::from(letter));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{base64, code, png_base64, prose, tool};

    #[test]
    fn the_same_seed_gives_the_same_text() {
        assert_eq!(prose(7, 300), prose(7, 300));
        assert_ne!(prose(7, 300), prose(8, 300));
        assert!(prose(7, 300).len() >= 300 && code(7, 300).len() >= 300);
        assert_eq!(tool(1, 2).schema, tool(1, 2).schema);
        assert_ne!(tool(1, 2).name, tool(1, 3).name);
    }

    #[test]
    fn base64_is_the_standard_one() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foo"), "Zm9v");
        assert!(png_base64(640, 480).starts_with("iVBORw0KGgo"));
    }
}
