//! `deadweight run`: an agent through the gateway and its servers through the proxy, and at the end what it carried.

mod agent;
mod around;
mod child;
mod claude;
mod codex;
mod doors;
mod gateway;
mod gemini;
mod opencode;
mod plain;
mod plan;
mod servers;
#[cfg(test)]
mod tests;

use crate::args::{AgentArg, Run};
use crate::exit::{self, Exit, Trouble};
use crate::render::json;
use crate::render::number::count;
use crate::render::run::{self as render, Told};
use crate::settings::ledger::Ledger;
use crate::settings::{self, Screen};
use crate::target::file::system;
use crate::target::gather;
use around::Around;
use deadweight_mcp::config::process_env;
use deadweight_store::Place;
use doors::{Doors, HOST, foreseen, opened};
use plan::{Became, Plan};
use serde_json::json;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Variables that send requests through a proxy, which must not get those to this machine.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Runs the command.
pub(crate) fn run(args: &Run) -> Result<Exit, Trouble> {
    settings::set_colors(args.global.color);
    gather::enter(args.global.directory.as_deref())?;
    let directory = std::env::current_dir().unwrap_or_default();
    let settings = Ledger::resolve(&args.flags(), &process_env, &directory);
    settings.warn();
    if let Some(file) = &args.json {
        may_be_written(file)?;
    }
    let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("deadweight"));
    let folder = folder();
    let around = Around {
        env: &process_env,
        directory: &directory,
        own: &own,
        folder: &folder,
        root: Path::new("/"),
        ledger: Some(match &settings.place {
            Place::Off => "off".to_owned(),
            Place::File(file) => {
                std::path::absolute(file).unwrap_or_else(|_| file.clone()).display().to_string()
            }
        }),
        wraps: !args.bare_servers,
    };
    let plan = planned(args, &around);
    if args.dry_run {
        exit::print_told(&foreseen(&render::dry(&dry(&plan, &settings))))?;
        return Ok(Exit::Done);
    }
    let begun = (SystemTime::now(), Instant::now());
    let levers = settings::levers::resolve(&args.flags(), &process_env, &directory);
    let servers: Vec<String> = plan.servers.iter().map(|(label, _)| label.clone()).collect();
    let running = gateway::start(&plan.doors, &settings, &levers, &servers).and_then(|running| {
        let plan = open(&plan, &running.addresses);
        match write(&folder, &plan) {
            Ok(()) => Ok((running, plan)),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(format!("{} cannot be written: {}", folder.display(), system(&error)))
            }
        }
    });
    let (running, plan) = match running {
        Ok(running) => running,
        Err(why) => {
            exit::warn(&format!("the agent runs without the gateway: {why}"));
            std::process::exit(child::run_plain(&args.command));
        }
    };
    if !args.global.quiet {
        if let Some(address) = running.addresses.first() {
            exit::note(&format!("what passes is shown at http://{address}/deadweight/"));
            exit::note(&format!("in a terminal: deadweight top --url http://{address}"));
        }
        plan.notes.iter().for_each(|text| exit::note(text));
        let told = crate::commands::levers::lines(&levers, &settings.place, args.levers.verbose);
        told.iter().for_each(|text| exit::note(text));
    }
    let code = child::run_planned(&plan);
    let ended = running.end();
    let _ = std::fs::remove_dir_all(&folder);
    let servers = became(&plan, &settings.place, begun.0);
    let told = Told {
        report: &ended.report,
        servers: &servers,
        agent: agent::name(plan.agent),
        ledger: !matches!(settings.place, Place::Off),
    };
    if !args.global.quiet {
        let _ = anstream::stderr().write_all(render::text(&told, Screen::of_stderr()).as_bytes());
        ended.notes.iter().for_each(|text| exit::warn(text));
    }
    if let Some(file) = &args.json {
        let report = report(&plan, &servers, &ended.report, &settings.place, code, begun);
        if let Err(error) = std::fs::write(file, json::text(&report, false)) {
            exit::warn(&format!("{} could not be written: {}", file.display(), system(&error)));
        }
    }
    std::process::exit(code)
}

