//! Bodies that levers may change, over generated conversations in every layout and any spelling: what no lever changes
//! arrives byte for byte, and what one does arrives as it came save at the places that the receipt names. A body that the
//! provider refuses in its changed form arrives once more, as it came.
//!
//! `DEADWEIGHT_BODIES` sets about how many bodies are sent; 1,000 without it.

use crate::common::{Client, Gate, Given, SOON};
use deadweight_gateway::Provider;
use deadweight_gateway::clock::Clock;
use deadweight_gateway::edit::Originals;
use deadweight_gateway::exchange::{Begun, Edited, Event, Receipt};
use deadweight_levers::plan::Original;
use deadweight_levers::{Lever, Policy, Profile, Thresholds, ToolRule};
use deadweight_testkit::layouts::{Layout, Size, nth};
use deadweight_testkit::raw_http::RawHttp;
use deadweight_testkit::sessions::Dice;
use deadweight_testkit::upstream::Recorded;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// Which tools the user never lets run.
const DENIED: &str = "*e*e*";

/// Keeps nothing, and says that it does: whether originals come back is another test's. Any tool that is not denied stands
/// for the one by which they are asked for.
struct Anything;

impl Originals for Anything {
    fn keeps(&self) -> bool {
        true
    }

    fn restore_tool<'a>(&self, offered: &[&'a str]) -> Option<&'a str> {
        offered.iter().copied().find(|name| !denied().denies(name))
    }

    fn keep(&self, _: &str, _: &[Original], _: u64) -> Result<(), String> {
        Ok(())
    }
}

fn denied() -> ToolRule {
    ToolRule { deny: vec![DENIED.to_owned()], allow: Vec::new() }
}

/// The default profile, and some tools that are denied.
pub(crate) fn policy() -> Policy {
    Policy { tools: denied(), ..Policy::default() }
}

/// The same, where long histories give way to a view sooner, and before their results are cut.
fn compacting() -> Policy {
    let thresholds = Thresholds { history: 6_000, view: 3_000, ..Thresholds::default() };
    Policy { thresholds, switches: [(Lever::ElideResults, false)].into(), ..policy() }
}

/// A gateway whose levers are on, before a provider that says yes, or no.
pub(crate) struct Rig {
    pub(crate) gate: Gate,
    got: Receiver<Recorded>,
    refuses: Arc<AtomicBool>,
    now: Arc<AtomicU64>,
    _server: RawHttp,
}

/// What became of a body.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// How many bytes each lever's places had and have, where it changed any.
    pub(crate) places: BTreeMap<&'static str, i64>,
    /// The provider refused the changed body, and got the other one.
    pub(crate) again: bool,
}

/// A body on its way.
pub(crate) struct Body<'b> {
    /// As it is on the wire.
    pub(crate) wire: &'b [u8],
    /// Not compressed.
    pub(crate) plain: &'b [u8],
    /// Its `Content-Encoding`.
    pub(crate) encoding: Option<&'static str>,
}

impl Rig {
    pub(crate) fn new(policy: Policy) -> Self {
        let (sender, got) = channel();
        let (sender, refuses) = (Mutex::new(sender), Arc::new(AtomicBool::new(false)));
        let refusing = Arc::clone(&refuses);
        let server = RawHttp::start(move |request, answer| {
            sender.lock().unwrap().send(request.clone()).unwrap();
            if refusing.swap(false, Ordering::Relaxed) {
                let text = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
                return answer.json(400, text);
            }
            answer.json(200, "{}")
        })
        .unwrap();
        let now = Arc::new(AtomicU64::new(1_800_000_000_000));
        let told = Arc::clone(&now);
        let clock: Clock = Arc::new(move || told.load(Ordering::Relaxed));
        let given = Given {
            edits: true,
            policy,
            originals: Some(Arc::new(Anything)),
            clock: Some(clock),
            ..Given::default()
        };
        let gate = Gate::with(&server.at(""), given, |config| {
            let target = deadweight_gateway::relay::Target::parse(&server.at("")).unwrap();
            Provider::ALL.into_iter().for_each(|provider| config.set_upstream(provider, target.clone()));
        });
        Self { gate, got, refuses, now, _server: server }
    }

