//! The data holds together.

use deadweight_profiles::{ALL, Fact, by_id};

/// Date and source of every fact of a profile, erased of its value.
fn provenance(profile: &deadweight_profiles::Profile) -> Vec<(&'static str, &'static str)> {
    fn of<T>(fact: &Fact<T>) -> (&'static str, &'static str) {
        (fact.date, fact.source)
    }
    let mut all = Vec::new();
    all.extend(profile.naming.as_ref().map(of));
    all.extend(profile.name_limit.as_ref().map(of));
    all.extend(profile.description_cut.as_ref().map(of));
    all.extend(profile.instructions_cut.as_ref().map(of));
    all.extend(profile.builtin_tools.as_ref().map(of));
    all.extend(profile.system_hints.iter().map(of));
    all.extend(profile.headers.iter().map(of));
    all.extend(profile.standing.iter().map(of));
    all.extend(profile.sections.iter().map(of));
    all.extend(profile.defers.as_ref().map(of));
    all.extend(profile.paging.as_ref().map(of));
    all.extend(profile.list_changed.as_ref().map(of));
    all.extend(profile.configs.iter().map(of));
    all
}

#[test]
fn every_fact_has_a_date_and_a_source() {
    for profile in ALL {
        for (date, source) in provenance(profile) {
            let parts: Vec<&str> = date.split('-').collect();
            assert!(matches!(parts.len(), 2 | 3), "{}: {date}", profile.id);
            assert!(parts.iter().all(|part| part.parse::<u16>().is_ok()), "{}: {date}", profile.id);
            assert!(source.len() > 10, "{}: {source}", profile.id);
        }
    }
}

#[test]
fn ids_are_unique_and_found() {
    for profile in ALL {
        assert_eq!(by_id(profile.id).map(|found| found.name), Some(profile.name));
        assert_eq!(ALL.iter().filter(|other| other.id == profile.id).count(), 1);
    }
    assert!(by_id("no-such-agent").is_none());
}

#[test]
fn markers_and_paths_are_usable() {
    for profile in ALL {
        for marker in profile.standing {
            assert!(!marker.value.open.is_empty());
            assert_ne!(marker.value.close, Some(""));
        }
        for hint in profile.system_hints {
            let owners =
                ALL.iter().filter(|other| other.system_hints.iter().any(|own| own.value == hint.value));
            assert_eq!(owners.count(), 1, "{}", hint.value);
        }
        for config in profile.configs {
            assert!(!config.value.path.starts_with('/') && !config.value.path.contains(".."));
        }
    }
}

#[test]
fn memory_and_skills_are_those_of_known_agents() {
    use deadweight_profiles::memory::{MEMORY, MemoryNames, PLUGIN_MANIFEST, SKILLS, memory_of, skills_of};
    fn sound<T>(fact: &Fact<T>) -> bool {
        fact.date.starts_with("202") && fact.source.len() > 10
    }
    fn inside(path: &str) -> bool {
        !path.is_empty() && !path.starts_with('/') && !path.contains("..")
    }
    assert!(sound(&PLUGIN_MANIFEST));
    for rules in MEMORY {
        assert!(by_id(rules.agent).is_some(), "{}", rules.agent);
        assert_eq!(memory_of(rules.agent).map(|found| found.places.len()), Some(rules.places.len()));
        assert!(sound(&rules.climb));
        assert!(rules.imports.as_ref().is_none_or(sound) && rules.leaves_out.as_ref().is_none_or(sound));
        if let Some(imports) = &rules.imports {
            assert!(imports.value.endings.is_sorted(), "{}", rules.agent);
        }
        for place in rules.places {
            assert!(sound(place));
            match place.value.what {
                MemoryNames::First(names) | MemoryNames::FirstAnywhere(names) => {
                    assert!(!names.is_empty() && names.iter().all(|name| inside(name)));
                }
                MemoryNames::Rules(folder) => assert!(inside(folder)),
            }
        }
    }
    for rules in SKILLS {
        assert!(by_id(rules.agent).is_some() && skills_of(rules.agent).is_some(), "{}", rules.agent);
        assert!(
            rules
                .places
                .iter()
                .all(|place| sound(place) && inside(place.value.path) && place.value.depth > 0)
        );
    }
}
