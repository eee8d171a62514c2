use super::*;
use crate::exchange::{Answer, Copied, Frame, Noted, Way};
use crate::provider::Provider;
use bytes::Bytes;
use std::sync::Mutex;

/// A measurer, and everything that it has recorded.
struct Bench {
    measurer: Measurer,
    live: Arc<Live>,
    records: Arc<Mutex<Vec<Exchange>>>,
    next: u128,
}

impl Bench {
    fn new() -> Self {
        let live = Arc::new(Live::default());
        let records = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&records);
        let setup = Setup {
            estimator: Box::new(deadweight_estimate::calibrated()),
            book: Arc::new(Book::new()),
            origins: Origins::new(),
            names: NameMap::default(),
            recorder: None,
            remembered: Vec::new(),
            observers: vec![Box::new(move |exchange: &Exchange| keep.lock().unwrap().push(exchange.clone()))],
        };
        Self { measurer: Measurer::new(setup, Arc::clone(&live)), live, records, next: 0 }
    }

    fn begun(&mut self, path: &str, body: &[u8], headers: &[(&'static str, &str)]) -> Begun {
        self.next += 1;
        let copied = copied(body);
        Begun {
            id: ExchangeId(self.next),
            at: UNIX_EPOCH + Duration::from_secs(1_700_000_000 + self.next as u64 * 10),
            provider: Provider::Anthropic,
            upstream: Arc::from("https://example.test"),
            agent: None,
            method: "POST".to_owned(),
            path: path.to_owned(),
            dialect: Dialect::of_path(path),
            headers: Noted(headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()),
            received: copied.clone(),
            sent: copied,
            edited: None,
        }
    }

    fn exchange(&mut self, begun: Begun, status: u16, answer: &str) -> Exchange {
        let id = begun.id;
        self.measurer.take(Event::Begun(Box::new(begun)));
        let body = Answer::Body { body: copied(answer.as_bytes()), encoding: None, stream: false };
        self.measurer.take(Event::Ended(Box::new(ended(id, status, body))));
        self.records.lock().unwrap().last().cloned().unwrap()
    }

    fn turn(&mut self, body: &str, status: u16, answer: &str) -> Exchange {
        let begun = self.begun("/v1/messages", body.as_bytes(), &[("x-claude-code-session-id", "s1")]);
        self.exchange(begun, status, answer)
    }
}

fn copied(bytes: &[u8]) -> Copied {
    Copied { chunks: vec![Bytes::copy_from_slice(bytes)], length: bytes.len() as u64, whole: true }
}

fn ended(id: ExchangeId, status: u16, answer: Answer) -> Ended {
    Ended {
        id,
        status: Some(status),
        first_byte: Some(Duration::from_millis(5)),
        took: Duration::from_millis(9),
        end: End::Complete,
        answer_bytes: 100,
        answer,
        headers: Noted::default(),
        request_id: Some("req_1".to_owned()),
        tunnel: None,
    }
}

const TOOLS: &str = r#"[{"name":"Bash","description":"Runs a command.","input_schema":{"type":"object"}},{"name":"mcp__files__read","description":"Reads.","input_schema":{"type":"object"}}]"#;
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// A request whose messages are those given, the last one marked.
fn request(system: &str, messages: &[&str]) -> String {
    let last = messages.len() - 1;
    let messages: Vec<String> = messages
        .iter()
        .enumerate()
        .map(|(at, text)| match at % 2 {
            _ if text.starts_with('{') => (*text).to_owned(),
            0 if at == last => {
                format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"{MARK}}}]}}"#)
            }
            0 => format!(r#"{{"role":"user","content":"{text}"}}"#),
            _ => format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#),
        })
        .collect();
    format!(
        r#"{{"model":"claude-opus-4-8","messages":[{}],"system":[{{"type":"text","text":"{system}"{MARK}}}],"tools":{TOOLS}}}"#,
        messages.join(",")
    )
}

fn answer(input: u64, read: u64, write: u64) -> String {
    format!(
        r#"{{"type":"message","model":"claude-opus-4-8","usage":{{"input_tokens":{input},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{write},"output_tokens":7}}}}"#
    )
}

#[test]
fn a_conversation_goes_on_and_what_was_lost_is_named() {
    let mut bench = Bench::new();
    let system = "You are helpful. ".repeat(400);
    let first = bench.turn(&request(&system, &["Do the first thing, please."]), 200, &answer(3, 0, 2_000));
    assert_eq!((first.session.as_str(), first.turn), ("s1", Some(1)));
    assert_eq!(first.cache.as_ref().unwrap().class, "first");
    assert_eq!(first.usage.prompt, Some(2_003));
    assert!(first.cost.as_ref().is_some_and(|cost| cost.cache_write_5m > cost.uncached && cost.total() > 0));
    assert_eq!(first.ended.request_id.as_deref(), Some("req_1"));
    assert_eq!(first.receipt.received_sha256, first.receipt.sent_sha256);
    assert!(!first.receipt.changed());
    let footprint = first.footprint.as_ref().unwrap();
    assert_eq!(footprint.tool_count, 2);
    assert!(footprint.layout.iter().any(|one| one.breakpoint.as_deref() == Some("5m")));

    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"mcp__files__read","input":{}}]}"#;
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"the text of the file","cache_control":{"type":"ephemeral"}}]}"#;
    let second = bench.turn(
        &request(&system, &["Do the first thing, please.", call, result]),
        200,
        &answer(3, 2_000, 40),
    );
    assert_eq!((&second.conversation, second.turn), (&first.conversation, Some(2)));
    let watch = second.cache.as_ref().unwrap();
    assert_eq!((watch.class.as_str(), watch.lost_tokens, watch.agrees), ("append", 0, Some(true)));
    assert_eq!(second.calls, [("mcp__files__read".to_owned(), 1)]);
    assert_eq!(watch.gap_ms, Some(10_000));

    let changed = format!("{system}It is noon.");
    let third = bench.turn(
        &request(&changed, &["Do the first thing, please.", call, result, "Done.", "Go on."]),
        200,
        &answer(3, 0, 2_100),
    );
    let watch = third.cache.as_ref().unwrap();
    assert_eq!((watch.class.as_str(), watch.agrees), ("system", Some(true)));
    assert!(watch.lost_tokens > 1_500 && watch.lost_nano > Some(0), "{watch:?}");
    assert!(third.calls.is_empty(), "a call counts in the turn that brings it: {:?}", third.calls);

    let report = bench.live.session(Some("s1")).unwrap().report(Some(200_000));
    assert_eq!((report.turns.seen, report.tokens.resident), (3, Some(2_103)));
}

