//! What is decided about each server and tool. The first that speaks decides: a denial, the off-switch, a pin, the lock's
//! `defer`, an earlier decision, the budget.

use super::decision::{Access, Kept, Shape, ToolWhy, Why};
use super::settings::{Choice, Client, Settings, Trust};
use super::stub::{Size, size_of};
use deadweight_lock::{Hash, Lock, Marks, PolicyKind, ToolKey};
use deadweight_wire::json::{Parser, Value};

/// From so many bytes of stubs on (names, descriptions and placeholders of all servers together), an aggregate lists three
/// tools of our own instead, unless a surface was asked for. That is about 22,000 tokens, or the stubs of some 600 tools.
pub const STUBS_BYTES: u64 = 98_304;

/// What is read of one definition.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    /// Its name, when it is an object that has one.
    pub(super) name: Option<String>,
    /// Whether it asks to be shown.
    asks: bool,
    /// What it weighs.
    pub(super) size: Size,
    /// Its canonical hash, when there is a lock to compare with.
    hash: Option<Hash>,
}

/// Reads a definition.
pub(super) fn read(definition: &[u8], parser: &mut Parser, hashed: bool) -> Read {
    parser.scope(definition, |document| {
        let Ok(document) = document else { return Read::default() };
        let root = document.root();
        let yes = |value: Option<Value<'_, '_>>| value.and_then(|value| value.as_bool()) == Some(true);
        let meta = root.get("_meta").and_then(|meta| meta.get("anthropic/alwaysLoad"));
        Read {
            name: root.get("name").and_then(|name| name.as_str()).map(std::borrow::Cow::into_owned),
            asks: yes(root.get("eager")) || yes(meta),
            size: size_of(root),
            hash: hashed.then(|| Hash::of_value(root)),
        }
    })
}

/// What the lock says about the tools of one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locked<'l> {
    lock: &'l Lock,
    label: &'l str,
}

impl<'l> Locked<'l> {
    pub(super) const fn new(lock: &'l Lock, label: &'l str) -> Self {
        Self { lock, label }
    }

    /// Whether it knows the server at all.
    pub(super) fn knows_server(&self) -> bool {
        let server = self.lock.servers.get(self.label).is_some_and(|entry| !entry.is_policy_alone());
        server || self.lock.tools_of(self.label).next().is_some()
    }

    /// The reason of a mark, for the tool, its server or its name anywhere.
    fn mark(&self, tool: &str, kind: PolicyKind) -> Option<String> {
        let of = |marks: &'l Marks| match kind {
            PolicyKind::Eager => marks.eager.as_ref(),
            PolicyKind::Defer => marks.defer.as_ref(),
            PolicyKind::Deny => marks.deny.as_ref(),
        };
        let entry = self.lock.tools.get(&ToolKey::new(self.label, tool)).and_then(|entry| of(&entry.marks));
        let server = || self.lock.servers.get(self.label).and_then(|entry| of(&entry.marks));
        let named =
            |rule: &&deadweight_lock::NameRule| rule.kind == kind && (rule.tool == tool || rule.tool == "*");
        let rule = || self.lock.rules.iter().find(named).map(|rule| &rule.reason);
        entry.or_else(server).or_else(rule).cloned()
    }

    /// How the definition differs from the one that was reviewed.
    fn difference(&self, tool: &str, hash: Option<Hash>) -> Option<ToolWhy> {
        let price = self.lock.tools.get(&ToolKey::new(self.label, tool)).and_then(|entry| entry.price);
        match price {
            None => Some(ToolWhy::New),
            Some(price) => (hash != Some(price.hash)).then_some(ToolWhy::Changed),
        }
    }
}

/// What is decided about a tool before its server's sizes count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    /// Decided, and why.
    Is(Access, ToolWhy),
    /// Deferred by the lock, unless its stub is no smaller.
    Defer(ToolWhy),
    /// As its server is.
    Open,
}

/// What is ruled about one tool, and how its definition differs from the lock's.
#[derive(Debug, Clone)]
pub(super) struct Ruled {
    pub(super) ruling: Ruling,
    pub(super) differs: Option<ToolWhy>,
}

