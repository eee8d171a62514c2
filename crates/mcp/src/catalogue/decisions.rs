//! Decisions as a file: small JSON.

use super::manifest::Broken;
use crate::surface::{Kept, Shape};
use serde_json::{Value, json};

/// What a file says it is.
const FORMAT: &str = "deadweight-decisions/1";

/// The most bytes that a file may have.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// As a file.
pub(super) fn encode(kept: &Kept) -> Vec<u8> {
    let server = |(label, deferred): &(String, bool)| json!({"server": label, "deferred": deferred});
    let servers: Vec<Value> = kept.servers.iter().map(server).collect();
    json!({"format": FORMAT, "shape": kept.shape.map(Shape::name), "servers": servers})
        .to_string()
        .into_bytes()
}

/// Reads a file.
pub(super) fn decode(file: &[u8]) -> Result<Kept, Broken> {
    let value: Value = serde_json::from_slice(file).map_err(|_| Broken("it is no JSON"))?;
    if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(Broken("it is of another format"));
    }
    let shape = match value.get("shape") {
        None | Some(Value::Null) => None,
        Some(shape) => Some(shape.as_str().and_then(Shape::parse).ok_or(Broken("it names no surface"))?),
    };
    let servers = value.get("servers").and_then(Value::as_array).ok_or(Broken("it has no servers"))?;
    let server = |server: &Value| {
        let label = server.get("server").and_then(Value::as_str)?.to_owned();
        Some((label, server.get("deferred").and_then(Value::as_bool)?))
    };
    let servers: Option<Vec<_>> = servers.iter().map(server).collect();
    Ok(Kept { shape, servers: servers.ok_or(Broken("a server of it is none"))? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_come_back_and_what_is_broken_is_told() {
        for shape in [None, Some(Shape::Eager), Some(Shape::Stubs), Some(Shape::Search)] {
            let kept = Kept { shape, servers: vec![("a \"b\"".to_owned(), true), ("c".to_owned(), false)] };
            assert_eq!(decode(&encode(&kept)), Ok(kept));
        }
        for broken in [
            "",
            "[]",
            r#"{"format":"deadweight-decisions/2"}"#,
            r#"{"format":"deadweight-decisions/1"}"#,
            r#"{"format":"deadweight-decisions/1","shape":"round","servers":[]}"#,
            r#"{"format":"deadweight-decisions/1","shape":null,"servers":[{"server":1}]}"#,
        ] {
            assert!(decode(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
