//! What was recorded, for other programs: JSON Lines and CSV, line by line, so that the size does not matter.

use crate::error::Error;
use crate::ledger::Ledger;
use crate::reading::Which;
use serde_json::{Map, Value};
use sqlx::sqlite::SqliteRow;
use sqlx::{
    AssertSqlSafe, Column, Executor, QueryBuilder, Row, SqlSafeStr, Sqlite, Statement, TypeInfo, ValueRef,
};
use std::io::{self, Write};

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// A line for each exchange.
    Exchanges,
    /// A line for each tool of each set; `tool_set` of an exchange names its set.
    Tools,
    /// A line for each tool that an exchange shows to have been called.
    Called,
    /// A line for each thing a lever did to an exchange.
    Levers,
    /// A line for each call, load and search that went through a proxy.
    Calls,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// One JSON object a line.
    JsonLines,
    /// RFC 4180, with a head. A text that a spreadsheet would take for a formula has an apostrophe before it.
    Csv,
}

/// What is exported, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// What.
    pub table: Table,
    /// In which form.
    pub form: Form,
    /// Of which exchanges. Of tools: those that such an exchange carries. Of calls, which belong to no exchange: the time,
    /// the proxy's own session, the client's name, and what is carried count; nothing else is ever true of one.
    pub which: Which,
}

/// An export that came to an end before its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The ledger could not be read.
    #[error(transparent)]
    Ledger(#[from] Error),
    /// What was read could not be written.
    #[error("the export could not be written: {0}")]
    Out(#[from] io::Error),
}

/// How many rows are read at once. Between, nothing is held.
const STEP: i64 = 500;
/// Columns that hold JSON.
const JSON: [&str; 6] = ["splices", "standing", "layout", "also", "received_also", "names"];
/// Columns that are true or false.
const TRUTH: [&str; 6] = ["streamed", "changed", "agrees", "edited", "loaded", "deferred"];

/// Where the last row was: the next ones come behind it.
#[derive(Debug, Clone)]
enum After {
    Number(i64),
    Pair(i64, i64),
    Named(i64, String),
}

impl Table {
    /// What is read. The columns by which rows are in order come first, as `key` and `key2`; they are not exported. An
    /// exchange is looked up by its number and by nothing else, so that no page reads what another one has read.
    const fn sql(self) -> &'static str {
        match self {
            Self::Exchanges => {
                "SELECT e.number AS key, e.*, s.hash AS tool_set_hash FROM exchange e NOT INDEXED \
                 LEFT JOIN tool_set s ON s.id = e.tool_set"
            }
            Self::Tools => {
                "SELECT l.tool_set AS key, l.place AS key2, s.hash AS tool_set, l.place, l.name, l.namespace, l.origin, \
                 l.server, l.own_name, l.bytes, l.tokens, l.description_tokens, l.deferred \
                 FROM tool_line l CROSS JOIN tool_set s ON s.id = l.tool_set"
            }
            Self::Called => {
                "SELECT c.exchange AS key, c.name AS key2, e.id AS exchange, e.at_ms, e.session, c.name, c.count \
                 FROM exchange_call c CROSS JOIN exchange e ON e.number = c.exchange"
            }
            Self::Levers => {
                "SELECT l.exchange AS key, l.place AS key2, e.id AS exchange, e.at_ms, e.session, l.lever, l.edited, \
                 l.reason, l.splices, l.bytes, l.tokens, l.decided, l.replayed, l.break_even, l.names \
                 FROM lever_action l CROSS JOIN exchange e ON e.number = l.exchange"
            }
            Self::Calls => "SELECT id AS key, * FROM call NOT INDEXED",
        }
    }

    /// The columns that rows are in the order of.
    const fn order(self) -> &'static str {
        match self {
            Self::Exchanges => "e.number",
            Self::Tools => "l.tool_set, l.place",
            Self::Called => "c.exchange, c.name",
            Self::Levers => "l.exchange, l.place",
            Self::Calls => "id",
        }
    }

    const fn begin(self) -> After {
        match self {
            Self::Exchanges | Self::Calls => After::Number(0),
            Self::Tools | Self::Levers => After::Pair(0, -1),
            Self::Called => After::Named(0, String::new()),
        }
    }

    fn after(self, row: &SqliteRow) -> Result<After, sqlx::Error> {
        let key = row.try_get("key")?;
        Ok(match self {
            Self::Exchanges | Self::Calls => After::Number(key),
            Self::Tools | Self::Levers => After::Pair(key, row.try_get("key2")?),
            Self::Called => After::Named(key, row.try_get("key2")?),
        })
    }

    /// Adds which rows are meant.
    fn narrow(self, which: &Which, query: &mut QueryBuilder<Sqlite>) {
        match self {
            Self::Exchanges | Self::Called | Self::Levers => which.push(query),
            Self::Tools if *which == Which::default() => {
                query.push(" WHERE 1 = 1");
            }
            Self::Tools => {
                query.push(" WHERE EXISTS (SELECT 1 FROM exchange");
                which.push(query);
                query.push(" AND tool_set = l.tool_set)");
            }
            Self::Calls => which.push_of_calls(query),
        }
    }

    /// Whether a column is left out: numbers that mean nothing outside of the file.
    fn hides(self, column: &str) -> bool {
        column == "key"
            || column == "key2"
            || match self {
                Self::Exchanges => matches!(column, "number" | "tool_set"),
                Self::Calls => column == "id",
                _ => false,
            }
    }
}

