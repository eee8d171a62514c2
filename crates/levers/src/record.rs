//! What is decided, and its form in the journal.
//!
//! | record | key | says |
//! |---|---|---|
//! | [`Sent`] | chain hash of the client's messages up to and with one | that message was sent, with these texts put in it; without any it was sent as it came; and what was said behind it |
//! | [`Bound`](Record::Bound) | the same | it was sent to a model that binds thinking, or may |
//! | [`Turned`] | chain hash of all messages of the request at a cold start | what was put into messages that were sent before, and which of them are left out; holds for whatever continues that request |
//! | [`Unbound`](Record::Unbound) | chain hash of the client's messages up to and with one | the provider refused the thinking in that message; whatever continues it asks to have such thinking dropped |
//! | [`Head`] | the hash of its own bytes; the last message of a request names it | which tools are left out or wait, in which order they are cached, which came late, what the provider is asked to edit, for how long it is cached |
//!
//! A text that was put in place is kept as the JSON string that went over the wire, so that it is the same for ever,
//! whatever later versions would write. Markers are never a part of it.
//!
//! What was decided about tools is found by the conversation's own messages too: each request leaves, at its last message,
//! the hash of the head that it was sent with, and whatever continues it goes on with that head.
//!
//! The bytes of a record begin with the version of the format. No record changes once it is written: of two with one key
//! the first stays, and whoever comes second takes what is there.

use crate::lever::Lever;
use crate::policy::ToolRule;
use deadweight_cache::Digest;
use std::collections::BTreeSet;

/// The version of the format. What a later version wrote is not read.
pub const VERSION: u8 = 1;

/// A text in a message: an index of its blocks, and of the texts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The chain hash of the client's messages up to and with the one it stands in.
    pub message: Digest,
    /// The block.
    pub block: u32,
    /// Which of the texts of the block.
    pub leaf: u32,
}

/// A text that was put into the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The block of the message.
    pub block: u32,
    /// Which of the texts of the block.
    pub leaf: u32,
    /// Who decided it.
    pub lever: Lever,
    /// Which version of that lever.
    pub version: u16,
    /// The hash (BLAKE3) of the text that stood there, decoded.
    pub original: Digest,
    /// The JSON string that is sent instead, with its quotes.
    pub json: Box<str>,
    /// What it points to. That text has to stand, unchanged, in the same request.
    pub refers: Option<Place>,
}

/// A message was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The chain hash of the client's messages up to and with it.
    pub chain: Digest,
    /// Whether it was sent to a model that binds thinking, or may.
    pub bound: bool,
    /// For the last message of a request: the key of the [`Head`] it was sent with.
    pub head: Option<Digest>,
    /// What was put in it. Every other block went as it came.
    pub puts: Vec<Put>,
    /// What was said behind it, in a message of the system's.
    pub behind: Option<Behind>,
}

/// A message of the system's that was put behind one of the client's, by which tools come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// The message, as JSON.
    pub json: Box<str>,
    /// The tools by name, and whether each came.
    pub changes: Vec<(String, bool)>,
}

/// A tool that came when the list was cached already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// Its name.
    pub name: String,
    /// The hash of its definition as the client sends it.
    pub hash: Digest,
    /// Its definition as it is sent: it waits outside the prompt until it is told of.
    pub json: Box<str>,
}

/// What was put, at a cold start (or where the user asked for it), into messages that had been sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// The chain hash of all messages of the request at the cold start.
    pub chain: Digest,
    /// The chain hash of the message that each is put in, and the text.
    pub puts: Vec<(Digest, Put)>,
    /// The chain hashes of the messages that are left out from here on, in the place of all that were left out before.
    /// `None`: what was left out before stays so.
    pub gone: Option<Vec<Digest>>,
}

/// What stands before the messages, as far as it was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The policy by which tools are left out; `None`: none are.
    pub rule: Option<ToolRule>,
    /// Tools that stay although the policy denies them.
    pub kept: BTreeSet<String>,
    /// The tools that are offered at once, where all others wait until they are searched for.
    pub hot: Option<BTreeSet<String>>,
    /// What the provider is asked to do to the conversation, as JSON.
    pub edits: Option<String>,
    /// The hashes of the tools that were sent last, in their order.
    pub order: Vec<Digest>,
    /// Whether an order was ever put in the place of the client's.
    pub reordered: bool,
    /// The hash of the system prompt that was sent last.
    pub system: Digest,
    /// Whether breakpoints that we set are for an hour.
    pub hour: bool,
    /// The tools that came late.
    pub late: Vec<Late>,
}

