//! What the servers say.

use super::frame::{Frame, Key, NoFrame};
use super::port::{Event, FromServer, Id, Kind, ToClient, Undelivered};
use super::{Ask, Call, OWN, Outcome, Output, Phase, Purpose, Question, Relay, wording};
use crate::error::Reason;
use crate::listing::Era;
use bytes::Bytes;
use std::time::Duration;

/// How long a server must have run for its end not to count as a failure to start.
const STEADY: Duration = Duration::from_secs(10);
/// How often in a row a list is begun anew because a change was announced while it was under way.
const BEGUN_ANEW: u32 = 3;
/// The pause before a server that ended as it was started is started once more.
const ONCE_MORE: Duration = Duration::from_millis(200);

impl Relay {
    /// A link reports.
    pub(crate) fn server(&mut self, now: Duration, report: FromServer) {
        self.now = now;
        let FromServer { server, generation, event } = report;
        if self.servers.get(server).is_none_or(|known| known.generation != generation) {
            return;
        }
        match event {
            Event::Message { bytes, about, status } => match Frame::read(&mut self.parser, &bytes) {
                Ok(frames) => {
                    for frame in frames {
                        match frame {
                            Ok(frame) => self.server_frame(server, frame, about.as_ref(), status),
                            Err(NoFrame::Shape { id: Some(id) }) => self.no_answer(server, &id),
                            // An error without an id can only be about the one request it came as an answer to.
                            Err(NoFrame::Shape { .. }) => {
                                self.shapeless(server, &bytes, about.as_ref(), status)
                            }
                            Err(NoFrame::Json { .. }) => {}
                        }
                    }
                }
                // Programs print things. What was meant as a message and is broken is told, since something will now wait.
                Err(NoFrame::Json { offset, .. }) => {
                    if memchr::memmem::find(&bytes, b"\"jsonrpc\"").is_some() {
                        let label = self.world.labels[server].clone();
                        self.note(format!(
                            "{label}: sent a message that is no JSON (byte {offset}); it was left out"
                        ));
                        self.answer_if_only_one(server);
                    }
                }
                Err(NoFrame::Shape { .. }) => {}
            },
            Event::Undelivered { id, why } => self.undelivered(server, id.as_ref(), why),
            Event::Ended { reason, stderr } => self.ended(server, reason, stderr),
        }
    }

    fn server_frame(&mut self, server: usize, frame: Frame, about: Option<&Id>, status: Option<u16>) {
        match frame.kind().clone() {
            Kind::Response { id } => self.server_response(server, &id, &frame, status),
            Kind::Request { id, method } => self.server_request(server, &id, &method, &frame, about),
            Kind::Notification { method } => self.server_notification(server, &method, &frame, about),
        }
    }

    fn server_response(&mut self, server: usize, id: &Id, frame: &Frame, status: Option<u16>) {
        let key = Key::of(id);
        if let Some(number) = self.own_number(&key) {
            if self.asks.get(&number).is_some_and(|(asked, _)| *asked == server)
                && let Some((_, ask)) = self.asks.remove(&number)
            {
                self.own_answer(server, &ask, frame);
            }
            return;
        }
        let is_here = |call: &Call| call.server == server;
        let other = key.clone().other_kind();
        let key = if self.calls.get(&key).is_some_and(is_here) {
            key
        } else if self.calls.get(&other).is_some_and(is_here) {
            other
        } else {
            // Answered before, taken back, or never asked.
            return;
        };
        let Some(call) = self.calls.remove(&key) else { return };
        self.tokens.retain(|_, id| *id != call.id);
        let mut bytes = if call.id == *id { frame.bytes().clone() } else { frame.with_id(&call.id) };
        match call.purpose {
            Purpose::Opening => return self.opened_through(&call.id, frame, status),
            Purpose::Plain => self.own(server, frame),
            Purpose::Tool(work) => {
                let result = frame.result().filter(|_| !frame.is_error());
                let outcome = match &result {
                    None => Outcome::RpcError,
                    Some(_) if frame.is_tool_error() => Outcome::ToolError,
                    Some(_) => Outcome::Ok,
                };
                if let Some(cut) = result.and_then(|result| self.cut(&result, server, &work.tool)) {
                    bytes = super::frame::replaced(&bytes, &["result"], &cut).unwrap_or(bytes);
                }
                self.own(server, frame);
                self.called(work, call.since, bytes.len(), outcome);
            }
        }
        self.answer(&call.id, bytes, status);
    }

