//! What was recorded, for other programs: JSON Lines and CSV, line by line, so that the size does not matter.

use crate::call::stored;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::reading::Which;
use serde_json::{Map, Value};
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, QueryBuilder, Row, Sqlite, TypeInfo, ValueRef};
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
    /// Of which exchanges; of calls only the time counts.
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
const JSON: [&str; 4] = ["splices", "standing", "layout", "also"];
/// Columns that are true or false.
const TRUTH: [&str; 6] = ["streamed", "changed", "agrees", "edited", "loaded", "deferred"];

impl Table {
    /// What is read: rows with a number by which they are in order, `key`, which is not exported.
    const fn sql(self) -> &'static str {
        match self {
            Self::Exchanges => {
                "SELECT e.number AS key, e.*, s.hash AS tool_set_hash FROM exchange e \
                 LEFT JOIN tool_set s ON s.id = e.tool_set WHERE e.number > "
            }
            Self::Tools => {
                "SELECT l.tool_set * 8192 + l.place + 1 AS key, s.hash AS tool_set, l.place, l.name, l.namespace, l.origin, \
                 l.server, l.own_name, l.bytes, l.tokens, l.description_tokens, l.deferred \
                 FROM tool_line l JOIN tool_set s ON s.id = l.tool_set WHERE l.tool_set * 8192 + l.place + 1 > "
            }
            Self::Called => {
                "SELECT c.rank AS key, e.id AS exchange, e.at_ms, e.session, c.name, c.count \
                 FROM (SELECT exchange * 65536 + row_number() OVER (PARTITION BY exchange ORDER BY name) AS rank, * \
                 FROM exchange_call) c JOIN exchange e ON e.number = c.exchange WHERE c.rank > "
            }
            Self::Levers => {
                "SELECT l.exchange * 65536 + l.place + 1 AS key, e.id AS exchange, e.at_ms, e.session, l.lever, l.edited, \
                 l.reason, l.splices, l.bytes, l.tokens FROM lever_action l JOIN exchange e ON e.number = l.exchange \
                 WHERE l.exchange * 65536 + l.place + 1 > "
            }
            Self::Calls => "SELECT id AS key, * FROM call WHERE id > ",
        }
    }

    /// Whether a column is left out: numbers that mean nothing outside of the file.
    fn hides(self, column: &str) -> bool {
        column == "key"
            || match self {
                Self::Exchanges => matches!(column, "number" | "tool_set"),
                Self::Calls => column == "id",
                _ => false,
            }
    }
}

impl Ledger {
    /// Writes what is asked for to `out`; how many lines it was, the head not counted. It reads a few hundred lines at a
    /// time and holds nothing between, so that others go on writing.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be read, or `out` not written to.
    pub async fn export(&mut self, export: &Export, out: &mut dyn Write) -> Result<u64, ExportError> {
        let mut lines = 0;
        let mut after = 0_i64;
        loop {
            let mut query = QueryBuilder::<Sqlite>::new(export.table.sql());
            query.push_bind(after);
            let column = if export.table == Table::Calls { "at_ms" } else { "e.at_ms" };
            if export.table != Table::Tools {
                for (side, at) in [(" >= ", export.which.since_ms), (" < ", export.which.until_ms)] {
                    if let Some(at) = at {
                        query.push(" AND ").push(column).push(side).push_bind(stored(at));
                    }
                }
            }
            if let (Some(session), true) =
                (&export.which.session, !matches!(export.table, Table::Tools | Table::Calls))
            {
                query.push(" AND e.session = ").push_bind(session.clone());
            }
            query.push(" ORDER BY key LIMIT ").push_bind(STEP);
            let rows =
                query.build().fetch_all(&mut self.connection).await.map_err(|error| self.error(&error))?;
            for row in &rows {
                let cells = cells(export.table, row).map_err(|error| self.error(&error))?;
                if lines == 0 && export.form == Form::Csv {
                    out.write_all(csv_line(cells.iter().map(|(name, _)| csv_text(name))).as_bytes())?;
                }
                let line = match export.form {
                    Form::Csv => csv_line(cells.iter().map(|(_, value)| csv_cell(value))),
                    Form::JsonLines => {
                        let object: Map<String, Value> = cells.into_iter().collect();
                        format!("{}\n", Value::Object(object))
                    }
                };
                out.write_all(line.as_bytes())?;
                lines += 1;
            }
            match rows.last().map(|row| row.try_get::<i64, _>("key")) {
                Some(key) => after = key.map_err(|error| self.error(&error))?,
                None => break,
            }
        }
        out.flush()?;
        Ok(lines)
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
        let name = if name == "tool_set_hash" { "tool_set" } else { name };
        out.push((name.to_owned(), value));
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

/// A text as a cell. Spreadsheets run what begins like a formula, even inside quotes and behind white space.
fn csv_text(text: &str) -> String {
    let begins = text.trim_start_matches([' ', '\u{a0}', '\u{feff}']).chars().next();
    let formula = matches!(
        begins,
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠' | '|' | '%')
    );
    let mark = if formula { "'" } else { "" };
    if text.contains(['"', ',', '\r', '\n', ';', '\t']) || formula {
        format!("\"{mark}{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::csv_text;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(csv_text("claude-code"), "claude-code");
        assert_eq!(csv_text("a,b"), "\"a,b\"");
        assert_eq!(csv_text("a\"b\nc"), "\"a\"\"b\nc\"");
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
