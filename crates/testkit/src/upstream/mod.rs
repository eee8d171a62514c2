//! A scripted model provider: an HTTP server on loopback that records what it is sent and answers from a script, in the
//! dialect of the request.
//!
//! It is written on plain sockets so that a test can see every byte and break every rule: a stream that is cut, an error
//! inside a stream that began well, an answer that comes late.
//!
//! ```
//! use deadweight_testkit::upstream::{Turn, Upstream};
//!
//! let upstream = Upstream::start([Turn::text("hello")].into_iter().collect())?;
//! // … a client under test talks to `upstream.url()` …
//! assert!(upstream.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod anthropic;
mod gemini;
pub(crate) mod http;
mod openai_chat;
mod openai_responses;
pub(crate) mod render;
mod script;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

pub(crate) use anthropic::block as anthropic_block;
pub use http::{Body, Response};
pub use script::{Answer, Call, Delivery, Script, Step, Turn, Turns, Usage};

/// A request as it came, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `POST`, `GET`, …
    pub method: String,
    /// The path with its query, as in `/v1/messages?beta=true`.
    pub path: String,
    /// The headers in the order in which they came, their names as they were written.
    pub headers: Vec<(String, String)>,
    /// The body as it came, with a chunked transfer put together.
    pub body: Vec<u8>,
}

impl Recorded {
    /// The first header of this name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The body as JSON; `null` when it is not.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// What is asked for, by the path.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::of(&self.method, &self.path)
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Anthropic's `POST …/messages`.
    AnthropicMessages,
    /// Anthropic's `POST …/messages/count_tokens`.
    AnthropicCountTokens,
    /// OpenAI's `POST …/chat/completions`.
    OpenaiChat,
    /// OpenAI's `POST …/responses`.
    OpenaiResponses,
    /// Gemini's `POST …:generateContent`.
    GeminiGenerate,
    /// Gemini's `POST …:streamGenerateContent`.
    GeminiStream,
    /// Gemini's `POST …:countTokens`.
    GeminiCountTokens,
    /// `GET …/models`, with or without a model's name.
    Models,
    /// Anything else.
    Other,
}

impl Endpoint {
    fn of(method: &str, path: &str) -> Self {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        match method {
            "POST" if path.ends_with("/messages") => Self::AnthropicMessages,
            "POST" if path.ends_with("/messages/count_tokens") => Self::AnthropicCountTokens,
            "POST" if path.ends_with("/chat/completions") => Self::OpenaiChat,
            "POST" if path.ends_with("/responses") => Self::OpenaiResponses,
            "POST" if path.ends_with(":generateContent") => Self::GeminiGenerate,
            "POST" if path.ends_with(":streamGenerateContent") => Self::GeminiStream,
            "POST" if path.ends_with(":countTokens") => Self::GeminiCountTokens,
            "GET" if path.contains("/models") => Self::Models,
            _ => Self::Other,
        }
    }

    /// Whether the model is asked to say something, so that a script's turn is the answer.
    pub fn is_generation(self) -> bool {
        matches!(
            self,
            Self::AnthropicMessages
                | Self::OpenaiChat
                | Self::OpenaiResponses
                | Self::GeminiGenerate
                | Self::GeminiStream
        )
    }
}

/// The scripted provider. It listens until it is dropped.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    script: Mutex<Box<dyn Script>>,
    recorded: Mutex<Vec<Recorded>>,
    /// The open connections, by number, so that they can be closed from outside.
    connections: Mutex<BTreeMap<usize, TcpStream>>,
    stopping: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("recorded", &lock(&self.recorded).len()).finish_non_exhaustive()
    }
}

impl Upstream {
    /// Listens on a free port of 127.0.0.1 and answers with the turns of a script, in order; when they have run out,
    /// every further request is answered with an error 500 that says so.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn start(turns: Turns) -> io::Result<Self> {
        Self::with_script(turns)
    }

    /// Listens on a free port of 127.0.0.1 and asks `script` for every answer.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub fn with_script(script: impl Script + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            recorded: Mutex::default(),
            connections: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// Where it listens, as in `http://127.0.0.1:40123`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What has been asked so far, in the order in which the requests were complete.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.recorded).clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// A lock whose holder panicked still holds what was recorded.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving = Vec::new();
    for (number, connection) in listener.incoming().enumerate() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(connection) = connection else { continue };
        let Ok(handle) = connection.try_clone() else { continue };
        lock(&shared.connections).insert(number, handle);
        let shared = Arc::clone(shared);
        serving.push(thread::spawn(move || {
            // The client may leave at any point; what it had sent is recorded by then.
            let _ = serve(connection, &shared);
            close(lock(&shared.connections).remove(&number));
        }));
    }
    close(std::mem::take(&mut *lock(&shared.connections)).into_values());
    for thread in serving {
        let _ = thread.join();
    }
}

/// Closes connections for good, whoever else holds a handle of them. They may be closed already.
fn close(connections: impl IntoIterator<Item = TcpStream>) {
    for connection in connections {
        let _ = connection.shutdown(Shutdown::Both);
    }
}

fn serve(connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut connection = http::Connection::new(connection)?;
    while let Some(request) = connection.read()? {
        let answer = if request.endpoint().is_generation() {
            lock(&shared.script).answer(&request)
        } else {
            Answer::Raw(render::aside(&request))
        };
        let response = render::response(&request, answer);
        let head_only = request.method == "HEAD";
        lock(&shared.recorded).push(request);
        if !connection.write(&response, head_only)? {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
