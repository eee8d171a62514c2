//! The work on one request.

use super::desk::{Committed, Desk, SEEN_EVERY_MS};
use super::known::Records;
use super::originals::Originals;
use super::places::{Facts, HOUR_MS, Placed, Places, TEN_MINUTES};
use super::rests::{self, Rests};
use super::settings::{Settings, faithful};
use super::trail::Follow;
use super::turn::Turn;
use super::uses::Uses;
use crate::clock::Clock;
use crate::exchange::{Edited, LeverAction, Spliced};
use crate::measure::{self, decode};
use crate::provider::Provider;
use crate::relay::{Asked, Edit, OnNote};
use bytes::Bytes;
use deadweight_levers::plan::{Outcome, plan_read};
use deadweight_levers::{Circumstances, Cold, Lever, Policy, asked_again, caches_for_hour, restore_tool};
use deadweight_price::Book;
use deadweight_price::ttl::Pauses;
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A decoded body larger than this is left as it is, in bytes.
const MOST: usize = 64 << 20;
/// Bodies longer than this are planned where nothing else is held up.
const LONG: usize = 256 << 10;
/// How often is planned again when another gateway decides at the same time.
const ATTEMPTS: usize = 4;
/// How many parsers are kept with their memory.
const PARSERS: usize = 8;

/// All that editing works with.
pub(super) struct Inner {
    pub(super) settings: RwLock<Arc<Settings>>,
    pub(super) desk: Arc<Desk>,
    pub(super) places: Mutex<Places>,
    pub(super) rests: Rests,
    pub(super) book: Arc<Book>,
    pub(super) uses: Uses,
    pub(super) originals: Arc<dyn Originals>,
    pub(super) parsers: Mutex<Vec<Parser>>,
    pub(super) clock: Clock,
    pub(super) on_note: OnNote,
}

/// A request that is worked on.
pub(super) struct Request {
    pub(super) asked: Asked,
    /// Its body, not compressed.
    pub(super) body: Bytes,
    pub(super) facts: Facts,
    /// Whether tokens are only counted.
    pub(super) counts: bool,
}

/// What is known of a request besides its bytes, without borrowing.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) cold: Option<Cold>,
    /// Whether tools were left out of requests of its session.
    pub(super) pruned_before: bool,
    pub(super) likely_single: bool,
    pub(super) journal: bool,
    pub(super) resting: Vec<Lever>,
    pub(super) backed_off: Vec<Lever>,
    pub(super) holds_out: bool,
    /// Whether the conversation may be cached for an hour.
    pub(super) hour: bool,
    /// What its pauses have come to.
    pub(super) pauses: Pauses,
}

impl Inner {
    pub(super) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_parser<T>(&self, work: impl FnOnce(&mut Parser) -> T) -> T {
        let kept = self.parsers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut parser = kept.unwrap_or_default();
        let outcome = work(&mut parser);
        let mut all = self.parsers.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < PARSERS {
            all.push(parser);
        }
        outcome
    }

