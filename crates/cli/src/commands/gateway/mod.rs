//! `deadweight gateway`: the reverse proxy between agents and their providers.

mod log;
mod reload;

use crate::args::Gateway as Args;
use crate::commands::levers;
use crate::exit::{self, Exit, Trouble};
use crate::settings;
use crate::settings::gateway::Gateway as Settings;
use crate::target::gather;
use deadweight_footprint::origin::Origins;
use deadweight_gateway::clock;
use deadweight_gateway::exchange::{Sink, channel};
use deadweight_gateway::measure::Observer;
use deadweight_gateway::otlp::Otlp;
use deadweight_gateway::own::Answers;
use deadweight_gateway::relay::{Config, ConfigError, Editor, Gateway, OnNote, Parts, StartError};
use deadweight_gateway::watching::{Watch, Watching};
use deadweight_mcp::config::process_env;
use log::Log;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Bytes of bodies that may wait to be measured.
const WAITING: u64 = 96 << 20;

/// How long the last lines of the ledger may take.
const LAST: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit, Trouble> {
    settings::set_colors(args.global.color);
    gather::enter(args.global.directory.as_deref())?;
    let directory = std::env::current_dir().unwrap_or_default();
    let settings = Settings::resolve(&args.flags(), &process_env, &directory);
    settings.warn();
    settings.check()?;
    settings.config.check().map_err(|error| start_trouble(StartError::Config(error)))?;
    if let Some(characters) = settings.token {
        let listens = settings.config.listen.iter().map(|listen| listen.address);
        settings::token::check(characters, listens)?;
    }
    if settings.keeps_bodies && settings.bodies().is_none() {
        return Err(Trouble::usage("bodies are to be kept beside the ledger, and there is none")
            .attempt("name one: --ledger FILE"));
    }
    let otlp = settings.otlp.as_deref().map(Otlp::start).transpose().map_err(|error| {
        Trouble::usage(error.to_string())
            .attempt("name the collector's base address: --otlp http://127.0.0.1:4318")
    })?;
    let otlp = otlp.map(Arc::new);
    raise_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("gateway")
        .build()
        .map_err(system("the gateway could not be started"))?;
    // It reads the ledger before it goes on, which must not be waited for where requests are served.
    let (sink, events) = channel(WAITING);
    let watching = Watching::start(events, watch(&settings, otlp.clone()))
        .map_err(system("the gateway could not be started"))?;
    let watching = runtime.block_on(serve(args, settings, sink, Arc::new(watching)));
    // With it goes whatever still tells of exchanges.
    runtime.shutdown_timeout(LAST);
    if let Some(watching) = Arc::into_inner(watching?)
        && !watching.end(LAST)
    {
        exit::warn("the last lines of the ledger were not written");
    }
    // What it observed last has been told by now, since the measuring is over.
    if let Some(otlp) = otlp.and_then(Arc::into_inner) {
        otlp.end();
    }
    Ok(Exit::Done)
}

async fn serve(
    args: &Args,
    settings: Settings,
    sink: Sink,
    watching: Arc<Watching>,
) -> Result<Arc<Watching>, Trouble> {
    // Before the port is open: whoever waits for it may end us at once.
    let mut stop = Stop::new().map_err(system("signals cannot be caught"))?;
    let hangup = signal(SignalKind::hangup()).map_err(system("signals cannot be caught"))?;
    let log = Arc::new(Log::new(args.log, args.global.quiet));
    let of_gateway = Arc::clone(&log);
    let own = Arc::new(Answers::new(Arc::clone(&watching)));
    let pages = Arc::clone(&own);
    let on_note: OnNote = Arc::new(move |note| of_gateway.note(note));
    let book = Arc::clone(&watching.book);
    let editing = levers::start(&settings.levers, &settings.ledger, book, Arc::clone(&on_note)).await;
    let editor: Option<Arc<dyn Editor>> = Some(Arc::new(editing.clone()));
    let parts = Parts { sink, own: Some(own), editor, clock: None, on_note, tls: None };
    let config = settings.config.clone();
    let bodies = settings.bodies();
    let gateway = Gateway::bind(settings.config, parts).map_err(start_trouble)?;
    let addresses = gateway.addresses();
    tell(args, &config, &addresses, settings.keeps_bodies.then_some(bodies).flatten().as_deref())?;
    if !args.global.quiet && args.log == crate::args::LogForm::Text {
        levers::lines(&settings.levers, &settings.ledger, args.levers.verbose)
            .iter()
            .for_each(|line| exit::note(line));
    }
    let counted = Arc::clone(gateway.handle().counted());
    watching.ask_of_open(move || counted.open.load(Ordering::Relaxed));
    let reloading = tokio::spawn(reload::watch(
        hangup,
        args.flags(),
        gateway.handle(),
        editing.clone(),
        config,
        Arc::clone(&log),
    ));
    let mut again = Stop::new().map_err(system("signals cannot be caught"))?;
    let over = async move {
        stop.told().await;
        // Pages that are open are not waited for.
        pages.end();
    };
    let now = async move {
        again.told().await;
        again.told().await;
    };
    gateway.serve(over, settings.drain, now).await;
    reloading.abort();
    editing.end().await;
    Ok(watching)
}

