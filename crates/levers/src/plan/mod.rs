//! The planner: what was decided before is put in place again, then the levers are asked, and what comes of it is proven.
//!
//! 1. *Replay.* Every message that the journal knows gets the texts that were decided for it; later cold starts go over
//!    earlier decisions. A text goes in only where the very text stands that it was decided for.
//! 2. *Decide.* Where law permits it (the block was never sent, or what is cached of it is gone), the levers that are on
//!    are asked in the order of [`Lever::ALL`]. A text that something was put in the place of, or that something points
//!    to, is out of bounds for those that follow, so no two levers touch the same.
//! 3. *Prove.* The edits are made by `wire`'s splices. The result is read again: the same messages, save those that were to
//!    be left out, each with the same speaker and blocks, the same pairs of calls and results, nothing empty, no fifth breakpoint, no reference without
//!    its definition. In doubt the replay goes alone, and else the original.
//!
//! What the caller has to do with an [`Outcome`]: commit [`records`](Outcome::records) to the journal; if that fails, or
//! another process has decided one of them otherwise, plan again (in the first case with
//! [`Circumstances::journal`] off: then only the replay is made); keep [`originals`](Outcome::originals); only then send.

mod outcome;
mod proof;
pub(crate) mod splice;
pub(crate) mod stage;

pub use outcome::{Action, Original, Outcome, Splice};

use crate::circumstances::Circumstances;
use crate::leaf::{self, At, Leaf};
use crate::lever::{Lever, StandDown};
use crate::levers::{breakpoints, calls, compact, dedup, elide, late, recover, server_edit, tools};
use crate::policy::Policy;
use crate::record::{Put, Record, Sent, Turned};
use crate::view::Decisions;
use deadweight_cache::prefix::Prefix;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, AnomalyKind};
use deadweight_wire::json::Parser;
use outcome::{Made, Tally};
use stage::Stage;
use std::collections::{BTreeMap, BTreeSet};

/// Where a text that is put in place comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// It was decided before.
    Replayed,
    /// It is decided now, for a message that was never sent.
    First,
    /// It is decided now, for a message that was sent, since its cache is gone.
    Cold,
}

/// All that a lever may look at.
pub(crate) struct Ground<'a, 'id, 'd> {
    pub(crate) anatomy: &'a Anatomy<'id, 'd>,
    pub(crate) prefix: &'a Prefix,
    pub(crate) policy: &'a Policy,
    pub(crate) circumstances: &'a Circumstances<'a>,
    pub(crate) stage: &'a Stage,
    /// Every text that can be put in place of, in order.
    pub(crate) leaves: &'a [Leaf<'id, 'd>],
    pub(crate) calls: &'a calls::Calls<'d>,
    /// What is put in place so far.
    pub(crate) puts: &'a BTreeMap<At, (Put, When)>,
    /// What must stay as it is, because something points to it.
    pub(crate) protected: &'a BTreeSet<At>,
    /// The messages that are left out so far.
    pub(crate) gone: &'a BTreeSet<u32>,
    /// The names of the tools that are offered to the model as this request will be sent.
    pub(crate) offered: &'a BTreeSet<String>,
}

impl<'a> Ground<'a, '_, '_> {
    /// The tool by which the model can ask for what is cut: `None` where the user accepts that it cannot.
    pub(crate) fn way_back(&self) -> Result<Option<&'a str>, StandDown> {
        let tool = self.circumstances.restore_tool.filter(|name| self.offered.contains(*name));
        if self.policy.accept_loss {
            Ok(tool)
        } else if tool.is_none() {
            Err(StandDown::NoRestorePath)
        } else if !self.circumstances.keeps_originals {
            Err(StandDown::OriginalsOff)
        } else {
            Ok(tool)
        }
    }

    /// The texts that something was put in the place of which points to another, and that other.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = (At, At)> {
        self.puts.iter().filter_map(|(at, (put, _))| Some((*at, target(self.prefix, put.refers.as_ref()?)?)))
    }

    /// How many bytes of a message go by what is put in place.
    pub(crate) fn cut(&self, message: u32) -> u64 {
        let at = |message| At { message, block: 0, leaf: 0 };
        let puts = self.puts.range(at(message)..at(message.saturating_add(1)));
        puts.map(|(at, (put, _))| {
            let leaf = self.leaves.binary_search_by_key(at, |leaf| leaf.at).ok();
            let length =
                leaf.and_then(|found| self.leaves.get(found)).map_or(0, |leaf| leaf.value.span().len());
            length.saturating_sub(put.json.len()) as u64
        })
        .sum()
    }

    /// When a lever may decide about a text, if it may at all.
    pub(crate) fn open(&self, at: At) -> Option<When> {
        if self.puts.contains_key(&at) || self.protected.contains(&at) || self.gone.contains(&at.message) {
            return None;
        }
        self.stage.open(at.message as usize)
    }
}

