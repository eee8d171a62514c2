//! Skills: of a `SKILL.md`, the name and the description are always in the context.

use super::front_matter::{FrontMatter, byte_order_mark};
use super::yaml::{self, Value};
use deadweight_profiles::memory::SkillListing;
use serde::Serialize;

/// How many characters of a description Claude Code lists, the `…` that ends a longer one included.
const CLAUDE_CODE_CUT: usize = 1_536;

/// What a `SKILL.md` says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skill {
    /// `name`.
    pub name: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `when_to_use`.
    pub when_to_use: Option<String>,
    /// Whether the model may not call it (`disable-model-invocation: true`).
    pub hidden: bool,
    /// The first line of the body that is not blank, without the hashes of a heading.
    pub first_line: Option<String>,
    /// What is odd about it.
    pub oddities: Vec<SkillOddity>,
}

/// Something odd about a skill; it was priced all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillOddity {
    /// No front matter.
    MissingFrontMatter,
    /// The front matter is no YAML; its lines were read one by one, as agents do.
    InvalidYaml,
    /// No description.
    MissingDescription,
    /// `name` or `description` is no text.
    WrongType,
    /// `name` or `description` occurs twice; the last one counts.
    DuplicateKey,
    /// The description is longer than what is listed of it.
    Cut,
}

/// What of a skill is always in the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Whether the description was cut.
    pub cut: bool,
}

impl Shown {
    /// The bytes that are counted: name and description, nothing between them.
    pub fn bytes(&self) -> u64 {
        (self.name.len() + self.description.len()) as u64
    }

    /// Name and description as one text: what a tokenizer counts, and what a hash is taken of.
    pub fn text(&self) -> String {
        format!("{}: {}", self.name, self.description)
    }
}

impl Skill {
    /// Reads a `SKILL.md`. Every text is one, if an odd one.
    pub fn read(text: &str) -> Self {
        let Some(found) = FrontMatter::find(text) else {
            return Self {
                first_line: first_line(text.get(byte_order_mark(text)..).unwrap_or_default()),
                oddities: vec![SkillOddity::MissingFrontMatter, SkillOddity::MissingDescription],
                ..Self::default()
            };
        };
        let block = yaml::read(text.get(found.yaml).unwrap_or_default());
        let mut oddities = Vec::new();
        if !block.valid {
            oddities.push(SkillOddity::InvalidYaml);
        }
        let member = |key: &str, oddities: &mut Vec<SkillOddity>| {
            if block.repeats(key) && !oddities.contains(&SkillOddity::DuplicateKey) {
                oddities.push(SkillOddity::DuplicateKey);
            }
            match block.get(key)? {
                Value::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
                Value::List(_) | Value::Other => {
                    oddities.push(SkillOddity::WrongType);
                    None
                }
            }
        };
        let name = member("name", &mut oddities);
        let description = member("description", &mut oddities);
        if description.is_none() {
            oddities.push(SkillOddity::MissingDescription);
        }
        let plain = |key: &str| match block.get(key) {
            Some(Value::Text(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => None,
        };
        oddities.sort_unstable();
        oddities.dedup();
        Self {
            name,
            description,
            when_to_use: plain("when_to_use"),
            hidden: plain("disable-model-invocation").is_some_and(|value| value == "true"),
            first_line: first_line(text.get(found.block.end..).unwrap_or_default()),
            oddities,
        }
    }

    /// What is always in the context of a skill that lies in the folder of this name; nothing when it is not
    /// listed. `plugin` is the plugin it belongs to.
    pub fn shown(&self, folder: &str, plugin: Option<&str>, listing: SkillListing) -> Option<Shown> {
        match listing {
            SkillListing::Plain => {
                let description = self.description.clone()?;
                let name = self.name.clone().unwrap_or_else(|| folder.to_owned());
                Some(Shown { name, description, cut: false })
            }
            SkillListing::ClaudeCode if self.hidden => None,
            SkillListing::ClaudeCode => Some(self.in_claude_code(folder, plugin)),
        }
    }

    fn in_claude_code(&self, folder: &str, plugin: Option<&str>) -> Shown {
        let full = |name: &str| plugin.map_or_else(|| name.to_owned(), |plugin| format!("{plugin}:{name}"));
        let name = match self.name.as_deref().filter(|name| *name != folder) {
            Some(other) => format!("{} ({})", full(folder), full(other)),
            None => full(folder),
        };
        let said = match (&self.description, &self.when_to_use) {
            (Some(what), Some(when)) => format!("{what} - {when}"),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => self.first_line.clone().unwrap_or_else(|| String::from("Skill")),
        };
        let (said, cut) = cut(&one_line(&said));
        Shown { name, description: said.replace('<', "&lt;").replace('>', "&gt;"), cut }
    }
}

/// Line ends as single spaces.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split(['\n', '\r']).filter(|line| !line.is_empty()).enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(line);
    }
    out
}

fn cut(text: &str) -> (String, bool) {
    match text.char_indices().nth(CLAUDE_CODE_CUT) {
        None => (text.to_owned(), false),
        Some(_) => {
            let kept: String = text.chars().take(CLAUDE_CODE_CUT - 1).collect();
            (kept + "…", true)
        }
    }
}

