//! ARCHITECTURE.md is held to the workspace: every crate has its section, with all its parts, and depends on just those
//! crates of the workspace that its section names.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use xtask::{place, shell};

const PARTS: [&str; 5] = ["Depends on", "Holds", "Boundary", "Invariants", "Absent on purpose"];

/// Crates with which something is done in the world; the pure ones may stand on none of them.
const DOING: [&str; 9] = ["tokio", "hyper", "reqwest", "mio", "socket2", "rustix", "nix", "libc", "tempfile"];
const PURE: [&str; 11] = [
    "crates/wire",
    "crates/estimate",
    "crates/profiles",
    "crates/footprint",
    "crates/lock",
    "crates/gate",
    "crates/search",
    "crates/cache",
    "crates/price",
    "crates/levers",
    "crates/present",
];

struct Package {
    name: String,
    /// Where it lies in the workspace, as in `crates/wire`.
    folder: String,
    /// What it is built from (development dependencies left out), workspace or not.
    needs: BTreeSet<String>,
}

fn packages() -> Vec<Package> {
    let mut metadata = shell::cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"]);
    let metadata: Value = serde_json::from_str(&shell::output(&mut metadata).unwrap()).unwrap();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let folder = manifest.parent().unwrap().strip_prefix(place::workspace().canonicalize().unwrap());
            Package {
                name: package["name"].as_str().unwrap().to_owned(),
                folder: folder.unwrap().to_str().unwrap().to_owned(),
                needs: package["dependencies"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|dependency| dependency["kind"] != "dev")
                    .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                    .collect(),
            }
        })
        .collect()
}

/// The text under each `` ## `folder` `` of ARCHITECTURE.md.
fn sections() -> BTreeMap<String, String> {
    let text = fs::read_to_string(place::workspace().join("ARCHITECTURE.md")).unwrap();
    text.split("\n## ")
        .filter_map(|section| {
            let (title, body) = section.split_once('\n')?;
            let folder = title.strip_prefix('`')?.strip_suffix('`')?;
            Some((folder.to_owned(), body.to_owned()))
        })
        .collect()
}

/// The text of one part of a section, as in `**Holds.** …`.
fn part<'s>(section: &'s str, part: &str) -> Option<&'s str> {
    let (_, rest) = section.split_once(&format!("**{part}.**"))?;
    Some(rest.split("\n**").next().unwrap_or(rest).trim())
}

#[test]
fn every_crate_has_its_section_with_all_parts() {
    let sections = sections();
    let folders: BTreeSet<String> = packages().into_iter().map(|package| package.folder).collect();
    assert_eq!(folders, sections.keys().cloned().collect(), "crates, and sections of ARCHITECTURE.md");
    for (folder, section) in &sections {
        for name in PARTS {
            assert!(part(section, name).is_some_and(|text| !text.is_empty()), "{folder}: no part `{name}`");
        }
    }
}

#[test]
fn a_crate_depends_on_just_those_that_its_section_names() {
    let sections = sections();
    let packages = packages();
    let folder_of: BTreeMap<&str, &str> =
        packages.iter().map(|package| (package.name.as_str(), package.folder.as_str())).collect();
    for Package { folder, needs, .. } in &packages {
        let named: BTreeSet<&str> =
            part(&sections[folder], "Depends on").unwrap().split('`').skip(1).step_by(2).collect();
        let needs: BTreeSet<&str> = needs
            .iter()
            .filter_map(|need| folder_of.get(need.as_str()))
            .map(|need| need.trim_start_matches("crates/"))
            .collect();
        assert_eq!(needs, named, "{folder}: what it depends on, and what its section names");
    }
}

#[test]
fn the_pure_crates_stand_on_nothing_that_touches_the_world() {
    for package in packages().iter().filter(|package| PURE.contains(&package.folder.as_str())) {
        for doing in DOING {
            assert!(!package.needs.contains(doing), "{} depends on {doing}", package.folder);
        }
    }
}

#[test]
fn nothing_that_ships_is_built_from_what_does_not() {
    for package in packages().iter().filter(|package| package.folder.starts_with("crates/")) {
        if package.folder != "crates/testkit" {
            assert!(
                !package.needs.contains("deadweight-testkit"),
                "{} is built from testkit",
                package.folder
            );
        }
        assert!(!package.needs.contains("xtask"), "{} is built from xtask", package.folder);
    }
}
