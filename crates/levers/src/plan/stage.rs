//! How far a conversation is known, and where something new may be decided.

use super::When;
use crate::binding::Binding;
use crate::circumstances::Circumstances;
use crate::leaf::{At, is_thinking};
use crate::lever::{Lever, StandDown};
use crate::record::{Behind, Head, Put, Sent};
use crate::view::Decisions;
use deadweight_cache::prefix::Prefix;
use deadweight_price::bare;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Role};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// What is known of a message.
struct Known {
    sent: Option<Arc<Sent>>,
    bound: bool,
    role: Role,
}

/// How far a conversation is known.
pub(crate) struct Stage {
    messages: Vec<Known>,
    /// The model's id as its maker writes it.
    pub(crate) model: String,
    /// What the model does about thinking.
    pub(crate) binding: Binding,
    /// The head that the conversation was last sent with.
    pub(crate) head: Option<Arc<Head>>,
    /// The first of the messages that were never sent.
    pub(crate) fresh: usize,
    /// Whether something of the conversation was sent that the journal does not know of.
    pub(crate) joined: bool,
    /// The last message with thinking that is bound to what stands before it, or may be.
    pub(crate) bound_thinking: Option<usize>,
    /// Whether what is cached is known to be gone.
    pub(crate) cold: bool,
    /// Whether something was decided at a cold start with just these messages.
    pub(crate) turned: bool,
    /// Whether the provider refused thinking in it, and is asked to drop such thinking.
    pub(crate) unbound: bool,
    /// Whether the model has spoken in it.
    pub(crate) answered: bool,
    /// The last message of the model's.
    answer: Option<usize>,
}

impl Stage {
    pub(crate) fn read(
        anatomy: &Anatomy<'_, '_>,
        prefix: &Prefix,
        model: &str,
        circumstances: &Circumstances<'_>,
        decisions: &dyn Decisions,
    ) -> Self {
        let messages: Vec<Known> = prefix
            .messages
            .iter()
            .zip(&anatomy.messages)
            .map(|(link, message)| {
                let sent = decisions.sent(&link.chain);
                let bound = sent.as_ref().is_some_and(|own| own.bound || decisions.bound(&link.chain));
                Known { sent, bound, role: message.role }
            })
            .collect();
        let count = messages.len();
        let known = messages.iter().rposition(|own| own.sent.is_some());
        let fresh = known.map_or(0, |last| last + 1);
        let new = messages.get(fresh..).unwrap_or_default();
        let answers = new.iter().rposition(|own| own.role == Role::Assistant);
        // The model's answer to what was sent last, then what is new. Where somebody else spoke before the model's last
        // words, a request went by that the journal does not know of.
        let missed = answers.is_some_and(|last| {
            known.is_none() || new.iter().take(last).any(|own| own.role != Role::Assistant)
        });
        let answer = messages.iter().rposition(|own| own.role == Role::Assistant);
        let turned = prefix.messages.last().is_some_and(|link| decisions.turned(&link.chain).is_some());
        let head = messages.iter().rev().find_map(|own| own.sent.as_ref()?.head);
        let mut stage = Self {
            messages,
            model: bare(model).into_owned(),
            binding: Binding::of(model),
            head: head.and_then(|key| decisions.head(&key)),
            fresh,
            joined: missed,
            bound_thinking: None,
            // Of two cold starts at one message the first stays: the second is a retry of it. And what was sent as it is may
            // be gone on with as it is: what is asked once more, of another model, has another continuation already.
            cold: circumstances.cold.is_some() && !turned && fresh < count,
            turned,
            unbound: prefix.messages.iter().any(|link| decisions.unbound(&link.chain)),
            answered: answer.is_some(),
            answer,
        };
        stage.bound_thinking = stage.bound_thinking(anatomy);
        stage
    }

