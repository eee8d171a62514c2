//! Text to [`Lock`]. Whatever is not understood is refused with its place: a misspelt ceiling must not
//! pass for no ceiling.

use crate::entry::{
    CheckSetting, FileEntry, Level, Lock, Marks, NameRule, PolicyKind, ServerEntry, Setting, TextPrice,
    ToolEntry, ToolKey, ToolPrice,
};
use crate::error::{Lines, LockError};
use crate::{Hash, LOCK_VERSION, source};
use std::ops::Range;
use toml_edit::{Document, Item, Key, TableLike};

/// Reads a lock. The error says where it is broken; the file is then left as it is.
pub fn read(text: &str) -> Result<Lock, LockError> {
    let document = parse(text)?;
    Reader { lines: Lines::of(text) }.lock(document.as_table())
}

/// Parses the TOML, with a remedy for a merge that was left open.
pub(crate) fn parse(text: &str) -> Result<Document<&str>, LockError> {
    let marker = |line: &str| ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|mark| line.starts_with(mark));
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if marker(line) || line.trim_end() == "=======" {
            return Err(LockError::at(
                &Lines::of(text),
                offset,
                "an unresolved merge conflict",
                "keep the entries of both sides, then run the gate; it says which prices are not true",
            ));
        }
        offset += line.len();
    }
    Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let what = error.message().lines().collect::<Vec<_>>().join(", ");
        LockError::at(&Lines::of(text), offset, what, REMEDY)
    })
}

const REMEDY: &str = "mend it by hand or take the committed one back (git checkout -- deadweight.lock)";

struct Reader<'t> {
    lines: Lines<'t>,
}

type Read<T> = Result<T, LockError>;

