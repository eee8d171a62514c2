//! Real `tools/list` results, priced: every figure of the table beside them must come out exactly.
#![allow(clippy::expect_used, reason = "a test may fail")]

use deadweight_estimate::estimator;
use deadweight_footprint::catalogue::{Catalogue, CatalogueFootprint, Server, price};
use deadweight_wire::definition::listed;
use deadweight_wire::json::Parser;
use std::path::PathBuf;

/// The folder of recorded lists: `$DEADWEIGHT_SHARED`, or `../shared/data` beside the workspace.
fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let asked = std::env::var_os("DEADWEIGHT_SHARED").map(PathBuf::from);
    let roots = asked.iter().flat_map(|asked| [asked.clone(), asked.join("data")]).chain([root]);
    roots.map(|root| root.join("toolslist")).find(|folder| folder.join("SOURCES.md").is_file())
}

/// One line of the table in `SOURCES.md`: the file's stem, its tools, and its six figures.
struct Row {
    file: String,
    figures: [u64; 7],
}

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
            let figures: Option<Vec<u64>> = cells.get(2..)?.iter().map(|cell| cell.parse().ok()).collect();
            Some(Row { file: (*cells.first()?).to_owned(), figures: figures?.try_into().ok()? })
        })
        .collect()
}

fn tools(bytes: &[u8]) -> Vec<Vec<u8>> {
    Parser::new().scope(bytes, |document| {
        let root = document.expect("the file is JSON").root();
        let tools = listed(root).expect("the file is a list of tools");
        tools.iter().map(|tool| tool.raw().as_bytes().to_vec()).collect()
    })
}

fn footprint(row: &Row, folder: &std::path::Path, name: &str) -> CatalogueFootprint {
    let bytes = std::fs::read(folder.join(format!("{}.json", row.file))).expect("the file is there");
    let server = Server { label: row.file.clone(), tools: tools(&bytes), ..Server::default() };
    let catalogue = Catalogue { servers: vec![server], failures: Vec::new() };
    price(&catalogue, &*estimator(name).expect("the estimator is known"))
}

#[test]
fn every_figure_of_the_recorded_lists_comes_out() {
    let Some(folder) = folder() else {
        println!("skipped: the recorded lists are not on this machine (set DEADWEIGHT_SHARED)");
        return;
    };
    let table = std::fs::read_to_string(folder.join("SOURCES.md")).expect("SOURCES.md can be read");
    let rows = rows(&table);
    assert!(rows.len() >= 14, "the table was not understood: {} rows", rows.len());
    for row in &rows {
        let report = footprint(row, &folder, "calibrated");
        let [count, description, schema, output_schema, annotations, bytes, o200k] = row.figures;
        let got = [
            report.tool_count,
            report.descriptions.bytes,
            report.schemas.bytes,
            report.served.output_schema.bytes,
            report.served.annotations.bytes,
            report.floor_bytes,
        ];
        assert_eq!(got, [count, description, schema, output_schema, annotations, bytes], "{}", row.file);
        assert_eq!(report.floor_tokens.get(), bytes * 2 / 9, "{}", row.file);
        assert_eq!(report.anomalies, [], "{}", row.file);
        let exact = footprint(row, &folder, "o200k");
        assert_eq!(exact.floor_tokens.get(), o200k, "{}", row.file);
        let sum: u64 = exact.tools.iter().map(|tool| tool.tokens.get()).sum();
        assert_eq!(sum, o200k, "{}", row.file);
    }
}
