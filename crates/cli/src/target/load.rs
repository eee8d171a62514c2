//! Targets read: lists of tools, requests, and the servers still to be asked.

use super::file;
use super::memory;
use super::recognise::{Hints, TargetKind, recognise};
use super::wrapped::{Behind, behind};
use crate::exit::{Exit, Trouble};
use deadweight_footprint::catalogue::Server;
use deadweight_footprint::memory::Memory;
use deadweight_mcp::ServerSpec;
use deadweight_mcp::config::{self, Context, process_env};
use deadweight_wire::Dialect;
use deadweight_wire::definition::listed;
use deadweight_wire::json::Parser;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

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
    /// The configs that were read, so that one that names itself is read once.
    configs: Vec<PathBuf>,
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
            TargetKind::Config => self.config(path, &bytes, name, None)?,
        }
        Ok(())
    }

    /// Takes the servers of a config: those that can be asked, those that cannot, and a word about those that
    /// are switched off.
    ///
    /// `only`: the one server of it that is wanted, and the label it goes by.
    fn config(
        &mut self,
        path: &Path,
        bytes: &[u8],
        name: Option<&str>,
        only: Option<(&str, &str)>,
    ) -> Result<(), Trouble> {
        self.configs.extend(path.canonicalize());
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
        let mut through = Vec::new();
        let all = config.servers.len();
        if let Some((only, _)) = only
            && !config.servers.iter().any(|configured| configured.label == only)
        {
            return Err(Trouble::usage(format!("the config has no server `{only}`"))
                .at("target", shown)
                .attempt("correct the --server of the entry that serves it"));
        }
        let mut named: HashMap<String, usize> = HashMap::new();
        config.servers.iter().for_each(|configured| *named.entry(configured.label.clone()).or_default() += 1);
        for configured in config.servers {
            // One label in two projects is two servers.
            let twice = named.get(&configured.label).is_some_and(|&times| times > 1);
            if only.is_some_and(|(only, _)| configured.label != only) {
                continue;
            }
            let label = match (name.or(only.map(|(_, label)| label)), configured.project) {
                (Some(name), _) => name.to_owned(),
                (None, Some(project)) if twice => format!("{} ({project})", configured.label),
                (None, _) => configured.label,
            };
            match configured.server {
                config::Server::Ready(spec) => {
                    let spec = spec.named(label.as_str());
                    let Some(behind) = behind(&spec) else {
                        self.specs.push(spec);
                        continue;
                    };
                    if let Behind::Config { file, .. } = &behind
                        && file.canonicalize().is_ok_and(|file| self.configs.contains(&file))
                    {
                        self.warnings
                            .push(format!("`{label}` serves the config that it stands in, and is left out"));
                        continue;
                    }
                    through.push(format!("`{label}`"));
                    match behind {
                        Behind::Server(spec) => self.specs.push(*spec),
                        Behind::Config { file, server } => self.nested(&file, &label, server.as_deref()),
                    }
                }
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
        if !through.is_empty() {
            let (stand, meant) = match through.len() {
                1 => ("stands", "the server there is meant"),
                _ => ("stand", "the servers there are meant"),
            };
            self.warnings.push(format!(
                "{} {stand} behind `deadweight mcp`: {meant}; what the proxy lists: deadweight mcp --explain",
                through.join(", ")
            ));
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

    /// Takes the servers of a config that an entry of another one serves.
    fn nested(&mut self, file: &Path, label: &str, server: Option<&str>) {
        if file.canonicalize().is_ok_and(|file| self.configs.contains(&file)) {
            return self
                .warnings
                .push(format!("`{label}` serves the config that it stands in, and is left out"));
        }
        let only = server.map(|server| (server, label));
        let read = file::read(file).and_then(|bytes| self.config(file, &bytes, None, only));
        if let Err(trouble) = read {
            self.failed.push(Failed { label: label.to_owned(), trouble });
        }
    }
}
