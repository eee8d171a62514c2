//! Whose a tool is: from the configuration where it is known, else from the agent's profile, else unknown.

use deadweight_profiles::{ALL, Naming, Profile};
use deadweight_wire::anatomy::Anatomy;
use serde::Serialize;
use std::collections::BTreeSet;

/// Whose a tool is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// The agent's own, or one that the provider runs for it.
    Builtin,
    /// An MCP server's.
    Mcp {
        /// The server's label; as the agent spells it when no configuration says it.
        server: String,
    },
    /// Not known.
    Unknown,
}

/// What is known about where tools come from.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    profile: Option<&'static Profile>,
    servers: Vec<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    label: String,
    tools: Option<BTreeSet<String>>,
}

impl Origins {
    /// Nothing known beyond what a request says itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent that sent the request.
    #[must_use]
    pub const fn with_profile(mut self, profile: &'static Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// A server of the agent's configuration, and its tools' own names when they are known.
    #[must_use]
    pub fn with_server(mut self, label: &str, tools: Option<Vec<String>>) -> Self {
        self.servers.push(Known { label: label.to_owned(), tools: tools.map(BTreeSet::from_iter) });
        self
    }

    /// The agent: the one that was named, else the one whose words the request's system prompt begins with.
    pub fn profile_of(&self, anatomy: &Anatomy<'_, '_>) -> Option<&'static Profile> {
        self.profile.or_else(|| recognise(anatomy))
    }

    /// Whose the tool `name` is. `namespace` and `server_type` are those of its definition.
    pub fn of(
        &self,
        profile: Option<&'static Profile>,
        name: &str,
        namespace: Option<&str>,
        server_type: Option<&str>,
    ) -> Origin {
        if server_type == Some("mcp") {
            // A server that the provider connects to; its entry is named by its label.
            return Origin::Mcp { server: name.to_owned() };
        }
        if let Some(server) = self.configured(profile, name, namespace) {
            return Origin::Mcp { server };
        }
        if server_type.is_some() {
            return Origin::Builtin;
        }
        profile.map_or_else(|| by_prefix(name, namespace), |profile| by_profile(profile, name, namespace))
    }

    /// The configured server that `name` belongs to: one whose tools are known first, else the longest label.
    fn configured(
        &self,
        profile: Option<&'static Profile>,
        name: &str,
        namespace: Option<&str>,
    ) -> Option<String> {
        let namings: Vec<&Naming> = match profile.and_then(|profile| profile.naming.as_ref()) {
            Some(naming) => vec![&naming.value],
            None => {
                ALL.iter().filter_map(|profile| profile.naming.as_ref()).map(|fact| &fact.value).collect()
            }
        };
        let belongs = |known: &&Known| {
            let own = |tool: &str| known.tools.as_ref().is_none_or(|tools| has(tools, tool));
            let label_only =
                profile.is_none() && known.tools.as_ref().is_some_and(|tools| tools.contains(name));
            label_only
                || namings.iter().any(|naming| {
                    let lead = lead(naming, &known.label);
                    match namespace {
                        Some(space) => {
                            space == known.label || (naming.namespace && space_is(space, naming, &lead))
                        }
                        None => {
                            name.strip_prefix(lead.as_str()).is_some_and(|rest| !rest.is_empty() && own(rest))
                        }
                    }
                })
        };
        let rank = |known: &&Known| (known.tools.is_some(), known.label.len());
        self.servers.iter().filter(belongs).max_by_key(rank).map(|known| known.label.clone())
    }
}

/// How much of a name a client that shortens it leaves standing at its beginning.
const KEPT_WHEN_SHORTENED: usize = 16;

/// Whether a server has the tool, its name perhaps shortened, or with characters replaced, by the client.
fn has(tools: &BTreeSet<String>, rest: &str) -> bool {
    let rest = replaced(rest, "_-.");
    tools.contains(&rest)
        || tools.iter().map(|tool| replaced(tool, "_-.")).any(|tool| {
            let head = rest.get(..KEPT_WHEN_SHORTENED);
            tool == rest || (tool.len() > rest.len() && head.is_some_and(|head| tool.starts_with(head)))
        })
}

