//! A surface, built: from definitions and decisions to the bytes of the list.

use super::decision::{Access, Decision, Kept, Refused, Shape, ToolDecision, ToolWhy, Warning, Why};
use super::names::{Namer, is_plain};
use super::own::Own;
use super::policy::{self, Locked, Open, Read, Ruled, Ruling};
use super::settings::{Choice, Trust};
use super::stub::{Size, quoted, renamed, size, stub};
use super::{Input, OwnTool, Surface, Target, Tool, ToolIx, ToolState};
use bytes::{Bytes, BytesMut};
use deadweight_lock::{Marks, PolicyKind};
use deadweight_wire::json::Parser;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// One place of a server's list.
enum Place {
    /// A tool with a name.
    Tool(Box<Draft>),
    /// What has none. It is left out: many clients refuse a whole list for it.
    Nameless,
    /// Another one of a name that its server listed before. It is left out: calls of that name are the server's to tell
    /// apart, and providers refuse a request with two tools of one name.
    Again,
}

/// A tool before its server is decided about.
struct Draft {
    tool: Tool,
    ruled: Ruled,
    real: Size,
    /// Its stub, where that is smaller.
    stub: Option<(Bytes, Size)>,
}

impl Draft {
    /// Its server listed another tool under its name, and may run that one when it is called.
    fn doubt(&mut self, other: &Self) {
        self.tool.doubtful |= self.tool.definition != other.tool.definition;
        self.tool.differs = self.tool.differs.take().or_else(|| other.tool.differs.clone());
        self.ruled.differs.clone_from(&self.tool.differs);
        if let Ruling::Is(Access::Quarantined, _) = other.ruled.ruling
            && !matches!(self.ruled.ruling, Ruling::Is(Access::Denied, _))
        {
            self.ruled.ruling = other.ruled.ruling.clone();
        }
    }
}

/// A server's list on its way.
struct Server {
    label: String,
    places: Vec<Place>,
    deferred: bool,
    why: Why,
}

impl Surface {
    /// Builds the surface. It follows from the input alone: the same input gives the same bytes.
    pub fn new(input: &Input<'_>) -> Self {
        let (asked, eager) = policy::shape(input.settings, &input.client, input.aggregate, input.kept);
        let (servers, warnings) = read(input, asked);
        let mut builder = Builder { input, shape: asked, servers, warnings };
        builder.decide(eager.as_ref());
        let after = builder.after();
        if asked == Shape::Stubs && policy::too_large(input.settings, input.aggregate, input.kept, after) {
            builder.shape = Shape::Search;
            builder.decide(None);
        }
        builder.finish()
    }
}

/// Reads every definition, names it, and rules about it.
fn read(input: &Input<'_>, shape: Shape) -> (Vec<Server>, Vec<Warning>) {
    let namer = Namer::new(input.aggregate, &input.settings.entry);
    let mut parser = Parser::new();
    let mut warnings = Vec::new();
    if input.settings.surface == Choice::Search && !input.aggregate {
        warnings.push(Warning::SearchNeedsMany);
    }
    if input.aggregate && !namer.fits() {
        warnings.push(Warning::LongEntry { entry: input.settings.entry.clone() });
    }
    let mut servers = Vec::with_capacity(input.servers.len());
    for (index, given) in input.servers.iter().enumerate() {
        let locked = input.lock.map(|lock| Locked::new(lock, given.label));
        let known = locked.is_some_and(|locked| locked.knows_server());
        if locked.is_some() && !known {
            warnings.push(Warning::NoLockEntry { server: given.label.to_owned() });
        }
        let mut places: Vec<Place> = Vec::with_capacity(given.tools.len());
        let mut first: HashMap<String, usize> = HashMap::with_capacity(given.tools.len());
        for (position, definition) in given.tools.iter().enumerate() {
            let read = policy::read(definition, &mut parser, input.lock.is_some());
            let mut place = place(input, shape, &namer, (index, position), definition, &read, locked);
            match &place {
                Place::Tool(again) => match first.get(&again.tool.shown).and_then(|at| places.get_mut(*at)) {
                    Some(Place::Tool(kept)) => {
                        let (server, tool) = (given.label.to_owned(), again.tool.name.clone());
                        warnings.push(Warning::ListedTwice { server, tool });
                        kept.doubt(again);
                        place = Place::Again;
                    }
                    _ => {
                        first.insert(again.tool.shown.clone(), position);
                    }
                },
                _ => warnings.push(Warning::Malformed { server: given.label.to_owned(), position }),
            }
            places.push(place);
        }
        let server = Server { label: given.label.to_owned(), places, deferred: false, why: Why::NoTools };
        let differs = |draft: &&Draft| {
            draft.tool.differs.is_some() && !matches!(draft.ruled.ruling, Ruling::Is(Access::Denied, _))
        };
        let tools: Vec<String> =
            drafts(&server).filter(differs).map(|draft| draft.tool.name.clone()).collect();
        if known && !tools.is_empty() {
            let quarantined = input.settings.trust == Trust::Quarantine;
            warnings.push(Warning::NotAsLocked { server: given.label.to_owned(), tools, quarantined });
        }
        servers.push(server);
    }
    if !input.servers.iter().any(|server| server.tools.is_empty() && server.state != ToolState::Ready) {
        // A server that has not answered may still have what they name.
        warnings.extend(unknown_pins(input, &servers));
        warnings.extend(unknown_rules(input, &servers));
    }
    (servers, warnings)
}

