//! A script played over standard streams.

use super::play::{Out, Player};
use super::script::Script;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Plays the script that the command line names: the JSON itself, or `@FILE`. `--for-ever` runs until
/// somebody ends it.
pub fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    if argument == "--for-ever" {
        for_ever();
    }
    match load(&argument).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "scripted-mcp: {error}");
            ExitCode::from(97)
        }
    }
}

fn for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn load(argument: &str) -> io::Result<Script> {
    let text = match argument.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)?,
        None => argument.to_owned(),
    };
    serde_json::from_str(&text).map_err(io::Error::from)
}

fn run(script: Script) -> io::Result<()> {
    let linger = script.linger;
    let player = Player::new(script);
    let mut streams = Streams { waiting: VecDeque::new(), ended: false };
    player.at("start", &mut streams)?;
    while let Some(message) = streams.next()? {
        player.handle(&message, &mut streams)?;
    }
    player.at("end", &mut streams)?;
    if linger {
        for_ever();
    }
    Ok(())
}

/// The standard streams, and messages that came while a reply was waited for.
struct Streams {
    waiting: VecDeque<Value>,
    ended: bool,
}

impl Streams {
    fn next(&mut self) -> io::Result<Option<Value>> {
        if let Some(message) = self.waiting.pop_front() {
            return Ok(Some(message));
        }
        self.read()
    }

    fn read(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        if self.ended || io::stdin().lock().read_line(&mut line)? == 0 {
            self.ended = true;
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).map_err(io::Error::from)
    }
}

impl Out for Streams {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(line)?;
        stdout.write_all(b"\n")?;
        stdout.flush()
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    fn reply(&mut self, id: &str) -> io::Result<Value> {
        while let Some(message) = self.read()? {
            if message["id"] == id {
                return Ok(message);
            }
            self.waiting.push_back(message);
        }
        Err(io::Error::other("the client replies nothing"))
    }

    fn close(&mut self) -> io::Result<()> {
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(null).map_err(io::Error::from)
    }
}
