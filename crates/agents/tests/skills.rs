//! Skills found in folders made for the test.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says what is wrong by failing")]

mod common;

use common::{Place, unread};
use deadweight_agents::{Search, memory, skills};
use deadweight_estimate::estimator;
use deadweight_footprint::memory::{Memory, SkillOddity, price};

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# Body\n")
}

/// `path = text, agents` of every skill.
fn seen(found: &Memory) -> Vec<String> {
    found
        .skills
        .iter()
        .map(|skill| {
            let shown = skill.shown.as_ref().map_or_else(|| String::from("-"), |shown| shown.text());
            format!("{} = {shown} [{}]", skill.path, skill.agents.join(", "))
        })
        .collect()
}

fn project(place: &Place) -> Memory {
    skills::discover(&Search::of_project(place.path("p")))
}

#[test]
fn every_agent_finds_its_own() {
    let place = Place::new(&[]);
    for folder in [
        "p/.claude/skills/a",
        "p/.agents/skills/b",
        "p/.codex/skills/c",
        "p/.gemini/skills/d",
        "p/.qwen/skills/e",
        "p/.opencode/skills/f",
        "p/skills/g",
        "h/.claude/skills/h",
    ] {
        place.write(&format!("{folder}/SKILL.md"), &skill("n", "What."));
    }
    assert_eq!(
        seen(&project(&place)),
        [
            ".agents/skills/b/SKILL.md = n: What. [codex, opencode, gemini-cli, qwen-code]",
            ".claude/skills/a/SKILL.md = a (n): What. [claude-code, opencode]",
            ".codex/skills/c/SKILL.md = n: What. [codex]",
            ".gemini/skills/d/SKILL.md = n: What. [gemini-cli]",
            ".opencode/skills/f/SKILL.md = n: What. [opencode]",
            ".qwen/skills/e/SKILL.md = n: What. [qwen-code]",
        ]
    );
    let with_home = skills::discover(&Search::of_project(place.path("p")).with_home(place.path("h")));
    let last = with_home.skills.last().unwrap();
    assert_eq!((last.path.as_str(), last.in_project), ("~/.claude/skills/h/SKILL.md", false));
}

#[test]
fn only_a_folder_with_its_file_is_a_skill() {
    let place = Place::new(&[
        ("p/.claude/skills/flat.md", "---\ndescription: no\n---\n"),
        ("p/.claude/skills/SKILL.md", "---\ndescription: no\n---\n"),
        ("p/.claude/skills/low/skill.md", "---\ndescription: no\n---\n"),
        ("p/.claude/skills/group/inner/SKILL.md", "---\ndescription: deep\n---\n"),
        ("p/.claude/skills/empty/other.txt", "a"),
        ("p/.claude/skills/.hidden/SKILL.md", "---\ndescription: hid\n---\n"),
    ]);
    let found = skills::discover(&Search::of_project(place.path("p")).only(["claude-code"]));
    assert_eq!(seen(&found), [".claude/skills/.hidden/SKILL.md = .hidden: hid [claude-code]"]);
    // Codex and opencode go deeper, and leave hidden folders out.
    let found = skills::discover(&Search::of_project(place.path("p")).only(["opencode"]));
    assert_eq!(seen(&found), [".claude/skills/group/inner/SKILL.md = inner: deep [opencode]"]);
}

#[test]
fn what_is_not_listed_costs_nothing_and_is_there() {
    let place = Place::new(&[
        ("p/.claude/skills/a/SKILL.md", "---\ndescription: x\ndisable-model-invocation: true\n---\n"),
        ("p/.agents/skills/b/SKILL.md", "no front matter"),
    ]);
    // opencode lists what Claude Code hides.
    assert_eq!(seen(&project(&place))[1], ".claude/skills/a/SKILL.md = a: x [opencode]");
    let search = Search::of_project(place.path("p")).only(["claude-code", "codex"]);
    let found = skills::discover(&search);
    assert!(found.skills.iter().all(|skill| skill.shown.is_none()));
    let report = price(&found, estimator("calibrated").unwrap().as_ref());
    assert_eq!(report.skills.len(), 2);
    assert_eq!(report.total.bytes, 0);
    assert!(report.agents.is_empty());
}

