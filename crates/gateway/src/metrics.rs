//! The counters that Prometheus reads on `/metrics`.
//!
//! What the OpenTelemetry conventions for generative AI have a name for carries that name, in Prometheus' spelling
//! (`gen_ai.client.token.usage` is `gen_ai_client_token_usage`), and holds OBSERVED numbers only. Estimates and what we
//! witness ourselves stand under `deadweight_`.

use deadweight_present::harmless::short;
use deadweight_store::{Asked, Exchange};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// How many models have counters of their own. A client can name any, and each would be kept for ever.
const MODELS: usize = 64;
/// Upper bounds of durations in seconds, as the OpenTelemetry conventions advise for `gen_ai.client.operation.duration`.
pub(crate) const SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Upper bounds of token counts, as the same conventions advise for `gen_ai.client.token.usage`.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The counters of a gateway.
pub struct Metrics {
    registry: Registry,
    models: Mutex<HashSet<String>>,
    requests: Family<Request, Counter>,
    bodies: Family<Body, Counter>,
    unmeasured: Family<Why, Counter>,
    usage: Family<Usage, Histogram>,
    duration: Family<Operation, Histogram>,
    first_token: Family<Operation, Histogram>,
    estimated: Family<Slice, Counter>,
    turns: Family<Class, Counter>,
    lost: Family<Class, Counter>,
    cost: Family<Model, Counter<f64, std::sync::atomic::AtomicU64>>,
    levers: Family<Lever, Counter>,
    lever_bytes: Family<LeverName, Gauge>,
    /// Lines that the ledger could not take.
    dropped: Gauge,
    /// Requests and tunnels that are under way.
    open: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    provider: String,
    kind: &'static str,
    status: String,
    end: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Body {
    changed: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Usage {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: String,
    gen_ai_request_model: String,
    gen_ai_token_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    gen_ai_operation_name: &'static str,
    gen_ai_provider_name: String,
    gen_ai_request_model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Slice {
    slice: &'static str,
    provider: String,
    estimator: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Class {
    class: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Model {
    provider: String,
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lever {
    lever: String,
    /// `edited`, or the reason why it stood down.
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeverName {
    lever: String,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Counters that stand at nothing.
    #[must_use]
    pub fn new() -> Self {
        let seconds = || Histogram::new(SECONDS);
        let metrics = Self {
            registry: Registry::default(),
            models: Mutex::default(),
            requests: Family::default(),
            bodies: Family::default(),
            unmeasured: Family::default(),
            usage: Family::new_with_constructor(|| Histogram::new(TOKENS)),
            duration: Family::new_with_constructor(seconds),
            first_token: Family::new_with_constructor(seconds),
            estimated: Family::default(),
            turns: Family::default(),
            lost: Family::default(),
            cost: Family::default(),
            levers: Family::default(),
            lever_bytes: Family::default(),
            dropped: Gauge::default(),
            open: Gauge::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register_with_unit(
            "gen_ai_client_token_usage",
            "Tokens of prompts (cached ones among them) and answers, OBSERVED",
            Unit::Other("tokens".to_owned()),
            self.usage.clone(),
        );
        registry.register_with_unit(
            "gen_ai_client_operation_duration",
            "Time of a request from its head to the end of its answer",
            Unit::Seconds,
            self.duration.clone(),
        );
        registry.register_with_unit(
            "gen_ai_server_time_to_first_token",
            "Time from a request's head to the first byte of a streamed answer",
            Unit::Seconds,
            self.first_token.clone(),
        );
        registry.register("deadweight_requests", "Requests that passed", self.requests.clone());
        registry.register(
            "deadweight_bodies",
            "Bodies of requests, by whether what was sent is another than what was received (receipts)",
            self.bodies.clone(),
        );
        registry.register(
            "deadweight_unmeasured",
            "Requests that passed without being measured, by reason",
            self.unmeasured.clone(),
        );
        registry.register(
            "deadweight_estimated_tokens",
            "Tokens of requests by slice, ESTIMATED",
            self.estimated.clone(),
        );
        registry.register(
            "deadweight_turns",
            "Turns by what became of the cached prefix",
            self.turns.clone(),
        );
        registry.register(
            "deadweight_lost_tokens",
            "Tokens that had been cached and could not be read again, by cause, ESTIMATED",
            self.lost.clone(),
        );
        registry.register(
            "deadweight_cost_usd",
            "What it cost, ESTIMATED from OBSERVED tokens",
            self.cost.clone(),
        );
        registry.register(
            "deadweight_lever_actions",
            "What levers did, and why they did nothing",
            self.levers.clone(),
        );
        registry.register(
            "deadweight_lever_bytes",
            "Bytes that levers did not send, from receipts",
            self.lever_bytes.clone(),
        );
        registry.register(
            "deadweight_ledger_dropped_lines",
            "Lines that the ledger could not take",
            self.dropped.clone(),
        );
        registry.register("deadweight_open_requests", "Requests under way", self.open.clone());
        self
    }

    /// Takes in an exchange that is over.
    pub fn observe(&self, exchange: &Exchange) {
        let status = exchange.ended.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        self.requests
            .get_or_create(&Request {
                provider: label(&exchange.provider),
                kind: exchange.asked.word(),
                status,
                end: label(&exchange.ended.how),
            })
            .inc();
        let changed = if exchange.receipt.changed() { "yes" } else { "no" };
        self.bodies.get_or_create(&Body { changed }).inc();
        if let Some(why) = &exchange.unmeasured {
            self.unmeasured.get_or_create(&Why { why: label(why) }).inc();
        }
        if exchange.asked == Asked::Generate {
            self.generated(exchange);
        }
        self.billed(exchange);
        for action in &exchange.levers {
            let outcome = if action.edited { "edited".to_owned() } else { label(&action.reason) };
            self.levers.get_or_create(&Lever { lever: label(&action.lever), outcome }).inc();
            self.lever_bytes.get_or_create(&LeverName { lever: label(&action.lever) }).inc_by(action.bytes);
        }
    }

    fn generated(&self, exchange: &Exchange) {
        let operation = Operation {
            gen_ai_operation_name: operation(exchange),
            gen_ai_provider_name: label(provider(exchange)),
            gen_ai_request_model: self.model(exchange.model.as_deref()),
        };
        let seconds = |micros: u64| micros as f64 / 1e6;
        self.duration.get_or_create(&operation).observe(seconds(exchange.ended.took_us));
        if let (true, Some(first)) = (exchange.ended.streamed, exchange.ended.first_byte_us) {
            self.first_token.get_or_create(&operation).observe(seconds(first));
        }
        for (kind, tokens) in [("input", exchange.usage.prompt), ("output", exchange.usage.output)] {
            let Some(tokens) = tokens else { continue };
            let usage = Usage {
                gen_ai_operation_name: operation.gen_ai_operation_name,
                gen_ai_provider_name: operation.gen_ai_provider_name.clone(),
                gen_ai_request_model: operation.gen_ai_request_model.clone(),
                gen_ai_token_type: kind,
            };
            self.usage.get_or_create(&usage).observe(tokens as f64);
        }
        if let Some(footprint) = &exchange.footprint {
            for (slice, part) in footprint.slices() {
                let labels = Slice {
                    slice,
                    provider: label(&exchange.provider),
                    estimator: label(&footprint.estimator),
                };
                self.estimated.get_or_create(&labels).inc_by(part.tokens);
            }
        }
        if let Some(watch) = exchange.cache.as_ref().filter(|_| exchange.is_turn()) {
            let class = Class { class: label(&watch.class) };
            self.turns.get_or_create(&class).inc();
            self.lost.get_or_create(&class).inc_by(watch.lost_tokens);
        }
    }

    fn billed(&self, exchange: &Exchange) {
        if let Some(cost) = &exchange.cost {
            let model =
                Model { provider: label(&exchange.provider), model: self.model(exchange.model.as_deref()) };
            self.cost.get_or_create(&model).inc_by(cost.total() as f64 / 1e9);
        }
    }

    /// The model as a label: the first ones by name, all others together.
    fn model(&self, model: Option<&str>) -> String {
        let Some(model) = model.map(label) else { return "unknown".to_owned() };
        let mut known = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&model) {
            if known.len() >= MODELS {
                return "other".to_owned();
            }
            known.insert(model.clone());
        }
        model
    }

    /// All counters in the text format of OpenMetrics, with what is so at this moment: how many lines the ledger could not
    /// take so far, and how many requests are under way.
    #[must_use]
    pub fn text(&self, dropped: u64, open: u64) -> String {
        self.dropped.set(i64::try_from(dropped).unwrap_or(i64::MAX));
        self.open.set(i64::try_from(open).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// The value of a label: what comes from outside is of a length that can be read, and acts on no terminal.
fn label(text: &str) -> String {
    short(text).into_owned()
}

/// `gen_ai.operation.name` of a generating request.
pub(crate) fn operation(exchange: &Exchange) -> &'static str {
    match exchange.dialect.as_deref() {
        Some("gemini-generate") => "generate_content",
        _ => "chat",
    }
}

/// `gen_ai.provider.name`: the conventions have names of their own for some.
pub(crate) fn provider(exchange: &Exchange) -> &str {
    match exchange.provider.as_str() {
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "bedrock" => "aws.bedrock",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_store::{Ended, Footprint, Observed, Receipt};

    fn turn(model: &str) -> Exchange {
        Exchange {
            provider: "anthropic".to_owned(),
            asked: Asked::Generate,
            model: Some(model.to_owned()),
            ended: Ended {
                how: "complete".to_owned(),
                status: Some(200),
                streamed: true,
                first_byte_us: Some(50_000),
                took_us: 2_000_000,
                ..Ended::default()
            },
            usage: Observed { prompt: Some(12_000), output: Some(300), ..Observed::default() },
            footprint: Some(Footprint { estimator: "calibrated/1".to_owned(), ..Footprint::default() }),
            ..Exchange::default()
        }
    }

    #[test]
    fn what_passed_is_counted_under_the_names_of_the_conventions() {
        let metrics = Metrics::new();
        metrics.observe(&turn("claude-x"));
        let mut changed = turn("claude-x");
        changed.receipt = Receipt { received_bytes: 5, sent_bytes: 4, ..Receipt::default() };
        metrics.observe(&changed);
        let text = metrics.text(0, 0);
        for line in [
            "deadweight_bodies_total{changed=\"no\"} 1",
            "deadweight_bodies_total{changed=\"yes\"} 1",
            "deadweight_requests_total{provider=\"anthropic\",kind=\"generate\",status=\"200\",end=\"complete\"} 2",
            "gen_ai_client_token_usage_tokens_sum{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"anthropic\",gen_ai_request_model=\"claude-x\",gen_ai_token_type=\"input\"} 24000.0",
            "gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"anthropic\",gen_ai_request_model=\"claude-x\"} 2",
        ] {
            assert!(text.contains(line), "{line}\nnot in\n{text}");
        }
    }

    #[test]
    fn models_that_a_client_makes_up_do_not_fill_the_memory() {
        let metrics = Metrics::new();
        (0..500).for_each(|model| metrics.observe(&turn(&format!("m{model}"))));
        let text = metrics.text(0, 0);
        assert!(text.contains("gen_ai_request_model=\"other\""));
        assert_eq!(text.matches("gen_ai_client_operation_duration_seconds_count").count(), MODELS + 1);
    }

    #[test]
    fn a_models_name_cannot_break_the_format() {
        let metrics = Metrics::new();
        metrics.observe(&turn("a\"} 1\nb\u{1b}[2J\u{202e}c"));
        let text = metrics.text(0, 0);
        assert!(text.contains(r#"gen_ai_request_model="a\"} 1\\nb\\x1b[2J\\u{202e}c""#), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'));
    }
}
