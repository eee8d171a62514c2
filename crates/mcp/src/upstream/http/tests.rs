use super::*;
use crate::error::Reason;
use deadweight_testkit::raw_http::{Answer, RawHttp};
use deadweight_testkit::scripted_mcp::http::ScriptedHttp;
use deadweight_testkit::scripted_mcp::{HttpScript, Script};
use deadweight_testkit::upstream::Recorded;
use std::io;
use std::sync::atomic::AtomicBool;

const PATIENCE: Duration = Duration::from_secs(20);

struct Open {
    link: HttpLink,
    reports: mpsc::Receiver<FromServer>,
}

fn open_at(url: &str) -> Open {
    open_with(&ServerSpec::http(url, []), &Options::default())
}

fn open_with(spec: &ServerSpec, options: &Options) -> Open {
    let (sender, reports) = mpsc::channel(64);
    Open { link: HttpLink::open(spec, options, 3, 7, sender).unwrap(), reports }
}

impl Open {
    async fn next(&mut self) -> Event {
        let report = timeout(PATIENCE, self.reports.recv()).await.expect("in time").expect("a report");
        assert_eq!((report.server, report.generation), (3, 7));
        report.event
    }

    /// The next message: its text, what it is about, its status.
    async fn message(&mut self) -> (String, Option<String>, Option<u16>) {
        match self.next().await {
            Event::Message { bytes, about, status } => (text(&bytes), about.map(|id| text(&id)), status),
            other => panic!("no message: {other:?}"),
        }
    }

    async fn undelivered(&mut self) -> (Option<String>, Undelivered) {
        match self.next().await {
            Event::Undelivered { id, why } => (id.map(|id| text(&id)), why),
            other => panic!("delivered: {other:?}"),
        }
    }

    async fn nothing(&mut self, time: Duration) {
        if let Ok(report) = timeout(time, self.reports.recv()).await {
            panic!("{report:?}");
        }
    }

