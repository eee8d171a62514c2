//! A gateway on loopback, and a client that sees what is on the line.

use deadweight_gateway::Provider;
use deadweight_gateway::clock::{self, Clock};
use deadweight_gateway::edit::{Editing, NoOriginals, Originals, Settings, Setup};
use deadweight_gateway::exchange::{Begun, Ended, Event, Events, channel};
use deadweight_gateway::relay::{Config, Editor, Gateway, Handle, Note, OnNote, Own, Parts, Target};
use deadweight_levers::Policy;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long anything may take that is expected to happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// What a gateway can be given.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) own: Option<Arc<dyn Own>>,
    /// Whether levers are at work.
    pub(crate) edits: bool,
    /// What they are told; the default profile where nobody says otherwise.
    pub(crate) policy: Policy,
    /// Keeps what they cut.
    pub(crate) originals: Option<Arc<dyn Originals>>,
    /// What time it is for them and the relay.
    pub(crate) clock: Option<Clock>,
    pub(crate) tls: Option<rustls::ClientConfig>,
    pub(crate) drain: Option<Duration>,
}

/// A gateway, until it is dropped.
pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) events: Events,
    pub(crate) handle: Handle,
    pub(crate) notes: Arc<Mutex<Vec<Note>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Gate {
    /// All of the providers that have an address of their own are this one.
    pub(crate) fn to(upstream: &str) -> Self {
        Self::start(upstream, |_| {})
    }

    pub(crate) fn start(upstream: &str, change: impl FnOnce(&mut Config)) -> Self {
        Self::with(upstream, Given::default(), change)
    }

    pub(crate) fn with(upstream: &str, given: Given, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(([127, 0, 0, 1], 0).into());
        for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Gemini] {
            config.set_upstream(provider, Target::parse(upstream).unwrap());
        }
        change(&mut config);
        let (sink, events) = channel(1 << 30);
        let notes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&notes);
        let on_note = Arc::new(move |note| kept.lock().unwrap().push(note));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let editor = given.edits.then(|| {
            let setup = Setup {
                settings: Settings::of(given.policy),
                journal: Some(folder.path().join("decisions.sqlite")),
                ledger: None,
                book: Arc::default(),
                originals: given.originals.unwrap_or_else(|| Arc::new(NoOriginals)),
                clock: given.clock.clone().unwrap_or_else(clock::system),
                on_note: Arc::clone(&on_note) as OnNote,
            };
            Arc::new(runtime.block_on(Editing::start(setup))) as Arc<dyn Editor>
        });
        let parts = Parts {
            sink,
            own: given.own,
            editor,
            clock: given.clock,
            on_note,
            tls: given.tls.or_else(|| Some(no_tls())),
        };
        let gateway = runtime.block_on(async { Gateway::bind(config, parts) }).unwrap();
        let (addresses, handle) = (gateway.addresses(), gateway.handle());
        let (stop, stopped) = oneshot::channel();
        let drain = given.drain.unwrap_or_default();
        let thread = std::thread::spawn(move || {
            let over = async {
                let _ = stopped.await;
            };
            runtime.block_on(gateway.serve(over, drain, std::future::pending()));
            runtime.shutdown_timeout(Duration::from_secs(1));
        });
        Self {
            address: addresses[0],
            addresses,
            events,
            handle,
            notes,
            stop: Some(stop),
            thread: Some(thread),
            _folder: folder,
        }
    }

    /// Says that it is to end, and does not wait.
    pub(crate) fn tell_to_stop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn ask(&self, request: &[u8]) -> Answer {
        let mut client = self.client();
        client.send(request);
        client.answer()
    }

    pub(crate) fn begun(&self) -> Begun {
        loop {
            match self.events.next_within(SOON).unwrap() {
                Event::Begun(begun) => return *begun,
                Event::Frame(_) | Event::Ended(_) => {}
            }
        }
    }

    pub(crate) fn ended(&self) -> Ended {
        loop {
            match self.events.next_within(SOON).unwrap() {
                Event::Ended(ended) => return *ended,
                Event::Frame(_) | Event::Begun(_) => {}
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.tell_to_stop();
        self.wait();
    }
}

/// Trusts nobody: for upstreams on loopback.
pub(crate) fn no_tls() -> rustls::ClientConfig {
    trusting(rustls::RootCertStore::empty())
}

pub(crate) fn trusting(roots: rustls::RootCertStore) -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// An answer as it was on the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The first line.
    pub(crate) line: String,
    /// The headers, written as they were.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// Whether it came to its end, as far as HTTP can tell.
    pub(crate) whole: bool,
    /// Answers before it: their first lines and headers.
    pub(crate) early: Vec<(String, Vec<(String, String)>)>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A client's connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        Self { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    /// Sends bytes; whoever does not want them all may close.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.reader.read_until(b'\n', &mut line) {
            Ok(count) if count > 0 && line.ends_with(b"\r\n") => {
                Some(String::from_utf8_lossy(&line[..line.len() - 2]).into_owned())
            }
            _ => None,
        }
    }

    fn fields(&mut self) -> Option<Vec<(String, String)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(fields);
            }
            let (name, value) = line.split_once(": ").or_else(|| line.split_once(':')).unwrap();
            fields.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The head of an answer; none where the connection ends before.
    pub(crate) fn head(&mut self) -> Option<Answer> {
        let mut early = Vec::new();
        loop {
            let (line, headers) = (self.line()?, self.fields()?);
            let informs =
                line.split(' ').nth(1).is_some_and(|status| status.starts_with('1') && status != "101");
            if informs {
                early.push((line, headers));
                continue;
            }
            return Some(Answer {
                line,
                headers,
                body: Vec::new(),
                trailers: Vec::new(),
                whole: false,
                early,
            });
        }
    }

    /// An answer to its end; panics where there is none.
    pub(crate) fn answer(&mut self) -> Answer {
        self.maybe().expect("the connection ended without an answer")
    }

    pub(crate) fn maybe(&mut self) -> Option<Answer> {
        let mut answer = self.head()?;
        self.body(&mut answer);
        Some(answer)
    }

    /// Only the head of an answer to `HEAD`.
    pub(crate) fn body(&mut self, answer: &mut Answer) {
        if answer.header("transfer-encoding").is_some() {
            answer.whole = self.chunks(answer).is_some();
        } else if let Some(length) = answer.header("content-length") {
            let length: u64 = length.parse().unwrap();
            let _ = self.reader.by_ref().take(length).read_to_end(&mut answer.body);
            answer.whole = answer.body.len() as u64 == length;
        } else if !matches!(answer.status(), 204 | 304) {
            answer.whole = self.reader.read_to_end(&mut answer.body).is_ok();
        } else {
            answer.whole = true;
        }
    }

    fn chunks(&mut self, answer: &mut Answer) -> Option<()> {
        loop {
            let length = u64::from_str_radix(&self.line()?, 16).ok()?;
            if length == 0 {
                answer.trailers = self.fields()?;
                return Some(());
            }
            let before = answer.body.len();
            self.reader.by_ref().take(length).read_to_end(&mut answer.body).ok()?;
            if (answer.body.len() - before) as u64 != length {
                return None;
            }
            self.line()?;
        }
    }

    /// The next bytes of a body that is still coming.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line()?, 16).ok()?;
        let mut chunk = vec![0; length];
        self.reader.read_exact(&mut chunk).ok()?;
        self.line()?;
        Some(chunk)
    }

    pub(crate) fn exactly(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Whether the other side closes within this time, without saying anything more.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let read = self.reader.read(&mut [0; 1]);
        self.stream.set_read_timeout(Some(SOON)).unwrap();
        match read {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// A request with a body and its length.
pub(crate) fn post(path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
    for (name, value) in headers {
        out.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    out.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
    out.extend(body);
    out
}

/// A request without a body.
pub(crate) fn get(path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut out = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
    for (name, value) in headers {
        out.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    out.extend(b"\r\n");
    out
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < SOON, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}