/// Who looks at what passes.
fn watch(settings: &Settings, otlp: Option<Arc<Otlp>>) -> Watch {
    let told = otlp.map(|otlp| -> Observer { Box::new(move |exchange| otlp.observe(exchange)) });
    Watch {
        estimator: Box::new(deadweight_estimate::calibrated()),
        book: settings::prices::book(&process_env),
        place: settings.ledger.clone(),
        bodies: settings.bodies(),
        retention: settings.retention,
        origins: Origins::new(),
        observers: told.into_iter().collect(),
        clock: clock::system(),
        tell: Box::new(|error| {
            exit::warn(&super::of_ledger("requests are not recorded", error));
        }),
    }
}

/// What ends the gateway.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Says where the gateway listens.
fn tell(
    args: &Args,
    config: &Config,
    addresses: &[SocketAddr],
    bodies: Option<&Path>,
) -> Result<(), Trouble> {
    let Some(address) = addresses.first() else { return Ok(()) };
    if args.json {
        let upstreams: serde_json::Map<String, serde_json::Value> = config
            .upstreams
            .iter()
            .map(|(provider, target)| (provider.name().to_owned(), target.shown().into()))
            .collect();
        let ready = serde_json::json!({
            "schema": "deadweight/gateway/1",
            "url": format!("http://{address}"),
            "address": address.to_string(),
            "upstreams": upstreams,
            "token": config.token.is_some(),
            "keeps_bodies": bodies.map(|folder| folder.display().to_string()),
            "holds_keys": config.keys.iter().map(|(provider, _)| provider.name()).collect::<Vec<_>>(),
        });
        exit::print(&format!("{ready}\n"))?;
    }
    if args.global.quiet || args.log == crate::args::LogForm::Json {
        return Ok(());
    }
    exit::note(&format!("listening on http://{address}"));
    for (provider, target) in &config.upstreams {
        exit::note(&format!("http://{address}/{provider} is {}", target.shown()));
    }
    exit::note(&format!("what passes is shown at http://{address}/deadweight/"));
    exit::note("the ledger has sizes, hashes, names and counts of what passes, no text");
    if let Some(folder) = bodies {
        exit::warn(&format!(
            "bodies are kept, prompts and all: in {}, for 7 days, 2 GB at most, for this user alone",
            folder.display()
        ));
    }
    Ok(())
}

fn start_trouble(error: StartError) -> Trouble {
    match &error {
        StartError::Config(ConfigError::Open { address }) => {
            Trouble::usage(error.to_string()).attempt(format!(
                "set DEADWEIGHT_TOKEN, or serve this machine alone: --listen 127.0.0.1:{}",
                address.port()
            ))
        }
        StartError::Config(ConfigError::KeysWithoutToken) => Trouble::usage(error.to_string())
            .attempt("set DEADWEIGHT_TOKEN, and give it to the clients as their key"),
        StartError::Config(_) => Trouble::usage(error.to_string()),
        StartError::Bind { address, .. } => Trouble::unmeasured(error.to_string()).attempt(format!(
            "choose another port (--listen 0 takes a free one), or end what listens on {address}"
        )),
        StartError::Tls(_) => Trouble::unmeasured(error.to_string())
            .attempt("install the system's root certificates (ca-certificates), or set SSL_CERT_FILE"),
    }
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> Trouble {
    move |error| Trouble::unmeasured(what).at("system", crate::target::file::system(&error))
}

/// Every request takes two descriptors: the most that the system gives are taken.
fn raise_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
