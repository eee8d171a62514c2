//! Cuts a byte stream into lines, with bounded memory and without copying them.

use bytes::{Bytes, BytesMut};

/// A line grew beyond the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineTooLong;

/// Bytes in, lines out. A line ends with `\n`; the end mark is not part of it (a `\r` before it is: JSON
/// does not mind).
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// How many bytes of the buffer are known to hold no line end.
    scanned: usize,
    max: usize,
}

impl Lines {
    /// Lines of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { buffer: BytesMut::with_capacity(16 << 10), scanned: 0, max }
    }

    /// Where the next bytes of the stream are to be appended.
    pub(crate) const fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole line, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(at) = memchr::memchr(b'\n', unseen) else {
            self.scanned = self.buffer.len();
            return if self.scanned > self.max { Err(LineTooLong) } else { Ok(None) };
        };
        let length = self.scanned + at;
        self.scanned = 0;
        let mut line = self.buffer.split_to(length + 1);
        line.truncate(length);
        if length > self.max { Err(LineTooLong) } else { Ok(Some(line.freeze())) }
    }

    /// What is left when the stream has ended: a last line without an end, if it is not empty.
    pub(crate) fn rest(&mut self) -> Option<Bytes> {
        self.scanned = 0;
        let rest = self.buffer.split().freeze();
        (!rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(lines: &mut Lines) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            out.push(line.to_vec());
        }
        out
    }

    #[test]
    fn a_line_beyond_the_bound_is_refused_with_and_without_its_end() {
        let mut lines = Lines::new(4);
        lines.buffer().extend_from_slice(b"1234\n12345");
        assert_eq!(lines.next(), Ok(Some(Bytes::from_static(b"1234"))));
        assert_eq!(lines.next(), Err(LineTooLong));
        let mut lines = Lines::new(4);
        lines.buffer().extend_from_slice(b"12345\n");
        assert_eq!(lines.next(), Err(LineTooLong));
    }

    proptest! {
        /// However the stream is cut, the lines are those of the whole.
        #[test]
        fn cuts_do_not_matter(
            text in prop::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.push(text.len());
            cuts.sort_unstable();
            let mut lines = Lines::new(1 << 20);
            let mut found = Vec::new();
            let mut from = 0;
            for cut in cuts {
                lines.buffer().extend_from_slice(&text[from..cut]);
                from = cut;
                found.extend(drain(&mut lines));
            }
            found.extend(lines.rest().map(|rest| rest.to_vec()));
            let mut expected: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
