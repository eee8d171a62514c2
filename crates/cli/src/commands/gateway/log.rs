//! The log of the gateway on standard error: sentences for people, or one JSON object a line. It holds no bodies, no
//! queries, no keys: the gateway does not tell them.

use crate::args::LogForm;
use crate::exit;
use deadweight_gateway::relay::{Level, Note};
use deadweight_present::quote;
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Notes of one kind that are shown within [`SPAN`]; further ones are counted.
const MOST: u32 = 20;

const SPAN: Duration = Duration::from_secs(10);

/// Writes notes.
#[derive(Debug)]
pub(super) struct Log {
    form: LogForm,
    quiet: bool,
    shown: Mutex<HashMap<&'static str, Shown>>,
}

#[derive(Debug)]
struct Shown {
    since: Instant,
    count: u32,
    left_out: u32,
}

impl Log {
    pub(super) fn new(form: LogForm, quiet: bool) -> Self {
        Self { form, quiet, shown: Mutex::default() }
    }

    /// Writes a note, unless there were many like it just now.
    pub(super) fn note(&self, mut note: Note) {
        if self.quiet && note.level == Level::Info {
            return;
        }
        let Some(left_out) = self.may(note.event) else { return };
        if left_out > 0 {
            note.text.push_str(&format!(" ({left_out} like it were left out)"));
            note.fields.push(("left_out", left_out.to_string()));
        }
        match (self.form, note.level) {
            (LogForm::Json, _) => {
                let line = quote::json(&json(&note, now()).to_string());
                let _ = writeln!(anstream::stderr(), "{line}");
            }
            (LogForm::Text, Level::Info) => exit::note(&note.text),
            (LogForm::Text, Level::Warning) => exit::warn(&note.text),
        }
    }

    /// Whether a note may be shown, and how many were not before it.
    fn may(&self, event: &'static str) -> Option<u32> {
        let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let shown =
            all.entry(event).or_insert_with(|| Shown { since: Instant::now(), count: 0, left_out: 0 });
        if shown.since.elapsed() > SPAN {
            let left_out = std::mem::take(&mut shown.left_out);
            *shown = Shown { since: Instant::now(), count: 1, left_out: 0 };
            return Some(left_out);
        }
        shown.count += 1;
        if shown.count > MOST {
            shown.left_out += 1;
            return None;
        }
        Some(0)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn json(note: &Note, time: f64) -> serde_json::Value {
    let level = match note.level {
        Level::Info => "info",
        Level::Warning => "warning",
    };
    let mut line =
        serde_json::json!({ "time": time, "level": level, "event": note.event, "text": note.text });
    if let Some(members) = line.as_object_mut() {
        for (name, value) in &note.fields {
            members.insert((*name).to_owned(), value.as_str().into());
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted() {
        let log = Log::new(LogForm::Text, false);
        let shown = (0..100).filter(|_| log.may("refused").is_some()).count();
        assert_eq!((shown, log.may("unreachable")), (20, Some(0)));
    }

    #[test]
    fn a_line_is_an_object() {
        let fields = vec![("provider", "anthropic".to_owned())];
        let note =
            Note { level: Level::Warning, event: "unreachable", text: "no \"route\"".to_owned(), fields };
        let expected = r#"{"time":1.5,"level":"warning","event":"unreachable","text":"no \"route\"","provider":"anthropic"}"#;
        assert_eq!(json(&note, 1.5).to_string(), expected);
    }
}
