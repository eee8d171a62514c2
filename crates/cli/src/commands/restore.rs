//! `deadweight restore ID`: the original of what was cut, byte for byte.

use super::ledger;
use crate::args::Restore;
use crate::exit::{self, Exit, Trouble};
use crate::render::json;
use crate::settings;
use crate::target::file::system;
use crate::target::gather;
use deadweight_store::{Found, Originals, originals_beside};
use serde_json::json;
use std::io::{self, Write};

/// Runs the command.
pub(crate) fn run(args: &Restore) -> Result<Exit, Trouble> {
    settings::set_colors(args.common.global.color);
    gather::enter(args.common.global.directory.as_deref())?;
    let folder = originals_beside(&ledger::file_of(&args.common)?);
    let place = folder.display().to_string();
    let unread = |error: io::Error| {
        Trouble::unmeasured("the originals cannot be read")
            .at("folder", place.clone())
            .at("system", system(&error))
    };
    let originals = Originals::existing(folder.clone()).map_err(unread)?;
    let found = originals.map_or(Ok(Found::Nothing), |own| own.get(&args.id)).map_err(unread)?;
    match found {
        Found::Text(text) if args.json => {
            let report = json!({
                "schema": "deadweight/restore/1", "id": args.id, "bytes": text.len(), "text": text,
            });
            exit::print(&json::text(&report, false))?;
        }
        Found::Text(text) => write(&text)?,
        Found::Nothing => {
            return Err(Trouble::refused(format!("nothing is kept under the id `{}`", args.id))
                .at("folder", place)
                .attempt("originals are kept for 30 days, on the machine on which they were cut"));
        }
        Found::Damaged => {
            return Err(Trouble::unmeasured(format!(
                "what is kept under the id `{}` cannot be read",
                args.id
            ))
            .at("folder", place)
            .at("why", "it is damaged, or sealed with another key than the one beside the folder"));
        }
    }
    Ok(Exit::Done)
}

/// The text as it was: what is in it is for a file or a pipe.
fn write(text: &str) -> Result<(), Trouble> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Who does not read any more has what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Trouble::unmeasured("the output cannot be written").at("system", system(&error)))
        }
        _ => Ok(()),
    }
}
