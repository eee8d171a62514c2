//! The settings of the proxy, from all the places where they can be written, and who said what.

use super::file::{self, Owner, Said};
use super::known::{KNOWN, Key};
use crate::exit::{self, Trouble};
use deadweight_mcp::Text;
use deadweight_mcp::surface::{Choice, Optimistic, PinSource, Pins, SCHEMA_BUDGET, Trust};
use deadweight_store::Place;
use std::fmt;
use std::path::{Path, PathBuf};

/// What the command line said; absent is not said.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) told: Vec<(Key, String)>,
}

impl Flags {
    /// Adds what was said, if it was.
    pub(crate) fn tell(&mut self, key: Key, value: Option<String>) {
        self.told.extend(value.map(|value| (key, value)));
    }
}

/// The settings that hold.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) surface: Choice,
    pub(crate) lazy: bool,
    pub(crate) eager: Pins,
    pub(crate) schema_budget: u64,
    pub(crate) optimistic: Optimistic,
    pub(crate) max_result: Option<usize>,
    pub(crate) reveal_on_load: bool,
    pub(crate) trust: Trust,
    pub(crate) lock: Option<PathBuf>,
    pub(crate) ledger: Place,
    pub(crate) model: Option<PathBuf>,
    pub(crate) token: Option<Text>,
    pub(crate) config: Option<PathBuf>,
    /// What was said, and where, as far as it counts: name, value, place. Keys are not shown.
    pub(crate) told: Vec<(&'static str, String, String)>,
    pub(crate) warnings: Vec<Warning>,
}

/// Something that is not as its writer may think.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    /// What, and where.
    what: String,
    /// What to do.
    attempt: String,
    pub(super) weight: Weight,
}

/// What follows from something that is not as its writer may think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// It is told.
    Told,
    /// A gateway that runs takes nothing from its files while it is so.
    Holds,
    /// It decides who may ask or where keys go: nothing that asks for a token or sends keys starts with it.
    Ends,
}

impl Warning {
    pub(super) fn new(what: impl Into<String>, attempt: impl Into<String>) -> Self {
        Self { what: what.into(), attempt: attempt.into(), weight: Weight::Told }
    }

    pub(super) fn weighs(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }

    /// As an end.
    pub(crate) fn trouble(&self) -> Trouble {
        Trouble::usage(self.what.clone()).attempt(self.attempt.clone())
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.attempt)
    }
}

/// A value as it stands where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    Text(String),
    Flag(bool),
    Number(i64),
    List(Vec<String>),
    /// Something that no setting takes.
    Other,
}

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Flag(&'static str),
    Variable(&'static str),
    File { file: PathBuf, line: usize },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File { file, line } => write!(f, "{}:{line}", file.display()),
        }
    }
}

/// One thing that was said.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) key: Key,
    pub(super) raw: Raw,
    pub(super) from: Source,
}

/// The variables of the environment.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Proxy {
    /// Takes the settings together: flags before the environment before the project's file before the user's.
    pub(crate) fn resolve(flags: &Flags, env: Env<'_>, directory: &Path) -> Self {
        Merge::of(flags, env, directory).settings(env)
    }

    /// Tells a person what is not as they may think.
    pub(crate) fn warn(&self) {
        self.warnings.iter().for_each(|warning| exit::warn(&warning.to_string()));
    }

    /// Whether others may be served: not where what was said of the token cannot be taken.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        let ends = self.warnings.iter().find(|warning| warning.weight == Weight::Ends);
        ends.map_or(Ok(()), |warning| Err(warning.trouble()))
    }
}