fn first_line(body: &str) -> Option<String> {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty())?;
    let bare = line.trim_start_matches('#');
    let heading = (1..=6).contains(&(line.len() - bare.len())) && bare.starts_with([' ', '\t']);
    Some(if heading { bare.trim().to_owned() } else { line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude(text: &str) -> Option<(String, String)> {
        Skill::read(text)
            .shown("folder", None, SkillListing::ClaudeCode)
            .map(|shown| (shown.name, shown.description))
    }

    /// What Claude Code 2.1.332 listed of each.
    #[test]
    fn as_claude_code_lists_them() {
        for (text, name, description) in [
            ("---\nname: folder\ndescription: Does it.\n---\nbody", "folder", "Does it."),
            ("---\nname: other\ndescription: Does it.\n---\n", "folder (other)", "Does it."),
            (
                "---\ndescription: >\n  first\n  second line.\n\n  After blank.\n---\n",
                "folder",
                "first second line. After blank.",
            ),
            ("---\ndescription: |\n  first\n  second\n---\n", "folder", "first second"),
            (
                "---\ndescription: |-\n    four   spaces\n      deeper\n\n    x\n---\n",
                "folder",
                "four   spaces   deeper x",
            ),
            (
                "---\ndescription: \"an \\\"inner\\\": yes\\nnewline\"\n---\n",
                "folder",
                "an \"inner\": yes newline",
            ),
            (
                "---\ndescription: bare with: colon and # hash #tail\n---\n",
                "folder",
                "bare with: colon and # hash #tail",
            ),
            ("---\ndescription: plain first\n  continued\n---\n", "folder", "plain first continued"),
            ("---\ndescription: with\nwhen_to_use: when text\n---\n", "folder", "with - when text"),
            ("---\nwhen_to_use: only when\n---\npara", "folder", "only when"),
            ("---\ndescription: <b>&amp; tag\n---\n", "folder", "&lt;b&gt;&amp; tag"),
            ("---\ndescription: one\ndescription: two\n---\n", "folder", "two"),
            ("---\nDescription: upper\n---\n# S\n", "folder", "S"),
            ("---\nname: folder\n---\n\n# Heading here\n", "folder", "Heading here"),
            ("---\ndescription: null\n---\n", "folder", "Skill"),
            ("---\ndescription: unclosed\n\nbody", "folder", "---"),
            ("# No front matter\n\npara", "folder", "No front matter"),
            ("\u{feff}---\r\nname: folder\r\ndescription: crlf\r\n---\r\nbody", "folder", "crlf"),
            ("", "folder", "Skill"),
        ] {
            assert_eq!(claude(text), Some((name.to_owned(), description.to_owned())), "{text:?}");
        }
        assert_eq!(claude("---\ndescription: x\ndisable-model-invocation: true\n---\n"), None);
        assert!(claude("---\ndescription: x\nuser-invocable: false\n---\n").is_some());
    }

    #[test]
    fn a_long_description_is_cut() {
        let skill = Skill::read(&format!("---\ndescription: {}\n---\n", "ä".repeat(2_000)));
        let shown = skill.shown("f", None, SkillListing::ClaudeCode).unwrap();
        assert_eq!(shown.description.chars().count(), 1_536);
        assert!(shown.cut && shown.description.ends_with("ä…"));
        let plain = skill.shown("f", None, SkillListing::Plain).unwrap();
        assert_eq!(plain.description.chars().count(), 2_000);
        let just = Skill::read(&format!("---\ndescription: {}\n---\n", "a".repeat(1_536)));
        assert!(!just.shown("f", None, SkillListing::ClaudeCode).unwrap().cut);
    }

    #[test]
    fn of_a_plugin_the_names_carry_its_own() {
        let skill = Skill::read("---\nname: other\ndescription: d\n---\n");
        let shown = skill.shown("pd", Some("plug"), SkillListing::ClaudeCode).unwrap();
        assert_eq!(shown.name, "plug:pd (plug:other)");
    }

    #[test]
    fn elsewhere_name_and_description_as_they_are() {
        let plain = |text: &str| Skill::read(text).shown("folder", None, SkillListing::Plain);
        let shown = plain("---\nname: n\ndescription: |\n  a\n  b\n---\n").unwrap();
        assert_eq!((shown.name.as_str(), shown.description.as_str()), ("n", "a\nb"));
        assert_eq!(shown.bytes(), 4);
        assert_eq!(shown.text(), "n: a\nb");
        assert_eq!(
            plain("---\ndescription: d\ndisable-model-invocation: true\n---\n").unwrap().name,
            "folder"
        );
        assert_eq!(plain("---\nname: n\n---\nbody"), None);
    }

    #[test]
    fn oddities_are_named() {
        use SkillOddity::{DuplicateKey, InvalidYaml, MissingDescription, MissingFrontMatter, WrongType};
        for (text, expected) in [
            ("---\nname: n\ndescription: d\n---\n", vec![]),
            ("body", vec![MissingFrontMatter, MissingDescription]),
            ("---\ndescription: a: b\n---\n", vec![InvalidYaml]),
            ("---\nname: n\n---\n", vec![MissingDescription]),
            ("---\nname: [n]\ndescription: {a: b}\n---\n", vec![MissingDescription, WrongType]),
            ("---\ndescription: a\ndescription: b\n---\n", vec![DuplicateKey]),
        ] {
            let mut found = Skill::read(text).oddities;
            let mut expected: Vec<SkillOddity> = expected;
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
