//! A journal that is full, locked, damaged, read-only or in the wrong place: what is new goes as it came, what was decided
//! is done again as far as it can be read, and no request waits for long or is lost.

use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::Policy;
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};
use std::time::Duration;

/// A long text.
pub(crate) fn long(number: usize) -> String {
    (0..400).map(|line| format!("{number}: the fox looks at line {}\n", line * 7 + number)).collect()
}

/// A conversation of so many turns, in each of which the same file is read.
pub(crate) fn body(model: &str, turns: usize) -> Vec<u8> {
    let mut messages = vec![json!({ "role": "user", "content": "Please do the work." })];
    for turn in 0..turns {
        let id = format!("toolu_{turn}");
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": "src/main.rs" } }
        ]}));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": long(1) }
        ]}));
    }
    let tools = ["Read", "restore"].map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
    let body = json!({ "model": model, "max_tokens": 9, "messages": messages, "tools": tools,
        "system": [{ "type": "text", "text": "s", "cache_control": { "type": "ephemeral" } }] });
    body.to_string().into_bytes()
}

pub(crate) const OLDER: &str = "claude-opus-4-8";

/// The text of the result of a turn, as it arrived.
pub(crate) fn result(arrived: &[u8], turn: usize) -> String {
    let body: Value = serde_json::from_slice(arrived).unwrap();
    body["messages"][2 * turn + 2]["content"][0]["content"].as_str().unwrap().to_owned()
}

/// Another program that has the journal open.
struct Other {
    runtime: tokio::runtime::Runtime,
    connection: SqliteConnection,
}

impl Other {
    fn of(machine: &Machine) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let url = format!("sqlite://{}", machine.journal().display());
        let connection = runtime.block_on(SqliteConnection::connect(&url)).unwrap();
        Self { runtime, connection }
    }

    fn does(&mut self, sql: &str) {
        let Self { runtime, connection } = self;
        runtime.block_on(connection.execute(sqlx::AssertSqlSafe(sql.to_owned()))).unwrap();
    }
}

fn machine() -> Machine {
    Machine::new(Settings::of(Policy::default()), 1)
}

fn sent(machine: &Machine, turns: usize) -> Vec<u8> {
    machine.advance(Duration::from_secs(20));
    machine.turn(0, "s", &body(OLDER, turns)).request.body
}

/// Two reads of one file: the second is a pointer, once and for ever.
fn decided(machine: &Machine) -> String {
    assert_eq!(sent(machine, 1), body(OLDER, 1));
    let out = sent(machine, 2);
    let pointer = result(&out, 1);
    assert!(pointer.len() < 500 && result(&out, 0) == long(1), "{pointer}");
    pointer
}

/// Nothing new is decided, and what was is done again.
fn replays_alone(machine: &Machine, pointer: &str, turns: usize) {
    let out = sent(machine, turns);
    assert_eq!(result(&out, 1), pointer);
    for turn in 2..turns {
        assert_eq!(result(&out, turn), long(1));
    }
    assert!(!machine.noted("journal_unavailable").is_empty());
}

#[test]
fn locked() {
    let mut machine = machine();
    let pointer = decided(&machine);
    let mut holder = Other::of(&machine);
    holder.does("BEGIN IMMEDIATE");
    replays_alone(&machine, &pointer, 3);
    // What went out as it came stays so when the lock is gone.
    holder.does("ROLLBACK");
    replays_alone(&machine, &pointer, 3);
    let out = sent(&machine, 4);
    assert_eq!((result(&out, 1), result(&out, 2)), (pointer, long(1)));
    assert!(result(&out, 3).len() < 500);
    machine.stop();
}

#[test]
fn locked_across_a_restart() {
    let mut machine = machine();
    let pointer = decided(&machine);
    machine.stop();
    let mut holder = Other::of(&machine);
    holder.does("BEGIN IMMEDIATE");
    machine.go_on();
    // It is read, for readers need no lock; or it cannot be opened, and everything goes as it came.
    let out = sent(&machine, 3);
    assert!(result(&out, 2) == long(1));
    assert!(result(&out, 1) == pointer || result(&out, 1) == long(1));
    holder.does("ROLLBACK");
    machine.stop();
}

