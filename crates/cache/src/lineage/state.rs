//! The state of a session as bytes, so that a restart goes on where it was.
//!
//! A small format of its own, since it is written after every request: numbers in little-endian order, lists after
//! their length. It holds hashes, sizes and times, and no text but names of models.

use super::snapshot::{Head, Node, Point, Slim, Snapshot};
use super::{Conversation, ConversationId, Lineages, Session};
use std::sync::Arc;

/// The version of the format. What another version wrote is not read.
const VERSION: u8 = 1;

/// Why a saved state was not restored. Nothing of it was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Another version of this program wrote it.
    #[error(
        "the saved conversations are of format {found}, and this version reads {VERSION}; they are left out"
    )]
    Version {
        /// The version that was found.
        found: u8,
    },
    /// It is cut or damaged.
    #[error("the saved conversations are damaged; they are left out")]
    Damaged,
}

impl Lineages {
    /// The state of a session, to be kept until after a restart. `None` for one that is not known.
    #[must_use]
    pub fn save(&self, session: &str) -> Option<Vec<u8>> {
        let own = self.sessions.get(session)?;
        let mut out = Writer(vec![VERSION]);
        out.number(own.begun);
        out.list(&own.conversations, |out, own| {
            out.0.extend_from_slice(own.id.as_bytes());
            out.number(own.requests);
            out.number(own.used);
            out.list(&own.tips, Writer::snapshot);
        });
        Some(out.0)
    }

    /// Takes a saved session back, in place of what is known of it. It counts as used just now; bounds hold.
    ///
    /// # Errors
    /// The state is damaged, or of another version. Then nothing changes.
    pub fn restore(&mut self, session: &str, state: &[u8]) -> Result<(), RestoreError> {
        let (&version, rest) = state.split_first().ok_or(RestoreError::Damaged)?;
        if version != VERSION {
            return Err(RestoreError::Version { found: version });
        }
        let mut reader = Reader(rest);
        let mut own = reader.session().filter(|_| reader.0.is_empty()).ok_or(RestoreError::Damaged)?;
        own.conversations.sort_by_key(|own| own.used);
        let (limits, excess) =
            (self.limits, own.conversations.len().saturating_sub(self.limits.conversations.max(1)));
        own.conversations.drain(..excess);
        for conversation in &mut own.conversations {
            let excess = conversation.tips.len().saturating_sub(limits.tips.max(1));
            conversation.tips.drain(..excess);
            // In the order in which they were used, and all before whatever comes next.
            self.clock += 1;
            conversation.used = self.clock;
        }
        self.clock += 1;
        own.used = self.clock;
        self.forget(session);
        self.messages += own.messages();
        self.sessions.insert(session.into(), own);
        self.evict();
        Ok(())
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn short(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn maybe(&mut self, number: Option<u64>) {
        self.0.push(u8::from(number.is_some()));
        self.number(number.unwrap_or(0));
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.short(items.len() as u32);
        for item in items {
            write(self, item);
        }
    }

    fn slim(&mut self, slim: &Slim) {
        self.0.extend_from_slice(&slim.hash);
        self.short(slim.tokens);
    }

    fn point(&mut self, point: &Point) {
        self.short(point.index);
        self.short(point.tokens);
        self.0.push(u8::from(point.hour));
        self.number(point.at);
    }

    fn snapshot(&mut self, own: &Snapshot) {
        self.number(own.at);
        self.maybe(own.warm);
        self.maybe(own.warm_before);
        self.0.push(u8::from(own.model.is_some()));
        self.list(own.model.as_deref().unwrap_or_default().as_bytes(), |out, byte| out.0.push(*byte));
        self.list(&own.head.tools, Self::slim);
        self.list(&own.head.system, Self::slim);
        self.0.extend_from_slice(&own.head.settings);
        self.list(&own.nodes, |out, node| {
            out.0.extend_from_slice(&node.chain);
            out.number(node.own);
            out.short(node.tokens);
            out.short(node.blocks);
        });
        self.list(&own.points, Self::point);
        self.list(&own.before, Self::point);
    }
}

/// Reads what [`Writer`] wrote; `None` where there is less than there should be.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn short(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        let [flag] = self.bytes()?;
        (flag < 2).then_some(flag == 1)
    }

    fn maybe(&mut self) -> Option<Option<u64>> {
        let there = self.flag()?;
        self.number().map(|number| there.then_some(number))
    }

    /// A list. Room is made as items come, since a damaged length could be anything.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.short()?;
        (0..length).map(|_| read(self)).collect()
    }

    fn slim(&mut self) -> Option<Slim> {
        Some(Slim { hash: self.bytes()?, tokens: self.short()? })
    }

    fn point(&mut self) -> Option<Point> {
        Some(Point { index: self.short()?, tokens: self.short()?, hour: self.flag()?, at: self.number()? })
    }

    fn node(&mut self) -> Option<Node> {
        Some(Node { chain: self.bytes()?, own: self.number()?, tokens: self.short()?, blocks: self.short()? })
    }

    fn snapshot(&mut self) -> Option<Snapshot> {
        let (at, warm, warm_before) = (self.number()?, self.maybe()?, self.maybe()?);
        let named = self.flag()?;
        let model = self.list(|reader| reader.bytes::<1>().map(|[byte]| byte))?;
        let model = String::from_utf8(model).ok()?;
        let head =
            Head { tools: self.list(Self::slim)?, system: self.list(Self::slim)?, settings: self.bytes()? };
        Some(Snapshot {
            at,
            warm,
            warm_before,
            model: named.then(|| model.into()),
            head: Arc::new(head),
            nodes: self.list(Self::node)?,
            points: self.list(Self::point)?,
            before: self.list(Self::point)?,
        })
    }

    fn session(&mut self) -> Option<Session> {
        let begun = self.number()?;
        let conversations = self.list(|reader| {
            let id = ConversationId::from_bytes(reader.bytes()?);
            let (requests, used) = (reader.number()?, reader.number()?);
            let tips = reader.list(Self::snapshot).filter(|tips| !tips.is_empty())?;
            Some(Conversation { id, requests, used, tips })
        })?;
        Some(Session { begun, used: 0, conversations })
    }
}
