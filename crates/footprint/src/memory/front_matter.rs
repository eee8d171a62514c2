//! Front matter: a block of YAML between two lines of three dashes at the very beginning of a file.

use super::yaml::{self, Value};
use std::ops::Range;

/// Where a text's front matter lies, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// From the beginning of the file to behind the line that closes it; a byte order mark included.
    pub block: Range<usize>,
    /// The YAML between the two lines.
    pub yaml: Range<usize>,
}

impl FrontMatter {
    /// Finds the front matter of a text: its first line is `---`, and a later line is `---` too (white space may
    /// follow). A byte order mark may come first, a blank line may not.
    pub fn find(text: &str) -> Option<Self> {
        let start = byte_order_mark(text);
        let mut lines = text.get(start..)?.split_inclusive('\n');
        let first = lines.next()?;
        if !is_fence(first) || !first.ends_with('\n') {
            return None;
        }
        let yaml = start + first.len();
        let mut at = yaml;
        for line in lines {
            if is_fence(line) {
                return Some(Self { block: 0..at + line.len(), yaml: yaml..at });
            }
            at += line.len();
        }
        None
    }
}

/// The length of the byte order mark that a text may begin with.
pub(super) fn byte_order_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty())
}

/// Whether a rule's front matter ties it to `paths`, so that it is loaded with files that match them and not from
/// the start. `paths` without a value, or with nothing but `**`, ties it to nothing.
pub fn tied_to_paths(text: &str) -> bool {
    let Some(found) = FrontMatter::find(text) else { return false };
    let block = yaml::read(text.get(found.yaml).unwrap_or_default());
    let ties = |path: &str| !matches!(path.trim(), "" | "**");
    match block.get("paths") {
        Some(Value::Text(path)) => path.split(',').any(ties),
        Some(Value::List(paths)) => paths.iter().any(|path| ties(path)),
        Some(Value::Other) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_at_the_very_beginning_only() {
        for (text, yaml) in [
            ("---\na: 1\n---\nbody", Some("a: 1\n")),
            ("\u{feff}---\r\na: 1\r\n---\r\nbody", Some("a: 1\r\n")),
            ("---\na: 1\n--- \t\nbody", Some("a: 1\n")),
            ("---\n---\n", Some("")),
            ("---\na: 1\n---", Some("a: 1\n")),
            ("\n---\na: 1\n---\n", None),
            ("---\na: 1\n...\n", None),
            ("---\na: 1\n", None),
            ("----\na: 1\n----\n", None),
            ("--- # x\na: 1\n---\n", None),
            ("---", None),
            ("", None),
        ] {
            let found = FrontMatter::find(text);
            assert_eq!(found.as_ref().map(|found| &text[found.yaml.clone()]), yaml, "{text:?}");
            if let Some(found) = found {
                assert!(text[found.block.clone()].trim_end().ends_with("---"));
            }
        }
    }

    #[test]
    fn paths_tie_a_rule_unless_they_match_everything() {
        for (paths, ties) in [
            ("paths: src/**", true),
            ("paths: \"src/**, lib/**\"", true),
            ("paths:\n  - \"src/**\"", true),
            ("paths: [\"**\", 'a/*.ts']", true),
            ("paths:\n  - \"**/*\"", true),
            ("paths:", false),
            ("paths: \"**\"", false),
            ("paths: []", false),
            ("globs: src/**", false),
        ] {
            assert_eq!(tied_to_paths(&format!("---\n{paths}\n---\nrule")), ties, "{paths}");
        }
        assert!(!tied_to_paths("paths: src/**"));
    }
}
