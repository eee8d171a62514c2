//! `deadweight.toml`: what stands in it, with its lines. Whatever is not understood is a warning: a proxy that does not
//! start takes a person's tools away. Where it may have said who may ask or where keys go, the warning says that too, and
//! whoever serves others ends with it.

use super::known::{InProject, KNOWN, Key, Table};
use super::prices;
use super::proxy::{Raw, Source, Told, Warning, Weight, shown};
use super::routes;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item, TableLike, Value};

/// The file's name, in a project and in the user's folder of settings.
pub(crate) const FILE: &str = "deadweight.toml";

/// The largest file that is read. Nobody writes that much.
pub(super) const LARGEST: u64 = 1 << 20;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It came with the project, from whoever wrote that.
    Project,
    /// The user wrote it.
    User,
}

/// What one file says.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) told: Vec<Told>,
    pub(super) warnings: Vec<Warning>,
}

/// The project's file: in `directory`, or, within a repository, in the nearest folder above that has one.
pub(crate) fn of_project(directory: &Path) -> Option<PathBuf> {
    let here = directory.join(FILE);
    if here.is_file() {
        return Some(here);
    }
    let root = directory.ancestors().find(|folder| folder.join(".git").exists())?;
    let within = directory.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    within.map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

/// The user's file.
pub(crate) fn of_user(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    // One that is there and cannot be reached is not one that says nothing.
    let absent = |file: &PathBuf| match file.metadata() {
        Ok(about) => !about.is_file(),
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    };
    Some(folder.join("deadweight").join(FILE)).filter(|file| !absent(file))
}

/// Reads a file.
pub(super) fn read(file: &Path, owner: Owner) -> Said {
    let shown = file.display().to_string();
    let text = match bytes(file) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()),
        Err(why) => Err(why),
    };
    match text {
        Ok(text) => parse(&text, file, owner),
        Err(why) => {
            let what = format!("the settings in {shown} are not read: {why}");
            let warning = Warning::new(what, "mend or remove the file").weighs(unread(owner));
            Said { warnings: vec![warning], ..Said::default() }
        }
    }
}

/// What follows from a file that is not read: only the user's can say who may ask.
const fn unread(owner: Owner) -> Weight {
    match owner {
        Owner::Project => Weight::Holds,
        Owner::User => Weight::Ends,
    }
}

fn bytes(file: &Path) -> Result<Vec<u8>, String> {
    deadweight_mcp::file::read(file, LARGEST).map_err(|error| crate::target::file::system(&error))
}

fn parse(text: &str, file: &Path, owner: Owner) -> Said {
    let mut reader = Reader { text, file, owner, said: Said::default() };
    match Document::parse(text) {
        Ok(document) => reader.root(document.as_table()),
        Err(error) => {
            let place = reader.place(error.span());
            let why = error.message().lines().collect::<Vec<_>>().join(", ");
            let what = format!("the settings in {} are not read: {why} ({place})", file.display());
            reader.said.warnings.push(Warning::new(what, "correct the TOML there").weighs(unread(owner)));
        }
    }
    reader.said
}

struct Reader<'t> {
    text: &'t str,
    file: &'t Path,
    owner: Owner,
    said: Said,
}

