//! The ledger: where requests and calls are recorded, and for how long. It is one setting for every command that writes or
//! reads one, however it is written.

use super::known::Key;
use super::proxy::{Env, Flags, Merge, Raw, Source, Warning, beside, number, text};
use crate::exit;
use deadweight_store::{Place, default_file};
use std::path::Path;
use std::time::Duration;

/// How many days the ledger keeps what it records, where nobody says otherwise.
const RETENTION: u64 = 90;

/// The settings that hold.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Where it is.
    pub(crate) place: Place,
    /// How many days it keeps what it records; none for ever.
    pub(crate) days: Option<u64>,
    warnings: Vec<Warning>,
}

impl Ledger {
    /// Takes the settings together: flags before the environment before the project's file before the user's.
    pub(crate) fn resolve(flags: &Flags, env: Env<'_>, directory: &Path) -> Self {
        let mut merge = Merge::of(flags, env, directory);
        let place = place(&mut merge, env);
        let days = days(&mut merge);
        Self { place, days, warnings: merge.warnings }
    }

    /// Tells a person what is not as they may think.
    pub(crate) fn warn(&self) {
        self.warnings.iter().for_each(|warning| exit::warn(&warning.to_string()));
    }

    /// How long it keeps what it records; none for ever.
    pub(crate) fn retention(&self) -> Option<Duration> {
        self.days.map(of_days)
    }
}

/// So many days.
pub(crate) const fn of_days(days: u64) -> Duration {
    Duration::from_secs(days.saturating_mul(86_400))
}

/// Where the ledger is.
pub(super) fn place(merge: &mut Merge, env: Env<'_>) -> Place {
    let files = merge.told.iter().filter(|told| told.key == Key::Ledger);
    let mut files = files.filter_map(|told| match &told.from {
        Source::File { file, .. } => Some((file.clone(), told.raw.clone(), told.from.to_string())),
        _ => None,
    });
    // A file may have it in two tables.
    let mut two = None;
    let first = files.next();
    if let (Some((file, raw, at)), Some((other_file, other, other_at))) = (first, files.next())
        && file == other_file
        && raw != other
    {
        two = Some(Warning::new(
            format!("`ledger` is said twice ({at}, {other_at}): the first holds for every command"),
            "take one of them out",
        ));
    }
    merge.warnings.extend(two);
    merge.first(Key::Ledger, read).unwrap_or_else(|| default_file(env).map_or(Place::Off, Place::File))
}

/// How many days it keeps what it records; none for ever.
pub(super) fn days(merge: &mut Merge) -> Option<u64> {
    let days = merge.first(Key::Retention, |raw, _| number(raw)).unwrap_or(RETENTION);
    (days > 0).then_some(days)
}

fn read(raw: &Raw, from: &Source) -> Option<Place> {
    match Place::read(text(raw)?).ok()? {
        Place::File(file) => Some(Place::File(beside(&file, from))),
        place => Some(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(env: &'static [(&str, &str)], user: &str) -> Ledger {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("deadweight");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("deadweight.toml"), user).unwrap();
        let home = folder.path().to_string_lossy().into_owned();
        let env = move |name: &str| match name {
            "XDG_CONFIG_HOME" | "XDG_DATA_HOME" => Some(home.clone()),
            _ => env.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()),
        };
        Ledger::resolve(&Flags::default(), &env, &folder.path().join("project"))
    }

    fn named(ledger: &Ledger) -> String {
        match &ledger.place {
            Place::Off => "off".to_owned(),
            Place::File(file) => file.file_name().unwrap().to_string_lossy().into_owned(),
        }
    }

    #[test]
    fn it_is_one_setting_in_whichever_table_it_stands() {
        for table in ["mcp", "gateway"] {
            let ledger = resolved(&[], &format!("[{table}]\nledger = \"x.sqlite\"\n"));
            assert_eq!(
                (named(&ledger).as_str(), ledger.warnings.len()),
                ("x.sqlite", 0),
                "{table}: {:?}",
                ledger.warnings
            );
        }
        let env = resolved(&[("DEADWEIGHT_LEDGER", "e.sqlite")], "[mcp]\nledger = \"x.sqlite\"\n");
        assert_eq!(named(&env), "e.sqlite");
        let bad = resolved(&[("DEADWEIGHT_LEDGER", "postgres://house/db")], "");
        assert_eq!((named(&bad).as_str(), bad.warnings.len()), ("ledger.sqlite", 1), "{:?}", bad.warnings);
    }

    #[test]
    fn two_that_differ_are_told_of() {
        let two = "[mcp]\nledger = \"a.sqlite\"\n[gateway]\nledger = \"b.sqlite\"\n";
        let ledger = resolved(&[], two);
        assert_eq!((named(&ledger).as_str(), ledger.warnings.len()), ("a.sqlite", 1));
        let same = "[mcp]\nledger = \"a.sqlite\"\n[gateway]\nledger = \"a.sqlite\"\n";
        assert!(resolved(&[], same).warnings.is_empty());
    }

    #[test]
    fn nothing_is_kept_for_ninety_days_and_0_for_ever() {
        assert_eq!(resolved(&[], "").days, Some(90));
        assert_eq!(resolved(&[], "[gateway]\nretention = 7\n").days, Some(7));
        assert_eq!(resolved(&[], "[gateway]\nretention = 0\n").days, None);
    }
}
