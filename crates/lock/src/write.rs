//! [`Lock`] to text, so that comments, settings, policy and the order of keys that a person chose stay as
//! they are, and every entry stands in one sorted place.

use crate::entry::{FileEntry, Lock, Marks, ServerEntry, TextPrice, ToolEntry};
use crate::error::LockError;
use crate::{LOCK_VERSION, ToolKey, read};
use toml_edit::{Decor, DocumentMut, Item, RawString, Table, TableLike, Value};

const HEADER: &str = "\
# deadweight.lock: what an agent carries on every turn, tool by tool. Read its diff.
# `deadweight gate` refuses what the budgets, the sums of these entries, do not allow;
# `deadweight gate --update` rewrites the entries. Settings, policy and comments stay.

";

/// What some editors put before UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Writes the entries of `lock` into `existing`, or into a new file. Entries that `lock` does not hold go;
/// settings (slack, ceilings, checks, policy) stay as they stand in `existing`.
///
/// A broken `existing` is an error, never overwritten. Writing twice changes nothing more.
pub fn update(existing: Option<&str>, lock: &Lock) -> Result<String, LockError> {
    let text = existing.unwrap_or_default();
    let (crlf, mark) = (text.contains("\r\n"), text.starts_with(BYTE_ORDER_MARK));
    let mut document = match existing {
        None => DocumentMut::new(),
        Some(text) => {
            read::read(text)?;
            read::parse(text)?.into_mut()
        }
    };
    let root = document.as_table_mut();
    set(root, "version", i64::from(LOCK_VERSION));
    set(root, "estimator", lock.estimator.as_str());
    set(root, "basis", lock.basis.as_str());
    if existing.is_none() {
        let mut slack = Table::new();
        for (key, setting) in [
            ("floor", &lock.slack.floor),
            ("descriptions", &lock.slack.descriptions),
            ("instructions", &lock.slack.instructions),
            ("skills", &lock.slack.skills),
            ("memory", &lock.slack.memory),
        ] {
            set(&mut slack, key, signed(setting.limit));
        }
        slack.decor_mut().set_prefix("\n");
        root.insert("slack", Item::Table(slack));
        for (key, setting) in [
            ("ceiling_tokens", &lock.ceiling_tokens),
            ("max_tool_tokens", &lock.max_tool_tokens),
            ("max_tools", &lock.max_tools),
        ] {
            if let Some(setting) = setting {
                set(root, key, signed(setting.limit));
            }
        }
    }

    within(root, "server", Shape::Group, |servers| {
        servers.retain(|label, _| lock.servers.contains_key(label));
        for (label, entry) in &lock.servers {
            within(servers, label, Shape::Entry, |table| server(table, entry));
        }
    });
    within(root, "tool", Shape::Group, |tools| {
        tools.retain(|label, item| {
            if let Some(named) = item.as_table_like_mut() {
                let gone: Vec<String> = named
                    .iter()
                    .map(|(name, _)| name.to_owned())
                    .filter(|name| !lock.tools.contains_key(&ToolKey::new(label, name.as_str())))
                    .collect();
                gone.iter().for_each(|name| drop(named.remove(name)));
            }
            item.as_table_like().is_some_and(|named| !named.is_empty()) || is_told(item)
        });
        for (key, entry) in &lock.tools {
            within(tools, &key.server, Shape::Group, |named| {
                within(named, &key.name, Shape::Entry, |table| tool(table, entry));
            });
        }
    });
    for (name, entries) in [("skill", &lock.skills), ("memory", &lock.memory)] {
        within(root, name, Shape::Group, |files| {
            files.retain(|path, _| entries.contains_key(path));
            for (path, entry) in entries {
                within(files, path, Shape::Entry, |table| file(table, entry));
            }
        });
    }
    for name in ["server", "tool", "skill", "memory"] {
        let group = root.get(name);
        if group.and_then(Item::as_table).is_some_and(Table::is_empty) && !group.is_some_and(is_told) {
            root.remove(name);
        }
    }
    sort(root);

    let body = document.to_string();
    let out = if existing.is_none() { format!("{HEADER}{body}") } else { body };
    let out = if crlf { out.replace("\r\n", "\n").replace('\n', "\r\n") } else { out };
    Ok(if mark && !out.starts_with(BYTE_ORDER_MARK) { format!("{BYTE_ORDER_MARK}{out}") } else { out })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Sets a value, keeping the white space and comments around the one that stood there.
fn set(table: &mut dyn TableLike, key: &str, value: impl Into<Value>) {
    let mut value = value.into();
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => {
            table.insert(key, Item::Value(value));
        }
    }
}

