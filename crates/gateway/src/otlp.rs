//! What passed, told to an OpenTelemetry collector over OTLP (http/protobuf), if a person names one.
//!
//! Names are those of the conventions for generative AI, and hold OBSERVED numbers; estimates stand under `deadweight.`.
//! A span is a request and its answer: names, sizes, counters, times. No text of either is in it.

use crate::metrics::{operation, provider};
use async_trait::async_trait;
use bytes::Bytes;
use deadweight_store::{Asked, Exchange};
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer, TracerProvider};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is told to a collector.
pub struct Otlp {
    metrics: SdkMeterProvider,
    traces: SdkTracerProvider,
    tracer: SdkTracer,
    usage: Histogram<u64>,
    duration: Histogram<f64>,
    first_token: Histogram<f64>,
    estimated: Counter<u64>,
    lost: Counter<u64>,
}

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The address is none.
    #[error("the collector's address is no http(s) URL")]
    Address,
    /// The exporter refuses what it is given.
    #[error("the collector cannot be used: {0}")]
    Build(#[from] ExporterBuildError),
    /// TLS cannot be used.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// No client can be made.
    #[error("the collector cannot be used: {0}")]
    Client(#[from] reqwest::Error),
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}

impl Otlp {
    /// Begins to tell the collector at `endpoint` (its base: `http://127.0.0.1:4318`). Headers that it wants, a key for
    /// instance, are those of the variable `OTEL_EXPORTER_OTLP_HEADERS`.
    ///
    /// # Errors
    ///
    /// When the address is none, or no client can be made.
    pub fn start(endpoint: &str) -> Result<Self, OtlpError> {
        Self::with_tls(endpoint, crate::relay::system_tls()?)
    }

    fn with_tls(endpoint: &str, tls: rustls::ClientConfig) -> Result<Self, OtlpError> {
        let base = endpoint.trim_end_matches('/');
        let url = reqwest::Url::parse(base).map_err(|_| OtlpError::Address)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(OtlpError::Address);
        }
        let client = Client::new(tls)?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()?;
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{base}/v1/traces"))
            .build()?;
        let resource = Resource::builder()
            .with_service_name("deadweight")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let metrics = SdkMeterProvider::builder()
            .with_periodic_exporter(metrics)
            .with_resource(resource.clone())
            .build();
        let traces = SdkTracerProvider::builder().with_batch_exporter(spans).with_resource(resource).build();
        let scope =
            InstrumentationScope::builder("deadweight").with_version(env!("CARGO_PKG_VERSION")).build();
        let meter = metrics.meter_with_scope(scope.clone());
        Ok(Self {
            tracer: traces.tracer_with_scope(scope),
            usage: meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}").build(),
            duration: seconds(&meter, "gen_ai.client.operation.duration"),
            first_token: seconds(&meter, "gen_ai.server.time_to_first_token"),
            estimated: meter.u64_counter("deadweight.estimated_tokens").with_unit("{token}").build(),
            lost: meter.u64_counter("deadweight.lost_tokens").with_unit("{token}").build(),
            metrics,
            traces,
        })
    }

    /// Takes in an exchange that is over. Only those that asked a model for an answer are told.
    pub fn observe(&self, exchange: &Exchange) {
        if exchange.asked != Asked::Generate {
            return;
        }
        let mut common = vec![
            KeyValue::new("gen_ai.operation.name", operation(exchange)),
            KeyValue::new("gen_ai.provider.name", provider(exchange).to_owned()),
        ];
        if let Some(model) = &exchange.model {
            common.push(KeyValue::new("gen_ai.request.model", model.clone()));
        }
        self.duration.record(exchange.ended.took_us as f64 / 1e6, &with_error(&common, exchange));
        if let (true, Some(first)) = (exchange.ended.streamed, exchange.ended.first_byte_us) {
            self.first_token.record(first as f64 / 1e6, &common);
        }
        for (kind, tokens) in [("input", exchange.usage.prompt), ("output", exchange.usage.output)] {
            let Some(tokens) = tokens else { continue };
            let mut attributes = common.clone();
            attributes.push(KeyValue::new("gen_ai.token.type", kind));
            self.usage.record(tokens, &attributes);
        }
        if let Some(footprint) = &exchange.footprint {
            for (slice, part) in footprint.slices() {
                let attributes = [
                    KeyValue::new("deadweight.slice", slice),
                    KeyValue::new("deadweight.estimator", footprint.estimator.clone()),
                ];
                self.estimated.add(part.tokens, &attributes);
            }
        }
        if let Some(watch) = exchange.cache.as_ref().filter(|_| exchange.is_turn()) {
            self.lost.add(watch.lost_tokens, &[KeyValue::new("deadweight.cache.class", watch.class.clone())]);
        }
        self.span(exchange, common);
    }

    fn span(&self, exchange: &Exchange, mut attributes: Vec<KeyValue>) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let usage = &exchange.usage;
        let counts = [
            ("gen_ai.usage.input_tokens", usage.prompt),
            ("gen_ai.usage.output_tokens", usage.output),
            ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write()),
            ("http.response.status_code", exchange.ended.status.map(u64::from)),
            ("deadweight.turn", exchange.turn),
            ("deadweight.received_bytes", Some(exchange.receipt.received_bytes)),
            ("deadweight.sent_bytes", Some(exchange.receipt.sent_bytes)),
            ("deadweight.estimated.floor_tokens", exchange.footprint.as_ref().map(|one| one.floor())),
            ("deadweight.estimated.total_tokens", exchange.footprint.as_ref().and_then(|one| one.total())),
            ("deadweight.estimated.cost_nano_usd", exchange.cost.as_ref().map(|cost| cost.total())),
        ];
        attributes
            .extend(counts.into_iter().filter_map(|(name, value)| Some(KeyValue::new(name, number(value?)))));
        let texts = [
            ("gen_ai.conversation.id", Some(exchange.conversation.as_str()).filter(|text| !text.is_empty())),
            ("deadweight.session", Some(exchange.session.as_str()).filter(|text| !text.is_empty())),
            ("deadweight.exchange", Some(exchange.id.as_str())),
            ("deadweight.end", Some(exchange.ended.how.as_str())),
            ("deadweight.cache.class", exchange.cache.as_ref().map(|watch| watch.class.as_str())),
            ("gen_ai.response.id", exchange.ended.request_id.as_deref()),
            ("error.type", exchange.ended.error.as_deref()),
        ];
        attributes.extend(
            texts.into_iter().filter_map(|(name, value)| Some(KeyValue::new(name, value?.to_owned()))),
        );
        let model = exchange.model.as_deref().unwrap_or("unknown");
        let begun = UNIX_EPOCH + Duration::from_millis(exchange.at_ms);
        let mut span = self
            .tracer
            .span_builder(format!("{} {model}", operation(exchange)))
            .with_kind(SpanKind::Client)
            .with_start_time(begun)
            .with_attributes(attributes)
            .start(&self.tracer);
        if exchange.ended.error.is_some() {
            span.set_status(Status::error(exchange.ended.how.clone()));
        }
        span.end_with_timestamp(begun + Duration::from_micros(exchange.ended.took_us));
    }

    /// Tells what is still to be told. A collector that does not answer is not waited for longer than it may take.
    pub fn end(self) {
        let _ = self.metrics.shutdown_with_timeout(PATIENCE);
        let _ = self.traces.shutdown_with_timeout(PATIENCE);
    }
}

