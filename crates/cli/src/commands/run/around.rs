//! What the agent would find without us: the environment, the files of its settings.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The largest file of settings that is read, in bytes. Some agents keep histories in theirs.
const LARGEST: u64 = 64 << 20;

/// The surroundings of a run.
pub(super) struct Around<'a> {
    /// The environment: the value of a variable, if it is set.
    pub(super) env: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that the agent is started in.
    pub(super) directory: &'a Path,
    /// This program.
    pub(super) own: &'a Path,
    /// Where files for this run are put; it is there only while the agent runs.
    pub(super) folder: &'a Path,
    /// Where the root of the file system is; another one in tests.
    pub(super) root: &'a Path,
    /// What the proxies are told of the ledger.
    pub(super) ledger: Option<String>,
    /// Whether servers are put behind the proxy.
    pub(super) wraps: bool,
}

impl Around<'_> {
    /// A variable that is set, and to something.
    pub(super) fn set(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.trim().is_empty())
    }

    /// Whether a variable is set to anything that means yes.
    pub(super) fn is_on(&self, name: &str) -> bool {
        (self.env)(name).as_deref().is_some_and(is_on)
    }

    /// A path below the user's home.
    pub(super) fn home(&self, path: &str) -> Option<PathBuf> {
        self.set("HOME").map(|home| Path::new(&home).join(path))
    }

    /// A path of the whole machine.
    pub(super) fn machine(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The folders from the one that the agent is started in up to the root of its repository, the innermost first.
    /// Outside of a repository it is that folder alone.
    pub(super) fn project(&self) -> Vec<PathBuf> {
        let root = self.directory.ancestors().find(|folder| folder.join(".git").exists());
        let root = root.unwrap_or(self.directory);
        let within = self.directory.ancestors().take_while(|folder| folder.starts_with(root));
        within.map(Path::to_owned).collect()
    }
}

/// Whether a value means yes.
pub(super) fn is_on(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

/// A file's text; none where it cannot be read.
pub(super) fn text(file: &Path) -> Option<String> {
    if !file.is_file() {
        return None;
    }
    deadweight_mcp::file::text(file, LARGEST).ok()
}

/// A JSON file, which may have comments; none where there is none that can be read.
pub(super) fn json(file: &Path) -> Option<Value> {
    json_text(&text(file)?)
}

/// JSON, which may have comments.
pub(super) fn json_text(text: &str) -> Option<Value> {
    serde_json::from_slice(&deadweight_mcp::config::plain(text.as_bytes())).ok()
}

/// Puts `more` over `base`: objects are merged, everything else is replaced.
pub(super) fn merge(base: &mut Value, more: Value) {
    match (base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (name, value) in more {
                match base.get_mut(&name) {
                    Some(own) => merge(own, value),
                    None => {
                        base.insert(name, value);
                    }
                }
            }
        }
        (base, more) => *base = more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_merged_and_the_rest_is_replaced() {
        let mut base = json!({ "a": { "b": [1, 2], "c": 1 }, "d": 1 });
        merge(&mut base, json!({ "a": { "b": [3] }, "e": null }));
        assert_eq!(base, json!({ "a": { "b": [3], "c": 1 }, "d": 1, "e": null }));
    }

    #[test]
    fn comments_do_not_matter() {
        assert_eq!(json_text("{ // x\n \"a\": 1, }"), Some(json!({ "a": 1 })));
        assert_eq!(json_text("{"), None);
    }
}
