//! The servers that a call names, as `footprint` would understand it, and how they are grouped into lists.

use crate::args::{Global, Servers, Targets};
use crate::exit::{self, Trouble};
use crate::settings::proxy::{Env, Proxy};
use crate::target::gather::{self, Call};
use crate::target::load::Failed;
use bytes::Bytes;
use deadweight_lock::Lock;
use deadweight_mcp::config::{self, process_env};
use deadweight_mcp::surface::{Client, Input, Kept, ServerTools, Settings, Surface, ToolState};
use deadweight_profiles::TOOL_SEARCH;
use std::path::Path;
use std::time::Duration;

/// A server that answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) label: String,
    pub(super) tools: Vec<Bytes>,
}

/// Servers that stand in one list.
#[derive(Debug)]
pub(super) struct Group {
    /// Whether their names are qualified, because many stand behind one entry.
    pub(super) aggregate: bool,
    pub(super) servers: Vec<Answered>,
}

/// What was asked, and what could not be.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) groups: Vec<Group>,
    pub(super) failed: Vec<Failed>,
}

/// The servers as targets. A config from the settings stands in for one that the call does not name.
pub(super) fn targets(servers: &Servers, default: Option<&Path>, timeout: Duration) -> Targets {
    let named = !servers.command.is_empty() || servers.url.is_some();
    let config = servers.config.as_deref().or(default).filter(|_| !named);
    Targets {
        files: config.map(Path::to_owned).into_iter().collect(),
        command: servers.command.clone(),
        url: servers.url.iter().cloned().collect(),
        header: servers.header.clone(),
        kind: None,
        dialect: None,
        // Of a config, the entry is named, not its servers.
        name: servers.name.clone().filter(|_| named),
        timeout,
    }
}

/// Asks the servers for their tools.
pub(super) fn ask(
    command: &'static str,
    servers: &Servers,
    default: Option<&Path>,
    timeout: Duration,
    global: &Global,
) -> Result<Asked, Trouble> {
    let targets = targets(servers, default, timeout);
    let only: Vec<String> = servers.server.iter().cloned().collect();
    let call = Call { command, targets: &targets, global, only: &only };
    call.check()?;
    let gathered = gather::targets(call)?;
    if !gathered.bodies.is_empty() || !gathered.memory.is_empty() {
        return Err(Trouble::usage("the target is no MCP config and no list of tools")
            .attempt("name an MCP config with --config, or put the command of a server after `--`"));
    }
    let wanted = |label: &str| only.is_empty() || only.iter().any(|only| only == label);
    let failed: Vec<Failed> = gathered.failed.into_iter().filter(|failed| wanted(&failed.label)).collect();
    let answered: Vec<Answered> = gathered
        .servers
        .into_iter()
        .map(|server| Answered {
            label: server.label,
            tools: server.tools.into_iter().map(Bytes::from).collect(),
        })
        .collect();
    if let (Some(name), true) = (&servers.server, answered.is_empty() && failed.is_empty()) {
        return Err(no_such_server(name, &[]));
    }
    // Behind --config stand all its servers together; the servers of a project's own config each stand alone, since that
    // is how an agent has them, and a list of tools is that of one server.
    let is_config =
        |file: &Path| crate::target::file::read(file).is_ok_and(|text| config::detect(&text).is_some());
    let together = servers.config.as_deref().is_some_and(is_config) && servers.server.is_none();
    let groups = match together {
        true => vec![Group { aggregate: true, servers: answered }],
        false => answered.into_iter().map(|one| Group { aggregate: false, servers: vec![one] }).collect(),
    };
    Ok(Asked { groups, failed })
}

/// `--server` names nothing.
pub(super) fn no_such_server(name: &str, known: &[String]) -> Trouble {
    let trouble = Trouble::usage(format!("the config has no server `{name}` that can be asked"));
    match known {
        [] => trouble.attempt("see which it names: deadweight footprint --verbose CONFIG"),
        known => trouble.at("it has", known.join(", ")).attempt("name one of them"),
    }
}

/// What is listed of a group.
pub(super) fn surface(
    group: &Group,
    settings: &Settings,
    client: &Client,
    lock: Option<&Lock>,
    kept: &Kept,
) -> Surface {
    let servers: Vec<ServerTools<'_>> = group
        .servers
        .iter()
        .map(|server| ServerTools { label: &server.label, tools: &server.tools, state: ToolState::Ready })
        .collect();
    Surface::new(&Input {
        settings,
        client: client.clone(),
        servers: &servers,
        lock,
        aggregate: group.aggregate,
        kept,
    })
}

/// The settings of a surface.
pub(super) fn of_surface(proxy: &Proxy, entry: Option<&str>) -> Settings {
    let default = Settings::default();
    Settings {
        surface: proxy.surface,
        lazy: proxy.lazy,
        eager: proxy.eager.clone(),
        budget: proxy.schema_budget,
        optimistic: proxy.optimistic,
        max_result: proxy.max_result,
        reveal: proxy.reveal_on_load,
        awake: awake(&process_env),
        trust: proxy.trust,
        entry: entry.map_or(default.entry, str::to_owned),
    }
}

/// The agent whose own tool search is switched off in this environment.
fn awake(env: Env<'_>) -> Option<&'static str> {
    let (agent, name, off) = TOOL_SEARCH.value;
    env(name).is_some_and(|value| off.contains(&value.to_ascii_lowercase().as_str())).then_some(agent)
}

/// The lock that counts: the one that was named, else the project's, where there is one. A lock that is there and cannot
/// be read is an error: what it denies would be served.
pub(super) fn lock(proxy: &Proxy) -> Result<Option<Lock>, Trouble> {
    let named = proxy.lock.as_deref();
    let path = named.unwrap_or(Path::new(deadweight_lock::LOCK_FILE));
    let shown = path.display().to_string();
    let text = match deadweight_mcp::file::text(path, crate::target::file::LARGEST_LOCK) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => return Ok(None),
        Err(error) => {
            return Err(Trouble::unmeasured(
                "the lock cannot be read, and without it nothing would be denied",
            )
            .at("lock", shown)
            .at("system", crate::target::file::system(&error))
            .attempt("name a lock that is there with --lock, or make one: deadweight gate --update"));
        }
    };
    deadweight_lock::read(&text).map(Some).map_err(|error| {
        Trouble::unmeasured(format!(
            "the lock cannot be read, and without it nothing would be denied: {}",
            error.what
        ))
        .at("lock", format!("{shown}:{}:{}", error.line, error.column))
        .attempt(error.remedy)
    })
}

/// Prints why servers could not be asked, and says how the command ends.
pub(super) fn failures(failed: &[Failed]) -> exit::Exit {
    failed.iter().for_each(|failed| failed.trouble.print());
    if failed.is_empty() { exit::Exit::Done } else { exit::Exit::Unmeasured }
}
