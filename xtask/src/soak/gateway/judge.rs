//! What must hold of two runs of a client, the one straight to its provider and the other through the gateway.

use deadweight_testkit::upstream::Recorded;
use serde_json::Value;

use super::Ran;
use super::script::Billed;
use crate::{Failure, Result};

/// Headers that a connection, and not the client's behaviour, decides.
const OF_CONNECTIONS: [&str; 3] = ["host", "connection", "content-length"];

/// Fails, naming what does not hold.
fn holds(condition: bool, what: impl Fn() -> String) -> Result {
    if condition { Ok(()) } else { Err(Failure::new(what())) }
}

/// The client sent the same requests, in the same order, and the same came of it.
pub(super) fn same(direct: &Ran, through: &Ran) -> Result {
    same_by(direct, through, Value::clone)
}

/// The same, where the gateway may have set breakpoints.
pub(super) fn same_but_marks(direct: &Ran, through: &Ran) -> Result {
    same_by(direct, through, unmarked)
}

/// A request without breakpoints. A text that gets one becomes a list of one block.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| *name != "cache_control");
            let plain = kept.map(|(name, value)| match (name.as_str(), value) {
                ("content" | "system", Value::String(text)) => {
                    (name.clone(), serde_json::json!([{ "type": "text", "text": text }]))
                }
                _ => (name.clone(), unmarked(value)),
            });
            Value::Object(plain.collect())
        }
        Value::Array(elements) => Value::Array(elements.iter().map(unmarked).collect()),
        other => other.clone(),
    }
}

fn same_by(direct: &Ran, through: &Ran, look: fn(&Value) -> Value) -> Result {
    holds(direct.ended == through.ended, || {
        format!(
            "the client ends with {} without the gateway, with {} through it",
            direct.ended, through.ended
        )
    })?;
    let (before, after) = (calls(direct), calls(through));
    holds(before == after, || {
        format!("the server was called {before:?} without the gateway, {after:?} through it")
    })?;
    let (before, after) = (main(direct), main(through));
    holds(before.len() == after.len(), || {
        let list = |all: &[&Recorded]| all.iter().map(|one| one.path.clone()).collect::<Vec<_>>().join(" ");
        format!(
            "{} requests without the gateway ({}), {} through it ({})",
            before.len(),
            list(&before),
            after.len(),
            list(&after)
        )
    })?;
    for (number, (one, other)) in before.iter().zip(&after).enumerate() {
        holds(one.method == other.method && steady(&one.path) == steady(&other.path), || {
            format!("request {number}: {} without the gateway, {} through it", one.path, other.path)
        })?;
        let (own, seen) = (headers(one), headers(other));
        holds(own == seen, || {
            let lacks: Vec<_> = own.iter().filter(|header| !seen.contains(header)).collect();
            let more: Vec<_> = seen.iter().filter(|header| !own.contains(header)).collect();
            format!(
                "request {number}: headers are missing: {lacks:?}; others came: {more:?}; or their order differs"
            )
        })?;
        let (own, seen) = (body(one, look), body(other, look));
        holds(own == seen, || {
            let at = own.bytes().zip(seen.bytes()).take_while(|(one, other)| one == other).count();
            let near = |text: &str| {
                let from = text.floor_char_boundary(at.saturating_sub(120));
                let to = text.floor_char_boundary(at + 120);
                text[from..to.max(from)].to_owned()
            };
            format!("request {number}: bodies differ: without …{}…; through …{}…", near(&own), near(&seen))
        })?;
    }
    Ok(())
}

/// What was called at the server, with what.
fn calls(ran: &Ran) -> Vec<(String, String)> {
    let calls = ran.received.iter().filter(|message| message["method"] == "tools/call");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    calls.map(|call| (text(&call["params"]["name"]), call["params"]["arguments"].to_string())).collect()
}

/// The requests of the conversation. What a client asks beside it, it asks when it comes to it.
fn main(ran: &Ran) -> Vec<&Recorded> {
    ran.requests.iter().filter(|request| ran.is_conversation(request)).collect()
}

/// The names of a request's headers in their order, with the values of those that say what the client wants.
fn headers(request: &Recorded) -> Vec<(String, String)> {
    let told =
        ["accept", "content-type", "anthropic-version", "anthropic-beta", "user-agent", "accept-encoding"];
    request
        .headers
        .iter()
        .filter(|(name, _)| !OF_CONNECTIONS.contains(&name.to_ascii_lowercase().as_str()))
        .map(|(name, value)| {
            let value = if told.contains(&name.to_ascii_lowercase().as_str()) { value.as_str() } else { "" };
            (name.clone(), value.to_owned())
        })
        .collect()
}

