//! What is looked at where requests arrive: whether the provider sees what it saw before, and whether anything is lost.

use crate::strict::hash;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

type Hash = [u8; 32];

/// What one request looks like from outside: without marks, a string as one text block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    tools: Option<Hash>,
    system: Option<Hash>,
    messages: Vec<Hash>,
}

/// Of each conversation the last request, as the client made it and as it arrived.
#[derive(Debug, Default)]
pub(super) struct Door {
    last: BTreeMap<Option<usize>, (Seen, Seen)>,
}

/// What was found wrong with one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// What the provider had seen otherwise.
    pub(super) rewritten: Option<String>,
    /// Thinking blocks of the client's that did not arrive, though the rest of their message did.
    pub(super) thinking: usize,
    /// Thinking blocks that were left out together with the whole message that they stood in.
    pub(super) left_out: usize,
    /// Calls without their one result in the next message, and results without their call.
    pub(super) orphans: usize,
}

/// Whether a value is the mark of a breakpoint does not depend on where it stands.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(kept.map(|(key, value)| (key.clone(), plain(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

fn own(value: &Value) -> Hash {
    hash(&[plain(value).to_string().as_bytes()])
}

fn message(value: &Value) -> Hash {
    let mut whole = plain(value);
    if let Some(text) = whole["content"].as_str().map(str::to_owned) {
        whole["content"] = serde_json::json!([{ "type": "text", "text": text }]);
    }
    own(&whole)
}

impl Seen {
    fn of(body: &Value) -> Self {
        // Deferred definitions stand outside of the prompt until something refers to them.
        let resident = body["tools"].as_array().map(|tools| {
            let kept = tools.iter().filter(|tool| tool["defer_loading"] != true);
            own(&Value::Array(kept.cloned().collect()))
        });
        Self {
            tools: resident,
            system: body.get("system").map(own),
            messages: body["messages"].as_array().into_iter().flatten().map(message).collect(),
        }
    }
}

fn blocks(body: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.enumerate().flat_map(|(at, message)| {
        message["content"].as_array().into_iter().flatten().map(move |block| (at, block))
    })
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// Of each message of the model's: what it is without its thinking, and how many blocks of that it has.
fn thinking(body: &Value) -> Vec<(Hash, usize)> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let of = |message: &Value| {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let (thought, rest): (Vec<Value>, Vec<Value>) = blocks.into_iter().partition(is_thinking);
        (own(&Value::Array(rest)), thought.len())
    };
    messages.filter(|message| message["role"] == "assistant").map(of).collect()
}

/// Thinking that was taken out of its message, and thinking that went with it.
fn lost(client: &Value, sent: &Value) -> (usize, usize) {
    let mut arrived = thinking(sent);
    let (mut taken, mut left) = (0, 0);
    // From the end, since what is left out stands further in front.
    for (rest, count) in thinking(client).into_iter().rev() {
        match arrived.iter().rposition(|(own, _)| *own == rest) {
            Some(at) => taken += count.saturating_sub(arrived.remove(at).1),
            None => left += count,
        }
    }
    (taken, left)
}

/// Calls and results that have no partner where it has to stand.
fn orphans(body: &Value) -> usize {
    let named = |kind: &str, key: &str| -> BTreeSet<(usize, String)> {
        let own = blocks(body).filter(|(_, block)| block["type"] == kind);
        own.map(|(at, block)| (at, block[key].as_str().unwrap_or_default().to_owned())).collect()
    };
    let (calls, results) = (named("tool_use", "id"), named("tool_result", "tool_use_id"));
    let end = body["messages"].as_array().map_or(0, Vec::len);
    let left =
        calls.iter().filter(|(at, id)| at + 1 < end && !results.contains(&(at + 1, id.clone()))).count();
    let over = results.iter().filter(|(at, id)| *at == 0 || !calls.contains(&(at - 1, id.clone()))).count();
    left + over
}

