//! What must hold of two runs, the one bare and the other through the proxy.

use serde_json::{Value, json};

use super::Ran;
use super::body::{Shown, shown};
use super::server::{DENIED, GROWN, HIDDEN, names};
use super::session::{
    AFTER_CRASH, CONFIRMED, CRASHES, GROWS, HARMFUL, HARMLESS, INVALID, LOAD, LOADED, LOADER, STRINGS, VALID,
};
use crate::fixtures::Layout;
use crate::{Failure, Result};

/// Fails, naming what does not hold.
fn holds(condition: bool, what: impl Fn() -> String) -> Result {
    if condition { Ok(()) } else { Err(Failure::new(what())) }
}

/// The arguments with which a tool was called at the server, in order.
fn calls(ran: &Ran, tool: &str) -> Vec<Value> {
    ran.received
        .iter()
        .filter(|message| message["method"] == "tools/call" && message["params"]["name"] == tool)
        .map(|message| message["params"]["arguments"].clone())
        .collect()
}

/// The proxied run against the bare one.
pub(super) fn held_against(layout: Layout, bare: &Ran, proxied: &Ran) -> Result {
    let first = proxied.requests.first().map(|request| request.json()).unwrap_or_default();
    let own = names();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let bare_first = bare.requests.first().map(|request| request.json()).unwrap_or_default();
    let (before, after) = (shown(&bare_first, &own), shown(&first, &own));
    let names = |tools: &[Shown]| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    holds(names(&before) == names(&after), || {
        format!("the client shows {:?} through the proxy, {:?} without", names(&after), names(&before))
    })?;
    let deferred = !shown(&first, &[LOADER]).is_empty();
    if layout == Layout::Claude {
        holds(!deferred, || "a client that defers by itself is listed a loader".to_owned())?;
    } else {
        holds(deferred, || "no loader is listed".to_owned())?;
        for tool in &after {
            placeholder(tool)?;
        }
    }
    answers(bare, proxied, deferred)?;
    grown(layout, bare, proxied)?;
    unchanging(proxied)
}

/// Whether a stub is one that the provider accepts and that does not say that there are no arguments.
fn placeholder(tool: &Shown) -> Result {
    let (name, schema) = (&tool.name, &tool.schema);
    holds(schema["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("object")), || {
        format!("{name}: a schema of no object: {schema}")
    })?;
    for member in ["anyOf", "oneOf", "allOf", "$ref"] {
        holds(schema.get(member).is_none(), || format!("{name}: {member} in {schema}"))?;
    }
    holds(schema["properties"].is_object() || schema.get("properties").is_none(), || {
        format!("{name}: properties that are no object in {schema}")
    })?;
    // Closed or not, a schema with an open member for the arguments does not say that there are none.
    let is_open = schema["additionalProperties"] != json!(false)
        || schema["properties"]["arguments"]["additionalProperties"] == json!(true);
    let is_small = ["note_crash", "note_grow"].iter().any(|own| name.ends_with(own));
    holds(is_open || is_small, || {
        format!("{name}: the model is told that there are no arguments: {schema}")
    })?;
    let text = tool.whole.to_string();
    for hidden in HIDDEN {
        holds(!text.contains(hidden), || format!("{name}: {hidden} shows in {text}"))?;
    }
    Ok(())
}

