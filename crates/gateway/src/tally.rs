//! What one run of an agent carried, summed up as it passes: for whoever wants to say at the end what it was.
//!
//! It is made of the records that go to the ledger and of nothing else, so that it says the same with and without one.

use crate::context::LeverReport;
use crate::conversations::{Conversations, Counted};
use deadweight_store::{Asked, Exchange, Footprint, Origin, PASS, StandingPart, ToolLine};
use serde::Serialize;
use std::collections::BTreeMap;

/// The id of the JSON a [`Report`] is part of.
pub const SCHEMA: &str = "deadweight/run/1";

/// How many conversations are told apart.
const CONVERSATIONS: usize = 256;
/// How many turns that lost their cache are named.
const LOSSES: usize = 64;
/// How many tools are told apart.
const TOOLS: usize = 4_096;

/// The sums of a run, while it goes on.
#[derive(Debug)]
pub struct Tally {
    totals: Totals,
    conversations: Conversations<(String, String), Conversation>,
    tools: BTreeMap<(String, String), Carried>,
    losses: Vec<Loss>,
    levers: BTreeMap<String, LeverReport>,
    estimator: Option<String>,
    price_date: Option<String>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            totals: Totals::default(),
            conversations: Conversations::new(CONVERSATIONS),
            tools: BTreeMap::new(),
            losses: Vec::new(),
            levers: BTreeMap::new(),
            estimator: None,
            price_date: None,
        }
    }
}

/// Sums over all requests. What the provider counted is OBSERVED; `None` where it said nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Requests of every kind.
    pub requests: u64,
    /// Requests for an answer of a model that were answered.
    pub turns: u64,
    /// Requests for an answer of a model that were not: refused, cut off, or left.
    pub failed: u64,
    /// How these ended: a status, or in a word, with how often.
    pub failures: BTreeMap<String, u64>,
    /// What the provider counted of prompts.
    pub prompt: Option<u64>,
    /// Of this, what was read at the full price.
    pub uncached: Option<u64>,
    /// Of this, what was read from its cache.
    pub cache_read: Option<u64>,
    /// Of this, what was written to it.
    pub cache_write: Option<u64>,
    /// What it counted of answers.
    pub output: Option<u64>,
    /// Turns of which it counted the prompt.
    pub observed: u64,
    /// What the prompts cost, in tokens at the full input price, ESTIMATED.
    pub equivalent_tokens: Option<u64>,
    /// What all of it costs, in nano-USD, ESTIMATED; `None` where nothing has a price.
    pub nano: Option<u64>,
    /// Turns with a price.
    pub priced: u64,
    /// Tokens sent over all turns, ESTIMATED.
    pub sent_tokens: u64,
    /// Requests with a body.
    pub bodies: u64,
    /// Of these, those that were sent on as they came.
    pub unchanged: u64,
}

#[derive(Debug, Default)]
struct Conversation {
    turns: u64,
    /// The last measured turn.
    last: Option<(Footprint, Vec<Part>)>,
    model: Option<String>,
}

impl Counted for Conversation {
    fn turns(&self) -> u64 {
        self.turns
    }
}

/// A part of the floor, ESTIMATED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What it is: `system`, `builtin_tools`, `server` or `tools`.
    pub kind: &'static str,
    /// The server, where it is one's.
    pub server: Option<String>,
    /// Its tokens on every turn.
    pub tokens: u64,
    /// How many tools.
    pub tools: u64,
}

/// What every turn of the main conversation pays, ESTIMATED, as of its last measured turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Floor {
    /// System prompt and tools.
    pub tokens: u64,
    /// Whose that is, the heaviest first. They add up to `tokens`.
    pub parts: Vec<Part>,
    /// Text that stands in the messages and is repeated on every turn all the same, beside the floor; the heaviest
    /// first.
    pub standing: Vec<Standing>,
}

