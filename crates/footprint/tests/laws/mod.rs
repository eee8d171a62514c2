//! What holds of every request's footprint, and a tokenizer whose answers can be told by hand.

use deadweight_estimate::{Counting, Estimator, EstimatorId, TextCounter};
use deadweight_footprint::request::{Part, RequestFootprint};

/// Counts white-space separated words.
#[allow(dead_code, reason = "not every test that checks the laws counts words")]
pub(crate) struct Words;

impl TextCounter for Words {
    fn count(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }
}

impl Estimator for Words {
    fn id(&self) -> EstimatorId {
        EstimatorId::builtin("words", 1)
    }

    fn counting(&self) -> Counting<'_> {
        Counting::Text(&Words)
    }
}

/// Checks the laws of one report.
pub(crate) fn check(report: &RequestFootprint, body: &str) {
    let slices = &report.slices;
    let parts = [slices.system, slices.tools, slices.history, slices.tail];
    let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum::<u64>();
    assert_eq!(report.body_bytes, body.len() as u64);
    assert_eq!(sum(|part| part.wire_bytes) + report.envelope_bytes, report.body_bytes);
    assert_eq!(report.total.is_none(), report.delta.is_some(), "a delta, and nothing else, has no total");
    if let Some(total) = report.total {
        assert_eq!(total.wire_bytes, sum(|part| part.wire_bytes));
        assert_eq!(total.content_bytes, sum(|part| part.content_bytes));
        assert_eq!(total.tokens.get(), sum(|part| part.tokens.get()));
    }
    assert_eq!(report.floor.tokens, slices.system.tokens + slices.tools.tokens);
    assert_eq!(report.floor.content_bytes, slices.system.content_bytes + slices.tools.content_bytes);
    let tools: u64 = report.tools.iter().map(|tool| tool.content_bytes).sum();
    assert_eq!(tools + report.namespaces.content_bytes, slices.tools.content_bytes);
    assert_eq!(report.origins.iter().map(|origin| origin.content_bytes).sum::<u64>(), tools);
    assert_eq!(report.origins.iter().map(|origin| origin.tool_count).sum::<u64>(), report.tools.len() as u64);
    for (name, slice) in [("system", slices.system), ("history", slices.history), ("tail", slices.tail)] {
        let blocks = report.blocks.iter().filter(|block| block.slice == name);
        assert_eq!(blocks.map(|block| block.content_bytes).sum::<u64>(), slice.content_bytes, "{name}");
    }
    assert!(report.standing.content_bytes <= slices.history.content_bytes + slices.tail.content_bytes);
    let images: u64 = report.images.iter().map(|image| image.tokens.get()).sum();
    assert!(images <= sum(|part| part.tokens.get()));
}