    /// Opens a session of the legacy era.
    async fn initialize(&mut self) {
        self.link.send(request(0, "initialize"));
        let (body, about, _) = self.message().await;
        assert!(body.contains("result") && about.as_deref() == Some("0"), "{body}");
        self.link.send(notification("notifications/initialized", None));
    }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn outbound(bytes: String, kind: Kind) -> Outbound {
    let version = Some("2025-11-25".to_owned());
    Outbound { bytes: bytes.into(), kind, about: None, modern: false, version, headers: Vec::new() }
}

fn request(id: usize, method: &str) -> Outbound {
    let kind = Kind::Request { id: id.to_string().into(), method: method.to_owned() };
    outbound(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#), kind)
}

fn notification(method: &str, about: Option<usize>) -> Outbound {
    let kind = Kind::Notification { method: method.to_owned() };
    let message = outbound(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#), kind);
    Outbound { about: about.map(|id| id.to_string().into()), ..message }
}

fn modern(message: Outbound) -> Outbound {
    Outbound { modern: true, version: Some("2026-07-28".to_owned()), ..message }
}

fn result(id: usize, value: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{value}"}}"#)
}

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":1.0}}"#;

/// A server that opens sessions; the rest is the test's.
fn legacy(rest: impl Fn(&Recorded, &mut Answer) -> io::Result<()> + Send + Sync + 'static) -> RawHttp {
    RawHttp::start(move |request, answer| {
        let message = request.json();
        match (request.method.as_str(), message["method"].as_str()) {
            ("POST", Some("initialize")) => {
                let headers = [("content-type", "application/json"), ("mcp-session-id", "s1")];
                answer.whole(200, &headers, result(0, "hello").as_bytes())
            }
            ("POST", Some("notifications/initialized")) => answer.whole(202, &[], b""),
            _ => rest(request, answer),
        }
    })
    .unwrap()
}

fn none(_: &Recorded, answer: &mut Answer) -> io::Result<()> {
    answer.whole(405, &[], b"")
}

async fn until(what: impl Fn() -> bool) {
    timeout(PATIENCE, async {
        while !what() {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("in time");
}

#[tokio::test]
async fn a_session_has_its_headers_its_stream_and_its_end() {
    let server = legacy(|request, answer| match request.method.as_str() {
        "GET" => {
            answer.events(&[])?;
            answer.event(NOTE)?;
            answer.hang()
        }
        "DELETE" => answer.whole(200, &[], b""),
        _ => answer.json(200, &result(1, "done")),
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    assert_eq!(open.message().await, (NOTE.to_owned(), None, None));
    open.link.send(request(1, "tools/list"));
    assert_eq!(open.message().await, (result(1, "done"), Some("1".to_owned()), Some(200)));
    assert_eq!(open.link.queued(), 0);
    open.link.close(Duration::from_secs(5)).await;
    let seen: Vec<String> = server
        .requests()
        .iter()
        .map(|seen| {
            let header = |name| seen.header(name).unwrap_or("-").to_owned();
            format!("{} {} {}", seen.method, header("mcp-session-id"), header("mcp-protocol-version"))
        })
        .collect();
    let all = ["POST - 2025-11-25", "POST s1 2025-11-25", "GET s1 2025-11-25", "POST s1 2025-11-25"];
    assert_eq!(seen[..4], all);
    assert_eq!(seen[4], "DELETE s1 2025-11-25");
}

#[tokio::test]
async fn many_requests_are_under_way_and_events_come_at_once() {
    // The first is answered last, when the others are.
    let answered = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&answered);
    let server = legacy(move |request, answer| {
        let id = request.json()["id"].as_u64().unwrap_or_default() as usize;
        if request.method == "GET" {
            return none(request, answer);
        }
        answer.events(&[])?;
        answer.event(NOTE)?;
        if id == 1 {
            while count.load(Ordering::SeqCst) < 199 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        answer.event(&result(id, "x"))?;
        count.fetch_add(1, Ordering::SeqCst);
        answer.end()
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    for id in 1..=200 {
        open.link.send(request(id, "tools/call"));
    }
    let (mut notes, mut answers) = (0, 0);
    while answers < 200 {
        let (body, about, status) = open.message().await;
        assert_eq!(status, None);
        if body == NOTE {
            notes += 1;
        } else {
            assert!(body.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{},"#, about.unwrap())));
            answers += 1;
        }
    }
    assert_eq!(notes, 200);
    open.nothing(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn refusals_say_what_they_are() {
    let server = legacy(|request, answer| {
        let method = request.json()["method"].as_str().unwrap_or_default().to_owned();
        match method.as_str() {
            "gone" => answer.json(
                404,
                r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}"#,
            ),
            "rpc" => answer.json(400, r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}"#),
            "busy" => answer.whole(503, &[("content-type", "text/plain")], b"busy\x1b[31m hunter2hunter2"),
            "html" => answer.whole(200, &[("content-type", "text/html")], b"<html>"),
            "garbage" => answer.json(200, "{\"jsonrpc\""),
            "accepted" => answer.whole(202, &[], b""),
            "login" => answer.whole(401, &[("www-authenticate", "Bearer scope=\"a b\"")], b""),
            "away" => answer.whole(307, &[("location", "http://localhost:9/else?k=hunter2hunter2")], b""),
            "cut" => answer.cut(),
            _ => none(request, answer),
        }
    });
    let spec = ServerSpec::http(format!("{}?key=hunter2hunter2", server.at("/mcp")), []);
    let mut open = open_with(&spec, &Options::default());
    open.initialize().await;
    open.link.send(request(2, "rpc"));
    let (body, about, status) = open.message().await;
    assert!(body.contains("-32602"));
    assert_eq!((about.as_deref(), status), (Some("2"), Some(400)));
    let mut why = async |method: &str| {
        open.link.send(request(9, method));
        let (id, why) = open.undelivered().await;
        assert_eq!(id.as_deref(), Some("9"));
        format!("{why:?}")
    };
    assert_eq!(why("gone").await, "SessionGone");
    assert_eq!(why("busy").await, "Refused { status: 503, body: b\"busy \\xe2\\x80\\xa6\" }");
    assert_eq!(why("html").await, r#"Unreachable(NotMcp { content_type: "text/html", excerpt: "" })"#);
    assert!(why("garbage").await.starts_with("Unreachable(NotMcp"));
    assert!(why("accepted").await.contains("nothing (HTTP 202)"));
    assert_eq!(
        why("login").await,
        r#"Unreachable(LoginNeeded { resource_metadata: None, scope: Some("a b"), credentials_sent: false })"#
    );
    assert_eq!(why("away").await, r#"Unreachable(RedirectedElsewhere { to: "http://localhost:9/else?…" })"#);
    assert!(why("cut").await.starts_with("Unreachable(BadHttp"), "{}", why("cut").await);
    open.link.send(notification("login", None));
    assert!(matches!(open.undelivered().await, (None, Undelivered::Unreachable(Reason::LoginNeeded { .. }))));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let server = RawHttp::start(none).unwrap();
    let url = server.at("/mcp");
    drop(server);
    let mut open = open_at(&url);
    open.link.send(request(0, "initialize"));
    assert!(matches!(
        open.undelivered().await,
        (Some(_), Undelivered::Unreachable(Reason::Unreachable { .. } | Reason::BadHttp { .. }))
    ));
}

#[tokio::test]
async fn a_stream_that_ends_early_is_taken_up_where_it_ended() {
    let resumed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&resumed);
    let server = legacy(move |request, answer| {
        let from = request.header("last-event-id").map(str::to_owned);
        match (request.method.as_str(), from.as_deref()) {
            ("GET", None) => none(request, answer),
            ("POST", _) if request.json()["method"] == "no ids" => {
                answer.events(&[])?;
                answer.event(NOTE)?;
                answer.end()
            }
            ("POST", _) => {
                answer.events(&[])?;
                answer.piece(b"id: e1\nretry: 20\ndata: \n\n")?;
                answer.piece(
                    b"id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\nid: e3\ndata: {\"jsonr",
                )?;
                answer.cut()
            }
            (_, Some("e2")) => {
                count.fetch_add(1, Ordering::SeqCst);
                answer.events(&[])?;
                answer.piece(b"id: e4\ndata: \n\n")?;
                answer.end()
            }
            (_, Some("e4")) => {
                answer.events(&[])?;
                answer.event(&result(5, "late"))?;
                answer.end()
            }
            _ => answer.whole(400, &[], b"never said that"),
        }
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    open.link.send(request(5, "slow"));
    assert_eq!(open.message().await.0, r#"{"jsonrpc":"2.0","method":"n"}"#);
    assert_eq!(open.message().await, (result(5, "late"), Some("5".to_owned()), None));
    assert_eq!(resumed.load(Ordering::SeqCst), 1);
    open.link.send(request(6, "no ids"));
    assert_eq!(open.message().await.0, NOTE);
    let (id, why) = open.undelivered().await;
    assert_eq!((id.as_deref(), format!("{why:?}").as_str()), (Some("6"), "StreamEnded"));
}

#[tokio::test]
async fn the_stream_that_stands_alone_is_opened_again() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let server = legacy(move |request, answer| {
        if request.method != "GET" {
            return none(request, answer);
        }
        let number = count.fetch_add(1, Ordering::SeqCst);
        let from = request.header("last-event-id").unwrap_or("-").to_owned();
        match number {
            1 => return answer.whole(503, &[], b""),
            3 => return none(request, answer),
            _ => answer.events(&[])?,
        }
        answer.piece(
            format!("id: {number}\nretry: 10\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"{from}\"}}\n\n")
                .as_bytes(),
        )?;
        answer.end()
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    assert_eq!(open.message().await.0, r#"{"jsonrpc":"2.0","method":"-"}"#);
    assert_eq!(open.message().await.0, r#"{"jsonrpc":"2.0","method":"0"}"#);
    until(|| opened.load(Ordering::SeqCst) == 4).await;
    // Refused for good, it is left alone.
    open.nothing(Duration::from_millis(100)).await;
    assert_eq!(opened.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn modern_requests_have_their_headers_and_end_with_their_stream() {
    let left = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&left);
    let server = RawHttp::start(move |request, answer| {
        answer.events(&[("mcp-session-id", "not-for-you")])?;
        if request.json()["method"] == "subscriptions/listen" {
            answer.event(NOTE)?;
            seen.store(answer.is_left_within(PATIENCE), Ordering::SeqCst);
            return answer.cut();
        }
        answer.event(&result(2, "x"))?;
        answer.end()
    })
    .unwrap();
    let mut open = open_at(&server.at("/mcp"));
    open.link.send(modern(request(1, "subscriptions/listen")));
    assert_eq!(open.message().await, (NOTE.to_owned(), Some("1".to_owned()), None));
    let named =
        vec![("Mcp-Name".to_owned(), "echo".to_owned()), ("Mcp-Param-Region".to_owned(), "eu".to_owned())];
    open.link.send(Outbound { headers: named, ..modern(request(2, "tools/call")) });
    assert_eq!(open.message().await.0, result(2, "x"));
    open.link.send(modern(notification("notifications/cancelled", Some(1))));
    until(|| left.load(Ordering::SeqCst)).await;
    open.nothing(Duration::from_millis(50)).await;
    let requests = server.requests();
    // The taking back is no message.
    assert_eq!(requests.len(), 2);
    let header = |name| requests[1].header(name);
    assert_eq!(header("mcp-method"), Some("tools/call"));
    assert_eq!(header("mcp-name"), Some("echo"));
    assert_eq!(header("mcp-param-region"), Some("eu"));
    assert_eq!(header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(header("mcp-session-id"), None);
    assert_eq!(open.link.queued(), 0);
}

#[tokio::test]
async fn a_request_says_itself_that_it_is_modern() {
    let server = RawHttp::start(|_, answer| answer.json(200, &result(1, "x"))).unwrap();
    let mut open = open_at(&server.at("/mcp"));
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    for (method, more) in [("server/discover", ""), ("tools/call", r#","name":"ü""#)] {
        let kind = Kind::Request { id: "1".into(), method: method.to_owned() };
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{meta}{more}}}}}"#);
        open.link.send(Outbound { version: None, ..outbound(body, kind) });
        assert_eq!(open.message().await.2, Some(200));
    }
    let requests = server.requests();
    assert_eq!(requests[0].header("mcp-method"), Some("server/discover"));
    assert_eq!(requests[0].header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(requests[1].header("mcp-name"), Some("=?base64?w7w=?="));
}

#[tokio::test]
async fn a_legacy_request_is_taken_back_by_a_message() {
    let server = legacy(|request, answer| match request.json()["method"].as_str() {
        Some("tools/call") => answer.hang(),
        Some("notifications/cancelled") => answer.whole(202, &[], b""),
        _ => none(request, answer),
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    open.link.send(request(1, "tools/call"));
    open.link.send(notification("notifications/cancelled", Some(1)));
    let cancelled =
        || server.requests().iter().any(|seen| seen.json()["method"] == "notifications/cancelled");
    until(cancelled).await;
    // A server that hangs keeps nobody from leaving.
    timeout(PATIENCE, open.link.close(Duration::from_millis(100))).await.unwrap();
}

#[tokio::test]
async fn large_events_pass_and_too_large_ones_are_refused() {
    let server = legacy(|request, answer| {
        if request.method == "GET" {
            return none(request, answer);
        }
        answer.events(&[])?;
        answer.event(&result(1, &"x".repeat(20 << 20)))?;
        answer.end()
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    open.link.send(request(1, "tools/call"));
    assert_eq!(open.message().await.0.len(), result(1, "").len() + (20 << 20));
    let options = Options { max_message_bytes: 1 << 20, ..Options::default() };
    let mut open = open_with(&ServerSpec::http(server.at("/mcp"), []), &options);
    open.initialize().await;
    open.link.send(request(1, "tools/call"));
    let (_, why) = open.undelivered().await;
    assert_eq!(format!("{why:?}"), "Unreachable(MessageTooLarge { limit: 1048576 })");
}

#[tokio::test]
async fn garbage_in_a_stream_is_passed_on_and_what_is_unknown_too() {
    let server = legacy(|request, answer| {
        if request.method == "GET" {
            return none(request, answer);
        }
        answer.events(&[])?;
        answer.event("not json")?;
        answer.event(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#)?;
        answer.event(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#)?;
        answer.end()
    });
    let mut open = open_at(&server.at("/mcp"));
    open.initialize().await;
    open.link.send(request(1, "tools/call"));
    for expected in ["not json", r#""id":99"#, r#""id":"1""#] {
        assert!(open.message().await.0.contains(expected));
    }
    // A number that came back as a string is the answer.
    open.nothing(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn the_older_transport_is_found_behind_the_same_address() {
    for older in [false, true] {
        let script =
            Script { http: HttpScript { old_sse: true, ..HttpScript::default() }, ..Script::named("old") };
        let server = ScriptedHttp::start(script.tool("echo")).unwrap();
        let mut spec = ServerSpec::http(server.url(), []);
        if older {
            spec.transport = Transport::Sse { url: server.url().into(), headers: Vec::new() };
        }
        let mut open = open_with(&spec, &Options::default());
        open.link.send(request(0, "initialize"));
        assert!(open.message().await.0.contains("serverInfo"));
        open.link.send(notification("notifications/initialized", None));
        open.link.send(request(1, "tools/list"));
        assert!(open.message().await.0.contains("echo"));
        // Here the answer may overtake that of the POST.
        until(|| open.link.queued() == 0).await;
        drop(server);
        assert!(matches!(open.next().await, Event::Ended { reason: Reason::StreamEnded { .. }, .. }));
    }
}
