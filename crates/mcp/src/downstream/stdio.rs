//! The one client on our own standard streams.

use crate::lines::Lines;
use crate::relay::port::FromClient;
use crate::session::{self, Surroundings, client_queue};
use crate::upstream::write_line;
use rustix::fs::FileType;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// Messages of the client that may wait to be read.
const INBOX: usize = 64;

/// Serves the client on standard input and output until its input ends.
pub(crate) async fn serve(surroundings: Surroundings) -> io::Result<()> {
    let max = surroundings.options.max_message_bytes;
    let (sender, inbox) = mpsc::channel(INBOX);
    let (queue, mut messages) = client_queue();
    let reader = tokio::spawn(read(input(), max, sender));
    let mut writer = tokio::spawn(async move { write(output(), &mut messages).await });
    let mut session = tokio::spawn(session::run(surroundings, inbox, queue));
    tokio::select! {
        _ = &mut session => {
            let _ = writer.await;
        }
        // A client that does not read any more is gone: with its input closed, the session ends.
        _ = &mut writer => {
            reader.abort();
            let _ = session.await;
        }
    }
    reader.abort();
    Ok(())
}

async fn read(mut from: impl AsyncRead + Unpin, max: usize, sender: mpsc::Sender<FromClient>) {
    let mut lines = Lines::new(max);
    loop {
        loop {
            match lines.next() {
                Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => {}
                Ok(Some(bytes)) => {
                    if sender.send(FromClient { bytes, headers: Vec::new() }).await.is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        match from.read_buf(lines.buffer()).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => {
                if let Some(bytes) = lines.rest() {
                    let _ = sender.send(FromClient { bytes, headers: Vec::new() }).await;
                }
                return;
            }
        }
    }
}

async fn write(mut to: impl AsyncWrite + Unpin, messages: &mut session::ClientMessages) {
    while let Some(message) = messages.next().await {
        let written = write_line(&mut to, &message.bytes).await;
        messages.taken(&message);
        if !written {
            return;
        }
    }
}

/// Standard input, waited for by the event loop itself where it is a pipe or a socket: no thread stands in between.
fn input() -> Box<dyn AsyncRead + Unpin + Send> {
    fn direct() -> io::Result<Box<dyn AsyncRead + Unpin + Send>> {
        let owned = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(match kind(&owned)? {
            FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(owned)?),
            FileType::Socket => Box::new(socket(owned)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

/// Standard output in the same way.
fn output() -> Box<dyn AsyncWrite + Unpin + Send> {
    fn direct() -> io::Result<Box<dyn AsyncWrite + Unpin + Send>> {
        let owned = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(match kind(&owned)? {
            FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(owned)?),
            FileType::Socket => Box::new(socket(owned)?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}

fn kind(owned: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(owned)?.st_mode))
}

fn socket(owned: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(owned);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