    /// Remembers whose a task is that a result tells of.
    fn own(&mut self, server: usize, frame: &Frame) {
        if self.single() {
            return;
        }
        let task = frame.result().and_then(|result| wording::text(&result, &["task", "taskId"]));
        if let Some(task) = task {
            self.owners.insert(task, server);
        }
    }

    fn own_answer(&mut self, server: usize, ask: &Ask, frame: &Frame) {
        match ask {
            Ask::Initialize => {
                let last_resort = self.client.era == Some(Era::Modern);
                if frame.is_error() && last_resort {
                    let message = wording::text(frame.bytes(), &["error", "message"]).unwrap_or_default();
                    let message = crate::harmless::excerpt(message.as_bytes(), 200);
                    return self.fail(server, format!("it refused `initialize`: {message}"));
                }
                self.initialized_by_us(server, frame);
            }
            Ask::Discover => self.discovered_by_us(server, frame),
            Ask::Tools => self.page(server, frame),
            Ask::Again => {}
            Ask::Part(gather) => self.part(*gather, server, frame),
        }
    }

    /// A server asks the client something.
    fn server_request(&mut self, server: usize, id: &Id, method: &str, frame: &Frame, about: Option<&Id>) {
        let answer = |relay: &mut Self, bytes: Bytes| {
            let message = relay.outbound(server, bytes, Kind::Response { id: id.clone() });
            relay.out.push_back(Output::Send { server, message });
        };
        if method == "ping" && !self.client.opened {
            return answer(self, wording::response(id, "result", b"{}"));
        }
        // Only clients ask that: a program that sends back what it is sent is no server.
        if matches!(method, "initialize" | "server/discover" | "tools/list" | "tools/call") {
            return self.fail(server, "it sends back what it is sent".to_owned());
        }
        let honoured = self.client.era == Some(Era::Legacy) && self.servers[server].era == Some(Era::Legacy);
        if !honoured {
            return answer(self, wording::error(id, wording::METHOD_NOT_FOUND, "Method not found"));
        }
        let generation = self.servers[server].generation;
        let unique = self.single() && generation == 1;
        let (shown, mut bytes) = if unique && !self.questions.contains_key(&Key::of(id)) {
            (id.clone(), frame.bytes().clone())
        } else {
            self.last_question += 1;
            let shown = Bytes::from(format!("\"{OWN}{}:q{}\"", self.world.nonce, self.last_question));
            let bytes = frame.with_id(&shown);
            (shown, bytes)
        };
        let mut token = None;
        if !unique && let Some(own) = frame.token() {
            bytes = super::frame::replaced(&bytes, &["params", "_meta", "progressToken"], &shown)
                .unwrap_or(bytes);
            token = Some(own);
        }
        let question = Question { server, generation, id: id.clone(), token };
        self.questions.insert(Key::of(&shown), question);
        let about = self.about(server, about);
        self.say(bytes, about);
    }

