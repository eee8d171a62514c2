//! Reports as JSON. Their shapes are those of the report types; here is only what is printed of them.

use deadweight_footprint::catalogue::CatalogueFootprint;
use deadweight_footprint::memory::MemoryFootprint;
use deadweight_present::quote;
use serde::Serialize;
use serde_json::Value;

/// A catalogue. Where no server could be measured, the totals are not known: null rather than 0.
pub(crate) fn catalogue(report: &CatalogueFootprint, one_line: bool) -> String {
    if !report.servers.is_empty() {
        return text(report, one_line);
    }
    let mut value = serde_json::to_value(report).unwrap_or_default();
    for key in ["floor_bytes", "floor_tokens"] {
        if let Some(total) = value.get_mut(key) {
            *total = Value::Null;
        }
    }
    text(&value, one_line)
}

/// Memory files and skills. Where nothing could be read, the total is not known: null rather than 0.
pub(crate) fn memory(report: &MemoryFootprint, one_line: bool) -> String {
    if !(report.files.is_empty() && report.skills.is_empty()) {
        return text(report, one_line);
    }
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Some(total) = value.get_mut("total") {
        *total = Value::Null;
    }
    text(&value, one_line)
}

/// A report as text in which nothing acts on a terminal, with a line end; on one line where several reports follow each other.
pub(crate) fn text(report: &impl Serialize, one_line: bool) -> String {
    let text = if one_line { serde_json::to_string(report) } else { serde_json::to_string_pretty(report) };
    let mut out = quote::json(&text.unwrap_or_default());
    out.push('\n');
    out
}
