//! What the pages show and the interface serves, read from the ledger. A page is a function of its model and of nothing
//! else.

use super::query::Query;
use crate::advice::{is_client_stub, is_working_tool};
use crate::context::Context;
use crate::live::Session as Seen;
use crate::measure::window;
use deadweight_price::Book;
use deadweight_store::{
    Billed, Bucket, By, Error, Exchange, Group, Leaks, Ledger, Listing, Neighbours, OWN_ENTRY, Order, Origin,
    Page, Session, SessionOrder, Sums, Which,
};
use serde::Serialize;
use std::collections::BTreeMap;

const DAY_MS: u64 = 86_400_000;
/// How many lines a page of a list has.
pub(crate) const LINES: u32 = 50;
/// How many turns of a session are drawn.
pub(crate) const TURNS: u32 = 200;
/// Tools that were carried fewer turns than these are not called dead weight yet.
const TURNS_UNUSED: u64 = 5;
/// Nor are agents' own tools in fewer sessions than these: one task needs few of them, the next one others.
const SESSIONS_UNUSED: u64 = 3;

/// The stretch of time that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Range {
    /// How many days back; `None`: everything.
    pub(crate) days: Option<u64>,
    /// When the page was made, in milliseconds since 1970.
    pub(crate) now_ms: u64,
}

impl Range {
    pub(crate) const CHOICES: [(&'static str, &'static str); 5] =
        [("1", "24 hours"), ("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("all", "all")];

    pub(crate) fn of(query: &Query, now_ms: u64) -> Self {
        let days = match query.get("days") {
            Some("all") => None,
            Some(text) => Some(text.parse().ok().filter(|days| (1..=3_650).contains(days)).unwrap_or(7)),
            None => Some(7),
        };
        Self { days, now_ms }
    }

    pub(crate) fn since_ms(self) -> Option<u64> {
        self.days.map(|days| self.now_ms.saturating_sub(days * DAY_MS))
    }

    /// How it stands in an address.
    pub(crate) fn word(self) -> String {
        self.days.map_or_else(|| "all".to_owned(), |days| days.to_string())
    }

    /// How it is called.
    pub(crate) fn words(self) -> String {
        match self.days {
            None => "so far".to_owned(),
            Some(1) => "in the last 24 hours".to_owned(),
            Some(days) => format!("in the last {days} days"),
        }
    }

    /// The stretches that charts are made of.
    fn bucket_ms(self, sums: &Sums) -> u64 {
        let hour = DAY_MS / 24;
        match self.days {
            Some(1) => hour,
            Some(2..=7) => 6 * hour,
            Some(8..=30) => DAY_MS,
            Some(days) => (days / 30).max(1) * DAY_MS,
            None => {
                let first = sums.first_ms.unwrap_or(self.now_ms);
                let days = self.now_ms.saturating_sub(first) / DAY_MS + 1;
                days.div_ceil(30).max(1) * DAY_MS
            }
        }
    }
}

/// What is carried and never used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DeadWeight {
    pub(crate) origin: Origin,
    /// The server, or the agent whose own tools they are.
    pub(crate) whose: String,
    /// The tools, the heaviest first.
    pub(crate) tools: Vec<String>,
    /// Their tokens on every turn, ESTIMATED.
    pub(crate) tokens: u64,
    /// The same times the turns.
    pub(crate) weighted_tokens: u64,
    pub(crate) turns: u64,
    pub(crate) nano: Option<u64>,
    /// Whether our proxy stands before the server.
    pub(crate) proxied: bool,
}

/// The overview.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Overview {
    pub(crate) range: Range,
    pub(crate) bucket_ms: u64,
    pub(crate) sums: Sums,
    pub(crate) series: Vec<Bucket>,
    pub(crate) classes: Vec<Group>,
    pub(crate) agents: Vec<Group>,
    pub(crate) models: Vec<Group>,
    pub(crate) unmeasured: Vec<Group>,
    pub(crate) leaks: Leaks,
    pub(crate) dead_weight: Vec<DeadWeight>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) basis: Basis,
}

/// Who counted, and of which day the prices are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Basis {
    pub(crate) estimators: Vec<String>,
    pub(crate) price_dates: Vec<String>,
}