fn place(
    input: &Input<'_>,
    shape: Shape,
    namer: &Namer,
    (server, position): (usize, usize),
    definition: &Bytes,
    read: &Read,
    locked: Option<Locked<'_>>,
) -> Place {
    let Some(given) = input.servers.get(server) else { return Place::Nameless };
    let Some(name) = read.name.clone() else { return Place::Nameless };
    let shown = namer.shown(given.label, &name);
    let full = if shown == name { Some(definition.clone()) } else { renamed(definition, &shown) };
    let Some(full) = full else { return Place::Nameless };
    let ruled = policy::rule(input.settings, shape, given.label, &shown, read, locked);
    let real = if shown == name { read.size } else { size(&full) };
    let wanted = shape != Shape::Eager && matches!(ruled.ruling, Ruling::Defer(_) | Ruling::Open);
    let stub = wanted
        .then(|| stub(&full, input.client.placeholder(), None))
        .flatten()
        .map(|bytes| (size(&bytes), bytes))
        .filter(|(size, _)| size.saves(real))
        .map(|(size, bytes)| (bytes, size));
    let tool = Tool {
        server,
        position,
        name,
        shown,
        access: Access::Eager,
        definition: definition.clone(),
        full,
        entry: None,
        doubtful: false,
        differs: ruled.differs.clone(),
    };
    Place::Tool(Box::new(Draft { tool, ruled, real, stub }))
}

/// The pins that name nothing.
fn unknown_pins(input: &Input<'_>, servers: &[Server]) -> Vec<Warning> {
    let known = |pin: &super::pins::Pin| {
        pin.text == "*"
            || servers.iter().any(|server| {
                pin.text == server.label
                    || server.places.iter().any(|place| match place {
                        Place::Tool(draft) => pin.names(&server.label, &draft.tool.name, &draft.tool.shown),
                        Place::Nameless | Place::Again => false,
                    })
            })
    };
    let unknown = input.settings.eager.all().iter().filter(|pin| !known(pin));
    unknown.map(|pin| Warning::UnknownPin { pin: pin.text.clone(), source: pin.source }).collect()
}

