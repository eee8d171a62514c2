//! Who may ask, and where keys go.

use crate::common::{Client, Gate, Given, SOON, get, post};
use deadweight_gateway::Provider;
use deadweight_gateway::relay::{AnswerBody, Answering, Config, Listen, Own, Secret, Target};
use deadweight_testkit::raw_http::RawHttp;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn echo() -> RawHttp {
    RawHttp::start(|_, answer| answer.json(200, "{}")).unwrap()
}

/// Headers of a request.
type Fields<'a> = &'a [(&'a str, &'a str)];

/// Three providers of their own.
struct Three {
    servers: [RawHttp; 3],
}

impl Three {
    const NAMES: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Gemini];

    fn new() -> Self {
        Self { servers: [echo(), echo(), echo()] }
    }

    fn put(&self, config: &mut Config) {
        for (provider, server) in Self::NAMES.into_iter().zip(&self.servers) {
            config.set_upstream(provider, Target::parse(&server.at("")).unwrap());
        }
    }

    /// How many requests each had.
    fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|at| self.servers[at].requests().len())
    }
}

#[test]
fn no_key_reaches_a_provider_that_it_was_not_meant_for() {
    let three = Three::new();
    let gate = Gate::start("http://127.0.0.1:9", |config| three.put(config));
    let certain: [(&str, Fields<'_>, usize); 9] = [
        ("/v1/messages", &[("x-api-key", "sk-ant-1")], 0),
        ("/v1/models", &[("anthropic-version", "2023-06-01"), ("x-api-key", "sk-ant-1")], 0),
        ("/anthropic/v1/chat/completions", &[("authorization", "Bearer sk-ant-1")], 0),
        ("/v1/chat/completions", &[("authorization", "Bearer sk-1")], 1),
        ("/v1/responses", &[("authorization", "Bearer sk-1")], 1),
        ("/openai/v1/models", &[("authorization", "Bearer sk-1")], 1),
        ("/v1beta/models/m:generateContent?key=AIza1", &[], 2),
        ("/v1/models", &[("x-goog-api-key", "AIza1")], 2),
        ("/gemini/v1beta/openai/chat/completions", &[("authorization", "Bearer AIza1")], 2),
    ];
    let mut expected = [0; 3];
    for (path, headers, at) in certain {
        assert_eq!(gate.ask(&post(path, headers, b"{}")).status(), 200, "{path}");
        expected[at] += 1;
        assert_eq!(three.counts(), expected, "{path}");
    }
    let uncertain: [(&str, Fields<'_>); 8] = [
        ("/v1/models", &[("authorization", "Bearer sk-1")]),
        ("/v1/files", &[("x-api-key", "sk-ant-1")]),
        ("/v1/chat/completions", &[("authorization", "Bearer sk-ant-1")]),
        ("/v1/messages", &[("x-goog-api-key", "AIza1")]),
        ("/v1/responses", &[("anthropic-version", "2023-06-01")]),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
            &[("authorization", "Bearer ya29")],
        ),
        ("/model/anthropic.claude/invoke", &[("authorization", "AWS4-HMAC-SHA256 x")]),
        (
            "/",
            &[("authorization", "Bearer sk-ant-1"), ("anthropic-version", "x"), ("x-goog-api-key", "AIza1")],
        ),
    ];
    for (path, headers) in uncertain {
        let answer = gate.ask(&post(path, headers, b"{}"));
        assert_eq!(answer.status(), 421, "{path}");
        let remedy = answer.text();
        assert!(
            remedy.contains("/anthropic, /openai or /gemini") || remedy.contains("--upstream"),
            "{remedy}"
        );
    }
    assert_eq!(three.counts(), expected, "something that was refused was sent on");
}

#[test]
fn the_token_goes_to_nobody() {
    let server = echo();
    let token = "a-token-of-24-characters";
    for held in [false, true] {
        let gate = Gate::start(&server.at(""), |config| {
            config.token = Some(Secret::new(token));
            if held {
                config.keys.push((Provider::Anthropic, Secret::new("sk-ant-held")));
            }
        });
        let bearer = format!("Bearer {token}");
        let cases: [(String, Vec<(&str, &str)>); 5] = [
            ("/v1/messages".to_owned(), vec![("authorization", &bearer)]),
            ("/v1/messages".to_owned(), vec![("authorization", "Bearer x"), ("authorization", &bearer)]),
            ("/v1/messages".to_owned(), vec![("x-api-key", token), ("x-mine", token)]),
            (format!("/v1/messages?beta=true&key={token}"), vec![]),
            (format!("/v1/messages?other={}", token.replace('-', "%2d")), vec![]),
        ];
        for (path, mut headers) in cases {
            headers.push(("x-deadweight-token", token));
            assert_eq!(gate.ask(&post(&path, &headers, b"{}")).status(), 200, "{path}");
            let requests = server.requests();
            let got = requests.last().unwrap();
            let all = format!("{got:?}").replace("%2d", "-");
            assert!(!all.contains(token), "{path} {headers:?}: {all}");
            assert!(!held || all.contains("sk-ant-held"), "{all}");
        }
    }
}

#[test]
fn a_port_of_ones_own_says_whose_requests_are() {
    let three = Three::new();
    let gate = Gate::start("http://127.0.0.1:9", |config| {
        three.put(config);
        let address = config.listen[0].address;
        config.listen.push(Listen { address, provider: Some(Provider::OpenAi), agent: Some("codex".into()) });
    });
    let ask = |path: &str| {
        let mut client = Client::new(gate.addresses[1]);
        client.send(&get(path, &[]));
        client.answer().status()
    };
    assert_eq!(ask("/v1/models"), 200);
    assert_eq!(three.counts(), [0, 1, 0]);
    assert_eq!(gate.begun().agent.as_deref(), Some("codex"));
    // What the path says and what the port says are not the same: neither.
    assert_eq!(ask("/v1/messages"), 421);
    assert_eq!(three.counts(), [0, 1, 0]);
    // A prefix is said on purpose.
    assert_eq!(ask("/anthropic/v1/messages"), 200);
    assert_eq!(three.counts(), [1, 1, 0]);
}

#[test]
fn pages_and_names_of_others_are_refused() {
    let server = echo();
    let gate = Gate::to(&server.at(""));
    for (request, status) in [
        (&b"POST /v1/messages HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 0\r\n\r\n"[..], 403),
        (b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example\r\ncontent-length: 0\r\n\r\n", 403),
        (b"GET http://api.example.com/v1/messages HTTP/1.1\r\nhost: api.example.com\r\n\r\n", 403),
        (b"CONNECT api.example.com:443 HTTP/1.1\r\nhost: api.example.com:443\r\n\r\n", 405),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 0\r\n\r\n", 400),
        (b"GET /deadweight/ HTTP/1.1\r\nhost: evil.example\r\n\r\n", 403),
        (b"GET /v1/messages HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site\r\n\r\n", 403),
    ] {
        let answer = gate.ask(request);
        assert_eq!(answer.status(), status, "{}", String::from_utf8_lossy(request));
        assert!(answer.header("x-deadweight-answer").is_some());
    }
    assert!(server.requests().is_empty());
}

#[test]
fn the_token_opens_and_is_not_sent_on() {
    let server = echo();
    let gate = Gate::start(&server.at(""), |config| config.token = Some(Secret::new("hunter22")));
    for headers in [&[][..], &[("x-deadweight-token", "hunter2")], &[("authorization", "Bearer hunter22")]] {
        let answer = gate.ask(&post("/v1/messages", headers, b"{}"));
        assert_eq!(answer.status(), 401);
        assert!(answer.header("www-authenticate").is_some() && !answer.text().contains("hunter22"));
    }
    assert!(server.requests().is_empty());
    let headers =
        [("X-Deadweight-Token", "hunter22"), ("x-api-key", "sk-ant-1"), ("x-deadweight-other", "1")];
    assert_eq!(gate.ask(&post("/v1/messages", &headers, b"{}")).status(), 200);
    let request = server.requests().remove(0);
    assert_eq!(request.header("x-api-key"), Some("sk-ant-1"));
    assert!(
        request.headers.iter().all(|(name, value)| !name.to_ascii_lowercase().starts_with("x-deadweight")
            && !value.contains("hunter22"))
    );
    // Who watches over processes knows no token.
    assert_eq!(gate.ask(&get("/healthz", &[])).status(), 200);
    assert_eq!(gate.ask(&get("/metrics", &[])).status(), 401);
    let notes = format!("{:?}", gate.notes.lock().unwrap());
    assert!(!notes.contains("hunter2"), "{notes}");
}

#[test]
fn held_keys_take_the_place_of_the_token() {
    let three = Three::new();
    let gate = Gate::start("http://127.0.0.1:9", |config| {
        three.put(config);
        config.token = Some(Secret::new("hunter22"));
        config.keys = vec![
            (Provider::Anthropic, Secret::new("sk-ant-held")),
            (Provider::OpenAi, Secret::new("sk-held")),
            (Provider::Gemini, Secret::new("AIza-held")),
        ];
    });
    for (path, name, value) in [
        ("/v1/messages", "x-api-key", "hunter22"),
        ("/v1/responses", "authorization", "Bearer hunter22"),
        ("/v1beta/models/m:generateContent?alt=sse", "x-goog-api-key", "hunter22"),
        ("/v1beta/models/m:generateContent?key=hunter22&alt=sse", "x-other", "1"),
    ] {
        assert_eq!(gate.ask(&post(path, &[(name, value)], b"{}")).status(), 200, "{path}");
    }
    let sent: Vec<_> = three.servers.iter().flat_map(RawHttp::requests).collect();
    assert!(sent.iter().all(|request| !format!("{request:?}").contains("hunter22")), "{sent:?}");
    assert_eq!(sent[0].header("x-api-key"), Some("sk-ant-held"));
    assert_eq!(sent[1].header("authorization"), Some("Bearer sk-held"));
    assert_eq!(sent[2].header("x-goog-api-key"), Some("AIza-held"));
    assert_eq!(sent[3].path, "/v1beta/models/m:generateContent?alt=sse");
    assert_eq!(gate.ask(&post("/v1/messages", &[("x-api-key", "sk-ant-own")], b"{}")).status(), 401);
}

struct Page;

impl Own for Page {
    fn answer(&self, request: http::request::Parts, _: hyper::body::Incoming) -> Answering {
        let text = format!("own {}", request.uri.path());
        Box::pin(async move { http::Response::new(AnswerBody::own(text.into())) })
    }

    fn ready(&self) -> Result<(), String> {
        Err("nothing is there".to_owned())
    }
}

#[test]
fn our_own_paths_are_answered_by_whoever_was_brought_along() {
    let server = echo();
    let given = Given { own: Some(Arc::new(Page)), ..Given::default() };
    let gate = Gate::with(&server.at(""), given, |_| {});
    assert_eq!(gate.ask(&get("/deadweight/v1/context?session=x", &[])).text(), "own /deadweight/v1/context");
    assert_eq!(gate.ask(&get("/metrics", &[])).text(), "own /metrics");
    assert_eq!(gate.ask(&get("/readyz", &[])).status(), 503);
    assert_eq!(gate.ask(&get("/healthz", &[])).status(), 200);
    assert!(server.requests().is_empty());
    assert_eq!(Gate::to(&server.at("")).ask(&get("/deadweight/", &[])).status(), 404);
}

#[test]
fn heads_are_bounded_in_size_number_and_time() {
    let server = echo();
    let gate = Gate::start(&server.at(""), |config| config.limits.head_time = Duration::from_millis(300));
    let large = "x".repeat(70 << 10);
    assert_eq!(gate.ask(&get("/v1/messages", &[("x-large", &large)])).status(), 431);
    let many: Vec<(String, String)> = (0..200).map(|n| (format!("x-{n}"), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(gate.ask(&get("/v1/messages", &many)).status(), 431);
    assert!(server.requests().is_empty());
    // A head that comes byte by byte.
    let mut slow = gate.client();
    let began = Instant::now();
    slow.send(b"GET /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-slow: ");
    let mut closed = false;
    while !closed && began.elapsed() < SOON {
        slow.send(b"x");
        closed = slow.is_closed_within(Duration::from_millis(50));
    }
    assert!(
        closed && began.elapsed() < Duration::from_secs(3),
        "a slow head was let stand for {:?}",
        began.elapsed()
    );
    // One letter, which may be the beginning of HTTP/2.
    let mut letter = gate.client();
    letter.send(b"P");
    assert!(letter.is_closed_within(Duration::from_secs(3)), "a first letter was let stand");
    // A second one on a connection that was used before.
    let mut again = gate.client();
    again.send(&get("/v1/messages", &[]));
    assert_eq!(again.answer().status(), 200);
    std::thread::sleep(Duration::from_millis(400));
    again.send(&get("/v1/messages", &[]));
    assert_eq!(again.answer().status(), 200, "an idle connection was taken for a slow one");
    again.send(b"GET /v1/mess");
    assert!(again.is_closed_within(Duration::from_secs(3)));
}

#[test]
fn a_slow_body_is_not_a_slow_head() {
    let server = echo();
    let gate = Gate::start(&server.at(""), |config| config.limits.head_time = Duration::from_millis(200));
    let mut client = gate.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n{");
    std::thread::sleep(Duration::from_millis(500));
    client.send(b"   ");
    assert_eq!(client.answer().status(), 200);
}

#[test]
fn connections_beyond_the_bound_wait() {
    let server = echo();
    let gate = Gate::start(&server.at(""), |config| config.limits.connections = 2);
    let (mut one, mut two) = (gate.client(), gate.client());
    for client in [&mut one, &mut two] {
        client.send(&get("/v1/messages", &[]));
        assert_eq!(client.answer().status(), 200);
    }
    let mut three = gate.client();
    three.send(&get("/v1/messages", &[]));
    assert!(!three.is_closed_within(Duration::from_millis(100)));
    drop(one);
    assert_eq!(three.answer().status(), 200);
}

#[test]
fn a_person_at_a_browser_types_the_token_in() {
    let server = echo();
    let gate = Gate::start(&server.at(""), |config| config.token = Some(Secret::new("hunter22")));
    let page = gate.ask(&get("/deadweight/", &[("accept", "text/html,*/*")]));
    assert_eq!((page.status(), page.header("x-deadweight-answer")), (401, Some("own")));
    assert!(page.text().contains("<form method=post") && !page.text().contains("hunter22"));
    assert_eq!(gate.ask(&get("/deadweight/", &[])).status(), 401);
    assert_eq!(gate.ask(&get("/deadweight/login", &[])).status(), 200);
    for wrong in [&b"token=hunter2"[..], b"", b"token=", &[b'x'; 10_000]] {
        let answer = gate.ask(&post("/deadweight/login", &[], wrong));
        assert_eq!((answer.status(), answer.header("set-cookie")), (403, None));
    }
    // A page of somebody else cannot send the form.
    let foreign = post("/deadweight/login", &[("origin", "http://evil.example")], b"token=hunter22");
    assert_eq!(gate.ask(&foreign).status(), 403);
    let answer = gate.ask(&post("/deadweight/login", &[], b"token=hunter22"));
    assert_eq!((answer.status(), answer.header("location")), (303, Some("/deadweight/")));
    let cookie = answer.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let known = gate.ask(&get("/deadweight/", &[("cookie", cookie.split(';').next().unwrap())]));
    // It is known; there is nothing to show here.
    assert_eq!(known.status(), 404);
    assert_eq!(server.requests().len(), 0);
}