    fn server_notification(&mut self, server: usize, method: &str, frame: &Frame, about: Option<&Id>) {
        let mut bytes = frame.bytes().clone();
        let mut about = about.filter(|id| self.calls.contains_key(&Key::of(id))).cloned();
        match method {
            "notifications/progress" => {
                let call = frame.token().and_then(|token| self.tokens.get(&Key::of(&token)).cloned());
                about = call.or(about);
                if about.is_none() && !self.single() {
                    return;
                }
            }
            "notifications/cancelled" => {
                // Of a question that it asked. (On 2026-07-28 it also ends a stream of the client's, whose id is unchanged.)
                let request = frame.request_id();
                let shown = self.questions.iter().find_map(|(key, question)| {
                    let is_it = question.server == server
                        && request.as_deref().map(Key::of) == Some(Key::of(&question.id));
                    is_it.then(|| key.clone())
                });
                match shown {
                    Some(shown) => {
                        self.questions.remove(&shown);
                        let raw = match &shown {
                            Key::Number(text) => text.clone(),
                            Key::Text(text) => super::frame::quoted(text),
                        };
                        bytes = frame.with_request_id(raw.as_bytes());
                    }
                    None if self.servers[server].era == Some(Era::Legacy) => return,
                    None => {}
                }
            }
            "notifications/tools/list_changed" => {
                let known = &mut self.servers[server];
                known.announced = true;
                known.fresh = false;
                // A list that is under way may be the one before the change, and is asked for again. A server that announces
                // a change at every question would never be done with that.
                if known.pages.is_some() && known.begun_anew < BEGUN_ANEW {
                    known.begun_anew += 1;
                    known.pages = None;
                    self.forget_list(server);
                }
                // It is fetched when it is asked for: some servers say this after every list. Where calls are held against
                // the lock, or wait, it is needed at once.
                let wanted = self.world.lock.is_some() || self.surface.is_none() || !self.lists.is_empty();
                if wanted || !self.held.is_empty() {
                    self.fetch(server);
                } else if self.servers[server].pages.is_none() {
                    self.servers[server].awaited_since = None;
                }
            }
            _ => {}
        }
        if !self.client.opened && method != "notifications/progress" {
            // Nothing may come before the answer to the opening but what belongs to it.
            return;
        }
        if about.is_none() && method == "notifications/message" {
            about = self.about(server, None);
        }
        if !self.single() && self.client.era == Some(Era::Modern) && method.ends_with("ed") {
            let params = frame.params().unwrap_or_else(|| Bytes::from_static(b"{}"));
            return self.tell_listeners(method, &params);
        }
        self.say(bytes, about);
    }

    /// Which request of the client something belongs to that a server says: what the transport tells, else the one that is
    /// under way there, if it is the only one.
    fn about(&self, server: usize, told: Option<&Id>) -> Option<Id> {
        if let Some(told) = told {
            return self.calls.get(&Key::of(told)).map(|call| call.id.clone());
        }
        let mut here = self.calls.values().filter(|call| call.server == server);
        match (here.next(), here.next()) {
            (Some(call), None) => Some(call.id.clone()),
            _ => None,
        }
    }

    /// Sends the client something that is no answer.
    pub(super) fn say(&mut self, bytes: Bytes, about: Option<Id>) {
        self.out.push_back(Output::Client(ToClient { bytes, about, status: None, end: false }));
    }

    /// Something that is JSON and no message, or an error without an id.
    fn shapeless(&mut self, server: usize, bytes: &Bytes, about: Option<&Id>, status: Option<u16>) {
        let error = wording::member(bytes, &["error"]).filter(|error| &error[..] != b"null");
        let Some(error) = error else { return };
        let id = about.cloned().or_else(|| self.about(server, None));
        if let Some(id) = id
            && let Ok(frame) = Frame::one(&mut self.parser, &wording::response(&id, "error", &error))
        {
            return self.server_response(server, &id, &frame, status);
        }
        let only: Vec<u64> =
            self.asks.iter().filter(|(_, (asked, _))| *asked == server).map(|(number, _)| *number).collect();
        if let [number] = only[..]
            && let Some((_, ask)) = self.asks.remove(&number)
        {
            let id = format!("\"{OWN}{}:{number}\"", self.world.nonce);
            if let Ok(frame) =
                Frame::one(&mut self.parser, &wording::response(id.as_bytes(), "error", &error))
            {
                self.own_answer(server, &ask, &frame);
            }
        }
    }

