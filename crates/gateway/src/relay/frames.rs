//! The frames of a WebSocket (RFC 6455), followed on a copy. What cannot be followed is counted in bytes and passes all
//! the same.

use bytes::{Bytes, BytesMut};

/// The longest head of a frame.
const HEAD: usize = 14;

/// A message that was put together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// `None` above the bound.
    pub(crate) text: Option<Bytes>,
    pub(crate) length: u64,
    pub(crate) is_text: bool,
    pub(crate) compressed: bool,
}

/// Follows one direction of a WebSocket, in pieces cut anywhere.
#[derive(Debug)]
pub(crate) struct Frames {
    bound: usize,
    head: Vec<u8>,
    /// Of the frame that is being read.
    left: u64,
    mask: Option<[u8; 4]>,
    at: usize,
    control: bool,
    last: bool,
    /// The message that the frame belongs to.
    message: Option<(BytesMut, Message)>,
    lost: bool,
}

impl Frames {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            bound,
            head: Vec::new(),
            left: 0,
            mask: None,
            at: 0,
            control: false,
            last: false,
            message: None,
            lost: false,
        }
    }

    /// Reads on, and hands out every message that is whole.
    pub(crate) fn feed(&mut self, mut piece: &[u8], mut each: impl FnMut(Message)) {
        while !piece.is_empty() && !self.lost {
            if self.left == 0 {
                let Some((byte, rest)) = piece.split_first() else { return };
                piece = rest;
                self.head.push(*byte);
                self.read_head(&mut each);
                continue;
            }
            let take = usize::try_from(self.left).unwrap_or(usize::MAX).min(piece.len());
            let (part, rest) = piece.split_at(take);
            piece = rest;
            self.payload(part);
            self.left -= take as u64;
            if self.left == 0 {
                self.frame_over(&mut each);
            }
        }
    }

    fn read_head(&mut self, each: &mut impl FnMut(Message)) {
        let (Some(&first), Some(&second)) = (self.head.first(), self.head.get(1)) else { return };
        let wide = match second & 0x7F {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let masked = second & 0x80 != 0;
        let whole = 2 + wide + if masked { 4 } else { 0 };
        if self.head.len() < whole {
            return;
        }
        let extended = self.head.get(2..2 + wide).unwrap_or_default();
        self.left = match wide {
            0 => u64::from(second & 0x7F),
            _ => extended.iter().fold(0, |length, byte| (length << 8) | u64::from(*byte)),
        };
        self.mask = masked.then(|| {
            let mut mask = [0; 4];
            mask.iter_mut().zip(self.head.iter().skip(2 + wide)).for_each(|(to, from)| *to = *from);
            mask
        });
        self.at = 0;
        let opcode = first & 0x0F;
        self.control = opcode >= 8;
        self.last = first & 0x80 != 0;
        debug_assert!(self.head.len() <= HEAD);
        self.head.clear();
        match opcode {
            0 if self.message.is_some() => {}
            1 | 2 if self.message.is_none() => {
                let message =
                    Message { text: None, length: 0, is_text: opcode == 1, compressed: first & 0x40 != 0 };
                self.message = Some((BytesMut::new(), message));
            }
            8..=15 => {}
            // Not what the standard says: from here on the frames cannot be followed.
            _ => {
                self.lost = true;
                self.message = None;
            }
        }
        if self.left == 0 && !self.lost {
            self.frame_over(each);
        }
    }

    fn payload(&mut self, part: &[u8]) {
        let at = self.at;
        self.at = (at + part.len()) % 4;
        if self.control {
            return;
        }
        let Some((buffer, message)) = &mut self.message else { return };
        message.length += part.len() as u64;
        if message.length > self.bound as u64 {
            *buffer = BytesMut::new();
            return;
        }
        match self.mask {
            None => buffer.extend_from_slice(part),
            Some(mask) => {
                let keys = mask.iter().cycle().skip(at % 4);
                buffer.extend(part.iter().zip(keys).map(|(byte, key)| byte ^ key));
            }
        }
    }

    fn frame_over(&mut self, each: &mut impl FnMut(Message)) {
        if self.control || !self.last {
            return;
        }
        if let Some((buffer, mut message)) = self.message.take() {
            message.text = (message.length <= self.bound as u64).then(|| buffer.freeze());
            each(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
        let mut out = vec![first];
        let bit = if mask.is_some() { 0x80 } else { 0 };
        match payload.len() {
            length @ 0..126 => out.push(bit | length as u8),
            length @ 126..65536 => {
                out.push(bit | 126);
                out.extend((length as u16).to_be_bytes());
            }
            length => {
                out.push(bit | 127);
                out.extend((length as u64).to_be_bytes());
            }
        }
        out.extend(mask.unwrap_or_default().iter().take(if mask.is_some() { 4 } else { 0 }));
        let keys = mask.unwrap_or_default();
        out.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ keys[at % 4]));
        out
    }

    fn read(bytes: &[u8], size: usize, bound: usize) -> Vec<Message> {
        let (mut frames, mut out) = (Frames::new(bound), Vec::new());
        bytes.chunks(size).for_each(|piece| frames.feed(piece, |message| out.push(message)));
        out
    }

    #[test]
    fn messages_are_put_together_wherever_they_are_cut() {
        let long = "x".repeat(70_000);
        let mut bytes = frame(0x81, b"{\"a\":1}", Some([1, 2, 3, 4]));
        bytes.extend(frame(0x01, b"Hel", Some([9, 8, 7, 6])));
        bytes.extend(frame(0x89, b"ping", Some([1, 1, 1, 1])));
        bytes.extend(frame(0x80, b"lo", Some([5, 5, 5, 5])));
        bytes.extend(frame(0x82, &[0; 300], None));
        bytes.extend(frame(0xC1, b"packed", None));
        bytes.extend(frame(0x81, b"", None));
        bytes.extend(frame(0x81, long.as_bytes(), Some([3, 1, 4, 1])));
        bytes.extend(frame(0x88, &[3, 232], None));
        for size in [1, 2, 3, 7, 1000, bytes.len()] {
            let texts: Vec<_> = read(&bytes, size, 1 << 20);
            assert_eq!(texts.len(), 6, "pieces of {size}");
            assert_eq!(texts[0].text.as_deref(), Some(&b"{\"a\":1}"[..]));
            assert_eq!(texts[1].text.as_deref(), Some(&b"Hello"[..]));
            assert!(!texts[2].is_text && texts[2].length == 300);
            assert!(texts[3].compressed);
            assert_eq!(texts[4].text.as_deref(), Some(&b""[..]));
            assert_eq!(texts[5].text.as_deref(), Some(long.as_bytes()));
        }
        let bounded = read(&bytes, 999, 100);
        assert_eq!((bounded[5].text.as_ref(), bounded[5].length), (None, 70_000));
    }

    #[test]
    fn what_is_no_websocket_is_not_followed() {
        assert_eq!(read(b"HTTP/1.1 200 OK\r\n\r\n", 3, 100), []);
        assert_eq!(read(&frame(0x80, b"continued", None), 4, 100), []);
    }
}
