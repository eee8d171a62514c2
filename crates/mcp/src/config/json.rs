//! The formats that are JSON.

use super::draft::{Draft, Place, Written};
use super::{Configured, Format};
use crate::error::Reason;
use deadweight_wire::json::{Entry, Kind, Value};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Offsets into lines, counted from 1.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn new(text: &[u8]) -> Self {
        Self(memchr::memchr_iter(b'\n', text).collect())
    }

    pub(super) fn of(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}

/// The format of a JSON text, by the members that hold its servers.
pub(super) fn format(root: Value<'_, '_>) -> Option<Format> {
    let object = |key: &str| root.get(key).filter(|value| value.kind() == Kind::Object);
    let of_a_project = |project: Entry<'_, '_>| project.value.get("mcpServers").is_some();
    if object("mcpServers").is_some() {
        return Some(Format::McpServers);
    }
    if object("projects").is_some_and(|projects| projects.entries().any(of_a_project)) {
        return Some(Format::McpServers);
    }
    if object("servers").is_some_and(|servers| servers.entries().all(|entry| is_entry(entry.value))) {
        return Some(Format::VsCode);
    }
    let mcp = object("mcp")?;
    if mcp.get("servers").is_some_and(|servers| servers.kind() == Kind::Object) {
        return Some(Format::VsCode);
    }
    mcp.entries().all(|entry| entry.value.kind() == Kind::Object).then_some(Format::OpenCode)
}

/// Whether a value has the look of a server's entry.
fn is_entry(value: Value<'_, '_>) -> bool {
    ["command", "url", "type"].iter().any(|key| value.get(key).is_some())
}

/// What a reader of entries needs besides the text.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    pub(super) lines: Lines,
    pub(super) cwd: Option<PathBuf>,
    pub(super) finish: &'a dyn Fn(Place<'_>, Result<Draft, Reason>) -> Configured,
}

