//! Servers that stand in a config behind `deadweight mcp`: what is priced, ranked and held against the lock is the server, not
//! the proxy before it, whose list is what it makes of the server's.

use crate::args::{Cli, Command, Mcp};
use clap::Parser;
use deadweight_mcp::{ServerSpec, Text, Transport};
use std::path::{Path, PathBuf};

/// What stands behind an entry of a config.
#[derive(Debug, PartialEq)]
pub(super) enum Behind {
    /// The server that it starts or reaches.
    Server(Box<ServerSpec>),
    /// The servers of a config of its own, or the one of this name.
    Config { file: PathBuf, server: Option<String> },
}

/// What stands behind the proxy that an entry starts; `None` where it starts none, or one that serves nobody else.
pub(super) fn behind(spec: &ServerSpec) -> Option<Behind> {
    let Transport::Stdio { command, args, env, cwd } = &spec.transport else { return None };
    if !is_own(command.reveal()) {
        return None;
    }
    let mcp = parsed(args)?;
    if mcp.own || mcp.command.is_some() {
        return None;
    }
    let told = |transport| {
        Some(Behind::Server(Box::new(ServerSpec {
            label: spec.label.clone(),
            transport,
            origin: spec.origin.clone(),
        })))
    };
    let folder = mcp.global.directory.clone().or_else(|| cwd.as_ref().map(|cwd| cwd.reveal().to_owned()));
    if let Some(file) = &mcp.servers.config {
        let file = folder.map_or_else(|| file.clone(), |folder| folder.join(file));
        return Some(Behind::Config { file, server: mcp.servers.server });
    }
    if let Some(url) = &mcp.servers.url {
        let headers = super::gather::headers(&mcp.servers.header).ok()?;
        let mut transport = ServerSpec::http(url.as_str(), headers).transport;
        // What the config hides of it stays hidden.
        let hidden = args.iter().find(|arg| arg.is_hidden() && arg.reveal().ends_with(url.as_str()));
        if let (Transport::Http { url, .. }, Some(arg)) = (&mut transport, hidden) {
            let shown = arg.shown().strip_prefix("--url=").unwrap_or(arg.shown());
            *url = Text::shown_as(url.reveal().to_owned(), shown);
        }
        return told(transport);
    }
    let start = args.len().checked_sub(mcp.servers.command.len())?;
    let (command, args) = args.get(start..)?.split_first()?;
    told(Transport::Stdio {
        command: command.clone(),
        args: args.to_vec(),
        env: env.clone(),
        cwd: cwd.clone(),
    })
}

/// Whether a program is this one, by its name or its place.
pub(crate) fn is_own(program: &str) -> bool {
    let path = Path::new(program);
    path.file_stem().is_some_and(|name| name == "deadweight")
        || std::env::current_exe().is_ok_and(|own| path.is_absolute() && own == path)
}

/// The arguments of `deadweight mcp`, as that would understand them.
fn parsed(args: &[Text]) -> Option<Mcp> {
    let words = std::iter::once("deadweight").chain(args.iter().map(Text::reveal));
    match Cli::try_parse_from(words).ok()?.command {
        Command::Mcp(mcp) => Some(*mcp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str, args: &[&str]) -> Option<Behind> {
        behind(&ServerSpec::stdio(command, args.iter().copied()).named("label"))
    }

    #[test]
    fn the_command_behind_the_proxy_is_found_and_keeps_its_label() {
        let server = ServerSpec::stdio("npx", ["-y", "server", "--flag"]).named("label");
        for (command, flags) in [
            ("deadweight", &["--name", "x"][..]),
            ("/usr/local/bin/deadweight", &["--surface", "stubs", "--eager=a,b"]),
            ("deadweight", &[]),
        ] {
            let args: Vec<&str> =
                [&["mcp"], flags, &["--", "npx", "-y", "server", "--flag"]].concat().into_iter().collect();
            assert_eq!(of(command, &args), Some(Behind::Server(Box::new(server.clone()))), "{args:?}");
        }
        let web = of("deadweight", &["mcp", "--url", "https://h/mcp"]);
        let Some(Behind::Server(web)) = web else { unreachable!("{web:?}") };
        assert_eq!(web.transport.to_string(), "https://h/mcp");
        let file = PathBuf::from("many.json");
        assert_eq!(
            of("deadweight", &["mcp", "--config", "many.json", "--server", "one"]),
            Some(Behind::Config { file, server: Some("one".to_owned()) })
        );
    }

    #[test]
    fn what_starts_no_proxy_is_left_as_it_is() {
        for (command, args) in [
            ("npx", &["mcp", "--", "server"][..]),
            ("deadweight", &["mcp", "--own"]),
            ("deadweight", &["mcp", "status"]),
            ("deadweight", &["footprint"]),
            ("deadweight", &["mcp", "--no-such-flag", "--", "server"]),
            ("deadweight", &["mcp"]),
        ] {
            assert_eq!(of(command, args), None, "{command} {args:?}");
        }
    }
}