/// The answers that the model reads, and the calls that reach the server.
fn answers(bare: &Ran, proxied: &Ran, deferred: bool) -> Result {
    let answer =
        |ran: &Ran, call: usize| timeless(ran.answers.get(call).cloned().flatten().unwrap_or_default());
    let same = |call: usize, what: &str| {
        holds(answer(bare, call) == answer(proxied, call) && !answer(bare, call).is_empty(), || {
            format!(
                "{what}: answered with {:?} bare, {:?} through the proxy",
                answer(bare, call),
                answer(proxied, call)
            )
        })
    };
    same(VALID, "a valid call")?;
    same(HARMLESS, "a valid call of a tool that changes but does not destroy")?;
    same(GROWS, "a call that changes the list")?;
    // Bare, some clients give a server up that has crashed.
    let after = answer(proxied, AFTER_CRASH);
    holds(after.contains(r#"note_list {"limit":4}"#), || {
        format!("a call after a crash is answered with {after}")
    })?;
    holds(!answer(proxied, CRASHES).is_empty(), || {
        "the call that crashes the server has no answer".to_owned()
    })?;
    if !deferred {
        same(STRINGS, "a call with strings")?;
        same(INVALID, "an invalid call")?;
        return same(CONFIRMED, "a destructive call");
    }
    let searches = calls(proxied, "note_search");
    holds(searches == [json!({ "query": "x", "limit": 10 })], || {
        format!("strings are not made what the schema wants: {searches:?}")
    })?;
    let invalid = answer(proxied, INVALID);
    holds(invalid.contains("text") && invalid.contains("note_id"), || {
        format!("an invalid call is not answered with its violations and the schema: {invalid}")
    })?;
    let appends = calls(proxied, "note_append").len();
    holds(appends == 1, || {
        format!("{appends} calls of note_append reached the server instead of the one valid one")
    })?;
    let first = answer(proxied, HARMFUL);
    holds(first.contains("note_id"), || {
        format!("a destructive call is not answered with its schema: {first}")
    })?;
    let deleted = calls(proxied, DENIED).len();
    holds(deleted == 1, || {
        format!("{deleted} destructive calls reached the server instead of the confirmed one")
    })?;
    same(CONFIRMED, "a destructive call made again")?;
    let loaded = answer(proxied, LOAD);
    holds(loaded.contains("note_id") && loaded.contains("notebook"), || {
        format!("a load brings no schema: {loaded}")
    })?;
    let moved = answer(proxied, LOADED);
    holds(moved.contains(r#"note_move {"note_id":"n-1","notebook":"b"}"#), || {
        format!("a call after a load is answered with {moved}")
    })
}

/// An answer without how long the call took, which Codex tells the model.
fn timeless(answer: String) -> String {
    answer.lines().filter(|line| !line.starts_with("Wall time:")).collect::<Vec<_>>().join("\n")
}

/// A tool that comes later shows wherever it shows without the proxy. It may come a request later.
fn grown(layout: Layout, bare: &Ran, proxied: &Ran) -> Result {
    let shows = |ran: &Ran| ran.requests.iter().any(|request| !shown(&request.json(), &[GROWN]).is_empty());
    // Bare, a client may have lost the server that crashes before it looks again.
    holds(shows(proxied) || !shows(bare), || {
        format!(
            "{}: a tool that came later shows: {} bare, {} through the proxy",
            layout.name(),
            shows(bare),
            shows(proxied)
        )
    })
}

/// Until the server's list changes, the tools of every request have the same bytes.
fn unchanging(proxied: &Ran) -> Result {
    let tools = |index: usize| {
        let body = proxied.requests.get(index).map(|request| request.json()).unwrap_or_default();
        crate::fixtures::script::tools_of(&body).map(|tools| tools.to_string())
    };
    for index in 1..=GROWS {
        holds(tools(index) == tools(0), || format!("request {index} has other tools than the first"))?;
    }
    Ok(())
}

/// A rule that denies a tool of the bare server denies it through the proxy, and allows what it allowed.
pub(super) fn denied(bare: &Ran, proxied: &Ran) -> Result {
    for (ran, how) in [(bare, "bare"), (proxied, "through the proxy")] {
        let reached = calls(ran, DENIED).len();
        holds(reached == 0, || format!("{how}: a denied call reached the server"))?;
        holds(calls(ran, "note_list").len() == 1, || {
            format!("{how}: the allowed call did not reach the server")
        })?;
    }
    // Some clients name the tools that there are instead; the loader is one of them then.
    let allowed = |ran: &Ran| ran.answers.get(1).cloned().flatten().map(timeless);
    holds(allowed(bare).is_some() && allowed(bare) == allowed(proxied), || {
        format!(
            "an allowed call is answered with {:?} bare, {:?} through the proxy",
            bare.answers, proxied.answers
        )
    })
}
