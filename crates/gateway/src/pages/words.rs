//! What things are called, and what can be done about them.

use super::model::DeadWeight;
use crate::advice::{LeftOut, leave_out};
use deadweight_present::number::{count, thousands};
use deadweight_present::quote;
pub(crate) use deadweight_present::words::{break_even, class, standing};
use deadweight_store::{Exchange, Origin};

/// What can be done about turns of a class; nothing where that is as it should be.
pub(crate) fn class_advice(word: &str) -> Option<&'static str> {
    Some(match word {
        "tool_set" => {
            "A server came late, was reconnected or changed its list. Behind `deadweight mcp` a list keeps its bytes."
        }
        "tool_order" => "The same tools in another order: the client or a server sorts them anew.",
        "system" => {
            "Something in the system prompt changes from turn to turn: a date, a path, a memory file."
        }
        "settings" => "Thinking, tool choice or images were switched in mid-session.",
        "model" => "Another model has another cache. Switch between sessions rather than in one.",
        "ttl_lapse" => {
            "The session rested longer than the cache lives. An hour's cache pays where rests are usual."
        }
        "history" => "The client rewrote what it had sent before: edited messages, cleared results.",
        "compaction" => "The client put a summary in the place of its history; that is paid once.",
        "lookback" => "More blocks were added at once than the provider looks back from a breakpoint.",
        "unmarked" => "The client sets no cache breakpoint where one would pay.",
        _ => return None,
    })
}

/// How an exchange ended, in a few words; whether that is as it should be.
pub(crate) fn ended(one: &Exchange) -> (String, bool) {
    let how = match one.ended.how.as_str() {
        "open" => "under way",
        "complete" => "complete",
        "client_left" => "the client left",
        "upstream_cut" => "cut by the provider",
        "unreachable" => "provider not reached",
        "timed_out" => "timed out",
        "refused" => "refused here",
        "tunnel" => "tunnel",
        other => other,
    };
    let fine = matches!(one.ended.how.as_str(), "complete" | "open" | "tunnel")
        && one.ended.status.is_none_or(|status| status < 400);
    let mut out = how.replace('_', " ");
    match (one.ended.status, one.ended.how.as_str()) {
        (Some(status), "complete") if status >= 400 => out = status.to_string(),
        (Some(status), _) if status != 200 => out = format!("{out}, {status}"),
        _ => {}
    }
    if let Some(error) = &one.ended.error {
        out = format!("{out} {error}");
    }
    (out, fine)
}

/// What is carried for nothing, in a sentence.
pub(crate) fn dead(dead: &DeadWeight) -> String {
    let tools = count(dead.tools.len() as u64, "tool", "tools");
    let never = if dead.tools.len() == 1 { "it was never called" } else { "none was ever called" };
    format!("{tools}, carried on {} turns; {never}.", thousands(dead.turns))
}

/// What to do about it: a sentence, and the command or setting.
pub(crate) fn remedy(dead: &DeadWeight) -> (String, Option<String>) {
    let server = quote::shell(&dead.whose);
    match dead.origin {
        Origin::Builtin => match leave_out(&dead.whose, dead.tools.iter().map(String::as_str)) {
            Some(LeftOut { how, text }) => (format!("Those you never want can be left out {how}:"), Some(text)),
            None => ("See whether the agent's settings can leave out those you never want.".to_owned(), None),
        },
        _ if dead.proxied => (
            "It is behind the proxy and listed in full all the same: it is pinned, or small. Which it is:".to_owned(),
            Some("deadweight mcp --explain --config .mcp.json".to_owned()),
        ),
        _ => (
            "Put the proxy before it: its tools stay callable, their schemas come when they are needed. In its entry, in place \
             of its command:"
                .to_owned(),
            Some(format!("deadweight mcp --name {server} -- COMMAND")),
        ),
    }
}

/// Whose a tool is.
pub(crate) fn origin(origin: Origin, server: &str) -> String {
    match origin {
        Origin::Builtin => "built-in".to_owned(),
        Origin::Mcp => server.to_owned(),
        Origin::Unknown => "unknown".to_owned(),
    }
}
