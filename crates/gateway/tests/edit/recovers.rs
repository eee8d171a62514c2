//! The one refusal that is allowed: the journal of a conversation with bound thinking is lost. It goes to the client as it
//! came, and, where the user asked for that, it stays the only one.

use super::faults::{long, result};
use super::machine::{Machine, Reply};
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_testkit::sessions::{BINDING, content};
use deadweight_testkit::strict::Exchange;
use deadweight_testkit::upstream::{Call, Step, Turn};
use serde_json::{Value, json};
use std::time::Duration;

const BETA: &str = "thinking-binding-controls-2026-08-01";

fn settings(recovers: bool) -> Settings {
    let switches = [(Lever::RecoverBound, recovers)].into();
    Settings::of(Policy { edit_bound: true, switches, ..Policy::default() })
}

/// A conversation in which the same file is read again and again, and the model thinks each time.
struct Talk {
    messages: Vec<Value>,
    thinking: Option<Value>,
    system: &'static str,
}

impl Talk {
    fn new() -> Self {
        Self {
            messages: vec![json!({ "role": "user", "content": "Please do the work." })],
            thinking: Some(json!({ "type": "adaptive", "display": "summarized" })),
            system: "s",
        }
    }

    fn body(&self) -> Vec<u8> {
        let tools =
            ["Read", "restore"].map(|name| json!({ "name": name, "input_schema": { "type": "object" } }));
        let mut body = json!({ "model": BINDING, "max_tokens": 9, "messages": self.messages, "tools": tools,
            "system": [{ "type": "text", "text": self.system, "cache_control": { "type": "ephemeral" } }] });
        if let Some(thinking) = &self.thinking {
            body["thinking"] = thinking.clone();
        }
        body.to_string().into_bytes()
    }

    fn post(&self, machine: &Machine, path: &str) -> (Reply, Exchange) {
        machine.advance(Duration::from_secs(20));
        let headers = [
            ("x-claude-code-session-id", "s"),
            ("x-api-key", "sk-ant-api03-test"),
            ("anthropic-beta", "one, two"),
        ];
        let reply = machine.post(0, path, &headers, &self.body());
        (reply, machine.provider.take_exchanges().pop().unwrap())
    }

    /// The model thinks and reads the file once more; the client keeps that. What arrived.
    fn step(&mut self, machine: &Machine) -> Exchange {
        let number = self.messages.len();
        let id = format!("toolu_{number}");
        let thought = Step::Thinking { text: format!("thought {number}"), signature: String::new() };
        let call = Call::new(&id, "Read", json!({ "file_path": "src/main.rs" }));
        machine.say(Turn::default().then(thought).then(Step::Call(call)));
        let (reply, exchange) = self.post(machine, "/v1/messages");
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        let said = content(exchange.turn.as_ref().unwrap());
        self.messages.push(json!({ "role": "assistant", "content": said }));
        self.messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": long(1) }
        ]}));
        exchange
    }
}

fn binding(exchange: &Exchange) -> Value {
    let body: Value = serde_json::from_slice(&exchange.request.body).unwrap();
    body["thinking"]["block_binding"].clone()
}

fn betas(exchange: &Exchange) -> &str {
    exchange.request.header("anthropic-beta").unwrap()
}

fn dropped(exchange: &Exchange) -> Vec<String> {
    exchange.verdict.accepted().unwrap().dropped().map(|own| own.path.clone()).collect()
}

/// Three steps, of which the last was edited; then the journal is gone, and the next request is refused.
fn refused(recovers: bool) -> (Machine, Talk) {
    let mut machine = Machine::new(settings(recovers), 1);
    let mut talk = Talk::new();
    (0..2).for_each(|_| drop(talk.step(&machine)));
    let edited = talk.step(&machine);
    assert!(result(&edited.request.body, 1).len() < 500);
    assert_eq!((betas(&edited), binding(&edited)), ("one, two", Value::Null));
    machine.lose_journal();
    let (reply, exchange) = talk.post(&machine, "/v1/messages");
    let refusal = exchange.verdict.refusal().unwrap();
    assert_eq!((reply.status, refusal.rule.id()), (400, "anthropic.thinking.prefix"));
    assert!(refusal.message.starts_with("messages.5.content.0: "), "{}", refusal.message);
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(answer, refusal.body(), "it passes as it came");
    assert_eq!(exchange.request.body, talk.body(), "nothing was decided about it");
    let notes = machine.noted("thinking_refused");
    let field = |name| notes[0].fields.iter().find(|(own, _)| *own == name).unwrap().1.clone();
    assert_eq!((notes.len(), field("rule").as_str()), (1, "thinking_bound"));
    assert_eq!((field("place").as_str(), field("recovers")), ("messages.5.content.0", recovers.to_string()));
    (machine, talk)
}

