//! As much of HTTP/1.1 as clients of model providers use.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use super::{Delivery, Recorded};

/// A request of more than this is not one that a test means to send.
const MOST_BYTES: u64 = 256 << 20;

/// What is sent back.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers; the length or the transfer encoding is added.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
    /// How it travels.
    pub delivery: Delivery,
}

impl Response {
    /// A JSON body.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            body: Body::Whole(body.to_string().into_bytes()),
            delivery: Delivery::default(),
        }
    }

    /// A stream of events, each one piece, as it stands on the wire with its empty line.
    pub fn events(pieces: Vec<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/event-stream; charset=utf-8".into()),
                ("cache-control".into(), "no-cache".into()),
            ],
            body: Body::Pieces(pieces),
            delivery: Delivery::default(),
        }
    }
}

/// The body of a response.
#[derive(Debug, Clone)]
pub enum Body {
    /// Sent at once, with its length.
    Whole(Vec<u8>),
    /// Sent piece by piece, chunked.
    Pieces(Vec<Vec<u8>>),
}

pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        Ok(Self { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// The next request; `None` when the client is done.
    pub(crate) fn read(&mut self) -> io::Result<Option<Recorded>> {
        let Some(line) = self.line()? else { return Ok(None) };
        let mut words = line.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(invalid("not a request line"));
        };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = self.line()?.ok_or_else(|| invalid("the headers end too early"))?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("not a header"))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut request = Recorded { method, path, headers, body: Vec::new() };
        if request.header("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue")) {
            self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = if request.header("transfer-encoding").is_some() {
            self.chunks()?
        } else {
            let length =
                request.header("content-length").map_or(Ok(0), str::parse).map_err(|_| invalid("length"))?;
            self.exactly(length)?
        };
        Ok(Some(request))
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        if self.reader.by_ref().take(1 << 20).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
    }

    fn exactly(&mut self, length: u64) -> io::Result<Vec<u8>> {
        if length > MOST_BYTES {
            return Err(invalid("the body is too long"));
        }
        let mut body = Vec::new();
        self.reader.by_ref().take(length).read_to_end(&mut body)?;
        if body.len() as u64 == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?.ok_or(io::ErrorKind::UnexpectedEof)?;
            let length = line.split(';').next().unwrap_or_default().trim();
            let length = u64::from_str_radix(length, 16).map_err(|_| invalid("not a chunk's length"))?;
            if length == 0 {
                while self.line()?.is_some_and(|trailer| !trailer.is_empty()) {}
                return Ok(body);
            }
            body.extend(self.exactly(length)?);
            self.line()?;
            if body.len() as u64 > MOST_BYTES {
                return Err(invalid("the body is too long"));
            }
        }
    }

    /// Sends a response. Whether the connection can carry another one.
    pub(crate) fn write(&mut self, response: &Response, head_only: bool) -> io::Result<bool> {
        thread::sleep(response.delivery.first_byte_after);
        let mut head = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
        for (name, value) in &response.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match &response.body {
            Body::Whole(body) => {
                head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
                let mut bytes = head.into_bytes();
                if !head_only {
                    bytes.extend(body);
                }
                self.writer.write_all(&bytes)?;
                Ok(true)
            }
            Body::Pieces(pieces) => {
                head.push_str("transfer-encoding: chunked\r\n\r\n");
                self.writer.write_all(head.as_bytes())?;
                for (index, piece) in pieces.iter().enumerate() {
                    if index > 0 {
                        thread::sleep(response.delivery.between_events);
                    }
                    if response.delivery.cut_after == Some(index) {
                        self.writer.shutdown(std::net::Shutdown::Both)?;
                        return Ok(false);
                    }
                    let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
                    chunk.extend(piece);
                    chunk.extend(b"\r\n");
                    self.writer.write_all(&chunk)?;
                }
                self.writer.write_all(b"0\r\n\r\n")?;
                Ok(true)
            }
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        529 => "Overloaded",
        _ => "Unnamed",
    }
}
