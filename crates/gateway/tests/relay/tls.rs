//! TLS and HTTP/2 towards the provider.

use crate::common::{Client, Gate, Given, get, post, trusting};
use bytes::Bytes;
use deadweight_gateway::exchange::{Answer as Read, End};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

/// What a provider was sent.
#[derive(Debug, Clone)]
struct Seen {
    version: http::Version,
    uri: String,
    headers: http::HeaderMap,
    body: Bytes,
}

/// A provider behind TLS, that speaks what it is told to.
struct Provider {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    roots: rustls::RootCertStore,
    _runtime: tokio::runtime::Runtime,
}

impl Provider {
    fn new(alpn: &[&str]) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let certificate: CertificateDer<'static> = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let (seen, connections) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let (of_server, counted) = (Arc::clone(&seen), Arc::clone(&connections));
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&of_server));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let service = service_fn(move |request| answer(request, Arc::clone(&seen)));
                    let io = TokioIo::new(stream);
                    if is_h2 {
                        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = builder.serve_connection(io, service).await;
                    } else {
                        let builder = hyper::server::conn::http1::Builder::new();
                        let _ = builder.serve_connection(io, service).await;
                    }
                });
            }
        });
        Self { url, seen, connections, roots, _runtime: runtime }
    }

    fn gate(&self) -> Gate {
        let given = Given { tls: Some(trusting(self.roots.clone())), ..Given::default() };
        Gate::with(&self.url, given, |_| {})
    }
}

type Body = http_body_util::combinators::BoxBody<Bytes, std::io::Error>;

async fn answer(
    request: http::Request<Incoming>,
    seen: Arc<Mutex<Vec<Seen>>>,
) -> Result<http::Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let uri = parts.uri.to_string();
    seen.lock().unwrap().push(Seen {
        version: parts.version,
        uri,
        headers: parts.headers,
        body: body.clone(),
    });
    let path = parts.uri.path().to_owned();
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<http_body::Frame<Bytes>, std::io::Error>>(4);
    tokio::spawn(async move {
        let data = |text: &'static str| Ok(http_body::Frame::data(Bytes::from_static(text.as_bytes())));
        let _ = sender.send(data("data: {\"a\":1}\n\n")).await;
        if path.ends_with("/cut") {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = sender.send(Err(std::io::Error::other("cut"))).await;
            return;
        }
        let mut trailers = http::HeaderMap::new();
        trailers.insert("x-sum", http::HeaderValue::from_static("9"));
        let _ = sender.send(Ok(http_body::Frame::trailers(trailers))).await;
    });
    let stream = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|frame| (frame, receiver))
    });
    let response = http::Response::builder()
        .header("content-type", "text/event-stream")
        .header("trailer", "x-sum")
        .header("request-id", "req_2");
    Ok(response.body(StreamBody::new(stream).boxed()).unwrap())
}

#[test]
fn http_2_is_spoken_where_the_provider_does_over_one_connection() {
    let provider = Provider::new(&["h2", "http/1.1"]);
    let gate = provider.gate();
    let body = "x".repeat(300_000);
    for _ in 0..5 {
        let headers = [("te", "trailers"), ("connection", "te"), ("x-api-key", "k"), ("X-Case", "1")];
        let answer = gate.ask(&post("/v1/messages?beta=true", &headers, body.as_bytes()));
        assert_eq!(
            (answer.line.as_str(), answer.text().as_str()),
            ("HTTP/1.1 200 OK", "data: {\"a\":1}\n\n")
        );
        assert_eq!(answer.header("request-id"), Some("req_2"));
        assert_eq!(answer.trailers, [("x-sum".to_owned(), "9".to_owned())]);
        let ended = gate.ended();
        assert_eq!(ended.end, End::Complete);
        assert!(matches!(ended.answer, Read::Stream(_)));
    }
    let seen = provider.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 5);
    for one in seen {
        assert_eq!(one.version, http::Version::HTTP_2);
        assert_eq!(one.uri, format!("{}/v1/messages?beta=true", provider.url));
        assert_eq!(one.body, body.as_bytes());
        assert_eq!(one.headers.get("te").unwrap(), "trailers");
        for name in ["host", "connection", "transfer-encoding"] {
            assert!(!one.headers.contains_key(name), "{name} was sent over HTTP/2");
        }
        assert_eq!(one.headers.get("content-length").unwrap(), "300000");
    }
    assert_eq!(provider.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn many_at_a_time_share_a_connection_once_it_is_known() {
    let provider = Provider::new(&["h2"]);
    let gate = provider.gate();
    assert_eq!(gate.ask(&get("/v1/messages", &[])).status(), 200);
    let address = gate.address;
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let mut client = Client::new(address);
                client.send(&post("/v1/messages", &[], b"{}"));
                assert_eq!(client.answer().status(), 200);
            });
        }
    });
    assert_eq!(provider.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn http_1_is_spoken_where_the_provider_does_not_speak_2() {
    for alpn in [&["http/1.1"][..], &[]] {
        let provider = Provider::new(alpn);
        let gate = provider.gate();
        let answer = gate.ask(&post("/v1/messages", &[("TE", "trailers"), ("Connection", "TE")], b"{}"));
        assert_eq!(answer.text(), "data: {\"a\":1}\n\n");
        assert_eq!(answer.trailers.len(), 1);
        let seen = provider.seen.lock().unwrap().clone();
        assert_eq!(seen[0].version, http::Version::HTTP_11);
        assert_eq!(seen[0].headers.get("host").unwrap(), &provider.url["https://".len()..]);
    }
}

#[test]
fn a_stream_that_is_reset_breaks_the_clients() {
    let provider = Provider::new(&["h2"]);
    let gate = provider.gate();
    let answer = gate.ask(&post("/anthropic/v1/cut", &[], b"{}"));
    assert_eq!((answer.text().as_str(), answer.whole), ("data: {\"a\":1}\n\n", false));
    assert!(matches!(gate.ended().end, End::UpstreamCut { .. }));
    // The others on the connection do not suffer.
    assert_eq!(gate.ask(&post("/v1/messages", &[], b"{}")).status(), 200);
    assert_eq!(provider.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_provider_whose_certificate_nobody_vouches_for_is_sent_nothing() {
    let provider = Provider::new(&["h2"]);
    let gate = Gate::to(&provider.url);
    let answer = gate.ask(&post("/v1/messages", &[("x-api-key", "sk-ant-1")], b"{}"));
    assert_eq!((answer.status(), answer.header("x-deadweight-answer")), (502, Some("unreachable")));
    assert!(answer.text().contains("TLS failed"), "{}", answer.text());
    assert!(provider.seen.lock().unwrap().is_empty());
}