/// A body without what is another one in every run. Some clients write members in another order each time.
fn body(request: &Recorded, look: fn(&Value) -> Value) -> String {
    let text = String::from_utf8_lossy(&request.body);
    let text = serde_json::from_str(&text)
        .map_or_else(|_| text.into_owned(), |value: Value| look(&value).to_string());
    steady(&sorted(&text).unwrap_or(text))
}

/// A JSON object with its members in order, and so the objects within it and within its texts; `None` for anything else.
fn sorted(text: &str) -> Option<String> {
    fn sort(value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: Vec<(String, Value)> =
                    members.into_iter().map(|(name, value)| (name, sort(value))).collect();
                members.sort_by(|one, other| one.0.cmp(&other.0));
                Value::Object(members.into_iter().collect())
            }
            Value::Array(elements) => Value::Array(elements.into_iter().map(sort).collect()),
            Value::String(text) => Value::String(sorted(&text).unwrap_or(text)),
            other => other,
        }
    }
    match serde_json::from_str(text).ok()? {
        object @ Value::Object(_) => Some(sort(object).to_string()),
        _ => None,
    }
}

/// A text without what is another one in every run: ids, times, ports.
fn steady(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let close = |word: &mut String, out: &mut String| {
        if word.bytes().any(|byte| byte.is_ascii_digit()) {
            out.push('#');
        } else {
            out.push_str(word);
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+') {
            word.push(c);
        } else {
            close(&mut word, &mut out);
            out.push(c);
        }
    }
    close(&mut word, &mut out);
    out
}

/// Whether a sum is of what we count ourselves.
fn is_ours(name: &str) -> bool {
    matches!(name, "requests" | "bodies" | "unchanged" | "turns" | "failed")
}

/// A sum that is told at the end, or why it is not the one that is expected.
fn told(through: &Ran, name: &str, expected: u64) -> Result {
    let told = through.report.pointer(&format!("/totals/{name}")).unwrap_or(&Value::Null);
    // What was not told is nothing, not 0.
    holds(told.as_u64() == (expected > 0 || is_ours(name)).then_some(expected), || {
        format!("{name}: the provider says {expected}, the report {told}")
    })
}

/// What is told at the end is what the provider billed.
pub(super) fn billed(through: &Ran) -> Result {
    let Billed { turns, prompt, cache_read, cache_write, output } = through.billed;
    told(through, "turns", turns)?;
    told(through, "prompt", prompt)?;
    told(through, "cache_read", cache_read)?;
    told(through, "cache_write", cache_write)?;
    told(through, "output", output)
}

/// What is told at the end is what the provider saw and billed; nothing failed, and no body was changed.
pub(super) fn seen(through: &Ran) -> Result {
    told(through, "requests", through.requests.len() as u64)?;
    let bodies = through.requests.iter().filter(|request| !request.body.is_empty()).count() as u64;
    told(through, "bodies", bodies)?;
    told(through, "unchanged", bodies)?;
    told(through, "failed", 0)?;
    billed(through)?;
    let floor = &through.report["floor"];
    holds(floor["tokens"].as_u64().is_some_and(|tokens| tokens > 0), || {
        format!("the report has no floor: {floor}")
    })
}

/// Refusals and broken streams are told as what they were.
pub(super) fn failures(through: &Ran, refused: &[(&str, u64)]) -> Result {
    let told = &through.report["totals"]["failures"];
    for (how, times) in refused {
        holds(told[how].as_u64() == Some(*times), || {
            format!("{how} happened {times} times; the report says {told}")
        })?;
    }
    Ok(())
}

/// The server's name is known, and what was called.
pub(super) fn called(through: &Ran, label: &str, tool: &str, denied: &str) -> Result {
    let count = |name: &str| calls(through).iter().filter(|(own, _)| own == name).count();
    holds(count(tool) == 1, || format!("{} calls of {tool} reached the server instead of one", count(tool)))?;
    holds(count(denied) == 0, || format!("{denied} reached the server, though a rule denies it"))?;
    let servers = through.report["configured_servers"].as_array().cloned().unwrap_or_default();
    let behind = servers.iter().any(|server| server["server"] == label && server["behind_proxy"] == true);
    holds(behind, || format!("{label} does not stand behind the proxy: {servers:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_times_do_not_tell_two_runs_apart() {
        assert_eq!(steady("a toolu_01 of 12:30, x"), "a # of #, x");
        assert_eq!(steady("/v1/messages?beta=true"), "/#/messages?beta=true");
        assert_ne!(steady("one"), steady("two"));
    }
}
