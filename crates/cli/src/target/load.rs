//! Targets read: lists of tools, requests, and the servers still to be asked.

use super::file;
use super::memory;
use super::recognise::{Hints, TargetKind, recognise};
use crate::exit::{Exit, Trouble};
use deadweight_footprint::catalogue::Server;
use deadweight_footprint::memory::Memory;
use deadweight_mcp::ServerSpec;
use deadweight_mcp::config::{self, Context, process_env};
use deadweight_wire::Dialect;
use deadweight_wire::definition::listed;
use deadweight_wire::json::Parser;
use std::collections::HashMap;
use std::path::Path;

/// A captured request body.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    pub(crate) label: String,
    pub(crate) dialect: Dialect,
    pub(crate) bytes: Vec<u8>,
}

/// A target that could not be measured.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) label: String,
    pub(crate) trouble: Trouble,
}

/// Everything that was read from the targets.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) servers: Vec<Server>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) failed: Vec<Failed>,
    /// Memory files and skills.
    pub(crate) memory: Memory,
    /// The servers still to be asked.
    pub(crate) specs: Vec<ServerSpec>,
    /// What a person should know: servers that are switched off.
    pub(crate) warnings: Vec<String>,
    /// For `--verbose`: what each file was taken for.
    pub(crate) notes: Vec<String>,
}

impl Loaded {
    /// Reads a file. What cannot be read is kept as failed; a wrong call ends it all.
    pub(crate) fn file(&mut self, path: &Path, hints: Hints, name: Option<&str>) -> Result<(), Trouble> {
        match self.try_file(path, hints, name) {
            Err(trouble) if trouble.exit == Exit::Usage => Err(trouble),
            Err(trouble) => {
                let label = name.map_or_else(|| file::shown(path), str::to_owned);
                self.failed.push(Failed { label, trouble });
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn try_file(&mut self, path: &Path, hints: Hints, name: Option<&str>) -> Result<(), Trouble> {
        if let Some(recognised) = memory::recognise(path, hints) {
            self.notes.push(recognised.note(path));
            self.memory = std::mem::take(&mut self.memory).with(recognised.read(path)?);
            return Ok(());
        }
        let bytes = file::read(path)?;
        let label = name.map_or_else(|| file::stem(path), str::to_owned);
        let (kind, tools) = Parser::new().scope(&bytes, |document| {
            let recognised = recognise(path, &bytes, document, hints)?;
            self.notes.push(format!(
                "{}: {} ({})",
                file::shown(path),
                recognised.kind.words(),
                recognised.because
            ));
            let tools = match document {
                Ok(document) if recognised.kind == TargetKind::Tools => listed(document.root())
                    .unwrap_or_default()
                    .iter()
                    .map(|tool| tool.raw().as_bytes().to_vec())
                    .collect(),
                _ => Vec::new(),
            };
            Ok::<_, Trouble>((recognised.kind, tools))
        })?;
        match kind {
            TargetKind::Tools => {
                if tools.is_empty() {
                    self.warnings.push(format!("{} lists no tools", file::shown(path)));
                }
                let source = Some(file::shown(path));
                self.servers.push(Server { label, tools, source, ..Server::default() });
            }
            TargetKind::Request(dialect) => {
                self.bodies.push(Body { label: file::shown(path), dialect, bytes })
            }
            TargetKind::Config => self.config(path, &bytes, name)?,
        }
        Ok(())
    }

    /// Takes the servers of a config: those that can be asked, those that cannot, and a word about those that
    /// are switched off.
    fn config(&mut self, path: &Path, bytes: &[u8], name: Option<&str>) -> Result<(), Trouble> {
        let shown = file::shown(path);
        let context = Context { env: &process_env, workspace: None };
        let named = if file::is_stdin(path) { Path::new("standard input") } else { path };
        let config = config::parse(bytes, named, context).map_err(|error| Trouble::from(error.explain()))?;
        if name.is_some() && config.servers.len() != 1 {
            return Err(Trouble::usage("--name labels one server, not those of a config")
                .at("target", shown)
                .at("servers", config.servers.len().to_string())
                .attempt("leave out --name: a config's servers are labelled by their keys"));
        }
        let mut off = 0;
        let all = config.servers.len();
        let mut named: HashMap<String, usize> = HashMap::new();
        config.servers.iter().for_each(|configured| *named.entry(configured.label.clone()).or_default() += 1);
        for configured in config.servers {
            // One label in two projects is two servers.
            let twice = named.get(&configured.label).is_some_and(|&times| times > 1);
            let label = match (name, configured.project) {
                (Some(name), _) => name.to_owned(),
                (None, Some(project)) if twice => format!("{} ({project})", configured.label),
                (None, _) => configured.label,
            };
            match configured.server {
                config::Server::Ready(spec) => self.specs.push(spec.named(label)),
                config::Server::Faulty(error) => {
                    self.failed.push(Failed { label, trouble: Trouble::from(error.explain()) });
                }
                config::Server::Disabled => {
                    off += 1;
                    let line = configured.line;
                    self.warnings
                        .push(format!("`{label}` is switched off ({shown}, line {line}) and is not asked"));
                }
            }
        }
        if all == off {
            let what = if all == 0 {
                "the config names no servers"
            } else {
                "every server of the config is switched off"
            };
            return Err(Trouble::unmeasured(what)
                .at("target", shown)
                .attempt("name a config with servers, or put the command of one after `--`"));
        }
        Ok(())
    }
}
