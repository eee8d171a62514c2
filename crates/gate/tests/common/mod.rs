//! Measurements and locks made by hand.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use deadweight_estimate::calibrated;
use deadweight_gate::{Measured, MeasuredServer, Reason, Report, judge, update};
use deadweight_lock::{Hash, Lock, TextPrice, ToolPrice};

pub const BASIS: &str = "name + description + compact inputSchema";

/// A tool whose definition is told by its price.
pub fn tool(name: &str, bytes: u64, description_bytes: u64) -> (String, ToolPrice) {
    let hash = Hash::of_text(&format!("{name} {bytes} {description_bytes}"));
    (name.to_owned(), ToolPrice { bytes, description_bytes, tokens: None, description_tokens: None, hash })
}

pub fn text(bytes: u64) -> TextPrice {
    TextPrice { bytes, tokens: None, hash: Hash::of_text(&bytes.to_string()) }
}

pub fn server(label: &str, tools: Vec<(String, ToolPrice)>) -> MeasuredServer {
    MeasuredServer { label: label.to_owned(), tools, ..MeasuredServer::default() }
}

pub fn measured(servers: Vec<MeasuredServer>) -> Measured {
    Measured { basis: BASIS.to_owned(), servers, ..Measured::default() }
}

/// One server `s` with these tools.
pub fn one(tools: Vec<(String, ToolPrice)>) -> Measured {
    measured(vec![server("s", tools)])
}

pub fn pinned(measured: &Measured) -> Lock {
    update(None, measured, "calibrated/1", None).unwrap().lock
}

pub fn held(lock: &Lock, measured: &Measured) -> Report {
    judge(lock, measured, &calibrated())
}

/// The reasons that refuse.
pub fn refusals(report: &Report) -> Vec<Reason> {
    report.refusals().filter_map(|check| check.reason).collect()
}

/// The reasons that warn.
pub fn warnings(report: &Report) -> Vec<Reason> {
    report.warnings().filter_map(|check| check.reason).collect()
}