/// What a naming puts before a tool's own name.
fn lead(naming: &Naming, label: &str) -> String {
    let mut label = replaced(label, naming.kept);
    if naming.lowercase_label {
        label.make_ascii_lowercase();
    }
    if let Some(max) = naming.label_max {
        label.truncate(max);
    }
    format!("{}{label}{}", naming.prefix, naming.separator)
}

/// The name under which an agent sends the tool `name` of the server `label`.
pub fn formed_name(naming: &Naming, label: &str, name: &str) -> String {
    format!("{}{}", lead(naming, label), replaced(name, naming.kept))
}

fn replaced(text: &str, kept: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || kept.contains(c);
    text.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}

/// Whether a namespace is that of a server; clients write it with and without the separator at its end.
fn space_is(space: &str, naming: &Naming, lead: &str) -> bool {
    space == lead || lead.strip_suffix(naming.separator) == Some(space)
}

/// The server in a name, by the naming's prefix and the first separator after it.
fn server_in<'n>(naming: &Naming, name: &'n str) -> Option<&'n str> {
    let rest = name.strip_prefix(naming.prefix)?;
    let (server, tool) = rest.split_once(naming.separator)?;
    (!naming.prefix.is_empty() && !server.is_empty() && !tool.is_empty()).then_some(server)
}

/// The server in a namespace.
fn server_of_space<'n>(naming: &Naming, space: &'n str) -> Option<&'n str> {
    let rest = space.strip_prefix(naming.prefix)?;
    let server = rest.strip_suffix(naming.separator).unwrap_or(rest);
    (!naming.prefix.is_empty() && !server.is_empty()).then_some(server)
}

fn by_profile(profile: &Profile, name: &str, namespace: Option<&str>) -> Origin {
    let naming = profile.naming.as_ref().map(|fact| &fact.value);
    if let Some(naming) = naming {
        let server = match namespace {
            Some(space) => server_of_space(naming, space),
            None => server_in(naming, name),
        };
        if let Some(server) = server {
            return Origin::Mcp { server: server.to_owned() };
        }
        let prefixed = namespace.unwrap_or(name).starts_with(naming.prefix);
        if naming.exclusive && !naming.prefix.is_empty() && !prefixed {
            return Origin::Builtin;
        }
    }
    let known = profile.builtin_tools.as_ref().is_some_and(|names| names.value.contains(&name));
    if known && namespace.is_none() { Origin::Builtin } else { Origin::Unknown }
}

/// Without a profile: `mcp__server__tool`, on which every agent that writes `mcp__` agrees.
fn by_prefix(name: &str, namespace: Option<&str>) -> Origin {
    let namings = || ALL.iter().filter_map(|profile| profile.naming.as_ref()).map(|fact| &fact.value);
    let doubled = |naming: &&Naming| naming.prefix == "mcp__" && naming.separator == "__";
    let server = match namespace {
        Some(space) => namings().filter(doubled).find_map(|naming| server_of_space(naming, space)),
        None => namings().filter(doubled).find_map(|naming| server_in(naming, name)),
    };
    server.map_or(Origin::Unknown, |server| Origin::Mcp { server: server.to_owned() })
}

/// How far into a system block a hint is looked for, in bytes of the body.
const HINT_REACH: usize = 600;
/// In how many blocks.
const HINT_BLOCKS: usize = 4;

/// The agent whose words stand near the beginning of the system prompt.
fn recognise(anatomy: &Anatomy<'_, '_>) -> Option<&'static Profile> {
    let heads: Vec<&[u8]> = anatomy
        .system
        .iter()
        .take(HINT_BLOCKS)
        .flat_map(|block| block.content.iter())
        .map(|value| value.raw().as_bytes())
        .map(|raw| raw.get(..HINT_REACH).unwrap_or(raw))
        .collect();
    let says = |hint: &str| heads.iter().any(|head| find(head, hint.as_bytes()));
    ALL.iter().copied().find(|profile| profile.system_hints.iter().any(|hint| says(hint.value)))
}