    /// The last message with thinking that was made by a model which binds it, as far as is known. Who made it is who
    /// was asked with what stands before.
    fn bound_thinking(&self, anatomy: &Anatomy<'_, '_>) -> Option<usize> {
        if anatomy.dialect != Dialect::AnthropicMessages {
            return None;
        }
        let thinks = |at: &usize| {
            anatomy.messages.get(*at).is_some_and(|own| anatomy.blocks_of(own).iter().any(is_thinking))
        };
        (0..self.messages.len()).rev().filter(thinks).find(|&at| {
            let asked = self.messages.get(..at).unwrap_or_default();
            let asked = asked.iter().rfind(|own| own.role != Role::Assistant);
            asked.is_none_or(|own| own.sent.is_none() || own.bound)
        })
    }

    /// What was said behind a message.
    pub(crate) fn behind(&self, message: usize) -> Option<&Behind> {
        self.messages.get(message)?.sent.as_ref()?.behind.as_ref()
    }

    /// Whether something that is said behind a message stands where it may: before the model's words, or at the end.
    pub(crate) fn may_follow(&self, message: usize) -> bool {
        self.messages.get(message).is_some_and(|own| own.role == Role::User)
            && self.messages.get(message + 1).is_none_or(|own| own.role == Role::Assistant)
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether the journal knows a message.
    pub(crate) fn knows(&self, message: usize) -> bool {
        self.messages.get(message).is_some_and(|own| own.sent.is_some())
    }

    /// Whether the journal knows all that is said: the request is a retry.
    pub(crate) fn knows_all(&self) -> bool {
        self.fresh == self.messages.len()
    }

    /// Whether a message is recorded as sent to a model that binds thinking.
    pub(crate) fn is_bound(&self, message: usize) -> bool {
        self.messages.get(message).is_some_and(|own| own.bound)
    }

    /// Whether the model has spoken behind a message.
    pub(crate) fn is_answered(&self, message: usize) -> bool {
        self.answer.is_some_and(|last| message < last)
    }

    /// Whether no message was sent before.
    pub(crate) fn is_first(&self) -> bool {
        self.fresh == 0 && !self.answered
    }

    /// When something new may be decided about the texts of a message, if at all.
    pub(crate) fn open(&self, message: usize) -> Option<When> {
        if self.messages.get(message)?.role == Role::Assistant
            || self.bound_thinking.is_some_and(|last| message < last)
        {
            return None;
        }
        if message >= self.fresh && !self.joined {
            return Some(When::First);
        }
        self.cold.then_some(When::Cold)
    }

    /// Why no message is open at all, if none is.
    pub(crate) fn closed(&self) -> Option<StandDown> {
        if (0..self.messages.len()).any(|at| self.open(at).is_some()) {
            None
        } else if self.joined && !self.cold {
            Some(StandDown::Joined)
        } else if self.cold && self.bound_thinking.is_some() {
            Some(StandDown::ThinkingBound)
        } else {
            Some(StandDown::NothingNew)
        }
    }

    /// What was decided about this request's texts, in the order in which it was: later ones go over earlier ones. And
    /// which messages are left out.
    pub(crate) fn decided(
        &self,
        prefix: &Prefix,
        decisions: &dyn Decisions,
    ) -> (Vec<(At, Put)>, BTreeSet<u32>) {
        let mut gone = BTreeSet::new();
        let mut all = Vec::new();
        let at = |message: usize, put: &Put| At { message: message as u32, block: put.block, leaf: put.leaf };
        for (message, known) in self.messages.iter().enumerate() {
            let puts = known.sent.iter().flat_map(|own| &own.puts);
            all.extend(puts.map(|put| (at(message, put), put.clone())));
        }
        for (end, link) in prefix.messages.iter().enumerate() {
            let Some(turned) = decisions.turned(&link.chain) else { continue };
            let before = prefix.messages.get(..=end).unwrap_or_default();
            if let Some(list) = &turned.gone {
                // A view takes the place of the one before, with its note.
                let list: HashSet<_> = list.iter().collect();
                gone = before
                    .iter()
                    .zip(0..)
                    .filter(|(link, _)| list.contains(&link.chain))
                    .map(|(_, at)| at)
                    .collect();
                all.retain(|(_, put)| put.lever != Lever::CompactHistory);
            }
            for (chain, put) in &turned.puts {
                if let Some(message) = before.iter().position(|link| link.chain == *chain) {
                    all.push((at(message, put), put.clone()));
                }
            }
        }
        (all, gone)
    }
}
