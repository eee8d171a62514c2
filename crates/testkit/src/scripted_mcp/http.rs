//! A script played over HTTP, in the test's own process.

use super::play::{MODERN, Out, Player, error};
use super::script::{Era, HttpScript, Script};
use crate::upstream::Recorded;
use crate::upstream::http::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a reply of the client is waited for; a bound, not a measure.
const PATIENCE: Duration = Duration::from_secs(30);

/// An MCP server over HTTP on a free port of 127.0.0.1, until it is dropped. Its endpoint is `/mcp`.
#[derive(Debug)]
pub struct ScriptedHttp {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    player: Player,
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    recorded: Vec<Recorded>,
    connections: Vec<TcpStream>,
    /// Requests that each session has seen.
    sessions: BTreeMap<String, usize>,
    sessions_made: usize,
    /// Replies of the client, by the id of the server's request.
    replies: BTreeMap<String, Value>,
    /// The open stream of the older transport.
    stream: Option<TcpStream>,
    /// The answer that a stream ended without.
    held_back: Option<Vec<u8>>,
}

impl ScriptedHttp {
    /// Listens.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            player: Player::new(script),
            state: Mutex::default(),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if accepting.stopping.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&accepting);
                if let Ok(handle) = connection.try_clone() {
                    shared.lock().connections.push(handle);
                }
                // The client may leave at any point.
                thread::spawn(move || drop(shared.serve(connection)));
            }
        });
        Ok(Self { address, shared })
    }

    /// The endpoint.
    pub fn url(&self) -> String {
        self.at("/mcp")
    }

    /// Another path of the server.
    pub fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().recorded.clone()
    }
}

