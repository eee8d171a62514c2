//! Texts, pictures and tools of our own.

use serde_json::{Value, json};

/// A text so many bytes long, that tells its number.
pub fn prose(number: usize, bytes: usize) -> String {
    let mut text = format!("Part {number}:\n");
    while text.len() < bytes {
        text.push_str("the \"quick\" brown fox — ä — looks at line ");
        text.push_str(&(text.len() * 7 + number).to_string());
        text.push('\n');
    }
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// An image in base64 that is 750 × `height`: the judge counts `height` tokens.
pub fn picture(height: u32) -> String {
    use base64::Engine as _;
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(750u32.to_be_bytes());
    png.extend(height.to_be_bytes());
    png.extend([8; 40]);
    base64::engine::general_purpose::STANDARD.encode(png)
}

/// A tool whose description has so many bytes.
pub fn tool(name: &str, number: usize, bytes: usize) -> Value {
    json!({
        "name": name,
        "description": prose(number, bytes),
        "input_schema": { "type": "object", "properties": { "file_path": { "type": "string" } } }
    })
}