    /// An answer that answers nothing: neither result nor error.
    fn no_answer(&mut self, server: usize, id: &Id) {
        let bytes = wording::error(id, -32603, "the server answered with neither a result nor an error");
        if let Ok(frame) = Frame::one(&mut self.parser, &bytes) {
            self.server_response(server, id, &frame, None);
        }
    }

    /// A broken message was the answer to the one call under way: that call will not be answered any more.
    fn answer_if_only_one(&mut self, server: usize) {
        if self.asks.values().any(|(asked, _)| *asked == server) {
            return;
        }
        let Some(id) = self.about(server, None) else { return };
        let label = self.world.labels[server].clone();
        let text = format!(
            "The MCP server `{label}` answered with a message that is no JSON. Whether the call had an effect is not known."
        );
        self.end_call(&Key::of(&id), &text, Outcome::Crashed);
    }

    /// Ends a call that its server will not answer.
    fn end_call(&mut self, key: &Key, text: &str, outcome: Outcome) {
        let Some(call) = self.calls.remove(key) else { return };
        self.tokens.retain(|_, id| *id != call.id);
        if matches!(call.purpose, Purpose::Opening) {
            // The client still waits for its opening; it gets one that says what is wrong.
            self.opening = Some(super::Opening {
                id: call.id,
                message: call.message.bytes,
                headers: call.message.headers,
            });
            return;
        }
        let bytes = wording::error(&call.id, wording::NOT_AVAILABLE, text);
        if let Purpose::Tool(work) = call.purpose {
            self.called(work, call.since, bytes.len(), outcome);
        }
        self.answer(&call.id, bytes, None);
    }