/// One kind of standing text, ESTIMATED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// What it is, such as `memory_file`.
    pub kind: String,
    /// Its tokens.
    pub tokens: u64,
}

/// A tool or a server over the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Weight {
    /// The server; `None` for the agent's own tools and those that are nobody's we know.
    pub server: Option<String>,
    /// The tool; `None` for a server as a whole.
    pub tool: Option<String>,
    /// Whose it is.
    pub origin: Origin,
    /// Its tokens on the last turn that paid them, ESTIMATED.
    pub tokens: u64,
    /// How many turns paid them.
    pub turns: u64,
    /// Tokens times turns, ESTIMATED.
    pub weighted_tokens: u64,
    /// How often it was called, WITNESSED.
    pub calls: u64,
}

#[derive(Debug, Clone)]
struct Carried {
    origin: Origin,
    server: String,
    tokens: u64,
    turns: u64,
    weighted: u64,
    calls: u64,
}

/// A turn that did not go on from the cached prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The request.
    pub request: String,
    /// Its number in its conversation, from 1.
    pub turn: Option<u64>,
    /// Why, in the words of the ledger.
    pub class: String,
    /// Tokens that had been sent before and were read anew, ESTIMATED.
    pub lost_tokens: u64,
    /// What that costs more, in nano-USD, ESTIMATED.
    pub lost_nano: Option<u64>,
    /// Since the turn before, in milliseconds.
    pub gap_ms: Option<u64>,
}

/// What a run carried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The sums.
    pub totals: Totals,
    /// Conversations that were seen: the agent's own, sub-agents, titles.
    pub conversations: u64,
    /// The session of the main conversation, the one with most turns.
    pub session: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// What each of its turns pays.
    pub floor: Option<Floor>,
    /// Servers, the heaviest first.
    pub servers: Vec<Weight>,
    /// Tools, the heaviest first.
    pub tools: Vec<Weight>,
    /// The turns that lost most of their cached prefix, the worst first.
    pub losses: Vec<Loss>,
    /// What each lever did.
    pub levers: Vec<LeverReport>,
    /// Who counted what is ESTIMATED.
    pub estimator: Option<String>,
    /// The day of the prices.
    pub price_date: Option<String>,
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

impl Tally {
    /// Takes in an exchange that is over.
    pub fn observe(&mut self, exchange: &Exchange) {
        let totals = &mut self.totals;
        // A pass of the provider's own is billed, and was no request.
        totals.requests += u64::from(exchange.method != PASS);
        if exchange.receipt.received_bytes > 0 {
            totals.bodies += 1;
            totals.unchanged += u64::from(!exchange.receipt.changed());
        }
        self.counted(exchange);
        if exchange.asked != Asked::Generate {
            return;
        }
        let totals = &mut self.totals;
        let answered = exchange.is_answered();
        if answered {
            totals.turns += 1;
        } else {
            totals.failed += 1;
            let how = match exchange.ended.status {
                Some(status) if status >= 400 => status.to_string(),
                // It began well, and failed within.
                _ if exchange.ended.how == "complete" => {
                    exchange.ended.error.clone().unwrap_or_else(|| "complete".to_owned())
                }
                _ => exchange.ended.how.clone(),
            };
            if totals.failures.len() < 32 || totals.failures.contains_key(&how) {
                *totals.failures.entry(how).or_default() += 1;
            }
        }
        if let Some(footprint) = &exchange.footprint {
            if answered {
                self.totals.sent_tokens = self.totals.sent_tokens.saturating_add(footprint.sent());
            }
            self.estimator = Some(footprint.estimator.clone());
        }
        self.calls(exchange);
        if answered {
            self.carry(exchange);
            self.converse(exchange);
            // A request that was not answered read nothing anew: the one that is sent again does.
            self.lose(exchange);
        }
        self.lever(exchange);
    }

