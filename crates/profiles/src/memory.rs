//! Where each agent's memory files and skills lie, what they import, and what of them is sent.

use crate::Fact;

/// What an agent does with memory files.
#[derive(Debug, Clone, Copy)]
pub struct MemoryRules {
    /// The agent's profile id.
    pub agent: &'static str,
    /// Where its files lie, in the order in which it reads them.
    pub places: &'static [Fact<MemoryPlace>],
    /// How far above the folder it is started in it looks for the project's places.
    pub climb: Fact<Climb>,
    /// How a file imports another; `None` where nothing is imported.
    pub imports: Option<Fact<ImportRules>>,
    /// The parts of a file that are not sent.
    pub leaves_out: Option<Fact<&'static [LeftOut]>>,
    /// The bytes of all project files that are sent; what is beyond is cut off.
    pub cut: Option<Fact<u64>>,
}

/// A place where memory files lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPlace {
    /// Below which folder.
    pub root: PlaceRoot,
    /// What is read there.
    pub what: MemoryNames,
}

/// Below which folder a place lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceRoot {
    /// The folder in which the agent is started, and those above it as far as [`Climb`] says.
    Project,
    /// The same folders, for files that are one user's own and are not committed.
    Personal,
    /// The user's home.
    Home,
}

/// What is read at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryNames {
    /// The first of these paths that exists, in each folder.
    First(&'static [&'static str]),
    /// The first of these paths that exists in any folder; then that one in every folder.
    FirstAnywhere(&'static [&'static str]),
    /// Every `*.md` below this folder, save those whose front matter ties them to `paths`.
    Rules(&'static str),
}

/// How far above the starting folder an agent looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climb {
    /// To the folder that holds `.git`; nowhere where there is none.
    Repository,
    /// To the folder above the one that holds `.git`; nowhere where there is none.
    AboveRepository,
    /// To the root of the file system.
    Everything,
}

/// How a memory file imports another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportRules {
    /// How an import is written.
    pub syntax: ImportSyntax,
    /// How many imports may follow each other.
    pub hops: u32,
    /// Whether a file is put in at every import of it; otherwise it is loaded once.
    pub repeats: bool,
    /// What an imported file may end with; empty for anything. A name without an ending may always be imported.
    pub endings: &'static [&'static str],
    /// What becomes of a file outside the project.
    pub outside: Outside,
}

/// How an import is written: `@path` always, with these differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSyntax {
    /// In text only (not in code, HTML or link targets), at the start of a text or after white space. Goes to the
    /// next white space (`\ ` is a space) or other backslash; `#…` is cut off. Starts with a letter, a digit, `.`,
    /// `_`, `-`, `/` or `~/`.
    ClaudeCode,
    /// Anywhere but between backticks, after white space, up to white space. Starts with a letter, `.` or `/`.
    GeminiCli,
    /// As `GeminiCli`, anywhere but in code as Markdown defines it.
    QwenCode,
}

/// What becomes of an import from outside the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// It is loaded once the user has agreed; from the user's own files always.
    Asks,
    /// It is refused.
    Refused,
}

/// A part of a memory file that is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// The front matter.
    FrontMatter,
    /// HTML comments that stand on their own, outside paragraphs and code.
    Comments,
}

/// What an agent does with skills.
#[derive(Debug, Clone, Copy)]
pub struct SkillRules {
    /// The agent's profile id.
    pub agent: &'static str,
    /// Where they lie.
    pub places: &'static [Fact<SkillPlace>],
    /// How far above the folder it is started in it looks for the project's places.
    pub climb: Climb,
    /// What of a skill is always in the context.
    pub listing: Fact<SkillListing>,
}

/// A folder of skills: `NAME/SKILL.md` below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkillPlace {
    /// Below which folder.
    pub root: PlaceRoot,
    /// The folder.
    pub path: &'static str,
    /// How many folders deep a skill may lie: 1 is `NAME/SKILL.md`.
    pub depth: u32,
}

/// What of a skill is always in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillListing {
    /// The folder's name, in brackets the front matter's when it is another; `description`, then ` - ` and
    /// `when_to_use`, on one line, `<` and `>` escaped, at most 1,536 characters. The body's first line stands in
    /// for a missing description. Not listed with `disable-model-invocation: true`.
    ClaudeCode,
    /// `name` (else the folder's name) and `description`; not listed without a description.
    Plain,
}

