//! Lists as they should be, and as they should not.

use crate::support::{ask, ask_with, names, patient, script, spec};
use deadweight_mcp::{Anomaly, Era, Options, Reason, TransportKind, list_all, no_progress};
use deadweight_testkit::scripted_mcp::{Act, Endless, Generate, Page, Script};
use serde_json::json;
use std::sync::Mutex;

#[tokio::test]
async fn definitions_arrive_byte_for_byte() {
    let odd = [
        r#"{ "name" : "a", "inputSchema" : { "type":"object" , "n":[1.0,1e400,-0,12345678901234567890] } }"#,
        r#"{"inputSchema":true,"name":"boolean schema","outputSchema":false}"#,
        r#"{"name":"<|endoftext|>","description":"<|im_start|>system\u0000\u001b[31m","inputSchema":{"x":{"x":1},"x":2}}"#,
        "{\"name\":\"工具\",\"description\":\"أداة للبحث 🛠️ \u{202e}gnp.exe\",\"inputSchema\":{}}",
        r#"{"name":"half","description":"\ud83d","inputSchema":{},"unknown":{"kept":[]}}"#,
    ];
    let mut script = script("bytes");
    script.instructions = Some("Be kind.\n🙂".to_owned());
    for tool in odd {
        script = script.raw_tool(tool);
    }
    let listing = ask(&script).await.unwrap();
    let sent: Vec<&[u8]> = odd.iter().map(|tool| tool.as_bytes()).collect();
    assert_eq!(listing.tools, sent);
    assert_eq!(listing.label, script.name);
    let info = listing.server_info.as_ref().unwrap();
    assert_eq!((info.name.as_str(), info.version.as_deref()), (script.name.as_str(), Some("1.0")));
    assert_eq!(listing.instructions.as_deref(), Some("Be kind.\n🙂"));
    assert_eq!((listing.era, listing.transport, listing.pages), (Era::Legacy, TransportKind::Stdio, 1));
    assert_eq!(listing.protocol_version, "2025-11-25");
    assert!(listing.tools_supported);
    assert_eq!(listing.anomalies, []);
}

#[tokio::test]
async fn every_page_is_read_and_told() {
    let mut script = script("pages");
    for page in 0..30 {
        let tools = vec![json!({"name": format!("tool-{page}"), "inputSchema": {}})];
        script = script.page(Page { tools, ..Page::default() });
    }
    let told = Mutex::new(Vec::new());
    let watch =
        |progress: deadweight_mcp::Progress<'_>| told.lock().unwrap().push((progress.pages, progress.tools));
    let listing = deadweight_mcp::list(&spec(&script), &patient(), &watch).await.unwrap();
    assert_eq!(listing.pages, 30);
    assert_eq!(names(&listing), (0..30).map(|page| format!("tool-{page}")).collect::<Vec<_>>());
    let told = told.into_inner().unwrap();
    assert!(told.is_sorted(), "{told:?}");
    assert!((0..=30).all(|page| told.contains(&(page, page))), "{told:?}");
}

#[tokio::test]
async fn an_empty_cursor_ends_the_list() {
    let page = Page { tools: vec![json!({"name": "a"})], next: Some(json!("")), ..Page::default() };
    assert_eq!(ask(&script("empty-cursor").page(page)).await.unwrap().tools.len(), 1);
}

#[tokio::test]
async fn a_repeated_cursor_is_refused() {
    let page = |name: &str, next: &str| Page {
        tools: vec![json!({"name": name})],
        next: Some(json!(next)),
        ..Page::default()
    };
    let script = script("repeat").page(page("a", "x")).page(page("b", "y")).page(page("c", "x"));
    let error = ask(&script).await.unwrap_err();
    assert_eq!(error.reason, Reason::RepeatedCursor { first: 1, again: 3 });
    assert!(error.to_string().ends_with("has no end: page 3 leads back to where page 1 led"), "{error}");
}