impl Head {
    /// What it is kept under: the hash of what it says.
    #[must_use]
    pub fn key(&self) -> Digest {
        let mut out = Writer(Vec::new());
        out.head(self);
        Digest::from_bytes(*blake3::hash(&out.0).as_bytes())
    }
}

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A message was sent.
    Sent(Sent),
    /// A message (by its chain hash) was sent to a model that binds thinking, or may.
    Bound(Digest),
    /// Something was put into messages at a cold start.
    Turned(Turned),
    /// The provider refused the thinking in a message (by its chain hash), and is asked to drop such thinking from then on.
    Unbound(Digest),
    /// What stands before the messages.
    Head(Head),
}

/// What a record is kept under: its kind and 32 bytes.
pub type Key = (u8, [u8; 32]);

/// Why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A later version of this program wrote it.
    #[error("the decision is of format {found}, and this version reads up to {VERSION}")]
    Version {
        /// The version that was found.
        found: u8,
    },
    /// It is cut or damaged.
    #[error("the decision is damaged")]
    Damaged,
}

const SENT: u8 = 1;
const BOUND: u8 = 2;
const TURNED: u8 = 3;
const HEAD: u8 = 4;
const UNBOUND: u8 = 5;

impl Record {
    /// What it is kept under.
    #[must_use]
    pub fn key(&self) -> Key {
        match self {
            Self::Sent(own) => (SENT, *own.chain.as_bytes()),
            Self::Bound(chain) => (BOUND, *chain.as_bytes()),
            Self::Turned(own) => (TURNED, *own.chain.as_bytes()),
            Self::Unbound(chain) => (UNBOUND, *chain.as_bytes()),
            Self::Head(own) => (HEAD, *own.key().as_bytes()),
        }
    }

    /// The key of what was decided about a message: of [`Sent`].
    #[must_use]
    pub const fn sent(chain: &Digest) -> Key {
        (SENT, *chain.as_bytes())
    }

    /// The key of [`Bound`](Self::Bound).
    #[must_use]
    pub const fn bound(chain: &Digest) -> Key {
        (BOUND, *chain.as_bytes())
    }

    /// The key of [`Turned`].
    #[must_use]
    pub const fn turned(chain: &Digest) -> Key {
        (TURNED, *chain.as_bytes())
    }

    /// The key of [`Unbound`](Self::Unbound).
    #[must_use]
    pub const fn unbound(chain: &Digest) -> Key {
        (UNBOUND, *chain.as_bytes())
    }

    /// The key of [`Head`].
    #[must_use]
    pub const fn head(key: &Digest) -> Key {
        (HEAD, *key.as_bytes())
    }