/// Rules about one tool.
pub(super) fn rule(
    settings: &Settings,
    shape: Shape,
    label: &str,
    shown: &str,
    read: &Read,
    locked: Option<Locked<'_>>,
) -> Ruled {
    let tool = read.name.as_deref().unwrap_or_default();
    let marked = |kind| locked.and_then(|locked| locked.mark(tool, kind));
    let differs = locked.and_then(|locked| locked.difference(tool, read.hash));
    let ruling = if let Some(reason) = marked(PolicyKind::Deny) {
        Ruling::Is(Access::Denied, ToolWhy::Denied(reason))
    } else if let (Some(differs), Trust::Quarantine) = (&differs, settings.trust) {
        Ruling::Is(Access::Quarantined, differs.clone())
    } else if shape == Shape::Eager {
        Ruling::Open
    } else if let Some(pin) = settings.eager.find(label, tool, shown) {
        Ruling::Is(Access::Eager, ToolWhy::Pinned { source: pin.source, pin: pin.text.clone() })
    } else if let Some(reason) = marked(PolicyKind::Eager) {
        Ruling::Is(Access::Eager, ToolWhy::LockEager(reason))
    } else if read.asks {
        Ruling::Is(Access::Eager, ToolWhy::AsksForIt)
    } else if let Some(reason) = marked(PolicyKind::Defer) {
        Ruling::Defer(ToolWhy::LockDefers(reason))
    } else {
        Ruling::Open
    };
    Ruled { ruling, differs }
}

/// The shape of the list as it is asked for; `Err` holds why every definition is listed as it is. Whether stubs are too
/// large is for [`too_large`] to say.
pub(super) fn shape(
    settings: &Settings,
    client: &Client,
    aggregate: bool,
    kept: &Kept,
) -> (Shape, Option<Why>) {
    if !settings.lazy {
        return (Shape::Eager, Some(Why::OffSwitch));
    }
    match settings.surface {
        Choice::Eager => (Shape::Eager, Some(Why::Asked)),
        Choice::Stubs => (Shape::Stubs, None),
        Choice::Search if aggregate => (Shape::Search, None),
        Choice::Search => (Shape::Stubs, None),
        Choice::Auto if client.defers() && settings.awake != Some(client.id()) => {
            let name = client.profile.map_or(client.name.as_str(), |profile| profile.name);
            (Shape::Eager, Some(Why::ClientDefers(name.to_owned())))
        }
        Choice::Auto => {
            let search = aggregate && kept.shape == Some(Shape::Search);
            (if search { Shape::Search } else { Shape::Stubs }, None)
        }
    }
}

/// Whether the stubs of an aggregate are so large that they are not listed.
pub(super) fn too_large(settings: &Settings, aggregate: bool, kept: &Kept, after: Size) -> bool {
    settings.surface == Choice::Auto && aggregate && kept.shape.is_none() && after.model > STUBS_BYTES
}

/// The sizes that decide about a server: of its tools about which nothing is ruled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Open {
    /// How many they are.
    pub(super) tools: u64,
    /// Bytes of their descriptions and schemas.
    pub(super) schemas: u64,
    /// As they are.
    pub(super) real: Size,
    /// With a stub for each that is larger than its stub.
    pub(super) stubs: Size,
}

/// Whether a server's open tools are deferred, and why. Whether the loader pays for itself is decided for all together.
pub(super) fn server(settings: &Settings, shape: Shape, kept: Option<bool>, open: &Open) -> (bool, Why) {
    let Open { tools, schemas: bytes, real, stubs } = *open;
    let budget = settings.budget;
    if tools == 0 {
        return (false, Why::EachByItself);
    }
    if shape == Shape::Search {
        return (true, Why::SearchSurface);
    }
    if let Some(deferred) = kept {
        return (deferred, Why::Kept);
    }
    if budget == 0 {
        return (true, Why::BudgetZero);
    }
    if bytes <= budget {
        return (false, Why::WithinBudget { bytes, budget });
    }
    if stubs.saves(real) { (true, Why::OverBudget { bytes, budget }) } else { (false, Why::NotSmaller) }
}
