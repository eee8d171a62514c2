//! Plays a session over HTTP, and notes what came out at the provider's door.

use super::door::Door;
use super::{Client, Dice, Fate, Line, Plan, Sizes, post};
use crate::strict::{Bill, Verdict};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

/// Behind so long a gap nothing is cached any more that was written for five minutes, in milliseconds: more than twice
/// that time, and more than ten minutes.
const COLD: u64 = 600_000;
/// The client compacts a history of so many bytes.
const FULL: usize = 600_000;

/// What happens to the gateway in mid-session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// It ends, and another one takes up on the same folders.
    Restart,
    /// The same, and the journal is gone.
    LoseJournal,
    /// One of the levers is switched, by any number.
    Switch {
        /// Says which.
        lever: u64,
        /// On or off.
        on: bool,
    },
}

/// What stands between a client and its provider.
pub trait Between {
    /// Where the client sends its requests.
    fn url(&self) -> String;

    /// Something happens to it.
    ///
    /// # Errors
    ///
    /// When it does not come up again.
    fn strike(&mut self, strike: Strike) -> io::Result<()>;
}

/// Nothing stands between.
#[derive(Debug)]
pub struct Straight(String);

impl Straight {
    /// To the provider of this line.
    pub fn to(line: &Line) -> Self {
        Self(line.provider.url())
    }
}

impl Between for Straight {
    fn url(&self) -> String {
        self.0.clone()
    }

    fn strike(&mut self, _: Strike) -> io::Result<()> {
        Ok(())
    }
}

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The step it was made in.
    pub step: usize,
    /// The rule, where the provider refused it; else `gateway`.
    pub rule: String,
    /// The sentence that came with it.
    pub message: String,
}

/// What one request cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// The step it was made in.
    pub step: usize,
    /// The bill.
    pub bill: Bill,
    /// Bytes of the body as the client made it.
    pub made: usize,
    /// As it arrived.
    pub arrived: usize,
}

/// What became of a session.
#[derive(Debug, Clone, Default)]
pub struct Played {
    /// Requests that the client made, retries among them.
    pub requests: usize,
    /// What each of them cost.
    pub sent: Vec<Sent>,
    /// All of that.
    pub bill: Bill,
    /// Those that were refused. The first ends the session, as it ends those of real clients, unless the plan says that the
    /// client asks once more.
    pub refused: Vec<Refused>,
    /// Thinking blocks that the provider dropped without refusing them.
    pub dropped: usize,
    /// Thinking blocks of the client's that did not arrive, though the rest of their message did.
    pub lost: usize,
    /// Thinking blocks that were left out together with their whole message, each time they were.
    pub left_out: usize,
    /// Calls and results that arrived without their partner.
    pub orphans: usize,
    /// Where something arrived otherwise than before, though it was cached.
    pub rewritten: Vec<String>,
    /// Bodies that did not arrive byte for byte as they were made.
    pub edited: usize,
    /// The largest single write to the cache, in nano-dollars.
    pub largest_write: u64,
}

struct Player<'a> {
    plan: &'a Plan,
    line: &'a Line,
    door: Door,
    client: Client,
    /// When each conversation last asked, and which model.
    last: BTreeMap<Option<usize>, (u64, &'static str)>,
    /// Conversations of which the next request may arrive otherwise than the one before.
    free: BTreeSet<Option<usize>>,
    /// How many messages each conversation had at its last cold start.
    cold: BTreeMap<Option<usize>, usize>,
    played: Played,
    /// Whether the journal was lost already: that happens once in a session.
    lost: bool,
}

/// Plays a plan. What the client and its user do follows from the plan alone, so two runs of it can be held against each
/// other request by request.
///
/// # Errors
///
/// When a connection breaks off, or something stays away that the script counts on.
pub fn play(plan: &Plan, line: &Line, between: &mut dyn Between) -> io::Result<Played> {
    // What happens does not hang on what the gateway does.
    let mut chance = Dice::new(plan.seed * 31 + 7);
    let mut fates = Dice::new(plan.seed * 17 + 3);
    let mut player = Player {
        plan,
        line,
        door: Door::default(),
        client: Client::new(plan.seed, plan.kind),
        last: BTreeMap::new(),
        free: BTreeSet::new(),
        cold: BTreeMap::new(),
        played: Played::default(),
        lost: false,
    };
    for step in 0..plan.steps {
        player.client.choose_model();
        let other = player.chooses(&mut chance);
        player.strikes(&mut fates, between)?;
        let retries = if plan.busy && chance.one_in(20) { 2 } else { 1 };
        if !player.step(step, other, retries, &between.url())? {
            break;
        }
        line.wait(Duration::from_secs(plan.gap(&mut chance)));
    }
    Ok(player.played)
}