    /// The keys of all that can be known of the message at a chain hash.
    #[must_use]
    pub const fn of_message(chain: &Digest) -> [Key; 4] {
        [Self::sent(chain), Self::bound(chain), Self::turned(chain), Self::unbound(chain)]
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer(vec![VERSION]);
        match self {
            Self::Sent(own) => {
                out.0.push(SENT);
                out.digest(&own.chain);
                // As below: what came later is said of only where there is any.
                out.0.push(u8::from(own.bound) | u8::from(own.behind.is_some()) << 1);
                out.flag(own.head.is_some());
                if let Some(head) = &own.head {
                    out.digest(head);
                }
                out.list(&own.puts, Writer::put);
                if let Some(behind) = &own.behind {
                    out.text(&behind.json);
                    out.list(&behind.changes, |out, (name, came)| {
                        out.text(name);
                        out.flag(*came);
                    });
                }
            }
            Self::Bound(chain) => {
                out.0.push(BOUND);
                out.digest(chain);
            }
            Self::Unbound(chain) => {
                out.0.push(UNBOUND);
                out.digest(chain);
            }
            Self::Turned(own) => {
                out.0.push(TURNED);
                out.digest(&own.chain);
                out.list(&own.puts, |out, (message, put)| {
                    out.digest(message);
                    out.put(put);
                });
                out.flag(own.gone.is_some());
                if let Some(gone) = &own.gone {
                    out.list(gone, Writer::digest);
                }
            }
            Self::Head(own) => {
                out.0.push(HEAD);
                out.head(own);
            }
        }
        out.0
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// The bytes are damaged, or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let (&version, rest) = bytes.split_first().ok_or(RecordError::Damaged)?;
        if version != VERSION {
            return Err(RecordError::Version { found: version });
        }
        let mut reader = Reader(rest);
        reader.record().filter(|_| reader.0.is_empty()).ok_or(RecordError::Damaged)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn short(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    fn digest(&mut self, digest: &Digest) {
        self.0.extend_from_slice(digest.as_bytes());
    }

    fn text(&mut self, text: &str) {
        self.short(text.len() as u32);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.short(items.len() as u32);
        for item in items {
            write(self, item);
        }
    }

    fn head(&mut self, own: &Head) {
        self.flag(own.rule.is_some());
        if let Some(rule) = &own.rule {
            self.list(&rule.deny, |out, pattern| out.text(pattern));
            self.list(&rule.allow, |out, pattern| out.text(pattern));
        }
        let kept: Vec<_> = own.kept.iter().collect();
        self.list(&kept, |out, name| out.text(name));
        self.flag(own.hot.is_some());
        if let Some(hot) = &own.hot {
            let hot: Vec<_> = hot.iter().collect();
            self.list(&hot, |out, name| out.text(name));
        }
        self.flag(own.edits.is_some());
        if let Some(edits) = &own.edits {
            self.text(edits);
        }
        self.list(&own.order, Writer::digest);
        // What came later stands behind, and only where it says something: so what was written before is read.
        let more = own.hour || !own.late.is_empty();
        self.0.push(u8::from(own.reordered) | u8::from(more) << 1);
        self.digest(&own.system);
        if more {
            self.flag(own.hour);
            self.list(&own.late, |out, late| {
                out.text(&late.name);
                out.digest(&late.hash);
                out.text(&late.json);
            });
        }
    }

    fn put(&mut self, put: &Put) {
        self.short(put.block);
        self.short(put.leaf);
        self.0.push(put.lever.number());
        self.0.extend_from_slice(&put.version.to_le_bytes());
        self.digest(&put.original);
        self.text(&put.json);
        self.flag(put.refers.is_some());
        if let Some(place) = &put.refers {
            self.digest(&place.message);
            self.short(place.block);
            self.short(place.leaf);
        }
    }
}

/// Reads what [`Writer`] wrote; `None` where there is less than there should be, or something else.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn short(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        let [flag] = self.bytes()?;
        (flag < 2).then_some(flag == 1)
    }

    fn digest(&mut self) -> Option<Digest> {
        self.bytes().map(Digest::from_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.short()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// A list. Room is made as items come, since a damaged length could be anything.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.short()?;
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(read(self)?);
        }
        Some(items)
    }

    fn put(&mut self) -> Option<Put> {
        Some(Put {
            block: self.short()?,
            leaf: self.short()?,
            lever: Lever::of_number(self.bytes::<1>()?[0])?,
            version: u16::from_le_bytes(self.bytes()?),
            original: self.digest()?,
            json: self.text()?.into(),
            refers: match self.flag()? {
                false => None,
                true => Some(Place { message: self.digest()?, block: self.short()?, leaf: self.short()? }),
            },
        })
    }

    fn record(&mut self) -> Option<Record> {
        let [kind] = self.bytes()?;
        Some(match kind {
            SENT => {
                let (chain, [flags], named) = (self.digest()?, self.bytes()?, self.flag()?);
                let head = if named { Some(self.digest()?) } else { None };
                let puts = self.list(Self::put)?;
                let behind = match flags & 2 > 0 {
                    false => None,
                    true => Some(Behind {
                        json: self.text()?.into(),
                        changes: self.list(|reader| Some((reader.text()?, reader.flag()?)))?,
                    }),
                };
                if flags > 3 {
                    return None;
                }
                Record::Sent(Sent { chain, bound: flags & 1 > 0, head, puts, behind })
            }
            BOUND => Record::Bound(self.digest()?),
            UNBOUND => Record::Unbound(self.digest()?),
            TURNED => Record::Turned(Turned {
                chain: self.digest()?,
                puts: self.list(|reader| Some((reader.digest()?, reader.put()?)))?,
                gone: match self.flag()? {
                    false => None,
                    true => Some(self.list(Self::digest)?),
                },
            }),
            HEAD => Record::Head(self.head()?),
            _ => return None,
        })
    }

