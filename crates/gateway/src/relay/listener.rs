//! Connections of clients: accepted, bounded, served over HTTP/1.1 or HTTP/2 as they begin, and let finish at the end.

use super::config::{Limits, Listen};
use super::forward::{Door, Relay};
use super::line::Line;
use super::notes::{Level, Note};
use super::{Phase, reached};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How a connection begins that speaks HTTP/2 from its first byte.
const H2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// A port that is listened on.
#[derive(Debug)]
pub(crate) struct Bound {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    listen: Listen,
}

impl Bound {
    pub(crate) fn new(listen: Listen) -> io::Result<Self> {
        let at = listen.address;
        let socket =
            if at.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
        // A gateway that is started again gets its port, whatever is left of old connections.
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        let listener = socket.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, listen })
    }

    /// Accepts until the gateway is to end.
    pub(crate) async fn accept(
        self,
        relay: Arc<Relay>,
        places: Arc<Semaphore>,
        phase: watch::Receiver<Phase>,
    ) {
        loop {
            let place = tokio::select! {
                () = reached(&phase, Phase::Draining) => return,
                place = Arc::clone(&places).acquire_owned() => place,
            };
            // The semaphore is never closed.
            let Ok(place) = place else { return };
            let accepted = tokio::select! {
                () = reached(&phase, Phase::Draining) => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let door = Door {
                        address: self.address,
                        provider: self.listen.provider,
                        agent: self.listen.agent.clone(),
                        line: None,
                    };
                    tokio::spawn(connection(stream, door, Arc::clone(&relay), place, phase.clone()));
                }
                Err(error) => {
                    let note = Note::new(
                        Level::Warning,
                        "accept",
                        format!("a connection could not be accepted: {error}"),
                    );
                    relay.desk.notes.tell(note);
                    // Out of descriptors, for instance: it does not get better at once.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Serves one connection, until it ends, or the gateway waits for it no longer.
async fn connection(
    stream: TcpStream,
    door: Door,
    relay: Arc<Relay>,
    place: OwnedSemaphorePermit,
    phase: watch::Receiver<Phase>,
) {
    relay.desk.counted.connections.fetch_add(1, Ordering::Relaxed);
    let limits = relay.rules().config.limits.clone();
    let (inner, own) = (phase.clone(), Arc::clone(&relay));
    let serve = async move {
        match begins(&stream, limits.idle_time, limits.head_time).await {
            Some(true) => serve_h2(stream, door, own, limits, inner).await,
            Some(false) => serve_h1(stream, door, own, limits, inner).await,
            None => {}
        }
    };
    tokio::select! {
        () = serve => {}
        () = reached(&phase, Phase::Stopping) => {}
    }
    relay.desk.counted.connections.fetch_sub(1, Ordering::Relaxed);
    drop(place);
}

/// Whether the connection begins as HTTP/2 does; none where it begins with nothing for as long as it may be idle, or with so
/// little that it cannot be told for as long as a head may take, and where it ends with that.
async fn begins(stream: &TcpStream, idle: Duration, head: Duration) -> Option<bool> {
    tokio::time::timeout(idle, stream.readable()).await.ok()?.ok()?;
    let mut first = [0; H2.len()];
    let peek = async {
        loop {
            let count = stream.peek(&mut first).await.ok()?;
            let seen = first.get(..count).unwrap_or_default();
            if seen.is_empty() {
                return None;
            }
            // `POST` and `PUT` differ in the second byte.
            if seen.len() >= 4 || !H2.starts_with(seen) {
                return Some(H2.starts_with(seen));
            }
            // What is there stays there while it is only looked at, so that the end behind it does not show by itself.
            if stream.ready(Interest::READABLE).await.ok()?.is_read_closed() {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(head, peek).await.ok()?
}

async fn serve_h1(
    stream: TcpStream,
    mut door: Door,
    relay: Arc<Relay>,
    limits: Limits,
    phase: watch::Receiver<Phase>,
) {
    let (line, status) = Line::new(stream, limits.head_time);
    door.line = Some(Arc::clone(&status));
    let door = Arc::new(door);
    let service = service_fn(move |request| {
        let busy = status.busy();
        let (relay, door) = (Arc::clone(&relay), Arc::clone(&door));
        async move {
            let answered = relay.answer(request, door).await;
            answered.map(|mut response| {
                response.body_mut().keep_busy(busy);
                response
            })
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_time)
        .max_headers(limits.headers)
        .max_header_size(limits.head_bytes)
        .preserve_header_case(true)
        .auto_date_header(false)
        .writev(true);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(line), service).with_upgrades());
    tokio::select! {
        _ = connection.as_mut() => return,
        () = reached(&phase, Phase::Draining) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn serve_h2(
    stream: TcpStream,
    door: Door,
    relay: Arc<Relay>,
    limits: Limits,
    phase: watch::Receiver<Phase>,
) {
    let door = Arc::new(door);
    let service = service_fn(move |request| Arc::clone(&relay).answer(request, Arc::clone(&door)));
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .initial_stream_window_size(2 << 20)
        .initial_connection_window_size(16 << 20)
        .keep_alive_interval(limits.idle_time)
        .keep_alive_timeout(limits.head_time)
        .auto_date_header(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = reached(&phase, Phase::Draining) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
