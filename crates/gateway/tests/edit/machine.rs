//! A provider, gateways on one folder, and a clock that stands still unless it is moved.

use deadweight_gateway::Provider;
use deadweight_gateway::clock::Clock;
use deadweight_gateway::edit::{Originals, Settings};
use deadweight_gateway::local::{Local, Running};
use deadweight_gateway::relay::{Config, Note, Target};
use deadweight_levers::Lever;
use deadweight_levers::plan::Original;
use deadweight_price::Book;
use deadweight_store::Exchange;
use deadweight_testkit::strict::{self, Account, StrictProvider};
use deadweight_testkit::upstream::{Answer, Recorded, Turn};
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When every test begins.
const BEGIN: u64 = 1_800_000_000_000;

/// Keeps originals in memory; the model asks for them with `restore`.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub(crate) Mutex<HashMap<String, String>>);

impl Originals for Kept {
    fn keeps(&self) -> bool {
        true
    }

    fn restore_tool<'a>(&self, offered: &[&'a str]) -> Option<&'a str> {
        offered.iter().copied().find(|name| *name == "restore")
    }

    fn keep(&self, _: &str, originals: &[Original], _: u64) -> Result<(), String> {
        let mut all = self.0.lock().unwrap();
        all.extend(originals.iter().map(|own| (own.id.clone(), own.text.clone())));
        Ok(())
    }

    fn backed_off(&self, _: &str) -> Vec<Lever> {
        Vec::new()
    }
}

