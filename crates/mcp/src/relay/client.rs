//! What the client says.

use super::frame::{Frame, Key, NoFrame};
use super::port::{FromClient, Id, Kind};
use super::{Held, Phase, Purpose, Relay, wording};
use crate::listing::Era;
use bytes::Bytes;
use std::time::Duration;

impl Relay {
    /// The client said something.
    pub(crate) fn client(&mut self, now: Duration, message: FromClient) {
        self.now = now;
        let FromClient { bytes, headers } = message;
        match Frame::read(&mut self.parser, &bytes) {
            Ok(frames) if frames.is_empty() => {
                self.answer_without_id(wording::INVALID_REQUEST, "an empty array is no message");
            }
            Ok(frames) => {
                for frame in frames {
                    match frame {
                        Ok(frame) => self.client_frame(frame, headers.clone()),
                        Err(NoFrame::Shape { id: Some(id) }) => {
                            self.answer_error(&id, wording::INVALID_REQUEST, "this is no JSON-RPC message");
                        }
                        Err(_) => {
                            self.answer_without_id(wording::INVALID_REQUEST, "this is no JSON-RPC message");
                        }
                    }
                }
            }
            Err(NoFrame::Json { detail, .. }) => {
                let text = format!("this is no JSON: {detail}");
                self.answer_without_id(wording::PARSE_ERROR, &text);
            }
            Err(NoFrame::Shape { .. }) => {
                self.answer_without_id(wording::INVALID_REQUEST, "this is no JSON-RPC message");
            }
        }
    }

    fn answer_without_id(&mut self, code: i64, text: &str) {
        let bytes = wording::error(b"null", code, text);
        let message = super::port::ToClient { bytes, about: None, status: Some(400), end: true };
        self.out.push_back(super::Output::Client(message));
    }

    fn client_frame(&mut self, frame: Frame, headers: Vec<(String, String)>) {
        if let Some(member) = frame.ambiguous() {
            let text = format!(
                "`{member}` stands in this message twice, or in another spelling of its letters: it could be read in two ways. \
                 Send each member once, as the protocol spells it"
            );
            return match frame.kind() {
                Kind::Request { id, .. } => self.answer_error(id, wording::INVALID_REQUEST, &text),
                _ => self.answer_without_id(wording::INVALID_REQUEST, &text),
            };
        }
        match frame.kind().clone() {
            Kind::Request { id, method } => self.client_request(&id, &method, frame, headers),
            Kind::Notification { method } => self.client_notification(&method, frame),
            Kind::Response { id } => self.client_response(&id, &frame),
        }
    }

    fn client_request(&mut self, id: &Id, method: &str, frame: Frame, headers: Vec<(String, String)>) {
        let waits = |held: &Held| matches!(held.frame.kind(), Kind::Request { id: other, .. } if other == id);
        if self.calls.contains_key(&Key::of(id))
            || self.opening.as_ref().is_some_and(|opening| opening.id == *id)
            || self.lists.iter().chain(&self.held).any(waits)
            || self.gathers.values().any(|gather| gather.is_for(id))
        {
            return self.answer_error(
                id,
                wording::INVALID_REQUEST,
                "a request with this id is still under way",
            );
        }
        if frame.is_modern() {
            self.meet_modern(&frame);
        } else if self.client.era == Some(Era::Legacy) && method != "initialize" {
            // A client that asks is ready, whether it said so or not.
            self.client_is_initialized(crate::message::initialized());
        }
        let opens = matches!(method, "initialize" | "server/discover" | "ping");
        if self.client.era.is_none()
            && !opens
            && self.servers.iter().all(|server| server.phase != Phase::Ready)
        {
            let text = "nothing was opened yet: `initialize` or `server/discover` comes first";
            return self.answer_error(id, wording::INVALID_REQUEST, text);
        }
        match method {
            "initialize" => self.initialize(id, frame, headers),
            "server/discover" => self.discover(id, frame, headers),
            "ping" if !(self.single() && self.servers[0].phase == Phase::Ready) => {
                let result = wording::complete(Bytes::from_static(b"{}"), frame.is_modern());
                self.answer_result(id, &result);
            }
            "tools/list" => self.list(id, frame, headers),
            "tools/call" => self.call(id, frame, headers, false),
            _ if self.single() => self.pass_plain(0, id, &frame, headers, None),
            _ => self.route(id, method, frame, headers),
        }
    }

    /// Passes a request on as it is, or with other bytes.
    pub(super) fn pass_plain(
        &mut self,
        server: usize,
        id: &Id,
        frame: &Frame,
        headers: Vec<(String, String)>,
        bytes: Option<Bytes>,
    ) {
        self.remember(server, frame);
        let bytes = bytes.unwrap_or_else(|| frame.bytes().clone());
        let mut message = self.outbound(server, bytes, frame.kind().clone());
        message.headers = headers;
        add_name(&mut message.headers, frame.name().or_else(|| frame.uri()));
        self.pass(server, id, frame.token(), message, Purpose::Plain);
    }

