//! What the words of the ledger are called.

use crate::number::thousands;

/// What a class of the cache watch is called.
pub fn class(word: &str) -> String {
    match word {
        "first" => "first turn",
        "joined" => "joined in the middle",
        "append" => "appended",
        "retry" => "sent again",
        "partial" => "a part only",
        "model" => "model changed",
        "tool_set" => "tools changed",
        "tool_order" => "tools reordered",
        "system" => "system changed",
        "settings" => "settings changed",
        "compaction" => "client compacted",
        "history" => "history altered",
        "branch" => "branched off",
        "edited" => "edited by a lever",
        "ttl_lapse" => "cache lapsed",
        "lookback" => "too far to look back",
        "unmarked" => "no breakpoint set",
        other => return other.replace('_', " "),
    }
    .to_owned()
}

/// What a kind of standing text is called.
pub fn standing(kind: &str) -> String {
    match kind {
        "memory_file" => "memory files".to_owned(),
        "tool_names" => "names of deferred tools".to_owned(),
        "reminder" => "reminders".to_owned(),
        other => other.replace('_', " "),
    }
}

/// When an edit of what was sent before has paid for itself, or would have (FORECAST). `requests`: after how many, the one
/// that carries it included.
pub fn break_even(edited: bool, requests: u64) -> String {
    match (edited, requests) {
        (true, 0..=1) => "which pays at once (FORECAST)".to_owned(),
        (true, _) => format!("which pays for itself within {} requests (FORECAST)", thousands(requests)),
        (false, 0..=1) => "it would pay at once (FORECAST)".to_owned(),
        (false, _) => format!("it would pay for itself after {} requests (FORECAST)", thousands(requests)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_yet_is_readable() {
        assert_eq!(class("tool_set"), "tools changed");
        assert_eq!(class("some_new_class"), "some new class");
        assert_eq!(standing("server_instructions"), "server instructions");
        assert_eq!(break_even(true, 1), "which pays at once (FORECAST)");
        assert_eq!(break_even(false, 1_200), "it would pay for itself after 1,200 requests (FORECAST)");
    }
}