    pub(crate) fn wait(&self, seconds: u64) {
        self.now.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    /// The provider refuses what it is sent next.
    fn refuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
    }

    /// Sends a body on a connection of HTTP/1.1.
    pub(crate) fn send_1(
        &self,
        client: &mut Client,
        path: &str,
        headers: &[(&str, &str)],
        body: &Body<'_>,
        pieces: Option<usize>,
    ) -> Recorded {
        let mut head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n");
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        match pieces {
            None => {
                head.push_str(&format!("Content-Length: {}\r\n\r\n", body.wire.len()));
                client.send(&[head.as_bytes(), body.wire].concat());
            }
            Some(length) => {
                head.push_str("Transfer-Encoding: chunked\r\n\r\n");
                client.send(head.as_bytes());
                for piece in body.wire.chunks(length) {
                    client.send(&[format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
                }
                client.send(b"0\r\n\r\n");
            }
        }
        let answer = client.answer();
        assert!(matches!(answer.status(), 200 | 400), "{path}: {} {}", answer.line, answer.text());
        self.last().unwrap_or_else(|| panic!("{path}: nothing arrived: {} {}", answer.line, answer.text()))
    }

    /// What the provider was sent last: it has answered, so there is nothing to be waited for.
    fn last(&self) -> Option<Recorded> {
        self.got.try_iter().last()
    }

    /// What was told of the exchange.
    fn told(&self) -> Box<Begun> {
        let begun = loop {
            if let Event::Begun(begun) = self.gate.events.next_within(SOON).unwrap() {
                break begun;
            }
        };
        while !matches!(self.gate.events.next_within(SOON).unwrap(), Event::Ended(ended) if ended.id == begun.id)
        {
        }
        begun
    }

    /// Holds what arrived against what was sent and what the receipt says.
    pub(crate) fn check(&self, what: &str, body: &Body<'_>, arrived: &Recorded) -> Sent {
        let begun = self.told();
        let receipt = Receipt::of(&begun.received, &begun.sent);
        let hash = |bytes: &[u8]| Some(<[u8; 32]>::from(Sha256::digest(bytes)));
        assert_eq!(receipt.received, hash(body.wire), "{what}: received");
        assert_eq!(receipt.sent, hash(&arrived.body), "{what}: sent");
        let edited = begun.edited.unwrap_or_default();
        let refused =
            |action: &&deadweight_gateway::exchange::LeverAction| action.stood_down == Some("refused");
        let again = edited.actions.iter().any(|action| refused(&action));
        if edited.splices.is_empty() {
            assert!(arrived.body == body.wire, "{what}: nothing was changed, and another body arrived");
            assert_eq!((receipt.changed(), arrived.header("content-encoding")), (Some(false), body.encoding));
            assert!(edited.actions.iter().all(|action| action.saved_bytes == 0), "{what}: {edited:?}");
            return Sent { again, ..Sent::default() };
        }
        assert_eq!((receipt.changed(), arrived.header("content-encoding")), (Some(true), None), "{what}");
        assert!(serde_json::from_slice::<Value>(&arrived.body).is_ok(), "{what}: no JSON arrived");
        Sent { places: outside(what, body.plain, &arrived.body, &edited), again }
    }
}

/// Walks over both bodies: every byte outside of the places that the receipt names is the same. What each lever took.
fn outside(what: &str, received: &[u8], sent: &[u8], edited: &Edited) -> BTreeMap<&'static str, i64> {
    let (mut from, mut to) = (0, 0);
    let mut places: BTreeMap<&'static str, i64> = BTreeMap::new();
    for splice in &edited.splices {
        let (begin, end) = (splice.at.start as usize, splice.at.end as usize);
        assert!(from <= begin && begin <= end && end <= received.len(), "{what}: {splice:?} at {from}");
        let between = begin - from;
        assert!(received[from..begin] == sent[to..to + between], "{what}: changed before {splice:?}");
        (from, to) = (end, to + between + splice.length as usize);
        *places.entry(splice.lever).or_default() += (end - begin) as i64 - splice.length as i64;
    }
    assert!(received[from..] == sent[to..], "{what}: changed behind the last place");
    for action in &edited.actions {
        let own = places.get(action.lever).copied();
        assert_eq!(own.unwrap_or_default(), action.saved_bytes, "{what}: {action:?}");
        assert!(own.is_none() || action.edited(), "{what}: {action:?}");
    }
    places
}

/// How somebody writes JSON.
#[derive(Debug, Clone, Copy)]
struct Style {
    spaces: bool,
    escapes: bool,
}

/// Writes a value in some style.
fn spell(value: &Value, style: Style, dice: &mut Dice, out: &mut String) {
    let space = |dice: &mut Dice, out: &mut String| {
        if style.spaces {
            out.push_str(["", " ", "\n  ", "\t"][dice.below(4) as usize]);
        }
    };
    match value {
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                space(dice, out);
                spell_text(name, Style { escapes: false, ..style }, dice, out);
                space(dice, out);
                out.push(':');
                space(dice, out);
                spell(member, style, dice, out);
            }
            space(dice, out);
            out.push('}');
        }
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                space(dice, out);
                spell(element, style, dice, out);
            }
            space(dice, out);
            out.push(']');
        }
        Value::String(text) => spell_text(text, style, dice, out),
        other => out.push_str(&other.to_string()),
    }
}

