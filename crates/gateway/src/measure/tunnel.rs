//! What passes in a WebSocket: each message of the client that asks for an answer is a turn of its own, and carries only
//! what is new.

use super::{Measurer, Open, answer, micros, money, record, request};
use crate::exchange::{Begun, Ended, ExchangeId, Frame, Noted, Way};
use crate::provider::Provider;
use deadweight_price::Book;
use deadweight_store::{Asked, Exchange};
use deadweight_wire::Dialect;
use deadweight_wire::usage::{End, StreamReader};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A WebSocket and the turn that is under way in it.
pub(super) struct Tunnel {
    /// How many turns it has had.
    turns: u64,
    turn: Option<Turn>,
}

/// A turn that is under way.
struct Turn {
    exchange: Exchange,
    reader: StreamReader,
    at: SystemTime,
    answer_bytes: u64,
    first: Option<Duration>,
}

impl Measurer {
    /// Takes in a message; the turns that it ends.
    pub(super) fn frame(&mut self, frame: &Frame) -> Option<Exchange> {
        let mut open = self.open.remove(&frame.id)?;
        let done = self.in_tunnel(&mut open, frame);
        self.open.insert(frame.id, open);
        done
    }

    fn in_tunnel(&mut self, open: &mut Open, frame: &Frame) -> Option<Exchange> {
        let dialect = open.dialect?;
        let readable = frame.text.whole && !frame.compressed;
        let text = readable.then(|| frame.text.joined(&mut self.room));
        let tunnel = open.tunnel.get_or_insert_with(|| Box::new(Tunnel { turns: 0, turn: None }));
        match frame.way {
            Way::Up => {
                let text = text?;
                // The provider answers one after the other: what was under way has been given up.
                let before = tunnel.turn.take().map(|turn| turn.done(&self.book, "client_left", frame.at));
                tunnel.turns += 1;
                let begun = begun(&open.exchange, dialect, tunnel.turns, frame);
                let mut exchange = record(&begun);
                exchange.asked = Asked::Generate;
                exchange.session.clone_from(&open.exchange.session);
                exchange.agent.clone_from(&open.exchange.agent);
                match request::of_body(
                    &begun,
                    text,
                    &mut self.parser,
                    &self.origins,
                    &self.names,
                    &*self.estimator,
                ) {
                    Ok(measured) => {
                        exchange.model = measured.model;
                        exchange.agent = exchange.agent.or_else(|| measured.agent.map(str::to_owned));
                        exchange.footprint = Some(measured.footprint);
                        exchange.tools = Some(measured.tools);
                        exchange.conversation.clone_from(&open.exchange.id);
                        exchange.turn = Some(tunnel.turns);
                        exchange.calls = Vec::new();
                    }
                    Err(why) => exchange.unmeasured = Some(why.to_string()),
                }
                tunnel.turn = Some(Turn {
                    exchange,
                    reader: StreamReader::new(dialect),
                    at: frame.at,
                    answer_bytes: 0,
                    first: None,
                });
                before
            }
            Way::Down => {
                let turn = tunnel.turn.as_mut()?;
                turn.answer_bytes += frame.text.length;
                turn.first.get_or_insert_with(|| frame.at.duration_since(turn.at).unwrap_or_default());
                let text = text?;
                // An event of a stream, without the stream's framing. Its JSON has no bare line ends to stumble over.
                turn.reader.feed(b"data: ");
                for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
                    turn.reader.feed(line);
                }
                turn.reader.feed(b"\n\n");
                if !ends(text) {
                    return None;
                }
                Some(tunnel.turn.take()?.done(&self.book, "complete", frame.at))
            }
        }
    }
}

/// Whether a message closes an answer: the provider's events say so in their `type`.
fn ends(text: &[u8]) -> bool {
    let closing = ["response.completed", "response.failed", "response.incomplete", "error"];
    deadweight_wire::json::Parser::new().scope(text, |document| {
        document.is_ok_and(|document| {
            let kind = document.root().get("type");
            kind.is_some_and(|kind| closing.iter().any(|closing| kind.is_str(closing)))
        })
    })
}

impl Tunnel {
    /// The connection is over: the turn under way was cut.
    pub(super) fn cut(self, book: &Book, ended: &Ended) -> Option<Exchange> {
        let turn = self.turn?;
        let at = turn.at + ended.took;
        Some(turn.done(book, ended.end.name(), at))
    }
}

impl Turn {
    fn done(self, book: &Book, how: &str, at: SystemTime) -> Exchange {
        let mut exchange = self.exchange;
        let mut outcome = self.reader.finish();
        answer::plausible(&mut outcome.counters);
        exchange.usage = answer::observed(&outcome.counters);
        exchange.cost = money::cost(book, &exchange, &outcome);
        exchange.ended = deadweight_store::Ended {
            how: how.to_owned(),
            status: match outcome.end {
                End::Complete => Some(200),
                _ => None,
            },
            error: answer::error(&outcome),
            request_id: outcome.about.request_id.clone(),
            streamed: true,
            first_byte_us: self.first.map(micros),
            took_us: micros(at.duration_since(self.at).unwrap_or_default()),
            answer_bytes: self.answer_bytes,
        };
        exchange
    }
}

/// A message as if it had been a request of its own.
fn begun(tunnel: &Exchange, dialect: Dialect, number: u64, frame: &Frame) -> Begun {
    let ExchangeId(id) = frame.id;
    Begun {
        id: ExchangeId(id.wrapping_add(u128::from(number))),
        at: frame.at,
        provider: Provider::of_name(&tunnel.provider).unwrap_or(Provider::OpenAi),
        upstream: Arc::from(""),
        agent: tunnel.agent.as_deref().map(Arc::from),
        method: "WEBSOCKET".to_owned(),
        path: tunnel.path.clone(),
        dialect: Some(dialect),
        headers: Noted::default(),
        received: frame.text.clone(),
        sent: frame.text.clone(),
        edited: None,
    }
}
