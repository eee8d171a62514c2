//! A client of MCP on standard streams that understands nothing and keeps everything: every line that comes is recorded
//! as its bytes stand, so that a test can say what came, in which order, and how often.

mod listening;

pub use listening::Listening;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The client, with the server that it has started. The server is killed when this is dropped.
#[derive(Debug)]
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
    /// Messages that came while something else was waited for.
    aside: Vec<Value>,
    errors: Arc<Mutex<Vec<u8>>>,
    next: u64,
}

impl Client {
    /// Starts the server.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || io::Error::other("no pipe");
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(missing)?;
        let mut stderr = child.stderr.take().ok_or_else(missing)?;
        let (tell, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::with_capacity(1 << 16, output);
            let mut line = Vec::new();
            while matches!(output.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
                line.clear();
                if tell.send(text).is_err() {
                    break;
                }
            }
        });
        let errors: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = Arc::clone(&errors);
        thread::spawn(move || {
            let mut buffer = [0; 1 << 13];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(buffer.get(..count).unwrap_or_default());
            }
        });
        Ok(Self { child, input, lines, seen: Vec::new(), aside: Vec::new(), errors, next: 0 })
    }

    /// The server's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Every line so far, as it came.
    pub fn seen(&mut self) -> &[String] {
        while let Ok(line) = self.lines.try_recv() {
            self.keep(line);
        }
        &self.seen
    }

    /// What the server has said on standard error so far.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.errors.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    ///
    /// When the server does not read any more.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let input = self.input.as_mut().ok_or_else(|| io::Error::other("the input is closed"))?;
        input.write_all(bytes)?;
        input.flush()
    }

    /// Sends one message.
    ///
    /// # Errors
    ///
    /// When the server does not read any more.
    pub fn send(&mut self, message: &Value) -> io::Result<()> {
        self.raw(format!("{message}\n").as_bytes())
    }

    /// Sends a request and gives its id, without waiting.
    ///
    /// # Errors
    ///
    /// When the server does not read any more.
    pub fn ask(&mut self, method: &str, params: &Value) -> io::Result<u64> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// When the server does not read any more.
    pub fn tell(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn keep(&mut self, line: String) {
        self.aside.push(serde_json::from_str(&line).unwrap_or(Value::Null));
        self.seen.push(line);
    }

    /// The first message that `fits`, of those that came aside or come within `time`.
    pub fn wait(&mut self, time: Duration, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let until = Instant::now() + time;
        loop {
            if let Some(index) = self.aside.iter().position(&fits) {
                return Some(self.aside.remove(index));
            }
            let line = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
            self.keep(line);
        }
    }

    /// The answer to the request `id`, if it comes within `time`.
    pub fn answer(&mut self, id: u64, time: Duration) -> Option<Value> {
        self.wait(time, |message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    ///
    /// When the server does not read, or does not answer within a minute.
    pub fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let id = self.ask(method, params)?;
        self.answer(id, Duration::from_secs(60)).ok_or_else(|| {
            io::Error::other(format!("no answer to {method}; on standard error:\n{}", self.errors()))
        })
    }

    /// The handshake of the legacy era, as the client `name` does it; the result of `initialize`.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn initialize(&mut self, name: &str, version: &str) -> io::Result<Value> {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": version }
        });
        let answer = self.request("initialize", &params)?;
        self.tell("notifications/initialized", &json!({}))?;
        Ok(answer["result"].clone())
    }

    /// Calls a tool and waits for the answer: the whole message.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// The bytes of `tools` in the answer to `tools/list`, as they stand in its line.
    ///
    /// # Errors
    ///
    /// When the server does not answer with a list.
    pub fn list(&mut self) -> io::Result<String> {
        self.request("tools/list", &json!({}))?;
        let line = self.seen.last().map(String::as_str).unwrap_or_default();
        members(line, &["result", "tools"])
            .ok_or_else(|| io::Error::other(format!("this is no list of tools: {line}")))
    }

    /// The bytes of every definition that `tools/list` gives, on all its pages.
    ///
    /// # Errors
    ///
    /// When the server does not answer with lists.
    pub fn definitions(&mut self) -> io::Result<Vec<String>> {
        let mut definitions = Vec::new();
        let mut params = json!({});
        loop {
            let answer = self.request("tools/list", &params)?;
            let line = self.seen.last().map(String::as_str).unwrap_or_default();
            let list = members(line, &["result", "tools"])
                .ok_or_else(|| io::Error::other(format!("this is no list of tools: {line}")))?;
            let list: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(&list)?;
            definitions.extend(list.iter().map(|definition| definition.get().to_owned()));
            match &answer["result"]["nextCursor"] {
                Value::Null => return Ok(definitions),
                cursor => params = json!({ "cursor": cursor }),
            }
        }
    }

    /// How many answers each request of this client has had.
    pub fn answers(&mut self) -> Vec<(u64, usize)> {
        let messages: Vec<Value> =
            self.seen().iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        (1..=self.next)
            .map(|id| {
                let is_answer = |message: &&Value| message["id"] == id && message.get("method").is_none();
                (id, messages.iter().filter(is_answer).count())
            })
            .collect()
    }

    /// Closes the server's input, as a client does that leaves.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// How the server has ended, if it does within `time`.
    pub fn ended(&mut self, time: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if begun.elapsed() > time {
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills the server without a word.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The raw text of a member within members.
fn members(text: &str, path: &[&str]) -> Option<String> {
    let mut text = text.to_owned();
    for name in path {
        let members: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
            serde_json::from_str(&text).ok()?;
        text = members.get(*name)?.get().to_owned();
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::program;

    #[test]
    fn the_client_keeps_every_line_and_the_bytes_of_lists() {
        let mut client = Client::start(Command::new(program("conformance-server")).arg("--stdio")).unwrap();
        let result = client.initialize("test", "1.0").unwrap();
        assert_eq!(result["protocolVersion"], "2025-11-25");
        let list = client.list().unwrap();
        assert!(list.starts_with(r#"[{"name":"test_simple_text","#), "{list}");
        let progress = json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": "p" } });
        client.request("tools/call", &progress).unwrap();
        assert_eq!(client.seen().len(), 1 + 1 + 3 + 1);
        assert!(client.answers().iter().all(|(_, count)| *count == 1));
        client.close();
        assert!(client.ended(Duration::from_secs(5)).is_some_and(|status| status.success()));
    }

    #[test]
    fn a_server_that_listens_is_found_and_ended() {
        let served = Listening::start(Command::new(program("conformance-server")).arg("--http")).unwrap();
        assert!(served.url().starts_with("http://127.0.0.1:"));
        let id = served.id();
        drop(served);
        assert_eq!(crate::processes::resident(id), 0);
    }
}
