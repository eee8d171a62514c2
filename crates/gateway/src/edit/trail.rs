//! What becomes of a request that was looked at.

use super::desk::Committed;
use super::refusal::Refusal;
use super::settings::faithful;
use super::work::{Inner, Known, Request, record};
use crate::exchange::Edited;
use crate::relay::{Answered, Level, Next, Note, Trail, Work};
use deadweight_cache::lineage::Placement;
use deadweight_levers::Lever;
use deadweight_levers::plan::Outcome;
use deadweight_levers::record::Record;
use std::sync::Arc;

/// Why a lever's edit is not in what was sent: the provider did not take it.
const REFUSED: &str = "refused";

/// Follows one request.
pub(super) struct Follow {
    inner: Arc<Inner>,
    request: Arc<Request>,
    placement: Placement,
    account: [u8; 32],
    known: Known,
    /// The levers that decided something now.
    decided: Vec<Lever>,
    /// The levers whose earlier decisions were done again.
    replayed: Vec<Lever>,
    /// What was written down for it.
    committed: Vec<Record>,
    /// What was planned, without the body and what was written down.
    planned: Outcome,
    record: Edited,
    /// Whether another body than the one that came was sent.
    changed: bool,
    /// The original was sent after a refusal; what the refusal said.
    again: Option<Refusal>,
    answered: bool,
}

impl Follow {
    pub(super) fn new(
        inner: Arc<Inner>,
        request: Arc<Request>,
        placement: Placement,
        account: [u8; 32],
        mut outcome: Outcome,
        committed: bool,
        known: Known,
    ) -> Self {
        let records = std::mem::take(&mut outcome.records);
        let levers = |of: fn(&deadweight_levers::plan::Action) -> u32| {
            let own = outcome.actions.iter().filter(|action| action.lever != Lever::Passthrough);
            own.filter(|action| of(action) > 0).map(|action| action.lever).collect()
        };
        Self {
            decided: levers(|action| action.decided),
            replayed: levers(|action| action.replayed),
            record: record(&outcome, known.holds_out),
            changed: outcome.body.take().is_some(),
            committed: if committed { records } else { Vec::new() },
            planned: outcome,
            inner,
            request,
            placement,
            account,
            known,
            again: None,
            answered: false,
        }
    }

    /// The provider did not take what was sent.
    async fn refused(&mut self, refusal: Refusal) -> Next {
        let now_ms = (self.inner.clock)();
        let only_new = self.replayed.is_empty() && !self.decided.is_empty();
        if only_new && self.take_back(now_ms).await {
            let mut record = self.record.clone();
            record.splices.clear();
            for action in &mut record.actions {
                if self.decided.iter().any(|lever| lever.name() == action.lever) {
                    action.decided = 0;
                    action.stood_down = Some(REFUSED);
                    action.saved_bytes = 0;
                    action.break_even = None;
                    action.names.clear();
                }
            }
            self.again = Some(refusal);
            return Next::SendOriginal(record);
        }
        if !only_new && !self.committed.is_empty() {
            // What the provider did not take is nobody's original.
            self.inner.desk.replace(&self.committed, &[], now_ms).await;
        }
        let suspects = match (self.decided.is_empty(), refusal.is_of_thinking()) {
            (false, _) => self.decided.clone(),
            // Who only has thinking dropped has changed none.
            (true, true) => {
                self.replayed.iter().copied().filter(|lever| *lever != Lever::RecoverBound).collect()
            }
            (true, false) => Vec::new(),
        };
        self.rest(&suspects, &refusal, now_ms).await;
        Next::Pass
    }

    /// Puts what is true of the original in the place of what was written down. False: it cannot be done.
    async fn take_back(&self, now_ms: u64) -> bool {
        if self.committed.is_empty() {
            return true;
        }
        // What is planned without what was just decided is what the original is sent with.
        let desk = &self.inner.desk;
        let mut view = desk.view(&self.request.facts.keys);
        view.leave_out(&self.committed);
        let policy = Arc::new(faithful());
        let Some(plain) = self.inner.plan(&self.request, &policy, &self.known, view).await else {
            return false;
        };
        plain.body.is_none() && desk.replace(&self.committed, &plain.records, now_ms).await
    }