    /// What a server must be told again when it is started again.
    fn remember(&mut self, server: usize, frame: &Frame) {
        let (Some(method), Some(params)) = (frame.method(), frame.params()) else { return };
        let known = &mut self.servers[server];
        match (method, frame.uri()) {
            ("resources/subscribe", Some(uri)) => {
                known.subscriptions.insert(uri.to_owned(), params);
            }
            ("resources/unsubscribe", Some(uri)) => {
                known.subscriptions.remove(uri);
            }
            ("logging/setLevel", _) => known.level = Some(params),
            _ => {}
        }
    }

    fn client_notification(&mut self, method: &str, frame: Frame) {
        match method {
            "notifications/initialized" => {
                self.client.initialized = true;
                self.client_is_initialized(frame.bytes().clone());
            }
            "notifications/cancelled" => self.cancel(&frame),
            "notifications/progress" => {
                // Of a question that a server asked; where tokens were changed, they are changed back.
                let found = self.questions.iter().find_map(|(key, question)| {
                    let shown = Some(key) == frame.token().as_deref().map(Key::of).as_ref();
                    shown.then(|| (question.server, question.token.clone()))
                });
                match found {
                    Some((server, Some(token))) => {
                        self.tell(server, method, frame.with_token(&token), None);
                    }
                    Some((server, None)) => self.tell(server, method, frame.bytes().clone(), None),
                    None if self.single() && self.servers[0].phase == Phase::Ready => {
                        self.tell(0, method, frame.bytes().clone(), None);
                    }
                    None => {}
                }
            }
            // What is no notification must not pass for one: nobody would have looked whether it may be called.
            _ if !method.starts_with("notifications/") => {}
            _ => {
                for server in 0..self.servers.len() {
                    if self.servers[server].phase == Phase::Ready {
                        self.tell(server, method, frame.bytes().clone(), None);
                    }
                }
            }
        }
    }

    /// The one server that was opened with the client's own words hears that the client is ready.
    pub(super) fn client_is_initialized(&mut self, bytes: Bytes) {
        let known = &self.servers[0];
        if self.single() && known.phase == Phase::Opening && known.opening.is_some() && self.client.opened {
            self.tell(0, "notifications/initialized", bytes, None);
            self.ready(0);
        }
    }

    /// The client takes a request back.
    fn cancel(&mut self, frame: &Frame) {
        let Some(request) = frame.request_id() else { return };
        let key = Key::of(&request);
        let is_it =
            |held: &Held| !matches!(held.frame.kind(), Kind::Request { id, .. } if Key::of(id) == key);
        self.lists.retain(is_it);
        self.held.retain(is_it);
        self.cancel_gather(&key);
        self.cancel_reveal(&request);
        // `initialize` may not be taken back; and what is not under way needs no taking back.
        let opening = |call: &super::Call| matches!(call.purpose, Purpose::Opening);
        if self.calls.get(&key).is_none_or(opening) {
            return;
        }
        let Some(call) = self.calls.remove(&key) else { return };
        self.tokens.retain(|_, id| *id != call.id);
        let queue = &mut self.servers[call.server].queue;
        let queued = queue.len();
        queue.retain(|message| !matches!(&message.kind, Kind::Request { id, .. } if *id == call.id));
        if queue.len() == queued {
            self.tell(call.server, "notifications/cancelled", frame.bytes().clone(), Some(call.id.clone()));
        }
        if let Purpose::Tool(work) = call.purpose {
            self.called(work, call.since, 0, super::Outcome::Cancelled);
        }
    }

    /// The client answers a question of a server.
    fn client_response(&mut self, id: &Id, frame: &Frame) {
        let key = Key::of(id);
        let found = self.questions.remove(&key).or_else(|| self.questions.remove(&key.other_kind()));
        let Some(question) = found else { return };
        if self.servers[question.server].generation != question.generation {
            return;
        }
        let bytes = if question.id == *id { frame.bytes().clone() } else { frame.with_id(&question.id) };
        let kind = Kind::Response { id: question.id.clone() };
        let message = self.outbound(question.server, bytes, kind);
        self.out.push_back(super::Output::Send { server: question.server, message });
    }

    /// Learns what a request of 2026-07-28 says about the client.
    pub(super) fn meet_modern(&mut self, frame: &Frame) {
        if self.client.era == Some(Era::Legacy) {
            return;
        }
        let Some(meta) = frame.meta() else { return };
        let lasting = wording::lasting_meta(&meta);
        if self.client.meta.as_ref() == Some(&lasting) {
            return;
        }
        let of = |key: &str| {
            wording::text(&lasting, &["io.modelcontextprotocol/clientInfo", key]).unwrap_or_default()
        };
        self.client.who = crate::surface::Client::new(of("name"), of("version"));
        let capabilities = wording::member(&lasting, &["io.modelcontextprotocol/clientCapabilities"]);
        self.client.capabilities = capabilities.unwrap_or_default();
        let version = wording::text(&lasting, &["io.modelcontextprotocol/protocolVersion"]);
        self.client.version = version.unwrap_or_default();
        self.client.era = Some(Era::Modern);
        self.client.meta = Some(lasting);
        self.outdated = true;
        self.look_up_manifests(Era::Modern);
    }
}

/// The header that names what a request of 2026-07-28 is about.
pub(super) fn add_name(headers: &mut Vec<(String, String)>, name: Option<&str>) {
    if let Some(name) = name {
        headers.retain(|(key, _)| key != "mcp-name");
        headers.push(("mcp-name".to_owned(), name.to_owned()));
    }
}
