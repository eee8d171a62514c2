//! The proxy itself: servers behind their lists, for the client on the standard streams or over HTTP. Standard output
//! carries the protocol; whatever there is to say goes to standard error.

use super::meaning::Model;
use super::record::Record;
use super::servers;
use crate::args::Mcp;
use crate::exit::{self, Exit, Trouble};
use crate::settings::proxy::{Env, Proxy};
use crate::target::gather::{self, Call};
use deadweight_lock::Lock;
use deadweight_mcp::config::process_env;
use deadweight_mcp::surface::{Meaning, Settings, Trust};
use deadweight_mcp::{
    HttpError, HttpSettings, Options, Serve, ServerSpec, Text, Transport, serve_http, serve_stdio, startable,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The configs that proxies above this one serve, so that a config that names its own proxy does not start itself for
/// ever.
const SERVING: &str = "DEADWEIGHT_SERVING";

/// Servers to be served.
struct Served {
    specs: Vec<ServerSpec>,
    labels: Vec<String>,
    aggregate: bool,
    entry: String,
}

pub(super) fn run(args: &Mcp) -> Result<Exit, Trouble> {
    let directory = std::env::current_dir().unwrap_or_default();
    let proxy = Proxy::resolve(&args.flags(), &process_env, &directory);
    proxy.warn();
    if args.http.is_some() {
        proxy.check()?;
    }
    if let Some(address) = args.http.filter(|address| !address.ip().is_loopback() && proxy.token.is_none()) {
        return Err(Trouble::usage(format!(
            "{address} can be reached from other machines, and nobody would be asked for a token"
        ))
        .attempt(format!(
            "set DEADWEIGHT_TOKEN, or serve this machine alone: --http 127.0.0.1:{}",
            address.port()
        )));
    }
    let lock = servers::lock(&proxy)?;
    if lock.is_none() && proxy.trust == Trust::Quarantine {
        exit::warn(
            "there is no lock, so nothing can be quarantined; make one: deadweight gate --update -- COMMAND",
        );
    }
    let served = served(args, &proxy)?;
    let settings = servers::of_surface(&proxy, Some(&served.entry));
    serve(args, served, settings, lock, &proxy)
}

/// The servers that the call names.
fn served(args: &Mcp, proxy: &Proxy) -> Result<Served, Trouble> {
    let named = &args.servers;
    let targets = servers::targets(named, proxy.config.as_deref(), Duration::ZERO);
    let Some(config) = targets.files.first().cloned() else {
        if targets.is_empty() {
            return Err(no_server());
        }
        let call = Call { command: "mcp", targets: &targets, global: &args.global, only: &[] };
        let specs = gather::load(call)?.specs;
        let labels: Vec<String> = specs.iter().map(ServerSpec::display_name).collect();
        let entry = labels.first().cloned().unwrap_or_default();
        return Ok(Served { specs, labels, aggregate: false, entry });
    };
    let targets = crate::args::Targets { kind: Some(crate::args::KindArg::Config), ..targets };
    let call = Call { command: "mcp", targets: &targets, global: &args.global, only: &[] };
    let loaded = gather::load(call)?;
    let wanted = |label: &str| named.server.as_deref().is_none_or(|name| name == label);
    let mut failed: Vec<_> = loaded.failed.into_iter().filter(|failed| wanted(&failed.label)).collect();
    let known: Vec<String> = loaded.specs.iter().map(ServerSpec::display_name).collect();
    let mut specs: Vec<ServerSpec> =
        loaded.specs.into_iter().filter(|spec| wanted(&spec.display_name())).collect();
    if specs.is_empty() {
        return Err(match (failed.pop(), &named.server) {
            (Some(failed), _) => failed.trouble,
            (None, Some(name)) => servers::no_such_server(name, &known),
            (None, None) => no_server(),
        });
    }
    if !args.global.quiet {
        loaded.warnings.iter().for_each(|text| exit::note(text));
    }
    for failed in &failed {
        exit::warn(&format!("`{}` is not served: {}", failed.label, failed.trouble.reason()));
    }
    let aggregate = named.server.is_none();
    if aggregate {
        guard(&config, &mut specs, &process_env)?;
    }
    let labels: Vec<String> = specs.iter().map(ServerSpec::display_name).collect();
    let entry = match (&named.name, aggregate) {
        (Some(name), _) => name.clone(),
        (None, true) => Settings::default().entry,
        (None, false) => labels.first().cloned().unwrap_or_default(),
    };
    Ok(Served { specs, labels, aggregate, entry })
}

/// Without a server there is nothing to serve. The project's own config is not taken, as it would be elsewhere: it is
/// the one that names this command.
fn no_server() -> Trouble {
    Trouble::usage("there is no server to serve").attempt(
        "deadweight mcp --name files -- npx -y @modelcontextprotocol/server-filesystem .\n\
         deadweight mcp --name docs --url https://mcp.example.com/mcp\n\
         deadweight mcp --config servers.json",
    )
}

/// Tells the servers which config they stand in, and refuses one that stands in itself.
fn guard(config: &Path, specs: &mut [ServerSpec], env: Env<'_>) -> Result<(), Trouble> {
    let own = config.canonicalize().unwrap_or_else(|_| config.to_owned());
    let above = env(SERVING).unwrap_or_default();
    if std::env::split_paths(&above).any(|path| path == own) {
        return Err(Trouble::usage("the config is served already, by the proxy that started this one")
            .at("config", own.display().to_string())
            .attempt(
                "take the entry of `deadweight mcp` out of it, or keep the servers in a config of their own",
            ));
    }
    let paths = std::iter::once(own).chain(std::env::split_paths(&above).filter(|path| path.is_absolute()));
    let Some(paths) = std::env::join_paths(paths).ok().and_then(|paths| paths.into_string().ok()) else {
        return Ok(());
    };
    for spec in specs {
        if let Transport::Stdio { env, .. } = &mut spec.transport {
            env.push((SERVING.to_owned(), Text::plain(paths.clone())));
        }
    }
    Ok(())
}

fn serve(
    args: &Mcp,
    served: Served,
    settings: Settings,
    lock: Option<Lock>,
    proxy: &Proxy,
) -> Result<Exit, Trouble> {
    let record = Arc::new(Record::start(&proxy.ledger, &served.entry));
    let (of_calls, of_lists) = (Arc::clone(&record), Arc::clone(&record));
    let quiet = args.global.quiet;
    let mut options = Options::default();
    // For the life of the process.
    options.logins = super::login::logins(&process_env).map(|file| &*Box::leak(file.into_boxed_path()));
    let serve = Serve {
        specs: served.specs,
        labels: served.labels,
        aggregate: served.aggregate,
        settings,
        lock,
        cache: cache(&process_env),
        meaning: proxy.model.as_deref().map(|folder| Model::start(folder, exit::warn) as Arc<dyn Meaning>),
        options,
        on_called: Arc::new(move |called| of_calls.called(called)),
        on_listed: Arc::new(move |surface| of_lists.listed(surface)),
        on_note: Arc::new(move |text| {
            if !quiet {
                exit::note(text);
            }
        }),
    };
    let system = |what: &'static str| {
        move |error: std::io::Error| {
            Trouble::unmeasured(what).at("system", crate::target::file::system(&error))
        }
    };
    // One thread: what is relayed is bytes, and a thread less to wake is time saved on every call.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("the proxy could not be started"))?;
    let ended = runtime.block_on(async {
        // Before anything is started: what is started is ended when this process is told to end.
        let told_to_end = deadweight_mcp::told_to_end()
            .map_err(system("the proxy could not be started: signals cannot be caught"))?;
        tokio::select! {
            biased;
            signal = told_to_end => {
                deadweight_mcp::end_all(options.grace);
                Ok::<_, Trouble>(Some(signal))
            }
            served = carry(serve, args, proxy) => served.map(|()| None),
        }
    });
    // A thread that still reads or writes a standard stream is not waited for.
    runtime.shutdown_background();
    let ended = ended?;
    record.end();
    match ended {
        // As a shell reports it.
        Some(signal) => std::process::exit(128 + signal),
        None => Ok(Exit::Done),
    }
}

