//! The structure of a text: bytes to nodes, iteratively.

use super::error::{Error, ErrorKind};
use super::text::{Portable, Scan};
use super::value::{Document, Kind, Node, Tape};

/// Parses JSON texts, keeping its buffer from one text to the next.
#[derive(Debug, Default)]
pub struct Parser {
    nodes: Vec<Node>,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is no other scanner"))]
    portable: bool,
}

impl Parser {
    /// A parser with an empty buffer, and the fastest scanner this machine can run.
    pub const fn new() -> Self {
        Self { nodes: Vec::new(), portable: false }
    }

    /// A parser that keeps to the scanner which every machine can run. It gives the same answers; tests and
    /// benchmarks compare the two.
    pub const fn portable() -> Self {
        Self { nodes: Vec::new(), portable: true }
    }

    /// Parses `bytes` and hands the document to `f`. What `f` is given lives only inside it, under a
    /// lifetime of its own: spans of two texts are two types.
    pub fn scope<R>(
        &mut self,
        bytes: &[u8],
        f: impl for<'id, 'd> FnOnce(Result<Document<'id, 'd>, Error>) -> R,
    ) -> R {
        match self.run(bytes) {
            Ok(()) => f(Ok(Document::new(&Tape { bytes, nodes: &self.nodes }))),
            Err(error) => f(Err(error)),
        }
    }

    fn run(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.nodes.clear();
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error { offset: u32::MAX as usize, kind: ErrorKind::TooLarge });
        }
        #[cfg(target_arch = "x86_64")]
        if !self.portable
            && let Some(avx2) = super::simd::Avx2::detect()
        {
            return avx2.tape(bytes, &mut self.nodes);
        }
        tape(Portable, bytes, &mut self.nodes)
    }
}

/// No container: the parent of the root.
const NONE: u32 = u32::MAX;

/// Fills `nodes` (empty before) with the nodes of `bytes`, whose length fits 32 bits.
///
/// Always inlined, so that the scanner's instructions may be used throughout.
#[inline(always)]
pub(super) fn tape<S: Scan>(scan: S, bytes: &[u8], nodes: &mut Vec<Node>) -> Result<(), Error> {
    // The innermost open container. While a container is open, its `aux` holds the one around it.
    let mut top = NONE;
    let mut in_object = false;
    let mut at = skip_space(bytes, 0);
    loop {
        // Here a value is due.
        let start = at;
        match bytes.get(at) {
            Some(b'"') => at = string(scan, bytes, at, nodes)?,
            Some(&open @ (b'{' | b'[')) => {
                let object = open == b'{';
                let index = nodes.len() as u32;
                let kind = if object { Kind::Object } else { Kind::Array };
                nodes.push(Node { aux: top, ..Node::plain(kind, start, start) });
                (top, in_object) = (index, object);
                at = skip_space(bytes, at + 1);
                let close = if object { b'}' } else { b']' };
                if bytes.get(at) != Some(&close) {
                    if object {
                        at = key(scan, bytes, at, nodes)?;
                    }
                    continue;
                }
            }
            Some(b't') => {
                at = literal(bytes, at, b"true")?;
                nodes.push(Node::plain(Kind::Bool, start, at));
            }
            Some(b'f') => {
                at = literal(bytes, at, b"false")?;
                nodes.push(Node::plain(Kind::Bool, start, at));
            }
            Some(b'n') => {
                at = literal(bytes, at, b"null")?;
                nodes.push(Node::plain(Kind::Null, start, at));
            }
            Some(b'-' | b'0'..=b'9') => {
                at = number(bytes, at)?;
                nodes.push(Node::plain(Kind::Number, start, at));
            }
            _ => return Err(unexpected(bytes, at, ErrorKind::ExpectedValue)),
        }
        // Here a value has ended, or the innermost container is about to end.
        loop {
            at = skip_space(bytes, at);
            if top == NONE {
                return match bytes.get(at) {
                    None => Ok(()),
                    Some(_) => Err(Error { offset: at, kind: ErrorKind::TrailingData }),
                };
            }
            match bytes.get(at) {
                Some(b',') => {
                    at = skip_space(bytes, at + 1);
                    if in_object {
                        at = key(scan, bytes, at, nodes)?;
                    }
                    break;
                }
                Some(&close @ (b'}' | b']')) if (close == b'}') == in_object => {
                    at += 1;
                    let next = nodes.len() as u32;
                    let node = &mut nodes[top as usize];
                    node.end = at as u32;
                    top = std::mem::replace(&mut node.aux, next);
                    in_object = nodes.get(top as usize).is_some_and(|node| node.kind == Kind::Object);
                }
                _ => return Err(unexpected(bytes, at, ErrorKind::ExpectedCommaOrEnd)),
            }
        }
    }
}

