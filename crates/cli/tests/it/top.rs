//! `deadweight top` as a command: what it prints of a gateway, and of what is none.

use crate::sandbox::Sandbox;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Something that answers every request so.
fn answering(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 4_096];
            let _ = stream.read(&mut head);
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    format!("http://{address}")
}

#[test]
fn what_is_no_gateway_is_no_empty_screen() {
    let sandbox = Sandbox::new();
    for (status, body) in [
        ("200 OK", "{}"),
        ("200 OK", "<html>It works!</html>"),
        ("200 OK", "{\"schema\":\"deadweight/sessions/2\"}"),
        ("404 Not Found", "{\"error\":{\"message\":\"no route\"}}"),
        ("401 Unauthorized", ""),
        (
            "503 Service Unavailable",
            "{\"error\":{\"what\":\"the ledger is locked\",\"file\":\"/x\",\"try\":\"end it\"}}",
        ),
    ] {
        let url = answering(status, body);
        assert_run!(sandbox.run(&["top", "--once", "--url", &url]));
    }
    assert_run!(sandbox.run(&["top", "--once", "--url", "http://127.0.0.1:9"]));
    assert_run!(sandbox.run(&["top", "--once", "--url", "nonsense"]));
}

struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_gateway_that_has_seen_nothing() {
    let sandbox = Sandbox::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_deadweight"))
        .args(["gateway", "--listen", "0", "--json", "-q"])
        .env("HOME", sandbox.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _gateway = Gateway(child);
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_run!(sandbox.run(&["top", "--once", "--url", ready["url"].as_str().unwrap()]));
    // The environment will do, as `run` sets it for its agent.
    let named = Sandbox::new().env("DEADWEIGHT_GATEWAY", ready["url"].as_str().unwrap());
    assert!(named.run(&["top", "--once"]).starts_with("exit: 0\n"));
}
