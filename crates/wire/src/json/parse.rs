//! The scanner: bytes to nodes, iteratively.

use super::error::{Error, ErrorKind};
use super::value::{Document, Kind, Node};
use std::marker::PhantomData;

/// Parses JSON texts, keeping its buffers from one text to the next.
#[derive(Debug, Default)]
pub struct Parser {
    nodes: Vec<Node>,
    open: Vec<u32>,
}

impl Parser {
    /// A parser with empty buffers.
    pub const fn new() -> Self {
        Self { nodes: Vec::new(), open: Vec::new() }
    }

    /// Parses `bytes` and hands the document to `f`. What `f` is given lives only inside it, under a
    /// lifetime of its own: spans of two texts are two types.
    pub fn scope<R>(
        &mut self,
        bytes: &[u8],
        f: impl for<'id, 'd> FnOnce(Result<Document<'id, 'd>, Error>) -> R,
    ) -> R {
        match self.run(bytes) {
            Ok(()) => f(Ok(Document { bytes, nodes: &self.nodes, brand: PhantomData })),
            Err(error) => f(Err(error)),
        }
    }

    fn run(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.nodes.clear();
        self.open.clear();
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error { offset: bytes.len(), kind: ErrorKind::TooLarge });
        }
        let mut cursor = Cursor { bytes, at: 0, nodes: &mut self.nodes };
        cursor.skip_space();
        cursor.value(&mut self.open)?;
        while let Some(&top) = self.open.last() {
            let object = cursor.nodes[top as usize].kind == Kind::Object;
            let first = cursor.nodes.len() as u32 == top + 1;
            cursor.skip_space();
            match cursor.peek() {
                Some(b'}') if object => cursor.close(&mut self.open),
                Some(b']') if !object => cursor.close(&mut self.open),
                other => {
                    if !first {
                        match other {
                            Some(b',') => cursor.at += 1,
                            Some(_) => return Err(cursor.error(ErrorKind::ExpectedCommaOrEnd)),
                            None => return Err(cursor.error(ErrorKind::UnexpectedEnd)),
                        }
                        cursor.skip_space();
                    }
                    if object {
                        match cursor.peek() {
                            Some(b'"') => cursor.string()?,
                            Some(_) => return Err(cursor.error(ErrorKind::ExpectedKey)),
                            None => return Err(cursor.error(ErrorKind::UnexpectedEnd)),
                        }
                        cursor.skip_space();
                        match cursor.peek() {
                            Some(b':') => cursor.at += 1,
                            Some(_) => return Err(cursor.error(ErrorKind::ExpectedColon)),
                            None => return Err(cursor.error(ErrorKind::UnexpectedEnd)),
                        }
                        cursor.skip_space();
                    }
                    cursor.value(&mut self.open)?;
                }
            }
        }
        cursor.skip_space();
        if cursor.at < bytes.len() {
            return Err(cursor.error(ErrorKind::TrailingData));
        }
        Ok(())
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<Node>,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    const fn error(&self, kind: ErrorKind) -> Error {
        Error { offset: self.at, kind }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn push(&mut self, kind: Kind, start: usize, aux: u32) {
        self.nodes.push(Node {
            start: start as u32,
            end: self.at as u32,
            aux,
            kind,
            escaped: false,
            lone_surrogate: false,
        });
    }

    fn close(&mut self, open: &mut Vec<u32>) {
        self.at += 1;
        let next = self.nodes.len() as u32;
        if let Some(top) = open.pop()
            && let Some(node) = self.nodes.get_mut(top as usize)
        {
            node.end = self.at as u32;
            node.aux = next;
        }
    }

    /// Reads a scalar whole, or the opening of a container.
    fn value(&mut self, open: &mut Vec<u32>) -> Result<(), Error> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => return self.string(),
            Some(b'{' | b'[') => {
                open.push(self.nodes.len() as u32);
                let kind = if self.bytes[start] == b'{' { Kind::Object } else { Kind::Array };
                self.at += 1;
                self.push(kind, start, 0);
            }
            Some(b't') => self.literal(b"true", Kind::Bool)?,
            Some(b'f') => self.literal(b"false", Kind::Bool)?,
            Some(b'n') => self.literal(b"null", Kind::Null)?,
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                self.push(Kind::Number, start, 0);
            }
            Some(_) => return Err(self.error(ErrorKind::ExpectedValue)),
            None => return Err(self.error(ErrorKind::UnexpectedEnd)),
        }
        Ok(())
    }

    fn literal(&mut self, text: &[u8], kind: Kind) -> Result<(), Error> {
        let start = self.at;
        for &expected in text {
            match self.peek() {
                Some(byte) if byte == expected => self.at += 1,
                Some(_) => return Err(self.error(ErrorKind::ExpectedValue)),
                None => return Err(self.error(ErrorKind::UnexpectedEnd)),
            }
        }
        self.push(kind, start, 0);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Error> {
        match self.peek() {
            Some(b'0'..=b'9') => {}
            Some(_) => return Err(self.error(ErrorKind::InvalidNumber)),
            None => return Err(self.error(ErrorKind::UnexpectedEnd)),
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Error> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.error(ErrorKind::InvalidNumber));
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Reads four hexadecimal digits.
    fn hex(&mut self) -> Result<u32, Error> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte) => (byte as char).to_digit(16).ok_or(self.error(ErrorKind::InvalidEscape))?,
                None => return Err(self.error(ErrorKind::UnexpectedEnd)),
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn string(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.at += 1;
        let (mut saved, mut escaped, mut lone_surrogate, mut high) = (0u32, false, false, None::<usize>);
        loop {
            let Some(byte) = self.peek() else { return Err(self.error(ErrorKind::UnexpectedEnd)) };
            match byte {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    let backslash = self.at;
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1;
                            saved += 1;
                        }
                        Some(b'u') => {
                            self.at += 1;
                            let unit = self.hex()?;
                            match unit {
                                0xDC00..=0xDFFF if high == Some(backslash) => {
                                    // The pair takes four bytes; its first half was counted as three.
                                    saved += 5;
                                    high = None;
                                    lone_surrogate = lone_surrogate || false;
                                    continue;
                                }
                                0xD800..=0xDBFF => {
                                    saved += 3;
                                    high = Some(self.at);
                                    continue;
                                }
                                0..0x80 => saved += 5,
                                0x80..0x800 => saved += 4,
                                _ => {
                                    saved += 3;
                                    lone_surrogate |= (0xDC00..=0xDFFF).contains(&unit);
                                }
                            }
                        }
                        Some(_) => return Err(self.error(ErrorKind::InvalidEscape)),
                        None => return Err(self.error(ErrorKind::UnexpectedEnd)),
                    }
                }
                0..0x20 => return Err(self.error(ErrorKind::ControlCharacter)),
                _ => self.at += 1,
            }
        }
        if let Err(error) = std::str::from_utf8(&self.bytes[start..self.at]) {
            return Err(Error { offset: start + error.valid_up_to(), kind: ErrorKind::InvalidUtf8 });
        }
        self.at += 1;
        self.nodes.push(Node {
            start: start as u32,
            end: self.at as u32,
            aux: (self.at - start - 2) as u32 - saved,
            kind: Kind::String,
            escaped,
            lone_surrogate,
        });
        Ok(())
    }
}