/// The lock's policy about what is not there: a misspelt `deny` denies nothing. The lock may be that of more servers than
/// are served here, so a name is known that any server has there.
fn unknown_rules(input: &Input<'_>, servers: &[Server]) -> Vec<Warning> {
    let Some(lock) = input.lock else { return Vec::new() };
    let listed = |server: &Server, name: &str| drafts(server).any(|draft| draft.tool.name == name);
    let reviewed = |name: &str| lock.tools.iter().any(|(key, tool)| key.name == name && tool.price.is_some());
    let anywhere =
        |name: &str| name == "*" || servers.iter().any(|server| listed(server, name)) || reviewed(name);
    let mut unknown: Vec<(PolicyKind, String)> = lock
        .rules
        .iter()
        .filter(|rule| !anywhere(&rule.tool))
        .map(|rule| (rule.kind, rule.tool.clone()))
        .collect();
    let mut marked = |marks: &Marks, name: String| {
        for (kind, mark) in PolicyKind::ALL.iter().zip([&marks.eager, &marks.defer, &marks.deny]) {
            if mark.is_some() {
                unknown.push((kind.0, name.clone()));
            }
        }
    };
    for server in servers {
        for (key, tool) in lock.tools.iter().filter(|(key, _)| key.server == server.label) {
            if tool.price.is_none() && !listed(server, &key.name) {
                marked(&tool.marks, format!("{}/{}", key.server, key.name));
            }
        }
    }
    for (label, entry) in lock.servers.iter().filter(|_| input.aggregate) {
        let known = servers.iter().any(|server| server.label == *label);
        if entry.is_policy_alone() && !known && lock.tools_of(label).next().is_none() {
            marked(&entry.marks, label.clone());
        }
    }
    unknown.into_iter().map(|(kind, name)| Warning::UnknownRule { kind, name }).collect()
}

struct Builder<'i> {
    input: &'i Input<'i>,
    shape: Shape,
    servers: Vec<Server>,
    warnings: Vec<Warning>,
}

