//! Calls of tools.

use super::client::add_name;
use super::frame::{Frame, replaced};
use super::fresh::List;
use super::port::Id;
use super::{Doing, Held, Outcome, Phase, Purpose, Relay, Work, wording};
use crate::listing::Era;
use crate::spec::Transport;
use crate::surface::{Access, CONFIRM, Own, Prepared, Surface, Target, Tool, ToolIx, Trust, alike};
use bytes::Bytes;
use deadweight_lock::{Hash, NameRule, PolicyKind};
use deadweight_wire::json::Parser;
use deadweight_wire::splice::Edits;

impl Relay {
    /// The client calls a tool.
    ///
    /// `awaited`: it has waited for its server's list, as far as that comes.
    pub(super) fn call(&mut self, id: &Id, frame: Frame, headers: Vec<(String, String)>, awaited: bool) {
        let known = self.surface.is_some()
            || self.servers.iter().any(|server| server.manifest.is_some())
            || self.servers.iter().all(|server| server.phase == Phase::Failed);
        if !known {
            let refused = self.servers[0].list_error.is_some() && !self.servers[0].overdue;
            if self.single() && self.world.lock.is_none() && self.servers[0].phase == Phase::Ready && refused
            {
                // It calls what its server does not list. So it would without us.
                return self.pass_plain(0, id, &frame, headers, None);
            }
            if self.servers.iter().all(|server| server.list_error.is_some()) {
                let text =
                    "the server does not list its tools, so that it cannot be checked against the lock";
                return self.answer_error(id, wording::INVALID_REQUEST, text);
            }
            if self.single() && (awaited || self.servers[0].overdue) {
                let name = frame.name().unwrap_or_default().to_owned();
                return self.refuse_unjudged(id, &name, 0, None);
            }
            for server in 0..self.servers.len() {
                self.start_for_request(server);
                self.fetch(server);
            }
            if self.servers.iter().any(|server| server.phase != Phase::Failed) {
                let list_of = self.single().then_some(0);
                return self.held.push(Held { frame, headers, list_of });
            }
        }
        let surface = match self.surface() {
            Ok(surface) => surface,
            Err(_) if !awaited && self.renew_lists() => {
                return self.held.push(Held { frame, headers, list_of: None });
            }
            Err(text) => return self.answer_error(id, wording::INVALID_REQUEST, &text),
        };
        let Some(name) = frame.name().map(str::to_owned) else {
            return if self.single() && self.world.lock.is_none() {
                self.pass_plain(0, id, &frame, headers, None)
            } else {
                self.answer_error(id, wording::INVALID_PARAMS, "`params.name` is missing, or is no text")
            };
        };
        let arguments = frame.arguments();
        match surface.resolve(&name) {
            Some(Target::Own(own)) => self.call_own(id, own, &surface, &frame, headers, awaited),
            Some(Target::Tool(tool)) => {
                let as_sent =
                    Sent { frame: &frame, headers, name: &name, arguments, wrapped: false, awaited };
                self.call_tool(id, &surface, tool, as_sent);
            }
            None if self.single() && self.unlisted_is_refused(&name) => {
                let modern = self.client.era == Some(Era::Modern);
                let text = format!(
                    "Not called: `{name}` is not in the server's list, and deadweight.lock does not let it be called unseen."
                );
                let result = wording::complete(wording::tool_error(&text, modern), modern);
                self.answer_result(id, &result);
            }
            None if self.single() => {
                // The server may have tools that it does not list; it knows what to say. But it may list this one by now.
                let known = &self.servers[0];
                let unseen = known.manifest.is_none() && known.list_error.is_none();
                let lazy = surface.all().any(|(_, tool)| self.is_judged(tool));
                if (unseen || lazy) && self.list_of(0) != List::Fresh {
                    match self.await_list(0).filter(|_| !awaited) {
                        Some(true) => return self.hold(&frame, headers, 0),
                        Some(false) => return self.refuse(0, id, Purpose::Plain),
                        None => return self.refuse_unjudged(id, &name, 0, None),
                    }
                }
                let sent = Sent { frame: &frame, headers, name: &name, arguments, wrapped: false, awaited };
                self.run(id, &surface, None, sent, None);
            }
            None => {
                let text = self.unknown_tool(&surface, &name);
                self.answer_error(id, wording::INVALID_PARAMS, &text);
            }
        }
    }

