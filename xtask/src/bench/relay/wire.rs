//! A client that costs next to nothing: it writes a line, reads a line, and looks at no more of it than it must.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Context, Failure, Result};

/// A connection to a server on standard streams, which is killed when this is dropped.
pub(super) struct Wire {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    next: u64,
}

impl Wire {
    /// Starts a server and shakes hands with it.
    pub(super) fn start(command: &mut Command, client: &str) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new("no pipes"));
        };
        let output = BufReader::with_capacity(1 << 20, output);
        let mut wire = Self { child, input, output, line: String::new(), next: 0 };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": client, "version": "1.0" }
        });
        wire.request("initialize", &params)?;
        wire.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(wire)
    }

    /// The process that was started.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn write(&mut self, message: &str) -> Result {
        Ok(self.input.write_all(format!("{message}\n").as_bytes())?)
    }

    /// Sends a request without waiting; its id.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.write(&message.to_string())?;
        Ok(self.next)
    }

    /// The next line that is an answer; notifications are passed over.
    pub(super) fn answer(&mut self) -> Result<&str> {
        loop {
            self.line.clear();
            if self.output.read_line(&mut self.line)? == 0 {
                return Err(Failure::new("the server has closed its output"));
            }
            if self.line.contains("\"id\":") && !self.line.contains("\"method\":") {
                return Ok(&self.line);
            }
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<String> {
        self.ask(method, params)?;
        self.answer().context(method).map(str::to_owned)
    }

    /// How long an answer to this request takes, and whether it says `expected`.
    pub(super) fn time(&mut self, method: &str, params: &Value, expected: &str) -> Result<Duration> {
        let begun = Instant::now();
        self.ask(method, params)?;
        let answer = self.answer().context(method)?;
        let time = begun.elapsed();
        if answer.contains(expected) {
            return Ok(time);
        }
        let start: String = answer.chars().take(300).collect();
        Err(Failure::new(format!("{method}: {expected:?} is not in {start}")))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
