//! Targets read: lists of tools, requests, and the servers still to be asked.

use super::file;
use super::recognise::{Hints, TargetKind, recognise};
use crate::exit::{Exit, Trouble};
use deadweight_footprint::catalogue::Server;
use deadweight_mcp::ServerSpec;
use deadweight_wire::Dialect;
use deadweight_wire::definition::listed;
use deadweight_wire::json::Parser;
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
                    self.notes.push(format!("{}: the list is empty", file::shown(path)));
                }
                let source = Some(file::shown(path));
                self.servers.push(Server { label, tools, source, ..Server::default() });
            }
            TargetKind::Request(dialect) => {
                self.bodies.push(Body { label: file::shown(path), dialect, bytes })
            }
            TargetKind::Config => {
                return Err(Trouble::unmeasured("not yet").at("target", file::shown(path)));
            }
        }
        Ok(())
    }
}