    /// Whether the lock keeps a tool from being called that its server does not list: it is denied by name, in whatever
    /// spelling a server might take for that name, or nothing is called that was not reviewed.
    fn unlisted_is_refused(&self, name: &str) -> bool {
        let Some(lock) = &self.world.lock else { return false };
        let label = &self.world.labels[0];
        let readings = alike::readings(name, label, &self.world.settings.entry);
        let is_like = |denied: &str| readings.contains(&alike::folded(denied));
        let by_rule =
            |rule: &NameRule| rule.kind == PolicyKind::Deny && (rule.tool == "*" || is_like(&rule.tool));
        let mut tools =
            lock.tools.iter().filter(|(key, tool)| key.server == *label && tool.marks.deny.is_some());
        let server = lock.servers.get(label).is_some_and(|server| server.marks.deny.is_some());
        self.world.settings.trust == Trust::Quarantine
            || server
            || lock.rules.iter().any(by_rule)
            || tools.any(|(key, _)| is_like(&key.name))
    }

    fn unknown_tool(&self, surface: &Surface, name: &str) -> String {
        let mut text = format!("Unknown tool: {name}");
        let near = surface.near(name);
        if !near.is_empty() {
            text.push_str(". Did you mean ");
            text.push_str(&near.join(", "));
            text.push('?');
        }
        for (server, label) in self.servers.iter().zip(&self.world.labels) {
            if let Some(reason) = &server.failure {
                text.push_str(". ");
                text.push_str(&wording::not_available(label, reason));
            }
        }
        text
    }

    /// A tool of our own.
    fn call_own(
        &mut self,
        id: &Id,
        own: Own,
        surface: &Surface,
        frame: &Frame,
        headers: Vec<(String, String)>,
        awaited: bool,
    ) {
        let arguments = frame.arguments().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let modern = self.client.era == Some(Era::Modern);
        let mut waits = false;
        let mut loads = Vec::new();
        let result = match own {
            Own::Load => {
                let answer = surface.load(&arguments);
                loads = answer.tools.clone();
                for tool in answer.tools.iter().filter_map(|tool| surface.tool(*tool)) {
                    self.loaded.insert(tool.shown.clone(), tool.definition.clone());
                }
                waits = self.reveal(
                    id,
                    surface,
                    &answer.tools,
                    &wording::complete(answer.result.clone(), modern),
                );
                match self
                    .is_shared()
                    .then(|| self.with_confirmations(surface, &answer.tools, &answer.result))
                {
                    Some(Some(result)) => result,
                    _ => answer.result,
                }
            }
            Own::Search => surface.search(&arguments),
            Own::Call => match surface.unwrap_call(&arguments) {
                Ok((Target::Tool(tool), arguments)) => {
                    let arguments = Some(arguments);
                    let sent = Sent { frame, headers, name: "", arguments, wrapped: true, awaited };
                    return self.call_tool(id, surface, tool, sent);
                }
                Ok((Target::Own(_), _)) => wording::tool_error(
                    "`call_tool` calls tools of the servers; call this one by its own name",
                    modern,
                ),
                Err(result) => result,
            },
            Own::ReadResult => self.results.read(&arguments, self.now),
        };
        let result = wording::complete(result, modern);
        let work = |server: &str, tool: &str, doing, deferred| Work {
            doing,
            server: server.to_owned(),
            tool: tool.to_owned(),
            client: self.client.who.name.clone(),
            deferred,
            loaded: true,
            bytes_in: frame.bytes().len() as u64,
            shape: surface.shape(),
        };
        let doing = match own {
            // Told once for each tool. Where no definition came of it, it was a look at names.
            Own::Load if !loads.is_empty() => Doing::Load,
            Own::Load | Own::Search => Doing::Search,
            Own::Call | Own::ReadResult => Doing::Call,
        };
        let failed = wording::member(&result, &["isError"]).as_deref() == Some(b"true");
        let outcome = if failed { Outcome::ToolError } else { Outcome::Ok };
        let mut told: Vec<(Work, usize)> = loads
            .iter()
            .filter_map(|tool| surface.tool(*tool))
            .map(|tool| (work(surface.label(tool.server), &tool.name, doing, true), tool.full.len()))
            .collect();
        if told.is_empty() {
            told.push((work("", own.name(), doing, false), result.len()));
        }
        for (work, bytes_out) in told {
            self.called(work, self.now, bytes_out, outcome);
        }
        if !waits {
            self.answer_result(id, &result);
        }
    }

