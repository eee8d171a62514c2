//! Variables in configuration files, expanded without ever being shown.

use super::Context;
use crate::error::Reason;
use crate::text::Text;
use std::path::Path;

/// How a file writes variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// `${NAME}`, `${NAME:-default}`, and the ones of VS Code and Cursor: `${env:NAME}`,
    /// `${workspaceFolder}`, `${userHome}`.
    Dollar,
    /// That, and `$NAME`, as Gemini CLI has it. A `$NAME` that is not set stays as it stands.
    BareDollar,
    /// `{env:NAME}` and `{file:PATH}`, as opencode has it.
    Braces,
    /// None: every text is what it says.
    None,
}

/// Expands variables of one file.
pub(super) struct Expander<'a> {
    pub(super) syntax: Syntax,
    pub(super) context: Context<'a>,
    /// What `${workspaceFolder}` stands for.
    pub(super) workspace: &'a Path,
    /// The folder that holds the file.
    pub(super) folder: &'a Path,
}

/// A value, and whether it may be shown.
struct Found {
    value: String,
    public: bool,
}

impl Expander<'_> {
    /// Expands a text that stands on `line`. What came out of the environment is shown as the text that
    /// asked for it.
    pub(super) fn expand(&self, text: &str, line: usize) -> Result<Text, Reason> {
        if self.syntax == Syntax::None {
            return Ok(Text::plain(text));
        }
        let mut value = String::with_capacity(text.len());
        let mut hidden = false;
        let mut rest = text;
        let open = if self.syntax == Syntax::Braces { '{' } else { '$' };
        while let Some(at) = rest.find(open) {
            value.push_str(&rest[..at]);
            let tail = &rest[at..];
            let (used, found) = self.placeholder(tail, line)?;
            match found {
                Some(found) => {
                    hidden |= !found.public;
                    value.push_str(&found.value);
                }
                None => value.push_str(&tail[..used]),
            }
            rest = &tail[used..];
        }
        value.push_str(rest);
        Ok(if hidden { Text::shown_as(value, text) } else { Text::plain(value) })
    }

    /// The placeholder at the start of `tail`: its length, and its value. No value: it is none, and stands
    /// for itself.
    fn placeholder(&self, tail: &str, line: usize) -> Result<(usize, Option<Found>), Reason> {
        let itself = Ok((1, None));
        if self.syntax == Syntax::BareDollar && !tail.starts_with("${") {
            let name: &str = &tail[1..tail[1..].find(|c| !is_name(c)).map_or(tail.len(), |end| end + 1)];
            let value = (self.context.env)(name).filter(|_| is_variable(name));
            return Ok(match value {
                Some(value) => (1 + name.len(), Some(Found { value, public: false })),
                None => (1, None),
            });
        }
        let start = if self.syntax == Syntax::Braces { 1 } else { 2 };
        if self.syntax != Syntax::Braces && !tail.starts_with("${") {
            return itself;
        }
        let Some(end) = tail.find('}') else { return itself };
        let (inner, used) = (&tail[start..end], end + 1);
        let found = if self.syntax == Syntax::Braces {
            self.of_braces(inner, line)?
        } else {
            self.of_dollar(inner, &tail[..used], line)?
        };
        Ok((used, found))
    }

    fn of_dollar(&self, inner: &str, whole: &str, line: usize) -> Result<Option<Found>, Reason> {
        let path = |path: &Path| Found { value: path.to_string_lossy().into_owned(), public: true };
        match inner {
            "workspaceFolder" => return Ok(Some(path(self.workspace))),
            "workspaceFolderBasename" => {
                return Ok(self.workspace.file_name().map(|name| path(Path::new(name))));
            }
            "userHome" => {
                let value = self.variable("HOME", None, line)?;
                return Ok(Some(Found { value, public: true }));
            }
            "pathSeparator" | "/" => {
                return Ok(Some(Found { value: std::path::MAIN_SEPARATOR.to_string(), public: true }));
            }
            _ => {}
        }
        let inner = inner.strip_prefix("env:").unwrap_or(inner);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if is_variable(name) {
            let value = self.variable(name, default, line)?;
            return Ok(Some(Found { value, public: false }));
        }
        // `${input:token}`, `${command:…}`, `${config:…}`.
        let kind = inner.split(':').next().unwrap_or_default();
        if inner.contains(':') && !kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase()) {
            let placeholder = crate::harmless::excerpt(whole.as_bytes(), 80);
            return Err(Reason::NeedsInput { placeholder, line });
        }
        Ok(None)
    }

    fn of_braces(&self, inner: &str, line: usize) -> Result<Option<Found>, Reason> {
        if let Some(name) = inner.strip_prefix("env:") {
            let value = self.variable(name.trim(), None, line)?;
            return Ok(Some(Found { value, public: false }));
        }
        let Some(file) = inner.strip_prefix("file:") else { return Ok(None) };
        let file = match file.strip_prefix("~/") {
            Some(below) => Path::new(&self.variable("HOME", None, line)?).join(below),
            None => self.folder.join(file),
        };
        match crate::file::text(&file, super::LARGEST_OF_ENTRY) {
            Ok(text) => Ok(Some(Found { value: text.trim().to_owned(), public: false })),
            Err(error) => {
                let file = crate::harmless::line(&file.to_string_lossy());
                let detail = format!("the file `{file}` cannot be read: {}", crate::explain::system(&error));
                Err(Reason::BadEntry { detail, line })
            }
        }
    }

    /// The value of a variable that must be there.
    pub(super) fn variable(&self, name: &str, default: Option<&str>, line: usize) -> Result<String, Reason> {
        (self.context.env)(name).or_else(|| default.map(str::to_owned)).ok_or_else(|| Reason::UnsetVariable {
            name: crate::harmless::excerpt(name.as_bytes(), 80),
            line,
        })
    }
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expand(syntax: Syntax, text: &str) -> Result<Text, Reason> {
        let env = |name: &str| match name {
            "TOKEN" => Some("hunter2".to_owned()),
            "EMPTY" => Some(String::new()),
            "HOME" => Some("/home/me".to_owned()),
            _ => None,
        };
        let context = Context { env: &env, workspace: None };
        Expander { syntax, context, workspace: Path::new("/w/project"), folder: Path::new("/w") }
            .expand(text, 3)
    }

    #[test]
    fn variables_are_expanded_and_hidden() {
        let both = |text: &str| {
            let text = expand(Syntax::Dollar, text).unwrap();
            (text.reveal().to_owned(), text.to_string())
        };
        let shown = |value: &str, shown: &str| (value.to_owned(), shown.to_owned());
        assert_eq!(both("a${TOKEN}b"), shown("ahunter2b", "a${TOKEN}b"));
        assert_eq!(both("${env:TOKEN}"), shown("hunter2", "${env:TOKEN}"));
        assert_eq!(both("${NONE:-d:-e}"), shown("d:-e", "${NONE:-d:-e}"));
        assert_eq!(both("${NONE:-}"), shown("", "${NONE:-}"));
        assert_eq!(both("${EMPTY:-d}"), shown("", "${EMPTY:-d}"));
        assert_eq!(
            both("${workspaceFolder}/x ${userHome}"),
            shown("/w/project/x /home/me", "/w/project/x /home/me")
        );
        for plain in ["$TOKEN", "${", "${}", "${1}", "$${", "a$", "${a b}", "100 %"] {
            assert_eq!(both(plain), shown(plain, plain));
        }
        let bare = |text: &str| expand(Syntax::BareDollar, text).unwrap().reveal().to_owned();
        assert_eq!(bare("x$TOKEN/$NONE$${TOKEN}$"), "xhunter2/$NONE$hunter2$");
        let braces = |text: &str| expand(Syntax::Braces, text).unwrap().reveal().to_owned();
        assert_eq!(braces("{env:TOKEN} ${TOKEN} {x} {"), "hunter2 ${TOKEN} {x} {");
        assert_eq!(expand(Syntax::None, "${TOKEN}").unwrap().reveal(), "${TOKEN}");
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        let unset = |name: &str| Err(Reason::UnsetVariable { name: name.into(), line: 3 });
        assert_eq!(expand(Syntax::Dollar, "${NONE}"), unset("NONE"));
        assert_eq!(expand(Syntax::Braces, "{env:NONE}"), unset("NONE"));
        let placeholder = "${input:api-key}".to_owned();
        assert_eq!(
            expand(Syntax::Dollar, "Bearer ${input:api-key}"),
            Err(Reason::NeedsInput { placeholder, line: 3 })
        );
        assert!(matches!(expand(Syntax::Braces, "{file:no/such}"), Err(Reason::BadEntry { line: 3, .. })));
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_or_shows_a_value(text in "[$ {}:\\-a-zA-ZéTOKEN_1]{0,24}|(\\$\\{TOKEN(:-x)?\\}|\\$TOKEN|\\{env:TOKEN\\}|.){0,6}") {
            for syntax in [Syntax::Dollar, Syntax::BareDollar, Syntax::Braces, Syntax::None] {
                if let Ok(expanded) = expand(syntax, &text) {
                    prop_assert!(!expanded.to_string().contains("hunter2"));
                }
            }
        }
    }
}
