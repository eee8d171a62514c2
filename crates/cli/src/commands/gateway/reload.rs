//! Settings that change while the gateway runs: read again on SIGHUP, and when a file of settings changes.

use super::log::Log;
use crate::settings::files;
use crate::settings::gateway::Gateway as Settings;
use crate::settings::proxy::Flags;
use deadweight_gateway::edit::Editing;
use deadweight_gateway::relay::{Config, Handle, Level, Note};
use deadweight_mcp::config::process_env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::Signal;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// A file as it was last seen.
type Seen = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

/// Reads the settings again whenever there is a reason, for as long as the gateway runs.
pub(super) async fn watch(
    mut told: Signal,
    flags: Flags,
    handle: Handle,
    editing: Editing,
    mut config: Config,
    log: Arc<Log>,
) {
    let directory = std::env::current_dir().unwrap_or_default();
    let mut seen = look(&files(&process_env, &directory));
    let mut clock = tokio::time::interval(EVERY);
    loop {
        let asked = tokio::select! {
            got = told.recv() => got.is_some(),
            _ = clock.tick() => false,
        };
        let now = look(&files(&process_env, &directory));
        if !asked && now == seen {
            continue;
        }
        seen = now;
        let settings = Settings::resolve(&flags, &process_env, &directory);
        // All of it is taken, or nothing: half of a file may be the half without the fence.
        let taken = take(&settings, &handle);
        if taken.is_ok() {
            settings.warn();
            // What was decided stays decided.
            editing.set(settings.levers.clone());
        }
        let listen = |config: &Config| config.listen.iter().map(|listen| listen.address).collect::<Vec<_>>();
        let moved = listen(&settings.config) != listen(&config);
        let note = match taken {
            Ok(()) => {
                config = Config { listen: config.listen, ..settings.config };
                let more = if moved { "; another address to listen on needs a restart" } else { "" };
                note(Level::Info, "reloaded", format!("the settings were read again{more}"))
            }
            Err(error) => {
                let text = format!(
                    "the settings were read again and are not taken: {error}; all of the old ones hold"
                );
                note(Level::Warning, "not_reloaded", text)
            }
        };
        log.note(note);
    }
}

fn take(settings: &Settings, handle: &Handle) -> Result<(), String> {
    if let Some(why) = settings.unheard() {
        return Err(why);
    }
    if let Some(characters) = settings.token {
        // Where it listens stays as it is.
        let listens = handle.listens().into_iter();
        crate::settings::token::check(characters, listens).map_err(|trouble| trouble.reason())?;
    }
    handle.reload(settings.config.clone()).map_err(|error| error.to_string())
}

fn note(level: Level, event: &'static str, text: String) -> Note {
    Note { level, event, text, fields: Vec::new() }
}

fn look(files: &[PathBuf]) -> Seen {
    let look = |file: &PathBuf| {
        let about = std::fs::metadata(file).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    files.iter().map(|file| (file.clone(), look(file))).collect()
}
