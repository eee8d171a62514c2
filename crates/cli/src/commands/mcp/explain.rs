//! `deadweight mcp --explain`: what is decided about each server and why, and what that saves.

use super::servers::{self, Group};
use crate::args::Mcp;
use crate::exit::{self, Exit, Trouble};
use crate::render::{json, mcp as render};
use crate::settings::Screen;
use crate::settings::proxy::Proxy;
use deadweight_footprint::catalogue::{Lists, Saving, saving};
use deadweight_mcp::config::process_env;
use deadweight_mcp::surface::{Client, Kept, Surface};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a server may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One list, and what it comes to.
pub(crate) struct List {
    pub(crate) surface: Surface,
    pub(crate) saving: Saving,
    /// The same for each of its servers, without our own tools.
    pub(crate) servers: Vec<Saving>,
}

pub(super) fn run(args: &Mcp) -> Result<Exit, Trouble> {
    let directory = std::env::current_dir().unwrap_or_default();
    let proxy = Proxy::resolve(&args.flags(), &process_env, &directory);
    proxy.warn();
    let lock = servers::lock(&proxy)?;
    let config = proxy.config.as_deref();
    let asked = servers::ask("mcp --explain", &args.servers, config, TIMEOUT, &args.global)?;
    let settings = servers::of_surface(&proxy, args.servers.name.as_deref());
    let client = Client::new(args.client.as_deref().unwrap_or_default(), "");
    let list =
        |group: &Group| list(servers::surface(group, &settings, &client, lock.as_ref(), &Kept::default()));
    let lists: Result<Vec<List>, Trouble> = asked.groups.iter().map(list).collect();
    let lists = lists?;
    if args.json {
        exit::print(&json::text(&report(&lists, &proxy, &client, &asked), false))?;
    } else if !lists.is_empty() {
        let told = render::explain(&lists, &proxy, &client, Screen::of_stdout(), args.global.quiet);
        exit::print_told(&told)?;
    }
    for warning in lists.iter().flat_map(|list| list.surface.warnings()) {
        exit::warn(&warning.to_string());
    }
    if let Some(refused) = lists.iter().find_map(|list| list.surface.refused()) {
        return Err(Trouble::refused(refused.to_string()));
    }
    Ok(servers::failures(&asked.failed))
}

/// Prices a surface.
fn list(surface: Surface) -> Result<List, Trouble> {
    let (saving, servers) = price(&surface)?;
    Ok(List { surface, saving, servers })
}

/// What a surface saves, and what it saves of each of its servers.
pub(super) fn price(surface: &Surface) -> Result<(Saving, Vec<Saving>), Trouble> {
    let estimator = deadweight_estimate::estimator("calibrated")
        .map_err(|error| Trouble::unmeasured(error.to_string()))?;
    let price = |server| {
        let deadweight_mcp::surface::Lists { before, after, own, loadable } = surface.lists(server);
        saving(&Lists { before, after, own, loadable }, &*estimator)
    };
    let servers = (0..surface.servers().count()).map(|server| price(Some(server))).collect();
    Ok((price(None), servers))
}

/// The report as JSON.
fn report(lists: &[List], proxy: &Proxy, client: &Client, asked: &servers::Asked) -> Value {
    let list = |list: &List| {
        let decisions = list.surface.decisions().iter().zip(&list.servers).map(|(decision, saving)| {
            let mut value = decision.to_json();
            if let Some(object) = value.as_object_mut() {
                object.insert("saving".to_owned(), serde_json::to_value(saving).unwrap_or_default());
            }
            value
        });
        json!({
            "aggregate": list.surface.is_aggregate(),
            "surface": list.surface.shape().name(),
            "servers": decisions.collect::<Vec<_>>(),
            "own": list.surface.own().iter().map(|own| &own.shown).collect::<Vec<_>>(),
            "saving": list.saving,
            "warnings": list.surface.warnings().iter()
                .map(|warning| json!({ "id": warning.id(), "text": warning.to_string() }))
                .collect::<Vec<_>>(),
            "refused": list.surface.refused().map(ToString::to_string),
        })
    };
    let settings =
        proxy.told.iter().map(|(name, value, from)| json!({ "name": name, "value": value, "from": from }));
    json!({
        "schema": "deadweight/mcp-explain/1",
        "client": { "name": client.name, "profile": client.id() },
        "lists": lists.iter().map(list).collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
        "failures": asked.failed.iter()
            .map(|failed| json!({ "server": failed.label, "reason": failed.trouble.reason() }))
            .collect::<Vec<_>>(),
    })
}
