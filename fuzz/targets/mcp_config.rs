//! Configuration files of any content, in every format: nothing panics, and what a variable holds is never shown.
//!
//! The first byte says how the file is called.

#![no_main]

use std::path::Path;

use deadweight_mcp::config::{Context, Server, detect, parse};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 5] = [
    "/h/claude.json",
    "/h/p/.mcp.json",
    "/h/p/.vscode/mcp.json",
    "/h/.codex/config.toml",
    "/h/.gemini/settings.json",
];

/// What every variable holds. No input is likely to say it by itself.
const SECRET: &str = "sQ7!vW#k2Zr~9pLx";

fuzz_target!(|input: &[u8]| {
    let Some((&name, text)) = input.split_first() else { return };
    let file = Path::new(NAMES[usize::from(name) % NAMES.len()]);
    let env = |name: &str| match name {
        "HOME" => Some("/h".to_owned()),
        _ if name.starts_with("UNSET") => None,
        _ => Some(SECRET.to_owned()),
    };
    let seen = detect(text);
    match parse(text, file, Context { env: &env, workspace: None }) {
        Err(error) => {
            hides(&error.explain().to_string());
            assert_ne!(error.line, Some(0), "lines are counted from 1");
        }
        Ok(config) => {
            // A name that ends in `.toml` decides before the text does.
            if file.extension().is_some_and(|extension| extension == "json") {
                assert_eq!(Some(config.format), seen, "recognised as one format and read as another");
            }
            let lines = text.split(|byte| *byte == b'\n').count().max(1);
            for configured in &config.servers {
                assert!((1..=lines).contains(&configured.line), "line {} of {lines}", configured.line);
                hides(&format!("{configured:?}"));
                match &configured.server {
                    Server::Ready(spec) => hides(&format!("{spec} {spec:?}")),
                    Server::Faulty(error) => hides(&error.explain().to_string()),
                    Server::Disabled => {}
                }
            }
        }
    }
});

fn hides(shown: &str) {
    assert!(!shown.contains(SECRET), "a variable's value is shown: {shown}");
}
