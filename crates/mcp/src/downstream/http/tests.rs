use super::*;
use crate::relay::port::Id;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

const PATIENCE: Duration = Duration::from_secs(20);

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("in time")
}

/// A session of which the test is the proxy.
struct Scripted {
    input: mpsc::Receiver<FromClient>,
    output: mpsc::UnboundedSender<ToClient>,
    taken: Arc<AtomicUsize>,
}

impl Scripted {
    /// The next message of the client.
    async fn next(&mut self) -> String {
        let message = soon(self.input.recv()).await.expect("a message");
        String::from_utf8(message.bytes.to_vec()).unwrap()
    }

    /// The id that the next request came under.
    async fn id(&mut self) -> Id {
        let message: serde_json::Value = serde_json::from_str(&self.next().await).unwrap();
        message["id"].to_string().into()
    }

    fn say(&self, bytes: &str, about: Option<&Id>, status: Option<u16>, end: bool) {
        let about = about.cloned();
        let message = ToClient { bytes: bytes.to_owned().into(), about, status, end };
        let _ = self.output.send(message);
    }

    fn answer(&self, id: &Id, result: &str) {
        let id_text = String::from_utf8_lossy(id);
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id_text},"result":{result}}}"#), Some(id), None, true);
    }

    async fn is_over(&mut self) {
        assert!(soon(self.input.recv()).await.is_none());
    }
}

struct Out {
    receiver: mpsc::UnboundedReceiver<ToClient>,
    taken: Arc<AtomicUsize>,
}

impl Messages for Out {
    async fn next(&mut self) -> Option<ToClient> {
        self.receiver.recv().await
    }

    fn taken(&self, _: &ToClient) {
        self.taken.fetch_add(1, Ordering::SeqCst);
    }
}

struct Script(mpsc::UnboundedSender<Scripted>);

impl Sessions for Script {
    type Messages = Out;

    fn open(&self) -> (mpsc::Sender<FromClient>, Out) {
        let (sender, input) = mpsc::channel(16);
        let (output, receiver) = mpsc::unbounded_channel();
        let taken = Arc::new(AtomicUsize::new(0));
        let _ = self.0.send(Scripted { input, output, taken: Arc::clone(&taken) });
        (sender, Out { receiver, taken })
    }
}

/// A running server.
struct Served {
    address: SocketAddr,
    sessions: mpsc::UnboundedReceiver<Scripted>,
    over: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

async fn serve_with(change: impl FnOnce(&mut HttpSettings)) -> Served {
    let mut settings = HttpSettings::at(([127, 0, 0, 1], 0).into());
    change(&mut settings);
    let bound = Bound::new(settings).await.unwrap();
    let (opened, sessions) = mpsc::unbounded_channel();
    let (over, is_over) = oneshot::channel();
    let address = bound.address();
    let until = async move { drop(is_over.await) };
    let task = tokio::spawn(async move { bound.serve(Script(opened), until).await });
    Served { address, sessions, over: Some(over), task }
}

async fn serve() -> Served {
    serve_with(|_| ()).await
}

/// What came back: the head, and the body as it comes.
struct Got {
    stream: TcpStream,
    status: u16,
    head: String,
    rest: Vec<u8>,
}

impl Served {
    async fn session(&mut self) -> Scripted {
        soon(self.sessions.recv()).await.expect("a session")
    }

    async fn raw(&self, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream
    }

    fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
        let mut text = format!("{method} /mcp HTTP/1.1\r\n");
        let defaults = [
            ("host", self.address.to_string()),
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("content-length", body.len().to_string()),
        ];
        for (name, value) in defaults {
            if !headers.iter().any(|(own, _)| *own == name) {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(body);
        text.into_bytes()
    }

    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let stream = self.raw(&self.request(method, headers, body)).await;
        head(stream).await
    }

    async fn post(&self, headers: &[(&str, &str)], body: &str) -> Got {
        self.send("POST", headers, body).await
    }

