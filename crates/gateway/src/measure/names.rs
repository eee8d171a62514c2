//! Whose the tools are that a proxy of ours shows: what it has written down of the names it gives them, so that nothing
//! has to be guessed from a name.

use deadweight_footprint::origin::formed_name;
use deadweight_profiles::ALL;
use deadweight_store::{Name, ToolLine};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The map from the names in requests to servers. Shared with whoever keeps it up to date.
#[derive(Debug, Clone, Default)]
pub struct NameMap(Arc<RwLock<HashMap<String, (String, String)>>>);

impl NameMap {
    /// Takes over what the proxies have written down, the newest first.
    pub fn set(&self, names: &[Name]) {
        let mut map = HashMap::with_capacity(names.len());
        let namings = || ALL.iter().filter_map(|profile| profile.naming.as_ref()).map(|fact| &fact.value);
        for name in names {
            for naming in namings() {
                // Agents with namespaces leave the tool's own name, and the namespace says whose it is.
                let formed = match naming.namespace {
                    true => in_namespace(&formed_name(naming, &name.entry, ""), &name.shown),
                    false => formed_name(naming, &name.entry, &name.shown),
                };
                map.entry(formed).or_insert_with(|| (name.server.clone(), name.tool.clone()));
            }
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = map;
    }

    /// Puts in whose a tool really is, where that is known.
    pub(super) fn resolve(&self, tool: &mut ToolLine) {
        let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if map.is_empty() {
            return;
        }
        let found = match tool.namespace.as_str() {
            "" => map.get(&tool.name),
            space => [space, &format!("{space}__")]
                .into_iter()
                .find_map(|space| map.get(&in_namespace(space, &tool.name))),
        };
        if let Some((server, own)) = found {
            tool.origin = deadweight_store::Origin::Mcp;
            tool.server.clone_from(server);
            tool.own_name.clone_from(own);
        }
    }
}

/// A key that no name has: names hold no line end.
fn in_namespace(space: &str, name: &str) -> String {
    format!("{space}\n{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_store::Origin;

    #[test]
    fn a_tool_of_an_aggregate_is_its_servers() {
        let map = NameMap::default();
        let name = |shown: &str, server: &str, tool: &str| Name {
            entry: "deadweight".to_owned(),
            client: String::new(),
            shown: shown.to_owned(),
            server: server.to_owned(),
            tool: tool.to_owned(),
            at_ms: 1,
        };
        map.set(&[name("github__create_issue", "github", "create_issue")]);
        let line = |name: &str, namespace: &str, server: &str| ToolLine {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            origin: Origin::Mcp,
            server: server.to_owned(),
            own_name: String::new(),
            bytes: 1,
            tokens: 1,
            description_tokens: 0,
            deferred: false,
        };
        for (shown, space) in [
            ("mcp__deadweight__github__create_issue", ""),
            ("deadweight_github__create_issue", ""),
            ("github__create_issue", "mcp__deadweight"),
            ("github__create_issue", "mcp__deadweight__"),
        ] {
            let mut tool = line(shown, space, "deadweight");
            map.resolve(&mut tool);
            assert_eq!(
                (tool.server.as_str(), tool.own_name.as_str()),
                ("github", "create_issue"),
                "{shown} {space}"
            );
        }
        let mut other = line("mcp__deadweight__load_tool_schemas", "", "deadweight");
        map.resolve(&mut other);
        assert_eq!((other.server.as_str(), other.own_name.as_str()), ("deadweight", ""));
    }
}
