//! Serves the pages of a ledger on loopback, without a gateway around them, until the process ends.
#![allow(unreachable_pub, reason = "shared by tests of several crates")]

use deadweight_gateway::pages::{Dashboard, EVENTS_BEGIN, EVENTS_IDLE, ReplyBody, event};
use deadweight_price::Book;
use deadweight_store::Place;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Serves the ledger in `file`; the address. `clock`: what time it is, in milliseconds since 1970.
pub fn serve(file: &Path, clock: fn() -> u64) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let dashboard = Dashboard::new(Place::File(file.to_owned()), address.clone()).with_clock(clock);
    let dashboard = dashboard.with_book(Arc::new(Book::new()));
    let file = file.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (dashboard, file) = (dashboard.clone(), file.clone());
            std::thread::spawn(move || answer(&dashboard, &file, stream));
        }
    });
    Ok(address)
}

fn answer(dashboard: &Dashboard, file: &Path, mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::from("-");
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let reply = runtime.block_on(dashboard.answer(method, path, query));
    let mut head = format!("HTTP/1.1 {} -\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    match reply.body {
        ReplyBody::Whole(body) => stream.write_all(&body),
        ReplyBody::Events => events(file, stream),
    }
}

/// Tells of every change of the ledger's files.
fn events(file: &Path, mut stream: TcpStream) -> io::Result<()> {
    let wal = PathBuf::from(format!("{}-wal", file.display()));
    // What is written last by the last of all is folded into the file at once.
    let of = |file: &Path| {
        std::fs::metadata(file).and_then(|metadata| Ok((metadata.len(), metadata.modified()?))).ok()
    };
    let seen = || (of(file), of(&wal));
    stream.write_all(EVENTS_BEGIN.as_bytes())?;
    let (mut last, mut count) = (seen(), 0);
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = seen();
        if now != last {
            (last, count) = (now, count + 1);
            stream.write_all(event(count).as_bytes())?;
        } else {
            stream.write_all(EVENTS_IDLE.as_bytes())?;
        }
    }
}