/// A text that a lever wants to put in place.
pub(crate) struct Wish {
    pub(crate) at: At,
    pub(crate) text: String,
    /// What it points to.
    pub(crate) refers: Option<At>,
    /// Whether the original is to be kept.
    pub(crate) keep: bool,
}

/// Plans a request: a body in, what is sent in its place out.
#[must_use]
pub fn plan(
    parser: &mut Parser,
    body: &[u8],
    dialect: Dialect,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    decisions: &dyn Decisions,
) -> Outcome {
    parser.scope(body, |document| match document {
        Err(_) => Outcome::passed(policy, StandDown::NotJson),
        Ok(document) => {
            let anatomy = Anatomy::read(document, dialect);
            let prefix = Prefix::read(&anatomy);
            plan_read(&anatomy, &prefix, policy, circumstances, decisions)
        }
    })
}

/// Plans a request that was read already. `prefix` is that of `anatomy`.
#[must_use]
pub fn plan_read(
    anatomy: &Anatomy<'_, '_>,
    prefix: &Prefix,
    policy: &Policy,
    circumstances: &Circumstances<'_>,
    decisions: &dyn Decisions,
) -> Outcome {
    let never = if circumstances.signed {
        Some(StandDown::Signed)
    } else if prefix.partial || anatomy.delta.is_some() {
        Some(StandDown::Partial)
    } else if !prefix.whole || prefix.messages.len() != anatomy.messages.len() || prefix.messages.is_empty() {
        Some(if prefix.whole { StandDown::OddShape } else { StandDown::TooLarge })
    } else {
        None
    };
    if let Some(reason) = never {
        return Outcome::passed(policy, reason);
    }
    let model = anatomy.model.and_then(|model| model.as_str());
    let model = model.as_deref().or(circumstances.model).unwrap_or_default();
    let stage = Stage::read(anatomy, prefix, model, circumstances, decisions);
    let planner = Planner { anatomy, prefix, policy, circumstances, decisions, stage };
    // Everything; else what was decided before; else nothing at all.
    planner
        .attempt(true)
        .or_else(|| planner.attempt(false))
        .unwrap_or_else(|| Outcome::passed(policy, StandDown::Unproven))
}

/// Texts that are put in place, and messages that are left out.
type Replayed = (BTreeMap<At, (Put, When)>, BTreeSet<u32>);

/// Where a place lies in a request.
fn target(prefix: &Prefix, place: &crate::record::Place) -> Option<At> {
    let message = prefix.messages.iter().position(|link| link.chain == place.message)?;
    Some(At { message: message as u32, block: place.block, leaf: place.leaf })
}

/// What an anatomy says that makes it unwise to decide anything new.
fn is_odd(anatomy: &Anatomy<'_, '_>) -> bool {
    anatomy.anomalies.iter().any(|anomaly| {
        matches!(
            anomaly.kind,
            AnomalyKind::DuplicateKey(_) | AnomalyKind::WrongType(_) | AnomalyKind::UnknownRole(_)
        )
    })
}

struct Planner<'a, 'id, 'd> {
    anatomy: &'a Anatomy<'id, 'd>,
    prefix: &'a Prefix,
    policy: &'a Policy,
    circumstances: &'a Circumstances<'a>,
    decisions: &'a dyn Decisions,
    stage: Stage,
}

