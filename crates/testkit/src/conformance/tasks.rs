//! Tasks: tools that go on after their call was answered.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::content::{fails, form, says};
use super::protocol::{Answer, Fault};

/// What a task does. Its state follows from the time and the answers it was given; nothing runs.
#[derive(Debug, Clone)]
pub(super) enum Job {
    /// Computes so long.
    Computes { time: Duration, label: String },
    /// Fails as a tool, after a while.
    Fails,
    /// Fails as the protocol does.
    Breaks,
    /// Asks these questions and goes on when all are answered.
    Asks { questions: Vec<(&'static str, &'static str)> },
    /// Greets.
    Greets { name: String },
}

#[derive(Debug)]
struct Task {
    job: Job,
    begun: Instant,
    created: String,
    updated: String,
    cancelled: bool,
    answered: Vec<String>,
}

/// All tasks of a server.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    tasks: Mutex<BTreeMap<String, Task>>,
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task; what is returned answers the call.
    pub(super) fn create(&self, job: Job) -> Value {
        let now = now();
        let mut tasks = self.lock();
        let id = format!("task-{}", tasks.len() + 1);
        let task = Task {
            job,
            begun: Instant::now(),
            created: now.clone(),
            updated: now,
            cancelled: false,
            answered: Vec::new(),
        };
        let mut result = head(&id, &task, "working");
        result["resultType"] = "task".into();
        tasks.insert(id, task);
        result
    }

    /// `tasks/get`, `tasks/update` and `tasks/cancel`.
    pub(super) fn answer(&self, method: &str, params: &Value) -> Answer {
        let id = params["taskId"].as_str().unwrap_or_default();
        let mut tasks = self.lock();
        let Some(task) = tasks.get_mut(id) else { return Err(Fault::invalid("there is no such task")) };
        match method {
            "tasks/get" => return Ok(task.state(id)),
            "tasks/cancel" => task.cancelled |= !task.is_over(),
            _ => {
                let questions = task.questions();
                for (key, _) in params["inputResponses"].as_object().into_iter().flatten() {
                    if questions.contains_key(key) {
                        task.answered.push(key.clone());
                    }
                }
            }
        }
        task.updated = now();
        Ok(json!({}))
    }
}

impl Task {
    /// The questions that are still open.
    fn questions(&self) -> Map<String, Value> {
        let Job::Asks { questions } = &self.job else { return Map::new() };
        questions
            .iter()
            .filter(|(key, _)| !self.answered.iter().any(|answered| answered == key))
            .map(|(key, message)| {
                let params = form(message, &json!({ "confirm": { "type": "boolean" } }));
                ((*key).to_owned(), json!({ "method": "elicitation/create", "params": params }))
            })
            .collect()
    }

    /// The result or error it ended with.
    fn outcome(&self) -> Option<Answer> {
        match &self.job {
            Job::Computes { time, label } => {
                (self.begun.elapsed() >= *time).then(|| Ok(says(format!("Computed {label}."))))
            }
            Job::Fails => {
                (self.begun.elapsed() >= Duration::from_secs(1)).then(|| Ok(fails("The job failed.")))
            }
            Job::Breaks => Some(Err(Fault::new(-32603, "the job broke"))),
            Job::Asks { .. } => self.questions().is_empty().then(|| Ok(says("All is answered."))),
            Job::Greets { name } => Some(Ok(says(format!("Hello, {name}!")))),
        }
    }

    fn is_over(&self) -> bool {
        self.cancelled || self.outcome().is_some()
    }

    fn state(&self, id: &str) -> Value {
        let questions = self.questions();
        if self.cancelled {
            return head(id, self, "cancelled");
        }
        match self.outcome() {
            Some(Ok(mut result)) => {
                result["resultType"] = "complete".into();
                let mut state = head(id, self, "completed");
                state["result"] = result;
                state
            }
            Some(Err(fault)) => {
                let mut state = head(id, self, "failed");
                state["error"] = fault.json();
                state
            }
            None if questions.is_empty() => head(id, self, "working"),
            None => {
                let mut state = head(id, self, "input_required");
                state["inputRequests"] = Value::Object(questions);
                state
            }
        }
    }
}

fn head(id: &str, task: &Task, status: &str) -> Value {
    json!({
        "taskId": id,
        "status": status,
        "createdAt": task.created,
        "lastUpdatedAt": task.updated,
        "ttlMs": 600_000,
        "pollIntervalMs": 100
    })
}

/// The time as ISO 8601 writes it.
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    iso(seconds)
}

fn iso(seconds: u64) -> String {
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{:02}Z", days + 1, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_leap_years() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso(1_796_083_199), "2026-11-30T23:59:59Z");
    }

    #[test]
    fn a_task_with_two_questions_waits_for_both() {
        let tasks = Tasks::default();
        let made = tasks.create(Job::Asks { questions: vec![("a", "A?"), ("b", "B?")] });
        let id = made["taskId"].clone();
        let get = || tasks.answer("tasks/get", &json!({ "taskId": id })).unwrap();
        let tell = |key: &str| {
            let params = json!({ "taskId": id, "inputResponses": { (key): {} } });
            tasks.answer("tasks/update", &params).unwrap()
        };
        assert_eq!(get()["inputRequests"].as_object().unwrap().len(), 2);
        tell("a");
        tell("no such question");
        assert_eq!(get()["status"], "input_required");
        tell("b");
        assert_eq!(get()["status"], "completed");
    }
}
