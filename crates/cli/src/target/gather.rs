//! The targets of a call, read and asked.

use super::ask::{Asking, ask, odd, server, told};
use super::file::{self, PROJECT_CONFIGS, project_configs};
use super::load::{Body, Failed, Loaded};
use super::recognise::Hints;
use super::words;
use crate::args::{Global, Targets};
use crate::exit::{self, Trouble};
use crate::settings;
use deadweight_estimate::ESTIMATOR_NAMES;
use deadweight_footprint::catalogue::Server;
use deadweight_footprint::memory::Memory;
use deadweight_mcp::config::{self, Context, process_env};
use deadweight_mcp::harmless::word;
use deadweight_mcp::{Reason, ServerSpec};
use std::path::Path;

/// Everything that can be priced, and what could not be had.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) servers: Vec<Server>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) failed: Vec<Failed>,
    pub(crate) memory: Memory,
}

/// A call of a command that has targets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The command's name, for what to try instead.
    pub(crate) command: &'static str,
    pub(crate) targets: &'a Targets,
    pub(crate) global: &'a Global,
    /// The labels that are asked; all when empty.
    pub(crate) only: &'a [String],
}

impl Call<'_> {
    /// What the definition of the arguments cannot say about them together.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        let Targets { files, url, command, name, header, .. } = self.targets;
        let targets = files.len() + url.len() + usize::from(!command.is_empty());
        if name.is_some() && targets != 1 {
            return Err(Trouble::usage("--name labels one server, not several and not a config")
                .at("targets", targets.to_string())
                .attempt("leave out --name, or price one target at a time"));
        }
        if !header.is_empty() && url.len() > 1 {
            return Err(Trouble::usage("--header is for one --url, and there are several")
                .at("urls", url.len().to_string())
                .attempt("price them one at a time, so that no server is sent another one's key"));
        }
        if files.iter().filter(|path| file::is_stdin(path)).count() > 1 {
            return Err(Trouble::usage("standard input can be read only once").attempt("give `-` once"));
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        if !self.global.quiet {
            exit::note(text);
        }
    }

    fn wants(&self, label: Option<&str>) -> bool {
        self.only.is_empty() || label.is_none_or(|label| self.only.iter().any(|only| only == label))
    }
}

/// Reads and asks the targets of the call.
pub(crate) fn targets(call: Call<'_>) -> Result<Gathered, Trouble> {
    let loaded = load(call)?;
    Ok(all(call, vec![loaded])?.pop().unwrap_or_default())
}

/// Reads and asks what is compared: the base, and the targets of the call. All servers are asked together.
pub(crate) fn both(call: Call<'_>, other: &str) -> Result<(Gathered, Gathered), Trouble> {
    let mut base = Loaded::default();
    let path = Path::new(other);
    if other.starts_with("http://") || other.starts_with("https://") {
        base.specs.push(ServerSpec::http(other, Vec::new()));
    } else if !file::is_stdin(path) && !path.exists() && other.trim().contains(char::is_whitespace) {
        let mut words = words::split(other)?.into_iter();
        base.specs.push(ServerSpec::stdio(words.next().unwrap_or_default(), words));
    } else {
        base.file(path, hints(call.targets), None)?;
    }
    let now = load(call)?;
    let mut sides = all(call, vec![base, now])?.into_iter();
    Ok((sides.next().unwrap_or_default(), sides.next().unwrap_or_default()))
}