impl Builder<'_> {
    /// Decides about every server, then about every tool.
    fn decide(&mut self, eager: Option<&Why>) {
        for server in &mut self.servers {
            let kept = self.input.kept.of(&server.label);
            (server.deferred, server.why) = match eager {
                _ if server.places.is_empty() => (false, Why::NoTools),
                Some(why) => (false, why.clone()),
                None => policy::server(self.input.settings, self.shape, kept, &open(server)),
            };
        }
        if self.input.aggregate && self.shape == Shape::Stubs {
            self.share_budget();
        }
        self.settle();
        if self.shape == Shape::Stubs && !self.loader_pays() {
            for server in self.servers.iter_mut().filter(|server| server.why.by_size()) {
                (server.deferred, server.why) = (false, Why::NotSmaller);
            }
            self.settle();
        }
    }

    /// The servers of an aggregate share one budget for what stays whole, since they share one list and one loader: the
    /// smallest come first.
    fn share_budget(&mut self) {
        let mut left = self.input.settings.budget;
        let mut small: Vec<(u64, usize)> = Vec::new();
        for (index, server) in self.servers.iter().enumerate() {
            match server.why {
                Why::WithinBudget { bytes, .. } => small.push((bytes, index)),
                Why::Kept if !server.deferred => left = left.saturating_sub(open(server).schemas),
                _ => {}
            }
        }
        small.sort_unstable();
        for (bytes, index) in small {
            let Some(server) = self.servers.get_mut(index) else { continue };
            let sizes = open(server);
            if bytes <= left {
                left -= bytes;
            } else if sizes.stubs.saves(sizes.real) {
                server.deferred = true;
                server.why = Why::SharedBudget { bytes, budget: self.input.settings.budget };
            }
        }
    }

    /// Gives every tool what follows for it.
    fn settle(&mut self) {
        let (shape, placeholder) = (self.shape, self.input.client.placeholder());
        for server in &mut self.servers {
            let deferred = server.deferred;
            for place in &mut server.places {
                let Place::Tool(draft) = place else { continue };
                let wanted = matches!(draft.ruled.ruling, Ruling::Defer(_))
                    || (draft.ruled.ruling == Ruling::Open && deferred);
                let (access, entry) = match (&draft.ruled.ruling, &draft.stub) {
                    (Ruling::Is(Access::Quarantined, _), _) => {
                        (Access::Quarantined, quarantined(&draft.tool, shape, placeholder))
                    }
                    (Ruling::Is(access, _), _) => {
                        (*access, (*access == Access::Eager).then(|| draft.tool.full.clone()))
                    }
                    (_, _) if wanted && shape == Shape::Search => (Access::Deferred, None),
                    (_, Some((stub, _))) if wanted => (Access::Deferred, Some(stub.clone())),
                    _ => (Access::Eager, Some(draft.tool.full.clone())),
                };
                draft.tool.access = access;
                draft.tool.entry = entry;
            }
        }
    }

    /// Whether what is saved by budget is more than the loader costs, or the loader is there anyway.
    fn loader_pays(&self) -> bool {
        let (mut saved, mut listed) = (0, 0);
        for server in &self.servers {
            for draft in drafts(server).filter(|draft| draft.tool.access == Access::Deferred) {
                let Some((_, stub)) = &draft.stub else { continue };
                if !server.why.by_size() || draft.ruled.ruling != Ruling::Open {
                    return true;
                }
                saved += draft.real.model - stub.model;
                listed += draft.real.json - stub.json;
            }
        }
        let loader = size(&Own::Load.definition(Own::Load.name(), self.input.aggregate));
        saved > loader.model && listed > loader.json
    }

    /// What all servers' tools weigh as they are listed.
    fn after(&self) -> Size {
        self.servers.iter().map(|server| sizes(server).1).fold(Size::default(), Size::plus)
    }

    fn finish(mut self) -> Surface {
        let decisions = self.servers.iter().map(decision).collect();
        let mut tools = Vec::new();
        for place in self.servers.drain(..).flat_map(|server| server.places) {
            if let Place::Tool(draft) = place {
                tools.push(draft.tool);
            }
        }
        let labels: Vec<String> = self.input.servers.iter().map(|server| server.label.to_owned()).collect();
        let (mut by_name, refused) = self.map(&tools, &labels);
        let own = self.own(&tools, &mut by_name);
        let listed = listed(&own, &tools);
        Surface {
            settings: self.input.settings.clone(),
            client: self.input.client.clone(),
            aggregate: self.input.aggregate,
            shape: self.shape,
            states: self.input.servers.iter().map(|server| server.state.clone()).collect(),
            labels,
            tools,
            own,
            listed,
            by_name,
            decisions,
            warnings: self.warnings,
            refused,
            meaning: None,
            searched: OnceLock::new(),
        }
    }

    /// The map back from names, and what is wrong with it.
    fn map(&mut self, tools: &[Tool], labels: &[String]) -> (HashMap<String, Target>, Option<Refused>) {
        let mut by_name = HashMap::with_capacity(tools.len() + 4);
        let mut more: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for (index, tool) in tools.iter().enumerate() {
            let label = |tool: &Tool| labels.get(tool.server).cloned().unwrap_or_default();
            let target = Target::Tool(ToolIx(index));
            match by_name.get(&tool.shown) {
                None => {
                    by_name.insert(tool.shown.clone(), target);
                }
                Some(_) if tool.access == Access::Denied => {}
                Some(Target::Tool(ToolIx(first))) => {
                    let first = tools.get(*first).map(|first| (label(first), first.name.clone()));
                    let same = more.entry(tool.shown.clone()).or_insert_with(|| first.into_iter().collect());
                    same.push((label(tool), tool.name.clone()));
                }
                Some(Target::Own(_)) => {}
            }
        }
        let duplicates: Vec<_> = more.into_iter().collect();
        (by_name, (!duplicates.is_empty()).then_some(Refused { duplicates }))
    }

    /// Our own tools that are listed, under names that nobody else has.
    fn own(&self, tools: &[Tool], by_name: &mut HashMap<String, Target>) -> Vec<OwnTool> {
        let deferred = tools.iter().any(|tool| tool.access == Access::Deferred);
        let wanted = |own: Own| match own {
            Own::Load => deferred,
            Own::Search | Own::Call => deferred && self.shape == Shape::Search,
            Own::ReadResult => self.input.settings.max_result.is_some(),
        };
        let mut out = Vec::new();
        for own in Own::ALL.into_iter().filter(|own| wanted(*own)) {
            let mut shown = own.name().to_owned();
            let mut again = 1;
            while by_name.contains_key(&shown) {
                again += 1;
                shown = format!("{}_{again}", own.name());
            }
            by_name.insert(shown.clone(), Target::Own(own));
            let entry = own.definition(&shown, self.input.aggregate);
            out.push(OwnTool { own, shown, entry });
        }
        out
    }
}

fn drafts(server: &Server) -> impl Iterator<Item = &Draft> {
    server.places.iter().filter_map(|place| match place {
        Place::Tool(draft) => Some(&**draft),
        Place::Nameless | Place::Again => None,
    })
}