const MEASURED: &str = "measured with the real client against a scripted upstream";

const fn measured<T: Copy>(value: T) -> Fact<T> {
    Fact { value, date: "2026-11", source: MEASURED }
}

const fn project(what: MemoryNames) -> Fact<MemoryPlace> {
    measured(MemoryPlace { root: PlaceRoot::Project, what })
}

const fn home(what: MemoryNames) -> Fact<MemoryPlace> {
    measured(MemoryPlace { root: PlaceRoot::Home, what })
}

const fn skills(root: PlaceRoot, path: &'static str, depth: u32) -> Fact<SkillPlace> {
    measured(SkillPlace { root, path, depth })
}

use MemoryNames::{First, FirstAnywhere, Rules};
use PlaceRoot::{Home, Personal, Project};

/// Memory files, by agent.
pub const MEMORY: &[MemoryRules] = &[
    // Claude Code 2.1.332. Its documentation speaks of five hops; the fifth was never loaded.
    MemoryRules {
        agent: "claude-code",
        places: &[
            home(First(&[".claude/CLAUDE.md"])),
            home(Rules(".claude/rules")),
            project(First(&["CLAUDE.md"])),
            project(First(&[".claude/CLAUDE.md"])),
            project(Rules(".claude/rules")),
            measured(MemoryPlace { root: Personal, what: First(&["CLAUDE.local.md"]) }),
        ],
        climb: measured(Climb::Everything),
        imports: Some(measured(ImportRules {
            syntax: ImportSyntax::ClaudeCode,
            hops: 4,
            repeats: false,
            endings: TEXT_ENDINGS,
            outside: Outside::Asks,
        })),
        leaves_out: Some(measured(&[LeftOut::FrontMatter, LeftOut::Comments])),
        cut: None,
    },
    // Codex 0.171.
    MemoryRules {
        agent: "codex",
        places: &[
            home(First(&[".codex/AGENTS.override.md", ".codex/AGENTS.md"])),
            project(First(&["AGENTS.override.md", "AGENTS.md"])),
        ],
        climb: measured(Climb::Repository),
        imports: None,
        leaves_out: None,
        cut: Some(Fact {
            value: 32 * 1024,
            date: "2026-11",
            source: "https://developers.openai.com/codex/guides/agents-md (project_doc_max_bytes)",
        }),
    },
    // opencode 1.18.
    MemoryRules {
        agent: "opencode",
        places: &[
            home(First(&[".config/opencode/AGENTS.md", ".claude/CLAUDE.md"])),
            project(FirstAnywhere(&["AGENTS.md", "CLAUDE.md", "CONTEXT.md"])),
        ],
        climb: measured(Climb::Repository),
        imports: None,
        leaves_out: None,
        cut: None,
    },
    // gemini-cli 0.61.
    MemoryRules {
        agent: "gemini-cli",
        places: &[home(First(&[".gemini/GEMINI.md"])), project(First(&["GEMINI.md"]))],
        climb: measured(Climb::Repository),
        imports: Some(measured(ImportRules {
            syntax: ImportSyntax::GeminiCli,
            hops: 5,
            repeats: true,
            endings: &[],
            outside: Outside::Refused,
        })),
        leaves_out: None,
        cut: None,
    },
    // qwen-code 0.24.
    MemoryRules {
        agent: "qwen-code",
        places: &[
            home(First(&[".qwen/QWEN.md"])),
            home(First(&[".qwen/AGENTS.md"])),
            project(First(&["QWEN.md"])),
            project(First(&["AGENTS.md"])),
        ],
        climb: measured(Climb::AboveRepository),
        imports: Some(measured(ImportRules {
            syntax: ImportSyntax::QwenCode,
            hops: 5,
            repeats: true,
            endings: &[],
            outside: Outside::Refused,
        })),
        leaves_out: None,
        cut: None,
    },
];