#[tokio::test]
async fn a_list_that_brings_nothing_new_is_refused() {
    let mut script = script("same");
    script.endless = Some(Endless { new_tools: 0 });
    let error = ask(&script).await.unwrap_err();
    assert!(
        matches!(error.reason, Reason::EndlessPages { pages: 65, tools: 1, nothing_new: true }),
        "{:?}",
        error.reason
    );
}

#[tokio::test]
async fn a_list_that_grows_for_ever_is_refused() {
    let mut script = script("growing");
    script.endless = Some(Endless { new_tools: 2 });
    let mut options = patient();
    options.max_pages = 500;
    let error = ask_with(&script, options).await.unwrap_err();
    assert_eq!(error.reason, Reason::EndlessPages { pages: 500, tools: 1000, nothing_new: false });
    options.max_pages = 10_000;
    options.max_catalogue_bytes = 20_000;
    let error = ask_with(&script, options).await.unwrap_err();
    assert_eq!(error.reason, Reason::CatalogueTooLarge { limit: 20_000 });
}

#[tokio::test]
async fn names_that_come_twice_are_kept_and_reported() {
    let script = script("twice")
        .tool("a")
        .tool("b")
        .page(Page { tools: vec![json!({"name": "a"})], ..Page::default() });
    let listing = ask(&script).await.unwrap();
    assert_eq!(names(&listing), ["a", "b", "a"]);
    assert_eq!(listing.anomalies, [Anomaly::DuplicateName { name: "a".into(), first: 0, again: 2 }]);
}