fn set_or_remove(table: &mut Table, key: &str, value: Option<impl Into<Value>>) {
    match value {
        Some(value) => set(table, key, value),
        None => {
            table.remove(key);
        }
    }
}

/// What a table is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It holds entries and has no header line of its own.
    Group,
    /// It is an entry.
    Entry,
}

/// Edits the table at `name`, made when it is missing; one written in a line (`{ … }`) or with dotted keys
/// becomes a table with a header.
fn within(parent: &mut Table, name: &str, shape: Shape, edit: impl FnOnce(&mut Table)) {
    let fresh = || {
        let mut table = Table::new();
        table.set_implicit(shape == Shape::Group);
        table.decor_mut().set_prefix("\n");
        table
    };
    let above = parent.key(name).map(|key| comments(key.leaf_decor())).unwrap_or_default();
    if let Some(Item::Value(Value::InlineTable(inline))) = parent.get_mut(name) {
        let mut table = fresh();
        // The comments of one line become those of several.
        let behind = raw(inline.decor().suffix()).trim();
        if behind.starts_with('#') {
            table.decor_mut().set_suffix(format!(" {behind}"));
        }
        let mut head = above;
        head.push_str(&lines_of_comment(raw(Some(inline.trailing()))));
        table.decor_mut().set_prefix(format!("\n{head}"));
        let keys: Vec<String> = inline.iter().map(|(key, _)| key.to_owned()).collect();
        for name in keys {
            let Some((key, value)) = inline.remove_entry(&name) else { continue };
            let own = comments(key.leaf_decor()) + &comments(value.decor());
            table.insert(&name, Item::Value(value.decorated(" ", "")));
            if let Some(mut key) = table.key_mut(&name).filter(|_| !own.is_empty()) {
                key.leaf_decor_mut().set_prefix(own);
            }
        }
        // Taken out first, so that the key loses the white space it had before its `=`.
        parent.remove(name);
        parent.insert(name, Item::Table(table));
    }
    if let Item::Table(table) = parent.entry(name).or_insert_with(|| Item::Table(fresh())) {
        if table.is_dotted() {
            table.set_dotted(false);
            table.set_implicit(shape == Shape::Group);
            table.decor_mut().set_prefix("\n");
        }
        edit(table);
        if shape == Shape::Entry {
            table.sort_values_by(|a, _, b, _| rank(a.get()).cmp(&rank(b.get())));
        }
    }
}

fn raw(text: Option<&RawString>) -> &str {
    text.and_then(RawString::as_str).unwrap_or_default()
}

/// Whether a person said something at the header of a table.
fn is_told(item: &Item) -> bool {
    item.as_table().is_some_and(|table| !comments(table.decor()).is_empty())
}

/// The comments around a key or a value, each on a line of its own.
fn comments(decor: &Decor) -> String {
    lines_of_comment(raw(decor.prefix())) + &lines_of_comment(raw(decor.suffix()))
}

/// The comments in what stands between two tokens.
fn lines_of_comment(text: &str) -> String {
    text.lines().filter_map(|line| Some(format!("{}\n", line.get(line.find('#')?..)?.trim_end()))).collect()
}