impl Drop for ScriptedHttp {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        for connection in self.shared.lock().connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// What a request is answered with.
enum Reply {
    Whole {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// An event stream that the request's own messages go to.
    Events {
        session: Option<String>,
    },
    /// The stream of the older transport.
    OldStream,
}

fn whole(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Reply {
    let headers = vec![("content-type", content_type.to_owned())];
    Reply::Whole { status, headers, body: body.into() }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    const fn http(&self) -> &HttpScript {
        &self.player.script.http
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut writer = stream.try_clone()?;
        let mut connection = Connection::new(stream)?;
        while let Some(request) = connection.read()? {
            self.lock().recorded.push(request.clone());
            let message = request.json();
            match self.decide(&request, &message) {
                Reply::Whole { status, headers, body } => {
                    let mut head =
                        format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
                    for (name, value) in headers {
                        head.push_str(&format!("{name}: {value}\r\n"));
                    }
                    head.push_str("\r\n");
                    writer.write_all(head.as_bytes())?;
                    writer.write_all(&body)?;
                }
                Reply::Events { session } => {
                    start_events(&mut writer, session.as_deref())?;
                    self.stream_answer(&message, &mut writer)?;
                    writer.write_all(b"0\r\n\r\n")?;
                }
                Reply::OldStream => {
                    start_events(&mut writer, None)?;
                    let endpoint = self.http().endpoint.as_deref().unwrap_or("/messages?id=1");
                    let event = format!("event: endpoint\r\ndata: {endpoint}\r\n\r\n");
                    chunk(&mut writer, event.as_bytes())?;
                    self.lock().stream = Some(writer.try_clone()?);
                    // It stays open; the client sends nothing more on this connection.
                }
            }
        }
        Ok(())
    }

    fn decide(&self, request: &Recorded, message: &Value) -> Reply {
        let http = self.http();
        let method = message["method"].as_str().unwrap_or_default();
        let path = request.path.split('?').next().unwrap_or_default();
        if path == "/"
            && let Some((status, to)) = &http.redirect
        {
            return Reply::Whole {
                status: *status,
                headers: vec![("location", to.clone())],
                body: Vec::new(),
            };
        }
        if let Some(challenge) = &http.auth
            && request.header("authorization") != Some("Bearer good")
        {
            return Reply::Whole {
                status: 401,
                headers: vec![("www-authenticate", challenge.clone())],
                body: Vec::new(),
            };
        }
        let point = if request.method == "POST" { method } else { request.method.as_str() };
        if let Some(fixed) = http.fixed.get(point)
            && (http.fixed_path.is_empty() || http.fixed_path == path)
        {
            return whole(fixed.status, &fixed.content_type, fixed.body.as_bytes());
        }
        match (request.method.as_str(), path) {
            ("GET", "/mcp") if http.old_sse => Reply::OldStream,
            ("POST", "/messages") if http.old_sse => self.old_message(message),
            ("GET", "/mcp") if http.resume && request.header("last-event-id").is_some() => {
                let held_back = self.lock().held_back.take().unwrap_or_default();
                whole(200, "text/event-stream", event(&held_back, None))
            }
            ("POST", "/mcp") if !http.old_sse => self.message(request, message),
            ("DELETE", "/mcp") if http.session => {
                let session = request.header("mcp-session-id").unwrap_or_default();
                let known = self.lock().sessions.remove(session).is_some();
                whole(if known { 200 } else { 404 }, "text/plain", "")
            }
            ("GET" | "DELETE" | "POST", "/mcp") => whole(405, "text/plain", "Method Not Allowed"),
            _ => whole(404, "text/html", "<html>Not Found</html>"),
        }
    }

    /// A POST to the endpoint of streamable HTTP.
    fn message(&self, request: &Recorded, message: &Value) -> Reply {
        let method = message["method"].as_str().unwrap_or_default();
        let id = message["id"].to_string();
        let accept = request.header("accept").unwrap_or_default();
        if !accept.contains("application/json") || !accept.contains("text/event-stream") {
            return whole(406, "text/plain", "Not Acceptable");
        }
        let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let is_modern = version.is_string();
        let headers_fit = request.header("mcp-protocol-version") == version.as_str()
            && request.header("mcp-method") == Some(method);
        if (is_modern || self.player.script.era == Era::Modern) && !headers_fit {
            return whole(400, "application/json", error(&id, -32020, "HeaderMismatch"));
        }
        let mut session = None;
        if self.http().session && !is_modern {
            let mut state = self.lock();
            if method == "initialize" {
                state.sessions_made += 1;
                let name = format!("session-{}", state.sessions_made);
                state.sessions.insert(name.clone(), 0);
                session = Some(name);
            } else {
                let Some(name) = request.header("mcp-session-id") else {
                    return whole(400, "text/plain", "Mcp-Session-Id is missing");
                };
                let number = name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(1usize);
                let life = self.http().session_lives.get(number - 1).copied().unwrap_or(usize::MAX);
                match state.sessions.get_mut(name) {
                    Some(seen) if *seen < life => *seen += 1,
                    _ => return whole(404, "text/plain", "Session not found"),
                }
                if request.header("mcp-protocol-version").is_none() {
                    return whole(400, "text/plain", "MCP-Protocol-Version is missing");
                }
            }
        }
        if message["method"].is_null() {
            let id = message["id"].as_str().unwrap_or_default().to_owned();
            self.lock().replies.insert(id, message.clone());
            self.changed.notify_all();
            return whole(202, "text/plain", "");
        }
        if message["id"].is_null() {
            let _ = self.player.handle(message, &mut Whole::default());
            return whole(202, "text/plain", "");
        }
        if self.http().events {
            return Reply::Events { session };
        }
        let mut out = Whole::default();
        let _ = self.player.handle(message, &mut out);
        let answer: Value = serde_json::from_slice(&out.0).unwrap_or_default();
        // The modern era gives errors of the protocol a status of their own.
        let status = match answer["error"]["code"].as_i64() {
            Some(-32601) if is_modern || self.player.script.era == Era::Modern => 404,
            Some(_) if is_modern || self.player.script.era == Era::Modern => 400,
            _ => 200,
        };
        let content_type = self.http().content_type.as_deref().unwrap_or("application/json");
        let mut headers = vec![("content-type", content_type.to_owned())];
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        Reply::Whole { status, headers, body: out.0 }
    }

    /// Answers on the request's own event stream.
    fn stream_answer(&self, message: &Value, writer: &mut TcpStream) -> io::Result<()> {
        let http = self.http();
        let mut out = Stream { shared: self, writer: writer.try_clone()?, dribble: http.dribble, held: None };
        if (http.resume || http.cut) && message["method"] == "tools/list" {
            let mut answer = Whole::default();
            self.player.handle(message, &mut answer)?;
            self.lock().held_back = Some(answer.0);
            let id = http.resume.then_some("first");
            return out.send(&event(br#"{"jsonrpc":"2.0","method":"notifications/progress"}"#, id));
        }
        self.player.handle(message, &mut out)
    }

    /// A POST of the older transport: accepted at once, answered on the stream.
    fn old_message(&self, message: &Value) -> Reply {
        if message["method"].is_null() {
            let id = message["id"].as_str().unwrap_or_default().to_owned();
            self.lock().replies.insert(id, message.clone());
            self.changed.notify_all();
        } else {
            let stream = self.lock().stream.as_ref().map(TcpStream::try_clone);
            if let Some(Ok(writer)) = stream {
                let mut out = Stream { shared: self, writer, dribble: self.http().dribble, held: None };
                let _ = self.player.handle(message, &mut out);
            }
        }
        whole(202, "text/plain", "Accepted")
    }
}

fn start_events(writer: &mut TcpStream, session: Option<&str>) -> io::Result<()> {
    let session = session.map(|session| format!("mcp-session-id: {session}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n{session}transfer-encoding: chunked\r\n\r\n"
    );
    writer.write_all(head.as_bytes())?;
    chunk(writer, b": welcome\n\n")
}

fn chunk(writer: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend(bytes);
    chunk.extend(b"\r\n");
    writer.write_all(&chunk)
}

/// A message as an event. Data with line breaks becomes several `data` fields.
fn event(data: &[u8], id: Option<&str>) -> Vec<u8> {
    let mut event = b"event: message\n".to_vec();
    if let Some(id) = id {
        event.extend(format!("id: {id}\n").into_bytes());
    }
    for line in data.split(|byte| *byte == b'\n') {
        event.extend(b"data: ");
        event.extend(line);
        event.push(b'\n');
    }
    event.push(b'\n');
    event
}

/// Collects the one message that a JSON answer can hold: the last.
#[derive(Default)]
struct Whole(Vec<u8>);

impl Out for Whole {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.0 = line.to_vec();
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line(bytes)
    }

    fn reply(&mut self, _: &str) -> io::Result<Value> {
        Err(io::Error::other("a JSON answer cannot ask"))
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends every message as an event.
struct Stream<'s> {
    shared: &'s Shared,
    writer: TcpStream,
    dribble: usize,
    held: Option<Vec<u8>>,
}

impl Stream<'_> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut bytes = [self.held.take().unwrap_or_default(), bytes.to_vec()].concat();
        if self.dribble == 0 {
            return chunk(&mut self.writer, &bytes);
        }
        while !bytes.is_empty() {
            let rest = bytes.split_off(self.dribble.min(bytes.len()));
            chunk(&mut self.writer, &bytes)?;
            bytes = rest;
        }
        Ok(())
    }
}

impl Out for Stream<'_> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.send(&event(line, None))
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.held = Some(bytes.to_vec());
        Ok(())
    }

    fn reply(&mut self, id: &str) -> io::Result<Value> {
        let state = self.shared.lock();
        let (mut state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, PATIENCE, |state| !state.replies.contains_key(id))
            .unwrap_or_else(PoisonError::into_inner);
        state.replies.remove(id).ok_or_else(|| io::Error::other("the client replies nothing"))
    }

    fn close(&mut self) -> io::Result<()> {
        self.writer.shutdown(Shutdown::Both)
    }
}

/// The version that the modern era's headers carry, for tests that look at them.
pub const MODERN_VERSION: &str = MODERN;
