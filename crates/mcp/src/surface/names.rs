//! Under which names tools are listed.
//!
//! One server keeps its names. In an aggregate a tool is `label__tool`: characters that providers refuse are replaced, and
//! the name fits into 64 characters together with whatever any client puts before it. A name is a function of label and
//! tool alone, so that it stays when other tools come and go, and it is never taken apart again: there is a map back.

use deadweight_lock::Hash;

/// The longest name that providers take.
const LONGEST: usize = 64;

/// What stands between label and tool.
const BETWEEN: &str = "__";

/// Digits of the hash in a name that could not stay as it was, and the `_` before them.
const HASH: usize = 9;

/// No name is made shorter than this, even when the client's own prefix leaves less.
const SHORTEST: usize = 24;

/// Makes names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namer {
    aggregate: bool,
    room: usize,
}

impl Namer {
    /// For one server (`aggregate` is `false`), or for many behind one entry of the client's configuration.
    pub fn new(aggregate: bool, entry: &str) -> Self {
        Self { aggregate, room: room(entry) }
    }

    /// How many characters a name may have.
    pub fn limit(&self) -> usize {
        self.room.max(SHORTEST)
    }

    /// Whether names of that length fit beside what clients put before them.
    pub const fn fits(&self) -> bool {
        self.room >= SHORTEST
    }

    /// The name under which a tool is listed.
    pub fn shown(&self, label: &str, tool: &str) -> String {
        if !self.aggregate {
            return tool.to_owned();
        }
        let (safe_label, safe_tool) = (safe(label), safe(tool));
        let plain = format!("{safe_label}{BETWEEN}{safe_tool}");
        // The first `__` of a plain name ends its label: no two pairs have one plain name.
        let clear = !safe_label.is_empty() && !safe_label.contains(BETWEEN) && !safe_label.ends_with('_');
        if safe_label == label
            && safe_tool == tool
            && clear
            && !tool.is_empty()
            && plain.len() <= self.limit()
        {
            return plain;
        }
        let hash = Hash::of_text(&format!("{label}\0{tool}")).to_string();
        let digits: String = hash.rsplit(':').next().unwrap_or_default().chars().take(HASH - 1).collect();
        let room = self.limit().saturating_sub(HASH + BETWEEN.len());
        let label_room = room.saturating_sub(safe_tool.len()).max(room / 4).min(safe_label.len());
        let tool_room = room.saturating_sub(label_room).min(safe_tool.len());
        // Both are ASCII, so every place is a character's.
        let label_part = safe_label.get(..label_room).unwrap_or_default();
        let tool_part = safe_tool.get(..tool_room).unwrap_or_default();
        format!("{label_part}{BETWEEN}{tool_part}_{digits}")
    }
}

/// The characters that the most demanding client leaves: what it puts before a name, and what it takes at most.
/// Where it puts nothing known, `mcp__entry__` is assumed.
fn room(entry: &str) -> usize {
    let entry = entry.chars().count();
    let assumed = LONGEST.saturating_sub(entry + "mcp____".len());
    let known = deadweight_profiles::ALL.iter().filter_map(|profile| {
        let limit = profile.name_limit.map(|fact| fact.value);
        let chars = limit.map_or(LONGEST, |limit| limit.chars);
        let before = match (limit, profile.naming.map(|fact| fact.value)) {
            (Some(limit), _) if limit.bare => entry,
            (_, Some(naming)) => {
                let label = naming.label_max.map_or(entry, |most| entry.min(most));
                label + naming.prefix.len() + naming.separator.len()
            }
            _ => return None,
        };
        Some(chars.saturating_sub(before))
    });
    known.chain([assumed]).min().unwrap_or(assumed)
}

/// The text with every character that a provider refuses in a name replaced.
pub(crate) fn safe(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_ascii_alphanumeric() || "_-".contains(char) { char } else { '_' })
        .collect()
}

/// Whether providers take this name as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn one_server_keeps_its_names() {
        let namer = Namer::new(false, "deadweight");
        assert_eq!(namer.shown("git", "git.status/now"), "git.status/now");
        assert_eq!(namer.shown("git", &"x".repeat(200)), "x".repeat(200));
    }

    #[test]
    fn an_aggregate_qualifies_and_says_so_when_it_could_not() {
        let namer = Namer::new(true, "deadweight");
        assert_eq!(namer.limit(), 47);
        assert_eq!(namer.shown("github", "create_issue"), "github__create_issue");
        for (label, tool) in [
            ("a__b", "c"),
            ("a_", "b"),
            ("my server", "run"),
            ("s", "naïve"),
            ("", "x"),
            ("s", ""),
            ("averyveryverylonglabelforaserver", "and_a_very_long_name_for_a_tool_of_it"),
        ] {
            let shown = namer.shown(label, tool);
            assert!(shown.len() <= 47 && is_plain(&shown), "{shown}");
            assert_ne!(shown, format!("{label}__{tool}"));
        }
        assert_ne!(namer.shown("a__b", "c"), namer.shown("a", "b__c"));
        assert_ne!(namer.shown("a_", "b"), namer.shown("a", "_b"));
        assert_ne!(namer.shown("a b", "c"), namer.shown("a.b", "c"));
    }

    #[test]
    fn a_long_entry_leaves_short_names_and_never_none() {
        assert_eq!(Namer::new(true, "dw").limit(), 55);
        assert_eq!(Namer::new(true, &"e".repeat(100)).limit(), SHORTEST);
    }

    proptest! {
        #[test]
        fn names_fit_and_differ(pairs in prop::collection::btree_set((".{0,12}|[a_]{0,6}", ".{0,60}|[a_]{0,6}"), 0..40)) {
            let namer = Namer::new(true, "deadweight");
            let mut back = BTreeMap::new();
            for (label, tool) in pairs {
                let shown = namer.shown(&label, &tool);
                prop_assert!(shown.len() <= namer.limit() && is_plain(&shown), "{shown}");
                prop_assert_eq!(&shown, &namer.shown(&label, &tool));
                prop_assert_eq!(back.insert(shown, (label, tool)), None);
            }
        }
    }
}
