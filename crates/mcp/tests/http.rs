//! Both HTTP transports, end to end against scripted servers on loopback.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

use deadweight_mcp::{
    Anomaly, Era, ListError, Listing, Options, Reason, ServerSpec, Transport, TransportKind, list,
    no_progress,
};
use deadweight_testkit::scripted_mcp::http::{MODERN_VERSION, ScriptedHttp};
use deadweight_testkit::scripted_mcp::{self, Act, Fixed, Generate, HttpScript, Page, Script};
use serde_json::json;
use std::time::Duration;

fn patient() -> Options {
    Options::default().with_timeout(Duration::from_secs(60))
}

async fn ask_at(url: String) -> Result<Listing, ListError> {
    list(&ServerSpec::http(url, []), &patient(), &no_progress).await
}

async fn ask(server: &ScriptedHttp) -> Result<Listing, ListError> {
    ask_at(server.url()).await
}

fn over_http(http: HttpScript) -> Script {
    let page = Page { tools: vec![json!({"name": "b", "inputSchema": {}})], ..Page::default() };
    Script { http, ..Script::named("web") }.raw_tool(r#"{ "name":"a", "n":1.0 }"#).page(page)
}

fn start(http: HttpScript) -> ScriptedHttp {
    ScriptedHttp::start(over_http(http)).unwrap()
}

/// What every good answer has in common.
fn is_whole(listing: &Listing) {
    assert_eq!(listing.tools, [&br#"{ "name":"a", "n":1.0 }"#[..], br#"{"name":"b","inputSchema":{}}"#]);
    assert_eq!((listing.pages, listing.label.as_str()), (2, "web"));
}

/// The requests, as `METHOD path method version session`.
fn asked(server: &ScriptedHttp) -> Vec<String> {
    let requests = server.requests();
    let one = |request: &deadweight_testkit::upstream::Recorded| {
        let header = |name: &str| request.header(name).unwrap_or("-").to_owned();
        let method = request.json()["method"].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} {method} {} {}",
            request.method,
            request.path,
            header("mcp-protocol-version"),
            header("mcp-session-id")
        )
    };
    requests.iter().map(one).collect()
}

#[tokio::test]
async fn json_answers_without_a_session() {
    let server = start(HttpScript::default());
    let listing = ask(&server).await.unwrap();
    is_whole(&listing);
    assert_eq!((listing.era, listing.transport), (Era::Legacy, TransportKind::Http));
    assert_eq!(
        asked(&server),
        [
            "POST /mcp initialize - -",
            "POST /mcp notifications/initialized 2025-11-25 -",
            "POST /mcp tools/list 2025-11-25 -",
            "POST /mcp tools/list 2025-11-25 -",
        ]
    );
    let first = &server.requests()[0];
    assert_eq!(first.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert!(first.header("user-agent").unwrap().starts_with("deadweight/"));
}

#[tokio::test]
async fn sessions_are_named_and_ended() {
    for events in [false, true] {
        let server = start(HttpScript { session: true, events, ..HttpScript::default() });
        is_whole(&ask(&server).await.unwrap());
        assert_eq!(
            asked(&server),
            [
                "POST /mcp initialize - -",
                "POST /mcp notifications/initialized 2025-11-25 session-1",
                "POST /mcp tools/list 2025-11-25 session-1",
                "POST /mcp tools/list 2025-11-25 session-1",
                "DELETE /mcp - 2025-11-25 session-1",
            ]
        );
    }
}

#[tokio::test]
async fn a_session_that_is_gone_is_opened_anew_once() {
    // It dies before the second page; the list is asked for again from its start.
    let mortal = |lives: &[usize]| {
        start(HttpScript { session: true, session_lives: lives.to_vec(), ..HttpScript::default() })
    };
    let server = mortal(&[2]);
    let listing = ask(&server).await.unwrap();
    is_whole(&listing);
    assert_eq!(listing.anomalies, [Anomaly::SessionRenewed]);
    assert_eq!(
        asked(&server)[3..6],
        [
            "POST /mcp tools/list 2025-11-25 session-1",
            "POST /mcp initialize - -",
            "POST /mcp notifications/initialized 2025-11-25 session-2",
        ]
    );
    let server = mortal(&[2, 2]);
    assert_eq!(ask(&server).await.unwrap_err().reason, Reason::SessionLost);
    assert_eq!(
        server.requests().iter().filter(|request| request.json()["method"] == "initialize").count(),
        2
    );
}

#[tokio::test]
async fn event_streams_may_be_cut_anywhere() {
    for dribble in [0, 1, 7, 64] {
        let server = start(HttpScript { events: true, dribble, ..HttpScript::default() });
        is_whole(&ask(&server).await.unwrap());
    }
}

#[tokio::test]
async fn questions_within_a_stream_are_answered() {
    let ask_for = |method: &str, reply: serde_json::Value| Act::Ask { method: method.into(), reply };
    let acts = [
        Act::Notify("notifications/progress".into()),
        ask_for("ping", json!({})),
        ask_for("roots/list", json!({"roots": []})),
        ask_for("sampling/createMessage", json!({"code": -32601, "message": "Method not found"})),
    ];
    for http in [
        HttpScript { events: true, session: true, ..HttpScript::default() },
        HttpScript { old_sse: true, ..HttpScript::default() },
    ] {
        let server = ScriptedHttp::start(over_http(http).on("tools/list", acts.clone())).unwrap();
        let listing = ask(&server).await.unwrap();
        is_whole(&listing);
        let count = |name: &str| Anomaly::ClientRequest { method: name.into(), count: 2 };
        assert_eq!(listing.anomalies, ["ping", "roots/list", "sampling/createMessage"].map(count));
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_taken_up_again_or_refused() {
    let page = Page { tools: vec![json!({"name": "a"})], ..Page::default() };
    let one = |http| Script { http, ..Script::named("web") }.page(page.clone());
    let server =
        ScriptedHttp::start(one(HttpScript { events: true, resume: true, ..HttpScript::default() })).unwrap();
    assert_eq!(ask(&server).await.unwrap().tools.len(), 1);
    let resumed = server.requests().into_iter().find(|request| request.method == "GET").unwrap();
    assert_eq!(resumed.header("last-event-id"), Some("first"));
    let server =
        ScriptedHttp::start(one(HttpScript { events: true, cut: true, ..HttpScript::default() })).unwrap();
    assert_eq!(ask(&server).await.unwrap_err().reason, Reason::StreamEnded { waiting_for: "tools/list" });
}

#[tokio::test]
async fn the_older_transport_is_found_and_spoken() {
    for dribble in [0, 3] {
        let server = start(HttpScript { old_sse: true, dribble, ..HttpScript::default() });
        let listing = ask(&server).await.unwrap();
        is_whole(&listing);
        assert_eq!(listing.transport, TransportKind::Sse);
        let methods: Vec<String> =
            server.requests().iter().map(|request| format!("{} {}", request.method, request.path)).collect();
        let post = "POST /messages?id=1";
        assert_eq!(methods, ["POST /mcp", "GET /mcp", post, post, post, post]);
        // Asked for by name, it is spoken at once.
        let mut spec = ServerSpec::http(server.url(), []);
        spec.transport = Transport::Sse { url: server.url().into(), headers: Vec::new() };
        is_whole(&list(&spec, &patient(), &no_progress).await.unwrap());
        assert_eq!(server.requests()[6].method, "GET");
    }
}

#[tokio::test]
async fn the_older_transport_is_found_behind_an_error_object_too() {
    let refusal = Fixed {
        status: 405,
        content_type: "application/json".into(),
        body: r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}"#.into(),
    };
    let fixed = ["initialize", "server/discover"].map(|method| (method.to_owned(), refusal.clone()));
    let http =
        HttpScript { old_sse: true, fixed: fixed.into(), fixed_path: "/mcp".into(), ..HttpScript::default() };
    let listing = ask(&start(http)).await.unwrap();
    is_whole(&listing);
    assert_eq!(listing.transport, TransportKind::Sse);
}

#[tokio::test]
async fn a_secret_in_a_url_or_header_is_never_printed() {
    let body = "no such key: hunter2hunter2; token: swordfish99".to_owned();
    let fixed = Fixed { status: 403, content_type: "text/plain".into(), body };
    let server =
        start(HttpScript { fixed: [("initialize".to_owned(), fixed)].into(), ..HttpScript::default() });
    let headers = [("Authorization".to_owned(), "Bearer swordfish99".to_owned())];
    let spec = ServerSpec::http(format!("{}?key=hunter2hunter2", server.url()), headers);
    let error = list(&spec, &patient(), &no_progress).await.unwrap_err();
    assert_eq!(error.reason, Reason::HttpStatus { status: 403, excerpt: "no such key: …; token: …".into() });
    assert_eq!(error.target, format!("{}?…", server.url()));
}

#[tokio::test]
async fn a_foreign_endpoint_is_not_used() {
    for endpoint in
        ["http://localhost:1/messages", "https://127.0.0.1/m?key=hunter2hunter2", "//evil.example/x"]
    {
        let endpoint = Some(endpoint.to_owned());
        let server = start(HttpScript { old_sse: true, endpoint, ..HttpScript::default() });
        let error = ask(&server).await.unwrap_err();
        assert!(matches!(error.reason, Reason::ForeignEndpoint { .. }), "{error}");
        assert!(!error.explain().to_string().contains("hunter2"), "{}", error.explain());
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn the_modern_era_has_headers_and_no_session() {
    for events in [false, true] {
        let script = Script {
            era: scripted_mcp::Era::Modern,
            ..over_http(HttpScript { events, ..HttpScript::default() })
        };
        let server = ScriptedHttp::start(script).unwrap();
        let listing = ask(&server).await.unwrap();
        is_whole(&listing);
        assert_eq!((listing.era, listing.protocol_version.as_str()), (Era::Modern, MODERN_VERSION));
        assert_eq!(
            asked(&server),
            [
                "POST /mcp initialize - -",
                "POST /mcp server/discover 2026-07-28 -",
                "POST /mcp tools/list 2026-07-28 -",
                "POST /mcp tools/list 2026-07-28 -",
            ]
        );
        let last = &server.requests()[3];
        assert_eq!(last.header("mcp-method"), Some("tools/list"));
        let meta = &last.json()["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "deadweight");
        assert_eq!(last.json()["params"]["cursor"], "page-1");
    }
}

#[tokio::test]
async fn no_tools_is_known_in_the_modern_era_too() {
    let script = Script { era: scripted_mcp::Era::Modern, no_tools: true, ..Script::named("none") };
    let server = ScriptedHttp::start(script).unwrap();
    let listing = ask(&server).await.unwrap();
    assert!(listing.tools.is_empty() && !listing.tools_supported);
}

#[tokio::test]
async fn a_login_that_is_missing_is_told_with_its_place() {
    let challenge = r#"Bearer error="invalid_token", resource_metadata="https://auth.example/.well-known/oauth-protected-resource?x=1", scope="read write""#;
    let server = start(HttpScript { auth: Some(challenge.to_owned()), ..HttpScript::default() });
    let error = ask(&server).await.unwrap_err();
    let url = server.url();
    assert_eq!(
        error.explain().to_string(),
        format!(
            "the server `{url}` needs a login (HTTP 401)\n\
             \x20 url    {url}\n\
             \x20 login  https://auth.example/.well-known/oauth-protected-resource?…\n\
             \x20 scope  read write\n\
             \x20 try    log in with a client that can, and pass its token: --header 'Authorization: Bearer TOKEN'"
        )
    );
    assert_eq!(server.requests().len(), 1);
    let with = async |value: &str| {
        let headers = [("Authorization".to_owned(), value.to_owned())];
        list(&ServerSpec::http(server.url(), headers), &patient(), &no_progress).await
    };
    is_whole(&with("Bearer good").await.unwrap());
    let error = with("Bearer hunter2hunter2").await.unwrap_err();
    assert!(matches!(error.reason, Reason::LoginNeeded { credentials_sent: true, .. }), "{error}");
    assert!(!format!("{error:?} {}", error.explain()).contains("hunter2"));
}

#[tokio::test]
async fn redirects_stay_at_home() {
    for status in [301, 302, 307, 308] {
        let server = start(HttpScript { redirect: Some((status, "/mcp".into())), ..HttpScript::default() });
        is_whole(&ask_at(server.at("/")).await.unwrap());
        // The new address is kept.
        assert_eq!(server.requests().iter().filter(|request| request.path == "/").count(), 1);
    }
    let elsewhere = start(HttpScript::default());
    let to = format!("{}?key=hunter2", elsewhere.url());
    let server = start(HttpScript { redirect: Some((307, to)), ..HttpScript::default() });
    let error = ask_at(server.at("/")).await.unwrap_err();
    assert_eq!(error.reason, Reason::RedirectedElsewhere { to: format!("{}?…", elsewhere.url()) });
    assert!(elsewhere.requests().is_empty());
    let server = start(HttpScript { redirect: Some((307, "/".into())), ..HttpScript::default() });
    assert_eq!(ask_at(server.at("/")).await.unwrap_err().reason, Reason::TooManyRedirects);
}

#[tokio::test]
async fn answers_that_are_not_mcp_say_what_they_are() {
    let fixed = |status, content_type: &str, body: &str| {
        let answer = Fixed { status, content_type: content_type.into(), body: body.into() };
        start(HttpScript { fixed: [("initialize".to_owned(), answer)].into(), ..HttpScript::default() })
    };
    let reason = async |server: ScriptedHttp| ask(&server).await.unwrap_err().reason.clone();
    assert_eq!(
        reason(fixed(200, "text/html; charset=utf-8", "<html>\nWelcome")).await,
        Reason::NotMcp { content_type: "text/html".into(), excerpt: String::new() }
    );
    assert_eq!(
        reason(fixed(200, "application/json", r#"{"status":"ok"}"#)).await,
        Reason::NotMcp { content_type: "application/json".into(), excerpt: r#"{"status":"ok"}"#.into() }
    );
    assert_eq!(
        reason(fixed(202, "text/plain", "")).await,
        Reason::NotMcp { content_type: "nothing (HTTP 202)".into(), excerpt: String::new() }
    );
    assert_eq!(
        reason(fixed(503, "text/plain", "busy\u{1b}[31m")).await,
        Reason::HttpStatus { status: 503, excerpt: "busy".into() }
    );
    assert_eq!(
        reason(fixed(403, "application/json", r#"{"detail":"no"}"#)).await,
        Reason::HttpStatus { status: 403, excerpt: r#"{"detail":"no"}"#.into() }
    );
    // An error object is an answer, whatever the status.
    assert_eq!(
        reason(fixed(
            500,
            "application/json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#
        ))
        .await,
        Reason::ServerError { method: "initialize", code: -1, message: "no".into() }
    );
    // JSON without its content type is still JSON.
    let server = start(HttpScript { content_type: Some("text/plain".into()), ..HttpScript::default() });
    is_whole(&ask(&server).await.unwrap());
}

#[tokio::test]
async fn a_wrong_address_says_so() {
    let server = start(HttpScript::default());
    let error = ask_at(server.at("/nowhere")).await.unwrap_err();
    assert_eq!(error.reason, Reason::HttpStatus { status: 404, excerpt: String::new() });
    assert!(error.explain().to_string().contains("check the path"), "{}", error.explain());
    // Nobody listens there, and no port that is handed out can be it.
    let error = ask_at("http://127.0.0.1:1/mcp".to_owned()).await.unwrap_err();
    assert_eq!(error.reason, Reason::Unreachable { detail: "connection refused".into() });
    let reason = async |url: &str| ask_at(url.to_owned()).await.unwrap_err().reason.clone();
    assert!(matches!(reason("example.com/mcp").await, Reason::BadUrl { .. }));
    assert!(matches!(reason("ftp://example.com/mcp").await, Reason::BadUrl { .. }));
    let spec = ServerSpec::http("http://127.0.0.1:1/", [("bad name".to_owned(), "x".to_owned())]);
    let error = list(&spec, &patient(), &no_progress).await.unwrap_err();
    assert_eq!(error.reason, Reason::BadHeader { name: "bad name".into() });
}

#[tokio::test]
async fn an_address_that_speaks_no_tls_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let plain = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = ask_at(url).await.unwrap_err();
    plain.join().unwrap();
    assert!(matches!(&error.reason, Reason::Unreachable { detail } if detail.contains("corrupt")), "{error}");
}

#[tokio::test]
async fn faults_of_a_list_are_those_of_any_transport() {
    let script = |http: HttpScript| Script { http, ..Script::named("web") };
    for http in [
        HttpScript::default(),
        HttpScript { events: true, ..HttpScript::default() },
        HttpScript { old_sse: true, ..HttpScript::default() },
    ] {
        let page = |next: &str| Page {
            tools: vec![json!({"name": next})],
            next: Some(json!(next)),
            ..Page::default()
        };
        let server = ScriptedHttp::start(script(http.clone()).page(page("x")).page(page("x"))).unwrap();
        assert_eq!(ask(&server).await.unwrap_err().reason, Reason::RepeatedCursor { first: 1, again: 2 });
        let invalid = Act::AnswerHex(
            "7b226a736f6e727063223a22322e30222c226964223a322c22726573756c74223a22ff227d".into(),
        );
        let server = ScriptedHttp::start(script(http.clone()).on("tools/list", [invalid])).unwrap();
        assert!(matches!(
            ask(&server).await.unwrap_err().reason,
            Reason::InvalidUtf8 { offset: 34, waiting_for: "tools/list" }
        ));
        let generate = Some(Generate { tools: 2_000, description: 1_000 });
        let huge = script(http).page(Page { generate, ..Page::default() });
        let server = ScriptedHttp::start(huge).unwrap();
        assert_eq!(ask(&server).await.unwrap().tools.len(), 2_000);
        let mut options = patient();
        options.max_message_bytes = 1 << 20;
        let error = list(&ServerSpec::http(server.url(), []), &options, &no_progress).await.unwrap_err();
        assert_eq!(error.reason, Reason::MessageTooLarge { limit: 1 << 20 });
    }
}

#[tokio::test]
async fn silence_ends_at_the_timeout() {
    for http in [
        HttpScript { events: true, ..HttpScript::default() },
        HttpScript { old_sse: true, ..HttpScript::default() },
    ] {
        let server =
            ScriptedHttp::start(over_http(http).on("tools/list", [Act::Silence, Act::Sleep(60_000)]))
                .unwrap();
        // Long enough for what comes before it on a machine that has much to do.
        let options = Options::default().with_timeout(Duration::from_secs(4));
        let error = list(&ServerSpec::http(server.url(), []), &options, &no_progress).await.unwrap_err();
        assert!(
            matches!(error.reason, Reason::TimedOut { waiting_for: "tools/list", pages: 0, .. }),
            "{error}"
        );
    }
}

/// An address that answers every connection with the same bytes, after it has read a request.
fn canned(answer: &'static [u8]) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"}") {
                let mut some = [0; 1024];
                match connection.read(&mut some).unwrap_or(0) {
                    0 => break,
                    count => read.extend(&some[..count]),
                }
            }
            let _ = connection.write_all(answer);
        }
    });
    url
}

#[tokio::test]
async fn answers_that_are_no_whole_http_are_told_from_no_connection() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"[..],
        b"HTTP/1.1 200 OK\r\nContent-Type: a\x1b[31m\r\n\r\n",
        b"SSH-2.0-server\r\n",
        b"",
    ] {
        let error = ask_at(canned(answer)).await.unwrap_err();
        assert!(matches!(error.reason, Reason::BadHttp { .. }), "{error:?}");
        assert!(!error.explain().to_string().contains('\u{1b}'), "{error:?}");
    }
}

#[tokio::test]
async fn a_compressed_answer_says_so_and_shows_no_rubbish() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\x00\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\x00\n",
    ] {
        let error = ask_at(canned(answer)).await.unwrap_err();
        assert_eq!(error.reason, Reason::Compressed { encoding: "gzip".into() });
        assert!(!error.explain().to_string().contains('\u{fffd}'), "{}", error.explain());
    }
    let binary = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n\x89PNG";
    let error = ask_at(canned(binary)).await.unwrap_err();
    let content_type = "image/png".to_owned();
    assert_eq!(error.reason, Reason::NotMcp { content_type, excerpt: String::new() });
}

#[tokio::test]
async fn what_was_said_is_shown_once_and_not_as_standard_output() {
    let body = r#"{"error":"nope"}"#.to_owned();
    let fixed = Fixed { status: 500, content_type: "application/json".into(), body };
    let server =
        start(HttpScript { fixed: [("initialize".to_owned(), fixed)].into(), ..HttpScript::default() });
    let told = ask(&server).await.unwrap_err().explain().to_string();
    assert_eq!(told.matches("nope").count(), 1, "{told}");
    assert!(!told.contains("stdout"), "{told}");
}
