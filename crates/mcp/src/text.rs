//! Text that may hold a secret: what is used, and what may be shown of it.

use std::fmt;
use std::path::{Path, PathBuf};

/// A string with two faces: the value that is used, and what a person may see of it.
///
/// `Debug` and `Display` print the second one only; the first is reached by [`Text::reveal`] alone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text {
    value: String,
    shown: Shown,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Shown {
    Value,
    As(String),
}

impl Text {
    /// A text that may be shown as it is.
    pub fn plain(value: impl Into<String>) -> Self {
        Self { value: value.into(), shown: Shown::Value }
    }

    /// A text of which nothing may be shown: it prints as `…`.
    pub fn secret(value: impl Into<String>) -> Self {
        Self::shown_as(value, "…")
    }

    /// A text that prints as `shown`, for instance as the template it was expanded from.
    pub fn shown_as(value: impl Into<String>, shown: impl Into<String>) -> Self {
        Self { value: value.into(), shown: Shown::As(shown.into()) }
    }

    /// The value itself. Never print it.
    pub fn reveal(&self) -> &str {
        &self.value
    }

    /// What may be shown.
    pub fn shown(&self) -> &str {
        match &self.shown {
            Shown::Value => &self.value,
            Shown::As(text) => text,
        }
    }

    /// Whether the value differs from what may be shown.
    pub const fn is_hidden(&self) -> bool {
        matches!(self.shown, Shown::As(_))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shown(), f)
    }
}

/// A folder whose path may hold a secret: where it is, and what may be shown of that.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Folder {
    path: PathBuf,
    shown: Option<PathBuf>,
}

impl Folder {
    /// The folder that `text` names from `base`.
    pub fn below(base: &Path, text: &Text) -> Self {
        Self { path: base.join(text.reveal()), shown: text.is_hidden().then(|| base.join(text.shown())) }
    }

    /// Where it is. Never print it.
    pub fn reveal(&self) -> &Path {
        &self.path
    }

    /// What may be shown of it.
    pub fn shown(&self) -> &Path {
        self.shown.as_deref().unwrap_or(&self.path)
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shown(), f)
    }
}

impl<P: Into<PathBuf>> From<P> for Folder {
    fn from(path: P) -> Self {
        Self { path: path.into(), shown: None }
    }
}

impl From<&str> for Text {
    fn from(value: &str) -> Self {
        Self::plain(value)
    }
}

impl From<String> for Text {
    fn from(value: String) -> Self {
        Self::plain(value)
    }
}
