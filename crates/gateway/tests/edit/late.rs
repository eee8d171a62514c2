//! Tools that arrive when the list is cached: told of where they arrive, for those whose account has the beta for that.

use super::machine::Machine;
use deadweight_gateway::edit::Settings;
use deadweight_levers::{Lever, Policy, Profile};
use deadweight_testkit::sessions::{BINDING, OLDER, content, prose};
use deadweight_testkit::strict::Exchange;
use deadweight_testkit::upstream::{Step, Turn};
use serde_json::{Value, json};
use std::time::Duration;

const BETA: &str = "mid-conversation-tool-changes-2026-07-01";

fn settings(late: bool) -> Settings {
    let switches = [(Lever::SteadyPrefix, true)].into();
    Settings::of(Policy { profile: Profile::Faithful, switches, late_tools: late, ..Policy::default() })
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": prose(name.len(), 1_500), "input_schema": { "type": "object" } })
}

/// A conversation of a client that marks the last tool, the system prompt and the end.
struct Talk {
    model: &'static str,
    tools: Vec<Value>,
    messages: Vec<Value>,
}

impl Talk {
    fn new(model: &'static str) -> Self {
        let messages =
            vec![json!({ "role": "user", "content": [{ "type": "text", "text": prose(3, 4_000) }] })];
        Self { model, tools: ["Read", "Edit", "Bash"].map(tool).into(), messages }
    }

    fn body(&self) -> Vec<u8> {
        let mark = json!({ "type": "ephemeral" });
        let (mut tools, mut messages) = (self.tools.clone(), self.messages.clone());
        tools.last_mut().unwrap()["cache_control"] = mark.clone();
        let end = messages.iter_mut().rfind(|message| message["role"] == "user").unwrap();
        end["content"].as_array_mut().unwrap().last_mut().unwrap()["cache_control"] = mark.clone();
        json!({ "model": self.model, "max_tokens": 9, "messages": messages, "tools": tools,
            "thinking": { "type": "adaptive" },
            "system": [{ "type": "text", "text": prose(5, 3_000), "cache_control": mark }] })
        .to_string()
        .into_bytes()
    }

    /// The model thinks and answers, and the user says something new. What arrived.
    fn step(&mut self, machine: &Machine) -> Exchange {
        machine.advance(Duration::from_secs(20));
        let number = self.messages.len();
        let thought = Step::Thinking { text: format!("thought {number}"), signature: String::new() };
        machine.say(Turn::default().then(thought).then(Step::Text(format!("Answer {number}."))));
        let exchange = machine.turn(0, "s", &self.body());
        let accepted = exchange.verdict.accepted().unwrap_or_else(|| panic!("{:?}", exchange.verdict));
        assert_eq!(accepted.dropped().count(), 0);
        let said = content(exchange.turn.as_ref().unwrap());
        self.messages.push(json!({ "role": "assistant", "content": said }));
        self.messages.push(
            json!({ "role": "user", "content": [{ "type": "text", "text": format!("{number}: go on") }] }),
        );
        exchange
    }
}

fn arrived(exchange: &Exchange) -> Value {
    serde_json::from_slice(&exchange.request.body).unwrap()
}

/// The names of the tools of the list that are in the prompt, and of those that wait.
fn listed(exchange: &Exchange) -> (Vec<String>, Vec<String>) {
    let tools = arrived(exchange)["tools"].as_array().unwrap().clone();
    let waits = |tool: &Value| tool["defer_loading"] == true;
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let (wait, stay): (Vec<Value>, Vec<Value>) = tools.into_iter().partition(waits);
    (stay.iter().map(name).collect(), wait.iter().map(name).collect())
}

/// What the system says in between: the place, and each change.
fn said(exchange: &Exchange) -> Vec<(usize, Vec<String>)> {
    let body = arrived(exchange);
    let own = body["messages"].as_array().unwrap().iter().enumerate();
    own.filter(|(_, message)| message["role"] == "system")
        .map(|(at, message)| {
            let blocks = message["content"].as_array().unwrap().iter();
            let one = |block: &Value| {
                let kind = block["type"].as_str().unwrap().trim_start_matches("tool_");
                format!("{kind} {}", block["tool"]["name"].as_str().unwrap())
            };
            (at, blocks.map(one).collect())
        })
        .collect()
}

fn read(exchange: &Exchange) -> u64 {
    exchange.bill.unwrap().usage.read
}

fn has_beta(exchange: &Exchange) -> bool {
    exchange.request.header("anthropic-beta").is_some_and(|betas| betas.contains(BETA))
}