impl Basis {
    async fn of(ledger: &mut Ledger, which: &Which) -> Result<Self, Error> {
        let names = |groups: Vec<Group>| groups.into_iter().filter_map(|group| group.of).collect();
        Ok(Self {
            estimators: names(ledger.groups(which, By::Estimator).await?),
            price_dates: names(ledger.groups(which, By::PriceDate).await?),
        })
    }

    fn of_one(one: &Exchange) -> Self {
        Self {
            estimators: one.footprint.iter().map(|footprint| footprint.estimator.clone()).collect(),
            price_dates: one.cost.iter().map(|cost| cost.price_date.clone()).collect(),
        }
    }
}

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Sessions {
    pub(crate) range: Range,
    pub(crate) sessions: Vec<Session>,
    pub(crate) sums: Sums,
    pub(crate) agents: Vec<Group>,
    pub(crate) models: Vec<Group>,
    pub(crate) page: u32,
    pub(crate) more: bool,
    /// The latest requests, where they are asked for (`latest=50`), without their layout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) latest: Vec<Exchange>,
    pub(crate) basis: Basis,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OneSession {
    pub(crate) key: String,
    pub(crate) now_ms: u64,
    pub(crate) sums: Sums,
    pub(crate) classes: Vec<Group>,
    pub(crate) conversations: Vec<Group>,
    pub(crate) conversation: Option<String>,
    /// The last turns, the first of them first.
    pub(crate) turns: Vec<Exchange>,
    pub(crate) dead_weight: Vec<DeadWeight>,
    /// The session report.
    pub(crate) context: Context,
    pub(crate) basis: Basis,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OneRequest {
    pub(crate) now_ms: u64,
    pub(crate) request: Exchange,
    pub(crate) neighbours: Neighbours,
    /// Tools that the session called, until now.
    pub(crate) called: Vec<String>,
    pub(crate) basis: Basis,
}

/// A list of requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Requests {
    pub(crate) range: Range,
    pub(crate) requests: Vec<Exchange>,
    pub(crate) count: u64,
    pub(crate) page: u32,
    pub(crate) basis: Basis,
}

/// The bill of each tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Tools {
    pub(crate) range: Range,
    pub(crate) sums: Sums,
    pub(crate) tools: Vec<Billed>,
    pub(crate) dead_weight: Vec<DeadWeight>,
    pub(crate) agents: Vec<Group>,
    pub(crate) basis: Basis,
}

/// One server, or the tools of one agent, summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Server {
    pub(crate) origin: Origin,
    /// The server's label, or the agent's name.
    pub(crate) label: String,
    pub(crate) tools: u64,
    pub(crate) used: u64,
    /// Tokens of its tools as they were carried last.
    pub(crate) tokens: u64,
    pub(crate) weighted_tokens: u64,
    pub(crate) turns: u64,
    pub(crate) nano: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) called_ms: Option<u64>,
    pub(crate) proxied: bool,
}

/// The servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Servers {
    pub(crate) range: Range,
    pub(crate) sums: Sums,
    pub(crate) servers: Vec<Server>,
    #[serde(skip)]
    pub(crate) listings: Vec<Listing>,
    pub(crate) basis: Basis,
}

/// The exchanges that a query means.
pub(crate) fn which(query: &Query, range: Range) -> Which {
    let carries = match (query.text("tool"), query.text("server")) {
        (Some(tool), _) => Some((true, tool)),
        (None, server) => server.map(|server| (false, server)),
    };
    Which {
        since_ms: range.since_ms(),
        until_ms: None,
        session: query.text("session"),
        conversation: query.text("conversation"),
        agent: query.text("agent"),
        model: query.text("model"),
        provider: query.text("provider"),
        class: query.text("class"),
        ended: query.text("ended"),
        carries,
        turns_only: query.get("kind") != Some("any"),
        failed_only: query.get("failed") == Some("1"),
        answered_only: false,
    }
}

fn page(query: &Query) -> u32 {
    query.number("page").and_then(|page| u32::try_from(page).ok()).unwrap_or(1).clamp(1, 100_000)
}

