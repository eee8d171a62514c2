//! Where the ledger is.

use std::path::{Path, PathBuf};

/// Where calls are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Nowhere.
    Off,
    /// In a SQLite file.
    File(PathBuf),
}

impl Place {
    /// Reads what a person gave: `off`, a path, `sqlite:PATH` or `sqlite://PATH`.
    ///
    /// # Errors
    ///
    /// In a sentence, when it is the address of a database that cannot be a ledger yet.
    pub fn read(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")).unwrap_or(text);
        if let Some((scheme, _)) = path.split_once("://") {
            return Err(format!("a ledger is a SQLite file; `{scheme}:` is not known"));
        }
        if path.is_empty() {
            return Err("the name of the ledger's file is empty".to_owned());
        }
        Ok(Self::File(PathBuf::from(path)))
    }
}

/// The ledger's file where nobody names one: `deadweight/ledger.sqlite` in the user's data folder, which is
/// `$XDG_DATA_HOME`, else `%LOCALAPPDATA%` on Windows, else `~/.local/share`. `None` where there is no home.
#[must_use]
pub fn default_file(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let local = || set("LOCALAPPDATA").filter(|_| cfg!(windows));
    let home = || set("HOME").map(|home| home.join(Path::new(".local/share")));
    let data = set("XDG_DATA_HOME").or_else(local).or_else(home)?;
    Some(data.join("deadweight").join("ledger.sqlite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        assert_eq!(Place::read("off"), Ok(Place::Off));
        for text in ["/a/b.sqlite", "sqlite:/a/b.sqlite", "sqlite:///a/b.sqlite"] {
            assert_eq!(Place::read(text), Ok(Place::File("/a/b.sqlite".into())), "{text}");
        }
        assert_eq!(Place::read("off.sqlite"), Ok(Place::File("off.sqlite".into())));
        assert!(Place::read("postgres://h/db").unwrap_err().contains("postgres"));
        assert!(Place::read("").is_err() && Place::read("sqlite:").is_err());
    }

    #[test]
    fn the_data_folder_is_the_users() {
        let with = |pairs: &'static [(&str, &str)]| {
            default_file(&|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("HOME", "/h")]), Some("/h/.local/share/deadweight/ledger.sqlite".into()));
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]),
            Some("/x/deadweight/ledger.sqlite".into())
        );
        // A relative one is to be ignored.
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_DATA_HOME", "x")]),
            Some("/h/.local/share/deadweight/ledger.sqlite".into())
        );
        assert_eq!(with(&[]), None);
    }
}