/// What is to be set.
fn planned(args: &Run, around: &Around<'_>) -> Plan {
    let (agent, at) = agent::find(&args.command, args.agent);
    let mut plan = Plan::new(agent, &args.command);
    match agent {
        AgentArg::Claude => claude::plan(around, &mut plan, at),
        AgentArg::Codex => codex::plan(around, &mut plan, at),
        AgentArg::Opencode => opencode::plan(around, &mut plan),
        AgentArg::Gemini => gemini::plan(around, &mut plan, at, &gemini::GEMINI),
        AgentArg::Qwen => gemini::plan(around, &mut plan, at, &gemini::QWEN),
        AgentArg::Aider => plain::aider(around, &mut plan, at),
        AgentArg::Other => plain::other(around, &mut plan),
    }
    plan.set("DEADWEIGHT_GATEWAY", Doors::address(0));
    no_proxy(around, &mut plan);
    plan
}

/// Keeps requests to the gateway from proxies of the network.
fn no_proxy(around: &Around<'_>, plan: &mut Plan) {
    if !PROXIES.iter().any(|name| around.set(name).is_some()) {
        return;
    }
    let before = around.set("no_proxy").or_else(|| around.set("NO_PROXY"));
    let has = |own: &String| own.split(',').any(|host| matches!(host.trim(), "*" | "127.0.0.1"));
    let all = match before {
        Some(before) if has(&before) => before,
        Some(before) => format!("{before},127.0.0.1"),
        None => "127.0.0.1".to_owned(),
    };
    plan.set("NO_PROXY", all.as_str());
    plan.set("no_proxy", all);
}

/// The plan with the real addresses in it.
fn open(plan: &Plan, addresses: &[SocketAddr]) -> Plan {
    let word = |word: &std::ffi::OsString| {
        word.to_str().map_or_else(|| word.clone(), |text| opened(text, addresses).into())
    };
    Plan {
        agent: plan.agent,
        words: plan.words.iter().map(word).collect(),
        set: plan.set.iter().map(|(name, value)| (name.clone(), opened(value, addresses))).collect(),
        files: plan.files.iter().map(|(path, text)| (path.clone(), opened(text, addresses))).collect(),
        doors: Doors::default(),
        for_servers: Vec::new(),
        servers: plan.servers.clone(),
        notes: plan.notes.clone(),
    }
}

/// Where the files of this run go: a name that nobody else has.
fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("deadweight-run-{:x}-{:x}", std::process::id(), now.as_nanos());
    runtime.unwrap_or_else(std::env::temp_dir).join(name)
}

/// Writes the files of the plan, which only their owner may read.
fn write(folder: &Path, plan: &Plan) -> std::io::Result<()> {
    if plan.files.is_empty() {
        return Ok(());
    }
    // It must be new: nobody else has put anything there.
    DirBuilder::new().mode(0o700).create(folder)?;
    for (path, text) in &plan.files {
        if let Some(parent) = path.parent() {
            DirBuilder::new().mode(0o700).recursive(true).create(parent)?;
        }
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A report that cannot be written at the end is told of at the beginning.
fn may_be_written(file: &Path) -> Result<(), Trouble> {
    OpenOptions::new().create(true).append(true).open(file).map(drop).map_err(|error| {
        Trouble::usage("the report cannot be written there")
            .at("file", file.display().to_string())
            .at("system", system(&error))
            .attempt("name a file in a folder that exists: --json carried.json")
    })
}

fn dry(plan: &Plan, settings: &Ledger) -> render::Dry {
    let upstreams = plan.doors.all().iter().enumerate().flat_map(|(number, door)| {
        door.iter().map(move |(provider, target)| {
            (format!("{}/{provider}", Doors::address(number)), target.shown().to_owned())
        })
    });
    render::Dry {
        agent: agent::name(plan.agent),
        words: plan.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        set: plan.set.iter().map(|(name, value)| (name.clone(), shown(value, false))).collect(),
        files: plan
            .files
            .iter()
            .map(|(path, text)| (path.display().to_string(), shown(text, true)))
            .collect(),
        ledger: match (&settings.place, settings.days) {
            (Place::Off, _) => "off: nothing is recorded".to_owned(),
            (Place::File(file), None) => format!("{}, kept for ever", file.display()),
            (Place::File(file), Some(days)) => {
                format!("{}, kept for {}", file.display(), count(days, "day", "days"))
            }
        },
        upstreams: upstreams.collect(),
        servers: plan
            .servers
            .iter()
            .map(|(label, became)| (label.clone(), word(*became).to_owned()))
            .collect(),
        notes: plan.notes.clone(),
    }
}

/// A text of the plan for a person: what is JSON without its keys and logins.
fn shown(text: &str, pretty: bool) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(mut value) if value.is_object() => {
            without_keys(&mut value, false);
            if pretty { format!("{value:#}") } else { value.to_string() }
        }
        _ => text.to_owned(),
    }
}

