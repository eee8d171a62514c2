//! The whole proxy over HTTP: a client, the proxy, a server behind HTTP, in both eras.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

use deadweight_mcp::surface::Settings;
use deadweight_mcp::{HttpSettings, Options, Serve, ServerSpec, serve_http};
use deadweight_testkit::conformance::Served;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

fn serve(url: String) -> Serve {
    Serve {
        specs: vec![ServerSpec::http(url, [])],
        labels: vec!["web".to_owned()],
        aggregate: false,
        settings: Settings { lazy: false, ..Settings::default() },
        lock: None,
        cache: None,
        meaning: None,
        options: Options::default(),
        on_called: Arc::new(|_| ()),
        on_listed: Arc::new(|_| ()),
        on_note: Arc::new(|_| ()),
    }
}

/// One request, and what comes back until `until` is there.
fn ask(address: SocketAddr, method: &str, headers: &str, body: &str, until: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    let length = body.len();
    let head = format!(
        "{method} /mcp HTTP/1.1\r\nhost: {address}\r\n{accept}\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while !String::from_utf8_lossy(&answer).contains(until) {
        match stream.read(&mut part).unwrap() {
            0 => panic!("no {until} in {}", String::from_utf8_lossy(&answer)),
            read => answer.extend_from_slice(&part[..read]),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_eras_pass_through_the_whole_proxy() {
    let server = Served::start().unwrap();
    let (over, is_over) = oneshot::channel::<()>();
    let (ready, address) = oneshot::channel();
    let settings = HttpSettings::at(([127, 0, 0, 1], 0).into());
    let told = |address| {
        let _ = ready.send(address);
    };
    let until = async move { drop(is_over.await) };
    let proxy = tokio::spawn(serve_http(serve(server.url()), settings, told, until));
    let address = address.await.unwrap();
    let client = tokio::task::spawn_blocking(move || {
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let answer = ask(address, "POST", "", initialize, "\"serverInfo\"").to_lowercase();
        let session = answer.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
        let headers = format!("{session}\r\nmcp-protocol-version: 2025-11-25\r\n");
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(ask(address, "POST", &headers, initialized, "\r\n\r\n").starts_with("HTTP/1.1 202"));
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        ask(address, "POST", &headers, list, "test_simple_text");
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_simple_text","arguments":{}}}"#;
        ask(address, "POST", &headers, call, "\"content\"");
        assert!(ask(address, "DELETE", &headers, "", "\r\n\r\n").starts_with("HTTP/1.1 200"));

        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let modern = |method: &str, name: &str, more: &str, until: &str| {
            let name = if name.is_empty() { String::new() } else { format!("mcp-name: {name}\r\n") };
            let headers = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}");
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":{{{meta}{more}}}}}"#);
            let answer = ask(address, "POST", &headers, &body, until);
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""id":"x""#), "{answer}");
        };
        modern("server/discover", "", "", "supportedVersions");
        modern("tools/list", "", "", "test_simple_text");
        modern(
            "tools/call",
            "test_simple_text",
            r#","name":"test_simple_text","arguments":{}"#,
            "\"content\"",
        );
    });
    client.await.unwrap();
    over.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(20), proxy).await.unwrap().unwrap().unwrap();
}