/// Skills, by agent. Claude Code's plugins have theirs in `skills` beside `.claude-plugin/plugin.json`.
pub const SKILLS: &[SkillRules] = &[
    SkillRules {
        agent: "claude-code",
        places: &[skills(Project, ".claude/skills", 1), skills(Home, ".claude/skills", 1)],
        climb: Climb::Repository,
        listing: measured(SkillListing::ClaudeCode),
    },
    SkillRules {
        agent: "codex",
        places: &[
            skills(Project, ".agents/skills", 6),
            skills(Project, ".codex/skills", 6),
            skills(Home, ".agents/skills", 6),
            skills(Home, ".codex/skills", 6),
        ],
        climb: Climb::Repository,
        listing: measured(SkillListing::Plain),
    },
    SkillRules {
        agent: "opencode",
        places: &[
            skills(Project, ".opencode/skill", 6),
            skills(Project, ".opencode/skills", 6),
            skills(Project, ".agents/skills", 6),
            skills(Project, ".claude/skills", 6),
            skills(Home, ".config/opencode/skills", 6),
            skills(Home, ".agents/skills", 6),
            skills(Home, ".claude/skills", 6),
        ],
        climb: Climb::Repository,
        listing: measured(SkillListing::Plain),
    },
    SkillRules {
        agent: "gemini-cli",
        places: &[
            skills(Project, ".gemini/skills", 1),
            skills(Project, ".agents/skills", 1),
            skills(Home, ".gemini/skills", 1),
            skills(Home, ".agents/skills", 1),
        ],
        climb: Climb::Repository,
        listing: measured(SkillListing::Plain),
    },
    SkillRules {
        agent: "qwen-code",
        places: &[
            skills(Project, ".qwen/skills", 1),
            skills(Project, ".agents/skills", 1),
            skills(Home, ".qwen/skills", 1),
            skills(Home, ".agents/skills", 1),
        ],
        climb: Climb::Repository,
        listing: measured(SkillListing::Plain),
    },
];

/// Where a plugin of Claude Code says what it is.
pub const PLUGIN_MANIFEST: Fact<&str> = Fact {
    value: ".claude-plugin/plugin.json",
    date: "2026-11",
    source: "https://code.claude.com/docs/en/plugins-reference, and measured",
};

/// What an agent does with memory files.
pub fn memory_of(agent: &str) -> Option<&'static MemoryRules> {
    MEMORY.iter().find(|rules| rules.agent == agent)
}

/// What an agent does with skills.
pub fn skills_of(agent: &str) -> Option<&'static SkillRules> {
    SKILLS.iter().find(|rules| rules.agent == agent)
}

/// Endings of text files: those that Claude Code was seen to import, out of 150 that were tried.
pub const TEXT_ENDINGS: &[&str] = &[
    "adoc",
    "asciidoc",
    "astro",
    "bash",
    "bat",
    "c",
    "cc",
    "cfg",
    "cjs",
    "clj",
    "cljc",
    "cljs",
    "cmake",
    "cmd",
    "conf",
    "config",
    "cpp",
    "cs",
    "css",
    "csv",
    "cts",
    "cxx",
    "dart",
    "diff",
    "edn",
    "ejs",
    "elm",
    "env",
    "erb",
    "erl",
    "ex",
    "exs",
    "f",
    "f90",
    "f95",
    "fish",
    "for",
    "go",
    "gql",
    "gradle",
    "graphql",
    "h",
    "hbs",
    "hpp",
    "hrl",
    "hs",
    "htm",
    "html",
    "hxx",
    "ini",
    "jade",
    "java",
    "js",
    "json",
    "jsx",
    "kt",
    "kts",
    "latex",
    "less",
    "lhs",
    "lock",
    "log",
    "lua",
    "make",
    "makefile",
    "md",
    "mjs",
    "ml",
    "mli",
    "mts",
    "org",
    "patch",
    "php",
    "pl",
    "pm",
    "properties",
    "proto",
    "ps1",
    "pug",
    "py",
    "pyi",
    "pyw",
    "r",
    "rake",
    "rb",
    "rs",
    "rst",
    "sass",
    "sbt",
    "scala",
    "scss",
    "sh",
    "sql",
    "svelte",
    "swift",
    "tex",
    "text",
    "toml",
    "ts",
    "tsx",
    "txt",
    "vue",
    "xml",
    "yaml",
    "yml",
    "zsh",
];
