//! Cuts a JSON text that arrives in chunks into the values to be read one by one: the elements of an
//! array, or the one value it holds.
//!
//! Only brackets and strings are followed; whether an element is JSON is for its parser to say.

use memchr::memchr2;

/// Buffer space that is kept from one element to the next.
const KEEP: usize = 64 << 10;

/// What a splitter hands out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Element<'s> {
    /// The text of one element.
    Whole(&'s [u8]),
    /// An element longer than the limit.
    Oversized,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the text's first byte.
    Before,
    /// In the text.
    Inside,
    /// Behind its end.
    Behind,
}

#[derive(Debug)]
pub(super) struct Splitter {
    limit: usize,
    place: Place,
    array: bool,
    depth: u64,
    in_string: bool,
    /// The last byte was a backslash in a string.
    escaped: bool,
    /// An element has begun.
    open: bool,
    buffer: Vec<u8>,
    oversized: bool,
    delivered: bool,
}

impl Splitter {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            limit,
            place: Place::Before,
            array: false,
            depth: 0,
            in_string: false,
            escaped: false,
            open: false,
            buffer: Vec::new(),
            oversized: false,
            delivered: false,
        }
    }

    /// Whether the text came to its end.
    pub(super) fn closed(&self) -> bool {
        self.place == Place::Behind
    }

    /// Reads on until an element is whole or `chunk` is used up.
    pub(super) fn next<'s>(&'s mut self, chunk: &mut &[u8]) -> Option<Element<'s>> {
        if self.delivered {
            self.delivered = false;
            self.oversized = false;
            self.buffer.clear();
            if self.buffer.capacity() > KEEP {
                self.buffer.shrink_to(KEEP);
            }
        }
        if !self.advance(chunk) {
            return None;
        }
        self.open = false;
        self.delivered = true;
        Some(if self.oversized { Element::Oversized } else { Element::Whole(&self.buffer) })
    }

    fn advance(&mut self, chunk: &mut &[u8]) -> bool {
        while let Some((&byte, rest)) = chunk.split_first() {
            if self.in_string {
                self.read_string(chunk);
                continue;
            }
            let space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            if self.place == Place::Before && !space {
                self.place = Place::Inside;
                if byte == b'[' {
                    self.array = true;
                    *chunk = rest;
                    continue;
                }
            }
            if self.place != Place::Inside {
                *chunk = rest;
                continue;
            }
            if self.depth == 0 {
                let ends = space || byte == b',' || (byte == b']' && self.array);
                if ends && self.open {
                    // A number or a literal ends where something else begins, which is read next.
                    return true;
                }
                if ends {
                    *chunk = rest;
                    if byte == b']' {
                        self.place = Place::Behind;
                    }
                    continue;
                }
            }
            *chunk = rest;
            self.open = true;
            self.keep(&[byte]);
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        if !self.array {
                            self.place = Place::Behind;
                        }
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Reads on in a string, up to and with its closing quote.
    fn read_string(&mut self, chunk: &mut &[u8]) {
        let stop = if self.escaped { Some(0) } else { memchr2(b'"', b'\\', chunk) };
        let taken = stop.map_or(chunk.len(), |at| at + 1);
        let (part, rest) = chunk.split_at(taken);
        *chunk = rest;
        self.keep(part);
        match part.last() {
            _ if self.escaped => self.escaped = false,
            Some(b'\\') => self.escaped = true,
            Some(b'"') => self.in_string = false,
            _ => {}
        }
    }

    fn keep(&mut self, part: &[u8]) {
        if self.oversized {
        } else if self.buffer.len() + part.len() > self.limit {
            self.oversized = true;
            self.buffer = Vec::new();
        } else {
            self.buffer.extend_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &[u8], size: usize, limit: usize) -> (Vec<Option<String>>, bool) {
        let mut splitter = Splitter::new(limit);
        let mut elements = Vec::new();
        for mut chunk in text.chunks(size) {
            while let Some(element) = splitter.next(&mut chunk) {
                elements.push(match element {
                    Element::Whole(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                    Element::Oversized => None,
                });
            }
        }
        (elements, splitter.closed())
    }

    #[test]
    fn elements_come_out_byte_for_byte() {
        let text = r#" [ {"a" : "]}\\\"," } ,[ ],12,"x,y" ] ,{"behind":1}"#;
        for size in 1..=text.len() {
            let (elements, closed) = split(text.as_bytes(), size, usize::MAX);
            let expected = [r#"{"a" : "]}\\\"," }"#, "[ ]", "12", r#""x,y""#];
            assert_eq!(elements, expected.map(|element| Some(element.to_owned())), "chunks of {size}");
            assert!(closed);
        }
    }

    #[test]
    fn one_value_is_one_element() {
        for size in 1..9 {
            assert_eq!(split(b"\n{\"a\":[]} {}", size, 99), (vec![Some("{\"a\":[]}".to_owned())], true));
            assert_eq!(split(b"{\"a\":[]", size, 99), (vec![], false));
            assert_eq!(split(b"[]", size, 99), (vec![], true));
        }
    }

    #[test]
    fn an_element_beyond_the_limit_is_not_stored() {
        let text = br#"["12345","1234567",7]"#;
        for size in 1..=text.len() {
            let expected = vec![Some("\"12345\"".to_owned()), None, Some("7".to_owned())];
            assert_eq!(split(text, size, 7), (expected, true), "chunks of {size}");
        }
        let mut splitter = Splitter::new(1000);
        assert_eq!(splitter.next(&mut &b"[[\""[..]), None);
        for _ in 0..10_000 {
            assert_eq!(splitter.next(&mut &[b'x'; 100][..]), None);
            assert!(splitter.buffer.capacity() <= 2000);
        }
    }
}
