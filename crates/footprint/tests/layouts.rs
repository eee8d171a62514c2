//! The laws, and whose the tools are, on request bodies in the layouts of real agents.
#![allow(clippy::expect_used, reason = "a test may fail")]

mod laws;

use deadweight_estimate::{Estimator, Tokens, estimator};
use deadweight_footprint::origin::{Origin, Origins};
use deadweight_footprint::request::{RequestFootprint, estimate, price};
use deadweight_profiles::by_id;
use deadweight_testkit::layouts::{Layout, Size, all};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use laws::Words;

fn dialect(layout: &Layout) -> Dialect {
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == layout.dialect).expect("the dialect is known")
}

fn footprint(layout: &Layout, by: &dyn Estimator, origins: &Origins) -> RequestFootprint {
    Parser::new().scope(layout.body.as_bytes(), |document| {
        let anatomy = Anatomy::read(document.expect("the body is JSON"), dialect(layout));
        let report = price(&anatomy, by, origins);
        assert_eq!(estimate(&anatomy, by), report.total.map(|total| total.tokens), "{}", layout.name);
        report
    })
}

const SIZES: [Size; 3] =
    [Size::SMALL, Size { tools: 0, turns: 0, text: 0 }, Size { tools: 40, turns: 12, text: 2_000 }];

#[test]
fn the_laws_hold_on_every_layout() {
    let calibrated = estimator("calibrated").expect("the default estimator is there");
    for layout in SIZES.into_iter().flat_map(all) {
        let report = footprint(&layout, &*calibrated, &Origins::new());
        laws::check(&report, &layout.body);
        let slices = report.slices;
        assert_eq!(slices.tools.tokens.get(), slices.tools.content_bytes * 2 / 9, "{}", layout.name);
        assert_eq!(slices.system.tokens.get(), slices.system.content_bytes * 4 / 15, "{}", layout.name);

        let words = footprint(&layout, &Words, &Origins::new());
        laws::check(&words, &layout.body);
        let tools = words.tools.iter().map(|tool| tool.tokens).sum::<Tokens<_>>() + words.namespaces.tokens;
        assert_eq!(words.slices.tools.tokens, tools, "{}", layout.name);
        // Who counts changes tokens and nothing else.
        assert_eq!(words.slices.history.content_bytes, slices.history.content_bytes, "{}", layout.name);
        assert_eq!(words.deferred.len(), report.deferred.len(), "{}", layout.name);
    }
}

/// A layout by its name, sent by the agent with this id. (The layouts' text is not the agents' own, so it cannot be
/// recognised.)
fn sent_by(name: &str, agent: &str) -> RequestFootprint {
    let layouts = all(Size { tools: 5, turns: 3, text: 300 });
    let layout = layouts.iter().find(|layout| layout.name == name).expect("the layout is there");
    let origins = Origins::new().with_profile(by_id(agent).expect("the agent is known"));
    footprint(layout, &*estimator("calibrated").expect("the default estimator is there"), &origins)
}

#[test]
fn tools_are_told_apart_by_the_agents_own_rules() {
    for (name, agent) in [
        ("claude_code", "claude-code"),
        ("codex_namespaces", "codex"),
        ("codex_additional_tools", "codex"),
        ("gemini_cli", "gemini-cli"),
    ] {
        let report = sent_by(name, agent);
        let mcp = report.tools.iter().filter(|tool| matches!(tool.origin, Origin::Mcp { .. })).count();
        assert_eq!(mcp, 5, "{name}: {:?}", report.origins);
        assert!(report.tools.len() > 5, "{name}: the agent's own tools are there too");
        assert!(
            report.tools.iter().all(|tool| tool.origin != Origin::Unknown),
            "{name}: {:?}",
            report.origins
        );
    }
}

#[test]
fn a_client_that_searches_for_tools_pays_for_what_it_found() {
    let eager = sent_by("claude_code", "claude-code");
    let searching = sent_by("claude_code_tool_search", "claude-code");
    assert!(searching.slices.tools.tokens < eager.slices.tools.tokens);
    assert!(searching.tools.iter().filter(|tool| tool.deferred).count() > 0, "what was found is read");
    assert!(
        searching.standing.parts.iter().any(|part| part.kind == "tool_names"),
        "{:?}",
        searching.standing
    );
}