#[test]
fn plugins_of_the_project() {
    let place = Place::new(&[
        ("p/.claude-plugin/plugin.json", r#"{"name": "own", "skills": ["./extra", "./one", "../outside"]}"#),
        ("p/skills/a/SKILL.md", &skill("a", "A.")),
        ("p/extra/b/SKILL.md", &skill("other", "B.")),
        ("p/one/SKILL.md", &skill("one", "C.")),
        ("outside/x/SKILL.md", &skill("x", "No.")),
        (
            "p/.claude-plugin/marketplace.json",
            r#"{"plugins": [{"name": "m", "source": "./plugins/m"}, {"name": "n", "source": "./plugins/n"},
                {"name": "far", "source": {"source": "github", "repo": "a/b"}}, {"name": "out", "source": "../outside"}]}"#,
        ),
        ("p/plugins/m/.claude-plugin/plugin.json", r#"{"name": "mm"}"#),
        ("p/plugins/m/skills/s/SKILL.md", &skill("s", "D.")),
        ("p/plugins/n/skills/t/SKILL.md", &skill("t", "E.")),
    ]);
    let found = project(&place);
    assert_eq!(
        seen(&found),
        [
            "extra/b/SKILL.md = own:b (own:other): B. [claude-code]",
            "one/SKILL.md = own:one: C. [claude-code]",
            "plugins/m/skills/s/SKILL.md = mm:s: D. [claude-code]",
            "plugins/n/skills/t/SKILL.md = n:t: E. [claude-code]",
            "skills/a/SKILL.md = own:a: A. [claude-code]",
        ]
    );
    assert_eq!(found.skills[0].plugin.as_deref(), Some("own"));
}

#[test]
fn what_cannot_be_read_is_told() {
    let place =
        Place::new(&[("p/.claude/skills/a/SKILL.md", ""), ("p/.claude-plugin/plugin.json", "{name: bad")]);
    place.bytes("p/.claude/skills/b/SKILL.md", b"---\ndescription: \xFF\n---\n");
    let found = project(&place);
    let told = unread(&found);
    assert!(told[0].starts_with(".claude-plugin/plugin.json: it is not JSON: "), "{told:?}");
    assert_eq!(told[1], ".claude/skills/b/SKILL.md: it is not UTF-8 (byte 17)");
    assert_eq!(found.skills[0].oddities, [SkillOddity::MissingFrontMatter, SkillOddity::MissingDescription]);
}

#[test]
fn a_target_is_a_skill_a_folder_of_them_or_a_plugin() {
    let place = Place::new(&[
        ("p/.claude/skills/a/SKILL.md", &skill("a", "A.")),
        ("p/.claude/skills/b/SKILL.md", &skill("b", "B.")),
        ("p/pack/c/SKILL.md", &skill("c", "C.")),
        ("p/plug/.claude-plugin/plugin.json", r#"{"name": "plug"}"#),
        ("p/plug/skills/d/SKILL.md", &skill("d", "D.")),
        ("p/empty/x.txt", ""),
    ]);
    let search = Search::of_project(place.path("p"));
    let at = |name: &str| skills::at(place.path(name), &search).map(|found| seen(&found));
    let a = "[claude-code, opencode]";
    assert_eq!(
        at("p/.claude/skills/a/SKILL.md").unwrap(),
        [format!(".claude/skills/a/SKILL.md = a: A. {a}")]
    );
    assert_eq!(at("p/.claude/skills/a"), at("p/.claude/skills/a/SKILL.md"));
    assert_eq!(at("p/.claude/skills").unwrap().len(), 2);
    assert_eq!(at("p/pack").unwrap(), ["pack/c/SKILL.md = c: C. [claude-code]"]);
    assert_eq!(at("p/plug").unwrap(), ["plug/skills/d/SKILL.md = plug:d: D. [claude-code]"]);
    assert_eq!(at("p/empty"), None);
    for (name, is) in
        [("p/.claude/skills", true), ("p/pack/c", true), ("p/plug", true), ("p/empty", false), ("p", false)]
    {
        assert_eq!(skills::is_folder_of_skills(place.path(name)), is, "{name}");
    }
}

#[test]
fn memory_and_skills_make_one_report() {
    let place = Place::new(&[
        ("p/CLAUDE.md", "# A\ntext\n"),
        ("p/.claude/skills/a/SKILL.md", &skill("a", "Does it.")),
    ]);
    let search = Search::of_project(place.path("p"));
    let found = memory::discover(&search).with(skills::discover(&search));
    let report = price(&found, estimator("chars4").unwrap().as_ref());
    assert_eq!((report.total.bytes, report.memory.bytes, report.skill_listings.bytes), (18, 9, 9));
    assert_eq!(report.agents[0].agent, "claude-code");
}

#[cfg(unix)]
#[test]
fn links_are_followed_once() {
    use std::os::unix::fs::symlink;
    let place = Place::new(&[
        ("elsewhere/a/SKILL.md", &skill("a", "A.")),
        ("p/.agents/skills/b/SKILL.md", &skill("b", "B.")),
    ]);
    symlink(place.path("elsewhere/a"), place.path("p/.agents/skills/a")).unwrap();
    symlink("..", place.path("p/.agents/skills/b/up")).unwrap();
    symlink("loop", place.path("p/.agents/skills/loop")).unwrap();
    let found = project(&place);
    assert_eq!(
        found.skills.iter().map(|skill| skill.path.as_str()).collect::<Vec<_>>(),
        [".agents/skills/a/SKILL.md", ".agents/skills/b/SKILL.md",]
    );
}