#[test]
fn damaged() {
    let mut machine = machine();
    decided(&machine);
    machine.stop();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(machine.folder.path().join(format!("decisions.sqlite{end}")));
    }
    std::fs::write(
        machine.journal(),
        b"this is no database, and is longer than a header of one would have to be",
    )
    .unwrap();
    machine.go_on();
    // Everything goes as it came, and the file stays as it is.
    let out = sent(&machine, 3);
    assert_eq!(out, body(OLDER, 3));
    assert_eq!(machine.noted("journal_unavailable").len(), 1);
    assert!(std::fs::read(machine.journal()).unwrap().starts_with(b"this is no database"));
}

#[test]
fn a_folder_in_its_place() {
    let mut machine = machine();
    machine.lose_journal();
    machine.stop();
    let _ = std::fs::remove_file(machine.journal());
    std::fs::create_dir(machine.journal()).unwrap();
    machine.go_on();
    assert_eq!(sent(&machine, 1), body(OLDER, 1));
    assert_eq!(sent(&machine, 2), body(OLDER, 2));
    assert!(!machine.noted("journal_unavailable").is_empty());
}

#[test]
fn full() {
    let machine = machine();
    let pointer = decided(&machine);
    // What SQLite says of a full disk, whoever writes.
    Other::of(&machine).does(
        "CREATE TRIGGER full BEFORE INSERT ON decision BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END",
    );
    replays_alone(&machine, &pointer, 3);
}

#[test]
fn read_only() {
    let mut machine = machine();
    let pointer = decided(&machine);
    machine.stop();
    let mut other = Other::of(&machine);
    for action in ["INSERT", "UPDATE", "DELETE"] {
        other.does(&format!(
            "CREATE TRIGGER no_{action} BEFORE {action} ON decision BEGIN SELECT RAISE(FAIL, 'read-only'); END"
        ));
    }
    drop(other);
    machine.go_on();
    replays_alone(&machine, &pointer, 3);
}

#[test]
fn lost() {
    let mut machine = machine();
    let pointer = decided(&machine);
    machine.lose_journal();
    // What goes on is left as it is, until its cache is known to be gone.
    let out = sent(&machine, 3);
    assert_eq!(out, body(OLDER, 3));
    assert_ne!(result(&out, 1), pointer);
    machine.advance(Duration::from_secs(8_000));
    let out = sent(&machine, 4);
    assert!(result(&out, 1).len() < 500, "after a cold start it is decided anew");
}

#[cfg(unix)]
#[test]
fn taken_away_while_it_is_used() {
    for all in [false, true] {
        let mut machine = machine();
        let pointer = decided(&machine);
        std::fs::remove_file(machine.journal()).unwrap();
        for end in ["-wal", "-shm"] {
            if all {
                let _ = std::fs::remove_file(machine.folder.path().join(format!("decisions.sqlite{end}")));
            }
        }
        // What is known is done again, and what is new is decided: in a journal that others see.
        let out = sent(&machine, 3);
        assert_eq!(result(&out, 1), pointer);
        let second = result(&out, 2);
        assert!(second.len() < 500, "{second}");
        assert!(machine.journal().exists());
        assert_eq!(machine.noted("journal_gone").len(), 1);
        // Moved away; and whoever comes after this process knows it too.
        std::fs::rename(machine.journal(), machine.folder.path().join("away.sqlite")).unwrap();
        let out = sent(&machine, 4);
        assert_eq!((result(&out, 1), result(&out, 2)), (pointer.clone(), second.clone()));
        let third = result(&out, 3);
        for crash in [true, false] {
            match crash {
                true => machine.crash(),
                false => machine.restart(),
            }
            let out = sent(&machine, 4);
            assert_eq!(
                [1, 2, 3].map(|turn| result(&out, turn)),
                [&pointer, &second, &third].map(String::clone)
            );
        }
        machine.set(Settings { keeps_decisions: false, ..Settings::of(Policy::default()) });
        let _ = std::fs::remove_file(machine.journal());
        assert_eq!(result(&sent(&machine, 4), 1), pointer);
        machine.restart();
        assert_eq!(
            result(&sent(&machine, 4), 1),
            pointer,
            "what is needed is kept, whatever the settings say"
        );
        assert!(machine.noted("edit_refused").is_empty());
    }
}

