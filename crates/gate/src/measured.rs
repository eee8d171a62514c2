//! What was measured, as the gate is told.

use deadweight_lock::{TextPrice, ToolKey, ToolPrice};
use std::collections::{BTreeMap, BTreeSet};

/// One measurement. The order of servers and tools in it does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// The fields that were counted, as the lock words them.
    pub basis: String,
    /// The servers that answered.
    pub servers: Vec<MeasuredServer>,
    /// The servers that did not.
    pub unmeasured: Vec<Unmeasured>,
    /// The skills by label or path; `None` when nobody looked.
    pub skills: Option<BTreeMap<String, TextPrice>>,
    /// The memory files by path; `None` when nobody looked.
    pub memory: Option<BTreeMap<String, TextPrice>>,
    /// The labels the run was narrowed to; `None` when every server of the lock had to be asked.
    pub only: Option<BTreeSet<String>>,
    /// Whether the targets are all there is, so that an update drops a server that is no longer among them.
    pub complete: bool,
}

/// One server that answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeasuredServer {
    /// Its label.
    pub label: String,
    /// What it is, without secrets.
    pub source: Option<String>,
    /// Its instructions.
    pub instructions: Option<TextPrice>,
    /// Its tools.
    pub tools: Vec<(String, ToolPrice)>,
}

/// One server that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmeasured {
    /// Its label.
    pub server: String,
    /// Why, in words for a person.
    pub reason: String,
}

impl Measured {
    /// Whether a server belongs to this run.
    pub(crate) fn in_scope(&self, label: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(label))
    }

    /// The labels of the servers that answered.
    pub(crate) fn labels(&self) -> BTreeSet<&str> {
        self.servers.iter().map(|server| server.label.as_str()).filter(|label| self.in_scope(label)).collect()
    }

    /// The tools by key. A name that a server lists more than once is told apart by a number (`name#2`), in
    /// the order of hashes, so that the order of the list does not matter.
    pub(crate) fn tools(&self) -> BTreeMap<ToolKey, ToolPrice> {
        let mut listed: Vec<(&str, &str, &ToolPrice)> = self
            .servers
            .iter()
            .filter(|server| self.in_scope(&server.label))
            .flat_map(|server| {
                server.tools.iter().map(|(name, price)| (server.label.as_str(), name.as_str(), price))
            })
            .collect();
        listed.sort_by_key(|(server, name, price)| {
            (*server, *name, price.hash, price.bytes, price.description_bytes)
        });
        let names: BTreeSet<(&str, &str)> = listed.iter().map(|(server, name, _)| (*server, *name)).collect();
        let mut out = BTreeMap::new();
        for (server, name, price) in listed {
            let mut key = ToolKey::new(server, name);
            let mut copy = 1;
            while out.contains_key(&key)
                || (copy > 1 && names.contains(&(key.server.as_str(), key.name.as_str())))
            {
                copy += 1;
                key.name = format!("{name}#{copy}");
            }
            out.insert(key, *price);
        }
        out
    }
}