    /// Works on the body where nothing else is held up, if it is long.
    pub(super) async fn off_the_way<T: Send + 'static>(
        self: &Arc<Self>,
        length: usize,
        work: impl FnOnce(&Self) -> Option<T> + Send + 'static,
    ) -> Option<T> {
        if length <= LONG {
            return work(self);
        }
        let own = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&own)).await.ok().flatten()
    }

    /// What is to be sent for a request.
    pub(super) async fn edit(self: Arc<Self>, asked: Asked, body: Bytes, turn: Arc<Turn>) -> Edit {
        let Some(request) = self.read(asked, body).await else { return Edit::default() };
        let request = Arc::new(request);
        let now_ms = request.asked.at_ms;
        let settings = self.settings();
        let holds_out = settings.holds_out(&request.facts.session);
        let policy = match holds_out {
            true => faithful(),
            false => settings.policy(request.asked.provider).clone(),
        };
        let mut placed = match request.counts {
            true => self.places().peek(&request.facts, now_ms),
            false => self.places().place(&request.facts, now_ms),
        };
        self.desk.may_make(settings.keeps_decisions);
        let looked = self.desk.look(&request.facts.keys).await;
        if caches_for_hour(&request.facts.keys.prefix, &self.desk.view(&request.facts.keys)) {
            placed.lives_for_hour();
            self.places().hours(&request.facts.session);
        }
        let session: [u8; 32] = Sha256::digest(request.facts.session.as_bytes()).into();
        let account = rests::place(request.asked.account, request.facts.model.as_deref().unwrap_or_default());
        let known = Known {
            cold: placed.cold(self.idle(&placed, session, now_ms).await),
            pruned_before: placed.pruned,
            likely_single: !request.facts.offers && !request.facts.prefix.answered,
            journal: looked && settings.keeps_decisions,
            resting: self.rests.of(&self.desk, account, now_ms).await,
            backed_off: self.originals.backed_off(&request.facts.session),
            holds_out,
            hour: placed.lives.is_some_and(|lives| lives >= HOUR_MS),
            pauses: placed.pauses,
        };
        if !request.counts {
            self.tell_used(session, &placed, &request, now_ms);
        }
        let Some((outcome, committed)) =
            self.decide(&request, Arc::new(policy), known.clone(), looked, &turn).await
        else {
            return Edit::default();
        };
        if looked && !request.counts {
            self.desk.renew(&request.facts.keys, now_ms);
        }
        if !outcome.pruned.is_empty() {
            self.places().prunes(&request.facts.session);
        }
        if outcome.upgrades {
            self.places().hours(&request.facts.session);
        }
        let edited = record(&outcome, holds_out);
        let body = outcome.body.clone().map(Bytes::from);
        let betas = outcome.betas.clone();
        let follow = Follow::new(self, request, placed.placement, account, outcome, committed, known);
        Edit { body, betas, edited: Some(edited), trail: Some(Box::new(follow)) }
    }

    /// Reads a request. `None`: it is none that can be looked into.
    async fn read(self: &Arc<Self>, asked: Asked, body: Bytes) -> Option<Request> {
        let length = body.len();
        self.off_the_way(length, move |own| {
            let body = match asked.headers.get("content-encoding") {
                None => body,
                Some(encoding) => {
                    let decoded = decode::decode(encoding, &body, MOST)?;
                    decoded.whole.then(|| Bytes::from(decoded.bytes.into_owned()))?
                }
            };
            let facts = own.with_parser(|parser| Facts::read(parser, &asked, &body))?;
            let counting = ["/count_tokens", ":countTokens", "/input_tokens"];
            let counts = counting.iter().any(|end| asked.path.trim_end_matches('/').ends_with(end));
            Some(Request { asked, body, facts, counts })
        })
        .await
    }

    /// How long nothing was asked for in the session, by all that is known, also by other gateways.
    async fn idle(&self, placed: &Placed, session: [u8; 32], now_ms: u64) -> Option<u64> {
        let idle = placed.idle.filter(|idle| *idle > TEN_MINUTES)?;
        let elsewhere = self.desk.seen(session).await.ok()?;
        let elsewhere = elsewhere.map(|at| now_ms.saturating_sub(at.saturating_add(SEEN_EVERY_MS)));
        Some(elsewhere.map_or(idle, |elsewhere| elsewhere.min(idle)))
    }

    /// Tells the journal what is used, when the request is on its way.
    fn tell_used(&self, session: [u8; 32], placed: &Placed, request: &Arc<Request>, now_ms: u64) {
        let conversation = *placed.placement.conversation.as_bytes();
        let (desk, request) = (Arc::clone(&self.desk), Arc::clone(request));
        tokio::spawn(async move {
            desk.used(session, conversation, &request.facts.keys, now_ms).await;
        });
    }

    /// Plans until what was planned is written down, or needs not be. `None`: nobody waits any longer.
    ///
    /// Beside the outcome: whether it is in the journal.
    async fn decide(
        self: &Arc<Self>,
        request: &Arc<Request>,
        policy: Arc<Policy>,
        mut known: Known,
        looked: bool,
        turn: &Turn,
    ) -> Option<(Outcome, bool)> {
        let now_ms = request.asked.at_ms;
        for attempt in 0..=ATTEMPTS {
            if attempt == ATTEMPTS {
                known.journal = false;
            }
            let view = self.desk.view(&request.facts.keys);
            let outcome = self.plan(request, &policy, &known, view).await?;
            // Without the journal it is not known what was decided: the next request will tell.
            if request.counts || !looked {
                return Some((outcome, false));
            }
            if !turn.is_waited_for() {
                return None;
            }
            if !outcome.must_commit() {
                if self.desk.take(&outcome.records, now_ms) || attempt == ATTEMPTS {
                    return Some((outcome, false));
                }
                self.look_again(request).await;
                continue;
            }
            if !turn.writes() {
                return None;
            }
            if !outcome.originals.is_empty() && !self.keep(request, &outcome, now_ms) {
                known.journal = false;
                continue;
            }
            match self.desk.commit(&outcome.records, now_ms).await {
                Committed::Done if turn.is_waited_for() => return Some((outcome, true)),
                Committed::Done => {
                    // It was sent as it came meanwhile.
                    self.desk.replace(&outcome.records, &[], now_ms).await;
                    return None;
                }
                Committed::Conflict => self.look_again(request).await,
                Committed::Unavailable => known.journal = false,
            }
        }
        None
    }

    async fn look_again(&self, request: &Request) {
        self.desk.doubt();
        self.desk.look(&request.facts.keys).await;
    }

    fn keep(&self, request: &Request, outcome: &Outcome, now_ms: u64) -> bool {
        let kept = self.originals.keep(&request.facts.session, &outcome.originals, now_ms);
        kept.is_ok()
    }

    /// One plan.
    pub(super) async fn plan(
        self: &Arc<Self>,
        request: &Arc<Request>,
        policy: &Arc<Policy>,
        known: &Known,
        view: Records,
    ) -> Option<Outcome> {
        let (request, policy, known) = (Arc::clone(request), Arc::clone(policy), known.clone());
        self.off_the_way(request.body.len(), move |own| {
            own.with_parser(|parser| {
                parser.scope(&request.body, |document| {
                    let anatomy = Anatomy::read(document.ok()?, request.asked.dialect);
                    let names = anatomy.tools.iter().filter_map(|tool| tool.name?.as_str());
                    let names: Vec<_> = names.collect();
                    let offered: Vec<&str> = names.iter().map(|name| &**name).collect();
                    // What a person or a test calls it, else what it says of itself.
                    let by_name = own.originals.restore_tool(&offered).map(str::to_owned);
                    let by_words = || own.originals.keeps().then(|| restore_tool(&anatomy)).flatten();
                    let restore = by_name.or_else(by_words);
                    let mut backed_off = known.backed_off.clone();
                    let uses = || own.uses.idle().hot(request.facts.agent.as_deref(), &offered);
                    let hot = policy.on(Lever::DeferTools).then(uses).flatten();
                    let now_ms = request.asked.at_ms;
                    let model = request.facts.model.as_deref();
                    let prompt = request.facts.prefix.tokens().get();
                    let again = asked_again(&anatomy, &request.facts.keys.prefix, &view);
                    backed_off
                        .extend(again.iter().filter(|(_, own)| own.is_too_much()).map(|(lever, _)| *lever));
                    let circumstances = Circumstances {
                        model,
                        pruned_before: known.pruned_before,
                        cold: known.cold,
                        likely_single: known.likely_single,
                        restore_tool: restore.as_deref(),
                        keeps_originals: own.originals.keeps(),
                        journal: known.journal,
                        subscription: request.asked.subscription,
                        signed: request.asked.signed,
                        counting: request.counts,
                        resting: &known.resting,
                        backed_off: &backed_off,
                        appends_betas: appends_betas(&request.asked),
                        hot: hot.as_deref(),
                        window: model.and_then(|model| measure::window(&own.book, model, now_ms)),
                        rates: model.and_then(|model| measure::rates(&own.book, model, now_ms, prompt)),
                        hour: known.hour,
                        pauses: known.pauses,
                    };
                    Some(plan_read(&anatomy, &request.facts.keys.prefix, &policy, &circumstances, &view))
                })
            })
        })
        .await
    }
}

