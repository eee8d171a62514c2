//! The recorded lists of real servers, a generated server, and surfaces over them; for the test of their sizes and for the
//! bench that prints them.
#![allow(dead_code, reason = "the test and the bench use different parts of it")]

use bytes::Bytes;
use deadweight_estimate::Estimator;
use deadweight_footprint::catalogue::{Lists, Saving, saving};
use deadweight_mcp::surface::{Client, Input, Kept, ServerTools, Settings, Surface, ToolState};
use deadweight_wire::definition::listed;
use deadweight_wire::json::Parser;
use std::path::PathBuf;

/// The folder of recorded lists: `$DEADWEIGHT_SHARED`, or `../shared/data` beside the workspace.
fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let asked = std::env::var_os("DEADWEIGHT_SHARED").map(PathBuf::from);
    let roots = asked.iter().flat_map(|asked| [asked.clone(), asked.join("data")]).chain([root]);
    roots.map(|root| root.join("toolslist")).find(|folder| folder.join("SOURCES.md").is_file())
}

/// Every recorded server: its label and its definitions.
pub(crate) fn recorded() -> Option<Vec<(String, Vec<Bytes>)>> {
    let Some(folder) = folder() else {
        println!("left out: the recorded lists are not on this machine (set DEADWEIGHT_SHARED)");
        return None;
    };
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let label = path.file_stem().unwrap().to_string_lossy().into_owned();
            out.push((label, definitions(&std::fs::read(&path).unwrap())));
        }
    }
    out.sort();
    assert!(out.len() >= 14, "{} lists", out.len());
    Some(out)
}

pub(crate) fn definitions(bytes: &[u8]) -> Vec<Bytes> {
    Parser::new().scope(bytes, |document| {
        let tools = listed(document.unwrap().root()).unwrap();
        tools.iter().map(|tool| Bytes::copy_from_slice(tool.raw().as_bytes())).collect()
    })
}

pub(crate) fn surface(
    settings: &Settings,
    client: Client,
    servers: &[(String, Vec<Bytes>)],
    aggregate: bool,
) -> Surface {
    let servers: Vec<ServerTools<'_>> =
        servers.iter().map(|(label, tools)| ServerTools { label, tools, state: ToolState::Ready }).collect();
    let kept = Kept::default();
    Surface::new(&Input { settings, client, servers: &servers, lock: None, aggregate, kept: &kept })
}

pub(crate) fn priced(surfaces: &[Surface], estimator: &dyn Estimator) -> Saving {
    let mut all = Lists::default();
    for surface in surfaces {
        let lists = surface.lists(None);
        all.before.extend(lists.before);
        all.after.extend(lists.after);
        all.own.extend(lists.own);
        all.loadable.extend(lists.loadable);
    }
    saving(&all, estimator)
}

/// A server of 13 tools with 9,528 bytes of descriptions and schemas, of the shape that such servers have.
pub(crate) fn generated(seed: u64) -> Vec<Bytes> {
    let mut state = seed;
    let mut next = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    const WORDS: [&str; 16] = [
        "record", "the", "project", "value", "of", "a", "given", "list", "filter", "which", "state",
        "returns", "page", "by", "name", "order",
    ];
    let mut tools = Vec::new();
    let mut left: usize = 9_528;
    for at in 0..13_usize {
        let share = left / (13 - at);
        let mut sentence = |words: u64| {
            let mut text = String::from("Handles");
            for _ in 0..words {
                text.push(' ');
                text.push_str(WORDS[usize::try_from(next(16)).unwrap()]);
            }
            text + "."
        };
        let mut description = format!("{} {}", sentence(6), sentence(14));
        let mut properties = Vec::new();
        let schema = |properties: &[String]| {
            format!(r#"{{"type":"object","properties":{{{}}},"required":["field_0"]}}"#, properties.join(","))
        };
        loop {
            let field = properties.len();
            let text = format!(r#""field_{field}":{{"type":"string","description":"{}"}}"#, sentence(8));
            properties.push(text);
            if description.len() + schema(&properties).len() > share {
                properties.pop();
                break;
            }
        }
        let schema = schema(&properties);
        while description.len() + schema.len() < share {
            description.push('.');
        }
        left -= description.len() + schema.len();
        tools.push(Bytes::from(format!(
            r#"{{"name":"tool_{at}_of_it","description":"{description}","inputSchema":{schema}}}"#
        )));
    }
    assert_eq!(left, 0);
    tools
}

/// A list entry of about a kilobyte, for lists of any length.
pub(crate) fn numbered(at: usize) -> Bytes {
    let text = "Reads a record of the project and what belongs to it, page by page. ".repeat(6);
    Bytes::from(format!(
        r#"{{"name":"tool_{at}","description":"Handles case {at}. {text}","inputSchema":{{"type":"object","properties":{{"id":{{"type":"string","description":"{text}"}}}},"required":["id"]}},"annotations":{{"readOnlyHint":true}}}}"#
    ))
}
