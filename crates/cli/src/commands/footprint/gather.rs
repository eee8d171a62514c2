//! The targets of a call, read and asked.

use super::note;
use crate::args::Footprint;
use crate::exit::Trouble;
use crate::settings;
use crate::target::ask::{Asking, ask, odd, server, told};
use crate::target::file::{self, PROJECT_CONFIGS, project_configs};
use crate::target::load::{Body, Failed, Loaded};
use crate::target::recognise::Hints;
use crate::target::words;
use deadweight_footprint::catalogue::Server;
use deadweight_mcp::ServerSpec;
use std::path::Path;

/// Everything that can be priced, and what could not be had.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) servers: Vec<Server>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) failed: Vec<Failed>,
}

/// Reads and asks the targets of the call.
pub(crate) fn targets(args: &Footprint) -> Result<Gathered, Trouble> {
    let loaded = load(args)?;
    Ok(all(args, vec![loaded])?.pop().unwrap_or_default())
}

/// Reads and asks what is compared: the base, and the targets of the call. All servers are asked together.
pub(crate) fn both(args: &Footprint, other: &str) -> Result<(Gathered, Gathered), Trouble> {
    let mut base = Loaded::default();
    let path = Path::new(other);
    if other.starts_with("http://") || other.starts_with("https://") {
        base.specs.push(ServerSpec::http(other, Vec::new()));
    } else if !file::is_stdin(path) && !path.exists() && other.trim().contains(char::is_whitespace) {
        let mut words = words::split(other)?.into_iter();
        base.specs.push(ServerSpec::stdio(words.next().unwrap_or_default(), words));
    } else {
        base.file(path, Hints { dialect: args.dialect.map(Into::into), kind: args.kind }, None)?;
    }
    let now = load(args)?;
    let mut sides = all(args, vec![base, now])?.into_iter();
    Ok((sides.next().unwrap_or_default(), sides.next().unwrap_or_default()))
}

/// Reads the targets of the call; servers are only named.
fn load(args: &Footprint) -> Result<Loaded, Trouble> {
    let mut loaded = Loaded::default();
    let hints = Hints { kind: args.kind, dialect: args.dialect.map(Into::into) };
    for path in &args.targets {
        loaded.file(path, hints, args.name.as_deref())?;
    }
    for url in &args.url {
        loaded.specs.push(named(ServerSpec::http(url.as_str(), headers(&args.header)?), args));
    }
    if let Some((program, rest)) = args.command.split_first() {
        let text = |word: &std::ffi::OsString| {
            word.to_str()
                .map(str::to_owned)
                .ok_or_else(|| Trouble::usage("the command is not UTF-8").at("word", word.to_string_lossy()))
        };
        let rest = rest.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        loaded.specs.push(named(ServerSpec::stdio(text(program)?, rest), args));
    }
    if args.targets.is_empty() && args.url.is_empty() && args.command.is_empty() {
        let found = project_configs(Path::new(""));
        let Some((first, others)) = found.split_first() else { return Err(no_target()) };
        let also: Vec<String> = others.iter().map(|path| path.display().to_string()).collect();
        let also =
            if also.is_empty() { String::new() } else { format!(" (there is also {})", also.join(", ")) };
        note(args, &format!("no target given, taking {}{also}", first.display()));
        loaded.file(first, hints, None)?;
    }
    Ok(loaded)
}

fn named(spec: ServerSpec, args: &Footprint) -> ServerSpec {
    match &args.name {
        Some(label) => spec.named(label.as_str()),
        None => spec,
    }
}

fn no_target() -> Trouble {
    let directory =
        std::env::current_dir().map_or_else(|_| ".".to_owned(), |path| path.display().to_string());
    let looked_for: Vec<String> = PROJECT_CONFIGS.chunks(4).map(|some| some.join(", ")).collect();
    Trouble::usage("there is no target, and no MCP config in this directory")
        .at("directory", directory)
        .at("looked for", looked_for.join(",\n"))
        .attempt(
            "deadweight footprint -- npx -y @modelcontextprotocol/server-everything\n\
             deadweight footprint --url https://mcp.example.com/mcp\n\
             deadweight footprint tools.json",
        )
}

/// The headers of the command line, with variables of the environment put in.
fn headers(arguments: &[String]) -> Result<Vec<(String, String)>, Trouble> {
    arguments
        .iter()
        .map(|argument| {
            let (name, value) = argument.split_once(':').ok_or_else(|| {
                let shown = argument.split(['=', ' ']).next().unwrap_or_default();
                Trouble::usage("a header needs a colon between its name and its value")
                    .at("header", format!("{shown}…"))
                    .attempt("--header 'Authorization: Bearer ${TOKEN}'")
            })?;
            let value =
                words::expand(value.trim(), &|name| std::env::var(name).ok()).map_err(|variable| {
                    Trouble::usage(format!("the variable {variable} of a header is not set"))
                        .at("header", name.trim())
                        .attempt(format!("export {variable}=…, or give a default: ${{{variable}:-…}}"))
                })?;
            Ok((name.trim().to_owned(), value))
        })
        .collect()
}

/// Asks the servers of all sides together and puts the answers where they belong.
fn all(args: &Footprint, sides: Vec<Loaded>) -> Result<Vec<Gathered>, Trouble> {
    let specs: Vec<ServerSpec> = sides.iter().flat_map(|side| side.specs.clone()).collect();
    let asking = Asking { timeout: args.timeout, progress: settings::progress_wanted(args.global.quiet) };
    let mut answers = ask(&specs, asking)?.into_iter();
    let mut out = Vec::with_capacity(sides.len());
    for side in sides {
        if args.global.verbose {
            side.notes.iter().for_each(|text| note(args, text));
        }
        side.warnings.iter().for_each(|text| note(args, text));
        let mut gathered = Gathered { servers: side.servers, bodies: side.bodies, failed: side.failed };
        for (spec, answer) in side.specs.iter().zip(answers.by_ref()) {
            match answer {
                Ok(listing) => {
                    if args.global.verbose {
                        note(args, &told(&listing));
                    }
                    odd(&listing).iter().for_each(|text| note(args, text));
                    gathered.servers.push(server(spec, listing));
                }
                Err(error) => {
                    let label = error.server.clone();
                    gathered.failed.push(Failed { label, trouble: Trouble::from(error.explain()) });
                }
            }
        }
        out.push(gathered);
    }
    Ok(out)
}