impl Door {
    /// Looks at a request of a conversation. `free`: what the provider has cached of it is gone, or what was decided about
    /// it is lost, so that it may arrive otherwise than before.
    pub(super) fn look(
        &mut self,
        conversation: Option<usize>,
        client: &Value,
        sent: &Value,
        free: bool,
    ) -> Found {
        let now = (Seen::of(client), Seen::of(sent));
        let rewritten = match self.last.get(&conversation) {
            Some(before) if !free => differs(before, &now),
            _ => None,
        };
        self.last.insert(conversation, now);
        let (thinking, left_out) = if client == sent { (0, 0) } else { lost(client, sent) };
        Found { rewritten, thinking, left_out, orphans: orphans(sent).saturating_sub(orphans(client)) }
    }
}

/// What arrived otherwise than before, although the client said the same.
fn differs(before: &(Seen, Seen), now: &(Seen, Seen)) -> Option<String> {
    let ((client_before, sent_before), (client, sent)) = (before, now);
    if client_before.tools == client.tools && sent_before.tools != sent.tools {
        return Some("tools".to_owned());
    }
    if client_before.system == client.system && sent_before.system != sent.system {
        return Some("system".to_owned());
    }
    let same =
        client_before.messages.iter().zip(&client.messages).take_while(|(one, other)| one == other).count();
    let even = sent_before.messages.len() == client_before.messages.len()
        && sent.messages.len() == client.messages.len();
    let held = match even {
        true => same,
        // Where messages are put together, only a history that goes on can be compared.
        false if same == client_before.messages.len() => sent_before.messages.len(),
        false => 0,
    };
    let differs = (0..held).find(|at| sent_before.messages.get(*at) != sent.messages.get(*at))?;
    Some(format!("messages.{differs} of {}", sent.messages.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    type Change = fn(&mut Value);

    fn body(messages: Value) -> Value {
        json!({ "model": "m", "tools": [{ "name": "a" }, { "name": "b" }], "system": "s", "messages": messages })
    }

    fn first() -> Value {
        body(json!([{ "role": "user", "content": "go" }]))
    }

    fn second() -> Value {
        body(json!([
            { "role": "user", "content": [{ "type": "text", "text": "go", "cache_control": {} }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "t" }, { "type": "tool_use", "id": "1", "name": "a" }
            ] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "r" }] }
        ]))
    }

    fn looked(change: impl FnOnce(&mut Value), free: bool) -> Found {
        let mut door = Door::default();
        assert_eq!(door.look(None, &first(), &first(), false), Found::default());
        let mut sent = second();
        change(&mut sent);
        door.look(None, &second(), &sent, free)
    }

    #[test]
    fn what_only_grows_is_let_pass() {
        assert_eq!(looked(|_| {}, false), Found::default());
        // A result is sent for the first time, so it may go out as it likes.
        assert_eq!(
            looked(|sent| sent["messages"][2]["content"][0]["content"] = json!("x"), false),
            Found::default()
        );
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let changes: [(Change, &str); 3] = [
            (|sent| sent["messages"][0]["content"] = json!("gone"), "messages.0 of 3"),
            (|sent| sent["tools"] = json!([{ "name": "b" }, { "name": "a" }]), "tools"),
            (|sent| sent["system"] = json!("other"), "system"),
        ];
        for (change, what) in changes {
            assert_eq!(looked(change, false).rewritten.as_deref(), Some(what));
            assert_eq!(looked(change, true).rewritten, None);
        }
    }

    #[test]
    fn what_is_lost_is_counted() {
        let found =
            looked(|sent| drop(sent["messages"][1]["content"].as_array_mut().unwrap().remove(0)), false);
        assert_eq!((found.thinking, found.orphans), (1, 0));
        let found =
            looked(|sent| drop(sent["messages"][1]["content"].as_array_mut().unwrap().remove(1)), false);
        assert_eq!((found.thinking, found.orphans, found.left_out), (0, 1, 1), "it is another message");
        let found = looked(|sent| drop(sent["messages"].as_array_mut().unwrap().drain(1..)), true);
        assert_eq!((found.thinking, found.orphans, found.left_out), (0, 0, 1));
        let found = looked(|sent| sent["messages"][2]["content"] = json!("nothing"), true);
        assert_eq!(found.orphans, 1);
        let found = looked(
            |sent| sent["messages"].as_array_mut().unwrap().push(json!({ "role": "user", "content": "x" })),
            false,
        );
        assert_eq!(found.orphans, 0);
    }
}
