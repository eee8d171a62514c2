//! Requests of real clients, recorded by `cargo xtask fixtures` into `recorded/`: the laws of the anatomy on each, and
//! whose their tools are. Nothing of them is committed, so this runs only where somebody has recorded.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what is wrong by failing"
)]

mod laws;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use deadweight_estimate::estimator;
use deadweight_footprint::origin::{Origin, Origins};
use deadweight_footprint::request::{estimate, price};
use deadweight_profiles::by_id;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, BlockKind, Slice};
use deadweight_wire::json::{Document, Parser, Value};
use serde_json::Value as Json;

/// For each layout: the dialect, and the most tools of the MCP server that any of its requests defines. Of twelve; a
/// client with a tool search of its own defines none before it has searched: Claude Code is asked for one by its name,
/// Codex for the best three.
const LAYOUTS: [(&str, Dialect, usize); 11] = [
    ("claude", Dialect::AnthropicMessages, 1),
    ("claude-eager", Dialect::AnthropicMessages, 12),
    ("codex", Dialect::OpenaiResponses, 12),
    ("codex-gpt55", Dialect::OpenaiResponses, 3),
    // Code mode: the tools are functions inside of one that runs code, and no definition is sent.
    ("codex-gpt6", Dialect::OpenaiResponses, 0),
    ("opencode", Dialect::OpenaiChat, 12),
    ("opencode-anthropic", Dialect::AnthropicMessages, 12),
    ("gemini", Dialect::GeminiGenerate, 12),
    ("qwen", Dialect::OpenaiChat, 0),
    ("aider", Dialect::OpenaiChat, 0),
    ("aider-anthropic", Dialect::AnthropicMessages, 0),
];

/// One recorded request to a model.
struct Request {
    path: String,
    body: Vec<u8>,
}

struct Recording {
    name: String,
    profile: String,
    server: String,
    requests: Vec<Request>,
}

fn recordings() -> Vec<Recording> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recorded");
    let Ok(entries) = fs::read_dir(&root) else {
        println!("skipped: nothing is recorded on this machine (cargo xtask fixtures)");
        return Vec::new();
    };
    // What other chores leave there has no index.
    let folders =
        entries.map(|entry| entry.unwrap().path()).filter(|folder| folder.join("index.json").exists());
    let mut found: Vec<Recording> = folders.map(|folder| recording(&folder)).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn recording(folder: &Path) -> Recording {
    let index = fs::read(folder.join("index.json")).expect("a recording has an index");
    let index: Json = serde_json::from_slice(&index).unwrap();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let requests =
        index["requests"].as_array().unwrap().iter().filter(|request| request["generation"] == true);
    Recording {
        name: text(&index["layout"]),
        profile: text(&index["profile"]),
        server: text(&index["server"]["label"]),
        requests: requests
            .map(|request| Request {
                path: text(&request["path"]),
                body: fs::read(folder.join(text(&request["body"]))).unwrap(),
            })
            .collect(),
    }
}

/// Calls `check` with every recorded request, parsed.
fn each(mut check: impl FnMut(&Recording, usize, Dialect, &Anatomy<'_, '_>)) {
    for recording in recordings() {
        for (index, request) in recording.requests.iter().enumerate() {
            let dialect = Dialect::of_path(&request.path).expect("the path names the dialect");
            Parser::new().scope(&request.body, |document| {
                let document = document.expect("a client sends JSON");
                check(&recording, index, dialect, &Anatomy::read(document, dialect));
            });
        }
    }
}

#[test]
fn the_dialect_is_seen_by_the_path_and_by_the_shape() {
    for recording in recordings() {
        let (_, expected, _) =
            LAYOUTS.iter().find(|(name, ..)| *name == recording.name).expect("a known layout");
        for request in &recording.requests {
            assert_eq!(
                Dialect::of_path(&request.path),
                Some(*expected),
                "{} {}",
                recording.name,
                request.path
            );
            let shape = Parser::new().scope(&request.body, |document| Dialect::of_shape(document.unwrap()));
            assert_eq!(shape, Some(*expected), "{}: by its shape", recording.name);
        }
    }
}

