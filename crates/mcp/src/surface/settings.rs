//! What a person asked for: the settings of a surface, read from flags, environment and files elsewhere.

use super::pins::Pins;
use deadweight_profiles::{PLACEHOLDER, Placeholder, Profile};

/// The settings that decide what is listed and how calls are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The kind of list that was asked for.
    pub surface: Choice,
    /// `false` turns deferral off (`DEADWEIGHT_LAZY=0`): every definition is listed as it is.
    pub lazy: bool,
    /// What stays eager.
    pub eager: Pins,
    /// How many bytes of description and compact schema a server may have before its tools are deferred. 0 defers
    /// whatever is larger than its stub.
    pub budget: u64,
    /// Which calls to tools that were not loaded run at once.
    pub optimistic: Optimistic,
    /// How many bytes a result may have before it is cut; `None`: results pass as they are.
    pub max_result: Option<usize>,
    /// Whether a loaded tool's full definition is put into the list, and the client told.
    pub reveal: bool,
    /// What becomes of tools whose definition is not the one in the lock.
    pub trust: Trust,
    /// The agent, by the id of its profile, that defers by itself and whose own deferral is switched off.
    pub awake: Option<&'static str>,
    /// The name under which the proxy itself stands in the client's configuration. Clients put it before the names of
    /// an aggregate's tools.
    pub entry: String,
}

/// The default of [`Settings::budget`], in bytes.
pub const SCHEMA_BUDGET: u64 = 4_096;

impl Default for Settings {
    fn default() -> Self {
        Self {
            surface: Choice::Auto,
            lazy: true,
            eager: Pins::default(),
            budget: SCHEMA_BUDGET,
            optimistic: Optimistic::Declared,
            max_result: None,
            reveal: false,
            trust: Trust::Show,
            awake: None,
            entry: "deadweight".to_owned(),
        }
    }
}

/// The kind of list that is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Whatever fits the client: [`Choice::Eager`] for one that defers by itself, else [`Choice::Stubs`], and
    /// [`Choice::Search`] where even the stubs of an aggregate are too large.
    #[default]
    Auto,
    /// Every definition byte for byte.
    Eager,
    /// Deferred tools without their schemas.
    Stubs,
    /// Three tools of our own in the place of all others.
    Search,
}

impl Choice {
    /// The names on the command line and in files.
    pub const NAMES: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("eager", Self::Eager), ("stubs", Self::Stubs), ("search", Self::Search)];

    /// The choice of this name.
    pub fn parse(text: &str) -> Option<Self> {
        named(&Self::NAMES, text)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Self::NAMES, self)
    }
}

/// Which calls to tools that were not loaded run at once, when their arguments hold against the real schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Optimistic {
    /// Every valid call.
    All,
    /// Those of tools that declare themselves read-only or not destructive.
    #[default]
    Declared,
    /// None: the schema comes first.
    Never,
}

impl Optimistic {
    /// The names on the command line and in files.
    pub const NAMES: [(&'static str, Self); 3] =
        [("all", Self::All), ("declared", Self::Declared), ("never", Self::Never)];

    /// The value of this name.
    pub fn parse(text: &str) -> Option<Self> {
        named(&Self::NAMES, text)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Self::NAMES, self)
    }
}

/// What becomes of tools whose definition is not the one in the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// They are listed and called; what changed is said in the decisions.
    #[default]
    Show,
    /// They are not called until somebody has reviewed them (`deadweight gate --update`), and nothing of their new text is
    /// listed.
    Quarantine,
}

impl Trust {
    /// The names on the command line and in files.
    pub const NAMES: [(&'static str, Self); 2] = [("show", Self::Show), ("quarantine", Self::Quarantine)];

    /// The value of this name.
    pub fn parse(text: &str) -> Option<Self> {
        named(&Self::NAMES, text)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(&Self::NAMES, self)
    }
}

fn named<T: Copy>(names: &[(&str, T)], text: &str) -> Option<T> {
    names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim())).map(|(_, value)| *value)
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// Who lists and calls: what a client said of itself, and what is known of it.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// `clientInfo.name`; empty when it gave none.
    pub name: String,
    /// `clientInfo.version`; empty when it gave none.
    pub version: String,
    /// What is known of an agent of this name.
    pub profile: Option<&'static Profile>,
}

impl Client {
    /// The client that calls itself so.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let name = name.into();
        let profile = deadweight_profiles::by_client_name(&name);
        Self { name, version: version.into(), profile }
    }

    /// The input schema that its stubs have, as JSON text.
    pub fn placeholder(&self) -> &'static str {
        self.placeholder_fact().schema
    }

    /// The property of that schema in which a model puts a tool's arguments, if it has one.
    pub fn envelope(&self) -> Option<&'static str> {
        self.placeholder_fact().envelope
    }

    fn placeholder_fact(&self) -> Placeholder {
        self.profile.and_then(|profile| profile.placeholder).unwrap_or(PLACEHOLDER).value
    }

    /// Whether it keeps the schemas of MCP tools out of the prompt by itself.
    pub fn defers(&self) -> bool {
        self.profile.and_then(|profile| profile.defers).is_some_and(|fact| fact.value)
    }

    /// The id of its profile, or `unknown`.
    pub fn id(&self) -> &'static str {
        self.profile.map_or("unknown", |profile| profile.id)
    }
}