/// Takes out what may be a key: the values of headers and variables that are not ours, and queries of addresses.
fn without_keys(value: &mut serde_json::Value, within: bool) {
    use serde_json::Value;
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let holds =
                    matches!(name.as_str(), "headers" | "env" | "environment" | "requestInit" | "oauth");
                let ours =
                    name.starts_with("DEADWEIGHT_") || name == deadweight_profiles::TOOL_SEARCH.value.1;
                without_keys(value, holds || (within && !ours));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| without_keys(value, within)),
        Value::String(text) if within && !text.contains(HOST) => *text = "…".to_owned(),
        Value::String(text) if text.contains("://") => {
            *text = without_login(text);
        }
        _ => {}
    }
}

/// An address without its query and without who logs in there.
fn without_login(address: &str) -> String {
    let (before, asks) = address.split_once('?').map_or((address, ""), |(before, _)| (before, "?…"));
    let Some((scheme, rest)) = before.split_once("://") else { return format!("{before}{asks}") };
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let (login, host) = host.rsplit_once('@').map_or(("", host), |(_, host)| ("…@", host));
    format!("{scheme}://{login}{host}{path}{asks}")
}

/// What became of the servers, and, where there is a ledger, whether they listed their tools since `begun`.
fn became(plan: &Plan, place: &Place, begun: SystemTime) -> Vec<render::Server> {
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let listed = match place {
        Place::Off => None,
        Place::File(file) => listed(file, since),
    };
    let server = |(label, became): &(String, Became)| render::Server {
        label: label.clone(),
        left: if let Became::Left(why) = became { Some(*why) } else { None },
        listed: match became {
            // What an entry of the user's own serves is not known by this name.
            Became::Wrapped => listed.as_ref().map(|listed| listed.contains(label)),
            _ => None,
        },
    };
    plan.servers.iter().map(server).collect()
}

/// The entries that listed tools since then, as far as the ledger says.
fn listed(file: &Path, since_ms: u64) -> Option<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let mut ledger = deadweight_store::Ledger::open(file).await.ok()??;
        let names = ledger.names().await.ok()?;
        Some(names.into_iter().filter(|name| name.at_ms >= since_ms).map(|name| name.entry).collect())
    })
}

/// What became of a server, in words.
const fn word(became: Became) -> &'static str {
    match became {
        Became::Wrapped => "behind deadweight mcp",
        Became::Already => "behind deadweight mcp before",
        Became::Left(why) => why,
    }
}

/// `deadweight/run/1`.
fn report(
    plan: &Plan,
    servers: &[render::Server],
    carried: &deadweight_gateway::tally::Report,
    ledger: &Place,
    code: i32,
    (at, begun): (SystemTime, Instant),
) -> serde_json::Value {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let servers: Vec<serde_json::Value> = servers
        .iter()
        .map(|server| {
            json!({
                "server": server.label,
                "behind_proxy": server.left.is_none(),
                "why_not": server.left,
                "listed": server.listed,
            })
        })
        .collect();
    let mut report = json!({
        "schema": deadweight_gateway::tally::SCHEMA,
        "agent": agent::name(plan.agent),
        "exit_code": code,
        "at_ms": millis(at.duration_since(UNIX_EPOCH).unwrap_or_default()),
        "took_ms": millis(begun.elapsed()),
        "ledger": match ledger {
            Place::Off => None,
            Place::File(file) => Some(file.display().to_string()),
        },
        "configured_servers": servers,
        "notes": plan.notes,
    });
    let carried = serde_json::to_value(carried).unwrap_or_default();
    around::merge(&mut report, carried);
    report
}
