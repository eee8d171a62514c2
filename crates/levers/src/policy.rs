//! What the user wants.

use crate::lever::Lever;
use std::collections::BTreeMap;

/// A set of defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Measure, and change nothing.
    Faithful,
    /// What has been shown to save without loss, and what is cut with a way back.
    #[default]
    Default,
    /// The opt-ins too.
    Lean,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Faithful, Self::Default, Self::Lean];

    /// The name used in settings and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::Default => "default",
            Self::Lean => "lean",
        }
    }

    /// The profile of that [`name`](Self::name).
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }
}

/// Which tools the user would never let run, whatever the arguments.
///
/// Patterns are names in which `*` stands for any characters, also none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRule {
    /// Tools that are denied.
    pub deny: Vec<String>,
    /// When there are any, all others are denied; a tool that is in both lists is denied.
    pub allow: Vec<String>,
}

impl ToolRule {
    /// Whether it says anything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.deny.is_empty() && self.allow.is_empty()
    }

    /// Whether a tool of this name is denied.
    #[must_use]
    pub fn denies(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        any(&self.deny) || (!self.allow.is_empty() && !any(&self.allow))
    }
}

/// Whether a name fits a pattern in which `*` stands for any characters. No backtracking over more than one star.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

/// From which sizes on levers act, in bytes of text as the model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// A text that is repeated must be at least so long to become a pointer.
    pub repeated: usize,
    /// A run of equal lines must take at least so much to become one line.
    pub run: usize,
    /// A result that is longer is cut to head and tail.
    pub result: usize,
    /// What stays of its beginning.
    pub head: usize,
    /// What stays of its end.
    pub tail: usize,
    /// A read that is out of date is left out when it is longer.
    pub stale: usize,
    /// How many messages at the end are never cut.
    pub recent: usize,
    /// From how many tokens (ESTIMATED) on a prefix is worth a breakpoint.
    pub cached: u64,
    /// A history of more tokens (ESTIMATED) gives way to a view of it.
    pub history: u64,
    /// What rounds weigh in it that are chosen for the view, in tokens (ESTIMATED), together with those that have to stay.
    pub view: u64,
    /// From how many hundredths of the model's window on it is nearly full.
    pub full: u64,
    /// Within how many requests an edit of what is cached has to pay for itself.
    pub requests: u64,
    /// Tools that would be deferred have to weigh so many bytes together, as they are sent.
    pub deferred: usize,
    /// From how many tokens on the provider is asked to clear old tool results.
    pub clear_from: u64,
    /// How many calls of tools keep their results then.
    pub clear_keep: u64,
    /// How many tokens it has to clear at least.
    pub clear_least: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            repeated: 1_024,
            run: 1_024,
            result: 16 << 10,
            head: 4 << 10,
            tail: 2 << 10,
            stale: 2 << 10,
            recent: 4,
            cached: 1_024,
            history: 48_000,
            view: 24_000,
            full: 85,
            requests: 40,
            deferred: 8 << 10,
            clear_from: 100_000,
            clear_keep: 8,
            clear_least: 20_000,
        }
    }
}

/// What the user wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The set of defaults.
    pub profile: Profile,
    /// Levers switched on or off by name.
    pub switches: BTreeMap<Lever, bool>,
    /// Which tools are never allowed.
    pub tools: ToolRule,
    /// From which sizes on levers act.
    pub thresholds: Thresholds,
    /// Messages may be edited at their first send on models that bind thinking. Should the journal be lost, such a
    /// conversation may be refused by its provider.
    pub edit_bound: bool,
    /// Traffic of subscriptions may be edited.
    pub edit_subscription: bool,
    /// What is cut may be lost: no way back is asked for, and no originals are kept.
    pub accept_loss: bool,
    /// Results may be cut when they are sent for the first time.
    pub elide_at_first_send: bool,
    /// The account has the beta for changes of tools in mid-conversation: tools that arrive late may be told of where they
    /// arrive.
    pub late_tools: bool,
    /// Breakpoints that we set may be for an hour, where the pauses of a conversation make that pay.
    pub hour_breakpoints: bool,
    /// The history may be compacted also while it is cached: when the model's window is nearly full, and it pays for
    /// itself within [`Thresholds::requests`] requests.
    pub compact_when_full: bool,
}

impl Policy {
    /// Whether a lever may decide something new.
    #[must_use]
    pub fn on(&self, lever: Lever) -> bool {
        self.switches.get(&lever).copied().unwrap_or_else(|| lever.on(self.profile))
    }
}

#[cfg(test)]
mod tests {
    use super::{ToolRule, matches};

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("mcp__git__*", "mcp__git__push", true),
            ("*push", "mcp__git__push", true),
            ("*", "", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
        let rule = ToolRule { deny: vec!["x*".into()], allow: vec!["*".into()] };
        assert!(rule.denies("xy") && !rule.denies("y"));
        assert!(ToolRule { allow: vec!["a".into()], ..ToolRule::default() }.denies("b"));
        assert!(!ToolRule::default().denies("b"));
    }
}