    fn head(&mut self) -> Option<Head> {
        let rule = match self.flag()? {
            false => None,
            true => Some(ToolRule { deny: self.list(Self::text)?, allow: self.list(Self::text)? }),
        };
        let kept = self.list(Self::text)?.into_iter().collect();
        let hot = match self.flag()? {
            false => None,
            true => Some(self.list(Self::text)?.into_iter().collect()),
        };
        let edits = match self.flag()? {
            false => None,
            true => Some(self.text()?),
        };
        let order = self.list(Self::digest)?;
        let [flags] = self.bytes()?;
        let (reordered, more) = (flags & 1 > 0, flags & 2 > 0);
        let system = self.digest()?;
        let (hour, late) = match more {
            false => (false, Vec::new()),
            true => (self.flag()?, self.list(Self::late)?),
        };
        // What says nothing is not written.
        let whole = flags < 4 && more == (hour || !late.is_empty());
        whole.then_some(Head { rule, kept, hot, edits, order, reordered, system, hour, late })
    }

    fn late(&mut self) -> Option<Late> {
        Some(Late { name: self.text()?, hash: self.digest()?, json: self.text()?.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(byte: u8) -> Digest {
        Digest::from_bytes([byte; 32])
    }

    fn all() -> Vec<Record> {
        let put = Put {
            block: 1,
            leaf: 2,
            lever: Lever::Dedup,
            version: 7,
            original: digest(3),
            json: "\"ä\\n\"".into(),
            refers: Some(Place { message: digest(4), block: 5, leaf: 6 }),
        };
        let plain = Put { refers: None, ..put.clone() };
        let head = Head {
            rule: Some(ToolRule { deny: vec!["x*".into()], allow: Vec::new() }),
            kept: ["Read".to_owned()].into(),
            hot: Some(["Bash".to_owned()].into()),
            edits: Some("{}".to_owned()),
            order: vec![digest(1), digest(2)],
            reordered: true,
            system: digest(8),
            hour: true,
            late: vec![Late { name: "late".to_owned(), hash: digest(5), json: "{}".into() }],
        };
        let early = Head { hour: false, late: Vec::new(), ..head.clone() };
        let behind = Behind { json: "{}".into(), changes: vec![("late".to_owned(), true)] };
        vec![
            Record::Sent(Sent {
                chain: digest(1),
                bound: true,
                head: Some(digest(9)),
                puts: vec![put.clone(), plain],
                behind: None,
            }),
            Record::Sent(Sent {
                chain: digest(1),
                bound: false,
                head: None,
                puts: Vec::new(),
                behind: Some(behind),
            }),
            Record::Bound(digest(2)),
            Record::Unbound(digest(2)),
            Record::Turned(Turned {
                chain: digest(3),
                puts: vec![(digest(4), put.clone())],
                gone: Some(vec![digest(5), digest(6)]),
            }),
            Record::Turned(Turned { chain: digest(3), puts: vec![(digest(4), put)], gone: None }),
            Record::Head(head.clone()),
            Record::Head(early),
            Record::Head(Head { rule: None, hot: None, edits: None, ..head }),
        ]
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for record in all() {
            assert_eq!(Record::decode(&record.encode()), Ok(record));
        }
    }

    #[test]
    fn damage_is_told_and_never_read() {
        for record in all() {
            let bytes = record.encode();
            for end in 0..bytes.len() {
                assert_eq!(Record::decode(&bytes[..end]), Err(RecordError::Damaged));
            }
            assert_eq!(Record::decode(&[&bytes[..], &[0]].concat()), Err(RecordError::Damaged));
            let mut later = bytes;
            later[0] = 2;
            assert_eq!(Record::decode(&later), Err(RecordError::Version { found: 2 }));
        }
    }

    #[test]
    fn keys_of_different_records_differ() {
        let keys: BTreeSet<_> = all().iter().map(Record::key).collect();
        assert_eq!(keys.len(), 7);
        assert_eq!(Record::Bound(digest(2)).key(), Record::bound(&digest(2)));
    }
}