    fn counted(&mut self, exchange: &Exchange) {
        let (totals, usage) = (&mut self.totals, &exchange.usage);
        add(&mut totals.prompt, usage.prompt);
        add(&mut totals.uncached, usage.uncached);
        add(&mut totals.cache_read, usage.cache_read);
        add(&mut totals.cache_write, usage.cache_write());
        add(&mut totals.output, usage.output);
        let turn = exchange.asked == Asked::Generate;
        totals.observed += u64::from(turn && usage.prompt.is_some());
        if let Some(cost) = &exchange.cost {
            totals.priced += u64::from(turn);
            add(&mut totals.nano, Some(cost.total()));
            add(&mut totals.equivalent_tokens, cost.equivalent_tokens);
            self.price_date = self.price_date.take().max(Some(cost.price_date.clone()));
        }
    }

    fn carry(&mut self, exchange: &Exchange) {
        let Some(set) = &exchange.tools else { return };
        for tool in set.tools() {
            let Some(carried) = self.carried(tool) else { continue };
            if tool.deferred {
                continue;
            }
            carried.tokens = tool.tokens;
            carried.turns += 1;
            carried.weighted = carried.weighted.saturating_add(tool.tokens);
        }
    }

    fn calls(&mut self, exchange: &Exchange) {
        let Some(set) = &exchange.tools else { return };
        for (name, count) in &exchange.calls {
            if let Some(tool) = set.tools().iter().find(|tool| tool.name == *name)
                && let Some(carried) = self.carried(tool)
            {
                carried.calls = carried.calls.saturating_add(*count);
            }
        }
    }

    fn carried(&mut self, tool: &ToolLine) -> Option<&mut Carried> {
        let key = (tool.namespace.clone(), tool.name.clone());
        if self.tools.len() >= TOOLS && !self.tools.contains_key(&key) {
            return None;
        }
        let carried = self.tools.entry(key).or_insert_with(|| Carried {
            origin: tool.origin,
            server: String::new(),
            tokens: 0,
            turns: 0,
            weighted: 0,
            calls: 0,
        });
        // Whose it is may become known later than it is first seen.
        carried.origin = tool.origin;
        carried.server.clone_from(&tool.server);
        Some(carried)
    }

    fn converse(&mut self, exchange: &Exchange) {
        if exchange.conversation.is_empty() {
            return;
        }
        let key = (exchange.session.clone(), exchange.conversation.clone());
        let conversation = self.conversations.of(key);
        conversation.turns += 1;
        if exchange.model.is_some() {
            conversation.model.clone_from(&exchange.model);
        }
        if let Some(footprint) = exchange.footprint.as_ref().filter(|footprint| footprint.delta.is_none()) {
            let footprint = Footprint { layout: Vec::new(), ..footprint.clone() };
            let tools = exchange.tools.as_deref().map_or(&[][..], |set| set.tools());
            let parts = parts(&footprint, tools);
            conversation.last = Some((footprint, parts));
        }
    }

    fn lose(&mut self, exchange: &Exchange) {
        let Some(watch) = &exchange.cache else { return };
        // Where the provider's counters say that it read from its cache all the same, nothing was lost.
        if watch.lost_tokens == 0 || watch.agrees == Some(false) {
            return;
        }
        self.losses.push(Loss {
            request: exchange.id.clone(),
            turn: exchange.turn,
            class: watch.class.clone(),
            lost_tokens: watch.lost_tokens,
            lost_nano: watch.lost_nano,
            gap_ms: watch.gap_ms,
        });
        if self.losses.len() > LOSSES {
            self.losses.sort_by_key(|loss| std::cmp::Reverse(loss.lost_tokens));
            self.losses.truncate(LOSSES);
        }
    }

    fn lever(&mut self, exchange: &Exchange) {
        for action in &exchange.levers {
            let name = action.lever.clone();
            let new = || LeverReport { name: name.clone(), ..LeverReport::default() };
            self.levers.entry(name.clone()).or_insert_with(new).take(action);
        }
    }

