//! A server's entry as it is written down, and the making of a spec from it.

use super::expand::Expander;
use super::{Configured, Server};
use crate::error::{Failure, ListError, Reason};
use crate::listing::Stage;
use crate::spec::{Origin, ServerSpec, Transport};
use crate::text::{Folder, Text};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A text and the line it stands on.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) text: String,
    pub(super) line: usize,
}

/// An entry, read but not understood.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) kind: Option<Written>,
    pub(super) command: Option<Written>,
    pub(super) args: Vec<Written>,
    pub(super) env: Vec<(String, Written)>,
    /// Files with `NAME=value` lines that add to the environment.
    pub(super) env_file: Option<Written>,
    pub(super) cwd: Option<Written>,
    pub(super) url: Option<Written>,
    pub(super) headers: Vec<(String, Written)>,
    /// Headers whose value is the value of a variable, after a prefix.
    pub(super) variable_headers: Vec<(String, &'static str, Written)>,
    pub(super) disabled: bool,
}

/// Where an entry stands.
pub(super) struct Place<'a> {
    pub(super) file: &'a Path,
    pub(super) label: String,
    pub(super) line: usize,
    pub(super) project: Option<String>,
    /// Where the agent that reads the file starts its servers, where that is known.
    pub(super) cwd: Option<PathBuf>,
}

impl Place<'_> {
    /// The entry's outcome.
    pub(super) fn configured(self, expander: &Expander<'_>, draft: Result<Draft, Reason>) -> Configured {
        let server = match draft {
            Ok(draft) if draft.disabled => Server::Disabled,
            Ok(draft) => match draft.transport(expander, &self) {
                Ok(transport) => Server::Ready(ServerSpec {
                    label: Some(self.label.clone()),
                    transport,
                    origin: Some(self.origin()),
                }),
                Err(reason) => Server::Faulty(self.fault(reason)),
            },
            Err(reason) => Server::Faulty(self.fault(reason)),
        };
        Configured { label: self.label, line: self.line, project: self.project, server }
    }

    fn origin(&self) -> Origin {
        Origin { file: self.file.to_owned(), line: self.line }
    }

    fn fault(&self, reason: Reason) -> ListError {
        Failure {
            server: crate::harmless::line(&self.label),
            target: String::new(),
            remote: false,
            origin: Some(self.origin()),
            stage: Stage::Starting,
            elapsed: Duration::ZERO,
            reason,
            stderr: Vec::new(),
            stdout: Vec::new(),
            stray_answers: 0,
        }
        .into()
    }
}

impl Draft {
    fn transport(self, expander: &Expander<'_>, place: &Place<'_>) -> Result<Transport, Reason> {
        let bad = |detail: &str, line| Err(Reason::BadEntry { detail: detail.to_owned(), line });
        let (kind, kind_line) =
            self.kind.as_ref().map_or(("", place.line), |kind| (kind.text.as_str(), kind.line));
        let remote = match kind {
            "" => self.command.is_none(),
            "stdio" | "local" => false,
            "http" | "sse" | "remote" | "streamable-http" | "streamableHttp" | "streamable_http" => true,
            other => {
                let shown = crate::harmless::excerpt(other.as_bytes(), 40);
                return bad(&format!("its type `{shown}` is not known"), kind_line);
            }
        };
        if remote {
            return self.remote(expander, place);
        }
        let Some(command) = &self.command else { return bad("it has no `command`", place.line) };
        let command = expander.expand(&command.text, command.line)?;
        if command.reveal().trim().is_empty() {
            return bad("its `command` is empty", place.line);
        }
        let args = self.args.iter().map(|arg| expander.expand(&arg.text, arg.line));
        let args = crate::redact::args(args.collect::<Result<_, _>>()?);
        let mut env = match &self.env_file {
            Some(file) => read_env_file(expander, file)?,
            None => Vec::new(),
        };
        for (name, value) in &self.env {
            let text = expander.expand(&value.text, value.line)?;
            env.push((name.clone(), crate::redact::variable(name, text)));
        }
        let cwd = match &self.cwd {
            Some(cwd) => {
                let text = expander.expand(&cwd.text, cwd.line)?;
                Some(Folder::below(place.cwd.as_deref().unwrap_or(Path::new("")), &text))
            }
            None => place.cwd.clone().map(Folder::from),
        };
        Ok(Transport::Stdio { command, args, env, cwd })
    }

    fn remote(self, expander: &Expander<'_>, place: &Place<'_>) -> Result<Transport, Reason> {
        let Some(url) = &self.url else {
            let detail = "it has neither a `command` nor a `url`".to_owned();
            return Err(Reason::BadEntry { detail, line: place.line });
        };
        let url = crate::redact::url(expander.expand(&url.text, url.line)?);
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            headers.push((name.clone(), Text::secret(expander.expand(&value.text, value.line)?.reveal())));
        }
        for (name, prefix, variable) in &self.variable_headers {
            let value = expander.variable(&variable.text, None, variable.line)?;
            headers.push((name.clone(), Text::secret(format!("{prefix}{value}"))));
        }
        Ok(match self.kind.as_ref().map(|kind| kind.text.as_str()) {
            Some("sse") => Transport::Sse { url, headers },
            _ => Transport::Http { url, headers },
        })
    }
}

/// Reads a file of `NAME=value` lines: comments, `export`, and quotes around a value are understood.
fn read_env_file(expander: &Expander<'_>, file: &Written) -> Result<Vec<(String, Text)>, Reason> {
    let name = expander.expand(&file.text, file.line)?;
    let text = crate::file::text(&expander.folder.join(name.reveal()), super::LARGEST_OF_ENTRY).map_err(
        |error| {
            let shown = expander.folder.join(name.shown());
            let shown = crate::harmless::line(&shown.to_string_lossy());
            let detail = format!("its env file `{shown}` cannot be read: {}", crate::explain::system(&error));
            Reason::BadEntry { detail, line: file.line }
        },
    )?;
    Ok(env_lines(&text).into_iter().map(|(name, value)| (name, Text::secret(value))).collect())
}

fn env_lines(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map(|line| line.trim().strip_prefix("export ").unwrap_or(line.trim()))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| {
            let value = value.trim();
            let quoted =
                ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            (name.trim().to_owned(), quoted.unwrap_or(value).to_owned())
        })
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn env_files_are_read() {
        let text = "# note\nA=1\n export B = \"two words\"\n\nC='x=y'\nnothing\n=none\nD=\n";
        let lines = super::env_lines(text);
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "")];
        assert_eq!(lines, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