/// All that was said, and what became of it.
pub(super) struct Merge {
    pub(super) told: Vec<Told>,
    shown: Vec<(&'static str, String, String)>,
    pub(super) warnings: Vec<Warning>,
}

impl Merge {
    /// What was said in all places, in the order in which it counts.
    pub(super) fn of(flags: &Flags, env: Env<'_>, directory: &Path) -> Self {
        let mut told: Vec<Told> = Vec::new();
        for (key, value) in &flags.told {
            let from = Source::Flag(key.known().flag.unwrap_or_default());
            told.push(Told { key: *key, raw: Raw::Text(value.clone()), from });
        }
        // A setting may stand in two tables; its variable is one.
        let mut asked = Vec::new();
        for known in &KNOWN {
            if asked.contains(&known.key) {
                continue;
            }
            asked.push(known.key);
            if let Some(variable) = known.variable
                && let Some(value) = env(variable)
            {
                told.push(Told { key: known.key, raw: Raw::Text(value), from: Source::Variable(variable) });
            }
        }
        let project = file::of_project(directory);
        let user = file::of_user(env);
        let same = |one: &Path, other: &Path| one.canonicalize().ok() == other.canonicalize().ok();
        // In the user's own folder of settings, the file is the user's.
        let project = project.filter(|project| user.as_deref().is_none_or(|user| !same(project, user)));
        let mut warnings = Vec::new();
        for (file, owner) in [(project, Owner::Project), (user, Owner::User)] {
            let Said { told: more, warnings: of_file } =
                file.map(|file| file::read(&shortened(&file, directory), owner)).unwrap_or_default();
            told.extend(more);
            warnings.extend(of_file);
        }
        Self { told, shown: Vec::new(), warnings }
    }
}

/// A file below the directory, as a person there would name it.
fn shortened(file: &Path, directory: &Path) -> PathBuf {
    file.strip_prefix(directory).unwrap_or(file).to_owned()
}

impl Merge {
    fn settings(mut self, env: Env<'_>) -> Proxy {
        let surface = self.first(Key::Surface, |raw, _| Choice::parse(text(raw)?));
        let lazy = self.first(Key::Lazy, |raw, _| switch(raw));
        let eager = self.pins();
        let schema_budget = self.first(Key::SchemaBudget, |raw, _| number(raw));
        let optimistic = self.first(Key::Optimistic, |raw, _| Optimistic::parse(text(raw)?));
        let max_result = self.first(Key::MaxResult, |raw, _| usize::try_from(number(raw)?).ok());
        let reveal_on_load = self.first(Key::RevealOnLoad, |raw, _| switch(raw));
        let trust = self.first(Key::Trust, |raw, _| Trust::parse(text(raw)?));
        let lock = self.first(Key::Lock, |raw, from| path(text(raw)?, from));
        let ledger = super::ledger::place(&mut self, env);
        let model = self.first(Key::Model, |raw, from| path(text(raw)?, from));
        let token = self.first(Key::Token, |raw, _| token(raw).map(Text::secret));
        let config = self.first(Key::Config, |raw, from| path(text(raw)?, from));
        Proxy {
            surface: surface.unwrap_or_default(),
            lazy: lazy.unwrap_or(true),
            eager,
            schema_budget: schema_budget.unwrap_or(SCHEMA_BUDGET),
            optimistic: optimistic.unwrap_or_default(),
            max_result: max_result.filter(|&bytes| bytes > 0),
            reveal_on_load: reveal_on_load.unwrap_or(false),
            trust: trust.unwrap_or_default(),
            lock,
            ledger,
            model,
            token,
            config,
            told: self.shown,
            warnings: self.warnings,
        }
    }

    /// The first readable thing that was said about a setting. What cannot be read is warned about, and passed over.
    pub(super) fn first<T>(&mut self, key: Key, read: impl Fn(&Raw, &Source) -> Option<T>) -> Option<T> {
        let known = key.known();
        let mut found = None;
        for told in self.told.iter().filter(|told| told.key == key) {
            match read(&told.raw, &told.from) {
                Some(value) if found.is_none() => {
                    found = Some(value);
                    let shown = if is_secret(key) { "…".to_owned() } else { shown(&told.raw) };
                    self.shown.push((known.name, shown, told.from.to_string()));
                }
                Some(_) => {}
                None => self.warnings.push(unreadable(key, told)),
            }
        }
        found
    }

