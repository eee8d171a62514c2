//! Two locks: what moved between them, and whether every raise says why. No server is started.

use crate::budget::{Pricer, Surface, grew, rose, text_rose};
use crate::judge::{change, status_of};
use crate::reason::Reason;
use crate::report::{Check, Movement, Report, Status, Subject};
use crate::words::quoted;
use deadweight_estimate::{Estimator, Stamp};
use deadweight_lock::{Level, Lock, Setting, TextPrice, ToolPrice};
use std::collections::BTreeSet;

/// Holds `now` against `base`; `estimator` is the one of `now`.
///
/// Refused as `RAISE_WITHOUT_CAUSE`: an entry whose price rose while its hash stayed; an entry that rose or
/// came without a reason of its own (one that stood there before is about an earlier raise); a slack or
/// ceiling that rose, or a check that was lowered to a warning, without a reason beside it. That the entries
/// are true is for [`judge`](crate::judge()) to say.
pub fn compare(base: &Lock, now: &Lock, estimator: &dyn Estimator) -> Report {
    let mut run = Run {
        base,
        lock: now,
        pricer: Pricer::new(estimator),
        stamp: Stamp::estimated(estimator),
        checks: Vec::new(),
    };
    run.basis();
    let tools = run.tools();
    let texts = run.texts();
    run.settings();
    if run.checks.is_empty() {
        let old = run.pricer.tools(base.tools.values().filter_map(|entry| entry.price.as_ref()));
        let new = run.pricer.tools(now.tools.values().filter_map(|entry| entry.price.as_ref()));
        let message = format!("budget {new} tokens, {old} before; every raise says why");
        run.check(None, Surface::Lock, Subject::default(), Some((old, new)), 0, message);
    }
    Report::new(run.checks, tools, texts, Vec::new())
}

struct Run<'a> {
    base: &'a Lock,
    lock: &'a Lock,
    pricer: Pricer<'a>,
    stamp: Stamp,
    checks: Vec<Check>,
}

/// An entry on one side of the comparison.
struct Side<'a, P> {
    price: &'a P,
    reason: Option<&'a str>,
}