#[test]
fn a_refused_request_is_sent_again_and_counts_once() {
    let mut bench = Bench::new();
    let body = request("s", &["Do the first thing, please."]);
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let refused = bench.turn(&body, 529, overloaded);
    assert_eq!(refused.ended.error.as_deref(), Some("overloaded_error"));
    assert_eq!(refused.usage.prompt, None);
    let again = bench.turn(&body, 200, &answer(50, 0, 0));
    assert_eq!(again.cache.as_ref().unwrap().class, "retry");
    assert_eq!(bench.live.session(Some("s1")).unwrap().report(None).tokens.resident, Some(50));
}

#[test]
fn what_is_remembered_is_written_down_for_many_turns_at_once_and_the_last_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite");
    let recorder = Arc::new(store::Recorder::start(file.clone(), |error| panic!("{error}")));
    let mut bench = Bench::new();
    bench.measurer.recorder = Some(Arc::clone(&recorder));
    let mut said = vec!["Do the first thing, please."];
    for _ in 0..100 {
        bench.turn(&request("s", &said), 200, &answer(3, 0, 0));
        said.extend(["Done, as far as I can tell.", "Go on with what comes next, please."]);
    }
    // None waits where the last turn was the one that had it written down.
    assert!(bench.measurer.unsaved.len() <= 1);
    bench.measurer.save();
    assert_eq!((bench.measurer.unsaved.len(), bench.measurer.due()), (0, LONG));
    assert!(recorder.flush(Duration::from_secs(60)));
    let written = recorder.recorded().written;
    assert!((101..150).contains(&written), "{written}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let lineages = runtime.block_on(async {
        store::Ledger::open(&file).await.unwrap().unwrap().lineages(0, 10).await.unwrap()
    });
    assert_eq!(lineages.len(), 1);
    assert_eq!(lineages[0].at_ms, bench.records.lock().unwrap().last().unwrap().at_ms);
    assert_eq!(Some(&lineages[0].state), bench.measurer.turns.save("s1").as_ref());
}

