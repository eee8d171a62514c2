//! What a gateway does around the planner: places the request, plans it, commits, sends.

use deadweight_cache::lineage::{Limits, Lineages};
use deadweight_cache::prefix::Prefix;
use deadweight_cache::watch::Lifetimes;
use deadweight_levers::plan::{Outcome, plan};
use deadweight_levers::record::Record;
use deadweight_levers::{Circumstances, Cold, Memory, Policy};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use std::collections::HashMap;

pub(crate) const DIALECT: Dialect = Dialect::AnthropicMessages;

pub(crate) fn prefix(body: &[u8]) -> Prefix {
    Parser::new().scope(body, |document| Prefix::read(&Anatomy::read(document.unwrap(), DIALECT)))
}

pub(crate) struct Gateway {
    pub(crate) policy: Policy,
    pub(crate) journal: Memory,
    pub(crate) writable: bool,
    lineages: Lineages,
    last: Option<u64>,
    /// Whether tools were left out of a request.
    pruned: bool,
    requests: u64,
    /// What went out for each message of the client: own hash by chain hash.
    sent: HashMap<deadweight_cache::Digest, deadweight_cache::Digest>,
    pub(crate) originals: HashMap<String, String>,
}

impl Gateway {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            journal: Memory::new(),
            writable: true,
            lineages: Lineages::new(Limits::default()),
            last: None,
            requests: 0,
            pruned: false,
            sent: HashMap::new(),
            originals: HashMap::new(),
        }
    }

    /// What goes upstream for a body, at a time in milliseconds.
    pub(crate) fn send(&mut self, body: &[u8], at: u64) -> (Vec<u8>, Outcome) {
        let now = prefix(body);
        let lifetimes = Lifetimes::of(DIALECT);
        let placed = self.lineages.place("session", &now, at, &lifetimes);
        let idle = self.last.map(|last| at - last);
        self.last = Some(at);
        let hot = ["Read", "Edit", "Bash"].map(str::to_owned);
        let circumstances = Circumstances {
            hot: Some(&hot),
            appends_betas: true,
            cold: Cold::proven(placed.relation, &placed.turn.causes, idle, Some(lifetimes.five_minutes)),
            pruned_before: self.pruned,
            restore_tool: Some("restore"),
            journal: self.writable,
            ..Circumstances::default()
        };
        let outcome = plan(&mut Parser::new(), body, DIALECT, &self.policy, &circumstances, &self.journal);
        assert!(self.writable || !outcome.must_commit(), "nothing new without a journal");
        // What changes nothing is remembered, and written when that is possible again.
        for record in &outcome.records {
            assert_eq!(Record::decode(&record.encode()).as_ref(), Ok(record));
            self.journal.take(record.clone());
        }
        for original in &outcome.originals {
            self.originals.insert(original.id.clone(), original.text.clone());
        }
        self.pruned |= !outcome.pruned.is_empty();
        let out = outcome.body.clone().unwrap_or_else(|| body.to_vec());
        if outcome.records.iter().any(|record| matches!(record, Record::Turned(_))) {
            self.sent.clear();
        }
        let sent = if out == body { now.clone() } else { prefix(&out) };
        assert_eq!(now.messages.len(), sent.messages.len() + outcome.left_out.len());
        let stays = |at: &usize| !outcome.left_out.contains(&(*at as u32));
        let stays = (0..now.messages.len()).filter(stays).map(|at| &now.messages[at]);
        for (own, new) in stays.zip(&sent.messages) {
            let before = self.sent.insert(own.chain, new.own);
            assert!(
                before.is_none_or(|before| before == new.own),
                "a message that was sent went out otherwise"
            );
        }
        self.requests += 1;
        if !self.requests.is_multiple_of(3) {
            return (out, outcome);
        }
        // Once more, as a retry: the same bytes, and nothing new.
        let again = plan(&mut Parser::new(), body, DIALECT, &self.policy, &circumstances, &self.journal);
        assert!(
            again.body == outcome.body,
            "planned again: {:?} {:?} {circumstances:?}",
            again.actions,
            outcome.actions
        );
        assert!(!again.must_commit());
        (out, outcome)
    }

    /// The process ends, and another one takes up where it was.
    pub(crate) fn restart(&mut self) {
        self.journal = Memory::restore(self.journal.save()).unwrap();
        let state = self.lineages.save("session");
        self.lineages = Lineages::new(Limits::default());
        if let Some(state) = state {
            self.lineages.restore("session", &state).unwrap();
        }
    }

    /// The journal's file is gone; the ledger is not.
    pub(crate) fn lose_journal(&mut self) {
        self.journal = Memory::new();
        self.forget_sent();
    }

    /// From here on the client, or a loss, makes messages go out otherwise than before.
    pub(crate) fn forget_sent(&mut self) {
        self.sent.clear();
    }
}
