//! Pins: names of servers and tools that stay eager whatever they weigh.

/// Where a pin was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PinSource {
    /// `--eager` on the command line.
    Flag,
    /// `DEADWEIGHT_EAGER`.
    Environment,
    /// A `deadweight.toml`.
    Config,
}

impl PinSource {
    /// What it is called in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "--eager",
            Self::Environment => "DEADWEIGHT_EAGER",
            Self::Config => "deadweight.toml",
        }
    }
}

/// One name that was pinned: `*` for everything, a server's label, `label/tool`, or a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The name as written, without white space around it.
    pub text: String,
    /// Where.
    pub source: PinSource,
}

impl Pin {
    /// Whether it names this tool. `shown` is the name under which the tool is listed.
    pub(crate) fn names(&self, label: &str, tool: &str, shown: &str) -> bool {
        let text = self.text.as_str();
        text == "*"
            || text == label
            || text == tool
            || text == shown
            || text
                .strip_prefix(label)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| rest == tool || rest == "*")
    }
}

/// All pins of all sources together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    entries: Vec<Pin>,
}

impl Pins {
    /// Adds the names of a list with commas.
    pub fn add(&mut self, list: &str, source: PinSource) {
        for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let pin = Pin { text: text.to_owned(), source };
            if !self.entries.contains(&pin) {
                self.entries.push(pin);
            }
        }
    }

    /// Every pin, in the order in which they were added.
    pub fn all(&self) -> &[Pin] {
        &self.entries
    }

    /// The first pin that names this tool.
    pub(crate) fn find(&self, label: &str, tool: &str, shown: &str) -> Option<&Pin> {
        self.entries.iter().find(|pin| pin.names(label, tool, shown))
    }
}

impl FromIterator<Pin> for Pins {
    fn from_iter<I: IntoIterator<Item = Pin>>(pins: I) -> Self {
        Self { entries: pins.into_iter().collect() }
    }
}