    /// What the run carried so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let main = self.conversations.main();
        let floor = main.and_then(|(_, one)| one.last.as_ref()).map(|(footprint, parts)| {
            let standing = |part: &StandingPart| Standing { kind: part.kind.clone(), tokens: part.tokens };
            let mut standing: Vec<Standing> = footprint.standing.iter().map(standing).collect();
            standing.sort_by_key(|part| std::cmp::Reverse(part.tokens));
            Floor { tokens: footprint.floor(), parts: parts.clone(), standing }
        });
        let mut losses = self.losses.clone();
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.lost_tokens));
        Report {
            totals: self.totals.clone(),
            conversations: self.conversations.len() as u64,
            session: main.map(|((session, _), _)| session.clone()).filter(|session| !session.is_empty()),
            model: main.and_then(|(_, one)| one.model.clone()),
            floor,
            servers: self.servers(),
            tools: self.weights(),
            losses,
            levers: self.levers.values().cloned().collect(),
            estimator: self.estimator.clone(),
            price_date: self.price_date.clone(),
        }
    }

    fn weights(&self) -> Vec<Weight> {
        let mut weights: Vec<Weight> = self
            .tools
            .iter()
            .map(|((_, name), carried)| Weight {
                server: (!carried.server.is_empty()).then(|| carried.server.clone()),
                tool: Some(name.clone()),
                origin: carried.origin,
                tokens: carried.tokens,
                turns: carried.turns,
                weighted_tokens: carried.weighted,
                calls: carried.calls,
            })
            .collect();
        weights.sort_by_key(|weight| std::cmp::Reverse(weight.weighted_tokens));
        weights
    }

    fn servers(&self) -> Vec<Weight> {
        let mut servers: BTreeMap<&str, Weight> = BTreeMap::new();
        for carried in self.tools.values().filter(|carried| carried.origin == Origin::Mcp) {
            let weight = servers.entry(&carried.server).or_insert_with(|| Weight {
                server: Some(carried.server.clone()),
                tool: None,
                origin: Origin::Mcp,
                tokens: 0,
                turns: 0,
                weighted_tokens: 0,
                calls: 0,
            });
            weight.tokens = weight.tokens.saturating_add(carried.tokens);
            weight.turns = weight.turns.max(carried.turns);
            weight.weighted_tokens = weight.weighted_tokens.saturating_add(carried.weighted);
            weight.calls = weight.calls.saturating_add(carried.calls);
        }
        let mut servers: Vec<Weight> = servers.into_values().collect();
        servers.sort_by_key(|weight| std::cmp::Reverse(weight.weighted_tokens));
        servers
    }
}