#[test]
fn what_is_cached_stays_and_what_was_said_is_said_for_ever() {
    for model in [OLDER, BINDING] {
        let mut machine = Machine::new(settings(true), 1);
        let mut talk = Talk::new(model);
        let first = talk.step(&machine);
        assert!(!has_beta(&first) && said(&first).is_empty());
        talk.tools.push(tool("Late"));
        let second = talk.step(&machine);
        assert_eq!(listed(&second).0, ["Read", "Edit", "Bash"]);
        assert_eq!(said(&second), [(3, vec!["addition Late".to_owned()])]);
        assert!(has_beta(&second) && read(&second) > 2_000, "{model}: {:?}", second.bill);
        // The same again, whatever happens to the gateway, its settings and the order of tools.
        let before = arrived(&second)["messages"][3].to_string();
        machine.restart();
        talk.tools.swap(0, 1);
        let third = talk.step(&machine);
        assert_eq!(
            (arrived(&third)["messages"][3].to_string(), listed(&third).0),
            (before, listed(&second).0)
        );
        machine.set(settings(false));
        let fourth = talk.step(&machine);
        assert!(read(&fourth) > read(&third) && read(&third) > read(&second));
        assert_eq!(said(&fourth), said(&second));
        machine.set(settings(true));
        // Two more, of which one goes again, and comes back.
        talk.tools.extend(["More", "Most"].map(tool));
        let fifth = talk.step(&machine);
        assert_eq!(said(&fifth)[1], (10, vec!["addition More".to_owned(), "addition Most".to_owned()]));
        let most = talk.tools.pop().unwrap();
        let sixth = talk.step(&machine);
        assert_eq!(said(&sixth)[2].1, ["removal Most"]);
        assert_eq!(listed(&sixth).1, ["Late", "More", "Most"], "what is said of it needs it");
        talk.tools.push(most);
        let seventh = talk.step(&machine);
        assert_eq!(said(&seventh)[3].1, ["addition Most"]);
        let eighth = talk.step(&machine);
        let reads = [&fifth, &sixth, &seventh, &eighth].map(read);
        assert!(reads.windows(2).all(|two| two[0] < two[1]), "{model}: {reads:?}");
        machine.stop();
        assert!(machine.noted("edit_refused").is_empty());
    }
}

#[test]
fn it_is_asked_for_and_needs_what_it_needs() {
    // Without the opt-in, on a model that does not know it, and where it cannot be written down: as it came.
    let none = Settings { keeps_decisions: false, ..settings(true) };
    for (settings, model) in [(settings(false), OLDER), (settings(true), "claude-opus-4-7"), (none, OLDER)] {
        let machine = Machine::new(settings, 1);
        let mut talk = Talk::new(model);
        talk.step(&machine);
        talk.tools.push(tool("Late"));
        let body = talk.body();
        let second = talk.step(&machine);
        // What stands before the new tool is all that is read.
        assert!(second.request.body == body && read(&second) < 1_500, "{:?}", second.bill);
    }
    // What is cached goes or changes: no saying helps.
    let machine = Machine::new(settings(true), 1);
    let mut talk = Talk::new(OLDER);
    talk.step(&machine);
    talk.tools[0] = tool("Other");
    talk.tools.push(tool("Late"));
    let body = talk.body();
    assert!(talk.step(&machine).request.body == body);
    let records = machine.records(2);
    let steady = records[1].levers.iter().find(|own| own.lever == "steady-prefix").unwrap();
    assert_eq!((steady.edited, steady.reason.as_str()), (false, "set_changed"));
}

#[test]
fn a_branch_says_what_it_may_where_it_may() {
    let machine = Machine::new(settings(true), 1);
    let mut talk = Talk::new(OLDER);
    talk.step(&machine);
    talk.tools.push(tool("Late"));
    talk.step(&machine);
    // The answer is thrown away, and the user speaks on: between two messages of the user's nothing may be said, so it is said
    // at the end.
    talk.messages.remove(3);
    let next = talk.step(&machine);
    assert_eq!(said(&next), [(4, vec!["addition Late".to_owned()])]);
    let after = talk.step(&machine);
    assert_eq!(said(&after), [(4, vec!["addition Late".to_owned()])]);
    // A retry is the same request.
    talk.messages.truncate(talk.messages.len() - 2);
    let again = talk.step(&machine);
    assert!(again.request.body == after.request.body);
}

#[test]
fn a_definition_that_changes_is_told_of_from_where_it_came() {
    let machine = Machine::new(settings(true), 1);
    let mut talk = Talk::new(OLDER);
    talk.step(&machine);
    talk.tools.push(tool("Late"));
    let second = talk.step(&machine);
    talk.tools[3]["description"] = "Another one.".into();
    let third = talk.step(&machine);
    assert_eq!(said(&third), said(&second));
    assert!(arrived(&third)["tools"][3]["description"] == "Another one.");
    // The list before it is read all the same.
    assert!(read(&third) > 1_000);
}
