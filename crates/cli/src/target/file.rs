//! Files named on the command line, and the ones looked for when none is named.

use crate::exit::Trouble;
use std::io;
use std::path::{Path, PathBuf};

/// The project's own MCP configs, in the order in which they are looked for.
pub(crate) const PROJECT_CONFIGS: [&str; 7] = [
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".codex/config.toml",
    "opencode.json",
    ".gemini/settings.json",
    "mcp.json",
];

/// What some editors put before UTF-8; it is no part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes of a target, and of a lock.
const LARGEST: u64 = 256 << 20;
pub(crate) const LARGEST_LOCK: u64 = 4 << 20;

/// Whether a target is standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of a target as a person wrote it.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The label of a file's tools when nothing better is known: its stem.
pub(crate) fn stem(path: &Path) -> String {
    if is_stdin(path) {
        return "stdin".to_owned();
    }
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// Reads a target whole.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Trouble> {
    let outcome = if is_stdin(path) {
        deadweight_mcp::file::bounded(io::stdin().lock(), LARGEST)
    } else {
        deadweight_mcp::file::read(path, LARGEST)
    };
    let mut bytes = outcome.map_err(|error| unreadable(path, &error))?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let trouble = Trouble::unmeasured(if bytes.is_empty() {
            "the target is empty"
        } else {
            "the target holds nothing but white space"
        });
        return Err(trouble
            .at("target", shown(path))
            .attempt("give a tools/list dump, an MCP config or a captured request body"));
    }
    Ok(bytes)
}

/// What the operating system said, without its number.
pub(crate) fn system(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

fn unreadable(path: &Path, error: &io::Error) -> Trouble {
    let name = shown(path);
    match error.kind() {
        io::ErrorKind::NotFound => {
            let mut trouble = Trouble::unmeasured("the target does not exist").at("target", name.clone());
            if looks_like_command(path) {
                trouble = trouble.attempt(format!("to start it as a server: deadweight footprint -- {name}"));
            } else if name.starts_with("http://") || name.starts_with("https://") {
                trouble = trouble.attempt(format!("to connect to it: deadweight footprint --url {name}"));
            } else if let Some(directory) = std::env::current_dir().ok().filter(|_| path.is_relative()) {
                trouble = trouble
                    .at("looked in", directory.display().to_string())
                    .attempt("name a file that exists, or put the command of a server after `--`");
            }
            trouble
        }
        io::ErrorKind::IsADirectory => {
            let trouble =
                Trouble::unmeasured("the target is a directory, not a file").at("target", name.clone());
            match project_configs(path).first() {
                Some(config) => trouble.attempt(format!("deadweight footprint {}", config.display())),
                None => trouble.attempt("name the file in it that is to be priced; it holds no MCP config"),
            }
        }
        io::ErrorKind::PermissionDenied => Trouble::unmeasured("the target may not be read")
            .at("target", name)
            .at("system", system(error))
            .attempt("give yourself the right to read it, or name another file"),
        _ => Trouble::unmeasured("the target could not be read")
            .at("target", name)
            .at("system", system(error))
            .attempt("name a plain file, or give its text on standard input: deadweight footprint -"),
    }
}

/// Whether a person probably meant a command: a bare word, or words with spaces, without a data file's ending.
fn looks_like_command(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let first = text.split_whitespace().next().unwrap_or_default();
    text.contains(' ') && !first.is_empty()
        || (!text.contains(['/', '\\', '.'])
            && matches!(
                first,
                "npx" | "uvx" | "node" | "python" | "python3" | "docker" | "uv" | "bunx" | "deno"
            ))
}

/// The MCP configs of a project that exist in `directory`.
pub(crate) fn project_configs(directory: &Path) -> Vec<PathBuf> {
    PROJECT_CONFIGS
        .iter()
        .map(|name| if directory == Path::new("") { PathBuf::from(name) } else { directory.join(name) })
        .filter(|path| path.is_file())
        .collect()
}