/// Whose the floor is.
fn parts(footprint: &Footprint, tools: &[ToolLine]) -> Vec<Part> {
    let mut parts: Vec<(Part, u64)> = Vec::new();
    let paid = tools.iter().filter(|tool| !tool.deferred);
    for tool in paid {
        let (kind, server) = match tool.origin {
            Origin::Builtin => ("builtin_tools", None),
            Origin::Mcp => ("server", Some(tool.server.clone())),
            Origin::Unknown => ("tools", None),
        };
        let at = parts.iter().position(|(part, _)| part.kind == kind && part.server == server);
        let at = at.unwrap_or_else(|| {
            parts.push((Part { kind, server, tokens: 0, tools: 0 }, 0));
            parts.len() - 1
        });
        if let Some((part, bytes)) = parts.get_mut(at) {
            part.tools += 1;
            *bytes += tool.bytes;
        }
    }
    // The slice was counted as a whole; its tools, each rounded for itself, come to a little less.
    let bytes: Vec<u64> = parts.iter().map(|(_, bytes)| *bytes).collect();
    let mut parts: Vec<Part> = parts
        .into_iter()
        .zip(apportioned(footprint.tools.tokens, &bytes))
        .map(|((part, _), tokens)| Part { tokens, ..part })
        .collect();
    if footprint.system.tokens > 0 {
        parts.push(Part { kind: "system", server: None, tokens: footprint.system.tokens, tools: 0 });
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    parts
}

/// `whole` in parts that are to each other as `weights` are, rounded so that they add up to it: what is left after rounding
/// down goes to those that lost most by it.
fn apportioned(whole: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if all == 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &u64| u128::from(whole) * u128::from(*weight);
    let mut parts: Vec<u64> =
        weights.iter().map(|weight| u64::try_from(exact(weight) / all).unwrap_or(u64::MAX)).collect();
    let mut left = whole.saturating_sub(parts.iter().sum());
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(weights.get(at).map_or(0, |weight| exact(weight) % all)));
    for at in order {
        if let (Some(part), true) = (parts.get_mut(at), left > 0) {
            *part += 1;
            left -= 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_store::{CacheWatch, Cost, Ended, Observed, Receipt, Slice, ToolSet};

    fn line(name: &str, server: &str, origin: Origin, deferred: bool) -> ToolLine {
        ToolLine {
            name: name.to_owned(),
            namespace: String::new(),
            origin,
            server: server.to_owned(),
            own_name: String::new(),
            bytes: 450,
            tokens: 100,
            description_tokens: 10,
            deferred,
        }
    }

    fn turn(conversation: &str, prompt: u64) -> Exchange {
        Exchange {
            id: format!("{prompt:032x}"),
            session: "s".to_owned(),
            conversation: conversation.to_owned(),
            asked: Asked::Generate,
            turn: Some(1),
            ended: Ended { how: "complete".to_owned(), status: Some(200), ..Ended::default() },
            receipt: Receipt { received_bytes: 10, sent_bytes: 10, ..Receipt::default() },
            usage: Observed { prompt: Some(prompt), cache_read: Some(prompt / 2), ..Observed::default() },
            footprint: Some(Footprint {
                estimator: "calibrated/1".to_owned(),
                system: Slice { tokens: 50, ..Slice::default() },
                tools: Slice { tokens: 200, ..Slice::default() },
                ..Footprint::default()
            }),
            tools: Some(ToolSet::new(vec![
                line("Bash", "", Origin::Builtin, false),
                line("mcp__a__b", "a", Origin::Mcp, false),
                line("mcp__a__c", "a", Origin::Mcp, true),
            ])),
            ..Exchange::default()
        }
    }

    #[test]
    fn the_sums_are_those_of_all_requests_and_the_floor_that_of_the_main_conversation() {
        let mut tally = Tally::default();
        tally.observe(&turn("title", 300));
        for prompt in [1_000, 2_000, 3_000] {
            let mut turn = turn("main", prompt);
            turn.calls = vec![("Bash".to_owned(), 1)];
            turn.cost = Some(Cost { uncached: 7, equivalent_tokens: Some(prompt / 4), ..Cost::default() });
            tally.observe(&turn);
        }
        let report = tally.report();
        let totals = &report.totals;
        assert_eq!((totals.turns, totals.prompt, totals.cache_read), (4, Some(6_300), Some(3_150)));
        assert_eq!((totals.nano, totals.priced, totals.equivalent_tokens), (Some(21), 3, Some(1_500)));
        assert_eq!((totals.bodies, totals.unchanged), (4, 4));
        let floor = report.floor.unwrap();
        assert_eq!(floor.tokens, 250);
        let parts: Vec<(&str, u64)> = floor.parts.iter().map(|part| (part.kind, part.tokens)).collect();
        assert_eq!(parts, [("builtin_tools", 100), ("server", 100), ("system", 50)]);
        assert_eq!(report.servers.len(), 1);
        let server = &report.servers[0];
        assert_eq!((server.tokens, server.turns, server.weighted_tokens, server.calls), (100, 4, 400, 0));
        let bash = report.tools.iter().find(|tool| tool.tool.as_deref() == Some("Bash")).unwrap();
        assert_eq!(bash.calls, 3);
    }

    #[test]
    fn what_a_provider_does_besides_is_billed_and_is_no_turn() {
        let mut tally = Tally::default();
        tally.observe(&turn("main", 1_000));
        let pass = Exchange {
            method: PASS.to_owned(),
            asked: Asked::Other,
            usage: Observed { prompt: Some(180_000), ..Observed::default() },
            cost: Some(Cost { uncached: 9, ..Cost::default() }),
            ..Exchange::default()
        };
        tally.observe(&pass);
        let totals = tally.report().totals;
        assert_eq!(
            (totals.requests, totals.turns, totals.prompt, totals.nano),
            (1, 1, Some(181_000), Some(9))
        );
        assert_eq!((totals.observed, totals.priced), (1, 0));
    }

    #[test]
    fn parts_add_up() {
        for (whole, weights, parts) in [
            (10, &[1, 1, 1][..], &[4, 3, 3][..]),
            (7, &[5, 0, 5], &[4, 0, 3]),
            (0, &[3, 4], &[0, 0]),
            (5, &[0, 0], &[0, 0]),
            (u64::MAX, &[1, u64::MAX], &[1, u64::MAX - 1]),
        ] {
            assert_eq!(apportioned(whole, weights), parts, "{whole}");
        }
        let mut tally = Tally::default();
        let mut one = turn("main", 1_000);
        // Three tools of 450 bytes are 300 tokens together where each is 99.
        one.footprint.as_mut().unwrap().tools.tokens = 301;
        tally.observe(&one);
        let floor = tally.report().floor.unwrap();
        assert_eq!(floor.parts.iter().map(|part| part.tokens).sum::<u64>(), floor.tokens);
    }

    #[test]
    fn a_stream_that_fails_within_is_no_turn_and_one_without_its_close_is() {
        let mut tally = Tally::default();
        for error in ["overloaded_error", "truncated"] {
            let mut one = turn("main", 10);
            one.ended.error = Some(error.to_owned());
            tally.observe(&one);
        }
        let totals = tally.report().totals;
        assert_eq!((totals.turns, totals.failed), (1, 1));
        assert_eq!(totals.failures.get("overloaded_error"), Some(&1));
    }

    #[test]
    fn what_was_not_answered_is_no_turn_and_carries_nothing() {
        let mut tally = Tally::default();
        for status in [529, 529, 400] {
            let mut refused = turn("main", 0);
            refused.ended.status = Some(status);
            refused.usage = Observed::default();
            tally.observe(&refused);
        }
        let mut cut = turn("main", 10);
        cut.ended.how = "upstream_cut".to_owned();
        tally.observe(&cut);
        let report = tally.report();
        assert_eq!((report.totals.turns, report.totals.failed), (0, 4));
        let failures: Vec<(&str, u64)> =
            report.totals.failures.iter().map(|(how, count)| (how.as_str(), *count)).collect();
        assert_eq!(failures, [("400", 1), ("529", 2), ("upstream_cut", 1)]);
        // What was billed until the cut is billed.
        assert_eq!(report.totals.prompt, Some(10));
        assert!(report.servers.is_empty() && report.floor.is_none());
    }

    #[test]
    fn losses_are_named_worst_first_unless_the_provider_says_otherwise() {
        let mut tally = Tally::default();
        for (lost, agrees) in [(10, None), (30, Some(true)), (20, Some(false)), (0, None)] {
            let mut turn = turn("main", 100);
            turn.cache = Some(CacheWatch {
                class: "tool_set".to_owned(),
                lost_tokens: lost,
                agrees,
                ..CacheWatch::default()
            });
            tally.observe(&turn);
        }
        let lost: Vec<u64> = tally.report().losses.iter().map(|loss| loss.lost_tokens).collect();
        assert_eq!(lost, [30, 10]);
    }
}
