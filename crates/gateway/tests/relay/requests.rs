//! Requests: what reaches the provider is what the client sent.

use crate::common::{Gate, get, post};
use deadweight_testkit::raw_http::RawHttp;

fn upstream() -> RawHttp {
    RawHttp::start(|_, answer| answer.json(200, "{\"ok\":true}")).unwrap()
}

fn lower(headers: &[(String, String)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect()
}

#[test]
fn path_query_headers_and_body_arrive_as_they_were_sent() {
    let server = upstream();
    let gate = Gate::to(&server.at(""));
    let path = "/v1/messages?beta=true&x=%2f%2F&&y=a+b%20c&z={}|";
    let headers = [
        ("X-Api-Key", "sk-ant-1"),
        ("anthropic-version", "2023-06-01"),
        ("Anthropic-Beta", "a-1"),
        ("X-Stainless-Retry-Count", "0"),
        ("ANTHROPIC-BETA", "b-2, c-3"),
        ("accept", "*/*"),
        ("X-Odd", "  "),
        ("x-bytes", "caf\u{e9}"),
        ("Content-Type", "application/json"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
    ];
    let body = b" {\"model\":\"m\", \"messages\":[] ,\"n\":1.0e3,\"big\":123456789012345678901234567890}\n";
    let answer = gate.ask(&post(path, &headers, body));
    assert_eq!((answer.status(), answer.text().as_str()), (200, "{\"ok\":true}"));
    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
    assert_eq!(request.body, body);
    let host = server.at("").replace("http://", "");
    let mut expected = vec![("Host".to_owned(), host)];
    // A header of several values is one entry of the table that HTTP libraries keep: its values stand together.
    for name in ["X-Api-Key", "anthropic-version"] {
        expected.extend(
            headers.iter().filter(|(own, _)| *own == name).map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
        );
    }
    expected.push(("Anthropic-Beta".to_owned(), "a-1".to_owned()));
    expected.push(("ANTHROPIC-BETA".to_owned(), "b-2, c-3".to_owned()));
    let rest = ["X-Stainless-Retry-Count", "accept", "X-Odd", "x-bytes", "Content-Type", "accept-encoding"];
    for name in rest {
        let (_, value) = headers.iter().find(|(own, _)| *own == name).unwrap();
        expected.push((name.to_owned(), value.trim().to_owned()));
    }
    expected.push(("Content-Length".to_owned(), body.len().to_string()));
    assert_eq!(request.headers, expected);
    let begun = gate.begun();
    assert_eq!((begun.path.as_str(), begun.method.as_str()), ("/v1/messages", "POST"));
    assert_eq!(begun.received.bytes().unwrap(), &body[..]);
    assert!(begun.received.is_same_memory(&begun.sent));
    assert_eq!(begun.headers.get("anthropic-beta"), Some("a-1"));
    assert!(!format!("{begun:?}").contains("sk-ant-1"), "a key was told");
}

#[test]
fn a_prefix_is_taken_off_and_the_rest_goes_behind_the_providers_own_path() {
    let server = upstream();
    let gate = Gate::to(&server.at("/base/"));
    for (path, expected) in [
        ("/openai/v1/models?a=/openai", "/base/v1/models?a=/openai"),
        ("/anthropic/v1/messages", "/base/v1/messages"),
        ("/gemini", "/base/"),
        ("/gemini?x", "/base/?x"),
        ("/anthropic//v1/../x%00", "/base//v1/../x%00"),
        ("/v1/messages?", "/base/v1/messages?"),
    ] {
        assert_eq!(gate.ask(&get(path, &[])).status(), 200, "{path}");
        assert_eq!(server.requests().last().unwrap().path, expected, "{path}");
    }
}

#[test]
fn what_belongs_to_the_connection_is_not_sent_on() {
    let server = upstream();
    let gate = Gate::to(&server.at(""));
    let headers = [
        ("Connection", "keep-alive, X-Hop"),
        ("X-Hop", "1"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Authorization", "Basic eDp5"),
        ("Proxy-Connection", "keep-alive"),
        ("TE", "gzip"),
        ("Upgrade", "h2c"),
        ("x-deadweight-token", "t"),
        ("X-Kept", "1"),
    ];
    gate.ask(&post("/v1/messages", &headers, b"{}"));
    let request = server.requests().remove(0);
    let names: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Host", "X-Kept", "Content-Length"]);
}

#[test]
fn a_chunked_body_stays_one_and_takes_its_trailers_along() {
    let server = upstream();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    client.send(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n");
    client.send(b"Content-Length: 4\r\nTrailer: X-Sum\r\n\r\n3\r\n{\"a\r\n");
    client.send(b"4;ext=1\r\n\":1}\r\n0\r\nX-Sum: 7\r\n\r\n");
    assert_eq!(client.answer().status(), 200);
    let request = server.requests().remove(0);
    assert_eq!(request.body, b"{\"a\":1}");
    assert!(request.header("content-length").is_none(), "two lengths were sent on");
    assert!(lower(&request.headers).contains(&("transfer-encoding".into(), "chunked".into())));
    assert_eq!(gate.begun().received.length, 7);
}

#[test]
fn a_connection_is_used_again_on_both_sides() {
    let server = upstream();
    let gate = Gate::to(&server.at(""));
    let mut client = gate.client();
    for index in 0..20 {
        client.send(&post("/v1/messages", &[], format!("{{\"n\":{index}}}").as_bytes()));
        assert_eq!(client.answer().status(), 200);
    }
    let connects = gate.handle.counted().connects.load(std::sync::atomic::Ordering::Relaxed);
    assert!(connects <= 2, "{connects} connections for 20 requests");
    assert_eq!(server.requests().len(), 20);
}

#[test]
fn head_and_methods_of_ones_own_pass() {
    let server = RawHttp::start(|request, answer| {
        if request.method == "HEAD" {
            return answer.whole(200, &[("content-length", "1234"), ("x", "y")], b"");
        }
        answer.json(200, "{}")
    })
    .unwrap();
    let gate = Gate::to(&server.at(""));
    for method in ["DELETE", "PUT", "PATCH", "OPTIONS", "PURGE-IT"] {
        let answer =
            gate.ask(format!("{method} /openai/v1/files/1 HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes());
        assert_eq!(answer.status(), 200, "{method}");
        assert_eq!(server.requests().last().unwrap().method, method);
    }
    let answer = gate.ask(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!((answer.status(), answer.header("x-deadweight-answer")), (200, None));
    let mut client = gate.client();
    client.send(b"HEAD / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(client.head().unwrap().status(), 200);
    assert_eq!(server.requests().len(), 5, "a look at the gateway went upstream");
}
