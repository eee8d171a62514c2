//! No lever is inert on the layouts of the agents it is for.

use deadweight_levers::plan::{Action, plan};
use deadweight_levers::{Circumstances, Cold, Lever, Memory, Policy, StandDown, ToolRule};
use deadweight_testkit::layouts::{Size, all};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use std::collections::{BTreeMap, BTreeSet};

/// The first tool that is not deferred: it stands for the one by which originals are asked for.
fn some_tool(body: &[u8], dialect: Dialect) -> Option<String> {
    Parser::new().scope(body, |document| {
        let anatomy = Anatomy::read(document.ok()?, dialect);
        let tool = anatomy.tools.iter().find(|tool| !tool.deferred)?;
        Some(tool.name?.as_str()?.into_owned())
    })
}

#[test]
fn levers_fire_on_the_layouts_of_real_agents() {
    let mut policy =
        Policy { tools: ToolRule { deny: vec!["*e*e*".into()], allow: Vec::new() }, ..Policy::default() };
    (policy.thresholds.history, policy.thresholds.view) = (12_000, 6_000);
    let mut fired: BTreeMap<&str, BTreeSet<Lever>> = BTreeMap::new();
    let mut journals: BTreeMap<(&str, bool), Memory> = BTreeMap::new();
    // Where history gives way as a whole, no results are left to be cut: with and without that.
    for (turns, compacts) in (0..8).flat_map(|turns| [(turns, true), (turns, false)]) {
        policy.switches.insert(Lever::CompactHistory, compacts);
        for layout in all(Size { tools: 12, turns, text: 20_000 }) {
            let dialect = Dialect::of_name(layout.dialect).unwrap();
            let body = layout.body.as_bytes();
            let tool = some_tool(body, dialect);
            let own = Circumstances {
                cold: (turns > 5).then_some(Cold::Idle),
                model: Some("gemini-2.5-pro"),
                restore_tool: tool.as_deref(),
                ..Circumstances::default()
            };
            let journal = journals.entry((layout.name, compacts)).or_default();
            let outcome = plan(&mut Parser::new(), body, dialect, &policy, &own, journal);
            outcome.records.into_iter().for_each(|record| journal.take(record));
            let firing =
                outcome.actions.iter().filter(|action| action.decided > 0).map(|action| action.lever);
            fired.entry(layout.name).or_default().extend(firing.filter(|lever| *lever != Lever::Passthrough));
            let unproven = |action: &&Action| action.stood_down == Some(StandDown::Unproven);
            assert_eq!(outcome.actions.iter().find(unproven), None, "{}", layout.name);
        }
    }
    for (name, levers) in [
        ("claude_code", &[Lever::PruneTools, Lever::ElideResults, Lever::CompactHistory][..]),
        ("claude_code_tool_search", &[Lever::PruneTools, Lever::ElideResults]),
        ("opencode_anthropic", &[Lever::ElideResults]),
        ("aider", &[Lever::PlaceBreakpoints]),
        ("bedrock", &[Lever::PruneTools, Lever::PlaceBreakpoints]),
        ("vertex", &[Lever::PruneTools, Lever::PlaceBreakpoints]),
        ("compaction_anthropic", &[Lever::PlaceBreakpoints]),
        ("codex_namespaces", &[Lever::ElideResults]),
        ("codex_instructions", &[Lever::ElideResults, Lever::CompactHistory]),
        ("deferred_responses", &[Lever::PruneTools]),
        ("opencode_chat", &[Lever::PruneTools]),
        ("gemini_cli", &[Lever::ElideResults, Lever::CompactHistory]),
        ("code_assist", &[Lever::ElideResults]),
    ] {
        let own = fired.get(name).cloned().unwrap_or_default();
        assert!(levers.iter().all(|lever| own.contains(lever)), "{name}: {own:?}");
    }
}