impl Run<'_> {
    /// Whether a check was lowered to a warning without a reason beside it.
    fn lowered_untold(&self, reason: Reason) -> bool {
        let lowered = reason.level(self.base) == Level::Error && reason.level(self.lock) == Level::Warn;
        let told = self.lock.checks.get(reason.name()).and_then(|setting| setting.reason.as_deref());
        lowered && told.is_none_or(|reason| reason.trim().is_empty())
    }

    /// The level that a check has in this review: a lock cannot excuse itself by what it does not justify.
    fn level(&self, reason: Reason) -> Level {
        if self.lowered_untold(reason) { Level::Error } else { reason.level(self.lock) }
    }

    fn check(
        &mut self,
        reason: Option<Reason>,
        surface: Surface,
        subject: Subject,
        numbers: Option<(u64, u64)>,
        line: usize,
        message: String,
    ) {
        self.checks.push(Check {
            reason,
            surface,
            subject,
            level: reason.map_or(Level::Error, |reason| self.level(reason)),
            measured: numbers.map(|(_, now)| now),
            budget: numbers.map(|(base, _)| base),
            slack: None,
            delta: numbers.map(|(base, now)| change(base, now)),
            provenance: self.stamp.clone(),
            message,
            line: (line > 0).then_some(line),
        });
    }

    fn basis(&mut self) {
        let base = self.base;
        for (what, old, new) in
            [("estimator", &base.estimator, &self.lock.estimator), ("basis", &base.basis, &self.lock.basis)]
        {
            if old != new {
                let message = format!(
                    "the {what} was `{old}` and is `{new}`; tokens before and after are not comparable"
                );
                self.check(
                    Some(Reason::BasisMismatch),
                    Surface::Lock,
                    Subject::named(what),
                    None,
                    0,
                    message,
                );
            }
        }
    }

    /// Whether a raise is told; adds the check when it is not.
    fn raise<P>(
        &mut self,
        surface: Surface,
        subject: Subject,
        (old, new): (Option<&Side<'_, P>>, &Side<'_, P>),
        (grew, same_hash): (bool, bool),
        tokens: (u64, u64),
        line: usize,
    ) {
        let what = quoted(subject.name.as_deref().or(subject.server.as_deref()).unwrap_or_default());
        let told = new.reason.map(str::trim).filter(|reason| !reason.is_empty());
        let before = old.and_then(|old| old.reason).map(str::trim);
        let message = if old.is_some() && grew && same_hash {
            format!("{what} rose though its hash did not move: nothing about it changed")
        } else if old.is_some() && !grew {
            return;
        } else {
            match (old, told) {
                (None, None) => format!("{what} came without a reason"),
                (Some(_), None) => format!("{what} rose without a reason"),
                (Some(_), told) if told == before => {
                    format!("{what} rose again; the reason beside it is the one of an earlier raise")
                }
                _ => return,
            }
        };
        self.check(Some(Reason::RaiseWithoutCause), surface, subject, Some(tokens), line, message);
    }

    fn tools(&mut self) -> Vec<Movement> {
        let (base, lock) = (self.base, self.lock);
        let mut movements = Vec::new();
        let keys: BTreeSet<_> = base.tools.keys().chain(lock.tools.keys()).collect();
        for key in keys {
            let side = |lock: &Lock| -> Option<ToolPrice> { lock.tools.get(key)?.price };
            let (old, new) = (side(base), side(lock));
            let entry = lock.tools.get(key);
            let line = entry.map_or(0, |entry| entry.line);
            let old_side = old.as_ref().map(|price| Side {
                price,
                reason: base.tools.get(key).and_then(|entry| entry.reason.as_deref()),
            });
            let tokens = |price: &Option<ToolPrice>| price.as_ref().map(|price| self.pricer.tool(price));
            let (base_tokens, now_tokens) = (tokens(&old), tokens(&new));
            let both = (base_tokens.unwrap_or_default(), now_tokens.unwrap_or_default());
            if let Some(price) = &new {
                let new_side = Side { price, reason: entry.and_then(|entry| entry.reason.as_deref()) };
                let subject = Subject::tool(&key.server, &key.name);
                let grew = old.is_some_and(|old| rose(&old, new_side.price));
                let same = old.is_some_and(|old| old.hash == new_side.price.hash);
                self.raise(Surface::Tool, subject, (old_side.as_ref(), &new_side), (grew, same), both, line);
            }
            let status = match (&old, &new) {
                (Some(old), Some(new)) => status_of(grew(old, new), grew(new, old), old.hash != new.hash),
                (None, Some(_)) => Status::Added,
                (Some(_), None) => Status::Removed,
                (None, None) => continue,
            };
            movements.push(Movement {
                surface: Surface::Tool,
                server: key.server.clone(),
                name: key.name.clone(),
                base_tokens,
                tokens: now_tokens,
                delta: change(both.0, both.1),
                status,
                reason: entry.and_then(|entry| entry.reason.clone()),
                line: (line > 0).then_some(line),
            });
        }
        movements
    }

    fn texts(&mut self) -> Vec<Movement> {
        let mut movements = Vec::new();
        let (base, lock) = (self.base, self.lock);
        let lists = [texts_of(base), texts_of(lock)];
        let keys: BTreeSet<_> = lists.iter().flatten().map(|text| (text.surface, text.key)).collect();
        for (surface, key) in keys {
            let find = |list: &'_ [Listed<'_>]| {
                list.iter().position(|text| text.surface == surface && text.key == key)
            };
            let [old, new] = &lists;
            let (old, new) = (find(old).and_then(|at| old.get(at)), find(new).and_then(|at| new.get(at)));
            let tokens =
                |text: Option<&Listed<'_>>| text.map(|text| self.pricer.texts(std::iter::once(&text.price)));
            let (base_tokens, now_tokens) = (tokens(old), tokens(new));
            let both = (base_tokens.unwrap_or_default(), now_tokens.unwrap_or_default());
            let line = new.map_or(0, |text| text.line);
            let grew = old.zip(new).is_some_and(|(old, new)| text_rose(&old.price, &new.price));
            let same = old.zip(new).is_some_and(|(old, new)| old.price.hash == new.price.hash);
            if let Some(new) = new {
                let subject =
                    if surface == Surface::Instructions { Subject::server(key) } else { Subject::named(key) };
                let old_side = old.map(|text| Side { price: &text.price, reason: text.reason });
                let new_side = Side { price: &new.price, reason: new.reason };
                self.raise(surface, subject, (old_side.as_ref(), &new_side), (grew, same), both, line);
            }
            let status = match (old, new) {
                (Some(old), Some(new)) => status_of(grew, text_rose(&new.price, &old.price), !same),
                (None, _) => Status::Added,
                (Some(_), None) => Status::Removed,
            };
            let own = |wanted: bool| if wanted { key.to_owned() } else { String::new() };
            movements.push(Movement {
                surface,
                server: own(surface == Surface::Instructions),
                name: own(surface != Surface::Instructions),
                base_tokens,
                tokens: now_tokens,
                delta: change(both.0, both.1),
                status,
                reason: new.and_then(|text| text.reason.map(str::to_owned)),
                line: (line > 0).then_some(line),
            });
        }
        movements
    }

    fn settings(&mut self) {
        let (base, lock) = (self.base, self.lock);
        for (key, old, new) in [
            ("slack.floor", &base.slack.floor, &lock.slack.floor),
            ("slack.descriptions", &base.slack.descriptions, &lock.slack.descriptions),
            ("slack.instructions", &base.slack.instructions, &lock.slack.instructions),
            ("slack.skills", &base.slack.skills, &lock.slack.skills),
            ("slack.memory", &base.slack.memory, &lock.slack.memory),
        ] {
            self.setting(key, Some(old), Some(new));
        }
        for (key, old, new) in [
            ("ceiling_tokens", &base.ceiling_tokens, &lock.ceiling_tokens),
            ("max_tool_tokens", &base.max_tool_tokens, &lock.max_tool_tokens),
            ("max_tools", &base.max_tools, &lock.max_tools),
        ] {
            self.setting(key, old.as_ref(), new.as_ref());
        }
        for reason in Reason::ALL {
            let setting = lock.checks.get(reason.name());
            if self.lowered_untold(*reason) {
                let message =
                    format!("the check {reason} was lowered to a warning without a reason beside it");
                let subject = Subject::named(reason.name());
                let line = setting.map_or(0, |setting| setting.line);
                self.check(Some(Reason::RaiseWithoutCause), Surface::Lock, subject, None, line, message);
            }
        }
    }

    /// A limit that rose, or went.
    fn setting(&mut self, key: &str, old: Option<&Setting>, new: Option<&Setting>) {
        let Some(old) = old else { return };
        let (message, numbers, line) = match new {
            None => (
                format!(
                    "`{key}` was {} and is gone; a limit that may rise is raised with its reason",
                    old.limit
                ),
                None,
                0,
            ),
            Some(new) if new.limit > old.limit => {
                let told = new.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
                if told.is_some() && told != old.reason.as_deref().map(str::trim) {
                    return;
                }
                (
                    format!(
                        "`{key}` rose from {} to {} without a reason of its own beside it",
                        old.limit, new.limit
                    ),
                    Some((old.limit, new.limit)),
                    new.line,
                )
            }
            Some(_) => return,
        };
        self.check(
            Some(Reason::RaiseWithoutCause),
            Surface::Lock,
            Subject::named(key),
            numbers,
            line,
            message,
        );
    }
}

/// A text of a lock.
struct Listed<'a> {
    surface: Surface,
    key: &'a str,
    price: TextPrice,
    reason: Option<&'a str>,
    line: usize,
}

fn texts_of(lock: &Lock) -> Vec<Listed<'_>> {
    let instructions = lock.servers.iter().filter_map(|(key, entry)| {
        Some(Listed {
            surface: Surface::Instructions,
            key,
            price: entry.instructions?,
            reason: entry.reason.as_deref(),
            line: entry.line,
        })
    });
    let files = [(Surface::Skills, &lock.skills), (Surface::Memory, &lock.memory)];
    let files = files.into_iter().flat_map(|(surface, entries)| {
        entries.iter().map(move |(key, entry)| Listed {
            surface,
            key,
            price: entry.price,
            reason: entry.reason.as_deref(),
            line: entry.line,
        })
    });
    instructions.chain(files).collect()
}