    async fn status(&self, method: &str, headers: &[(&str, &str)], body: &str) -> u16 {
        self.send(method, headers, body).await.status
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;

async fn head(mut stream: TcpStream) -> Got {
    let mut bytes = Vec::new();
    let at = loop {
        if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break at;
        }
        if soon(stream.read_buf(&mut bytes)).await.unwrap() == 0 {
            panic!("no head: {}", String::from_utf8_lossy(&bytes));
        }
    };
    let rest = bytes.split_off(at + 4);
    let head = String::from_utf8(bytes).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Got { stream, status, head, rest }
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim())
    }

    /// Reads until this is there.
    async fn until(&mut self, text: &str) {
        while memchr::memmem::find(&self.rest, text.as_bytes()).is_none() {
            let read = soon(self.stream.read_buf(&mut self.rest)).await.unwrap();
            assert!(read > 0, "no {text} in {}", String::from_utf8_lossy(&self.rest));
        }
    }

    /// The whole body, chunks put together.
    async fn body(&mut self) -> String {
        if let Some(length) = self.header("content-length") {
            let length: usize = length.parse().unwrap();
            while self.rest.len() < length {
                assert!(soon(self.stream.read_buf(&mut self.rest)).await.unwrap() > 0);
            }
            return String::from_utf8(self.rest[..length].to_vec()).unwrap();
        }
        self.until("\r\n0\r\n\r\n").await;
        let text = String::from_utf8(self.rest.clone()).unwrap();
        let mut rest = text.as_str();
        let mut body = String::new();
        while let Some((length, tail)) = rest.split_once("\r\n") {
            let length = usize::from_str_radix(length, 16).unwrap();
            body.push_str(&tail[..length]);
            rest = tail[length..].trim_start_matches("\r\n");
        }
        body
    }

    async fn error(&mut self) -> (u16, i64, serde_json::Value) {
        let body: serde_json::Value = serde_json::from_str(&self.body().await).unwrap();
        (self.status, body["error"]["code"].as_i64().unwrap(), body["id"].clone())
    }
}