impl Reader<'_> {
    fn line(&self, span: Option<Range<usize>>) -> usize {
        let start = span.map_or(0, |span| span.start).min(self.text.len());
        1 + self.text.as_bytes().iter().take(start).filter(|&&byte| byte == b'\n').count()
    }

    fn place(&self, span: Option<Range<usize>>) -> String {
        format!("{}:{}", self.file.display(), self.line(span))
    }

    fn warn(&mut self, what: String, span: Option<Range<usize>>, attempt: impl Into<String>) {
        self.weigh(Weight::Told, what, span, attempt);
    }

    fn weigh(
        &mut self,
        weight: Weight,
        what: String,
        span: Option<Range<usize>>,
        attempt: impl Into<String>,
    ) {
        let what = format!("{what} ({})", self.place(span));
        self.said.warnings.push(Warning::new(what, attempt).weighs(weight));
    }

    fn root(&mut self, root: &dyn TableLike) {
        for (key, item) in root.iter() {
            let span = root.key(key).and_then(toml_edit::Key::span);
            match (key, item.as_table_like()) {
                ("mcp", Some(table)) => self.table(Table::Mcp, key, table),
                ("gateway", Some(table)) => self.table(Table::Gateway, key, table),
                ("levers", Some(table)) => self.table(Table::Levers, key, table),
                // Read where money is counted.
                (prices::TABLE, _) if self.owner == Owner::User => {}
                (prices::TABLE, _) => self.refuse(key, span),
                ("mcp" | "gateway" | "levers", None) => {
                    let weight = if self.owner == Owner::User { Weight::Ends } else { Weight::Told };
                    self.weigh(weight, format!("`{key}` is no table"), span, format!("write [{key}]"));
                }
                _ => self.unknown(key, span, &["mcp", "gateway", "levers", prices::TABLE], ""),
            }
        }
    }

    fn table(&mut self, of: Table, title: &str, table: &dyn TableLike) {
        let known = || KNOWN.iter().filter(move |known| known.table == of);
        for (name, item) in table.iter() {
            let span = table.key(name).and_then(toml_edit::Key::span);
            let plain = name.replace('-', "_");
            if of == Table::Mcp && plain == "server" {
                self.servers(item, span);
                continue;
            }
            // A route is one of several.
            let plain = if of == Table::Levers && plain == "route" { ROUTES.to_owned() } else { plain };
            let Some(known) = known().find(|known| known.name == plain) else {
                let more = (of == Table::Mcp).then_some("server");
                let names: Vec<&str> = known().map(|known| known.name).chain(more).collect();
                self.unknown(name, span, &names, &format!("{title}."));
                continue;
            };
            if self.owner == Owner::User
                && matches!(known.key, Key::Upstream | Key::Lever | Key::LeverRoute)
                && let Some(pairs) = item.as_table_like()
            {
                match known.key {
                    Key::LeverRoute => self.routes(pairs),
                    key => self.pairs(key, pairs),
                }
                continue;
            }
            let raw = raw(item);
            let allowed = match (self.owner, known.in_project) {
                (Owner::User, _) | (_, InProject::Anything) => true,
                (Owner::Project, InProject::Off) => matches!(&raw, Raw::Text(text) if text == "off"),
                (Owner::Project, InProject::Nothing) => false,
            };
            if allowed {
                self.tell(known.key, raw, span);
            } else {
                self.refuse(name, span);
            }
        }
    }

    /// `[gateway.upstream]`: `provider = "URL"`, and whatever else is pairs.
    fn pairs(&mut self, key: Key, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let span = table.key(name).and_then(toml_edit::Key::span);
            let raw = match raw(item) {
                Raw::Text(value) => Raw::Text(format!("{name}={value}")),
                Raw::Flag(flag) => Raw::Text(format!("{name}={flag}")),
                _ => Raw::Other,
            };
            self.tell(key, raw, span);
        }
    }

    /// `[levers.routes]`: `provider = "profile"`, or a table of what holds for that provider. What each says is told with
    /// provider, setting and value.
    fn routes(&mut self, table: &dyn TableLike) {
        for (provider, item) in table.iter() {
            let span = table.key(provider).and_then(toml_edit::Key::span);
            let Some(own) = item.as_table_like() else {
                self.route(provider, routes::PROFILE, value(item), span);
                continue;
            };
            for (name, item) in own.iter() {
                let span = own.key(name).and_then(toml_edit::Key::span);
                if name != "lever" {
                    self.route(provider, name, value(item), span);
                    continue;
                }
                if let Some(levers) = item.as_table_like() {
                    for (lever, item) in levers.iter() {
                        let span = levers.key(lever).and_then(toml_edit::Key::span);
                        self.route(provider, lever, value(item), span);
                    }
                    continue;
                }
                let pairs = match raw(item) {
                    Raw::List(pairs) => pairs,
                    other => shown(&other).split(',').map(str::to_owned).collect(),
                };
                for pair in pairs {
                    let (lever, value) = pair.split_once('=').unwrap_or((&pair, ""));
                    self.route(provider, lever.trim(), value.trim().to_owned(), span.clone());
                }
            }
        }
    }

    fn route(&mut self, provider: &str, name: &str, value: String, span: Option<Range<usize>>) {
        self.tell(Key::LeverRoute, Raw::List(vec![provider.to_owned(), name.to_owned(), value]), span);
    }

    /// What a project's file may not say.
    fn refuse(&mut self, name: &str, span: Option<Range<usize>>) {
        let user = "~/.config/deadweight/deadweight.toml";
        self.warn(
            format!(
                "`{name}` is not taken from a project's file, which may name no commands, servers, keys, prices or \
                 places to write to"
            ),
            span,
            format!("set it in {user}, in the environment or as a flag"),
        );
    }

    /// `[mcp.server.NAME]`: `eager`, for all or some of one server's tools.
    fn servers(&mut self, item: &Item, span: Option<Range<usize>>) {
        let Some(servers) = item.as_table_like() else {
            return self.warn("`mcp.server` is no table".to_owned(), span, "write [mcp.server.LABEL]");
        };
        for (label, item) in servers.iter() {
            let span = servers.key(label).and_then(toml_edit::Key::span);
            let Some(table) = item.as_table_like() else {
                let what = format!("`mcp.server.{label}` is no table");
                self.warn(what, span, format!("write [mcp.server.{label}]"));
                continue;
            };
            for (name, item) in table.iter() {
                let span = table.key(name).and_then(toml_edit::Key::span);
                if name != "eager" {
                    self.unknown(name, span, &["eager"], &format!("mcp.server.{label}."));
                    continue;
                }
                let of = |tool: &str| format!("{label}/{}", tool.trim());
                let pins = match raw(item) {
                    Raw::Flag(true) => vec![label.to_owned()],
                    Raw::Flag(false) => Vec::new(),
                    Raw::Text(text) => {
                        text.split(',').filter(|tool| !tool.trim().is_empty()).map(of).collect()
                    }
                    Raw::List(tools) => tools.iter().map(|tool| of(tool)).collect(),
                    Raw::Number(_) | Raw::Other => {
                        let what = format!("`mcp.server.{label}.eager` cannot be read");
                        self.warn(what, span, "write true, or an array of tools");
                        continue;
                    }
                };
                self.tell(Key::Eager, Raw::List(pins), span);
            }
        }
    }

    fn tell(&mut self, key: Key, raw: Raw, span: Option<Range<usize>>) {
        let from = Source::File { file: self.file.to_owned(), line: self.line(span) };
        self.said.told.push(Told { key, raw, from });
    }

    fn unknown(&mut self, name: &str, span: Option<Range<usize>>, known: &[&str], before: &str) {
        const POWERS: [&str; 9] =
            ["command", "args", "env", "url", "header", "headers", "upstream", "upstreams", "servers"];
        let plain = name.replace('-', "_");
        if self.owner == Owner::Project && POWERS.contains(&plain.as_str()) {
            return self.refuse(&format!("{before}{name}"), span);
        }
        // Meant for one that must not go unheard.
        const FENCE: [&str; 5] = ["gateway", "token", "upstream", "hold_keys", "listen"];
        let near = known.iter().map(|known| (strsim::damerau_levenshtein(known, &plain), known)).min();
        let (attempt, fence) = match near {
            Some((distance, near)) if distance <= 2 => {
                (format!("did you mean `{near}`?"), FENCE.contains(near) && !before.starts_with("mcp.server"))
            }
            _ => (format!("known here: {}", known.join(", ")), false),
        };
        let weight = if fence && self.owner == Owner::User { Weight::Ends } else { Weight::Told };
        self.weigh(weight, format!("`{before}{name}` is no setting"), span, attempt);
    }
}

/// The table of what holds for single providers.
const ROUTES: &str = "routes";

/// A value as text.
fn value(item: &Item) -> String {
    shown(&raw(item))
}

fn raw(item: &Item) -> Raw {
    match item.as_value() {
        Some(Value::String(text)) => Raw::Text(text.value().clone()),
        Some(Value::Boolean(flag)) => Raw::Flag(*flag.value()),
        Some(Value::Integer(number)) => Raw::Number(*number.value()),
        Some(Value::Array(array)) => {
            let texts: Option<Vec<String>> =
                array.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            texts.map_or(Raw::Other, Raw::List)
        }
        _ => Raw::Other,
    }
}
