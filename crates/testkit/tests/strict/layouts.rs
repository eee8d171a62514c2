//! The layouts of real agents pass, save where they stand for something that only a provider with a past can know.

use std::time::Duration;

use deadweight_testkit::layouts::{Size, all};
use deadweight_testkit::strict::{Judge, Request, Rule, Verdict};

/// Layouts that a provider who has seen nothing yet refuses, and why.
const REFUSED: &[(&str, Rule)] = &[
    // Signatures that nobody made.
    ("thinking_anthropic", Rule::ForgedSignature),
    ("gemini_cli", Rule::GeminiForged),
    ("code_assist", Rule::GeminiForged),
    ("cached_content_gemini", Rule::GeminiForged),
    // Its beta is a header, and headers are no part of a layout.
    ("inline_tool_anthropic", Rule::ToolChangeBeta),
    // Not a request for a turn.
    ("compaction_responses", Rule::Path),
    // They continue what was never begun.
    ("previous_response", Rule::Shape),
    ("stored_responses", Rule::Shape),
    ("websocket_frame", Rule::Shape),
    ("websocket_frame_nested", Rule::Shape),
    // A response among other parts, to no call.
    ("media_gemini", Rule::GeminiResponseOrder),
];

#[test]
fn layouts_of_real_agents_are_accepted() {
    for layout in all(Size { tools: 12, turns: 5, text: 2_000 }) {
        let request =
            Request { path: layout.path, headers: &[], body: layout.body.as_bytes(), at: Duration::ZERO };
        let verdict = Judge::default().judge(request);
        let expected = REFUSED.iter().find(|(name, _)| *name == layout.name).map(|(_, rule)| *rule);
        assert_eq!(verdict.refusal().map(|refusal| refusal.rule), expected, "{}: {verdict:?}", layout.name);
        if let Verdict::Accepted(accepted) = verdict {
            assert!(accepted.usage.prompt() > 0, "{}: {:?}", layout.name, accepted.usage);
        }
    }
}
