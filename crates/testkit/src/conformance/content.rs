//! What results are made of.

use serde_json::{Value, json};

/// A picture of one red pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// A sound without a sample.
pub(super) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(super) fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

pub(super) fn image() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

pub(super) fn embedded(uri: &str, mime: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } })
}

/// A tool's result of one text.
pub(super) fn says(words: impl Into<String>) -> Value {
    json!({ "content": [text(words)] })
}

/// A tool's result that is an error.
pub(super) fn fails(words: impl Into<String>) -> Value {
    json!({ "content": [text(words)], "isError": true })
}

/// The request that asks the user for `properties`, all of them required.
pub(super) fn form(message: &str, properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flatten().map(|(name, _)| name).collect();
    json!({
        "message": message,
        "requestedSchema": { "type": "object", "properties": properties, "required": required }
    })
}

/// The request that asks the client's model.
pub(super) fn prompt(words: &str, most: u64) -> Value {
    json!({ "messages": [{ "role": "user", "content": text(words) }], "maxTokens": most })
}