/// Reads the targets of the call; servers are only named.
pub(crate) fn load(call: Call<'_>) -> Result<Loaded, Trouble> {
    let args = call.targets;
    let mut loaded = Loaded::default();
    let hints = hints(args);
    for path in &args.files {
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
    if args.is_empty() {
        let found = project_configs(Path::new(""));
        let Some((first, others)) = found.split_first() else { return Err(no_target(call.command)) };
        let also: Vec<String> = others.iter().map(|path| path.display().to_string()).collect();
        let also =
            if also.is_empty() { String::new() } else { format!(" (there is also {})", also.join(", ")) };
        call.note(&format!("no target given, taking {}{also}", first.display()));
        loaded.file(first, hints, None)?;
    }
    Ok(loaded)
}

fn hints(args: &Targets) -> Hints {
    Hints { kind: args.kind, dialect: args.dialect.map(Into::into) }
}

fn named(spec: ServerSpec, args: &Targets) -> ServerSpec {
    match &args.name {
        Some(label) => spec.named(label.as_str()),
        None => spec,
    }
}

fn no_target(command: &str) -> Trouble {
    let directory =
        std::env::current_dir().map_or_else(|_| ".".to_owned(), |path| path.display().to_string());
    let looked_for: Vec<String> = PROJECT_CONFIGS.chunks(4).map(|some| some.join(", ")).collect();
    Trouble::usage("there is no target, and no MCP config in this directory")
        .at("directory", directory)
        .at("looked for", looked_for.join(",\n"))
        .attempt(format!(
            "deadweight {command} -- npx -y @modelcontextprotocol/server-everything\n\
             deadweight {command} --url https://mcp.example.com/mcp\n\
             deadweight {command} tools.json"
        ))
}

/// The headers of the command line, with variables of the environment put in.
pub(crate) fn headers(arguments: &[String]) -> Result<Vec<(String, String)>, Trouble> {
    arguments
        .iter()
        .map(|argument| {
            let (name, value) = argument.split_once(':').ok_or_else(|| {
                let shown = argument.split(['=', ' ']).next().unwrap_or_default();
                Trouble::usage("a header needs a colon between its name and its value")
                    .at("header", format!("{shown}…"))
                    .attempt("--header 'Authorization: Bearer ${TOKEN}'")
            })?;
            let context = Context { env: &process_env, workspace: None };
            let value = config::expand(value.trim(), context).map_err(|reason| match reason {
                Reason::UnsetVariable { name: variable, .. } => {
                    Trouble::usage(format!("the variable {variable} of a header is not set"))
                        .at("header", name.trim())
                        .attempt(format!("export {variable}=…, or give a default: ${{{variable}:-…}}"))
                }
                _ => Trouble::usage("a header asks for what only an editor can fill in")
                    .at("header", name.trim())
                    .attempt("take it from the environment: --header 'Authorization: Bearer ${TOKEN}'"),
            })?;
            Ok((name.trim().to_owned(), value.reveal().to_owned()))
        })
        .collect()
}

/// Asks the servers of all sides together and puts the answers where they belong.
fn all(call: Call<'_>, mut sides: Vec<Loaded>) -> Result<Vec<Gathered>, Trouble> {
    for side in &mut sides {
        side.specs.retain(|spec| call.wants(spec.label.as_deref()));
    }
    let specs: Vec<ServerSpec> = sides.iter().flat_map(|side| side.specs.clone()).collect();
    let asking =
        Asking { timeout: call.targets.timeout, progress: settings::progress_wanted(call.global.quiet) };
    let mut answers = ask(&specs, asking)?.into_iter();
    let mut out = Vec::with_capacity(sides.len());
    for side in sides {
        if call.global.verbose {
            side.notes.iter().for_each(|text| call.note(text));
        }
        side.warnings.iter().for_each(|text| call.note(text));
        let mut gathered =
            Gathered { servers: side.servers, bodies: side.bodies, failed: side.failed, memory: side.memory };
        for (spec, answer) in side.specs.iter().zip(answers.by_ref()) {
            match answer {
                Ok(listing) => {
                    if call.global.verbose {
                        call.note(&told(&listing));
                    }
                    odd(&listing).iter().for_each(|text| call.note(text));
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

/// Goes to the directory of `-C`.
pub(crate) fn enter(directory: Option<&Path>) -> Result<(), Trouble> {
    let Some(directory) = directory else { return Ok(()) };
    std::env::set_current_dir(directory).map_err(|error| {
        Trouble::usage("the directory of -C cannot be entered")
            .at("directory", directory.display().to_string())
            .at("system", file::system(&error))
            .attempt("name a directory that exists")
    })
}

/// There is no estimator of the name that was asked for.
pub(crate) fn unknown_estimator(name: &str) -> Trouble {
    Trouble::usage(format!("there is no estimator `{name}`"))
        .at("known", ESTIMATOR_NAMES.join(", "))
        .attempt("leave out --estimator for `calibrated`, or take o200k for exact OpenAI counts")
}

/// The targets as a person would write them again, fit to be pasted; what looks like a key is hidden.
pub(crate) fn written(targets: &Targets) -> String {
    let mut out = String::new();
    if let Some(kind) = targets.kind {
        out.push_str(&format!(" --as {}", kind.word()));
    }
    for file in &targets.files {
        out.push_str(&format!(" {}", word(&file.to_string_lossy())));
    }
    for url in &targets.url {
        let shown = ServerSpec::http(url.as_str(), Vec::new()).transport.to_string();
        out.push_str(&format!(" --url {}", word(&shown)));
    }
    for header in &targets.header {
        out.push_str(&format!(" --header {}", word(&header_shown(header))));
    }
    if let Some(name) = &targets.name {
        out.push_str(&format!(" --name {}", word(name)));
    }
    let mut words = targets.command.iter().map(|word| word.to_string_lossy().into_owned());
    if let Some(program) = words.next() {
        out.push_str(&format!(" -- {}", ServerSpec::stdio(program, words).transport));
    }
    out
}

/// A header as it was written when its value is only named (`Bearer ${TOKEN}`), else without its value.
fn header_shown(header: &str) -> String {
    let (name, value) = header.split_once(':').unwrap_or((header, ""));
    let named = |part: &str| part.starts_with("${") && part.ends_with('}') && !part.contains(":-");
    let scheme = |part: &str| matches!(part, "Bearer" | "Basic" | "Token" | "token");
    if value.split_whitespace().all(|part| named(part) || scheme(part)) {
        return header.to_owned();
    }
    format!("{name}: …")
}

#[cfg(test)]
mod tests {
    use super::header_shown;

    #[test]
    fn the_value_of_a_header_is_shown_only_when_it_is_a_name() {
        for (header, shown) in [
            ("Authorization: Bearer ${TOKEN}", "Authorization: Bearer ${TOKEN}"),
            ("Authorization: Bearer s3cr3t", "Authorization: …"),
            ("X-Key: ${A}s3cr3t", "X-Key: …"),
            ("X-Key: ${A:-s3cr3t}", "X-Key: …"),
            ("X-Key: ${A} s3cr3t}", "X-Key: …"),
        ] {
            assert_eq!(header_shown(header), shown);
        }
    }
}