#[test]
fn slices_and_envelope_add_up_to_the_body_and_nothing_is_unknown() {
    each(|recording, index, _, anatomy| {
        let at = format!("{} request {index}", recording.name);
        let slices =
            [Slice::System, Slice::Tools, Slice::History, Slice::Tail].map(|slice| anatomy.wire_bytes(slice));
        assert_eq!(slices.iter().sum::<usize>() + anatomy.envelope_bytes(), anatomy.body_bytes, "{at}");
        for pair in anatomy.runs.windows(2) {
            assert!(pair[0].1.end() <= pair[1].1.start(), "{at}: runs overlap");
        }
        let told: Vec<String> = anatomy.anomalies.iter().map(|anomaly| anomaly.kind.to_string()).collect();
        println!("{at}: {} B = {slices:?} + {}; {told:?}", anatomy.body_bytes, anatomy.envelope_bytes());
        assert_eq!(told, Vec::<String>::new(), "{at}");
        let unknown = anatomy.blocks().filter(|(_, block)| block.kind == BlockKind::Unknown).count();
        assert_eq!(unknown, 0, "{at}: unknown blocks");
    });
}

#[test]
fn the_price_of_the_parts_is_the_price_of_the_whole() {
    each(|recording, index, _, anatomy| {
        for name in ["calibrated", "chars4"] {
            let at = format!("{} request {index}, {name}", recording.name);
            let estimator = estimator(name).unwrap();
            let origins = Origins::new().with_server(&recording.server, None);
            let report = price(anatomy, &*estimator, &origins);
            let slices =
                [report.slices.system, report.slices.tools, report.slices.history, report.slices.tail];
            let wire: u64 = slices.iter().map(|slice| slice.wire_bytes).sum();
            assert_eq!(wire + report.envelope_bytes, report.body_bytes, "{at}");
            let tools: u64 = report.tools.iter().map(|tool| tool.content_bytes).sum();
            assert_eq!(tools + report.namespaces.content_bytes, report.slices.tools.content_bytes, "{at}");
            let total = report.total.expect("a client sends whole requests");
            assert_eq!(estimate(anatomy, &*estimator), Some(total.tokens), "{at}");
            assert_eq!(total.tokens, slices.iter().map(|slice| slice.tokens).sum(), "{at}");
            // aider's opening words are nobody's in particular, nor are those of requests for a title.
            if !report.tools.is_empty() {
                assert_eq!(report.agent, Some(recording.profile.as_str()), "{at}: known by its own words");
            }
        }
    });
}

/// The envelope is what is left between the members that carry something: it stays a small part of the body.
#[test]
fn the_envelope_holds_parameters_and_punctuation_only() {
    each(|recording, index, _, anatomy| {
        let envelope = anatomy.envelope_bytes();
        assert!(envelope < 4_096, "{} request {index}: {envelope} bytes in no slice", recording.name);
    });
}

#[test]
fn the_servers_tools_are_found_and_are_the_servers() {
    for recording in recordings() {
        let (_, _, expected) =
            LAYOUTS.iter().find(|(name, ..)| *name == recording.name).expect("a known layout");
        let profile = by_id(&recording.profile);
        assert!(profile.is_some(), "no profile `{}`", recording.profile);
        let mut most = 0;
        each(|other, index, _, anatomy| {
            if other.name != recording.name {
                return;
            }
            let found: BTreeSet<String> = servers_tools(anatomy, profile, &recording.server);
            println!(
                "{} request {index}: {} tools, of the server: {found:?}",
                recording.name,
                anatomy.tools.len()
            );
            most = most.max(found.len());
        });
        assert_eq!(most, *expected, "{}: tools of the MCP server", recording.name);
    }
}

