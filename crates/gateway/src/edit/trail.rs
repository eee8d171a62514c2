//! What becomes of a request that was looked at.

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
        outcome: Outcome,
        committed: bool,
        known: Known,
    ) -> Self {
        let levers = |of: fn(&deadweight_levers::plan::Action) -> u32| {
            let own = outcome.actions.iter().filter(|action| action.lever != Lever::Passthrough);
            own.filter(|action| of(action) > 0).map(|action| action.lever).collect()
        };
        Self {
            decided: levers(|action| action.decided),
            replayed: levers(|action| action.replayed),
            record: record(&outcome, known.holds_out),
            changed: outcome.body.is_some(),
            committed: if committed { outcome.records } else { Vec::new() },
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
            (true, true) => self.replayed.clone(),
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
        let mut view = desk.view(&self.request.facts.prefix);
        view.leave_out(&self.committed);
        let policy = Arc::new(faithful());
        let Some(plain) = self.inner.plan(&self.request, &policy, &self.known, view).await else {
            return false;
        };
        plain.body.is_none() && desk.replace(&self.committed, &plain.records, now_ms).await
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
    fn answered<'a>(&'a mut self, answer: Answered<'a>) -> Work<'a, Next> {
        Box::pin(async move {
            let ok = (200..300).contains(&answer.status);
            self.answered = ok;
            let refused = crate::relay::is_refusal(answer.status);
            match self.again.clone() {
                // The original was taken: it was the edit.
                Some(refusal) if ok => {
                    let (levers, now_ms) = (self.decided.clone(), (self.inner.clock)());
                    self.rest(&levers, &refusal, now_ms).await;
                    Next::Pass
                }
                None if refused && self.changed => {
                    self.refused(Refusal::read(answer.refusal, self.request.asked.dialect)).await
                }
                _ => Next::Pass,
            }
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