    /// Ends everything that is under way at a server.
    pub(super) fn drop_work(&mut self, server: usize, text: &str) {
        let mut keys: Vec<Key> =
            self.calls.iter().filter(|(_, call)| call.server == server).map(|(key, _)| key.clone()).collect();
        keys.sort();
        for key in keys {
            self.end_call(&key, text, Outcome::Crashed);
        }
        self.asks.retain(|_, (asked, _)| *asked != server);
        self.lose_parts(server);
        // The client need not answer what nobody asks any more.
        let mut gone: Vec<Key> = self
            .questions
            .iter()
            .filter(|(_, question)| question.server == server)
            .map(|(key, _)| key.clone())
            .collect();
        gone.sort();
        for key in gone {
            self.questions.remove(&key);
            let raw = match &key {
                Key::Number(text) => text.clone(),
                Key::Text(text) => super::frame::quoted(text),
            };
            let params = format!(r#"{{"requestId":{raw},"reason":"the server ended"}}"#);
            let bytes = wording::notification("notifications/cancelled", params.as_bytes());
            self.say(bytes, None);
        }
    }

    fn undelivered(&mut self, server: usize, id: Option<&Id>, why: Undelivered) {
        let label = self.world.labels[server].clone();
        if let Undelivered::SessionGone = why {
            return self.renew(server, id);
        }
        let spec = &self.world.specs[server];
        let reason = match why {
            Undelivered::SessionGone => return,
            Undelivered::Refused { status, body } => {
                Reason::HttpStatus { status, excerpt: crate::harmless::excerpt(&body, 200) }
            }
            Undelivered::Unreachable(reason) => reason,
            Undelivered::StreamEnded => Reason::StreamEnded { waiting_for: "the call" },
        };
        // It got there, and what became of it is not known: that is no matter of the address.
        let broken =
            (!wording::kept_from_running(&reason)).then(|| wording::broken(spec, &label, reason.clone()));
        let reason = wording::why(spec, reason, Vec::new());
        let Some(id) = id else { return };
        let key = Key::of(id);
        let own = self.own_number(&key);
        let opening = self.calls.get(&key).is_some_and(|call| matches!(call.purpose, Purpose::Opening));
        match own.and_then(|number| self.asks.remove(&number)) {
            Some((_, Ask::Initialize | Ask::Discover)) => self.fail(server, reason),
            Some((_, Ask::Tools)) => {
                let error = format!(r#"{{"code":-32000,"message":{}}}"#, super::frame::quoted(&reason));
                let bytes = wording::response(id, "error", error.as_bytes());
                if let Ok(frame) = Frame::one(&mut self.parser, &bytes) {
                    self.page(server, &frame);
                }
            }
            Some((_, Ask::Part(gather))) => self.part_lost(gather, server),
            Some((_, Ask::Again)) => {}
            None if opening => self.fail(server, reason),
            None => {
                let text = broken.unwrap_or_else(|| wording::not_available(&label, &reason));
                self.end_call(&key, &text, Outcome::Crashed);
            }
        }
    }

    /// The server forgot the session: a new one is opened, and what was certainly not worked on is sent again.
    fn renew(&mut self, server: usize, id: Option<&Id>) {
        let again = id.and_then(|id| {
            let key = Key::of(id);
            let fresh = self.calls.get(&key).is_some_and(|call| !call.resent);
            fresh.then(|| self.calls.remove(&key)).flatten()
        });
        let label = self.world.labels[server].clone();
        let text = wording::ended(&label, "it does not know the session any more");
        self.let_go(server);
        self.servers[server].phase = Phase::Cold;
        self.drop_work(server, &text);
        self.start(server);
        if let Some(mut call) = again {
            call.resent = true;
            self.servers[server].queue.push_back(call.message.clone());
            self.calls.insert(Key::of(&call.id), call);
        }
    }

    /// A link is over.
    fn ended(&mut self, server: usize, reason: Reason, stderr: Vec<String>) {
        let was = self.servers[server].phase;
        let crashed = matches!(reason, Reason::Exited { .. } | Reason::OutputClosed);
        let text = if was == Phase::Ready {
            wording::how_it_ended(&self.world.specs[server], reason, stderr)
        } else {
            wording::why(&self.world.specs[server], reason, stderr)
        };
        let steady = self.now.saturating_sub(self.servers[server].started_at) >= STEADY;
        if was == Phase::Opening
            && crashed
            && !self.servers[server].once_more
            && self.servers[server].failures == 0
        {
            return self.once_more(server, &text);
        }
        if was == Phase::Opening || self.servers[server].manifest.is_none() {
            // It never came to say what it has.
            return self.fail(server, text);
        }
        let label = self.world.labels[server].clone();
        self.note(format!("{label}: {text}"));
        self.let_go(server);
        let known = &mut self.servers[server];
        known.phase = Phase::Cold;
        known.fresh = false;
        known.announced = false;
        known.pages = None;
        known.failures = if steady { 0 } else { known.failures + 1 };
        if known.failures >= 3 {
            // It ends as soon as it is started. It is left alone for a while.
            known.failure = Some(text.clone());
            known.retry_at = Some(self.now + STEADY);
        }
        known.queue.clear();
        self.drop_held(server, &wording::ended_before(&label, &text));
        self.drop_work(server, &wording::ended(&label, &text));
        self.go_on();
    }

    /// A server ended before it could be asked anything. That happens (a port that is not free yet, a package that is being
    /// unpacked), so it is started a second time before anybody is told that it is not there. What waits for it goes on
    /// waiting: none of it was worked on.
    fn once_more(&mut self, server: usize, text: &str) {
        let label = self.world.labels[server].clone();
        self.note(format!("{label}: {text}; it is started once more"));
        self.let_go(server);
        self.asks.retain(|_, (asked, _)| *asked != server);
        let opening = |call: &Call| call.server == server && matches!(call.purpose, Purpose::Opening);
        let opening = self.calls.iter().find(|(_, call)| opening(call)).map(|(key, _)| key.clone());
        if let Some(key) = opening {
            self.end_call(&key, text, Outcome::Crashed);
        }
        let known = &mut self.servers[server];
        known.phase = Phase::Cold;
        known.once_more = true;
        known.retry_at = Some(self.now + ONCE_MORE);
    }
}
