//! Memory files: `CLAUDE.md`, `AGENTS.md`, `GEMINI.md` and their kin, and what they import.

mod collect;
mod follow;

use crate::Search;
use crate::folders::{upward, walk};
use crate::names::absolute;
use collect::Collection;
use deadweight_footprint::memory::{Memory, tied_to_paths};
use deadweight_profiles::memory::{MEMORY, MemoryNames, MemoryRules, PlaceRoot};
use follow::Loading;
use std::path::{Path, PathBuf};

/// How deep below a folder of rules rules are looked for.
const RULES_DEPTH: u32 = 16;

/// Finds the memory files of every agent that is searched for, with what they import. Sorted by path; the same
/// files give the same answer.
pub fn discover(search: &Search) -> Memory {
    let mut found = Collection::new(search);
    for rules in MEMORY.iter().filter(|rules| search.wants(rules.agent)) {
        let mut loading = Loading::new(rules, search, &mut found);
        for place in rules.places {
            let (folders, of_user) = match place.value.root {
                PlaceRoot::Home => (search.home.iter().cloned().collect(), true),
                PlaceRoot::Personal if !search.personal => continue,
                PlaceRoot::Project | PlaceRoot::Personal => {
                    let mut folders = upward(&search.root, search.above.then_some(rules.climb.value));
                    folders.reverse();
                    (folders, false)
                }
            };
            for path in at_place(place.value.what, &folders, &mut loading) {
                loading.start(&path, of_user);
            }
        }
    }
    found.finish()
}

/// One memory file, with what it imports, loaded as the agents load it that read files of its name; a file of any
/// other name as Claude Code loads one.
pub fn of_file(path: impl AsRef<Path>, search: &Search) -> Memory {
    let path = absolute(path.as_ref());
    let mut found = Collection::new(search);
    for rules in readers_of(&path).into_iter().filter(|rules| search.wants(rules.agent)) {
        let of_user = search.home.as_ref().is_some_and(|home| {
            path.starts_with(home)
                && rules.places.iter().any(|place| {
                    place.value.root == PlaceRoot::Home
                        && names(place.value.what).iter().any(|name| home.join(name) == path)
                })
        });
        Loading::new(rules, search, &mut found).start(&path, of_user);
    }
    found.finish()
}

/// The agents that read files of this name.
fn readers_of(path: &Path) -> Vec<&'static MemoryRules> {
    let by_name: Vec<&MemoryRules> = MEMORY
        .iter()
        .filter(|rules| {
            // The first names of a place are its own; opencode's later ones are other agents' files.
            let own = rules.places.iter().flat_map(|place| match place.value.what {
                MemoryNames::FirstAnywhere(names) => names.get(..1).unwrap_or_default(),
                _ if rules.agent == "opencode" => &[],
                other => names(other),
            });
            own.into_iter().any(|name| Path::new(name).file_name() == path.file_name())
        })
        .collect();
    if by_name.is_empty() { MEMORY.iter().take(1).collect() } else { by_name }
}

const fn names(what: MemoryNames) -> &'static [&'static str] {
    match what {
        MemoryNames::First(names) | MemoryNames::FirstAnywhere(names) => names,
        MemoryNames::Rules(_) => &[],
    }
}

/// The files that an agent reads at a place, in the order in which it reads them.
fn at_place(what: MemoryNames, folders: &[PathBuf], loading: &mut Loading<'_, '_>) -> Vec<PathBuf> {
    let first = |folder: &PathBuf, names: &[&str], loading: &mut Loading<'_, '_>| {
        names.iter().map(|name| folder.join(name)).find(|path| loading.exists(path))
    };
    match what {
        MemoryNames::First(names) => {
            folders.iter().filter_map(|folder| first(folder, names, loading)).collect()
        }
        MemoryNames::FirstAnywhere(names) => names
            .iter()
            .map(|name| folders.iter().filter_map(|folder| first(folder, &[name], loading)).collect())
            .find(|found: &Vec<PathBuf>| !found.is_empty())
            .unwrap_or_default(),
        MemoryNames::Rules(name) => {
            let mut rules = Vec::new();
            for folder in folders {
                let is_rule = |path: &Path| path.extension().is_some_and(|ending| ending == "md");
                let walk = walk(&folder.join(name), RULES_DEPTH, &is_rule, true);
                walk.unread.into_iter().for_each(|(path, reason)| loading.unread(&path, reason));
                rules.extend(
                    walk.files.into_iter().filter(|path| !loading.text(path).is_some_and(tied_to_paths)),
                );
            }
            rules
        }
    }
}
