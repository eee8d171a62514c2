//! Any JSON read as a request of each dialect, and priced: bytes add up, and nothing panics.

#![no_main]

use deadweight_estimate::{Estimator, estimator};
use deadweight_footprint::origin::Origins;
use deadweight_footprint::request::{estimate, price};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Slice};
use deadweight_wire::json::{Document, Parser};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static ESTIMATORS: LazyLock<Vec<Box<dyn Estimator>>> =
    LazyLock::new(|| ["calibrated", "chars4"].map(|name| estimator(name).expect("it is known")).into());

fuzz_target!(|bytes: &[u8]| {
    Parser::new().scope(bytes, |document| {
        let Ok(document) = document else { return };
        let _ = Dialect::of_shape(document);
        for dialect in Dialect::ALL {
            check(document, dialect);
        }
    });
});

fn check(document: Document<'_, '_>, dialect: Dialect) {
    let anatomy = Anatomy::read(document, dialect);
    assert_eq!(anatomy.body_bytes, document.bytes().len());
    let runs: usize = anatomy.runs.iter().map(|(_, span)| span.len()).sum();
    assert_eq!(runs + anatomy.envelope_bytes(), anatomy.body_bytes);
    for pair in anatomy.runs.windows(2) {
        assert!(pair[0].1.end() <= pair[1].1.start(), "runs overlap or are out of order");
    }
    let within = |slice: Slice, start: usize, end: usize| {
        anatomy.runs.iter().any(|(own, run)| *own == slice && run.start() <= start && end <= run.end())
    };
    for tool in &anatomy.tools {
        let span = tool.value.span();
        assert!(within(Slice::Tools, span.start(), span.end()), "a tool lies outside of the tools");
    }
    for block in &anatomy.system {
        let span = block.value.span();
        assert!(within(Slice::System, span.start(), span.end()), "a system block lies outside of the system");
    }
    for (_, block) in anatomy.blocks() {
        for value in block.content.iter() {
            let (outer, inner) = (block.value.span(), value.span());
            assert!(
                outer.start() <= inner.start() && inner.end() <= outer.end(),
                "content outside of its block"
            );
        }
        for inner in &block.inner {
            let _ = block.inner_content(inner);
        }
    }
    let _ = anatomy.marks().count();

    for estimator in ESTIMATORS.iter() {
        let report = price(&anatomy, estimator.as_ref(), &Origins::new());
        let slices = [report.slices.system, report.slices.tools, report.slices.history, report.slices.tail];
        let wire: u64 = slices.iter().map(|slice| slice.wire_bytes).sum();
        assert_eq!(wire + report.envelope_bytes, report.body_bytes);
        let tools: u64 = report.tools.iter().map(|tool| tool.content_bytes).sum();
        let tools = tools + report.namespaces.content_bytes;
        assert_eq!(tools, report.slices.tools.content_bytes, "tools do not add up");
        let total = report.total.map(|total| total.tokens);
        assert_eq!(
            estimate(&anatomy, estimator.as_ref()),
            total,
            "an estimate is the total of the footprint"
        );
        for (name, slice) in [("system", slices[0]), ("history", slices[2]), ("tail", slices[3])] {
            let blocks = report.blocks.iter().filter(|block| block.slice == name);
            assert_eq!(blocks.map(|block| block.content_bytes).sum::<u64>(), slice.content_bytes, "{name}");
        }
        assert_eq!(report.total.is_none(), report.delta.is_some(), "a delta has no total");
        if let Some(total) = report.total {
            assert_eq!(total.content_bytes, slices.iter().map(|slice| slice.content_bytes).sum::<u64>());
            assert_eq!(total.tokens, slices.iter().map(|slice| slice.tokens).sum());
            assert_eq!(report.floor.tokens, slices[0].tokens + slices[1].tokens);
        }
    }
}
