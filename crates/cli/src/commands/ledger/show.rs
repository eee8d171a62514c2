//! `deadweight ledger show`: one request with its receipt, or one session turn by turn.

use super::{none, trouble, wait};
use crate::args::LedgerShow;
use crate::exit::{self, Exit, Trouble};
use crate::render::{json, ledger as render};
use crate::settings::Screen;
use deadweight_store::{By, Exchange, Group, Ledger, Order, Page, Sums, Which, bodies_beside, kept};
use serde_json::{Value, json};
use std::path::Path;

/// What was asked for.
#[derive(Debug)]
enum Found {
    /// One request.
    Request(Box<Exchange>),
    /// One session.
    Session(Box<Session>),
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its key.
    pub(crate) key: String,
    /// The sums over it.
    pub(crate) sums: Sums,
    /// The same by what the cache watch says.
    pub(crate) classes: Vec<Group>,
    /// Its turns, the first first; those that are shown.
    pub(crate) turns: Vec<Exchange>,
}

pub(super) fn run(args: &LedgerShow, file: &Path) -> Result<Exit, Trouble> {
    let found = wait(find(args, file))??;
    if args.json {
        exit::print(&json::text(&report(&found), false))?;
    } else {
        let screen = Screen::of_stdout();
        let text = match &found {
            Found::Request(one) => {
                render::request(one, &kept(&bodies_beside(file), &one.id), args.top, screen)
            }
            Found::Session(session) => render::session(session, screen),
        };
        exit::print_told(&text)?;
    }
    Ok(Exit::Done)
}

async fn find(args: &LedgerShow, file: &Path) -> Result<Found, Trouble> {
    let Some(mut ledger) = Ledger::open(file).await.map_err(trouble)? else { return Err(none(file)) };
    if let Some(one) = ledger.exchange(&args.id).await.map_err(trouble)? {
        return Ok(Found::Request(Box::new(one)));
    }
    let Some(key) = ledger.session_that_begins(&args.id).await.map_err(trouble)? else {
        let what = format!(
            "there is no request and no session, or more than one, whose name begins with `{}`",
            args.id
        );
        return Err(Trouble::refused(what)
            .at("ledger", file.display().to_string())
            .attempt("give more of the name; `deadweight ledger export` lists all of them"));
    };
    let which = Which { turns_only: true, ..Which::of_session(&key) };
    let limit = if args.top == 0 { u32::MAX } else { args.top };
    let sums = ledger.sums(&which).await.map_err(trouble)?;
    // The last turns, in the order in which they came.
    let mut turns = ledger.turns(&which, Order::Newest, Page::first(limit)).await.map_err(trouble)?;
    turns.reverse();
    let classes = ledger.groups(&which, By::Class).await.map_err(trouble)?;
    Ok(Found::Session(Box::new(Session { key, sums, classes, turns })))
}

fn report(found: &Found) -> Value {
    let provenance = json!({ "footprint": "ESTIMATED", "usage": "OBSERVED", "cost": "ESTIMATED" });
    match found {
        Found::Request(one) => json!({
            "schema": "deadweight/ledger-request/1",
            "provenance": provenance,
            "changed": one.receipt.changed(),
            "request": one,
        }),
        Found::Session(session) => json!({
            "schema": "deadweight/ledger-session/1",
            "provenance": provenance,
            "session": session.key,
            "sums": session.sums,
            "classes": session.classes,
            "turns": session.turns,
        }),
    }
}
