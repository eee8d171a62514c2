//! An HTTP server that a test writes out: each request is handed to a function that answers as it likes, breaks off, or
//! keeps silent.
//!
//! ```
//! use deadweight_testkit::raw_http::RawHttp;
//!
//! let server = RawHttp::start(|_, answer| answer.whole(404, &[], b"nothing here"))?;
//! assert!(server.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::upstream::Recorded;
use crate::upstream::http::Connection;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

type Handler = dyn Fn(&Recorded, &mut Answer) -> io::Result<()> + Send + Sync;

/// A server on a free port of 127.0.0.1, until it is dropped.
#[derive(Debug)]
pub struct RawHttp {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    recorded: Mutex<Vec<Recorded>>,
    connections: Mutex<Vec<TcpStream>>,
    stopping: AtomicBool,
}

/// The way back to the client.
#[derive(Debug)]
pub struct Answer {
    stream: TcpStream,
    open: bool,
}

impl RawHttp {
    /// Listens. `handler` is called on a thread of the request's connection.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(
        handler: impl Fn(&Recorded, &mut Answer) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let (handler, accepting): (Arc<Handler>, _) = (Arc::new(handler), Arc::clone(&shared));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.stopping.load(Ordering::SeqCst) {
                    break;
                }
                if let Ok(handle) = stream.try_clone() {
                    lock(&accepting.connections).push(handle);
                }
                let (handler, shared) = (Arc::clone(&handler), Arc::clone(&accepting));
                // The client may leave at any point.
                thread::spawn(move || drop(serve(stream, &*handler, &shared)));
            }
        });
        Ok(Self { address, shared })
    }

    /// A path of the server.
    pub fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.recorded).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, handler: &Handler, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream.try_clone()?)?;
    while let Some(request) = connection.read()? {
        lock(&shared.recorded).push(request.clone());
        let mut answer = Answer { stream: stream.try_clone()?, open: true };
        handler(&request, &mut answer)?;
        if !answer.open {
            break;
        }
    }
    stream.shutdown(Shutdown::Both)
}

impl Drop for RawHttp {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        for connection in lock(&self.shared.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Answer {
    /// A whole answer.
    ///
    /// # Errors
    ///
    /// When the client is gone; so for the others.
    pub fn whole(&mut self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> io::Result<()> {
        let mut bytes = head(status, headers);
        bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
        bytes.extend(body);
        self.stream.write_all(&bytes)
    }

    /// A JSON body.
    pub fn json(&mut self, status: u16, body: &str) -> io::Result<()> {
        self.whole(status, &[("content-type", "application/json")], body.as_bytes())
    }

    /// The head of an answer that comes in pieces.
    pub fn begin(&mut self, status: u16, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut bytes = head(status, headers);
        bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
        self.stream.write_all(&bytes)
    }

    /// The beginning of an event stream.
    pub fn events(&mut self, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut bytes = head(200, headers);
        bytes.extend(b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
        self.stream.write_all(&bytes)
    }

    /// A piece of it.
    pub fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend(bytes);
        chunk.extend(b"\r\n");
        self.stream.write_all(&chunk)
    }

    /// An event with this data.
    pub fn event(&mut self, data: &str) -> io::Result<()> {
        self.piece(format!("event: message\ndata: {data}\n\n").as_bytes())
    }

    /// The end of the stream.
    pub fn end(&mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }

    /// Breaks the connection off.
    pub fn cut(&mut self) -> io::Result<()> {
        self.open = false;
        self.stream.shutdown(Shutdown::Both)
    }

    /// Says nothing more until the client is gone.
    pub fn hang(&mut self) -> io::Result<()> {
        self.open = false;
        while self.stream.read(&mut [0; 1024])? > 0 {}
        Ok(())
    }

    /// Whether the client is gone within this time.
    pub fn is_left_within(&mut self, time: Duration) -> bool {
        let _ = self.stream.set_read_timeout(Some(time));
        let gone = match self.stream.read(&mut [0; 1]) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        };
        let _ = self.stream.set_read_timeout(None);
        gone
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.into_bytes()
}
