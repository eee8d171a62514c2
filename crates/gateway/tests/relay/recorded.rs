//! What real clients send, recorded by `cargo xtask fixtures` into `recorded/`: through the gateway to a raw socket, each body
//! arrives with the hash with which it left; with levers on, save at the places that the receipt names.
//!
//! Nothing of it is committed. `cargo xtask test` records the clients that the tests run, where they are not recorded yet.

use crate::common::{Client, Gate, SOON};
use crate::edited::{Body, Rig, policy};
use deadweight_gateway::Provider;
use deadweight_gateway::exchange::{Event, Receipt};
use deadweight_gateway::relay::Target;
use deadweight_testkit::raw_http::RawHttp;
use deadweight_testkit::upstream::Recorded;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// What a client sent at a time.
struct Request {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What a client sent, in its order.
fn recording(folder: &Path) -> Option<(String, Vec<Request>)> {
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).ok()?).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let requests = index["requests"].as_array()?.iter().filter(|request| request["body"].is_string());
    let requests = requests.map(|request| {
        let headers = request["headers"].as_array().unwrap().iter();
        Request {
            path: text(&request["path"]),
            // The connection's own are made anew; keys were left out.
            headers: headers
                .map(|header| (text(&header[0]), text(&header[1])))
                .filter(|(name, _)| {
                    let own = ["host", "connection", "content-length", "transfer-encoding", "expect"];
                    !own.contains(&name.to_ascii_lowercase().as_str())
                })
                .collect(),
            body: fs::read(folder.join(text(&request["body"]))).unwrap(),
        }
    });
    Some((text(&index["layout"]), requests.collect()))
}

#[allow(clippy::print_stdout)]
fn recordings() -> Vec<(String, Vec<Request>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recorded");
    let Ok(entries) = fs::read_dir(&root) else {
        println!("skipped: nothing is recorded on this machine (cargo xtask fixtures)");
        return Vec::new();
    };
    let mut all: Vec<_> = entries.filter_map(|entry| recording(&entry.unwrap().path())).collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

fn headers(request: &Request) -> Vec<(&str, &str)> {
    request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn send(client: &mut Client, request: &Request) {
    client.send(&crate::common::post(&request.path, &headers(request), &request.body));
    assert_eq!(client.answer().status(), 200);
}

#[test]
fn every_body_arrives_with_its_hash() {
    let (sender, got) = channel::<Recorded>();
    let sender = Mutex::new(sender);
    let server = RawHttp::start(move |request, answer| {
        sender.lock().unwrap().send(request.clone()).unwrap();
        answer.json(200, "{}")
    })
    .unwrap();
    let gate = Gate::start(&server.at(""), |config| {
        let target = Target::parse(&server.at("")).unwrap();
        Provider::ALL.into_iter().for_each(|provider| config.set_upstream(provider, target.clone()));
    });
    let (mut bodies, mut bytes) = (0, 0);
    for (name, requests) in recordings() {
        let mut client = gate.client();
        for request in &requests {
            send(&mut client, request);
            let arrived = got.recv_timeout(SOON).unwrap();
            let hash = <[u8; 32]>::from(Sha256::digest(&request.body));
            assert_eq!(<[u8; 32]>::from(Sha256::digest(&arrived.body)), hash, "{name} {}", request.path);
            let own: Vec<_> = arrived.headers.iter().filter(|(name, _)| !is_of_connection(name)).collect();
            assert_eq!(own, request.headers.iter().collect::<Vec<_>>(), "{name}: {}", request.path);
            let receipt = loop {
                if let Event::Begun(begun) = gate.events.next_within(SOON).unwrap() {
                    break Receipt::of(&begun.received, &begun.sent);
                }
            };
            assert_eq!(receipt, Receipt { received: Some(hash), sent: Some(hash) }, "{name}");
            bodies += 1;
            bytes += request.body.len();
        }
    }
    println!("{bodies} bodies, {bytes} bytes");
}

fn is_of_connection(name: &str) -> bool {
    ["host", "connection", "content-length"].contains(&name.to_ascii_lowercase().as_str())
}

#[test]
fn with_levers_on_every_byte_that_no_lever_changed_arrives() {
    let rig = Rig::new(policy());
    let (mut bodies, mut edited) = (0, 0);
    for (name, requests) in recordings() {
        let mut client = rig.gate.client();
        for (number, request) in requests.iter().enumerate() {
            let body = Body { wire: &request.body, plain: &request.body, encoding: None };
            let arrived = rig.send_1(&mut client, &request.path, &headers(request), &body, None);
            let sent = rig.check(&format!("{name} request {number}"), &body, &arrived);
            bodies += 1;
            edited += usize::from(!sent.places.is_empty());
            rig.wait(20);
        }
    }
    println!("{bodies} bodies, {edited} of them edited");
}