#[test]
fn a_clock_that_jumps_changes_no_conversation() {
    let mut bench = Bench::new();
    let mut said = vec!["Do the first thing, please."];
    let day = Duration::from_secs(86_400);
    let noon = UNIX_EPOCH + day * 20_000;
    // Before there was a time, back, forth, the same once more, and as far as a clock goes.
    let times = [noon, UNIX_EPOCH - day, noon - day, noon + day, noon + day, UNIX_EPOCH + day * 4_000_000];
    for (turn, at) in times.into_iter().enumerate() {
        let body = request("s", &said);
        let mut begun = bench.begun("/v1/messages", body.as_bytes(), &[("x-claude-code-session-id", "s1")]);
        begun.at = at;
        let record = bench.exchange(begun, 200, &answer(100, 0, 0));
        assert_eq!(record.turn, Some(turn as u64 + 1), "{at:?}");
        assert_eq!((record.ended.took_us, record.ended.first_byte_us), (9_000, Some(5_000)));
        let watch = record.cache.unwrap();
        let expected = if turn == 0 { "first" } else { "append" };
        assert!([expected, "ttl_lapse"].contains(&watch.class.as_str()), "{at:?} {watch:?}");
        // What went back has taken no time.
        assert!(turn != 1 || watch.gap_ms == Some(0), "{watch:?}");
        said.extend(["Done, as far as I can tell.", "Go on with what comes next, please."]);
    }
    let report = bench.live.session(Some("s1")).unwrap().report(Some(200_000));
    assert_eq!(report.turns.seen, times.len() as u64);
}

#[test]
fn what_is_no_turn_is_recorded_all_the_same() {
    let mut bench = Bench::new();
    let body = request("s", &["How long is this?"]);
    let count = bench.begun("/v1/messages/count_tokens", body.as_bytes(), &[]);
    let count = bench.exchange(count, 200, r#"{"input_tokens":12}"#);
    assert_eq!((count.asked, count.turn), (Asked::Count, None));
    assert!(count.footprint.is_some());
    let mut models = bench.begun("/v1/models", b"", &[]);
    models.method = "GET".to_owned();
    let models = bench.exchange(models, 200, "{}");
    assert_eq!((models.asked, models.unmeasured), (Asked::Other, None));
}

#[test]
fn what_cannot_be_measured_says_why() {
    let mut bench = Bench::new();
    let broken = bench.turn("{\"model\":", 400, "{}");
    assert_eq!(broken.unmeasured.as_deref(), Some("not JSON"));
    let mut large = bench.begun("/v1/messages", b"{}", &[]);
    large.received.forget();
    large.sent.forget();
    let large = bench.exchange(large, 200, "{}");
    assert_eq!(large.unmeasured.as_deref(), Some("larger than what is copied"));
    assert_eq!(large.receipt.received_sha256, None);
    let packed = bench.begun("/v1/messages", b"xx", &[("content-encoding", "lzma")]);
    let packed = bench.exchange(packed, 200, "{}");
    assert_eq!(packed.unmeasured.as_deref(), Some("its Content-Encoding is not known"));
}

#[test]
fn every_turn_in_a_websocket_is_a_record_of_its_own() {
    let mut bench = Bench::new();
    let mut opening = bench.begun("/v1/responses", b"", &[("session-id", "codex-1")]);
    opening.method = "GET".to_owned();
    opening.provider = Provider::OpenAi;
    let id = opening.id;
    bench.measurer.take(Event::Begun(Box::new(opening)));
    let mut say = |way, text: &str| {
        let frame = Frame {
            id,
            at: UNIX_EPOCH + Duration::from_secs(1),
            way,
            text: copied(text.as_bytes()),
            compressed: false,
        };
        bench.measurer.take(Event::Frame(Box::new(frame)));
    };
    say(Way::Up, r#"{"type":"response.create","model":"gpt-x","input":[{"role":"user","content":"hello"}]}"#);
    say(Way::Down, r#"{"type":"response.created","response":{"id":"r1"}}"#);
    say(
        Way::Down,
        r#"{"type":"response.completed","response":{"id":"r1","usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10},"output_tokens":4}}}"#,
    );
    say(Way::Up, r#"{"type":"response.create","model":"gpt-x","previous_response_id":"r1","input":[]}"#);
    bench.measurer.take(Event::Ended(Box::new(Ended {
        end: End::Tunnel,
        ..ended(id, 101, Answer::Unread(crate::exchange::Unread::Empty))
    })));
    let records = bench.records.lock().unwrap();
    let short: Vec<_> = records
        .iter()
        .map(|one| (one.session.as_str(), one.turn, one.ended.how.as_str(), one.usage.prompt))
        .collect();
    assert_eq!(
        short,
        [
            ("codex-1", Some(1), "complete", Some(30)),
            ("codex-1", Some(2), "tunnel", None),
            ("codex-1", None, "tunnel", None),
        ]
    );
}
