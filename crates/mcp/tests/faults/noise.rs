//! Text where there should be none, and questions nobody expects.

use crate::support::{ask, names, script};
use deadweight_mcp::{Anomaly, Reason};
use deadweight_testkit::scripted_mcp::Act;
use serde_json::json;

#[tokio::test]
async fn text_on_standard_output_is_kept_as_a_note() {
    let script = script("talks").tool("a").on(
        "start",
        [
            Act::Stdout("\u{1b}[32mServer running\u{1b}[0m on stdio".into()),
            Act::Stdout(String::new()),
            Act::Stdout(r#"{"level":"info","method":"GET","msg":"ready"}"#.into()),
            Act::StdoutHex("ff fe 0a".into()),
            // A text that is not ended before the protocol goes on.
            Act::StdoutHex("4c 6f 61 64 69 6e 67 2e 2e 2e 20".into()),
        ],
    );
    let listing = ask(&script.on("tools/list", [Act::Stdout("between".into())])).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    let sample = "Server running on stdio".to_owned();
    assert_eq!(listing.anomalies, [Anomaly::StdoutNoise { lines: 5, sample }]);
}

#[tokio::test]
async fn a_flood_on_standard_error_blocks_nobody() {
    let script = script("flood").tool("a").on("start", [Act::StderrFlood(4 << 20)]);
    assert_eq!(names(&ask(&script.on("tools/list", [Act::StderrFlood(4 << 20)])).await.unwrap()), ["a"]);
}

#[tokio::test]
async fn the_servers_questions_are_answered() {
    let not_found = json!({"code": -32601, "message": "Method not found"});
    let ask_for = |method: &str, reply: serde_json::Value| Act::Ask { method: method.into(), reply };
    let script = script("asks")
        .tool("a")
        .on("start", [ask_for("ping", json!({}))])
        .on("notifications/initialized", [ask_for("roots/list", json!({"roots": []}))])
        .on(
            "tools/list",
            [
                ask_for("sampling/createMessage", not_found.clone()),
                ask_for("elicitation/create", not_found),
                Act::Notify("notifications/message".into()),
                Act::Notify("notifications/tools/list_changed".into()),
            ],
        );
    let listing = ask(&script).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    let asked: Vec<(&str, usize)> = listing
        .anomalies
        .iter()
        .map(|anomaly| match anomaly {
            Anomaly::ClientRequest { method, count } => (method.as_str(), *count),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        asked,
        [("ping", 1), ("roots/list", 1), ("sampling/createMessage", 1), ("elicitation/create", 1)]
    );
}

#[tokio::test]
async fn a_server_that_asks_without_listening_blocks_nobody() {
    // More replies than the pipe and the outbox hold, none of which is read before the answer is out.
    let script = script("pings").tool("a").on("tools/list", [Act::Pings(100_000)]);
    let listing = ask(&script).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    assert_eq!(listing.anomalies, [Anomaly::ClientRequest { method: "ping".into(), count: 100_000 }]);
}

#[tokio::test]
async fn answers_that_nobody_waits_for_are_left_out() {
    let stray = |id: &str| Act::Stdout(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#));
    let script = script("stray")
        .tool("a")
        .on("start", [stray("77"), stray("2")])
        // The answer to `initialize` twice, and the one to an earlier request again.
        .on("initialize", [Act::Proceed, Act::Proceed])
        .on("tools/list", [stray("1"), stray("\"x\"")]);
    let listing = ask(&script).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
    assert_eq!(listing.anomalies, [Anomaly::StrayAnswers { count: 5 }]);
}

#[tokio::test]
async fn ids_that_come_back_as_text_are_known() {
    let text = r#"{"id":"$ID","jsonrpc":"2.0","result":{"tools":[{"name":"a"}]}}"#;
    let listing = ask(&script("text-id").on("tools/list", [Act::Answer(text.into())])).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
}

#[tokio::test]
async fn invalid_utf8_is_an_error_with_its_place() {
    let mut bytes = br#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"#.to_vec();
    let offset = bytes.len() + 1;
    bytes.extend(b"\"\xc3\x28\"}]}}");
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let error = ask(&script("latin").on("tools/list", [Act::AnswerHex(hex)])).await.unwrap_err();
    assert_eq!(error.reason, Reason::InvalidUtf8 { offset, waiting_for: "tools/list" });
    assert!(error.to_string().contains("not UTF-8 (byte 52 of its answer to `tools/list`)"), "{error}");
}

#[tokio::test]
async fn broken_json_is_an_error_with_its_place() {
    let text = r#"{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"a",}]}}"#;
    let error = ask(&script("broken").on("tools/list", [Act::Answer(text.into())])).await.unwrap_err();
    let Reason::InvalidJson { offset: 55, waiting_for: "tools/list", excerpt, .. } = &error.reason else {
        panic!("{:?}", error.reason)
    };
    assert!(excerpt.contains(r#""name":"a",}"#), "{excerpt}");
}

#[tokio::test]
async fn a_program_that_echoes_is_no_server() {
    let spec = deadweight_mcp::ServerSpec::stdio("cat", Vec::<String>::new());
    let error = deadweight_mcp::list(&spec, &crate::support::patient(), &deadweight_mcp::no_progress).await;
    let detail = "it sends back what it is sent".to_owned();
    assert_eq!(error.unwrap_err().reason, Reason::Malformed { page: None, detail });
}

#[tokio::test]
async fn other_framings_are_told_at_once() {
    for (name, framed, says) in [
        ("lsp", "Content-Length: 40\r", "as language servers do"),
        ("pretty", "{\n  \"jsonrpc\": \"2.0\",", "over several lines"),
    ] {
        let silent = [Act::Stdout(framed.into()), Act::Silence];
        let error = ask(&script(name).on("initialize", silent)).await.unwrap_err();
        let Reason::Malformed { page: None, detail } = &error.reason else { panic!("{:?}", error.reason) };
        assert!(detail.contains(says), "{detail}");
    }
}

#[tokio::test]
async fn ids_that_come_back_with_a_fraction_are_known() {
    let text = r#"{"jsonrpc":"2.0","id":$ID.0,"result":{"tools":[{"name":"a"}]}}"#;
    let listing = ask(&script("float-id").on("tools/list", [Act::Answer(text.into())])).await.unwrap();
    assert_eq!(names(&listing), ["a"]);
}

#[tokio::test]
async fn answers_under_other_ids_are_told_when_the_right_one_is_missed() {
    let text = r#"{"jsonrpc":"2.0","id":$ID7,"result":{"tools":[{"name":"a"}]}}"#;
    let script = script("wrong-id").on("tools/list", [Act::Answer(text.into()), Act::Exit(0)]);
    let error = ask(&script).await.unwrap_err();
    assert_eq!(error.stray_answers, 1);
    assert!(error.explain().to_string().contains("1 answer with an id that no request had"), "{error:?}");
}

#[tokio::test]
async fn errors_of_any_shape_are_said_as_far_as_they_go() {
    for (error, says) in [
        (r#""no way""#, "with error 0: no way"),
        ("{}", "with error 0: no message"),
        (r#"{"code":-1,"message":[]}"#, "with error -1: no message"),
        ("7", "with error 0: no message"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#);
        let told = ask(&script("odd-error").on("tools/list", [Act::Answer(text)])).await.unwrap_err();
        assert!(told.to_string().ends_with(says), "{told}");
    }
}