impl Player<'_> {
    /// Which conversation goes on, and what its user or client does before.
    fn chooses(&mut self, chance: &mut Dice) -> Option<usize> {
        let client = &mut self.client;
        if self.plan.busy && chance.one_in(25) {
            client.begin_other();
        }
        let others = client.others.len() as u64;
        let other = (others > 0 && chance.one_in(5)).then(|| chance.below(others) as usize);
        let own = client.conversation(other);
        if self.plan.busy && chance.one_in(30) {
            own.branch();
            // What is decided at a cold start holds for requests that extend the one it was decided on.
            if self.cold.get(&other).is_some_and(|length| own.messages.len() <= *length) {
                self.free.insert(other);
            }
        } else {
            let asked = self.plan.busy && self.plan.kind.sizes == Sizes::Small && chance.one_in(25);
            if (asked || own.bytes() > FULL) && own.compact() {
                self.free.insert(other);
            }
        }
        other
    }

    fn strikes(&mut self, fates: &mut Dice, between: &mut dyn Between) -> io::Result<()> {
        let strike = match (self.plan.fate, fates.one_in(8)) {
            (Fate::Restarts, true) => Strike::Restart,
            (Fate::LosesJournal, true) if !self.lost => {
                self.lost = true;
                self.free.extend(self.last.keys());
                Strike::LoseJournal
            }
            (Fate::Switches, true) => Strike::Switch { lever: fates.below(64), on: fates.one_in(2) },
            _ => return Ok(()),
        };
        between.strike(strike)
    }

    /// One step: a request, as often as the client repeats it. Whether the session goes on.
    fn step(&mut self, step: usize, other: Option<usize>, times: usize, url: &str) -> io::Result<bool> {
        let now = self.line.clock.now();
        let model = self.client.model;
        let cold =
            self.last.insert(other, (now, model)).is_none_or(|(at, own)| own != model || now - at > COLD);
        let free = self.free.remove(&other) || cold;
        if cold {
            let length = self.client.conversation(other).messages.len();
            self.cold.insert(other, length);
        }
        let body = self.client.body(other);
        let kind = self.plan.kind;
        let (said, answers) = self.client.conversation(other).turn(&kind);
        self.line.says(std::iter::repeat_n(said, times));
        let mut content = None;
        let mut left = times;
        while left > 0 {
            let answer = post(url, "/v1/messages?beta=true", &self.headers(), &body)?;
            self.played.requests += 1;
            self.arrived(step, other, &body, free);
            if answer.status != 200 {
                if self.played.refused.is_empty() {
                    let rule = "gateway".to_owned();
                    self.played.refused.push(Refused { step, rule, message: answer.message() });
                }
                if self.plan.persists && self.played.refused.len() == 1 {
                    continue;
                }
                return Ok(false);
            }
            left -= 1;
            content = answer.content();
        }
        let content = content.ok_or_else(|| io::Error::other("an answer that nobody can read"))?;
        self.client.conversation(other).keep(content, answers);
        Ok(true)
    }

    fn headers(&self) -> [(String, String); 4] {
        [
            ("x-api-key", "sk-ant-dummy".to_owned()),
            ("anthropic-version", "2023-06-01".to_owned()),
            ("anthropic-beta", "interleaved-thinking-2025-05-14".to_owned()),
            ("x-claude-code-session-id", format!("00000000-0000-4000-8000-{:012}", self.plan.seed)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// Notes what arrived of a body.
    fn arrived(&mut self, step: usize, other: Option<usize>, body: &[u8], free: bool) {
        let played = &mut self.played;
        for exchange in self.line.provider.take_exchanges() {
            let sent = &exchange.request.body;
            let bill = exchange.bill.unwrap_or_default();
            played.bill += bill;
            played.sent.push(Sent { step, bill, made: body.len(), arrived: sent.len() });
            played.edited += usize::from(sent != body);
            match &exchange.verdict {
                Verdict::Refused(refusal) => played.refused.push(Refused {
                    step,
                    rule: refusal.rule.id().to_owned(),
                    message: refusal.message.clone(),
                }),
                Verdict::Accepted(accepted) => played.dropped += accepted.dropped().count(),
            }
            let model = crate::strict::models::model(self.client.model);
            let written = (bill.usage.write_5m * model.write + bill.usage.write_1h * model.write_1h)
                * model.input
                / 1_000;
            played.largest_write = played.largest_write.max(written);
            let client: Value = serde_json::from_slice(body).unwrap_or_default();
            let arrived = match sent == body {
                true => client.clone(),
                false => serde_json::from_slice(sent).unwrap_or_default(),
            };
            let found = self.door.look(other, &client, &arrived, free);
            played.lost += found.thinking;
            played.left_out += found.left_out;
            played.orphans += found.orphans;
            played.rewritten.extend(found.rewritten.map(|what| format!("step {step}, {other:?}: {what}")));
        }
    }
}
