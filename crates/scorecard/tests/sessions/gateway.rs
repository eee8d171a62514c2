//! The gateway as it is, in this process: the relay, the editor with its journal, the ledger. Sessions are played through
//! it, and its receipts are read.

use deadweight_gateway::Provider;
use deadweight_gateway::clock::Clock;
use deadweight_gateway::edit::{Originals, Settings};
use deadweight_gateway::local::{Local, Running};
use deadweight_gateway::relay::{Config, Target};
use deadweight_levers::plan::Original;
use deadweight_levers::{Lever, Policy};
use deadweight_store::{Exchange, journal_beside};
use deadweight_testkit::sessions::{Between, Line, Strike};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// What the receipts of one gateway, or of several one after the other, say of a lever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Receipts {
    /// Requests that it was at work in.
    pub(crate) fired: u64,
    /// Bytes taken out, less those put in.
    pub(crate) bytes: i64,
    /// Why it did nothing new, and how often.
    pub(crate) stood_down: BTreeMap<String, u64>,
}

type Told = Arc<Mutex<BTreeMap<String, Receipts>>>;

/// Keeps originals in memory: whether they are kept on a disk is another test's.
struct Kept {
    /// Any tool stands for the one by which originals are asked for: layouts have none of ours.
    any_tool: bool,
}

impl Originals for Kept {
    fn keeps(&self) -> bool {
        true
    }

    fn restore_tool<'a>(&self, offered: &[&'a str]) -> Option<&'a str> {
        let own = offered.iter().find(|name| **name == "restore");
        own.or(offered.first().filter(|_| self.any_tool)).copied()
    }

    fn keep(&self, _: &str, _: &[Original], _: u64) -> Result<(), String> {
        Ok(())
    }

    fn backed_off(&self, _: &str) -> Vec<Lever> {
        Vec::new()
    }
}

/// A gateway before the provider of a line.
pub(crate) struct Gate {
    folder: tempfile::TempDir,
    upstream: String,
    clock: Clock,
    policy: Policy,
    any_tool: bool,
    told: Told,
    running: Option<Running>,
}

impl Gate {
    /// `any_tool`: any tool stands for the one by which originals are asked for.
    pub(crate) fn start(line: &Line, policy: Policy, any_tool: bool) -> io::Result<Self> {
        let own = line.clock.clone();
        let mut gate = Self {
            folder: tempfile::tempdir()?,
            upstream: line.provider.url(),
            clock: Arc::new(move || own.now()),
            policy,
            any_tool,
            told: Told::default(),
            running: None,
        };
        gate.begin()?;
        Ok(gate)
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut config = Config::new(([127, 0, 0, 1], 0).into());
        for provider in Provider::ALL {
            config.set_upstream(provider, Target::parse(&self.upstream).map_err(io::Error::other)?);
        }
        let told = Arc::clone(&self.told);
        let folder = self.folder.path().to_owned();
        let settings = Settings::of(self.policy.clone());
        let mut local = Local::new(config, settings, Some(folder), Arc::clone(&self.clock));
        local.originals = Arc::new(Kept { any_tool: self.any_tool });
        local.observers.push(Box::new(move |exchange| receipt(&told, exchange)));
        self.running = Some(local.start()?);
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        match self.running.take().map(Running::end) {
            Some(false) => Err(io::Error::other("what passed was not written in time")),
            _ => Ok(()),
        }
    }

    /// It ends, and another one takes up on the same folder with this policy. What was received until then is not told.
    pub(crate) fn take_up(&mut self, policy: Policy) -> io::Result<()> {
        self.end()?;
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.policy = policy;
        self.begin()
    }

    /// Ends it; what its receipts said, by lever.
    pub(crate) fn receipts(mut self) -> io::Result<BTreeMap<String, Receipts>> {
        self.end()?;
        Ok(std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn receipt(told: &Told, exchange: &Exchange) {
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    for action in &exchange.levers {
        let own = told.entry(action.lever.clone()).or_default();
        own.fired += u64::from(action.edited);
        own.bytes += action.bytes;
        if !action.reason.is_empty() {
            *own.stood_down.entry(action.reason.clone()).or_default() += 1;
        }
    }
}

impl Between for Gate {
    fn url(&self) -> String {
        self.running.as_ref().map(Running::url).unwrap_or_default()
    }

    fn strike(&mut self, strike: Strike) -> io::Result<()> {
        match strike {
            Strike::Restart => {
                self.end()?;
                self.begin()
            }
            Strike::LoseJournal => {
                self.end()?;
                let journal = journal_beside(&self.folder.path().join("ledger.sqlite"));
                for end in ["", "-wal", "-shm"] {
                    let mut file = journal.clone().into_os_string();
                    file.push(end);
                    match std::fs::remove_file(file) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => {}
                    }
                }
                self.begin()
            }
            Strike::Switch { lever, on } => {
                // What is off by default stays so: it is the default profile that is judged.
                let profile = self.policy.profile;
                let levers: Vec<Lever> = Lever::ALL.into_iter().filter(|lever| lever.on(profile)).collect();
                if let Some(lever) = levers.get(lever as usize % levers.len().max(1)) {
                    self.policy.switches.insert(*lever, on);
                }
                if let Some(running) = &self.running {
                    running.editing().set(Settings::of(self.policy.clone()));
                }
                Ok(())
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