    /// Whether clients that cannot be told apart share this connection: over HTTP in the era without sessions. Nothing that
    /// one of them was shown counts for another.
    fn is_shared(&self) -> bool {
        self.world.over_http && self.client.era == Some(Era::Modern)
    }

    /// The answer to a load, with what is to be added to calls of tools that run only when their definition was shown.
    fn with_confirmations(&self, surface: &Surface, tools: &[ToolIx], result: &Bytes) -> Option<Bytes> {
        let wanting = tools.iter().filter(|index| !surface.runs_unseen(**index));
        let lines: Vec<String> = wanting
            .filter_map(|index| surface.tool(*index))
            .filter(|tool| tool.access == Access::Deferred)
            .map(|tool| {
                format!("`{}`: `\"{CONFIRM}\":\"{}\"`", tool.shown, confirmation(&self.world.nonce, tool))
            })
            .collect();
        if lines.is_empty() {
            return None;
        }
        let text = format!(
            "To run these, add the further argument that says that you were shown their definition:\n{}",
            lines.join("\n")
        );
        let content = wording::member(result, &["content"])?;
        let mut content = content.strip_suffix(b"]")?.to_vec();
        content.extend_from_slice(
            format!(r#",{{"type":"text","text":{}}}]"#, super::frame::quoted(&text)).as_bytes(),
        );
        replaced(result, &["content"], &content)
    }

    /// A tool of a server.
    fn call_tool(&mut self, id: &Id, surface: &Surface, index: ToolIx, sent: Sent<'_>) {
        let modern = self.client.era == Some(Era::Modern);
        let Some(tool) = surface.tool(index) else { return };
        let mut sent = sent;
        let code = (self.is_shared() && tool.access == Access::Deferred)
            .then(|| confirmation(&self.world.nonce, tool));
        let loaded = match &code {
            Some(code) => sent.take_confirmation(code),
            None => self.loaded.get(&tool.shown).is_some_and(|shown| *shown == tool.definition),
        };
        let work = Work {
            doing: Doing::Call,
            shape: surface.shape(),
            server: self.world.labels[tool.server].clone(),
            tool: tool.name.clone(),
            client: self.client.who.name.clone(),
            deferred: tool.access == Access::Deferred,
            loaded,
            bytes_in: sent.frame.bytes().len() as u64,
        };
        let mut loaded = loaded;
        if self.is_judged(tool) && self.list_of(tool.server) != List::Fresh {
            let server = tool.server;
            if !sent.awaited {
                match self.await_list(server) {
                    Some(true) => return self.hold(sent.frame, sent.headers, server),
                    Some(false) => return self.refuse(server, id, Purpose::Tool(work)),
                    None => {}
                }
            }
            // It is judged by what is known, which may not be so any more: nothing runs that might do harm.
            if self.is_quarantined() || !surface.runs_unseen(index) {
                return self.refuse_unjudged(id, &tool.shown, server, Some(work));
            }
            loaded = false;
        }
        let refusal = match tool.access {
            Access::Eager => None,
            Access::Deferred => {
                match surface.prepare_for(index, sent.arguments.as_deref(), loaded, code.as_deref()) {
                    Prepared::Run { arguments: None } => None,
                    Prepared::Run { arguments: Some(arguments) } => {
                        let sent = Sent { arguments: Some(arguments), wrapped: true, ..sent };
                        return self.run(id, surface, Some(index), sent, Some(work));
                    }
                    Prepared::Answer { result } => {
                        self.loaded.insert(tool.shown.clone(), tool.definition.clone());
                        // It carries the definition, as a load does, and costs the client as much.
                        let load = Work { doing: Doing::Load, loaded: true, ..work.clone() };
                        self.called(load, self.now, tool.full.len(), Outcome::Ok);
                        Some(result)
                    }
                }
            }
            Access::Denied | Access::Quarantined => {
                Some(wording::tool_error(&surface.why_not(index), modern))
            }
        };
        match refusal {
            None => self.run(id, surface, Some(index), sent, Some(work)),
            Some(result) => {
                let result = wording::complete(result, modern);
                self.called(work, self.now, result.len(), Outcome::Refused);
                self.answer_result(id, &result);
            }
        }
    }

    /// Passes a call on.
    fn run(&mut self, id: &Id, surface: &Surface, index: Option<ToolIx>, sent: Sent<'_>, work: Option<Work>) {
        let Sent { frame, mut headers, name, arguments, wrapped, awaited: _ } = sent;
        let tool = index.and_then(|index| surface.tool(index));
        let server = tool.map_or(0, |tool| tool.server);
        let own_name = tool.map_or(name, |tool| tool.name.as_str());
        let mut bytes = frame.bytes().clone();
        if frame.name() != Some(own_name) {
            bytes = frame.with_name(own_name);
        }
        if wrapped && let Some(arguments) = &arguments {
            bytes = with_arguments(&bytes, arguments);
        }
        // A client over HTTP that was shown the schema sets its headers itself, and the server holds them against the body.
        let left_to_us = !self.world.over_http || tool.is_some_and(|tool| tool.access == Access::Deferred);
        // A process has no headers.
        if !matches!(self.world.specs[server].transport, Transport::Stdio { .. }) {
            if let Some(index) = index.filter(|_| left_to_us) {
                for (key, value) in surface.headers(index, arguments.as_deref()) {
                    headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&key));
                    headers.push((key, value));
                }
            }
            add_name(&mut headers, Some(own_name));
        }
        let mut message = self.outbound(server, bytes, frame.kind().clone());
        message.headers = headers;
        let purpose = work.map_or(Purpose::Plain, Purpose::Tool);
        self.pass(server, id, frame.token(), message, purpose);
    }

    /// What a result becomes that is larger than it may be.
    pub(super) fn cut(&mut self, result: &Bytes, server: usize, tool: &str) -> Option<Bytes> {
        let max = self.world.settings.max_result?;
        let surface = self.surface.clone();
        let known = surface.as_ref().and_then(|surface| {
            let (index, _) = surface.all().find(|(_, known)| known.server == server && known.name == tool)?;
            Some(surface.promises_structure(index))
        });
        if let Some(surface) = &surface
            && let Some(reader) = surface.own().iter().find(|own| own.own == Own::ReadResult)
        {
            self.results.call_reader(&reader.shown);
        }
        if known == Some(true) {
            self.results.cut_text(result, max, self.now)
        } else {
            self.results.cut(result, max, self.now)
        }
    }
}