#[tokio::test]
async fn a_malformed_page_is_an_error_and_never_a_part_of_a_count() {
    let cases = [
        (r#"{"tools":[{"name":"a"},3]}"#, "tool 2 is not an object"),
        (r#"{"tools":"none"}"#, "its `tools` is not an array"),
        (r"{}", "it has no `tools`"),
        (r#"{"tools":[{"inputSchema":{}}]}"#, "tool 1 has no name"),
        (r#"{"tools":[],"nextCursor":1}"#, "its `nextCursor` is not a string"),
        (r"null", "its result is not an object"),
    ];
    for (result, detail) in cases {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
        let error = ask(&script("malformed").on("tools/list", [Act::Answer(answer)])).await.unwrap_err();
        assert_eq!(error.reason, Reason::Malformed { page: Some(1), detail: detail.into() });
    }
    // The first page is good; the second is not; none of it counts.
    let page = Page { raw: vec!["[]".into()], ..Page::default() };
    let error = ask(&script("second").tool("a").page(page)).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Malformed { page: Some(2), .. }), "{error}");
}

#[tokio::test]
async fn no_tools_is_known_and_not_assumed() {
    let mut script = script("none");
    script.no_tools = true;
    let listing = ask(&script).await.unwrap();
    assert!(listing.tools.is_empty() && !listing.tools_supported);
    // With the capability declared, the same refusal is a fault.
    let refusal = Act::Error { code: -32601, message: "Method not found".into() };
    let error = ask(&Script { no_tools: false, ..script.on("tools/list", [refusal]) }).await.unwrap_err();
    assert!(
        matches!(error.reason, Reason::ServerError { method: "tools/list", code: -32601, .. }),
        "{:?}",
        error.reason
    );
    // A list that is simply empty is one page of nothing.
    let listing = ask(&crate::support::script("empty")).await.unwrap();
    assert_eq!((listing.tools.len(), listing.tools_supported, listing.pages), (0, true, 1));
}

#[tokio::test]
async fn fifty_megabytes_are_a_list_like_any_other() {
    let generate = Generate { tools: 50_000, description: 1_000 };
    let script = script("huge").page(Page { generate: Some(generate), ..Page::default() });
    let listing = ask(&script).await.unwrap();
    assert_eq!(listing.tools.len(), 50_000);
    let bytes: usize = listing.tools.iter().map(bytes::Bytes::len).sum();
    assert!(bytes > 50_000_000, "{bytes}");
    assert!(listing.tools[49_999].starts_with(br#"{"name":"made_up_49999","#));
    let mut options = patient();
    options.max_message_bytes = 1 << 20;
    let error = ask_with(&script, options).await.unwrap_err();
    assert_eq!(error.reason, Reason::MessageTooLarge { limit: 1 << 20 });
}

#[tokio::test]
async fn both_eras_are_spoken() {
    let modern = Script { era: deadweight_testkit::scripted_mcp::Era::Modern, ..script("modern") };
    let mut modern = modern.tool("a").page(Page { tools: vec![json!({"name": "b"})], ..Page::default() });
    modern.instructions = Some("new".into());
    let listing = ask(&modern).await.unwrap();
    assert_eq!((listing.era, listing.protocol_version.as_str()), (Era::Modern, "2026-07-28"));
    assert_eq!(names(&listing), ["a", "b"]);
    assert_eq!(listing.server_info.unwrap().name, modern.name);
    assert_eq!(listing.instructions.as_deref(), Some("new"));
    let both = Script { era: deadweight_testkit::scripted_mcp::Era::Both, ..script("both") }.tool("a");
    assert_eq!(ask(&both).await.unwrap().era, Era::Legacy);
    let old = Script { protocol_version: Some("2024-11-05".into()), ..script("old") }.tool("a");
    let listing = ask(&old).await.unwrap();
    assert_eq!((listing.protocol_version.as_str(), listing.anomalies.len()), ("2024-11-05", 0));
    let odd = Script { protocol_version: Some("1999-01-01".into()), ..script("odd") }.tool("a");
    let listing = ask(&odd).await.unwrap();
    assert_eq!(listing.anomalies, [Anomaly::UnknownProtocolVersion { version: "1999-01-01".into() }]);
}

#[tokio::test]
async fn an_unknown_era_says_what_it_offers() {
    let refusal = Act::Error { code: -32600, message: "no".into() };
    let offer = Act::Answer(
        r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"v","data":{"supported":["2031-01-01"]}}}"#.into(),
    );
    let script = script("future").on("initialize", [refusal.clone()]).on("server/discover", [offer]);
    let error = ask(&script).await.unwrap_err();
    assert_eq!(error.reason, Reason::UnsupportedProtocol { supported: vec!["2031-01-01".into()] });
    // One that refuses both is quoted with what it said first.
    let script =
        crate::support::script("no").on("initialize", [refusal]).on("server/discover", [Act::Exit(4)]);
    let error = ask(&script).await.unwrap_err();
    assert_eq!(
        error.reason,
        Reason::ServerError { method: "initialize", code: -32600, message: "no".into() }
    );
}

#[tokio::test]
async fn many_are_asked_at_once_and_one_that_fails_hides_no_other() {
    let scripts: Vec<Script> = (0..12)
        .map(|index| match index {
            3 => script("dies").on("start", [Act::Exit(1)]),
            7 => script("refuses").on("tools/list", [Act::Error { code: 1, message: "no".into() }]),
            _ => script("many").tool("a").on("start", [Act::Sleep(20 * index)]),
        })
        .collect();
    let mut specs: Vec<_> = scripts.iter().map(spec).collect();
    specs.push(deadweight_mcp::ServerSpec::stdio("/no/such/program", Vec::<String>::new()).named("missing"));
    let seen = Mutex::new(std::collections::BTreeSet::new());
    let watch = |progress: deadweight_mcp::Progress<'_>| {
        seen.lock().unwrap().insert(progress.index);
    };
    let answers = list_all(&specs, &patient(), &watch).await;
    let failed: Vec<usize> =
        answers.iter().enumerate().filter(|(_, answer)| answer.is_err()).map(|(index, _)| index).collect();
    assert_eq!(failed, [3, 7, 12]);
    assert!(seen.into_inner().unwrap().is_superset(&(0..12).collect()));
    assert_eq!(answers[11].as_ref().unwrap().label, scripts[11].name);
    for script in &scripts {
        assert_eq!(crate::support::running(&script.name), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_label_given_by_the_user_wins() {
    let script = script("own").tool("a");
    let listing = deadweight_mcp::list(&spec(&script).named("mine"), &Options::default(), &no_progress).await;
    assert_eq!(listing.unwrap().label, "mine");
}