impl<'id, 'd> Planner<'_, 'id, 'd> {
    /// Why no lever may decide anything new about this request.
    fn gate(&self, new: bool) -> Option<StandDown> {
        if !new {
            Some(StandDown::Unproven)
        } else if is_odd(self.anatomy) {
            Some(StandDown::OddShape)
        } else if self.circumstances.subscription && !self.policy.edit_subscription {
            Some(StandDown::Subscription)
        } else {
            None
        }
    }

    /// Why this lever may not.
    fn barred(&self, lever: Lever, gate: Option<StandDown>) -> Option<StandDown> {
        if !self.policy.on(lever) {
            return Some(StandDown::Off);
        }
        if gate.is_some() {
            return gate;
        }
        if lever != Lever::PlaceBreakpoints && !self.circumstances.journal {
            return Some(StandDown::JournalUnavailable);
        }
        self.circumstances.resting.contains(&lever).then_some(StandDown::Resting)
    }

    /// Why a lever that edits messages may not.
    fn barred_messages(
        &self,
        lever: Lever,
        gate: Option<StandDown>,
        server_edits: bool,
    ) -> Option<StandDown> {
        self.barred(lever, gate).or_else(|| {
            if self.stage.binding.may_bind() && !self.policy.edit_bound {
                Some(StandDown::ThinkingBound)
            } else if elide::provider_edits(self.anatomy) {
                Some(StandDown::ClientEdits)
            } else if server_edits {
                Some(StandDown::ServerEdits)
            } else {
                self.stage.closed()
            }
        })
    }

    /// One attempt: with new decisions, or with the replay alone. `None`: it could not be proven.
    fn attempt(&self, new: bool) -> Option<Outcome> {
        let gate = self.gate(new);
        let mut tally = Tally::default();
        let leaves = leaf::all(self.anatomy);
        let (mut puts, mut gone) = self.replayed(&leaves, &mut tally)?;
        let mut protected = self.protected(&puts);

        let mut head = tools::decide(
            self.anatomy,
            self.prefix,
            self.policy,
            self.circumstances,
            &self.stage,
            tools::Barred {
                prune: self.barred(Lever::PruneTools, gate),
                defer: self.barred(Lever::DeferTools, gate),
                steady: self.barred(Lever::SteadyPrefix, gate),
            },
        );
        tally.answer(Lever::DeferTools, head.deferring);
        tally.replays(Lever::DeferTools, head.deferring_again);
        let edits = server_edit::decide(
            self.anatomy,
            self.policy,
            self.circumstances,
            &self.stage,
            self.barred(Lever::ServerEdit, gate),
        );
        tally.answer(Lever::ServerEdit, edits.decided);
        tally.replays(Lever::ServerEdit, u32::from(edits.put.is_some() && edits.decided.is_err()));
        head.now.edits =
            edits.put.clone().or_else(|| self.stage.head.as_ref().and_then(|head| head.edits.clone()));
        let unbinds = recover::ask(
            self.anatomy,
            self.circumstances,
            &self.stage,
            self.barred(Lever::RecoverBound, gate),
        );
        tally.answer(Lever::RecoverBound, Err(unbinds.why));
        tally.replays(Lever::RecoverBound, u32::from(unbinds.put.is_some()));
        tally.answer(Lever::PruneTools, head.pruning);
        tally.answer(Lever::SteadyPrefix, head.steadying);
        tally.replays(Lever::PruneTools, head.pruning_again);
        tally.replays(Lever::SteadyPrefix, head.steadying_again);

        let asked = [Lever::Dedup, Lever::ElideResults, Lever::CompactHistory]
            .map(|lever| (lever, self.barred_messages(lever, gate, edits.put.is_some())));
        let calls = match asked.iter().any(|(_, barred)| barred.is_none()) {
            true => calls::Calls::read(self.anatomy),
            false => calls::Calls::default(),
        };
        let mut originals = Vec::new();
        let mut new_view = false;
        for (lever, barred) in asked {
            if let Some(reason) = barred {
                tally.answer(lever, Err(reason));
                continue;
            }
            let ground = Ground {
                anatomy: self.anatomy,
                prefix: self.prefix,
                policy: self.policy,
                circumstances: self.circumstances,
                stage: &self.stage,
                leaves: &leaves,
                calls: &calls,
                puts: &puts,
                protected: &protected,
                gone: &gone,
                offered: &head.offered,
            };
            if lever == Lever::CompactHistory {
                match compact::ask(&ground) {
                    Err(not) => {
                        tally.answer(lever, Err(not.why));
                        tally.breaks_even(lever, not.break_even);
                    }
                    Ok(view) => {
                        tally.answer(lever, Ok(view.gone.len() as u32));
                        tally.breaks_even(lever, view.break_even);
                        gone.clone_from(&view.gone);
                        self.take_view(view, &leaves, &mut puts, &mut originals, &mut tally)?;
                        new_view = true;
                    }
                }
                continue;
            }
            let wishes = if lever == Lever::Dedup { dedup::ask(&ground) } else { elide::ask(&ground) };
            let wishes = match wishes {
                Ok(wishes) => wishes,
                Err(reason) => {
                    tally.answer(lever, Err(reason));
                    continue;
                }
            };
            tally.answer(lever, Ok(wishes.len() as u32));
            for wish in wishes {
                let (put, when) = self.granted(lever, &wish, &leaves, &mut originals)?;
                protected.extend(wish.refers);
                puts.insert(wish.at, (put, when));
            }
        }

        puts.retain(|at, _| !gone.contains(&at.message));
        let marks = match self.barred(Lever::PlaceBreakpoints, gate) {
            Some(reason) => Err(reason),
            None => breakpoints::ask(
                self.anatomy,
                self.prefix,
                self.policy,
                self.circumstances,
                &self.stage,
                &head,
            ),
        };
        let upgrades =
            marks.is_ok() && breakpoints::upgrades(self.prefix, self.policy, self.circumstances, &self.stage);
        head.now.hour |= upgrades;
        tally.answer(
            Lever::PlaceBreakpoints,
            marks.as_ref().map(|marks| marks.len() as u32).map_err(|own| *own),
        );
        let mut marks = marks.unwrap_or_default();
        marks.retain(|mark| !matches!(mark, breakpoints::Mark::Block(message, _) if gone.contains(message)));

        let members = splice::Members { edits: edits.put.as_deref(), unbinds: unbinds.put };
        let sent = splice::apply(self.anatomy, &leaves, &puts, &gone, &head, members, &marks)?;
        if let Some(sent) = &sent {
            proof::holds(self.anatomy, sent.spliced.bytes(), &gone, members, &head.late)?;
        }
        let view = new_view.then_some(&gone);
        let records = if self.circumstances.counting { Vec::new() } else { self.records(&puts, view, &head) };
        let left_out = gone.into_iter().collect();
        let added = head.late.behind.keys().copied().collect();
        let mut betas = Vec::new();
        betas.extend(members.edits.map(|_| server_edit::BETA));
        betas.extend(members.unbinds.map(|_| recover::BETA));
        betas.extend((!head.late.behind.is_empty()).then_some(late::BETA));
        let may_be_ours = sent.is_some() || self.stage.joined;
        let recovers = unbinds.may;
        let made = Made {
            sent,
            records,
            originals,
            pruned: head.pruned,
            left_out,
            added,
            betas,
            may_be_ours,
            recovers,
            upgrades,
        };
        Some(Outcome::made(made, tally))
    }

    /// Puts the note of a view in place, and takes back what was decided for texts that are not sent now.
    fn take_view(
        &self,
        view: compact::View,
        leaves: &[Leaf<'id, 'd>],
        puts: &mut BTreeMap<At, (Put, When)>,
        originals: &mut Vec<Original>,
        tally: &mut Tally,
    ) -> Option<()> {
        let in_vain = |at: &At, when: When| when != When::Replayed && view.gone.contains(&at.message);
        for (_, (put, _)) in puts.iter().filter(|(at, (_, when))| in_vain(at, *when)) {
            tally.withdraw(put.lever, 1);
        }
        puts.retain(|at, (put, when)| put.lever != Lever::CompactHistory && !in_vain(at, *when));
        originals.retain(|own| puts.values().any(|(put, _)| put.original == own.hash));
        originals.extend(view.original);
        let found = leaves.binary_search_by_key(&view.at, |leaf| leaf.at).ok()?;
        let put = Put {
            block: view.at.block,
            leaf: view.at.leaf,
            lever: Lever::CompactHistory,
            version: Lever::CompactHistory.version(),
            original: crate::text::hash(&leaves.get(found)?.text()),
            json: crate::text::quoted(&view.text),
            refers: None,
        };
        puts.insert(view.at, (put, When::Cold));
        Some(())
    }

    /// What was decided before for the texts of this request, and which messages are left out. `None` where they would be
    /// so without a note.
    fn replayed(&self, leaves: &[Leaf<'id, 'd>], tally: &mut Tally) -> Option<Replayed> {
        let mut puts: BTreeMap<At, (Put, When)> = BTreeMap::new();
        let (decided, gone) = self.stage.decided(self.prefix, self.decisions);
        for (at, put) in decided {
            let Ok(found) = leaves.binary_search_by_key(&at, |leaf| leaf.at) else { continue };
            // The key says that the text is the same; it is looked at all the same.
            if leaves.get(found).is_some_and(|leaf| crate::text::hash(&leaf.text()) == put.original) {
                puts.insert(at, (put, When::Replayed));
            }
        }
        // A pointer without what it points to would be a loss: its text goes as the client sent it.
        let dangling: Vec<At> = puts
            .iter()
            .filter(|(at, (put, _))| {
                put.refers.as_ref().is_some_and(|place| {
                    target(self.prefix, place).is_none_or(|target| {
                        puts.contains_key(&target)
                            || (gone.contains(&target.message) && !gone.contains(&at.message))
                            || leaves.binary_search_by_key(&target, |leaf| leaf.at).is_err()
                    })
                })
            })
            .map(|(at, _)| *at)
            .collect();
        for at in dangling {
            puts.remove(&at);
        }
        let noted = puts.values().any(|(put, _)| put.lever == Lever::CompactHistory);
        if !gone.is_empty() && !noted {
            return None;
        }
        for (_, (put, _)) in puts.iter().filter(|(at, _)| !gone.contains(&at.message)) {
            tally.replayed(put.lever);
        }
        Some((puts, gone))
    }

    fn protected(&self, puts: &BTreeMap<At, (Put, When)>) -> BTreeSet<At> {
        puts.values().filter_map(|(put, _)| target(self.prefix, put.refers.as_ref()?)).collect()
    }

    /// A wish as a decision. `None` where it is not what a lever may wish for.
    fn granted(
        &self,
        lever: Lever,
        wish: &Wish,
        leaves: &[Leaf<'id, 'd>],
        originals: &mut Vec<Original>,
    ) -> Option<(Put, When)> {
        let found = leaves.binary_search_by_key(&wish.at, |leaf| leaf.at).ok()?;
        let leaf = leaves.get(found)?;
        let when = self.stage.open(wish.at.message as usize)?;
        let json = crate::text::quoted(&wish.text);
        if wish.text.trim().is_empty() || json.len() >= leaf.value.span().len() {
            return None;
        }
        let text = leaf.text();
        let original = crate::text::hash(&text);
        if wish.keep {
            originals.push(Original {
                id: crate::text::restore_id(&original),
                hash: original,
                text: text.into_owned(),
            });
        }
        let refers = match wish.refers {
            None => None,
            Some(at) => Some(crate::record::Place {
                message: self.prefix.messages.get(at.message as usize)?.chain,
                block: at.block,
                leaf: at.leaf,
            }),
        };
        let put = Put {
            block: wish.at.block,
            leaf: wish.at.leaf,
            lever,
            version: lever.version(),
            original,
            json,
            refers,
        };
        Some((put, when))
    }

    /// What the journal has to hold before this request leaves.
    fn records(
        &self,
        puts: &BTreeMap<At, (Put, When)>,
        view: Option<&BTreeSet<u32>>,
        head: &tools::Head,
    ) -> Vec<Record> {
        let mut records = Vec::new();
        let Some(last) = self.prefix.messages.last() else { return records };
        let bound = self.stage.binding.may_bind();
        let mut first: BTreeMap<u32, Vec<Put>> = BTreeMap::new();
        let mut cold = Vec::new();
        for (at, (put, when)) in puts {
            match when {
                When::Replayed => {}
                When::First => first.entry(at.message).or_default().push(put.clone()),
                When::Cold => {
                    if let Some(link) = self.prefix.messages.get(at.message as usize) {
                        cold.push((link.chain, put.clone()));
                    }
                }
            }
        }
        let end = self.prefix.messages.len() - 1;
        for (number, link) in self.prefix.messages.iter().enumerate() {
            if self.stage.knows(number) {
                continue;
            }
            let own = if number == end { Some(head.now.key()) } else { None };
            let puts = first.remove(&(number as u32)).unwrap_or_default();
            // Whom an answer came from that was not asked for here is not known.
            let bound = bound || self.stage.is_answered(number);
            let behind = if number == end { head.late.says.clone() } else { None };
            records.push(Record::Sent(Sent { chain: link.chain, bound, head: own, puts, behind }));
        }
        if !self.stage.knows(end) && self.stage.head.as_deref() != Some(&head.now) {
            records.push(Record::Head(head.now.clone()));
        }
        if bound && self.stage.knows(end) && !self.stage.is_bound(end) {
            records.push(Record::Bound(last.chain));
        }
        if !cold.is_empty() {
            let link = |at: &u32| self.prefix.messages.get(*at as usize).map(|link| link.chain);
            let gone = view.map(|gone| gone.iter().filter_map(link).collect());
            records.push(Record::Turned(Turned { chain: last.chain, puts: cold, gone }));
        }
        records
    }
}