/// The overview of a ledger that is not there yet.
pub(crate) fn nothing(query: &Query, now_ms: u64) -> Overview {
    Overview {
        range: Range::of(query, now_ms),
        bucket_ms: DAY_MS,
        sums: Sums::default(),
        series: Vec::new(),
        classes: Vec::new(),
        agents: Vec::new(),
        models: Vec::new(),
        unmeasured: Vec::new(),
        leaks: Leaks::default(),
        dead_weight: Vec::new(),
        sessions: Vec::new(),
        basis: Basis::default(),
    }
}

pub(crate) async fn overview(ledger: &mut Ledger, query: &Query, now_ms: u64) -> Result<Overview, Error> {
    let range = Range::of(query, now_ms);
    let all = Which { since_ms: range.since_ms(), ..Which::default() };
    let turns = Which { turns_only: true, ..all.clone() };
    let sums = ledger.sums(&all).await?;
    let bucket_ms = range.bucket_ms(&sums);
    let bill = ledger.bill(&turns).await?;
    Ok(Overview {
        bucket_ms,
        series: ledger.series(&turns, bucket_ms).await?,
        classes: ledger.groups(&turns, By::Class).await?,
        agents: ledger.groups(&turns, By::Agent).await?,
        models: ledger.groups(&turns, By::Model).await?,
        unmeasured: ledger.groups(&turns, By::Unmeasured).await?,
        leaks: ledger.leaks(&turns, 5).await?,
        dead_weight: dead_weight(&bill),
        sessions: ledger.sessions(&all, SessionOrder::Last, Page::first(6)).await?,
        basis: Basis::of(ledger, &turns).await?,
        range,
        sums,
    })
}

pub(crate) fn session_order(query: &Query) -> SessionOrder {
    match query.get("order") {
        Some("money") => SessionOrder::Money,
        Some("tokens") => SessionOrder::Tokens,
        Some("turns") => SessionOrder::Turns,
        Some("lost") => SessionOrder::Lost,
        _ => SessionOrder::Last,
    }
}

pub(crate) async fn sessions(ledger: &mut Ledger, query: &Query, now_ms: u64) -> Result<Sessions, Error> {
    let range = Range::of(query, now_ms);
    let which = Which { turns_only: false, ..which(query, range) };
    let page = page(query);
    let lines = Page { limit: LINES + 1, offset: (page - 1) * LINES };
    let mut sessions = ledger.sessions(&which, session_order(query), lines).await?;
    let more = sessions.len() > LINES as usize;
    sessions.truncate(LINES as usize);
    let choices = Which { since_ms: range.since_ms(), turns_only: true, ..Which::default() };
    let latest = query.number("latest").map_or(0, |most| most.min(u64::from(LINES)));
    let latest = match u32::try_from(latest) {
        Ok(most @ 1..) => {
            let turns = Which { turns_only: true, ..which.clone() };
            ledger.exchanges(&turns, Order::Newest, Page::first(most)).await?
        }
        _ => Vec::new(),
    };
    Ok(Sessions {
        latest: latest.into_iter().map(without_layout).collect(),
        sums: ledger.sums(&which).await?,
        agents: ledger.groups(&choices, By::Agent).await?,
        models: ledger.groups(&choices, By::Model).await?,
        basis: Basis::of(ledger, &which).await?,
        range,
        sessions,
        page,
        more,
    })
}

/// A request as it stands in a list that is asked for every second.
fn without_layout(mut one: Exchange) -> Exchange {
    if let Some(footprint) = &mut one.footprint {
        footprint.layout.clear();
    }
    one
}

/// The sessions of a ledger that is not there yet.
pub(crate) fn no_sessions(query: &Query, now_ms: u64) -> Sessions {
    Sessions {
        range: Range::of(query, now_ms),
        sessions: Vec::new(),
        sums: Sums::default(),
        agents: Vec::new(),
        models: Vec::new(),
        page: 1,
        more: false,
        latest: Vec::new(),
        basis: Basis::default(),
    }
}

