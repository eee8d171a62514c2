//! Clients that cancel, leave, or send what is none of the protocol.

use std::process::Command;
use std::time::Duration;

use deadweight_testkit::processes;
use deadweight_testkit::scripted_mcp::Act;
use serde_json::{Value, json};

use crate::case::{Case, PATIENCE, script};

#[test]
fn a_cancellation_reaches_the_server_and_the_late_answer_nobody() {
    let mut case = Case::new(
        script("cancels")
            .tool("late")
            .tool("release")
            .on("tools/call:late", [Act::Hold])
            .on("tools/call:release", [Act::Release, Act::Proceed]),
    );
    let late = case.ask("late", &json!({ "text": "too late" }));
    let call = case.until_received(|message| message["params"]["name"] == "late");
    case.client.tell("notifications/cancelled", &json!({ "requestId": late, "reason": "enough" })).unwrap();
    let cancelled = case.until_received(|message| message["method"] == "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"], "the server's own id of the call");
    assert_eq!(cancelled["params"]["reason"], "enough");
    let release = case.ask("release", &json!({}));
    case.answer(release);
    case.works();
    case.leave(&[late]);
}

#[test]
fn cancelling_what_is_over_or_never_was_does_nothing() {
    let mut case = Case::new(script("cancels-nothing"));
    case.works();
    for id in [json!(1), json!(2), json!(4711), json!("x"), Value::Null] {
        case.client.tell("notifications/cancelled", &json!({ "requestId": id })).unwrap();
    }
    case.client.tell("notifications/cancelled", &json!({})).unwrap();
    case.works();
    case.leave(&[]);
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_call_leaves_nothing_behind() {
    let mut script = script("leaves").tool("hang").on("tools/call:hang", [Act::Sleep(120_000)]);
    script.linger = true;
    let mut case = Case::new(script);
    let id = case.ask("hang", &json!({}));
    case.until_received(|message| message["params"]["name"] == "hang");
    case.leave(&[id]);
}

#[test]
fn garbage_between_messages_is_answered_with_errors_at_most() {
    let mut case = Case::new(script("garbage"));
    let long = format!("{}\n", "x".repeat(1 << 20));
    let lines: [&[u8]; 12] = [
        b"{broken\n",
        b"hello\n",
        b"\n",
        b"   \r\n",
        b"\"text\"\n",
        b"17\n",
        b"null\n",
        b"{}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":7}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}\n",
        b"\xff\xfe\x00\xc3\x28\n",
        long.as_bytes(),
    ];
    for line in lines {
        case.client.raw(line).unwrap();
        case.works();
    }
    case.leave(&[]);
}

#[test]
fn unknown_methods_go_to_the_server_and_its_error_comes_back() {
    let mut case = Case::new(script("unknown-method"));
    let answer = case.client.request("x-own/method", &json!({ "a": 1 })).unwrap();
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let received = case.until_received(|message| message["method"] == "x-own/method");
    assert_eq!(received["params"], json!({ "a": 1 }));
    case.leave(&[]);
}

#[test]
fn ids_of_every_kind_come_back_as_they_went() {
    let mut case = Case::new(script("ids"));
    for id in ["0", "-1", "9007199254740993", "\"a\"", "\"7\"", "7", r#""\u00e9\"""#, "\"\""] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"of {}"}}}}}}"#,
            id.replace(['"', '\\'], "")
        );
        case.client.raw(format!("{call}\n").as_bytes()).unwrap();
        let mark = format!("of {}", id.replace(['"', '\\'], ""));
        let fits = |message: &Value| message.to_string().contains(&mark);
        assert!(case.client.wait(PATIENCE, fits).is_some(), "no answer to {id}");
        let line = case.client.seen().last().unwrap().clone();
        assert!(line.contains(&format!(r#""id":{id}"#)), "{id} came back in {line}");
    }
    case.works();
    // The raw calls above used ids that this client never gave.
    case.client.close();
    assert!(case.client.ended(PATIENCE).is_some());
}

#[test]
fn many_lines_in_one_write_and_one_line_in_many() {
    let mut case = Case::new(script("writes"));
    let call = |id: u64| {
        let params = json!({ "name": "echo", "arguments": { "text": id.to_string() } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string() + "\n"
    };
    let many: String = (1000..1050).map(call).collect();
    case.client.raw(many.as_bytes()).unwrap();
    for id in 1000..1050 {
        assert!(case.client.answer(id, PATIENCE).is_some(), "no answer to {id}");
    }
    for byte in call(2000).as_bytes().chunks(7) {
        case.client.raw(byte).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(case.client.answer(2000, PATIENCE).is_some());
    case.leave(&[]);
}

#[test]
fn a_signal_ends_the_proxy_and_its_server() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let mut script = script("signal");
        script.linger = true;
        let mut case = Case::new(script);
        case.works();
        Command::new("kill").args([signal, &case.client.id().to_string()]).status().unwrap();
        assert!(case.client.ended(PATIENCE).is_some(), "{signal} does not end it");
        assert_eq!(processes::left(case.marker(), PATIENCE), Vec::<u32>::new(), "{signal} leaves processes");
    }
}

#[test]
fn a_proxy_that_is_killed_leaves_no_server_that_reads_its_input() {
    let mut case = Case::new(script("killed-proxy"));
    case.works();
    case.client.kill();
    assert_eq!(processes::left(case.marker(), PATIENCE), Vec::<u32>::new());
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_the_proxy_from_ending() {
    deaf(drop);
}

#[test]
fn nor_does_one_that_keeps_its_end_of_the_output_open() {
    deaf(std::mem::forget);
}

fn deaf(end: impl FnOnce(std::io::PipeReader)) {
    let mut script = script("deaf").tool("big").on("tools/call:big", [Act::AnswerText(1 << 20)]);
    script.linger = true;
    let home = crate::case::home();
    let marker = script.name.clone();
    let mut command = crate::case::wrapping(home.path(), &["--surface", "eager"], &script);
    // Nobody reads the other end of this pipe, whose room is 64 KiB.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(writer)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(command);
    let mut input = child.stdin.take().unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}"#;
    use std::io::Write;
    writeln!(input, "{hello}").unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
    for id in 1..20 {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "big", "arguments": {} } });
        // The proxy may stop reading when it cannot write.
        let _ = writeln!(input, "{call}");
    }
    std::thread::sleep(Duration::from_millis(500));
    drop(input);
    end(reader);
    let until = std::time::Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < until, "it goes on running");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(processes::left(&marker, PATIENCE), Vec::<u32>::new());
}