#[test]
fn nothing_can_be_read_from_its_files() {
    let mut machine = machine();
    let pointer = decided(&machine);
    let texts = ["the fox looks at", &pointer[..30], "src/main.rs"];
    assert_eq!(machine.readable(&texts), Vec::<String>::new());
    machine.stop();
    assert_eq!(machine.readable(&texts), Vec::<String>::new());
    machine.go_on();
    assert_eq!(result(&sent(&machine, 3), 1), pointer);
}

#[test]
fn its_key_lost() {
    let mut machine = machine();
    let pointer = decided(&machine);
    let (key, old) = (machine.folder.path().join("originals.key"), machine.folder.path().join("old.key"));
    machine.stop();
    std::fs::rename(&key, &old).unwrap();
    machine.go_on();
    for turns in [3, 4] {
        assert_eq!(sent(&machine, turns), body(OLDER, turns), "it is left as it comes");
    }
    let told = machine.noted("journal_unavailable");
    assert!(told.len() == 1 && told[0].text.contains("sealed with another key"), "{told:?}");
    // Other conversations are not held up by it.
    let other = |turns| {
        let text = String::from_utf8(body(OLDER, turns)).unwrap();
        text.replace("Please do the work.", "Please do another work.").into_bytes()
    };
    machine.turn(0, "t", &other(1));
    let out = machine.turn(0, "t", &other(2)).request.body;
    assert!(result(&out, 1).len() < 500);
    // What could not be opened was not written over.
    machine.stop();
    std::fs::rename(&old, &key).unwrap();
    machine.go_on();
    assert_eq!(result(&sent(&machine, 2), 1), pointer);
}

#[test]
fn a_clock_that_is_wrong_once() {
    let mut machine = machine();
    let pointer = decided(&machine);
    for days in [61, 400] {
        machine.start_ahead(Duration::from_secs(days * 86_400));
        assert_eq!(result(&sent(&machine, 2), 1), pointer);
    }
}

#[test]
fn off() {
    let mut machine = Machine::new(Settings { keeps_decisions: false, ..Settings::of(Policy::default()) }, 1);
    assert_eq!(sent(&machine, 1), body(OLDER, 1));
    assert_eq!(sent(&machine, 2), body(OLDER, 2));
    machine.stop();
    assert!(!machine.journal().exists());
}

/// A conversation in which another large file is read each turn, with cache entries that live as the mark says.
fn reads(mark: &Value, turns: usize) -> Vec<u8> {
    let mut body: Value = serde_json::from_slice(&body(OLDER, turns)).unwrap();
    body["system"][0]["cache_control"] = mark.clone();
    for turn in 0..turns {
        body["messages"][2 * turn + 1]["content"][0]["input"]["file_path"] = json!(format!("src/{turn}.rs"));
        body["messages"][2 * turn + 2]["content"][0]["content"] = json!(long(turn).repeat(3));
    }
    body.to_string().into_bytes()
}

#[test]
fn how_long_a_cache_lives_is_known_after_a_restart() {
    let marks = [json!({ "type": "ephemeral" }), json!({ "type": "ephemeral", "ttl": "1h" })];
    for (mark, cold) in marks.iter().zip([true, false]) {
        for restarts in [false, true] {
            let mut machine = machine();
            let send =
                |machine: &Machine, turns: usize| machine.turn(0, "s", &reads(mark, turns)).request.body;
            for turns in 1..6 {
                machine.advance(Duration::from_secs(20));
                assert_eq!(send(&machine, turns), reads(mark, turns));
            }
            if restarts {
                machine.restart();
            }
            // Longer than two lives of five minutes, and shorter than two hours.
            machine.advance(Duration::from_secs(4_000));
            let first = result(&send(&machine, 6), 0);
            assert_eq!(first.len() < 16_000, cold, "{mark}, {restarts}: {}", first.len());
            machine.stop();
        }
    }
}