/// What a column is called outside.
fn outside(column: &str) -> &str {
    if column == "tool_set_hash" { "tool_set" } else { column }
}

impl Ledger {
    /// Writes what is asked for to `out`; how many lines it was, the head not counted. It reads a few hundred lines at a
    /// time and holds nothing between, so that others go on writing. Each line is read once.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read, or `out` not written to.
    pub async fn export(&mut self, export: &Export, out: &mut dyn Write) -> Result<u64, ExportError> {
        let table = export.table;
        if export.form == Form::Csv {
            let head = self.head(table).await.map_err(|error| self.error(&error))?;
            out.write_all(csv_line(head.iter().map(|name| csv_text(name))).as_bytes())?;
        }
        let mut lines = 0;
        let mut after = table.begin();
        loop {
            let mut query = QueryBuilder::<Sqlite>::new(table.sql());
            table.narrow(&export.which, &mut query);
            query.push(format!(" AND ({}) > (", table.order()));
            match after.clone() {
                After::Number(number) => query.push_bind(number),
                After::Pair(number, place) => query.push_bind(number).push(", ").push_bind(place),
                After::Named(number, name) => query.push_bind(number).push(", ").push_bind(name),
            };
            query.push(format!(") ORDER BY {} LIMIT ", table.order())).push_bind(STEP);
            let rows =
                query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
            for row in &rows {
                let cells = cells(table, row).map_err(|error| self.error(&error))?;
                let line = match export.form {
                    Form::Csv => csv_line(cells.iter().map(|(_, value)| csv_cell(value))),
                    Form::JsonLines => {
                        let object: Map<String, Value> = cells.into_iter().collect();
                        json_line(&Value::Object(object))
                    }
                };
                out.write_all(line.as_bytes())?;
                lines += 1;
            }
            match rows.last().map(|row| table.after(row)) {
                Some(next) => after = next.map_err(|error| self.error(&error))?,
                None => break,
            }
        }
        out.flush()?;
        Ok(lines)
    }

    /// The names of the columns of an export, which are the same where there is no line.
    async fn head(&mut self, table: Table) -> Result<Vec<String>, sqlx::Error> {
        let statement = (&mut self.connection).prepare(AssertSqlSafe(table.sql()).into_sql_str()).await?;
        let names = statement.columns().iter().map(Column::name);
        Ok(names.filter(|name| !table.hides(name)).map(|name| outside(name).to_owned()).collect())
    }
}

/// The columns of a row with their values, in order.
fn cells(table: Table, row: &SqliteRow) -> Result<Vec<(String, Value)>, sqlx::Error> {
    let mut out = Vec::with_capacity(row.columns().len());
    for (at, column) in row.columns().iter().enumerate() {
        let name = column.name();
        if table.hides(name) {
            continue;
        }
        let raw = row.try_get_raw(at)?;
        let kind = raw.type_info().name().to_owned();
        let value = if raw.is_null() {
            Value::Null
        } else if kind == "INTEGER" {
            let number: i64 = row.try_get(at)?;
            if TRUTH.contains(&name) { Value::Bool(number != 0) } else { number.into() }
        } else {
            let text: String = row.try_get(at)?;
            match JSON.contains(&name).then(|| serde_json::from_str(&text)) {
                Some(Ok(value)) => value,
                _ => Value::String(text),
            }
        };
        out.push((outside(name).to_owned(), value));
    }
    Ok(out)
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let mut line = cells.collect::<Vec<_>>().join(",");
    line.push_str("\r\n");
    line
}

fn csv_cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => csv_text(text),
        Value::Array(_) | Value::Object(_) => csv_text(&value.to_string()),
        other => other.to_string(),
    }
}

/// Whether a character acts on a terminal, or turns or hides what stands around it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A value on one line. JSON leaves some characters that act as they are; written as `\\uXXXX` they mean the same.
fn json_line(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if acts(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    out
}

/// A text as a cell, in which characters that act are written out. Spreadsheets run what begins like a formula, even inside quotes and behind white space.
fn csv_text(text: &str) -> String {
    let begins = text.trim_start_matches([' ', '\u{a0}', '\u{feff}']).chars().next();
    let formula = matches!(
        begins,
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠' | '|' | '%')
    );
    let mark = if formula { "'" } else { "" };
    let written: String;
    let text = if text.chars().any(acts) {
        let one = |c: char| if acts(c) { c.escape_default().to_string() } else { c.to_string() };
        written = text.chars().map(one).collect();
        &written
    } else {
        text
    };
    if text.contains(['"', ',', '\r', '\n', ';', '\t']) || formula {
        format!("\"{mark}{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{csv_text, json_line};

    #[test]
    fn nothing_acts_on_a_terminal() {
        let hostile = "a\u{1b}[2J\u{9b}31m\u{202e}b\u{7f}\n";
        assert_eq!(csv_text(hostile), "a\\u{1b}[2J\\u{9b}31m\\u{202e}b\\u{7f}\\n");
        let line = json_line(&serde_json::json!({ "a": hostile }));
        assert!(line.trim_end().chars().all(|c| !super::acts(c)), "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["a"], hostile);
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(csv_text("claude-code"), "claude-code");
        assert_eq!(csv_text("a,b"), "\"a,b\"");
        assert_eq!(csv_text("a\"b\nc"), "\"a\"\"b\\nc\"");
        assert_eq!(csv_text(""), "");
    }

    #[test]
    fn nothing_is_a_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1", "＝1", "|cmd", "%x"] {
            let cell = csv_text(text);
            assert!(cell.starts_with("\"'"), "{cell}");
        }
    }
}
