//! Public sets of requests with the tools that answer them, which lie beside the workspace and are not part of it.

#![allow(dead_code, unreachable_pub, reason = "each user needs its part, from where it is")]
#![allow(clippy::unwrap_used, reason = "a broken set is told by failing")]

use std::fs;
use std::path::{Path, PathBuf};

use deadweight_search::{Argument, Index, Tool, Weights};
use serde_json::Value;

pub const NAMES: [&str; 4] = ["mcpproxy-d1", "livemcpbench-steps", "livemcpbench-tasks", "stabletoolbench"];

/// What must hold of recall@5, by set and for their mean.
pub const LEAST: [f64; 4] = [0.78, 0.71, 0.35, 0.64];
pub const LEAST_MEAN: f64 = 0.69;

/// The same where a model of meaning has its say.
pub const LEAST_WITH_MODEL: [f64; 4] = [0.8, 0.81, 0.44, 0.67];
pub const LEAST_MEAN_WITH_MODEL: f64 = 0.75;

/// One set.
pub struct Set {
    pub name: &'static str,
    pub tools: Vec<Tool>,
    pub requests: Vec<Request>,
}

/// A request and the ids of the tools that answer it.
pub struct Request {
    pub text: String,
    pub gold: Vec<String>,
}

pub fn folder() -> PathBuf {
    let shared = std::env::var_os("DEADWEIGHT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    shared.join("data/retrieval")
}

/// All sets; `None` where the folder is absent.
pub fn read() -> Option<Vec<Set>> {
    let folder = folder();
    folder.is_dir().then(|| NAMES.map(|name| set(&folder, name)).into())
}

fn set(folder: &Path, name: &'static str) -> Set {
    let text = fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
    let set: Value = serde_json::from_str(&text).unwrap();
    let requests = set["queries"].as_array().unwrap().iter().map(|query| Request {
        text: string(&query["query"]),
        gold: query["gold"].as_array().unwrap().iter().map(string).collect(),
    });
    Set {
        name,
        tools: set["tools"].as_array().unwrap().iter().map(tool).collect(),
        requests: requests.collect(),
    }
}

fn tool(tool: &Value) -> Tool {
    let arguments = tool["inputSchema"]["properties"].as_object().into_iter().flatten();
    Tool {
        id: string(&tool["id"]),
        server: string(&tool["server"]),
        name: string(&tool["name"]),
        description: string(&tool["description"]),
        arguments: arguments
            .map(|(name, argument)| Argument {
                name: name.clone(),
                description: string(&argument["description"]),
            })
            .collect(),
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Set {
    pub fn index(&self) -> Index {
        self.index_with(Weights::default())
    }

    pub fn index_with(&self, weights: Weights) -> Index {
        let mut index = Index::with(weights);
        for tool in &self.tools {
            index.add(tool);
        }
        index
    }
}

/// The share of `gold` among the first `first` hits.
pub fn recall(hits: &[String], gold: &[String], first: usize) -> f64 {
    let found = hits.iter().take(first).filter(|hit| gold.contains(hit)).count();
    found as f64 / gold.len().max(1) as f64
}

/// One over the place of the first hit that is right; 0 without one.
pub fn reciprocal_rank(hits: &[String], gold: &[String]) -> f64 {
    hits.iter().position(|hit| gold.contains(hit)).map_or(0.0, |place| 1.0 / (place + 1) as f64)
}

pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

pub fn ids(answer: &deadweight_search::Answer) -> Vec<String> {
    answer.hits.iter().map(|hit| hit.id.clone()).collect()
}
