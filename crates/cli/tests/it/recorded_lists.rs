//! Recorded `tools/list` results through the whole command: every figure of the table beside them, and every tool's
//! tokens against a second, independent tokenizer.

use crate::sandbox::{Sandbox, shared};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;

/// One line of the table: tools, bytes of descriptions, of input schemas, of output schemas, of annotations, of all
/// that is priced, and its o200k tokens.
fn table(folder: &Path) -> BTreeMap<String, [u64; 7]> {
    let text = std::fs::read_to_string(folder.join("SOURCES.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let figures: Option<Vec<u64>> = cells.get(2..)?.iter().map(|cell| cell.parse().ok()).collect();
        Some(((*cells.first()?).to_owned(), figures?.try_into().ok()?))
    };
    text.lines().filter_map(row).collect()
}

#[derive(serde::Deserialize)]
struct List {
    tools: Vec<Tool>,
}

#[derive(serde::Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    /// The recorded lists are compact JSON.
    #[serde(rename = "inputSchema")]
    schema: Box<RawValue>,
}

/// What the second tokenizer counts for each tool of a file, by server and name.
fn counted(folder: &Path, file: &str) -> BTreeMap<(String, String), u64> {
    let text = std::fs::read_to_string(folder.join(format!("{file}.json"))).unwrap();
    let list: List = serde_json::from_str(&text).unwrap();
    let oracle = tiktoken_rs::o200k_base_singleton();
    let count = |tool: Tool| {
        let text = format!("{}\n{}\n{}", tool.name, tool.description, tool.schema.get());
        ((file.to_owned(), tool.name), oracle.encode_ordinary(&text).len() as u64)
    };
    list.tools.into_iter().map(count).collect()
}

#[test]
fn every_figure_of_the_recorded_lists_is_printed() {
    let Some(folder) = shared().map(|shared| shared.join("toolslist")) else {
        println!("skipped: no recorded tool lists on this machine (set DEADWEIGHT_SHARED)");
        return;
    };
    let table = table(&folder);
    assert_eq!(table.len(), 14, "the table was not understood");
    let files: Vec<String> =
        table.keys().map(|file| folder.join(format!("{file}.json")).to_str().unwrap().to_owned()).collect();
    let mut args = vec!["footprint", "--json", "--estimator", "o200k"];
    args.extend(files.iter().map(String::as_str));
    let output = Sandbox::new().command(&args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();

    let number = |value: &Value| value.as_u64().unwrap();
    let servers = report["servers"].as_array().unwrap();
    let printed: BTreeMap<String, [u64; 7]> = servers
        .iter()
        .map(|server| {
            let figures = [
                &server["tool_count"],
                &server["description_bytes"],
                &server["schema_bytes"],
                &server["served"]["output_schema"]["bytes"],
                &server["served"]["annotations"]["bytes"],
                &server["bytes"],
                &server["tokens"],
            ];
            (server["server"].as_str().unwrap().to_owned(), figures.map(number))
        })
        .collect();
    assert_eq!(printed, table);
    let sum = |column: usize| table.values().map(|figures| figures[column]).sum::<u64>();
    let totals = ["tool_count", "floor_bytes", "floor_tokens", "shown"].map(|name| number(&report[name]));
    assert_eq!(totals, [sum(0), sum(5), sum(6), sum(0)]);

    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tools = report["tools"].as_array().unwrap();
    let printed: BTreeMap<(String, String), u64> = tools
        .iter()
        .map(|tool| ((text(&tool["server"]), text(&tool["name"])), number(&tool["tokens"])))
        .collect();
    let counted: BTreeMap<_, _> = table.keys().flat_map(|file| counted(&folder, file)).collect();
    assert_eq!(printed.len() as u64, sum(0));
    assert_eq!(printed, counted);
}