fn seconds(meter: &Meter, name: &'static str) -> Histogram<f64> {
    meter.f64_histogram(name).with_unit("s").with_boundaries(crate::metrics::SECONDS.to_vec()).build()
}

fn with_error(common: &[KeyValue], exchange: &Exchange) -> Vec<KeyValue> {
    let mut attributes = common.to_vec();
    if let Some(error) = &exchange.ended.error {
        attributes.push(KeyValue::new("error.type", error.clone()));
    }
    attributes
}

/// The way to the collector. The exporters' threads have no runtime of their own, and wait for each sending.
#[derive(Debug, Clone)]
struct Client(reqwest::Client);

impl Client {
    fn new(tls: rustls::ClientConfig) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("deadweight/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .tls_backend_preconfigured(tls)
            .build()?;
        Ok(Self(client))
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let request = self.0.request(head.method, head.uri.to_string()).headers(head.headers).body(body);
        let send = async {
            let answer = request.send().await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.bytes().await?))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (status, body) = runtime.block_on(send)?;
        Ok(Response::builder().status(status).body(body)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_store::{Ended, Observed};
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn tls() -> rustls::ClientConfig {
        let ring = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        rustls::ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()
    }

    #[test]
    fn a_collector_is_told_of_metrics_and_spans_by_the_names_of_the_conventions() {
        let collector = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/", collector.local_addr().unwrap());
        let told = std::thread::spawn(move || {
            let mut told = Vec::new();
            while told.len() < 2 {
                let (mut stream, _) = collector.accept().unwrap();
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                loop {
                    let read = stream.read(&mut buffer).unwrap();
                    request.extend_from_slice(&buffer[..read]);
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let length = text.lines().find_map(|line| {
                        line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                    });
                    let body = request.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
                    if let (Some(length), Some(body)) = (length, body)
                        && request.len() >= body + length
                    {
                        break;
                    }
                }
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .unwrap();
                told.push(String::from_utf8_lossy(&request).into_owned());
            }
            told
        });
        let otlp = Otlp::with_tls(&endpoint, tls()).unwrap();
        otlp.observe(&Exchange {
            id: "0f".repeat(16),
            provider: "anthropic".to_owned(),
            asked: Asked::Generate,
            model: Some("claude-x".to_owned()),
            usage: Observed { prompt: Some(12_000), cache_read: Some(11_000), ..Observed::default() },
            ended: Ended { how: "complete".to_owned(), status: Some(200), took_us: 5, ..Ended::default() },
            ..Exchange::default()
        });
        otlp.end();
        let told = told.join().unwrap();
        let of = |path: &str| told.iter().find(|one| one.starts_with(&format!("POST {path} "))).unwrap();
        let metrics = of("/v1/metrics");
        for name in
            ["gen_ai.client.token.usage", "gen_ai.client.operation.duration", "gen_ai.token.type", "claude-x"]
        {
            assert!(metrics.contains(name), "{name}");
        }
        let spans = of("/v1/traces");
        for name in
            ["chat claude-x", "gen_ai.usage.cache_read.input_tokens", "gen_ai.provider.name", "anthropic"]
        {
            assert!(spans.contains(name), "{name}");
        }
        assert!(metrics.contains("application/x-protobuf"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for address in ["", "collector:4318", "ftp://collector"] {
            assert!(matches!(Otlp::with_tls(address, tls()), Err(OtlpError::Address)), "{address}");
        }
    }
}
