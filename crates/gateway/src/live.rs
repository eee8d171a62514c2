//! What is going on now: the sessions that were seen lately, kept in memory and bounded.
//!
//! A session is built from the records that go to the ledger and from nothing else, so that one that is read back from
//! the ledger says the same as the one in memory.

use crate::context::{self, Carried, Context, ContextEvent, LeverReport, Seen, Step, Weights};
use crate::conversations::{Conversations, Counted};
use deadweight_estimate::Tokens;
use deadweight_store::{Asked, Exchange, Footprint, Origin};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How many sessions are remembered; the one that was quiet longest is forgotten first.
const SESSIONS: usize = 256;
/// How many conversations of a session are remembered.
const CONVERSATIONS: usize = 64;
/// How many turns of a conversation are remembered for its growth and events.
const STEPS: usize = 512;

/// The sessions of a running gateway. Shared between the thread that measures and those that answer.
#[derive(Debug)]
pub struct Live {
    sessions: Mutex<Sessions>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_key: HashMap<String, Session>,
    /// Counts up; the larger a session's number, the later it was seen.
    clock: u64,
}

/// One session of one agent.
#[derive(Debug, Clone)]
pub struct Session {
    key: String,
    /// By their names.
    conversations: Conversations<String, Conversation>,
    last_seen: u64,
}

impl Default for Session {
    fn default() -> Self {
        Self { key: String::new(), conversations: Conversations::new(CONVERSATIONS), last_seen: 0 }
    }
}

/// One line of requests, each of which goes on where the one before ended.
#[derive(Debug, Clone, Default)]
struct Conversation {
    steps: VecDeque<Step>,
    turns: u64,
    peak: Option<u64>,
    model: Option<String>,
    weights: Option<(Weights, String)>,
    carried: BTreeMap<String, Carried>,
    levers: BTreeMap<String, LeverReport>,
}

impl Default for Live {
    fn default() -> Self {
        Self { sessions: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Live {
    /// Takes in an exchange that is over.
    pub fn observe(&self, exchange: &Exchange) {
        if !exchange.session.is_empty() {
            self.lock().observe(exchange);
        }
        self.changed.send_modify(|count| *count += 1);
    }

    /// Tells of every change: the number of exchanges so far.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The session of this name, or without a name the one that was seen last.
    #[must_use]
    pub fn session(&self, key: Option<&str>) -> Option<Session> {
        let sessions = self.lock();
        match key {
            Some(key) => sessions.by_key.get(key).cloned(),
            None => sessions.by_key.values().max_by_key(|session| session.last_seen).cloned(),
        }
    }

    /// A panic elsewhere leaves numbers that are still numbers.
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    fn observe(&mut self, exchange: &Exchange) {
        self.clock += 1;
        let clock = self.clock;
        let session = self.by_key.entry(exchange.session.clone()).or_default();
        session.last_seen = clock;
        session.observe(exchange);
        if self.by_key.len() > SESSIONS {
            let oldest = self.by_key.iter().min_by_key(|(_, session)| session.last_seen);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                self.by_key.remove(&key);
            }
        }
    }
}

impl Session {
    /// A session as the ledger has it: its exchanges in the order of time.
    #[must_use]
    pub fn of<'e>(exchanges: impl IntoIterator<Item = &'e Exchange>) -> Self {
        let mut session = Self::default();
        exchanges.into_iter().for_each(|exchange| session.observe(exchange));
        session
    }

    /// Its name.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The model of its main conversation.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.main()?.model.as_deref()
    }

    /// Takes in an exchange of this session.
    pub fn observe(&mut self, exchange: &Exchange) {
        if self.key.is_empty() {
            self.key.clone_from(&exchange.session);
        }
        if exchange.asked != Asked::Generate || exchange.conversation.is_empty() {
            return;
        }
        self.conversations.of(exchange.conversation.clone()).observe(exchange);
    }

    /// The conversation that the session is about.
    fn main(&self) -> Option<&Conversation> {
        self.conversations.main().map(|(_, one)| one)
    }

