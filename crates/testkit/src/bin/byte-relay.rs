//! The least that a proxy on standard streams can do: it starts the command it is given and copies bytes both ways.

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

fn main() -> ExitCode {
    match relay() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "byte-relay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn relay() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().ok_or_else(|| io::Error::other("no command"))?;
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    if let Some(to_child) = child.stdin.take() {
        thread::spawn(move || copy(io::stdin().lock(), to_child));
    }
    if let Some(from_child) = child.stdout.take() {
        let _ = copy(from_child, io::stdout().lock());
    }
    child.wait().map(drop)
}

/// Copies until the end, whatever comes as soon as it comes.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..count).unwrap_or_default())?;
        to.flush()?;
    }
}