fn servers_tools(
    anatomy: &Anatomy<'_, '_>,
    profile: Option<&'static deadweight_profiles::Profile>,
    label: &str,
) -> BTreeSet<String> {
    let text = |value: Option<deadweight_wire::json::Value<'_, '_>>| {
        value.and_then(|value| value.as_str().map(String::from))
    };
    // The client's configuration names the server, as it does where deadweight runs; not what the server offers.
    let origins = Origins::new().with_server(label, None);
    let mut found = BTreeSet::new();
    for tool in &anatomy.tools {
        let name = text(tool.name).unwrap_or_default();
        let (namespace, server_type) = (text(tool.namespace), text(tool.server_type));
        let origin = origins.of(profile, &name, namespace.as_deref(), server_type.as_deref());
        if origin == (Origin::Mcp { server: label.to_owned() }) {
            found.insert(name);
        } else {
            assert_eq!(origin, Origin::Builtin, "{name} in {namespace:?}");
        }
    }
    found
}

/// The agent is known by its words alone, its reminders are found, and the laws of the footprint hold.
#[test]
fn every_request_is_priced_and_its_agent_recognised() {
    let by = deadweight_estimate::estimator("calibrated").expect("the default estimator is there");
    each(|recording, index, _, anatomy| {
        let at = format!("{} request {index}", recording.name);
        let origins = Origins::new().with_server(&recording.server, None);
        let report = price(anatomy, &*by, &origins);
        let document = match anatomy.messages.first() {
            Some(message) => message.value.document(),
            None => panic!("{at}: no message"),
        };
        laws::check(&report, document.text(document.root().span()));
        if report.tools.is_empty() {
            // A title, say: its few words do not say who sent it.
            return;
        }
        assert_eq!(report.agent, Some(recording.profile.as_str()), "{at}");
        assert!(report.tools.iter().all(|tool| tool.origin != Origin::Unknown), "{at}: {:?}", report.origins);
        let kinds: BTreeSet<&str> = report.standing.parts.iter().map(|part| part.kind).collect();
        println!("{at}: {} standing {kinds:?}", report.standing.tokens.get());
        let expected: &[&str] = match recording.name.as_str() {
            "claude" => {
                &["agents", "environment", "memory_file", "server_instructions", "skills", "tool_names"]
            }
            "claude-eager" => &["agents", "environment", "memory_file", "server_instructions", "skills"],
            "codex" | "codex-gpt55" | "codex-gpt6" => &["environment", "memory_file"],
            "qwen" => &["environment", "server_instructions", "skills", "tool_names"],
            "gemini" => &["environment"],
            _ => &[],
        };
        assert!(expected.iter().all(|kind| kinds.contains(kind)), "{at}: {kinds:?}");
    });
}

/// What was read must be what the client wrote: the anatomy's tools and messages against a plain walk.
#[test]
fn every_tool_result_and_call_of_the_session_is_seen() {
    each(|recording, index, _, anatomy| {
        let calls = anatomy.blocks().filter(|(_, block)| block.kind == BlockKind::ToolUse).count();
        let results = anatomy.blocks().filter(|(_, block)| block.kind == BlockKind::ToolResult).count();
        assert_eq!(calls, results, "{} request {index}: each call has its result", recording.name);
        let document: Document<'_, '_> = match anatomy.messages.first() {
            Some(message) => message.value.document(),
            None => panic!("{} request {index}: no message", recording.name),
        };
        let ids = strings_of(document.root(), &["tool_use_id", "call_id", "tool_call_id"]);
        if !ids.is_empty() {
            assert!(results > 0, "{} request {index}: results were not seen", recording.name);
        }
    });
}

/// The strings that stand under one of `keys`, wherever they stand.
fn strings_of(root: Value<'_, '_>, keys: &[&str]) -> BTreeSet<String> {
    let mut todo = vec![root];
    let mut found = BTreeSet::new();
    while let Some(value) = todo.pop() {
        todo.extend(value.elements());
        for entry in value.entries() {
            if keys.iter().any(|key| entry.key.is_str(key)) {
                found.extend(entry.value.as_str().map(String::from));
            }
            todo.push(entry.value);
        }
    }
    found
}