fn spell_text(text: &str, style: Style, dice: &mut Dice, out: &mut String) {
    if !style.escapes {
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '/' if dice.one_in(3) => out.push_str("\\/"),
            '\n' => out.push_str(["\\n", "\\u000a", "\\u000A"][dice.below(3) as usize]),
            c if c < ' ' || (!c.is_ascii() && dice.one_in(2)) || dice.one_in(200) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The long texts of a value, in order.
fn texts<'a>(value: &'a mut Value, long: &mut Vec<&'a mut String>) {
    match value {
        Value::String(text) if text.len() > 1_500 => long.push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, long)),
        Value::Object(members) => members.values_mut().for_each(|item| texts(item, long)),
        _ => {}
    }
}

/// A conversation: its turns as they are sent.
struct Conversation {
    seed: u64,
    layout: u64,
    turns: usize,
    size: Size,
    /// A result comes that was there before.
    repeats: bool,
    /// From this turn on the tools come in another order.
    reorders: Option<usize>,
    style: Style,
    unknown: bool,
}

impl Conversation {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        // Each layout in turn, in every size.
        let text = match dice.below(16) {
            0..2 => 40_000 + dice.below(4_000),
            2..4 => 16_500 + dice.below(9_000),
            4..9 => 1_600 + dice.below(4_000),
            _ => 20 + dice.below(400),
        };
        Self {
            seed,
            layout: seed,
            turns: 3 + dice.below(7) as usize,
            size: Size { tools: dice.below(24) as usize, turns: 0, text: text as usize },
            repeats: dice.one_in(2),
            reorders: dice.one_in(3).then(|| 2 + dice.below(2) as usize),
            style: Style { spaces: dice.one_in(3), escapes: dice.one_in(3) },
            unknown: dice.one_in(3),
        }
    }

    /// The request of a turn.
    fn body(&self, turn: usize) -> Layout {
        let layout = nth(self.layout as usize, Size { turns: turn, ..self.size });
        let mut body: Value = serde_json::from_str(&layout.body).unwrap();
        let root = if body.get("request").is_some() { &mut body["request"] } else { &mut body };
        for key in ["messages", "input", "contents"] {
            let mut long = Vec::new();
            if let Some(said) = root.get_mut(key) {
                texts(said, &mut long);
            }
            if self.repeats && long.len() > 2 {
                *long[2] = long[1].clone();
            }
        }
        if self.reorders.is_some_and(|from| turn >= from)
            && let Some(tools) = root.get_mut("tools").and_then(Value::as_array_mut)
        {
            tools.reverse();
        }
        if self.unknown {
            body["x_unknown"] = serde_json::json!({ "messages": [1e3, null, "\u{1F600}"], "n": 12_345 });
        }
        let mut out = String::new();
        spell(&body, self.style, &mut Dice::new(self.seed), &mut out);
        // Paths that say nothing of their provider get it in front.
        let path = match layout.path {
            path if path.starts_with("/backend-api/") => format!("/openai{path}").leak(),
            path if path.starts_with("/v1internal") => format!("/gemini{path}").leak(),
            path => path,
        };
        Layout { body: out, path, ..layout }
    }
}

