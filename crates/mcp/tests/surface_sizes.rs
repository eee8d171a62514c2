//! What surfaces save on the lists of real servers, and on a generated one: every figure gross, net and as break-even.
#![cfg(feature = "surface")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what is wrong by failing, and its figures are read"
)]

use bytes::Bytes;
use deadweight_estimate::{Estimator, calibrated, estimator};
use deadweight_footprint::catalogue::{Lists, Saving, saving};
use deadweight_mcp::surface::{
    Choice, Client, Input, Kept, ServerTools, Settings, Shape, Surface, ToolState,
};
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
fn recorded() -> Option<Vec<(String, Vec<Bytes>)>> {
    let Some(folder) = folder() else {
        println!("skipped: the recorded lists are not on this machine (set DEADWEIGHT_SHARED)");
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

fn definitions(bytes: &[u8]) -> Vec<Bytes> {
    Parser::new().scope(bytes, |document| {
        let tools = listed(document.unwrap().root()).unwrap();
        tools.iter().map(|tool| Bytes::copy_from_slice(tool.raw().as_bytes())).collect()
    })
}

fn surface(settings: &Settings, servers: &[(String, Vec<Bytes>)], aggregate: bool) -> Surface {
    let servers: Vec<ServerTools<'_>> =
        servers.iter().map(|(label, tools)| ServerTools { label, tools, state: ToolState::Ready }).collect();
    let kept = Kept::default();
    let client = Client::default();
    Surface::new(&Input { settings, client, servers: &servers, lock: None, aggregate, kept: &kept })
}

fn priced(surfaces: &[Surface], estimator: &dyn Estimator) -> Saving {
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

fn show(what: &str, saving: &Saving) {
    println!(
        "{what:32} {:6} -> {:6} + {:4}   gross {:5.1} %  net {:5.1} %  break-even {} loads of {}",
        saving.before.tokens.get(),
        saving.after.tokens.get(),
        saving.own.tokens.get(),
        saving.gross.pct,
        saving.net.pct,
        saving.break_even.map_or_else(|| "-".to_owned(), |loads| loads.to_string()),
        saving.load.tokens.get(),
    );
}

#[test]
fn stubs_take_off_what_they_must() {
    let Some(servers) = recorded() else { return };
    let o200k = estimator("o200k").unwrap();
    let settings = Settings::default();

    let aggregate = surface(&settings, &servers, true);
    assert_eq!(aggregate.shape(), Shape::Stubs);
    assert_eq!(aggregate.refused(), None);
    let one = priced(std::slice::from_ref(&aggregate), &*o200k);
    show("stubs, one aggregate", &one);

    let wrapped: Vec<Surface> =
        servers.iter().map(|server| surface(&settings, std::slice::from_ref(server), false)).collect();
    let many = priced(&wrapped, &*o200k);
    for (wrapped, (label, _)) in wrapped.iter().zip(&servers) {
        let saving = priced(std::slice::from_ref(wrapped), &*o200k);
        show(label, &saving);
        assert!(saving.net.tokens >= 0 && saving.net.bytes >= 0, "{label} costs more deferred");
    }
    show("stubs, fourteen wrapped servers", &many);

    let served: usize = servers.iter().flat_map(|(_, tools)| tools).map(|tool| tool.len() + 1).sum();
    let json = |length: usize| 100.0 - 100.0 * length as f64 / served as f64;
    let wrapped_json: usize = wrapped.iter().map(|surface| surface.tools().len()).sum();
    println!(
        "as JSON: {served} B -> {} B ({:.1} %) and {wrapped_json} B ({:.1} %)",
        aggregate.tools().len(),
        json(aggregate.tools().len()),
        json(wrapped_json)
    );

    assert_eq!(one.before.tokens.get(), 74_682);
    assert!(one.net.pct >= 85.0, "one aggregate: {} %", one.net.pct);
    assert!(many.net.pct >= 83.0, "fourteen wrapped servers: {} %", many.net.pct);
    assert!(json(aggregate.tools().len()) >= 72.0 && json(wrapped_json) >= 72.0);
}

#[test]
fn search_lists_three_tools() {
    let Some(servers) = recorded() else { return };
    let settings = Settings { surface: Choice::Search, ..Settings::default() };
    let surface = surface(&settings, &servers, true);
    let saving = priced(std::slice::from_ref(&surface), &*estimator("o200k").unwrap());
    show("search", &saving);
    assert!(definitions(surface.tools()).len() <= 3);
    assert!(saving.after.tokens.get() + saving.own.tokens.get() <= 700);
    assert!(saving.net.pct >= 98.0);
}

/// A server of 13 tools with 9,528 bytes of descriptions and schemas, of the shape that such servers have.
fn generated(seed: u64) -> Vec<Bytes> {
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

#[test]
fn a_generated_server_is_as_light_as_it_must_be() {
    for seed in [1, 4, 20_260_728] {
        let server = [("generated".to_owned(), generated(seed))];
        let surface = surface(&Settings::default(), &server, false);
        for name in ["calibrated", "o200k"] {
            let saving = priced(std::slice::from_ref(&surface), &*estimator(name).unwrap());
            show(&format!("generated, seed {seed}, {name}"), &saving);
            assert!(saving.gross.pct >= 65.0 && saving.net.pct >= 58.0);
        }
        let bytes = priced(std::slice::from_ref(&surface), &calibrated());
        let share = |change: i64| 100.0 * change as f64 / bytes.before.bytes as f64;
        assert!(share(bytes.gross.bytes) >= 65.0 && share(bytes.net.bytes) >= 58.0);
    }
}
