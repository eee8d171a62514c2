//! What is refused, or told in other words, before or after a call reaches its server.

use super::super::port::{Event, FromServer, Undelivered};
use super::super::{Relay, Surfaces, World};
use super::{Memory, Rig, call, one, opening, text_of, tool};
use crate::error::Reason;
use crate::spec::ServerSpec;
use crate::surface::{Choice, Settings};
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;

/// One server whose tool `destroy` is denied; it lists `echo` alone.
fn denied() -> Rig {
    let mut lock = deadweight_lock::Lock::new("calibrated", "tools/list");
    lock.rules.push(deadweight_lock::NameRule {
        kind: deadweight_lock::PolicyKind::Deny,
        tool: "destroy".to_owned(),
        reason: "never".to_owned(),
        line: 1,
    });
    let mut rig = Rig::new(&["fake"], false, Arc::default());
    rig.relay = Relay::new(Arc::new(world(Some(lock), false)));
    rig.open();
    rig.answer(0, "initialize", opening());
    rig.client(json!({"jsonrpc":"2.0","method":"notifications/initialized"}));
    rig.answer(0, "tools/list", json!({"tools":[tool("echo")]}));
    rig.heard();
    rig
}

fn world(lock: Option<deadweight_lock::Lock>, over_http: bool) -> World {
    World {
        specs: vec![ServerSpec::stdio("fake", ["x"]).named("fake")],
        labels: vec!["fake".to_owned()],
        settings: Settings { surface: Choice::Stubs, budget: 0, ..Settings::default() },
        lock,
        aggregate: false,
        nonce: "n".to_owned(),
        over_http,
        shelf: Arc::<Memory>::default(),
        meaning: None,
        surfaces: Surfaces::default(),
    }
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_always() {
    let mut rig = one();
    for text in [
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"b","name":"a"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a","Name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","Method":"tools/call","params":{"name":"b"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x","Method":"tools/call","id":9,"params":{"name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":9,"method":"tools/call","params":{"name":"b"}}"#,
        r#"[{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"a","NAME":"b"}}]"#,
    ] {
        rig.client_raw(text.to_owned());
        let heard = rig.heard();
        assert_eq!((heard.len(), &heard[0]["error"]["code"]), (1, &json!(-32600)), "{text}");
        assert_eq!(heard[0]["id"], 9);
        assert!(heard[0]["error"]["message"].as_str().unwrap().contains("twice"));
    }
    rig.client_raw(r#"{"jsonrpc":"2.0","method":"notifications/x","ID":9,"Method":"tools/call"}"#.to_owned());
    assert_eq!(rig.heard()[0]["error"]["code"], -32600);
    assert_eq!(rig.sent.len(), 1, "nothing but `notifications/initialized`: {:?}", rig.sent);
}

#[test]
fn a_denied_name_is_not_called_in_another_spelling() {
    for name in [
        "destroy",
        " destroy",
        "Destroy",
        "destroy\0",
        "mcp__fake__destroy",
        "fake__destroy",
        "de\u{200b}stroy",
    ] {
        let mut rig = denied();
        let sent = rig.sent.len();
        rig.client(call(2, name));
        let heard = rig.heard();
        assert_eq!(heard[0]["result"]["isError"], true, "{name:?}: {heard:?}");
        assert_eq!(rig.sent.len(), sent, "{name:?}");
    }
    let mut rig = denied();
    rig.client(json!({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":["destroy"]}}));
    assert_eq!(rig.heard()[0]["error"]["code"], -32602);
    // What is neither listed nor like anything denied is the server's to know.
    rig.client(call(4, "hidden"));
    assert_eq!(rig.take(0, "tools/call")["id"], 4);
}

#[test]
fn a_call_that_its_server_took_and_did_not_answer_may_have_had_an_effect() {
    let refused = |status| Undelivered::Refused { status, body: Bytes::new() };
    let unreachable = Undelivered::Unreachable;
    for (why, unknown) in [
        (Undelivered::StreamEnded, true),
        (unreachable(Reason::BadHttp { detail: "cut".to_owned() }), true),
        (unreachable(Reason::NotMcp { content_type: "text/html".to_owned(), excerpt: String::new() }), true),
        (unreachable(Reason::MessageTooLarge { limit: 1 }), true),
        (refused(502), true),
        (refused(403), false),
        (unreachable(Reason::Unreachable { detail: "connection refused".to_owned() }), false),
    ] {
        let mut rig = one();
        rig.client(call(1, "a"));
        let event = Event::Undelivered { id: Some(Bytes::from_static(b"1")), why };
        let generation = rig.generation(0);
        rig.relay.server(rig.now, FromServer { server: 0, generation, event });
        rig.collect();
        let heard = rig.heard();
        let text = heard[0]["error"]["message"].as_str().unwrap();
        assert_eq!(text.contains("Whether the call had an effect is not known"), unknown, "{text}");
        assert_eq!(text.contains("not available"), !unknown, "{text}");
        assert!(!unknown || !text.contains("check the"), "{text}");
    }
}

/// A client of the era without sessions, over HTTP.
fn shared() -> Rig {
    let mut rig = Rig::new(&["fake"], false, Arc::default());
    rig.relay = Relay::new(Arc::new(world(None, true)));
    rig.client(modern(1, "server/discover", json!({})));
    let result =
        json!({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}});
    rig.answer(0, "server/discover", result);
    let schema = json!({"type":"object","additionalProperties":false,
        "properties":{"x":{"type":"string","description":"What it is. ".repeat(40)}}});
    let tools = json!([{"name":"wipe","description":"Wipes.","inputSchema":schema}]);
    rig.answer(0, "tools/list", json!({"resultType":"complete","tools":tools}));
    rig.client(modern(2, "tools/list", json!({})));
    rig.heard();
    rig
}

fn modern(id: u32, method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}});
    json!({"jsonrpc":"2.0","id":id,"method":method,"params":params})
}

fn wipe(id: u32, arguments: Value) -> Value {
    modern(id, "tools/call", json!({"name":"wipe","arguments":arguments}))
}

/// The value to be added to a call.
fn code(text: &str) -> String {
    let (_, rest) = text.split_once("deadweight_confirm\":\"").unwrap_or_else(|| panic!("{text}"));
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn what_one_client_was_shown_counts_for_no_other_that_cannot_be_told_from_it() {
    let mut rig = shared();
    rig.client(wipe(3, json!({"x":"y"})));
    let text = text_of(&rig.heard()[0]);
    assert!(text.contains("Not run yet"), "{text}");
    // Another one's first call, which is the same.
    rig.client(wipe(4, json!({"x":"y"})));
    assert!(text_of(&rig.heard()[0]).contains("Not run yet"));
    for wrong in [json!("no"), json!(null)] {
        rig.client(wipe(5, json!({"x":"y","deadweight_confirm":wrong})));
        assert!(text_of(&rig.heard()[0]).contains("Not run yet"));
    }
    assert!(rig.sent.is_empty(), "{:?}", rig.sent);
    // What was shown travels in the call, and ends here.
    rig.client(wipe(6, json!({"x":"y","deadweight_confirm":code(&text)})));
    assert_eq!(rig.take(0, "tools/call")["params"]["arguments"], json!({"x":"y"}));
    // A load shows it too.
    let load = modern(7, "tools/call", json!({"name":"load_tool_schemas","arguments":{"tools":["wipe"]}}));
    rig.client(load);
    let heard = rig.heard();
    let loaded = heard[0]["result"]["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert_eq!(code(loaded), code(&text));
    rig.client(wipe(8, json!({"x":"y"})));
    assert!(text_of(&rig.heard()[0]).contains("Not run yet"));
}
