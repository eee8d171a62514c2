//! Lists of any definitions, shown in every way: nothing panics, what is listed is JSON and the same every time, stubs change
//! what they may and nothing else, and every name leads back.
//!
//! The first byte says how it is shown; the rest is JSON, its elements the definitions.

#![no_main]

use bytes::Bytes;
use deadweight_mcp::catalogue::{Manifest, page};
use deadweight_mcp::surface::{
    Choice, Client, DESCRIPTION_BYTES, Input, Kept, Namer, ServerTools, Settings, Surface, Target, ToolState,
    first_sentence, stub,
};
use deadweight_wire::json::{Kind, Parser};
use libfuzzer_sys::fuzz_target;

const CLIENTS: [&str; 3] = ["", "gemini-cli-mcp-client", "claude-code"];
const SURFACES: [Choice; 4] = [Choice::Stubs, Choice::Auto, Choice::Search, Choice::Eager];

fuzz_target!(|input: &[u8]| {
    let Some((&how, text)) = input.split_first() else { return };
    let text = Bytes::copy_from_slice(text);
    let _ = Manifest::decode(&text);
    if let Some(page) = page::split(&text) {
        let joined = page::join(&page.frame, b"[1]").expect("a frame takes a list");
        assert_eq!(page::split(&joined).map(|page| page.frame), Some(page.frame), "a frame is its own");
    }
    if let Ok(text) = std::str::from_utf8(&text) {
        let sentence = first_sentence(text);
        assert!(sentence.len() <= DESCRIPTION_BYTES, "a sentence is short");
        assert_eq!(first_sentence(&sentence), sentence, "a sentence is its own first");
    }
    let Some(tools) = elements(&text) else { return };

    let client = Client::new(CLIENTS[usize::from(how >> 4) % CLIENTS.len()], "1");
    for tool in &tools {
        holds(tool, client.placeholder());
    }
    let aggregate = how & 8 != 0;
    let settings = Settings {
        surface: SURFACES[usize::from(how) % SURFACES.len()],
        budget: if how & 4 != 0 { 0 } else { 64 },
        ..Settings::default()
    };
    let (one, two) = tools.split_at(tools.len() / 2);
    let server = |label, tools| ServerTools { label, tools, state: ToolState::Ready };
    let servers = if aggregate {
        vec![server("one", one), server("two", two)]
    } else {
        vec![server("one", &tools[..])]
    };
    let build = |kept: &Kept| {
        let client = client.clone();
        Surface::new(&Input { settings: &settings, client, servers: &servers, lock: None, aggregate, kept })
    };
    let surface = build(&Kept::default());
    assert!(elements(surface.tools()).is_some(), "the list is an array");
    assert_eq!(surface.tools(), build(&Kept::default()).tools(), "the list is the same every time");
    assert_eq!(surface.tools(), build(&surface.kept()).tools(), "what was decided is decided again");
    let limit = Namer::new(true, &settings.entry).limit();
    for (shown, label, name) in surface.names() {
        assert!(!aggregate || shown.len() <= limit, "a name fits");
        let Some(Target::Tool(index)) = surface.resolve(shown) else { panic!("{shown:?} leads nowhere") };
        let tool = surface.tool(index).expect("an index has a tool");
        assert!(surface.refused().is_some() || (surface.label(tool.server), &*tool.name) == (label, name));
    }
});

/// The elements of an array.
fn elements(text: &Bytes) -> Option<Vec<Bytes>> {
    Parser::new().scope(text, |document| {
        let root = document.ok()?.root();
        let elements = root.elements().map(|element| text.slice(element.span().range()));
        (root.kind() == Kind::Array).then(|| elements.collect())
    })
}

/// The members that a stub does not touch, as they stand; and whether one of those that it removes is there.
fn others(definition: &[u8]) -> (Vec<(String, String)>, bool) {
    Parser::new().scope(definition, |document| {
        let root = document.expect("a definition is JSON").root();
        let mut kept = Vec::new();
        let mut removed = false;
        for entry in root.entries() {
            match &*entry.key.as_str().expect("a key is a string") {
                "description" | "inputSchema" => {}
                "outputSchema" | "icons" => removed = true,
                _ => kept.push((entry.key.raw().to_owned(), entry.value.raw().to_owned())),
            }
        }
        (kept, removed)
    })
}

fn holds(definition: &Bytes, placeholder: &str) {
    let Some(stubbed) = stub(definition, placeholder, None) else { return };
    let (kept, removed) = others(&stubbed);
    assert_eq!(kept, others(definition).0, "what a stub does not touch");
    assert!(!removed, "what a stub leaves out");
    assert_eq!(stub(&stubbed, placeholder, None), None, "a stub is its own");
}