/// Opens a session of the legacy era; its name.
async fn initialize(served: &mut Served) -> (String, Scripted) {
    let stream = served.raw(&served.request("POST", &[], INITIALIZE)).await;
    let mut scripted = served.session().await;
    assert_eq!(scripted.next().await, INITIALIZE);
    scripted.answer(&"0".into(), "{}");
    let mut got = head(stream).await;
    assert_eq!((got.status, got.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(
        got.body().await,
        "event: message\nid: 1-0\ndata: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n\n"
    );
    let name = got.header("mcp-session-id").unwrap().to_owned();
    assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (name, scripted)
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo"}}}}"#)
}

#[tokio::test]
async fn a_legacy_session_from_its_beginning_to_its_end() {
    let mut served = serve().await;
    let (name, mut scripted) = initialize(&mut served).await;
    let named = [("mcp-session-id", &*name), ("mcp-protocol-version", "2025-11-25")];
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(served.status("POST", &named, initialized).await, 202);
    assert_eq!(scripted.next().await, initialized);

    // What waits for a stream that is not there yet, and what comes later.
    scripted.say("{\"waited\":1}", None, None, false);
    let mut alone = served.send("GET", &named, "").await;
    assert_eq!((alone.status, alone.header("mcp-session-id")), (200, Some(&*name)));
    alone.until("data: {\"waited\":1}\n\n").await;
    scripted.say("{\n \"spaced\":1}", None, None, false);
    alone.until("id: 0-1\ndata: {\ndata:  \"spaced\":1}\n\n").await;
    assert_eq!(served.status("GET", &named, "").await, 409);

    // Two requests under one id as text and as number; progress goes where it belongs.
    let (one, two) = (
        served.raw(&served.request("POST", &named, &call("7"))).await,
        served.raw(&served.request("POST", &named, &call("\"7\""))).await,
    );
    let mut ids = [scripted.id().await, scripted.id().await];
    ids.sort();
    let [text, number] = ids;
    scripted.say("{\"progress\":1}", Some(&number), None, false);
    scripted.answer(&text, "\"text\"");
    scripted.answer(&number, "\"number\"");
    let (mut one, mut two) = (head(one).await, head(two).await);
    let body = one.body().await;
    assert!(body.contains("progress") && body.contains("\"number\""), "{body}");
    let body = two.body().await;
    assert!(!body.contains("progress") && body.contains("\"text\""), "{body}");

    // A status that the server gave.
    let stream = served.raw(&served.request("POST", &named, &call("8"))).await;
    let id = scripted.id().await;
    scripted.say(r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}"#, Some(&id), Some(418), true);
    let mut got = head(stream).await;
    assert_eq!((got.status, got.header("content-type")), (418, Some("application/json")));
    assert_eq!(got.error().await, (418, 1, 8.into()));

    assert_eq!(served.status("DELETE", &named, "").await, 200);
    scripted.is_over().await;
    assert_eq!(served.status("DELETE", &named, "").await, 404);
    assert_eq!(served.post(&named, &call("9")).await.error().await.1, -32001);
    alone.until("\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn what_is_no_request_of_the_transport_is_refused() {
    let served = serve_with(|settings| settings.max_body = 1_000).await;
    let call = call("1");
    for (status, headers, body) in [
        (406, [("accept", "application/json")], &*call),
        (406, [("accept", "")], &*call),
        (415, [("content-type", "text/plain")], &*call),
        (415, [("content-type", "")], &*call),
        (400, [("x", "no session")], &*call),
        (404, [("mcp-session-id", "none")], &*call),
        (404, [("mcp-session-id", "\u{e9}")], &*call),
        (403, [("host", "evil.example")], &*call),
        (403, [("origin", "http://evil.example")], &*call),
        (400, [("x", "broken")], "{"),
        (400, [("x", "no message")], "{}"),
        (400, [("x", "no message")], "[]"),
        (400, [("x", "no message")], "[{}]"),
        (400, [("x", "empty")], ""),
        (413, [("x", "long")], &*"x".repeat(1_001)),
    ] {
        let mut got = served.post(&headers, body).await;
        assert_eq!(got.status, status, "{headers:?} {body:.20}");
        assert!(got.error().await.1 < 0);
    }
    // Long without saying so.
    let mut long = served.request("POST", &[("content-length", ""), ("transfer-encoding", "chunked")], "");
    long.extend(format!("800\r\n{}\r\n0\r\n\r\n", "x".repeat(0x800)).bytes());
    assert_eq!(head(served.raw(&long).await).await.status, 413);
    assert_eq!(served.status("GET", &[("accept", "application/json")], "").await, 406);
    assert_eq!(served.status("GET", &[], "").await, 400);
    let mut put = served.send("PUT", &[], "").await;
    assert_eq!((put.error().await.0, put.header("allow")), (405, Some("get, post, delete")));
    let elsewhere = String::from_utf8(served.request("POST", &[], &call)).unwrap().replace("/mcp", "/other");
    assert_eq!(head(served.raw(elsewhere.as_bytes()).await).await.status, 404);
    let batch = format!("[{INITIALIZE},{call}]");
    assert_eq!(served.status("POST", &[], &batch).await, 400);
}

#[tokio::test]
async fn versions_are_checked() {
    let mut served = serve().await;
    let (name, mut scripted) = initialize(&mut served).await;
    for (version, status) in
        [("2025-06-18", 202), ("2024-11-05", 202), ("1999-01-01", 400), ("2026-07-28", 400)]
    {
        let headers = [("mcp-session-id", &*name), ("mcp-protocol-version", version)];
        let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(served.status("POST", &headers, response).await, status, "{version}");
        if status == 202 {
            assert_eq!(scripted.next().await, response);
        }
    }
}

#[tokio::test]
async fn a_stream_is_taken_up_where_it_was_left() {
    let mut served = serve_with(|_| ()).await;
    let newest = INITIALIZE.replace("{}", r#"{"protocolVersion":"2025-11-25"}"#);
    let stream = served.raw(&served.request("POST", &[], &newest)).await;
    let mut scripted = served.session().await;
    let id = scripted.id().await;
    scripted.answer(&id, "{}");
    let mut got = head(stream).await;
    assert!(got.body().await.starts_with("id: 1-0\nretry: 1000\ndata: \n\nevent: message\nid: 1-1\n"));
    let name = got.header("mcp-session-id").unwrap().to_owned();
    let stream = served.raw(&served.request("POST", &[("mcp-session-id", &name)], &call("5"))).await;
    let id = scripted.id().await;
    scripted.say("{\"n\":1}", Some(&id), None, false);
    scripted.say("{\"n\":2}", Some(&id), None, false);
    let mut got = head(stream).await;
    got.until("{\"n\":2}").await;
    // The client loses the connection; that takes nothing back.
    drop(got);
    tokio::time::sleep(Duration::from_millis(50)).await;
    scripted.say("{\"n\":3}", Some(&id), None, false);
    let from = |last| [("mcp-session-id", &*name), ("last-event-id", last)];
    let mut again = served.send("GET", &from("2-1"), "").await;
    again.until("{\"n\":3}").await;
    scripted.answer(&id, "4");
    let body = again.body().await;
    assert!(
        !body.contains("{\"n\":1}") && body.contains("{\"n\":2}") && body.contains("\"result\":4"),
        "{body}"
    );
    // All of it once more, now that it is over.
    let body = served.send("GET", &from("2-0"), "").await.body().await;
    assert!(body.contains("{\"n\":1}") && body.contains("\"result\":4"), "{body}");
    assert_eq!(served.status("GET", &from("9-9"), "").await, 400);
    assert!(scripted.input.try_recv().is_err());
}

#[tokio::test]
async fn sessions_end_when_nobody_uses_them_and_are_bounded() {
    let mut served = serve_with(|settings| settings.max_sessions = 2).await;
    let (first, mut gone) = initialize(&mut served).await;
    let (second, _kept) = initialize(&mut served).await;
    // A request of the second one, so that the first is the one that was idle for longest.
    let _stream = served.raw(&served.request("GET", &[("mcp-session-id", &second)], "")).await;
    let (third, mut third_session) = initialize(&mut served).await;
    gone.is_over().await;
    assert_eq!(served.status("GET", &[("mcp-session-id", &first)], "").await, 404);
    let _busy = served.raw(&served.request("POST", &[("mcp-session-id", &third)], &call("1"))).await;
    third_session.id().await;
    let mut full = served.post(&[], INITIALIZE).await;
    assert_eq!(full.error().await.0, 503);

    let mut served = serve_with(|settings| settings.idle = Duration::from_millis(200)).await;
    let (_, mut scripted) = initialize(&mut served).await;
    scripted.is_over().await;
    served.over.take().unwrap().send(()).unwrap();
    soon(&mut served.task).await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_taken_back_holds_nothing() {
    let mut served = serve_with(|settings| settings.max_sessions = 2).await;
    let (name, mut scripted) = initialize(&mut served).await;
    let named = [("mcp-session-id", &*name)];
    let waiting = served.raw(&served.request("POST", &named, &call("9"))).await;
    scripted.next().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    assert_eq!(served.status("POST", &named, cancel).await, 202);
    assert_eq!(scripted.next().await, cancel);
    let mut ended = head(waiting).await;
    ended.until("0\r\n\r\n").await;
    assert_eq!((ended.status, &*ended.rest), (200, b"0\r\n\r\n".as_slice()));
    // Its id is free, and what comes late for it is nobody's.
    scripted.say("{\"late\":1}", Some(&"9".into()), None, true);
    let again = served.raw(&served.request("POST", &named, &call("9"))).await;
    scripted.next().await;
    scripted.answer(&"9".into(), "\"second\"");
    assert!(head(again).await.body().await.contains("second"));
    // A batch may take back its own.
    let body = format!("[{},{}]", call("9"), cancel);
    let mut own = served.post(&named, &body).await;
    own.until("0\r\n\r\n").await;
    assert_eq!((own.status, &*own.rest), (200, b"0\r\n\r\n".as_slice()));

    // Whoever leaves while he waits makes room for others, after those who wait for nothing.
    let left = served.raw(&served.request("POST", &named, &call("10"))).await;
    scripted.next().await;
    scripted.next().await;
    drop(left);
    let (second, mut other) = initialize(&mut served).await;
    let third = served.raw(&served.request("POST", &[], INITIALIZE)).await;
    let _third = served.session().await;
    other.is_over().await;
    assert_eq!(served.status("POST", &[("mcp-session-id", &*second)], &call("1")).await, 404);
    drop(third);
}

#[tokio::test]
async fn a_session_whose_client_left_while_it_waited_is_idle() {
    let mut served = serve_with(|settings| settings.idle = Duration::from_millis(200)).await;
    let (name, mut scripted) = initialize(&mut served).await;
    let left = served.raw(&served.request("POST", &[("mcp-session-id", &*name)], &call("1"))).await;
    scripted.next().await;
    drop(left);
    scripted.is_over().await;
}

#[tokio::test]
async fn what_could_never_be_answered_is_refused_at_once() {
    let mut served = serve().await;
    let (name, _scripted) = initialize(&mut served).await;
    let named = [("mcp-session-id", &*name)];
    for twice in [("5", "5"), ("5", "5.0"), ("\"a\"", "\"\\u0061\"")] {
        let body = format!("[{},{}]", call(twice.0), call(twice.1));
        assert_eq!(served.post(&named, &body).await.error().await, (400, -32600, serde_json::Value::Null));
    }
    let nameless = r#"{"jsonrpc":"2.0","method":"initialize"}"#;
    for body in [nameless.to_owned(), format!("[{nameless}]")] {
        assert_eq!(served.post(&[], &body).await.error().await, (400, -32600, serde_json::Value::Null));
    }
    assert!(served.sessions.try_recv().is_err());
}

#[tokio::test]
async fn an_initialize_that_fails_leaves_no_session() {
    let mut served = serve().await;
    let stream = served.raw(&served.request("POST", &[], INITIALIZE)).await;
    let mut scripted = served.session().await;
    let id = scripted.id().await;
    scripted.say(
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}"#,
        Some(&id),
        Some(400),
        true,
    );
    let mut got = head(stream).await;
    assert_eq!(got.error().await, (400, -32602, 0.into()));
    assert_eq!(got.header("mcp-session-id"), None);
    scripted.is_over().await;
    // Nor does one whose client leaves.
    let stream = served.raw(&served.request("POST", &[], INITIALIZE)).await;
    let mut scripted = served.session().await;
    scripted.id().await;
    drop(stream);
    scripted.is_over().await;
}

#[tokio::test]
async fn only_who_has_the_token_is_served_elsewhere() {
    let anywhere = HttpSettings::at(([0, 0, 0, 0], 0).into());
    let error = Bound::new(anywhere.clone()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "0.0.0.0:0 can be reached from other machines, and there is no token: set DEADWEIGHT_TOKEN or --token, or listen on 127.0.0.1"
    );
    let empty = HttpSettings { token: Some("".into()), ..anywhere };
    assert!(matches!(Bound::new(empty).await, Err(HttpError::TokenNeeded { .. })));
    let served = serve_with(|settings| settings.token = Some(Text::secret("hunter22"))).await;
    let mut got = served.post(&[], INITIALIZE).await;
    assert_eq!(
        (got.error().await.0, got.header("www-authenticate")),
        (401, Some("bearer realm=\"deadweight\""))
    );
    assert_eq!(served.status("POST", &[("authorization", "Bearer hunter2")], INITIALIZE).await, 401);
    let taken = HttpSettings::at(served.address);
    assert!(matches!(Bound::new(taken).await, Err(HttpError::Bind { .. })));
}

#[tokio::test]
async fn slow_and_broken_clients_hold_nobody_up() {
    let mut served = serve_with(|settings| settings.max_connections = 64).await;
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(served.raw(b"POST /mcp HTTP/1.1\r\nhost: loc").await);
    }
    for garbage in
        [&b"\x16\x03\x01\x02"[..], b"GET\r\n\r\n", b"POST /mcp HTTP/1.1\r\ncontent-length: x\r\n\r\n"]
    {
        let mut stream = served.raw(garbage).await;
        let _ = stream.shutdown().await;
    }
    let long = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(2 * HEAD_BYTES));
    assert_eq!(head(served.raw(long.as_bytes()).await).await.status, 431);
    let (name, mut scripted) = initialize(&mut served).await;
    let body = served.request("POST", &[("content-length", "100")], "x");
    let halting = served.raw(&body).await;
    // Who does not read is waited for, and its session's other streams go on.
    let lazy = served.raw(&served.request("POST", &[("mcp-session-id", &name)], &call("1"))).await;
    let id = scripted.id().await;
    for _ in 0..8 {
        scripted.say(&format!("\"{}\"", "x".repeat(1 << 20)), Some(&id), None, false);
    }
    let busy = served.raw(&served.request("POST", &[("mcp-session-id", &name)], &call("2"))).await;
    let other = scripted.id().await;
    scripted.answer(&other, "{}");
    assert!(head(busy).await.body().await.contains("result"));
    // Told by their silence, the slow ones are sent away.
    let mut read = Vec::new();
    soon(slow[0].read_to_end(&mut read)).await.unwrap();
    assert_eq!(head(halting).await.status, 408);
    drop(lazy);
}

#[tokio::test]
async fn who_only_waits_makes_room_for_who_asks() {
    let mut served = serve_with(|settings| settings.max_connections = 8).await;
    let (name, mut scripted) = initialize(&mut served).await;
    let named = [("mcp-session-id", &*name)];
    let mut answered = head(served.raw(&served.request("GET", &named, "")).await).await;
    let body = served.request("POST", &[("content-length", "100")], "x");
    let done = served.request("OPTIONS", &[], "");
    for waiting in [&b"POST /mcp HTTP/1.1\r\nhost: loc"[..], &body, &done, b""] {
        let mut all = Vec::new();
        for _ in 0..20 {
            all.push(served.raw(waiting).await);
        }
        let asked = served.raw(&served.request("POST", &named, &call("1"))).await;
        scripted.next().await;
        scripted.answer(&"1".into(), "{}");
        assert!(head(asked).await.body().await.contains("result"));
    }
    // Who is being answered all the while has lost nothing.
    scripted.say("{\"told\":1}", None, None, false);
    answered.until("data: {\"told\":1}").await;
}

#[tokio::test]
async fn a_client_that_never_reads_stops_its_session_and_not_the_memory() {
    let mut served = serve().await;
    let (name, mut scripted) = initialize(&mut served).await;
    let _lazy = served.raw(&served.request("POST", &[("mcp-session-id", &name)], &call("1"))).await;
    let id = scripted.id().await;
    for _ in 0..100 {
        scripted.say(&format!("\"{}\"", "x".repeat(1 << 20)), Some(&id), None, false);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let taken = scripted.taken.load(Ordering::SeqCst);
    assert!((30..60).contains(&taken), "{taken}");
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

fn modern(id: &str, method: &str, more: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{META}{more}}}}}"#)
}

