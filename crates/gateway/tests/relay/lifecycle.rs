//! The gateway ends, and is told something else while it runs.

use crate::common::{Gate, Given, SOON, eventually, get, post};
use deadweight_gateway::Provider;
use deadweight_gateway::exchange::End;
use deadweight_gateway::relay::{Config, ConfigError, Gateway, Parts, Secret, StartError, Target};
use deadweight_testkit::raw_http::RawHttp;
use std::net::TcpStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn what_is_under_way_comes_to_its_end() {
    let (sender, go_on) = mpsc::channel::<()>();
    let go_on = Mutex::new(go_on);
    let server = RawHttp::start(move |_, answer| {
        answer.events(&[])?;
        answer.piece(b"data: 1\n\n")?;
        go_on.lock().unwrap().recv().unwrap();
        answer.piece(b"data: 2\n\n")?;
        answer.end()
    })
    .unwrap();
    let given = Given { drain: Some(SOON), ..Given::default() };
    let mut gate = Gate::with(&server.at(""), given, |_| {});
    let mut idle = gate.client();
    idle.send(&get("/healthz", &[]));
    assert_eq!(idle.answer().status(), 200);
    let mut client = gate.client();
    client.send(&post("/v1/messages", &[], b"{}"));
    let mut answer = client.head().unwrap();
    client.chunk().unwrap();
    gate.tell_to_stop();
    let address = gate.address;
    eventually("the port to be closed", || TcpStream::connect(address).is_err());
    assert!(idle.is_closed_within(SOON), "an idle connection was kept open");
    sender.send(()).unwrap();
    client.body(&mut answer);
    assert_eq!((answer.text().as_str(), answer.whole), ("data: 2\n\n", true));
    let began = Instant::now();
    gate.wait();
    assert!(began.elapsed() < Duration::from_secs(5), "it did not end with the last request");
    assert_eq!(gate.ended().end, End::Complete);
}

#[test]
fn what_does_not_end_in_time_is_cut_off_and_told() {
    let server = RawHttp::start(|_, answer| {
        answer.events(&[])?;
        answer.piece(b"data: 1\n\n")?;
        answer.hang()
    })
    .unwrap();
    let given = Given { drain: Some(Duration::from_millis(200)), ..Given::default() };
    let mut gate = Gate::with(&server.at(""), given, |_| {});
    let mut client = gate.client();
    client.send(&post("/v1/messages", &[], b"{}"));
    let mut answer = client.head().unwrap();
    client.chunk().unwrap();
    let began = Instant::now();
    gate.tell_to_stop();
    gate.wait();
    assert!(began.elapsed() < Duration::from_secs(5));
    client.body(&mut answer);
    assert!(!answer.whole, "what was cut off looks as if it had ended");
    assert_eq!(gate.ended().end, End::Stopped);
}

#[test]
fn rules_change_for_requests_that_come_later() {
    let (one, two) =
        (RawHttp::start(|_, a| a.json(200, "1")).unwrap(), RawHttp::start(|_, a| a.json(200, "2")).unwrap());
    let gate = Gate::to(&one.at(""));
    let mut client = gate.client();
    let mut ask = |headers: &[(&str, &str)]| {
        client.send(&post("/v1/messages", headers, b"{}"));
        client.answer().text()
    };
    assert_eq!(ask(&[]), "1");
    let mut config = Config::new(([127, 0, 0, 1], 1).into());
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Gemini] {
        config.set_upstream(provider, Target::parse(&two.at("")).unwrap());
    }
    gate.handle.reload(config.clone()).unwrap();
    assert_eq!(ask(&[]), "2");
    config.token = Some(Secret::new("hunter22"));
    gate.handle.reload(config.clone()).unwrap();
    assert!(ask(&[]).contains("token"));
    assert_eq!(ask(&[("x-deadweight-token", "hunter22")]), "2");
    let mut without = config.clone();
    without.token = None;
    assert_eq!(gate.handle.reload(without), Err(ConfigError::TokenGone));
    let mut without = config.clone();
    without
        .set_upstream(Provider::Gemini, Target::parse(Provider::Gemini.default_upstream().unwrap()).unwrap());
    assert_eq!(
        gate.handle.reload(without.clone()),
        Err(ConfigError::UpstreamGone { provider: Provider::Gemini })
    );
    without.upstreams.clear();
    assert!(matches!(gate.handle.reload(without), Err(ConfigError::UpstreamGone { .. })));
    config.token = None;
    config.keys = vec![(Provider::Anthropic, Secret::new("k"))];
    assert_eq!(gate.handle.reload(config), Err(ConfigError::KeysWithoutToken));
    assert_eq!(ask(&[("x-deadweight-token", "hunter22")]), "2");
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (sink, _events) = deadweight_gateway::exchange::channel(1);
    let parts = Parts {
        sink,
        own: None,
        editor: None,
        clock: None,
        on_note: Arc::new(|_| {}),
        tls: Some(crate::common::no_tls()),
    };
    let config = Config::new(taken.local_addr().unwrap());
    let error = runtime.block_on(async { Gateway::bind(config, parts) }).unwrap_err();
    assert!(matches!(error, StartError::Bind { .. }), "{error}");
}