    /// The report. `window` is that of the model of its main conversation.
    #[must_use]
    pub fn report(&self, window: Option<u64>) -> Context {
        let Some(main) = self.main() else {
            return context::empty(Some(&self.key));
        };
        let carried: Vec<Carried> = main.carried.values().cloned().collect();
        let levers: Vec<LeverReport> = main.levers.values().cloned().collect();
        context::report(&Seen {
            session: &self.key,
            window,
            steps: &main.steps,
            turns: main.turns,
            peak: main.peak,
            weights: main.weights.as_ref().map(|(weights, estimator)| (*weights, estimator.as_str())),
            carried: &carried,
            levers: &levers,
        })
    }
}

impl Counted for Conversation {
    fn turns(&self) -> u64 {
        self.turns
    }
}

impl Conversation {
    fn observe(&mut self, exchange: &Exchange) {
        let by_client = exchange.cache.as_ref().is_some_and(|watch| {
            watch.class == "compaction" || watch.also.iter().any(|class| class == "compaction")
        });
        let by_lever = || exchange.levers.iter().any(|own| own.lever == "compact-history" && own.decided > 0);
        let event = by_client || by_lever();
        let step = Step { prompt: exchange.usage.prompt, event: event.then_some(ContextEvent::Compaction) };
        let answered = exchange.is_answered();
        if answered {
            self.turns += 1;
            self.steps.push_back(step);
            if self.steps.len() > STEPS {
                self.steps.pop_front();
            }
        } else if let (Some(last), Some(_)) = (self.steps.back_mut(), step.prompt) {
            last.prompt = step.prompt;
        }
        self.peak = self.peak.max(step.prompt);
        if exchange.model.is_some() {
            self.model.clone_from(&exchange.model);
        }
        if let Some(footprint) = &exchange.footprint {
            self.weights = Some((weights(footprint), footprint.estimator.clone()));
        }
        self.carry(exchange, answered);
        for action in &exchange.levers {
            let name = action.lever.clone();
            let new = || LeverReport { name: name.clone(), ..LeverReport::default() };
            self.levers.entry(name.clone()).or_insert_with(new).take(action);
        }
    }

    /// Whose tools stand in it, and how often they were called.
    fn carry(&mut self, exchange: &Exchange, answered: bool) {
        let Some(set) = &exchange.tools else { return };
        let mut now: BTreeMap<&str, u64> = BTreeMap::new();
        for tool in set.tools().iter().filter(|tool| !tool.deferred && tool.origin != Origin::Unknown) {
            *now.entry(tool.server.as_str()).or_default() += tool.tokens;
        }
        for carried in self.carried.values_mut() {
            carried.tokens = Tokens::ZERO;
        }
        for (server, tokens) in now {
            let carried = self.carried.entry(server.to_owned()).or_insert_with(|| Carried {
                server: (!server.is_empty()).then(|| server.to_owned()),
                tokens: Tokens::ZERO,
                calls: 0,
                turns: 0,
            });
            carried.tokens = Tokens::new(tokens);
            carried.turns += u64::from(answered);
        }
        for (name, count) in &exchange.calls {
            let tool = set.tools().iter().find(|tool| tool.name == *name);
            if let Some(carried) = tool.and_then(|tool| self.carried.get_mut(&tool.server)) {
                carried.calls = carried.calls.saturating_add(*count);
            }
        }
    }
}