/// The order of an entry's keys: the same whichever way the entry came about.
fn rank(key: &str) -> usize {
    const ORDER: [&str; 13] = [
        "source",
        "bytes",
        "description_bytes",
        "tokens",
        "description_tokens",
        "instructions_bytes",
        "instructions_tokens",
        "instructions_hash",
        "hash",
        "reason",
        "eager",
        "defer",
        "deny",
    ];
    ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len())
}

fn marks(table: &mut Table, marks: &Marks) {
    for (key, mark) in [("eager", &marks.eager), ("defer", &marks.defer), ("deny", &marks.deny)] {
        match mark {
            None => {
                table.remove(key);
            }
            Some(reason) if reason.is_empty() => set(table, key, true),
            Some(reason) => set(table, key, reason.as_str()),
        }
    }
}

fn text_price(table: &mut Table, prefix: &str, price: Option<&TextPrice>) {
    let key = |name: &str| format!("{prefix}{name}");
    set_or_remove(table, &key("bytes"), price.map(|price| signed(price.bytes)));
    set_or_remove(table, &key("tokens"), price.and_then(|price| price.tokens).map(signed));
    set_or_remove(table, &key("hash"), price.map(|price| price.hash.to_string()));
}

fn server(table: &mut Table, entry: &ServerEntry) {
    set_or_remove(table, "source", entry.source.as_deref());
    text_price(table, "instructions_", entry.instructions.as_ref());
    set_or_remove(table, "reason", entry.reason.as_deref());
    marks(table, &entry.marks);
}

fn tool(table: &mut Table, entry: &ToolEntry) {
    let price = entry.price.as_ref();
    set_or_remove(table, "bytes", price.map(|price| signed(price.bytes)));
    set_or_remove(table, "description_bytes", price.map(|price| signed(price.description_bytes)));
    set_or_remove(table, "tokens", price.and_then(|price| price.tokens).map(signed));
    set_or_remove(table, "description_tokens", price.and_then(|price| price.description_tokens).map(signed));
    set_or_remove(table, "hash", price.map(|price| price.hash.to_string()));
    set_or_remove(table, "reason", entry.reason.as_deref());
    marks(table, &entry.marks);
}

fn file(table: &mut Table, entry: &FileEntry) {
    text_price(table, "", Some(&entry.price));
    set_or_remove(table, "reason", entry.reason.as_deref());
}

/// Gives every table its place: settings as a person ordered them, then the entries by group and key.
fn sort(root: &mut Table) {
    const GROUPS: [&str; 4] = ["server", "tool", "skill", "memory"];
    let mut next = 0isize;
    let mut settings: Vec<(isize, String)> = root
        .iter()
        .filter(|(name, _)| !GROUPS.contains(name))
        .filter_map(|(name, item)| Some((first_position(item.as_table()?), name.to_owned())))
        .collect();
    settings.sort();
    for (_, name) in settings {
        if let Some(table) = root.get_mut(&name).and_then(Item::as_table_mut) {
            place(table, &mut next, false);
        }
    }
    for name in GROUPS {
        if let Some(table) = root.get_mut(name).and_then(Item::as_table_mut) {
            place(table, &mut next, true);
        }
    }
}

/// Where a table, or the first table in it, stood.
fn first_position(table: &Table) -> isize {
    let below = table.iter().filter_map(|(_, item)| item.as_table()).map(first_position);
    below.chain(table.position()).min().unwrap_or(isize::MAX)
}

fn place(table: &mut Table, next: &mut isize, by_key: bool) {
    table.set_position(Some(*next));
    *next += 1;
    let mut inner: Vec<(isize, String)> = table
        .iter()
        .filter_map(|(name, item)| Some((first_position(item.as_table()?), name.to_owned())))
        .collect();
    if by_key {
        inner.sort_by(|a, b| a.1.cmp(&b.1));
    } else {
        inner.sort();
    }
    for (_, name) in inner {
        if let Some(table) = table.get_mut(&name).and_then(Item::as_table_mut) {
            place(table, next, by_key);
        }
    }
}