/// The sizes that decide about a server.
fn open(server: &Server) -> Open {
    let mut open = Open::default();
    for draft in drafts(server).filter(|draft| draft.ruled.ruling == Ruling::Open) {
        open.tools += 1;
        open.schemas += draft.real.model.saturating_sub(draft.tool.shown.len() as u64);
        open.real = open.real.plus(draft.real);
        open.stubs = open.stubs.plus(draft.stub.as_ref().map_or(draft.real, |(_, size)| *size));
    }
    open
}

/// What a server's tools weigh as they are, and as they are listed.
fn sizes(server: &Server) -> (Size, Size) {
    let (mut before, mut after) = (Size::default(), Size::default());
    for draft in drafts(server).filter(|draft| draft.tool.access != Access::Denied) {
        before = before.plus(draft.real);
        after = match (draft.tool.access, &draft.stub, &draft.tool.entry) {
            (_, _, None) => after,
            (Access::Eager, _, _) => after.plus(draft.real),
            (Access::Deferred, Some((_, size)), _) => after.plus(*size),
            (_, _, Some(entry)) => after.plus(size(entry)),
        };
    }
    (before, after)
}

fn decision(server: &Server) -> Decision {
    let (before, after) = sizes(server);
    let mut tools = Vec::new();
    for place in &server.places {
        if matches!(place, Place::Again) {
            continue;
        }
        let Place::Tool(draft) = place else {
            tools.push(ToolDecision { tool: String::new(), access: Access::Denied, why: ToolWhy::Malformed });
            continue;
        };
        let (tool, access) = (draft.tool.name.clone(), draft.tool.access);
        let why = match &draft.ruled.ruling {
            Ruling::Is(_, why) => Some(why.clone()),
            Ruling::Defer(why) if access == Access::Deferred => Some(why.clone()),
            Ruling::Defer(_) => Some(ToolWhy::SmallerThanStub),
            Ruling::Open if server.deferred && access == Access::Eager => Some(ToolWhy::SmallerThanStub),
            Ruling::Open => None,
        };
        if let Some(differs) = draft.ruled.differs.clone().filter(|differs| why.as_ref() != Some(differs)) {
            tools.push(ToolDecision { tool: tool.clone(), access, why: differs });
        }
        tools.extend(why.map(|why| ToolDecision { tool, access, why }));
    }
    let deferred = drafts(server).any(|draft| draft.tool.access == Access::Deferred);
    let why = if server.deferred && !deferred { Why::NotSmaller } else { server.why.clone() };
    Decision { server: server.label.clone(), deferred, why, before, after, tools }
}

/// The entry of a tool that waits for review: its name and our words, nothing that its server wrote. A name that could
/// carry a message is not listed at all.
fn quarantined(tool: &Tool, shape: Shape, placeholder: &str) -> Option<Bytes> {
    const WORDS: &str = "Quarantined: its definition is not the one in deadweight.lock. Calls are refused.";
    (shape != Shape::Search && is_plain(&tool.shown)).then(|| {
        let (name, words) = (quoted(&tool.shown), quoted(WORDS));
        Bytes::from(format!(r#"{{"name":{name},"description":{words},"inputSchema":{placeholder}}}"#))
    })
}

/// The list: our own tools, then the servers' in their order.
fn listed(own: &[OwnTool], tools: &[Tool]) -> Bytes {
    let mut entries: Vec<&Bytes> = own.iter().map(|own| &own.entry).collect();
    entries.extend(tools.iter().filter_map(|tool| tool.entry.as_ref()));
    let mut out = BytesMut::with_capacity(entries.iter().map(|entry| entry.len() + 1).sum::<usize>() + 2);
    out.extend_from_slice(b"[");
    for (index, entry) in entries.into_iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b",");
        }
        out.extend_from_slice(entry);
    }
    out.extend_from_slice(b"]");
    out.freeze()
}

impl Surface {
    /// What was decided by sizes, so that a list that grows does not flip what its client has already seen.
    pub fn kept(&self) -> Kept {
        let decided = self.decisions.iter().filter(|decision| decision.why.lasts());
        let servers: Vec<_> = decided.map(|decision| (decision.server.clone(), decision.deferred)).collect();
        let seen = self.decisions.iter().any(|decision| decision.why != Why::NoTools);
        Kept { shape: seen.then_some(self.shape), servers }
    }
}