/// One machine.
pub(crate) struct Machine {
    pub(crate) provider: StrictProvider,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) settings: Settings,
    pub(crate) records: Arc<Mutex<Vec<Exchange>>>,
    pub(crate) notes: Arc<Mutex<Vec<Note>>>,
    pub(crate) kept: Arc<Kept>,
    /// What models cost.
    book: Book,
    gateways: Vec<Option<Running>>,
    says: Arc<Mutex<VecDeque<Answer>>>,
    now: Arc<AtomicU64>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Machine {
    /// One with so many gateways.
    pub(crate) fn new(settings: Settings, gateways: usize) -> Self {
        Self::priced(settings, gateways, Book::new())
    }

    /// One whose gateways go by these prices.
    pub(crate) fn priced(settings: Settings, gateways: usize, book: Book) -> Self {
        Self::made(settings, gateways, book, Account::NEW)
    }

    /// One with one gateway, whose requests are made with another account.
    pub(crate) fn of_account(settings: Settings, account: Account) -> Self {
        Self::made(settings, 1, Book::new(), account)
    }

    fn made(settings: Settings, gateways: usize, book: Book, account: Account) -> Self {
        let says: Arc<Mutex<VecDeque<Answer>>> = Arc::default();
        let script = {
            let says = Arc::clone(&says);
            move |_: &Recorded| says.lock().unwrap().pop_front().unwrap_or_else(|| Turn::text("yes").into())
        };
        let mut own = Self {
            provider: StrictProvider::start(account, script).unwrap(),
            folder: tempfile::tempdir().unwrap(),
            settings,
            records: Arc::default(),
            notes: Arc::default(),
            kept: Arc::default(),
            book,
            gateways: (0..gateways).map(|_| None).collect(),
            says,
            now: Arc::new(AtomicU64::new(BEGIN)),
        };
        (0..gateways).for_each(|at| own.start(at));
        own
    }

    fn start(&mut self, at: usize) {
        let mut config = Config::new(([127, 0, 0, 1], 0).into());
        for provider in Provider::ALL {
            config.set_upstream(provider, Target::parse(&self.provider.url()).unwrap());
        }
        let now = Arc::clone(&self.now);
        let clock: Clock = Arc::new(move || now.load(Ordering::Relaxed));
        let folder = self.folder.path().to_owned();
        let mut local = Local::new(config, self.settings.clone(), Some(folder), clock);
        local.originals = Arc::clone(&self.kept) as Arc<dyn Originals>;
        local.book = self.book.clone();
        let (records, notes) = (Arc::clone(&self.records), Arc::clone(&self.notes));
        local.observers.push(Box::new(move |exchange| records.lock().unwrap().push(exchange.clone())));
        local.on_note = Arc::new(move |note| notes.lock().unwrap().push(note));
        self.gateways[at] = Some(local.start().unwrap());
    }

    pub(crate) fn gateway(&self, at: usize) -> &Running {
        self.gateways[at].as_ref().unwrap()
    }

    /// The file of the decisions.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("decisions.sqlite")
    }

    pub(crate) fn set(&mut self, settings: Settings) {
        self.settings = settings;
        for gateway in self.gateways.iter().flatten() {
            gateway.editing().set(self.settings.clone());
        }
    }

    pub(crate) fn stop(&mut self) {
        for gateway in &mut self.gateways {
            if let Some(gateway) = gateway.take() {
                assert!(gateway.end());
            }
        }
    }

    pub(crate) fn go_on(&mut self) {
        (0..self.gateways.len()).for_each(|at| self.start(at));
    }

    pub(crate) fn restart(&mut self) {
        self.stop();
        self.go_on();
    }

    pub(crate) fn crash(&mut self) {
        self.gateways.iter_mut().filter_map(Option::take).for_each(Running::crash);
        self.go_on();
    }

    pub(crate) fn lose_journal(&mut self) {
        self.stop();
        for end in ["", "-wal", "-shm"] {
            let file = self.folder.path().join(format!("decisions.sqlite{end}"));
            let _ = std::fs::remove_file(file);
        }
        self.go_on();
    }

    /// The files of the journal in which one of these texts can be read.
    pub(crate) fn readable(&self, texts: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("decisions.sqlite") {
                let bytes = std::fs::read(entry.path()).unwrap();
                let has = |text: &&str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
                found.extend(texts.iter().filter(|text| has(text)).map(|text| format!("{name}: {text}")));
            }
        }
        found
    }

    /// One start at which the gateways' clock is so far ahead.
    pub(crate) fn start_ahead(&mut self, by: Duration) {
        let by = by.as_millis() as u64;
        self.now.fetch_add(by, Ordering::Relaxed);
        self.restart();
        self.stop();
        self.now.fetch_sub(by, Ordering::Relaxed);
        self.go_on();
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.provider.advance(by);
        self.now.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }

    /// What the provider answers next.
    pub(crate) fn say(&self, answer: impl Into<Answer>) {
        self.says.lock().unwrap().push_back(answer.into());
    }

    pub(crate) fn post(&self, at: usize, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let address = self.gateway(at).addresses[0];
        let mut stream = TcpStream::connect(address).unwrap();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer);
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        let begin = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        Reply { status, body: answer[begin..].to_vec() }
    }

    /// A page, when the ledger has what it is about.
    pub(crate) fn page(&self, path: &str, has: &str) -> String {
        let address = self.gateway(0).addresses[0];
        for _ in 0..2_000 {
            let mut stream = TcpStream::connect(address).unwrap();
            let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            if answer.contains(has) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{path} never says {has}");
    }

    /// Sends a turn of a session, and gives what the provider made of it.
    pub(crate) fn turn(&self, at: usize, session: &str, body: &[u8]) -> strict::Exchange {
        let key = [("x-claude-code-session-id", session), ("x-api-key", "sk-ant-api03-test")];
        let reply = self.post(at, "/v1/messages", &key, body);
        let last = self.provider.take_exchanges().pop().unwrap();
        assert_eq!(
            last.verdict.refusal().is_none(),
            reply.status == 200,
            "{:?} {}",
            last.verdict,
            String::from_utf8_lossy(&reply.body)
        );
        last
    }

    /// The records, when there are so many.
    pub(crate) fn records(&self, count: usize) -> Vec<Exchange> {
        for _ in 0..2_000 {
            let all = self.records.lock().unwrap();
            if all.len() >= count {
                return all.clone();
            }
            drop(all);
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{} records of {count}", self.records.lock().unwrap().len());
    }

    pub(crate) fn noted(&self, event: &str) -> Vec<Note> {
        self.notes.lock().unwrap().iter().filter(|note| note.event == event).cloned().collect()
    }
}