/// Reads a string with its quotes, the first of which is at `at`; answers the offset after it.
#[inline(always)]
fn string<S: Scan>(scan: S, bytes: &[u8], at: usize, nodes: &mut Vec<Node>) -> Result<usize, Error> {
    let text = scan.string(bytes, at + 1)?;
    nodes.push(Node {
        aux: (text.end - at - 1) as u32 - text.saved,
        escaped: text.saved != 0,
        lone_surrogate: text.lone_surrogate,
        ..Node::plain(Kind::String, at, text.end + 1)
    });
    Ok(text.end + 1)
}

/// Reads a key, its colon and the white space on both sides of that; answers where the value is due.
#[inline(always)]
fn key<S: Scan>(scan: S, bytes: &[u8], at: usize, nodes: &mut Vec<Node>) -> Result<usize, Error> {
    if bytes.get(at) != Some(&b'"') {
        return Err(unexpected(bytes, at, ErrorKind::ExpectedKey));
    }
    let at = skip_space(bytes, string(scan, bytes, at, nodes)?);
    if bytes.get(at) != Some(&b':') {
        return Err(unexpected(bytes, at, ErrorKind::ExpectedColon));
    }
    Ok(skip_space(bytes, at + 1))
}

/// The offset of the first byte at or after `at` that is not white space.
#[inline(always)]
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Reads `text`, whose first byte is known to be there.
#[inline(always)]
fn literal(bytes: &[u8], at: usize, text: &[u8]) -> Result<usize, Error> {
    let found = bytes.get(at..).unwrap_or_default();
    if found.starts_with(text) {
        return Ok(at + text.len());
    }
    let same = found.iter().zip(text).take_while(|(found, expected)| found == expected).count();
    Err(unexpected(bytes, at + same, ErrorKind::ExpectedValue))
}

/// Reads a number, whose first byte (a digit or a minus) is known to be there.
#[inline(always)]
fn number(bytes: &[u8], mut at: usize) -> Result<usize, Error> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    if bytes.get(at) == Some(&b'0') {
        at += 1;
        if let Some(b'0'..=b'9') = bytes.get(at) {
            return Err(Error { offset: at, kind: ErrorKind::InvalidNumber });
        }
    } else {
        at = digits(bytes, at)?;
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = digits(bytes, at)?;
    }
    Ok(at)
}

/// Reads one digit or more.
#[inline(always)]
fn digits(bytes: &[u8], mut at: usize) -> Result<usize, Error> {
    let first = at;
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    if at == first {
        return Err(unexpected(bytes, at, ErrorKind::InvalidNumber));
    }
    Ok(at)
}

/// The error at `at`: `kind`, or that the text has ended.
#[cold]
#[inline(never)]
const fn unexpected(bytes: &[u8], at: usize, kind: ErrorKind) -> Error {
    if at < bytes.len() {
        Error { offset: at, kind }
    } else {
        Error { offset: bytes.len(), kind: ErrorKind::UnexpectedEnd }
    }
}