/// Serves until the client's input ends, or for ever.
async fn carry(serve: Serve, args: &Mcp, proxy: &Proxy) -> Result<(), Trouble> {
    let Some(address) = args.http else {
        // Who is served by nobody wants to know whether it would work.
        let only = match serve.specs.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        let heard = serve_stdio(serve).await.map_err(|error| {
            Trouble::unmeasured("the standard streams cannot be used")
                .at("system", crate::target::file::system(&error))
        })?;
        return match only.filter(|_| !heard).map(|only| startable(&only)) {
            Some(Err(error)) => Err(Trouble::from(error.explain())),
            _ => Ok(()),
        };
    };
    let idle = Duration::from_secs(u64::from(args.idle) * 60);
    if let Some(token) = &proxy.token {
        crate::settings::token::check(token.reveal().chars().count(), std::iter::once(address))?;
    }
    let http = HttpSettings { token: proxy.token.clone(), idle, ..HttpSettings::at(address) };
    let quiet = args.global.quiet;
    let on_ready = |address| {
        if !quiet {
            exit::note(&format!("serving on http://{address}/mcp"));
        }
    };
    serve_http(serve, http, on_ready, std::future::pending()).await.map_err(|error| match error {
        HttpError::Bind { .. } => {
            Trouble::unmeasured(error.to_string()).attempt("choose another port, or end what listens there")
        }
        _ => Trouble::usage(error.to_string()),
    })
}

/// Where it is kept what servers said and what was decided.
pub(super) fn cache(env: Env<'_>) -> Option<PathBuf> {
    let set = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(folder.join("deadweight").join("mcp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_that_names_its_own_proxy_is_served_once() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("servers.json");
        std::fs::write(&config, "{}").unwrap();
        let mut specs = vec![ServerSpec::stdio("deadweight", ["mcp"])];
        guard(&config, &mut specs, &|_| None).unwrap();
        let Transport::Stdio { env, .. } = &specs[0].transport else { unreachable!() };
        let (name, value) = &env[0];
        assert_eq!(name, SERVING);
        let above = value.reveal().to_owned();
        let error = guard(&config, &mut [], &|_| Some(above.clone())).unwrap_err();
        assert!(error.what.contains("is served already"), "{error:?}");
        // Another config within is fine, and both are known below it.
        let other = folder.path().join("other.json");
        guard(&other, &mut specs, &|_| Some(above.clone())).unwrap();
    }

    #[test]
    fn manifests_are_kept_in_the_users_cache() {
        let cache = |pairs: &'static [(&str, &str)]| {
            cache(&|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(cache(&[("HOME", "/h")]), Some("/h/.cache/deadweight/mcp".into()));
        assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]), Some("/c/deadweight/mcp".into()));
        assert_eq!(cache(&[]), None);
    }
}
