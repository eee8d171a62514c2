//! The server that the clients are given: the notes of the recordings, which can crash and grow too.

use std::path::Path;

use deadweight_testkit::scripted_mcp::{self, Act, Page, Script};
use serde_json::{Value, json};

pub(in crate::soak) use crate::fixtures::server::LABEL;
use crate::fixtures::server::definitions;
use crate::{Context, Result};

/// In the command line of every process of the server.
pub(in crate::soak) const MARKER: &str = "soaked-notes";

/// The tool that a rule of the client denies; it says of itself that it may destroy.
pub(in crate::soak) const DENIED: &str = "note_delete";

/// The tool that comes later.
pub(super) const GROWN: &str = "note_grown";

/// Names that occur in schemas only.
pub(super) const HIDDEN: [&str; 6] =
    ["note_id", "changed_after", "with_diff", "may_write", "by_link", "dry_run"];

/// Every tool of the list that the server begins with.
pub(super) fn names() -> Vec<String> {
    tools().iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
}

fn tools() -> Vec<Value> {
    let mut tools = definitions();
    for tool in &mut tools {
        let annotations = match tool["name"].as_str().unwrap_or_default() {
            "note_list" | "note_search" | "note_read" | "note_history" => json!({ "readOnlyHint": true }),
            DENIED => json!({ "destructiveHint": true }),
            _ => json!({ "readOnlyHint": false, "destructiveHint": false }),
        };
        tool["annotations"] = annotations;
        // The recorded tools accept what they do not know; so that wrong calls are wrong, these do not.
        tool["inputSchema"]["additionalProperties"] = false.into();
    }
    for (name, description) in [
        ("note_crash", "Ends the server without an answer, the first time that it is called."),
        ("note_grow", "Adds a tool to the list."),
    ] {
        let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let annotations = json!({ "readOnlyHint": true });
        tools.push(json!({ "name": name, "description": description, "inputSchema": schema, "annotations": annotations }));
    }
    tools
}

/// The command that starts it. What reaches it is appended to `record`; it crashes as long as `crashed` is not there.
pub(in crate::soak) fn command(record: &Path, crashed: &Path) -> Result<Vec<String>> {
    let mut later = tools();
    let schema = json!({ "type": "object", "properties": {} });
    later.push(json!({ "name": GROWN, "description": "It was not there before.", "inputSchema": schema }));
    let crash = Act::Once { file: crashed.display().to_string(), acts: vec![Act::Exit(9)] };
    let changed = Act::Notify("notifications/tools/list_changed".to_owned());
    let script = Script {
        instructions: Some("Notes of the user. Read a note before you change it.".to_owned()),
        pages: vec![Page { tools: tools(), ..Page::default() }],
        later: vec![vec![Page { tools: later, ..Page::default() }]],
        record: Some(record.display().to_string()),
        ..Script::named(MARKER)
    };
    let script = script
        .on("tools/call:note_crash", [crash])
        .on("tools/call:note_grow", [Act::List(1), changed, Act::Proceed]);
    // The script is too long for some clients' settings to be read at ease: it travels as a file.
    let file = record.with_file_name(format!("{MARKER}.json"));
    std::fs::write(&file, script.to_json()).context("the server's script")?;
    Ok(vec![scripted_mcp::path().display().to_string(), format!("@{}", file.display())])
}
