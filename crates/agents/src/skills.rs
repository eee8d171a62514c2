//! Skills: folders with a `SKILL.md`, in a project, in a user's home, in plugins.

use crate::Search;
use crate::folders::{entries, upward, walk};
use crate::names::absolute;
use crate::read::{self, Text};
use deadweight_footprint::memory::{Memory, Skill, SkillOddity, SkillSource, Unread};
use deadweight_profiles::memory::{PLUGIN_MANIFEST, PlaceRoot, SKILLS, SkillListing, skills_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// Where a marketplace says which plugins it has, beside a plugin's own manifest.
const MARKETPLACE: &str = ".claude-plugin/marketplace.json";
/// The agent that has plugins.
const PLUGINS_OF: &str = "claude-code";

/// Finds the skills of every agent that is searched for, and those of plugins that the project itself holds (which
/// whoever installs the plugin carries). Sorted by path; the same files give the same answer.
pub fn discover(search: &Search) -> Memory {
    let mut found = Found::new(search);
    for rules in SKILLS.iter().filter(|rules| search.wants(rules.agent)) {
        for place in rules.places {
            let folders = match place.value.root {
                PlaceRoot::Home => search.home.iter().cloned().collect(),
                PlaceRoot::Project | PlaceRoot::Personal => {
                    upward(&search.root, search.above.then_some(rules.climb))
                }
            };
            for folder in folders {
                found.folder(&folder.join(place.value.path), place.value.depth, rules.agent, None);
            }
        }
    }
    if search.wants(PLUGINS_OF) {
        found.plugins(&search.root);
    }
    found.finish()
}

/// The skills at a target: a `SKILL.md`, its folder, a folder of such folders, a plugin. Nothing when it is none of
/// these.
pub fn at(path: impl AsRef<Path>, search: &Search) -> Option<Memory> {
    let path = absolute(path.as_ref());
    let mut found = Found::new(search);
    let folder =
        if path.file_name().is_some_and(|name| name == FILE) { path.parent()?.to_owned() } else { path };
    if folder.join(FILE).exists() {
        // Whoever finds the folder it lies in finds it too.
        for agent in finders(folder.parent()?) {
            found.file(&folder.join(FILE), agent, None);
        }
    } else if folder.join(PLUGIN_MANIFEST.value).exists() || folder.join(MARKETPLACE).exists() {
        found.plugins(&folder);
    } else {
        for agent in finders(&folder) {
            found.folder(&folder, 1, agent, None);
        }
    }
    let found = found.finish();
    (!found.skills.is_empty() || !found.unread.is_empty()).then_some(found)
}

/// The agents that look for skills in a folder of this name; Claude Code where none does.
fn finders(folder: &Path) -> Vec<&'static str> {
    let by_name: Vec<&str> = SKILLS
        .iter()
        .filter(|rules| rules.places.iter().any(|place| folder.ends_with(place.value.path)))
        .map(|rules| rules.agent)
        .collect();
    if by_name.is_empty() { vec![PLUGINS_OF] } else { by_name }
}

struct Found<'s> {
    search: &'s Search,
    skills: BTreeMap<PathBuf, Finding>,
    unread: BTreeMap<PathBuf, String>,
}

/// A skill's file and who came upon it.
struct Finding {
    text: String,
    plugin: Option<String>,
    agents: Vec<&'static str>,
}

impl<'s> Found<'s> {
    const fn new(search: &'s Search) -> Self {
        Self { search, skills: BTreeMap::new(), unread: BTreeMap::new() }
    }

    /// The skills up to `depth` folders below a folder.
    fn folder(&mut self, folder: &Path, depth: u32, agent: &'static str, plugin: Option<&str>) {
        let is_skill = |path: &Path| {
            path.file_name().is_some_and(|name| name == FILE)
                && path.parent().is_some_and(|own| own != folder)
        };
        let walk = walk(folder, depth, &is_skill, depth == 1);
        self.unread.extend(walk.unread);
        for file in walk.files {
            self.file(&file, agent, plugin);
        }
    }

    fn file(&mut self, path: &Path, agent: &'static str, plugin: Option<&str>) {
        if !self.search.wants(agent) {
            return;
        }
        if let Some(known) = self.skills.get_mut(path) {
            if !known.agents.contains(&agent) {
                known.agents.push(agent);
            }
            return;
        }
        match read::text(path) {
            Text::Here(text) => {
                let finding = Finding { text, plugin: plugin.map(str::to_owned), agents: vec![agent] };
                self.skills.insert(path.to_owned(), finding);
            }
            Text::Missing => {}
            Text::Unreadable(reason) => {
                self.unread.insert(path.to_owned(), reason);
            }
        }
    }

