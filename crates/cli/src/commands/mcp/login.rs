//! `deadweight mcp login`: a login at a server that asks for one, in the browser.

use crate::args::{KindArg, McpLogin, Servers, Targets};
use crate::exit::{self, Exit, Trouble};
use crate::settings::proxy::{Env, Flags, Proxy};
use crate::target::file::{project_configs, system};
use crate::target::gather::{self, Call};
use deadweight_mcp::config::process_env;
use deadweight_mcp::{LoginError, LoginOptions, ServerSpec, Text, login};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) fn run(args: &McpLogin) -> Result<Exit, Trouble> {
    let spec = server(args)?;
    let Some(file) = logins(&process_env) else {
        return Err(Trouble::unmeasured("there is no folder to keep the login in")
            .attempt("set HOME or XDG_DATA_HOME"));
    };
    let mut options = LoginOptions::in_file(&file);
    options.scopes.clone_from(&args.scope);
    options.client = args.client_id.clone().map(|id| (id, process_env(SECRET).map(Text::secret)));
    options.port = args.port;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Trouble::unmeasured("the login could not be started").at("system", system(&error))
    })?;
    let done = runtime.block_on(login(&spec, &options, |address| visit(address, args.no_browser)));
    let done = done.map_err(|error| trouble(&error, &spec))?;
    let scopes =
        if done.scopes.is_empty() { String::new() } else { format!(" (scopes: {})", done.scopes.join(", ")) };
    exit::print_told(&format!("  logged in at {}{scopes}; kept in {}\n", done.resource, file.display()))?;
    Ok(Exit::Done)
}

/// The variable that holds the secret of a client that was registered by hand: arguments can be seen by others.
const SECRET: &str = "DEADWEIGHT_CLIENT_SECRET";

/// The file in which logins are kept.
pub(super) fn logins(env: Env<'_>) -> Option<PathBuf> {
    Some(deadweight_store::default_file(env)?.with_file_name("logins.json"))
}

/// The server that is meant: a URL, or the name of one in a config.
fn server(args: &McpLogin) -> Result<ServerSpec, Trouble> {
    if args.server.starts_with("https://") || args.server.starts_with("http://") {
        return Ok(ServerSpec::http(args.server.as_str(), Vec::new()));
    }
    let directory = std::env::current_dir().unwrap_or_default();
    let proxy = Proxy::resolve(&Flags::default(), &process_env, &directory);
    proxy.warn();
    let own = || project_configs(Path::new("")).into_iter().next();
    let Some(config) = args.config.clone().or(proxy.config).or_else(own) else {
        return Err(Trouble::usage(format!("there is no MCP config that could name `{}`", args.server))
            .attempt(format!(
                "name it: deadweight mcp login {} --config FILE, or give the server's URL",
                args.server
            )));
    };
    let servers = Servers { config: Some(config), ..Servers::default() };
    let targets =
        Targets { kind: Some(KindArg::Config), ..super::servers::targets(&servers, None, Duration::ZERO) };
    let call = Call { command: "mcp login", targets: &targets, global: &args.global, only: &[] };
    let loaded = gather::load(call)?;
    let known: Vec<String> = loaded.specs.iter().map(ServerSpec::display_name).collect();
    if let Some(spec) = loaded.specs.into_iter().find(|spec| spec.display_name() == args.server) {
        return Ok(spec);
    }
    match loaded.failed.into_iter().find(|failed| failed.label == args.server) {
        Some(failed) => Err(failed.trouble),
        None => Err(super::servers::no_such_server(&args.server, &known)),
    }
}

/// Shows the address, and opens it where there is a desktop.
fn visit(address: &str, no_browser: bool) {
    exit::note(&format!("log in at {address}"));
    let web = address.starts_with("https://") || address.starts_with("http://");
    if no_browser || !web {
        return;
    }
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if process_env("DISPLAY").is_some() || process_env("WAYLAND_DISPLAY").is_some() {
        "xdg-open"
    } else {
        return;
    };
    // If it does not open, the address is there to be copied.
    let mut browser = Command::new(program);
    for name in deadweight_mcp::OWN_SECRETS {
        browser.env_remove(name);
    }
    let _ = browser.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

fn trouble(error: &LoginError, spec: &ServerSpec) -> Trouble {
    let what = format!("no login at `{}`: {error}", spec.display_name());
    match error {
        LoginError::NotHttp | LoginError::HasCredentials => Trouble::usage(what)
            .attempt("log in to a server that is reached over HTTP and has no key of its own"),
        LoginError::Refused { .. } => Trouble::refused(what).attempt("log in again, and agree"),
        LoginError::TimedOut { .. } => {
            Trouble::unmeasured(what).attempt("run it again and open the address that it shows")
        }
        LoginError::NotRegistered { .. } => Trouble::unmeasured(what)
            .attempt(format!("--client-id ID, with its secret, if it has one, in {SECRET}")),
        _ => Trouble::unmeasured(what).attempt("check the server's address"),
    }
}