pub(crate) async fn session(
    ledger: &mut Ledger,
    key: &str,
    query: &Query,
    now_ms: u64,
    book: Option<&Book>,
) -> Result<Option<OneSession>, Error> {
    let all = Which { turns_only: true, ..Which::of_session(key) };
    if ledger.count(&Which::of_session(key)).await? == 0 {
        return Ok(None);
    }
    let conversation = query.text("conversation");
    let which = Which { conversation: conversation.clone(), ..all.clone() };
    let mut turns = ledger.turns(&which, Order::Newest, Page::first(TURNS)).await?;
    turns.reverse();
    let seen = Seen::of(&turns);
    let window = book.zip(seen.model()).and_then(|(book, model)| window(book, model, now_ms));
    Ok(Some(OneSession {
        context: seen.report(window),
        key: key.to_owned(),
        now_ms,
        sums: ledger.sums(&which).await?,
        classes: ledger.groups(&which, By::Class).await?,
        conversations: ledger.groups(&all, By::Conversation).await?,
        conversation,
        turns,
        dead_weight: dead_weight(&ledger.bill(&which).await?),
        basis: Basis::of(ledger, &which).await?,
    }))
}

pub(crate) async fn request(ledger: &mut Ledger, id: &str, now_ms: u64) -> Result<Option<OneRequest>, Error> {
    let Some(request) = ledger.exchange(id).await? else { return Ok(None) };
    let neighbours = ledger.neighbours(&request).await?;
    let called = if request.session.is_empty() || request.tools.is_none() {
        Vec::new()
    } else {
        let bill = ledger.bill(&Which::of_session(&request.session)).await?;
        bill.into_iter().filter(|one| one.calls > 0).map(|one| one.name).collect()
    };
    Ok(Some(OneRequest { now_ms, basis: Basis::of_one(&request), request, neighbours, called }))
}

pub(crate) fn order(query: &Query) -> Order {
    match query.get("order") {
        Some("oldest") => Order::Oldest,
        Some("written") => Order::Written,
        Some("lost") => Order::Lost,
        Some("money") => Order::Money,
        Some("slowest") => Order::Slowest,
        Some("tokens") => Order::Tokens,
        _ => Order::Newest,
    }
}

pub(crate) async fn requests(ledger: &mut Ledger, query: &Query, now_ms: u64) -> Result<Requests, Error> {
    let range = Range::of(query, now_ms);
    let which = which(query, range);
    let page = page(query);
    let lines = Page { limit: LINES, offset: (page - 1) * LINES };
    Ok(Requests {
        requests: ledger.exchanges(&which, order(query), lines).await?,
        count: ledger.count(&which).await?,
        basis: Basis::of(ledger, &which).await?,
        range,
        page,
    })
}

pub(crate) async fn tools(ledger: &mut Ledger, query: &Query, now_ms: u64) -> Result<Tools, Error> {
    let range = Range::of(query, now_ms);
    let which = Which {
        since_ms: range.since_ms(),
        agent: query.text("agent"),
        turns_only: true,
        ..Which::default()
    };
    let mut tools = ledger.bill(&which).await?;
    if let Some(server) = query.get("server") {
        tools.retain(|tool| tool.server == server);
    }
    match query.get("origin") {
        Some("builtin") => tools.retain(|tool| tool.origin == Origin::Builtin),
        Some("mcp") => tools.retain(|tool| tool.origin == Origin::Mcp),
        _ => {}
    }
    let dead_weight = dead_weight(&tools);
    match query.get("order") {
        Some("tokens") => tools.sort_by_key(|tool| std::cmp::Reverse(tool.tokens)),
        Some("calls") => tools.sort_by_key(|tool| std::cmp::Reverse(calls(tool))),
        Some("turns") => tools.sort_by_key(|tool| std::cmp::Reverse(tool.turns)),
        Some("used") => tools.sort_by_key(|tool| std::cmp::Reverse(tool.called_ms)),
        Some("name") => tools.sort_by(|a, b| a.name.cmp(&b.name)),
        Some("whose") => tools.sort_by(|a, b| (&a.server, a.origin).cmp(&(&b.server, b.origin))),
        _ => {}
    }
    let choices = Which { since_ms: range.since_ms(), turns_only: true, ..Which::default() };
    Ok(Tools {
        sums: ledger.sums(&which).await?,
        agents: ledger.groups(&choices, By::Agent).await?,
        basis: Basis::of(ledger, &which).await?,
        range,
        tools,
        dead_weight,
    })
}

