//! A server that is started, says where it listens, and is ended.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a server may take to say where it listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server over HTTP that was started. It is killed when this is dropped.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    url: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Listening {
    /// Starts a server and waits for the line of its standard error that ends in `on URL`, as in `listening on URL`.
    ///
    /// # Errors
    ///
    /// When it does not start, or does not say where it listens.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let (tell, told) = channel();
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&said);
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    if let Some((_, address)) = line.split_once(" on http://") {
                        let address = address.split_whitespace().next().unwrap_or_default();
                        let _ = tell.send(format!("http://{address}"));
                    }
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            });
        }
        let mut listening = Self { child, url: String::new(), said };
        match told.recv_timeout(PATIENCE) {
            Ok(url) => listening.url = url,
            Err(_) => {
                let said = listening.said();
                return Err(io::Error::other(format!("it does not say where it listens, only:\n{said}")));
            }
        }
        Ok(listening)
    }

    /// Where it listens, as it said.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said on standard error so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
