//! Which tools an agent uses, by what the ledger has of its sessions: read beside the path of requests, now and then, and
//! remembered. What is decided by it is decided at a conversation's first request, and kept there.

use super::work::Inner;
use deadweight_levers::Lever;
use deadweight_profiles::WORKING_TOOLS;
use deadweight_store::{Ledger, ToolUse};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// How far back it is looked.
const SINCE_MS: u64 = 30 * 86_400_000;
/// In how many sessions that called tools one has to have been carried before it is idle that nobody called it.
const SESSIONS: u64 = 3;
/// How often the ledger is read again.
const EVERY: Duration = Duration::from_secs(600);

/// The tools that each agent carries and does not use.
#[derive(Debug, Default)]
pub(super) struct Idle(HashMap<Option<String>, HashSet<String>>);

impl Idle {
    fn of(uses: Vec<ToolUse>) -> Self {
        let mut own = Self::default();
        for one in uses {
            let idle = own.0.entry(one.agent).or_default();
            // That none of a few sessions called a tool for the work itself says nothing about the next one.
            let works = WORKING_TOOLS.value.contains(&one.name.to_lowercase().as_str());
            if one.calls == 0 && one.sessions >= SESSIONS && !works {
                idle.insert(one.name);
            }
        }
        own
    }

    /// Of the tools that an agent offers, those that it uses, or may use for all that is known. `None`: nothing is known of
    /// that agent.
    pub(super) fn hot(&self, agent: Option<&str>, offered: &[&str]) -> Option<Vec<String>> {
        let idle = self.0.get(&agent.map(str::to_owned))?;
        let hot = offered.iter().filter(|name| !idle.contains(**name));
        Some(hot.map(|name| (*name).to_owned()).collect())
    }
}

/// What is known, and who is told that it is wanted now.
#[derive(Debug, Default)]
pub(super) struct Uses {
    idle: RwLock<Arc<Idle>>,
    wanted: Arc<Notify>,
}

impl Uses {
    pub(super) fn idle(&self) -> Arc<Idle> {
        Arc::clone(&self.idle.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Other settings hold: it may be wanted now.
    pub(super) fn may_want(&self) {
        self.wanted.notify_one();
    }

    async fn read(&self, file: &Path, now_ms: u64) {
        let uses = async {
            let mut ledger = Ledger::open(file).await.ok()??;
            ledger.tool_uses(now_ms.saturating_sub(SINCE_MS)).await.ok()
        };
        // What cannot be read now was read before, or is not known.
        if let Some(uses) = uses.await {
            *self.idle.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Idle::of(uses));
        }
    }
}

/// Reads the ledger where somebody wants to know, at once and then now and then, until whoever wants to know is gone.
pub(super) async fn keep(inner: &Arc<Inner>, ledger: Option<&Path>) {
    let Some(file) = ledger.map(Path::to_owned) else { return };
    look(inner, &file).await;
    let (inner, wanted) = (Arc::downgrade(inner), Arc::clone(&inner.uses.wanted));
    tokio::spawn(async move {
        loop {
            let _ = tokio::time::timeout(EVERY, wanted.notified()).await;
            let Some(inner) = Weak::upgrade(&inner) else { return };
            look(&inner, &file).await;
        }
    });
}

async fn look(inner: &Inner, file: &Path) {
    let settings = inner.settings();
    let mut policies = std::iter::once(&settings.policy).chain(settings.routes.iter().map(|(_, own)| own));
    if policies.any(|policy| policy.on(Lever::DeferTools)) {
        inner.uses.read(file, (inner.clock)()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_idle_when_enough_sessions_had_no_use_for_it() {
        let one = |agent: &str, name: &str, sessions, calls| ToolUse {
            agent: (!agent.is_empty()).then(|| agent.to_owned()),
            name: name.to_owned(),
            sessions,
            calls,
        };
        let idle = Idle::of(vec![
            one("claude-code", "mcp__git__log", 9, 0),
            one("claude-code", "mcp__git__push", 9, 1),
            one("claude-code", "mcp__git__new", 2, 0),
            one("claude-code", "Bash", 9, 0),
            one("", "search", 3, 0),
        ]);
        let all = ["mcp__git__log", "mcp__git__push", "mcp__git__new", "Bash", "never_seen", "search"];
        let hot = |agent| idle.hot(agent, &all);
        assert_eq!(hot(Some("claude-code")).unwrap(), all[1..]);
        assert_eq!(hot(None).unwrap(), all[..5]);
        assert_eq!(hot(Some("codex")), None);
    }
}