/// A call as it was sent.
struct Sent<'a> {
    frame: &'a Frame,
    headers: Vec<(String, String)>,
    /// The name by which the client knows the tool.
    name: &'a str,
    arguments: Option<Bytes>,
    /// Whether these are other arguments than those in the message.
    wrapped: bool,
    /// Whether it has waited for its server's list.
    awaited: bool,
}

impl Sent<'_> {
    /// Takes the confirmation out of the arguments. Whether it is that of this code.
    fn take_confirmation(&mut self, code: &str) -> bool {
        let Some(arguments) = &self.arguments else { return false };
        let taken = Parser::new().scope(arguments, |document| {
            let document = document.ok()?;
            let mut edits = Edits::new(document);
            let (mut any, mut confirmed) = (false, true);
            for entry in document.root().entries().filter(|entry| entry.key.is_str(CONFIRM)) {
                any = true;
                confirmed &= entry.value.is_str(code);
                edits.remove(entry);
            }
            let bytes = if any { edits.apply(&mut Parser::new()).ok()?.into_bytes() } else { return None };
            Some((Bytes::from(bytes), confirmed))
        });
        let Some((arguments, confirmed)) = taken else { return false };
        self.arguments = Some(arguments);
        self.wrapped = true;
        confirmed
    }
}

/// What only those know who were shown this definition by this process.
fn confirmation(nonce: &str, tool: &Tool) -> String {
    let definition = String::from_utf8_lossy(&tool.definition);
    let hash = Hash::of_text(&format!("{nonce}\0{}\0{}\0{definition}", tool.server, tool.shown)).to_string();
    hash.rsplit(':').next().unwrap_or_default().chars().take(12).collect()
}

/// A call with other arguments, or with some where it had none.
fn with_arguments(call: &Bytes, arguments: &[u8]) -> Bytes {
    if let Some(bytes) = replaced(call, &["params", "arguments"], arguments) {
        return bytes;
    }
    let Some(params) = wording::member(call, &["params"]) else { return call.clone() };
    let params = wording::with_members(&params, &[("arguments", arguments)]);
    replaced(call, &["params"], &params).unwrap_or_else(|| call.clone())
}
