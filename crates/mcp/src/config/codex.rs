//! Codex: TOML tables `[mcp_servers.NAME]`.

use super::draft::{Draft, Place, Written};
use super::json::Lines;
use super::{ConfigError, Configured};
use crate::error::Reason;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Item, TableLike};

/// What a reader of entries needs besides the text.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    pub(super) lines: Lines,
    pub(super) cwd: Option<PathBuf>,
    pub(super) finish: &'a dyn Fn(Place<'_>, Result<Draft, Reason>) -> Configured,
}

/// Whether a TOML text is a configuration of Codex with servers in it.
pub(super) fn is_codex(text: &str) -> bool {
    toml_edit::Document::parse(text)
        .is_ok_and(|document| document.get("mcp_servers").is_some_and(Item::is_table_like))
}

impl Reader<'_> {
    /// Every server of the text, in its order.
    pub(super) fn servers(&self, text: &str) -> Result<Vec<Configured>, ConfigError> {
        let wrong = |detail: String, line| ConfigError { file: self.file.to_owned(), detail, line };
        let document = toml_edit::Document::parse(text).map_err(|error| {
            let line = error.span().map(|span| self.lines.of(span.start));
            wrong(format!("it is not TOML: {}", crate::harmless::line(error.message())), line)
        })?;
        let servers = document.get("mcp_servers").and_then(Item::as_table_like);
        let Some(servers) = servers else {
            return Err(wrong("it has no table `mcp_servers`".to_owned(), None));
        };
        let mut entries: Vec<(usize, Configured)> = Vec::new();
        for (name, item) in servers.iter() {
            let key = servers.key(name).and_then(toml_edit::Key::span);
            let at = key.or_else(|| item.span()).unwrap_or_default().start;
            let line = self.lines.of(at);
            let draft = match item.as_table_like() {
                Some(table) => self.draft(table, line),
                None => Err(Reason::BadEntry { detail: "it is not a table".to_owned(), line }),
            };
            let place =
                Place { file: self.file, label: name.to_owned(), line, project: None, cwd: self.cwd.clone() };
            entries.push((at, (self.finish)(place, draft)));
        }
        entries.sort_by_key(|(at, _)| *at);
        Ok(entries.into_iter().map(|(_, server)| server).collect())
    }

    fn draft(&self, table: &dyn TableLike, line: usize) -> Result<Draft, Reason> {
        let mut draft = Draft::default();
        for (key, item) in table.iter() {
            match key {
                "command" => draft.command = Some(self.text(key, item, line)?),
                "args" => draft.args = self.texts(key, item, line)?,
                "env" => draft.env = self.pairs(key, item, line)?,
                "cwd" => draft.cwd = Some(self.text(key, item, line)?),
                "url" => draft.url = Some(self.text(key, item, line)?),
                "bearer_token_env_var" => {
                    let variable = self.text(key, item, line)?;
                    draft.variable_headers.push(("Authorization".to_owned(), "Bearer ", variable));
                }
                "http_headers" => draft.headers = self.pairs(key, item, line)?,
                "env_http_headers" => {
                    let pairs = self.pairs(key, item, line)?;
                    draft
                        .variable_headers
                        .extend(pairs.into_iter().map(|(name, variable)| (name, "", variable)));
                }
                "enabled" => draft.disabled = item.as_bool() == Some(false),
                _ => {}
            }
        }
        Ok(draft)
    }

    fn line(&self, span: Option<Range<usize>>, otherwise: usize) -> usize {
        span.map_or(otherwise, |span| self.lines.of(span.start))
    }

    fn text(&self, key: &str, item: &Item, otherwise: usize) -> Result<Written, Reason> {
        let line = self.line(item.span(), otherwise);
        match item.as_str() {
            Some(text) => Ok(Written { text: text.to_owned(), line }),
            None => Err(Reason::BadEntry { detail: format!("its `{key}` is not a string"), line }),
        }
    }

    fn texts(&self, key: &str, item: &Item, otherwise: usize) -> Result<Vec<Written>, Reason> {
        let line = self.line(item.span(), otherwise);
        let wrong = || Reason::BadEntry { detail: format!("its `{key}` is not an array of strings"), line };
        let list = item.as_array().ok_or_else(wrong)?;
        list.iter()
            .map(|value| {
                let text = value.as_str().ok_or_else(wrong)?.to_owned();
                Ok(Written { text, line: self.line(value.span(), line) })
            })
            .collect()
    }

    fn pairs(&self, key: &str, item: &Item, otherwise: usize) -> Result<Vec<(String, Written)>, Reason> {
        let line = self.line(item.span(), otherwise);
        let wrong = || Reason::BadEntry { detail: format!("its `{key}` is not a table of strings"), line };
        let table = item.as_table_like().ok_or_else(wrong)?;
        table
            .iter()
            .map(|(name, value)| {
                let text = value.as_str().ok_or_else(wrong)?.to_owned();
                Ok((name.to_owned(), Written { text, line: self.line(value.span(), line) }))
            })
            .collect()
    }
}