#[test]
fn it_is_the_only_one_and_the_session_goes_on() {
    let (mut machine, mut talk) = refused(true);
    let drop = json!({ "prefix_mismatch_behavior": "drop_block" });
    let first = talk.step(&machine);
    assert_eq!(
        (betas(&first), binding(&first)),
        ("one, two,thinking-binding-controls-2026-08-01", drop.clone())
    );
    // Nothing else differs, and what the provider cannot use is dropped: the one thought behind what had been edited.
    let put = format!(",\"block_binding\":{drop}");
    let sent = String::from_utf8(first.request.body.clone()).unwrap();
    assert_eq!(sent.replacen(&put, "", 1).len(), sent.len() - put.len());
    assert_eq!(dropped(&first), ["messages.5.content.0"]);
    // It goes on for ever: after a restart, where it is switched off, where nothing is decided, and for counts.
    for settings in [
        settings(true),
        settings(false),
        Settings::of(Policy { profile: Profile::Faithful, ..Policy::default() }),
        Settings { keeps_decisions: false, ..settings(true) },
    ] {
        machine.set(settings);
        machine.restart();
        let next = talk.step(&machine);
        assert_eq!((binding(&next), dropped(&next).len()), (drop.clone(), 1));
        assert!(betas(&next).ends_with(BETA));
        let (reply, counted) = talk.post(&machine, "/v1/messages/count_tokens");
        assert_eq!((reply.status, binding(&counted)), (200, drop.clone()));
    }
    machine.stop();
    let records = machine.records(12);
    let action = |at: usize| {
        let levers: &Vec<_> = &records[at].levers;
        levers.iter().find(|own| own.lever == "recover-bound").unwrap().clone()
    };
    assert_eq!((action(0).edited, action(0).reason.as_str()), (false, "nothing_refused"));
    assert_eq!((action(4).edited, action(4).replayed, action(4).splices), (true, 1, 1));
    assert_eq!(machine.noted("thinking_refused").len(), 1);
}

#[test]
fn what_is_said_anew_behind_it_is_edited_as_before() {
    let (machine, mut talk) = refused(true);
    talk.step(&machine);
    let next = talk.step(&machine);
    let results: Vec<usize> = (0..4).map(|turn| result(&next.request.body, turn).len()).collect();
    assert!(results[..3].iter().all(|length| *length == long(1).len()), "{results:?}");
    assert!(results[3] < 500, "{results:?}");
    let after = talk.step(&machine);
    assert_eq!(dropped(&after), ["messages.5.content.0"]);
}

#[test]
fn a_branch_that_holds_the_message_is_one_case_with_it_and_another_is_not() {
    let (machine, mut talk) = refused(true);
    let before = Talk { messages: talk.messages[..5].to_vec(), ..Talk::new() };
    talk.messages.last_mut().unwrap()["content"][0]["content"] = json!("another answer");
    let branch = talk.step(&machine);
    assert_eq!(binding(&branch)["prefix_mismatch_behavior"], "drop_block");
    let (reply, exchange) = before.post(&machine, "/v1/messages");
    assert_eq!((reply.status, binding(&exchange)), (200, Value::Null));
}

#[test]
fn without_the_opt_in_nothing_is_added() {
    let (machine, talk) = refused(false);
    for _ in 0..2 {
        let (reply, exchange) = talk.post(&machine, "/v1/messages");
        assert_eq!((reply.status, betas(&exchange)), (400, "one, two"));
        assert_eq!(exchange.request.body, talk.body());
    }
}

#[test]
fn a_request_that_says_nothing_of_thinking_says_so_then() {
    let (machine, mut talk) = refused(true);
    talk.thinking = None;
    let first = talk.step(&machine);
    let body: Value = serde_json::from_slice(&first.request.body).unwrap();
    let put = json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    assert_eq!((&body["thinking"], dropped(&first).len()), (&put, 1));
    // What the client says itself, and what nobody has written down, stays.
    for thinking in [
        json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "error" } }),
        json!({ "type": "disabled" }),
        json!({ "type": "enabled", "budget_tokens": 2_000 }),
    ] {
        talk.thinking = Some(thinking);
        let (_, exchange) = talk.post(&machine, "/v1/messages");
        assert_eq!(exchange.request.body, talk.body());
    }
}

#[test]
fn what_the_client_did_itself_is_not_mended() {
    let machine = Machine::new(settings(true), 1);
    let mut talk = Talk::new();
    (0..2).for_each(|_| drop(talk.step(&machine)));
    // It changes its system prompt: what was said is known here, and none of it was changed.
    talk.system = "t";
    talk.messages.truncate(3);
    for _ in 0..2 {
        let (reply, exchange) = talk.post(&machine, "/v1/messages");
        assert_eq!((reply.status, exchange.request.body), (400, talk.body()));
    }
    assert!(machine.noted("thinking_refused").is_empty());
}

#[test]
fn a_count_that_is_refused_is_enough() {
    let mut machine = Machine::new(settings(true), 1);
    let mut talk = Talk::new();
    (0..3).for_each(|_| drop(talk.step(&machine)));
    machine.lose_journal();
    let (reply, _) = talk.post(&machine, "/v1/messages/count_tokens");
    assert_eq!(reply.status, 400);
    let next = talk.step(&machine);
    assert_eq!(dropped(&next), ["messages.5.content.0"]);
}