fn version<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&[("mcp-protocol-version", "2026-07-28")], more].concat()
}

#[tokio::test]
async fn modern_clients_of_one_kind_share_a_session_and_keep_their_ids() {
    let mut served = serve().await;
    let headers = version(&[("mcp-method", "tools/call"), ("mcp-name", "echo"), ("mcp-param-region", "eu")]);
    let request = modern("1", "tools/call", r#","name":"echo""#);
    let one = served.raw(&served.request("POST", &headers, &request)).await;
    let mut scripted = served.session().await;
    let first = soon(scripted.input.recv()).await.unwrap();
    assert_eq!(first.headers, [("mcp-param-region".to_owned(), "eu".to_owned())]);
    let other = served.raw(&served.request("POST", &headers, &request)).await;
    let first: serde_json::Value = serde_json::from_slice(&first.bytes).unwrap();
    let first: Id = first["id"].to_string().into();
    let second = scripted.id().await;
    assert_ne!(first, second);
    scripted.say(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
        Some(&second),
        None,
        false,
    );
    scripted.answer(&second, "\"second\"");
    scripted.answer(&first, "\"first\"");
    let mut one = head(one).await;
    assert_eq!((one.status, one.header("content-type")), (200, Some("application/json")));
    assert_eq!(one.body().await, r#"{"jsonrpc":"2.0","id":1,"result":"first"}"#);
    let mut other = head(other).await;
    assert_eq!(other.header("content-type"), Some("text/event-stream"));
    let body = other.body().await;
    assert!(body.contains("progress") && body.contains(r#""id":1,"result":"second""#), "{body}");
    assert_eq!(other.header("mcp-session-id"), None);
    // Others have one of their own.
    let stranger = request.replace(r#""name":"c""#, r#""name":"d""#);
    let _stream = served.raw(&served.request("POST", &headers, &stranger)).await;
    served.session().await.id().await;
}

#[tokio::test]
async fn to_leave_is_to_take_back() {
    let mut served = serve().await;
    let headers = version(&[("mcp-method", "subscriptions/listen")]);
    let listen = modern("\"l\"", "subscriptions/listen", "");
    // Before the answer begins, and after.
    for begun in [false, true] {
        let stream = served.raw(&served.request("POST", &headers, &listen)).await;
        let mut scripted = match served.sessions.try_recv() {
            Ok(scripted) => scripted,
            Err(_) => served.session().await,
        };
        let id = scripted.id().await;
        let number = String::from_utf8_lossy(&id).into_owned();
        let note = format!(
            r#"{{"jsonrpc":"2.0","method":"n","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{number}}}}}}}"#
        );
        if begun {
            scripted.say(&note, Some(&id), None, false);
            let mut got = head(stream).await;
            got.until(r#"subscriptionId":"l""#).await;
        } else {
            drop(stream);
        }
        let cancelled: serde_json::Value = serde_json::from_str(&scripted.next().await).unwrap();
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"].to_string(), number);
        // What comes too late goes nowhere.
        scripted.answer(&id, "{}");
        // A session that ends takes its place with it.
        drop(scripted);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn modern_headers_repeat_the_body() {
    let mut served = serve().await;
    let call = modern("5", "tools/call", r#","name":"echo ü""#);
    let coded = "=?base64?ZWNobyDDvA==?=";
    let refused = [
        (-32020, vec![("mcp-method", "tools/call"), ("mcp-name", coded)]),
        (-32020, version(&[("mcp-name", coded)])),
        (-32020, version(&[("mcp-method", "Tools/Call"), ("mcp-name", coded)])),
        (-32020, version(&[("mcp-method", "tools/call")])),
        (-32020, version(&[("mcp-method", "tools/call"), ("mcp-name", "other")])),
        (-32020, version(&[("mcp-method", "tools/call"), ("mcp-name", "=?base64?%?=")])),
        (
            -32020,
            vec![("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/call"), ("mcp-name", coded)],
        ),
    ];
    for (code, headers) in refused {
        assert_eq!(served.post(&headers, &call).await.error().await, (400, code, 5.into()), "{headers:?}");
    }
    let headers = version(&[("mcp-method", "tools/list")]);
    let plain = r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#;
    assert_eq!(served.post(&headers, plain).await.error().await, (400, -32602, 6.into()));
    let no_capabilities = modern("6", "tools/list", "").replace("clientCapabilities", "other");
    assert_eq!(served.post(&headers, &no_capabilities).await.error().await, (400, -32602, 6.into()));
    let future = modern("6", "tools/list", "").replace("2026-07-28", "2030-01-01");
    let headers = [("mcp-protocol-version", "2030-01-01"), ("mcp-method", "tools/list")];
    let mut got = served.post(&headers, &future).await;
    assert!(got.body().await.contains(r#""data":{"supported":["2026-07-28"],"requested":"2030-01-01"}"#));
    assert_eq!(got.error().await, (400, -32022, 6.into()));
    assert_eq!(served.post(&version(&[]), INITIALIZE).await.error().await, (400, -32020, 0.into()));
    let batch = format!("[{}]", modern("1", "tools/list", ""));
    assert_eq!(served.post(&version(&[]), &batch).await.error().await.1, -32600);
    // And what is right is let through; spaces do not matter. Errors have a status of their own.
    let headers = version(&[("mcp-method", " tools/call "), ("mcp-name", coded)]);
    let stream = served.raw(&served.request("POST", &headers, &call)).await;
    let mut scripted = served.session().await;
    let id = scripted.id().await;
    scripted.say(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#, Some(&id), None, true);
    assert_eq!(head(stream).await.error().await, (404, -32601, 5.into()));
}