    /// The provider refused thinking because of what stands before it, and that may be our doing. Where the user asked for
    /// it, what continues the conversation goes on without that thinking.
    async fn unbind(&self, refusal: &Refusal) {
        if !refusal.is_of_binding() || !self.planned.may_be_ours {
            return;
        }
        let recovery = self.planned.recovery(&self.request.facts.keys.prefix, refusal.message());
        let recovers = match recovery {
            Some(record) => self.inner.desk.commit(&[record], (self.inner.clock)()).await == Committed::Done,
            None => false,
        };
        let provider = self.request.asked.provider;
        let goes_on = match recovers {
            true => {
                "from the next request on it is asked to drop such thinking, for the rest of the conversation"
            }
            false => "with recover-bound switched on, such a conversation goes on without that thinking",
        };
        let text = format!(
            "{provider} refused thinking that it says is bound to a different conversation; {goes_on}"
        );
        let note = Note::new(Level::Warning, "thinking_refused", text)
            .with("rule", &refusal.rule)
            .with("place", refusal.place.as_deref().unwrap_or("unknown"))
            .with("recovers", recovers);
        (self.inner.on_note)(note);
    }

    async fn rest(&self, levers: &[Lever], refusal: &Refusal, now_ms: u64) {
        self.inner.rests.rest(&self.inner.desk, self.account, levers, now_ms).await;
        let names = |levers: &[Lever]| levers.iter().map(|lever| lever.name()).collect::<Vec<_>>().join(", ");
        let whose = if levers.is_empty() { "none".to_owned() } else { names(levers) };
        let provider = self.request.asked.provider;
        let model = self.request.facts.model.clone().unwrap_or_default();
        let text = match levers {
            [] => format!(
                "{provider} refused a request that was changed as it had been before ({})",
                refusal.rule
            ),
            _ => format!(
                "{provider} refused what {whose} changed ({}); it decides nothing new for this account and {model} for a week",
                refusal.rule
            ),
        };
        let splices: Vec<String> = self
            .record
            .splices
            .iter()
            .take(8)
            .map(|splice| {
                format!("{}..{}+{} {}", splice.at.start, splice.at.end, splice.length, splice.lever)
            })
            .collect();
        let note = Note::new(Level::Warning, "edit_refused", text)
            .with("levers", whose)
            .with("rule", &refusal.rule)
            .with("place", refusal.place.as_deref().unwrap_or("unknown"))
            .with("splices", splices.join(" "))
            .with("retried", self.again.is_some());
        (self.inner.on_note)(note);
    }
}

impl Trail for Follow {
    fn listens(&self) -> bool {
        self.planned.may_be_ours
    }

    fn answered<'a>(&'a mut self, answer: Answered<'a>) -> Work<'a, Next> {
        Box::pin(async move {
            let ok = (200..300).contains(&answer.status);
            self.answered = ok;
            if ok {
                // The original was taken: it was the edit.
                if let Some(refusal) = self.again.clone() {
                    let (levers, now_ms) = (self.decided.clone(), (self.inner.clock)());
                    self.rest(&levers, &refusal, now_ms).await;
                }
                return Next::Pass;
            }
            if !crate::relay::is_refusal(answer.status) {
                return Next::Pass;
            }
            let refusal = Refusal::read(answer.refusal, answer.encoding, self.request.asked.dialect);
            if self.changed && self.again.is_none() {
                let next = self.refused(refusal.clone()).await;
                if next != Next::Pass {
                    return next;
                }
            }
            self.unbind(&refusal).await;
            Next::Pass
        })
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        if !self.answered && !self.request.counts {
            self.inner.places().failed(&self.request.facts.session, &self.placement);
        }
    }
}