pub(crate) async fn servers(ledger: &mut Ledger, query: &Query, now_ms: u64) -> Result<Servers, Error> {
    let range = Range::of(query, now_ms);
    let which = Which { since_ms: range.since_ms(), turns_only: true, ..Which::default() };
    let bill = ledger.bill(&which).await?;
    let mut by: BTreeMap<(Origin, String), Server> = BTreeMap::new();
    for tool in &bill {
        let label = whose(tool);
        let server = by.entry((tool.origin, label.clone())).or_insert_with(|| Server {
            origin: tool.origin,
            label,
            tools: 0,
            used: 0,
            tokens: 0,
            weighted_tokens: 0,
            turns: 0,
            nano: None,
            calls: 0,
            called_ms: None,
            proxied: false,
        });
        server.tools += 1;
        server.used += u64::from(calls(tool) > 0);
        server.tokens += if tool.paid_turns > 0 { tool.tokens } else { 0 };
        server.weighted_tokens = server.weighted_tokens.saturating_add(tool.weighted_tokens);
        server.turns = server.turns.max(tool.turns);
        server.nano = sum(server.nano, tool.nano);
        server.calls = server.calls.saturating_add(calls(tool));
        server.called_ms = server.called_ms.max(tool.called_ms);
        server.proxied |= !tool.own_name.is_empty();
    }
    let mut servers: Vec<Server> = by.into_values().collect();
    servers.sort_by_key(|server| std::cmp::Reverse(server.weighted_tokens));
    Ok(Servers {
        sums: ledger.sums(&which).await?,
        basis: Basis::of(ledger, &which).await?,
        listings: ledger.listings().await?,
        range,
        servers,
    })
}

/// How often a tool was called, whoever saw it.
pub(crate) fn calls(tool: &Billed) -> u64 {
    tool.calls.max(tool.proxy_calls.unwrap_or(0))
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// The server that a tool is of, or the agent whose own it is.
pub(crate) fn whose(tool: &Billed) -> String {
    match tool.origin {
        Origin::Mcp => tool.server.clone(),
        _ => tool.agent.clone().unwrap_or_default(),
    }
}

/// What was paid and never called: servers of which no tool was, and agents' own tools one by one, added up.
fn dead_weight(bill: &[Billed]) -> Vec<DeadWeight> {
    let mut by: BTreeMap<(Origin, String), (DeadWeight, bool)> = BTreeMap::new();
    let counts = |tool: &&Billed| match tool.origin {
        Origin::Mcp => tool.server != OWN_ENTRY,
        Origin::Builtin => {
            tool.sessions >= SESSIONS_UNUSED && !is_working_tool(&tool.name) && !is_client_stub(&tool.name)
        }
        Origin::Unknown => false,
    };
    for tool in bill.iter().filter(|tool| tool.paid_turns >= TURNS_UNUSED).filter(counts) {
        let label = whose(tool);
        let (dead, used) = by.entry((tool.origin, label.clone())).or_insert_with(|| {
            let none = DeadWeight {
                origin: tool.origin,
                whose: label,
                tools: Vec::new(),
                tokens: 0,
                weighted_tokens: 0,
                turns: 0,
                nano: None,
                proxied: false,
            };
            (none, false)
        });
        if calls(tool) > 0 {
            *used = true;
            continue;
        }
        dead.tools.push(tool.name.clone());
        dead.tokens += tool.tokens;
        dead.weighted_tokens = dead.weighted_tokens.saturating_add(tool.weighted_tokens);
        dead.turns = dead.turns.max(tool.paid_turns);
        dead.nano = sum(dead.nano, tool.nano);
        dead.proxied |= !tool.own_name.is_empty();
    }
    let whole = |(dead, used): &(DeadWeight, bool)| {
        !dead.tools.is_empty() && (dead.origin == Origin::Builtin || !used)
    };
    let mut all: Vec<DeadWeight> = by.into_values().filter(whole).map(|(dead, _)| dead).collect();
    all.sort_by_key(|dead| std::cmp::Reverse(dead.weighted_tokens));
    all
}