impl Reader<'_> {
    fn fail<T>(&self, span: Option<Range<usize>>, what: String, remedy: &str) -> Read<T> {
        Err(LockError::at(&self.lines, span.map_or(0, |span| span.start), what, remedy))
    }

    fn line(&self, span: Option<Range<usize>>) -> usize {
        span.map_or(0, |span| self.lines.line(span.start))
    }

    fn lock(&self, root: &dyn TableLike) -> Read<Lock> {
        match root.get("version") {
            None => {
                return self.fail(None, "`version` is missing".to_owned(), "the first key is `version = 1`");
            }
            Some(item) if item.as_integer() != Some(i64::from(LOCK_VERSION)) => {
                return self.fail(
                    item.span(),
                    format!("this lock has another version than {LOCK_VERSION}"),
                    "use the release of deadweight that wrote it",
                );
            }
            Some(_) => {}
        }
        let mut lock = Lock::new(self.need_text(root, "estimator")?, self.need_text(root, "basis")?);
        for (key, item) in pairs(root) {
            match key.get() {
                "version" | "estimator" | "basis" => {}
                "ceiling_tokens" => lock.ceiling_tokens = Some(self.setting(key.get(), item)?),
                "max_tool_tokens" => lock.max_tool_tokens = Some(self.setting(key.get(), item)?),
                "max_tools" => lock.max_tools = Some(self.setting(key.get(), item)?),
                "slack" => self.slack(&mut lock, item)?,
                "checks" => self.checks(&mut lock, item)?,
                "policy" => self.policy(&mut lock, item)?,
                "server" => {
                    for (key, item) in pairs(self.table(item)?) {
                        lock.servers.insert(key.get().to_owned(), self.server(key, item)?);
                    }
                }
                "tool" => {
                    for (server, tools) in pairs(self.table(item)?) {
                        for (name, item) in pairs(self.table(tools)?) {
                            let entry = self.tool(name, item)?;
                            lock.tools.insert(ToolKey::new(server.get(), name.get()), entry);
                        }
                    }
                }
                "skill" => {
                    for (key, item) in pairs(self.table(item)?) {
                        lock.skills.insert(key.get().to_owned(), self.file(key, item)?);
                    }
                }
                "memory" => {
                    for (key, item) in pairs(self.table(item)?) {
                        lock.memory.insert(key.get().to_owned(), self.file(key, item)?);
                    }
                }
                _ => {
                    return self.unknown(
                        key,
                        "version, estimator, basis, ceiling_tokens, max_tool_tokens, max_tools, slack, checks, policy, server, tool, skill, memory",
                    );
                }
            }
        }
        Ok(lock)
    }

    fn unknown<T>(&self, key: &Key, known: &str) -> Read<T> {
        self.fail(key.span(), format!("unknown key `{}`", key.get()), &format!("known here: {known}"))
    }

    fn table<'a>(&self, item: &'a Item) -> Read<&'a dyn TableLike> {
        match item.as_table_like() {
            Some(table) => Ok(table),
            None => self.fail(item.span(), format!("a table was expected, not {}", kind(item)), REMEDY),
        }
    }

    fn need_text(&self, table: &dyn TableLike, key: &str) -> Read<String> {
        match table.get(key) {
            Some(item) => self.text(key, item),
            None => self.fail(None, format!("`{key}` is missing"), REMEDY),
        }
    }

    fn text(&self, key: &str, item: &Item) -> Read<String> {
        match item.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => self.fail(item.span(), format!("`{key}` must be a text, not {}", kind(item)), REMEDY),
        }
    }

    fn number(&self, key: &str, item: &Item) -> Read<u64> {
        match item.as_integer().and_then(|number| u64::try_from(number).ok()) {
            Some(number) => Ok(number),
            None => self.fail(
                item.span(),
                format!("`{key}` must be a whole number, 0 or more, not {}", kind(item)),
                REMEDY,
            ),
        }
    }

    fn hash(&self, key: &str, item: &Item) -> Read<Hash> {
        let text = self.text(key, item)?;
        match Hash::parse(&text) {
            Some(hash) => Ok(hash),
            None => self.fail(
                item.span(),
                format!("`{key}` is no hash of this version (`sha256-1:` and 64 hexadecimal digits)"),
                REMEDY,
            ),
        }
    }

    /// `250`, or `{ limit = 250, reason = "…" }`.
    fn setting(&self, own: &str, item: &Item) -> Read<Setting> {
        let line = self.line(item.span());
        let Some(table) = item.as_table_like() else {
            return Ok(Setting { limit: self.number(own, item)?, reason: None, line });
        };
        let (mut limit, mut reason) = (None, None);
        for (key, item) in pairs(table) {
            match key.get() {
                "limit" => limit = Some(self.number("limit", item)?),
                "reason" => reason = Some(self.text("reason", item)?),
                _ => return self.unknown(key, "limit, reason"),
            }
        }
        match limit {
            Some(limit) => Ok(Setting { limit, reason, line }),
            None => self.fail(item.span(), "`limit` is missing".to_owned(), REMEDY),
        }
    }

    fn slack(&self, lock: &mut Lock, item: &Item) -> Read<()> {
        for (key, item) in pairs(self.table(item)?) {
            let slot = match key.get() {
                "floor" => &mut lock.slack.floor,
                "descriptions" => &mut lock.slack.descriptions,
                "instructions" => &mut lock.slack.instructions,
                "skills" => &mut lock.slack.skills,
                "memory" => &mut lock.slack.memory,
                _ => return self.unknown(key, "floor, descriptions, instructions, skills, memory"),
            };
            *slot = self.setting(key.get(), item)?;
        }
        Ok(())
    }

    fn checks(&self, lock: &mut Lock, item: &Item) -> Read<()> {
        for (key, item) in pairs(self.table(item)?) {
            let (mut level, mut reason) = (item.as_str().map(str::to_owned), None);
            if let Some(table) = item.as_table_like() {
                for (key, item) in pairs(table) {
                    match key.get() {
                        "level" => level = Some(self.text("level", item)?),
                        "reason" => reason = Some(self.text("reason", item)?),
                        _ => return self.unknown(key, "level, reason"),
                    }
                }
            }
            let level = match level.as_deref() {
                Some("warn") => Level::Warn,
                Some("error") => Level::Error,
                _ => {
                    return self.fail(
                        item.span(),
                        format!("the level of `{}` must be \"warn\" or \"error\"", key.get()),
                        REMEDY,
                    );
                }
            };
            let line = self.line(key.span());
            lock.checks.insert(key.get().to_owned(), CheckSetting { level, reason, line });
        }
        Ok(())
    }

    fn policy(&self, lock: &mut Lock, item: &Item) -> Read<()> {
        for (key, item) in pairs(self.table(item)?) {
            let Some((kind, _)) = PolicyKind::ALL.into_iter().find(|(_, name)| *name == key.get()) else {
                return self.unknown(key, "eager, defer, deny");
            };
            for (tool, item) in pairs(self.table(item)?) {
                if let Some(reason) = self.mark(tool, item)? {
                    let line = self.line(tool.span());
                    lock.rules.push(NameRule { kind, tool: tool.get().to_owned(), reason, line });
                }
            }
        }
        Ok(())
    }

    /// `true`, or the reason; `false` is no mark.
    fn mark(&self, key: &Key, item: &Item) -> Read<Option<String>> {
        match (item.as_bool(), item.as_str()) {
            (Some(set), _) => Ok(set.then(String::new)),
            (None, Some(reason)) => Ok(Some(reason.to_owned())),
            (None, None) => self.fail(
                item.span(),
                format!("`{}` must be true, false or the reason as a text, not {}", key.get(), kind(item)),
                REMEDY,
            ),
        }
    }

    /// Takes a policy key of a server or tool; answers whether it was one.
    fn marked(&self, marks: &mut Marks, key: &Key, item: &Item) -> Read<bool> {
        let slot = match key.get() {
            "eager" => &mut marks.eager,
            "defer" => &mut marks.defer,
            "deny" => &mut marks.deny,
            _ => return Ok(false),
        };
        *slot = self.mark(key, item)?;
        Ok(true)
    }

    fn server(&self, own: &Key, item: &Item) -> Read<ServerEntry> {
        let mut entry = ServerEntry { line: self.line(own.span()), ..ServerEntry::default() };
        let (mut bytes, mut tokens, mut hash) = (None, None, None);
        for (key, item) in pairs(self.table(item)?) {
            match key.get() {
                "source" => {
                    let text = self.text("source", item)?;
                    if !source::is_clean_source(&text) {
                        return self.fail(
                            item.span(),
                            "`source` holds user info, a query or an argument, which may be a secret".to_owned(),
                            "keep the package and its version, or scheme, host and path; change the secret if it was committed",
                        );
                    }
                    entry.source = Some(text);
                }
                "instructions_bytes" => bytes = Some(self.number(key.get(), item)?),
                "instructions_tokens" => tokens = Some(self.number(key.get(), item)?),
                "instructions_hash" => hash = Some(self.hash(key.get(), item)?),
                "reason" => entry.reason = Some(self.text("reason", item)?),
                _ if self.marked(&mut entry.marks, key, item)? => {}
                _ => {
                    return self.unknown(
                        key,
                        "source, instructions_bytes, instructions_tokens, instructions_hash, reason, eager, defer, deny",
                    );
                }
            }
        }
        entry.instructions = match (bytes, hash) {
            (Some(bytes), Some(hash)) => Some(TextPrice { bytes, tokens, hash }),
            (None, None) if tokens.is_none() => None,
            _ => {
                return self.fail(
                    own.span(),
                    format!("`{}` has only some of instructions_bytes and instructions_hash", own.get()),
                    REMEDY,
                );
            }
        };
        Ok(entry)
    }

    fn tool(&self, own: &Key, item: &Item) -> Read<ToolEntry> {
        let mut entry = ToolEntry { line: self.line(own.span()), ..ToolEntry::default() };
        let (mut bytes, mut description_bytes, mut tokens, mut description_tokens, mut hash) =
            (None, None, None, None, None);
        for (key, item) in pairs(self.table(item)?) {
            match key.get() {
                "bytes" => bytes = Some(self.number(key.get(), item)?),
                "description_bytes" => description_bytes = Some(self.number(key.get(), item)?),
                "tokens" => tokens = Some(self.number(key.get(), item)?),
                "description_tokens" => description_tokens = Some(self.number(key.get(), item)?),
                "hash" => hash = Some(self.hash(key.get(), item)?),
                "reason" => entry.reason = Some(self.text("reason", item)?),
                _ if self.marked(&mut entry.marks, key, item)? => {}
                _ => {
                    return self.unknown(
                        key,
                        "bytes, description_bytes, tokens, description_tokens, hash, reason, eager, defer, deny",
                    );
                }
            }
        }
        entry.price = match (bytes, description_bytes, hash) {
            (Some(bytes), Some(description_bytes), Some(hash)) => {
                Some(ToolPrice { bytes, description_bytes, tokens, description_tokens, hash })
            }
            (None, None, None)
                if tokens.is_none() && description_tokens.is_none() && !entry.marks.is_empty() =>
            {
                None
            }
            _ => {
                return self.fail(
                    own.span(),
                    format!("`{}` has only some of bytes, description_bytes and hash", own.get()),
                    REMEDY,
                );
            }
        };
        Ok(entry)
    }

    fn file(&self, own: &Key, item: &Item) -> Read<FileEntry> {
        let (mut bytes, mut tokens, mut hash, mut reason) = (None, None, None, None);
        for (key, item) in pairs(self.table(item)?) {
            match key.get() {
                "bytes" => bytes = Some(self.number(key.get(), item)?),
                "tokens" => tokens = Some(self.number(key.get(), item)?),
                "hash" => hash = Some(self.hash(key.get(), item)?),
                "reason" => reason = Some(self.text("reason", item)?),
                _ => return self.unknown(key, "bytes, tokens, hash, reason"),
            }
        }
        match (bytes, hash) {
            (Some(bytes), Some(hash)) => Ok(FileEntry {
                price: TextPrice { bytes, tokens, hash },
                reason,
                line: self.line(own.span()),
            }),
            _ => self.fail(own.span(), format!("`{}` has only some of bytes and hash", own.get()), REMEDY),
        }
    }
}

/// The keys of a table with their items, in order.
fn pairs(table: &dyn TableLike) -> Vec<(&Key, &Item)> {
    table.iter().filter_map(|(name, _)| table.get_key_value(name)).collect()
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) => "a table",
        Item::ArrayOfTables(_) => "an array of tables",
        Item::Value(value) => match value {
            toml_edit::Value::String(_) => "a text",
            toml_edit::Value::Integer(_) => "that number",
            toml_edit::Value::Float(_) => "a fraction",
            toml_edit::Value::Boolean(_) => "true or false",
            toml_edit::Value::Datetime(_) => "a date",
            toml_edit::Value::Array(_) => "an array",
            toml_edit::Value::InlineTable(_) => "a table",
        },
    }
}