    /// The pins of all places.
    fn pins(&mut self) -> Pins {
        let mut pins = Pins::default();
        for told in self.told.iter().filter(|told| told.key == Key::Eager) {
            let source = match told.from {
                Source::Flag(_) => PinSource::Flag,
                Source::Variable(_) => PinSource::Environment,
                Source::File { .. } => PinSource::Config,
            };
            match &told.raw {
                Raw::Text(list) => pins.add(list, source),
                Raw::List(names) => names.iter().for_each(|name| pins.add(name, source)),
                Raw::Flag(true) => pins.add("*", source),
                Raw::Flag(false) => {}
                Raw::Number(_) | Raw::Other => {
                    self.warnings.push(unreadable(Key::Eager, told));
                    continue;
                }
            }
            self.shown.push((Key::Eager.known().name, shown(&told.raw), told.from.to_string()));
        }
        pins
    }
}

/// A token as it can be sent in a header.
pub(super) fn token(raw: &Raw) -> Option<&str> {
    let token = text(raw)?.trim();
    (!token.is_empty() && token.chars().all(|c| c.is_ascii_graphic())).then_some(token)
}

const fn is_secret(key: Key) -> bool {
    matches!(key, Key::Token | Key::GatewayToken)
}

pub(super) fn unreadable(key: Key, told: &Told) -> Warning {
    let known = key.known();
    let name = match told.from {
        Source::File { .. } => format!("`{}` in {}", known.name, told.from),
        _ => told.from.to_string(),
    };
    match key {
        Key::Token | Key::GatewayToken => {
            return Warning::new(
                format!("{name}: what it holds is no token"),
                "take a text of visible ASCII characters, such as `openssl rand -hex 16` prints, or take the setting out",
            )
            .weighs(Weight::Ends);
        }
        // A URL may hold a password.
        Key::Upstream => {
            let why = match text(&told.raw).map(super::gateway::upstream) {
                Some(Err(why)) => why,
                _ => format!("it takes {}", known.takes),
            };
            return Warning::new(format!("{name} cannot be taken: {why}"), "correct it, or take it out")
                .weighs(Weight::Ends);
        }
        Key::Listen | Key::HoldKeys | Key::AllowHost | Key::AllowOrigin => {
            return Warning::new(
                format!("{name}: `{}` cannot be taken", shown(&told.raw)),
                format!("it takes {}", known.takes),
            )
            .weighs(Weight::Ends);
        }
        _ => {}
    }
    let value = format!("`{}`", shown(&told.raw));
    Warning::new(
        format!("{name}: {value} cannot be read, and is passed over"),
        format!("it takes {}", known.takes),
    )
}

pub(super) fn shown(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) => text.clone(),
        Raw::Flag(flag) => flag.to_string(),
        Raw::Number(number) => number.to_string(),
        Raw::List(names) => names.join(","),
        Raw::Other => "…".to_owned(),
    }
}

pub(super) fn text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Text(text) => Some(text),
        _ => None,
    }
}

/// On or off. In the environment only exactly 0 is off, and only 1 (or nothing) is said to be on: `false` and `no` are
/// words that every program reads differently.
pub(super) fn switch(raw: &Raw) -> Option<bool> {
    match raw {
        Raw::Flag(flag) => Some(*flag),
        Raw::Number(0) => Some(false),
        Raw::Number(1) => Some(true),
        Raw::Text(text) if text == "0" => Some(false),
        Raw::Text(text) if text == "1" || text.is_empty() => Some(true),
        _ => None,
    }
}

pub(super) fn number(raw: &Raw) -> Option<u64> {
    match raw {
        Raw::Number(number) => u64::try_from(*number).ok(),
        Raw::Text(text) => parse_bytes(text).ok(),
        _ => None,
    }
}

/// A number of bytes as a person writes it: `4096`, `4,096`, `4_096`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace([',', '_'], "");
    plain.parse().map_err(|_| format!("`{text}` is not a number of bytes; write it as 4096"))
}

fn path(text: &str, from: &Source) -> Option<PathBuf> {
    (!text.is_empty()).then(|| beside(Path::new(text), from))
}

/// A path that a file names lies beside that file.
pub(super) fn beside(path: &Path, from: &Source) -> PathBuf {
    match from {
        Source::File { file, .. } => file.parent().unwrap_or(Path::new("")).join(path),
        _ => path.to_owned(),
    }
}
