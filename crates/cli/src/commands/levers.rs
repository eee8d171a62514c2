//! The levers of a gateway that is started: what is kept, what each does, and how to turn it off.

use crate::exit;
use deadweight_gateway::clock;
use deadweight_gateway::edit::{Editing, NoOriginals, Originals, Settings, Setup};
use deadweight_gateway::relay::{Level, Note, OnNote};
use deadweight_levers::{Class, Lever, Profile};
use deadweight_price::Book;
use deadweight_store::{ORIGINALS_KEPT, Originals as Store, Place, journal_beside, originals_beside};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Starts the editing, with decisions beside the ledger. Without a ledger nothing is kept.
pub(crate) async fn start(settings: &Settings, ledger: &Place, book: Arc<Book>, on_note: OnNote) -> Editing {
    let file = file(ledger);
    let setup = Setup {
        settings: settings.clone(),
        journal: file.as_deref().map(journal_beside),
        ledger: file.clone(),
        book,
        originals: originals(settings, file.as_deref(), &on_note),
        clock: clock::system(),
        on_note,
    };
    Editing::start(setup).await
}

/// What keeps the originals of what is cut: beside the ledger, where something may be cut at all.
fn originals(settings: &Settings, ledger: Option<&Path>, on_note: &OnNote) -> Arc<dyn Originals> {
    let cuts = settings.keeps_decisions && on(settings).iter().any(|lever| lever.class() != Class::Lossless);
    let opened = ledger.filter(|_| cuts).map(|file| Store::open(originals_beside(file), ORIGINALS_KEPT));
    match opened {
        Some(Ok(store)) => {
            let on_note = Arc::clone(on_note);
            let tell = move |text: &str| {
                let (level, event, text) = (Level::Warning, "originals_unreadable", text.to_owned());
                on_note(Note { level, event, text, fields: Vec::new() });
            };
            Arc::new(store.telling(tell))
        }
        Some(Err(error)) => {
            let why = crate::target::file::system(&error);
            exit::warn(&format!("originals cannot be kept, so nothing is cut that would need them: {why}"));
            Arc::new(NoOriginals)
        }
        None => Arc::new(NoOriginals),
    }
}

fn file(ledger: &Place) -> Option<PathBuf> {
    match ledger {
        Place::Off => None,
        Place::File(file) => Some(file.clone()),
    }
}

fn on(settings: &Settings) -> Vec<Lever> {
    let policies = || std::iter::once(&settings.policy).chain(settings.routes.iter().map(|(_, own)| own));
    let edits = |lever: &Lever| *lever != Lever::Passthrough && policies().any(|policy| policy.on(*lever));
    Lever::ALL.into_iter().filter(edits).collect()
}

/// What the user is told at start: what may be changed, what is kept and where, and how to turn it off. `verbose`: what
/// each lever does, too.
pub(crate) fn lines(settings: &Settings, ledger: &Place, verbose: bool) -> Vec<String> {
    let on = on(settings);
    if on.is_empty() {
        let text =
            "bodies pass as they are (levers are off); what was changed in a conversation before stays so";
        return vec![text.to_owned()];
    }
    let journal = file(ledger).as_deref().map(journal_beside).filter(|_| settings.keeps_decisions);
    let kept = match journal {
        Some(journal) => {
            format!("decisions are kept in {}, originals of what is cut beside it", journal.display())
        }
        None => "no decisions are kept, so only breakpoints are placed".to_owned(),
    };
    let profile = match settings.policy.profile {
        Profile::Default => String::new(),
        profile => format!(" ({} profile)", profile.name()),
    };
    let mut lines =
        vec![format!("levers may change what is sent{profile}; {kept}; --profile faithful turns them off")];
    if verbose {
        lines.extend(on.iter().map(|lever| format!("{lever}: {}", lever.note())));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_levers::Policy;

    #[test]
    fn it_is_told_what_is_kept_and_how_to_turn_it_off() {
        let settings = Settings::of(Policy::default());
        let place = Place::File("/data/ledger.sqlite".into());
        let lines_of = |settings: &Settings| lines(settings, &place, false).join("\n");
        let told = lines_of(&settings);
        assert!(told.contains("/data/decisions.sqlite") && told.contains("--profile faithful"), "{told}");
        assert_eq!(lines(&settings, &place, true).len(), 1 + on(&settings).len());
        let faithful = Settings::of(Policy { profile: Profile::Faithful, ..Policy::default() });
        assert!(lines_of(&faithful).starts_with("bodies pass as they are"));
        assert!(lines(&settings, &Place::Off, false)[0].contains("no decisions are kept"));
    }
}
