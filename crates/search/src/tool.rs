//! What is searched.

/// A tool, as search sees it: words in fields. Where they come from is not search's business.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    /// What the caller knows it by; unique within an index.
    pub id: String,
    /// Whose it is; [`Index::replace`](crate::Index::replace) works on all tools of one server.
    pub server: String,
    /// What it is called, in whatever case and with whatever separators.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// What it takes.
    pub arguments: Vec<Argument>,
}

impl Tool {
    /// What a model of meaning should read of a tool: the name with the description's first sentence, and all but what
    /// is said of arguments. One vector between the two finds more than either alone.
    #[must_use]
    pub fn texts(&self) -> [String; 2] {
        let name = spaced(&self.name);
        let first = self.description.split(". ").next().unwrap_or_default();
        let arguments: Vec<String> = self.arguments.iter().map(|argument| spaced(&argument.name)).collect();
        [
            format!("{name}: {first}"),
            format!("{} {name}: {} {}", spaced(&self.server), self.description, arguments.join(", ")),
        ]
    }
}

/// A name with spaces where it joins words (`read_file`, `readFile`).
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut after_small = false;
    for char in name.chars() {
        if matches!(char, '_' | '-' | '.' | '/') {
            spaced.push(' ');
            after_small = false;
            continue;
        }
        if after_small && char.is_uppercase() {
            spaced.push(' ');
        }
        after_small = char.is_lowercase();
        spaced.push(char);
    }
    spaced
}

/// An argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Argument {
    /// What it is called.
    pub name: String,
    /// What is said of it; may be empty.
    pub description: String,
}

/// Where in a tool a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The tool's name.
    Name,
    /// Its server's name.
    Server,
    /// Its description.
    Description,
    /// The names of its arguments.
    ArgumentName,
    /// Their descriptions.
    ArgumentDescription,
}

/// How many fields there are.
pub(crate) const FIELDS: usize = 5;

impl Field {
    /// All fields, the most telling first.
    pub const ALL: [Self; FIELDS] =
        [Self::Name, Self::Server, Self::Description, Self::ArgumentName, Self::ArgumentDescription];

    /// How it is called in output.
    pub fn label(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Server => "server",
            Self::Description => "description",
            Self::ArgumentName => "argument",
            Self::ArgumentDescription => "argument description",
        }
    }
}