fn weights(footprint: &Footprint) -> Weights {
    Weights {
        system: Tokens::new(footprint.system.tokens),
        tools: Tokens::new(footprint.tools.tokens),
        history: Tokens::new(footprint.history.tokens),
        tail: Tokens::new(footprint.tail.tokens),
        floor: Tokens::new(footprint.floor()),
        standing: Tokens::new(footprint.standing_tokens()),
        total: Tokens::new(footprint.sent()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_store::{CacheWatch, Ended, Observed, Slice, ToolLine, ToolSet};

    fn turn(session: &str, conversation: &str, prompt: u64) -> Exchange {
        let tool = |name: &str, server: &str, origin| ToolLine {
            name: name.to_owned(),
            namespace: String::new(),
            origin,
            server: server.to_owned(),
            own_name: String::new(),
            bytes: 450,
            tokens: 100,
            description_tokens: 10,
            deferred: false,
        };
        Exchange {
            session: session.to_owned(),
            conversation: conversation.to_owned(),
            asked: Asked::Generate,
            model: Some("m".to_owned()),
            ended: Ended { how: "complete".to_owned(), status: Some(200), ..Ended::default() },
            usage: Observed { prompt: Some(prompt), ..Observed::default() },
            footprint: Some(Footprint {
                estimator: "calibrated/1".to_owned(),
                tools: Slice { tokens: 200, ..Slice::default() },
                ..Footprint::default()
            }),
            tools: Some(ToolSet::new(vec![
                tool("Bash", "", Origin::Builtin),
                tool("mcp__a__b", "a", Origin::Mcp),
            ])),
            ..Exchange::default()
        }
    }

    #[test]
    fn the_longest_conversation_is_the_sessions_own() {
        let live = Live::default();
        let changes = live.changes();
        live.observe(&turn("s", "title", 300));
        for prompt in [10_000, 11_000, 12_000] {
            live.observe(&turn("s", "main", prompt));
        }
        live.observe(&turn("s", "sub", 5_000));
        let report = live.session(Some("s")).unwrap().report(Some(200_000));
        assert_eq!((report.turns.seen, report.tokens.resident), (3, Some(12_000)));
        assert_eq!(report.tokens.growth_per_turn, Some(1_000));
        assert_eq!(*changes.borrow(), 5);
        assert!(live.session(Some("nobody")).is_none());
        assert_eq!(live.session(None).unwrap().key(), "s");
    }

    #[test]
    fn a_refused_request_is_no_turn_and_an_overloaded_provider_no_growth() {
        let mut refused = turn("s", "main", 0);
        refused.ended.status = Some(529);
        refused.usage.prompt = None;
        let all = [turn("s", "main", 10_000), refused, turn("s", "main", 11_000)];
        let report = Session::of(&all).report(None);
        assert_eq!((report.turns.seen, report.tokens.resident), (2, Some(11_000)));
    }

    #[test]
    fn an_uncalled_server_is_advice_and_a_called_one_is_not() {
        let mut all: Vec<Exchange> = (0..10).map(|_| turn("s", "main", 10_000)).collect();
        let advice = Session::of(&all).report(Some(200_000)).advice.unwrap();
        assert!(advice.step.contains("`a`"), "{}", advice.step);
        all[3].calls = vec![("mcp__a__b".to_owned(), 1)];
        assert_eq!(Session::of(&all).report(Some(200_000)).advice, None);
    }

    #[test]
    fn a_compaction_is_a_context_event() {
        let mut compacted = turn("s", "main", 4_000);
        compacted.cache = Some(CacheWatch { class: "compaction".to_owned(), ..CacheWatch::default() });
        let all = [turn("s", "main", 90_000), turn("s", "main", 91_000), compacted];
        let report = Session::of(&all).report(Some(200_000));
        assert_eq!(report.turns.context_events.len(), 1);
        assert_eq!((report.tokens.peak, report.tokens.resident), (Some(91_000), Some(4_000)));
    }

    #[test]
    fn memory_is_bounded() {
        let live = Live::default();
        for session in 0..SESSIONS + 40 {
            live.observe(&turn(&format!("s{session}"), "main", 1));
        }
        assert_eq!(live.lock().by_key.len(), SESSIONS);
        assert!(live.session(Some("s0")).is_none() && live.session(Some("s290")).is_some());
        let mut many = Session::default();
        (0..5).for_each(|_| many.observe(&turn("s", "main", 7)));
        for conversation in 0..CONVERSATIONS * 2 {
            many.observe(&turn("s", &format!("c{conversation}"), 1));
        }
        assert_eq!(many.conversations.len(), CONVERSATIONS);
        assert_eq!(many.report(None).turns.seen, 5);
    }
}
