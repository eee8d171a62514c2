//! A client's half of one exchange over HTTP.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, as they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Posts a body to `http://HOST:PORT` on a connection of its own, and reads the answer to its end.
///
/// # Errors
///
/// When nobody listens, or the answer breaks off.
pub fn post(url: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> io::Result<Answer> {
    let host = url.strip_prefix("http://").ok_or_else(|| broken("not an http address"))?;
    let mut stream = TcpStream::connect(host)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    read(&mut BufReader::new(stream))
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn read(reader: &mut impl BufRead) -> io::Result<Answer> {
    let status = line(reader)?;
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| broken("not a status line"))?;
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    let mut body = Vec::new();
    if header("transfer-encoding").is_some() {
        loop {
            let length =
                usize::from_str_radix(&line(reader)?, 16).map_err(|_| broken("not a chunk's length"))?;
            let before = body.len();
            reader.by_ref().take(length as u64).read_to_end(&mut body)?;
            if body.len() - before != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            line(reader)?;
            if length == 0 {
                break;
            }
        }
    } else if let Some((_, length)) = header("content-length") {
        let length: u64 = length.parse().map_err(|_| broken("not a length"))?;
        reader.by_ref().take(length).read_to_end(&mut body)?;
        if (body.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    } else {
        reader.read_to_end(&mut body)?;
    }
    Ok(Answer { status, headers, body })
}

impl Answer {
    /// The content blocks of an Anthropic message, from a stream of events or from one body. `None` where it is neither,
    /// or the stream did not come to its end.
    pub fn content(&self) -> Option<Vec<Value>> {
        let text = std::str::from_utf8(&self.body).ok()?;
        if text.starts_with('{') {
            return serde_json::from_str::<Value>(text).ok()?["content"].as_array().cloned();
        }
        let mut blocks: Vec<Value> = Vec::new();
        let mut inputs = String::new();
        let mut ended = false;
        for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
            let event: Value = serde_json::from_str(data).ok()?;
            match event["type"].as_str()? {
                "content_block_start" => {
                    blocks.push(event["content_block"].clone());
                    inputs.clear();
                }
                "content_block_delta" => {
                    let (delta, block) = (&event["delta"], blocks.last_mut()?);
                    for (key, from) in
                        [("text", "text"), ("thinking", "thinking"), ("signature", "signature")]
                    {
                        if let Some(more) = delta[from].as_str() {
                            block[key] = json!(format!("{}{more}", block[key].as_str().unwrap_or_default()));
                        }
                    }
                    inputs.push_str(delta["partial_json"].as_str().unwrap_or_default());
                }
                "content_block_stop" if !inputs.is_empty() => {
                    blocks.last_mut()?["input"] = serde_json::from_str(&inputs).ok()?;
                }
                "message_stop" => ended = true,
                "error" => return None,
                _ => {}
            }
        }
        ended.then_some(blocks)
    }

    /// The provider's sentence, where it is an error.
    pub fn message(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}