fn find(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_profiles::by_id;

    fn mcp(server: &str) -> Origin {
        Origin::Mcp { server: server.to_owned() }
    }

    #[test]
    fn a_profile_whose_mcp_tools_carry_a_prefix_tells_both_kinds() {
        let origins = Origins::new();
        let claude = by_id("claude-code");
        assert_eq!(origins.of(claude, "mcp__github__create_issue", None, None), mcp("github"));
        assert_eq!(origins.of(claude, "Bash", None, None), Origin::Builtin);
        assert_eq!(origins.of(claude, "mcp__odd", None, None), Origin::Unknown);
        let gemini = by_id("gemini-cli");
        assert_eq!(origins.of(gemini, "mcp_github_create_issue", None, None), mcp("github"));
        assert_eq!(origins.of(gemini, "run_shell_command", None, None), Origin::Builtin);
        let codex = by_id("codex");
        for space in ["mcp__github__", "mcp__github"] {
            assert_eq!(origins.of(codex, "create_issue", Some(space), None), mcp("github"));
        }
        assert_eq!(origins.of(codex, "mcp__github__create_issue", None, None), mcp("github"));
        assert_eq!(origins.of(codex, "exec_command", None, None), Origin::Builtin);
        assert_eq!(origins.of(codex, "spawn", Some("agents"), None), Origin::Builtin);
    }

    #[test]
    fn a_profile_without_a_prefix_claims_only_what_it_lists() {
        let origins = Origins::new();
        let opencode = by_id("opencode");
        assert_eq!(origins.of(opencode, "bash", None, None), Origin::Builtin);
        assert_eq!(origins.of(opencode, "github_create_issue", None, None), Origin::Unknown);
        let configured = origins.with_server("github", None);
        assert_eq!(configured.of(opencode, "github_create_issue", None, None), mcp("github"));
        assert_eq!(configured.of(opencode, "githubber_x", None, None), Origin::Unknown);
    }

    #[test]
    fn the_configuration_comes_before_the_name() {
        let claude = by_id("claude-code");
        let origins = Origins::new()
            .with_server("my", None)
            .with_server("my__db", Some(vec!["query".to_owned()]))
            .with_server("dots.and spaces", None);
        // Without configuration the first separator would have been taken.
        assert_eq!(origins.of(claude, "mcp__my__db__query", None, None), mcp("my__db"));
        assert_eq!(origins.of(claude, "mcp__my__other", None, None), mcp("my"));
        assert_eq!(origins.of(claude, "mcp__dots_and_spaces__x", None, None), mcp("dots.and spaces"));
        let vscode = by_id("vscode");
        let origins = Origins::new().with_server("A Very Long Server Label", None);
        assert_eq!(
            origins.of(vscode, "mcp_a_very_long_s_do_it", None, None),
            mcp("A Very Long Server Label")
        );
    }

    #[test]
    fn without_a_profile_only_what_all_agree_on_is_said() {
        let origins = Origins::new();
        assert_eq!(origins.of(None, "mcp__github__x", None, None), mcp("github"));
        assert_eq!(origins.of(None, "mcp_github_x", None, None), Origin::Unknown);
        assert_eq!(origins.of(None, "Bash", None, None), Origin::Unknown);
        assert_eq!(origins.of(None, "web_search", None, Some("web_search_20250305")), Origin::Builtin);
        assert_eq!(origins.of(None, "deepwiki", None, Some("mcp")), mcp("deepwiki"));
        let named = origins.with_server("notes", Some(vec!["add_note".to_owned()]));
        assert_eq!(named.of(None, "add_note", None, None), mcp("notes"));
        assert_eq!(named.of(None, "notes_add_note", None, None), mcp("notes"));
        assert_eq!(named.of(None, "notes_other", None, None), Origin::Unknown);
    }

    #[test]
    fn names_are_formed_as_the_clients_form_them() {
        let form = |id: &str, label: &str, name: &str| {
            let naming = by_id(id).and_then(|profile| profile.naming).map(|fact| fact.value);
            naming.map(|naming| formed_name(&naming, label, name))
        };
        assert_eq!(form("claude-code", "a b", "x.y").as_deref(), Some("mcp__a_b__x_y"));
        assert_eq!(form("opencode", "s", "t-u").as_deref(), Some("s_t-u"));
        assert_eq!(form("gemini-cli", "s", "t.u").as_deref(), Some("mcp_s_t.u"));
        assert_eq!(form("vscode", "Server", "t").as_deref(), Some("mcp_server_t"));
    }
}