    /// What is listed of a skill, and by whom: the first agent that lists it says how; those that do not list it
    /// are left out, unless none does.
    fn skill(&self, path: &Path, finding: Finding) -> SkillSource {
        let skill = Skill::read(&finding.text);
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut shown = None;
        let mut listing = Vec::new();
        for agent in &finding.agents {
            let how = skills_of(agent).map_or(SkillListing::Plain, |rules| rules.listing.value);
            if let Some(as_shown) = skill.shown(&folder, finding.plugin.as_deref(), how) {
                shown.get_or_insert(as_shown);
                listing.push(*agent);
            }
        }
        let mut oddities = skill.oddities;
        if shown.as_ref().is_some_and(|shown| shown.cut) {
            oddities.push(SkillOddity::Cut);
        }
        let (path, in_project) = self.search.name(path);
        SkillSource {
            path,
            in_project,
            plugin: finding.plugin,
            agents: if listing.is_empty() { finding.agents } else { listing },
            shown,
            file_bytes: finding.text.len() as u64,
            oddities,
        }
    }

    /// The skills of the plugin at a folder, and of the plugins in it that a marketplace there names.
    fn plugins(&mut self, root: &Path) {
        self.plugin(root);
        let Some(marketplace) = self.json(&root.join(MARKETPLACE)) else { return };
        for plugin in marketplace.get("plugins").and_then(Value::as_array).into_iter().flatten() {
            // A plugin from elsewhere has an object here.
            if let Some(folder) =
                plugin.get("source").and_then(Value::as_str).and_then(|path| below(root, path))
            {
                let own = folder.join(PLUGIN_MANIFEST.value);
                match plugin.get("name").and_then(Value::as_str).filter(|_| !own.exists()) {
                    Some(name) => self.folder(&folder.join("skills"), 1, PLUGINS_OF, Some(name)),
                    None => self.plugin(&folder),
                }
            }
        }
    }

    /// The skills of one plugin: those in `skills`, and in the folders that its manifest names beside it.
    fn plugin(&mut self, folder: &Path) {
        let Some(manifest) = self.json(&folder.join(PLUGIN_MANIFEST.value)) else { return };
        let name = manifest.get("name").and_then(Value::as_str).map(str::to_owned);
        let name = name.or_else(|| folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        self.folder(&folder.join("skills"), 1, PLUGINS_OF, name.as_deref());
        let more = match manifest.get("skills") {
            Some(Value::String(path)) => vec![path.as_str()],
            Some(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for more in more.into_iter().filter_map(|path| below(folder, path)) {
            self.folder(&more, 1, PLUGINS_OF, name.as_deref());
            self.file(&more.join(FILE), PLUGINS_OF, name.as_deref());
        }
    }

    /// A JSON file; what is there and is none is told.
    fn json(&mut self, path: &Path) -> Option<Value> {
        let reason = match read::text(path) {
            Text::Here(text) => match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
                Ok(value) => return Some(value),
                Err(error) => format!("it is not JSON: {error}"),
            },
            Text::Missing => return None,
            Text::Unreadable(reason) => reason,
        };
        self.unread.insert(path.to_owned(), reason);
        None
    }

    fn finish(mut self) -> Memory {
        let mut found = Memory::default();
        for (path, finding) in std::mem::take(&mut self.skills) {
            found.skills.push(self.skill(&path, finding));
        }
        found.unread.extend(self.unread.iter().map(|(path, reason)| {
            let (path, in_project) = self.search.name(path);
            Unread { path, in_project, reason: reason.clone() }
        }));
        found.skills.sort_by(|a, b| a.path.cmp(&b.path));
        found.unread.sort();
        found
    }
}

/// A path that a manifest names, if it stays below the manifest's folder.
fn below(folder: &Path, path: &str) -> Option<PathBuf> {
    Some(absolute(&folder.join(path))).filter(|whole| whole.starts_with(folder))
}

/// Whether a folder is one of skills, a skill or a plugin: has a `SKILL.md` in it or in a folder below it.
pub fn is_folder_of_skills(folder: impl AsRef<Path>) -> bool {
    let folder = folder.as_ref();
    folder.join(FILE).is_file()
        || folder.join(PLUGIN_MANIFEST.value).is_file()
        || entries(folder).is_ok_and(|entries| entries.iter().any(|entry| entry.join(FILE).is_file()))
}