/// Whether the relay can announce what a body needs: it appends to the header `anthropic-beta`, which the provider's own
/// address reads. Clouds have their betas in the body, and not all of them.
fn appends_betas(asked: &Asked) -> bool {
    asked.provider == Provider::Anthropic && asked.dialect == Dialect::AnthropicMessages
}

/// What goes into the record.
pub(super) fn record(outcome: &Outcome, holds_out: bool) -> Edited {
    let splices = outcome.splices.iter().map(|splice| Spliced {
        at: splice.at.start as u64..splice.at.end as u64,
        length: splice.length as u64,
        lever: splice.lever.name(),
    });
    let actions = outcome.actions.iter().map(|action| LeverAction {
        lever: action.lever.name(),
        version: u32::from(action.version),
        decided: action.decided,
        replayed: action.replayed,
        stood_down: match action.stood_down {
            Some(_) if holds_out => Some(HELD_OUT),
            reason => reason.map(deadweight_levers::StandDown::name),
        },
        saved_bytes: action.saved_bytes,
        break_even: action.break_even,
        names: if action.lever == Lever::PruneTools { outcome.pruned.clone() } else { Vec::new() },
    });
    Edited { splices: splices.collect(), actions: actions.collect() }
}

/// Why no lever decides anything in a session that is held out.
const HELD_OUT: &str = "held_out";