impl Reader<'_> {
    /// Every server of a document, in its order.
    pub(super) fn servers(&self, root: Value<'_, '_>, format: Format) -> Vec<Configured> {
        let mut out = Vec::new();
        let mut all = |holder: Value<'_, '_>, key: &str, project: Option<String>| {
            let off = switched_off(holder);
            let entries: Vec<_> = holder.get(key).into_iter().flat_map(|servers| servers.entries()).collect();
            // Of a key that is given twice the last counts, as for every client.
            let names = entries.iter().map(|entry| entry.key.as_str());
            let last: HashMap<_, _> = names.enumerate().map(|(at, name)| (name, at)).collect();
            for (at, entry) in entries.iter().copied().enumerate() {
                if last.get(&entry.key.as_str()) != Some(&at) {
                    continue;
                }
                let disabled = entry.key.as_str().is_some_and(|name| off.contains(&*name));
                out.push(self.server(entry, format, project.clone(), disabled));
            }
        };
        match format {
            Format::VsCode => {
                let holder = if root.get("servers").is_some() { Some(root) } else { root.get("mcp") };
                if let Some(holder) = holder {
                    all(holder, "servers", None);
                }
            }
            Format::OpenCode => all(root, "mcp", None),
            Format::McpServers | Format::Codex => {
                all(root, "mcpServers", None);
                for project in root.get("projects").into_iter().flat_map(|projects| projects.entries()) {
                    all(project.value, "mcpServers", project.key.as_str().map(Into::into));
                }
            }
        }
        out
    }

    fn server(
        &self,
        entry: Entry<'_, '_>,
        format: Format,
        project: Option<String>,
        disabled: bool,
    ) -> Configured {
        let label = entry.key.as_str().unwrap_or_default().into_owned();
        let line = self.lines.of(entry.key.span().start());
        let cwd = match &project {
            Some(project) => Some(PathBuf::from(project)).filter(|folder| folder.is_dir()),
            None => self.cwd.clone(),
        };
        let draft = if entry.value.kind() == Kind::Object {
            self.draft(entry.value, format).map(|mut draft| {
                draft.disabled |= disabled;
                draft
            })
        } else {
            Err(Reason::BadEntry { detail: "it is not an object".to_owned(), line })
        };
        (self.finish)(Place { file: self.file, label, line, project, cwd }, draft)
    }

    fn draft(&self, entry: Value<'_, '_>, format: Format) -> Result<Draft, Reason> {
        let mut draft = Draft::default();
        let open_code = format == Format::OpenCode;
        for member in entry.entries() {
            let Some(key) = member.key.as_str() else { continue };
            let value = member.value;
            if value.is_null() {
                continue;
            }
            match &*key {
                "type" | "transport" => draft.kind = Some(self.text(&key, value)?),
                "command" if open_code => {
                    let mut words = self.texts(&key, value)?.into_iter();
                    draft.command = words.next();
                    draft.args = words.collect();
                }
                "command" => draft.command = Some(self.text(&key, value)?),
                "args" => draft.args = self.texts(&key, value)?,
                "env" if !open_code => draft.env = self.pairs(&key, value)?,
                "environment" if open_code => draft.env = self.pairs(&key, value)?,
                "envFile" => draft.env_file = Some(self.text(&key, value)?),
                "cwd" => draft.cwd = Some(self.text(&key, value)?),
                "url" | "serverUrl" if draft.url.is_none() => draft.url = Some(self.text(&key, value)?),
                // Gemini CLI: streamable HTTP, before `url`, which is the older transport there.
                "httpUrl" => draft.url = Some(self.text(&key, value)?),
                "headers" => draft.headers = self.pairs(&key, value)?,
                "disabled" => draft.disabled |= value.as_bool() == Some(true),
                "enabled" => draft.disabled |= value.as_bool() == Some(false),
                _ => {}
            }
        }
        Ok(draft)
    }

    fn line(&self, value: Value<'_, '_>) -> usize {
        self.lines.of(value.span().start())
    }

    fn wrong<T>(&self, key: &str, value: Value<'_, '_>, expected: &str) -> Result<T, Reason> {
        let key = crate::harmless::excerpt(key.as_bytes(), 40);
        Err(Reason::BadEntry { detail: format!("its `{key}` is not {expected}"), line: self.line(value) })
    }

    fn text(&self, key: &str, value: Value<'_, '_>) -> Result<Written, Reason> {
        match value.as_str() {
            Some(text) => Ok(Written { text: text.into_owned(), line: self.line(value) }),
            None => self.wrong(key, value, "a string"),
        }
    }

    /// A string, or a number or truth value that stands where a string is meant.
    fn scalar(&self, key: &str, value: Value<'_, '_>) -> Result<Written, Reason> {
        match value.kind() {
            Kind::Number | Kind::Bool => Ok(Written { text: value.raw().to_owned(), line: self.line(value) }),
            _ => self.text(key, value),
        }
    }

    fn texts(&self, key: &str, value: Value<'_, '_>) -> Result<Vec<Written>, Reason> {
        if value.kind() != Kind::Array {
            return self.wrong(key, value, "an array of strings");
        }
        value.elements().map(|element| self.scalar(key, element)).collect()
    }

    fn pairs(&self, key: &str, value: Value<'_, '_>) -> Result<Vec<(String, Written)>, Reason> {
        if value.kind() != Kind::Object {
            return self.wrong(key, value, "an object");
        }
        let set = value.entries().filter(|entry| !entry.value.is_null());
        set.map(|entry| {
            let name = entry.key.as_str().unwrap_or_default().into_owned();
            Ok((name, self.scalar(key, entry.value)?))
        })
        .collect()
    }
}

/// The names that the holder of servers lists as switched off.
fn switched_off(holder: Value<'_, '_>) -> BTreeSet<String> {
    ["disabledMcpServers", "disabledMcpjsonServers"]
        .iter()
        .filter_map(|key| holder.get(key))
        .flat_map(|list| list.elements())
        .filter_map(|name| name.as_str())
        .map(Into::into)
        .collect()
}