fn compressed(body: &[u8], with: u64) -> (Vec<u8>, Option<&'static str>) {
    match with {
        0 => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(body).unwrap();
            (packed.finish().unwrap(), Some("gzip"))
        }
        1 => {
            let fastest = ruzstd::encoding::CompressionLevel::Fastest;
            (ruzstd::encoding::compress_to_vec(body, fastest), Some("zstd"))
        }
        _ => (body.to_vec(), None),
    }
}

fn count() -> usize {
    std::env::var("DEADWEIGHT_BODIES").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000)
}

/// Sends a body on a connection of HTTP/2.
fn send_2(rig: &Rig, path: &str, headers: &[(&str, &str)], body: &Body<'_>) -> Recorded {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let status = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(rig.gate.address).await.unwrap();
        let made = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, connection) = made.await.unwrap();
        tokio::spawn(connection);
        let mut request = http::Request::post(format!("http://localhost{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(bytes::Bytes::copy_from_slice(body.wire));
        let response = sender.send_request(request.body(body).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        response.into_body().collect().await.unwrap();
        status
    });
    assert!(status == 200 || status == 400, "{path}: {status}");
    rig.last().unwrap_or_else(|| panic!("{path}: nothing arrived"))
}

#[test]
fn what_no_lever_changes_arrives_as_it_came_and_what_one_does_but_for_the_places_that_are_told() {
    let (mut bodies, mut edited, mut again, mut packed) = (0, 0, 0, 0);
    let mut fired: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut rig = Rig::new(policy());
    let mut client = rig.gate.client();
    let mut seed = 0;
    while bodies < count() {
        let own = Conversation::new(seed);
        let mut dice = Dice::new(seed + 1_000_000);
        let key = format!("sk-{seed}");
        let session = format!("session-{seed}");
        let two = dice.one_in(4);
        for turn in 0..=own.turns {
            let layout = own.body(turn);
            let what = format!("seed {seed}, {}, turn {turn}", layout.name);
            let (wire, encoding) = compressed(layout.body.as_bytes(), dice.below(8));
            let body = Body { wire: &wire, plain: layout.body.as_bytes(), encoding };
            let mut headers = vec![
                ("x-api-key", key.as_str()),
                ("x-claude-code-session-id", &session),
                ("content-type", "application/json"),
            ];
            headers.extend(encoding.map(|encoding| ("content-encoding", encoding)));
            if dice.one_in(12) {
                rig.refuse();
            }
            let arrived = match two {
                true => send_2(&rig, layout.path, &headers, &body),
                false => {
                    let pieces = dice.one_in(3).then(|| 1_000 + dice.below(60_000) as usize);
                    rig.send_1(&mut client, layout.path, &headers, &body, pieces)
                }
            };
            rig.refuses.store(false, Ordering::Relaxed);
            let sent = rig.check(&what, &body, &arrived);
            bodies += 1;
            edited += usize::from(!sent.places.is_empty());
            again += usize::from(sent.again);
            packed += usize::from(!sent.places.is_empty() && encoding.is_some());
            sent.places.keys().for_each(|lever| *fired.entry(*lever).or_default() += 1);
            rig.wait(if dice.one_in(5) { 9_000 } else { 20 });
        }
        seed += 1;
        if seed % 32 == 0 {
            rig = Rig::new(if seed % 64 == 0 { policy() } else { compacting() });
            client = rig.gate.client();
        }
    }
    println!(
        "{bodies} bodies: {edited} edited ({packed} of them compressed), {again} refused and sent as they came: {fired:?}"
    );
    // Both happen often, or nothing was shown.
    assert!(edited > bodies / 10 && edited < bodies * 9 / 10, "{edited} of {bodies}");
    if bodies >= 1_000 {
        assert!(again > 0 && packed > 0, "{again} {packed}");
        for lever in
            Lever::ALL.into_iter().filter(|own| own.on(Profile::Default) && *own != Lever::Passthrough)
        {
            assert!(fired.contains_key(lever.name()), "{lever} did nothing: {fired:?}");
        }
    }
}
