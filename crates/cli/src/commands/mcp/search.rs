//! `deadweight mcp search`: the ranking of tools for a request, and its reasons.

use super::meaning::Model;
use super::servers;
use crate::args::McpSearch;
use crate::exit::{self, Exit, Trouble};
use crate::render::{json, mcp as render};
use crate::settings::Key;
use crate::settings::Screen;
use crate::settings::proxy::{Flags, Proxy};
use deadweight_mcp::config::process_env;
use deadweight_mcp::surface::{Client, Kept, Meaning, Surface};
use deadweight_search::{Answer, Reason};
use serde_json::{Value, json};
use std::sync::Arc;

/// What was found.
pub(crate) struct Found {
    pub(crate) answer: Answer,
    /// Name in the list, server and own name of every tool.
    pub(crate) names: Vec<(String, String, String)>,
    pub(crate) servers: usize,
}

impl Found {
    /// The server and the own name of a tool that was found.
    pub(crate) fn whose<'a>(&'a self, id: &'a str) -> (&'a str, &'a str) {
        let found = self.names.iter().find(|(shown, ..)| shown == id);
        found.map_or(("", id), |(_, server, tool)| (server, tool))
    }
}

pub(super) fn run(args: &McpSearch) -> Result<Exit, Trouble> {
    if args.query.trim().is_empty() {
        return Err(Trouble::usage("there is nothing to search for")
            .attempt("say what is wanted: deadweight mcp search 'open a pull request'"));
    }
    let directory = std::env::current_dir().unwrap_or_default();
    let mut flags = Flags::default();
    flags.tell(Key::Model, args.model.clone());
    let proxy = Proxy::resolve(&flags, &process_env, &directory);
    proxy.warn();
    let config = proxy.config.as_deref();
    let mut asked = servers::ask("mcp search QUERY", &args.servers, config, args.timeout, &args.global)?;
    // What ranks is one list, whoever serves it.
    let all: Vec<_> = asked.groups.drain(..).flat_map(|group| group.servers).collect();
    if all.iter().all(|server| server.tools.is_empty()) && !asked.failed.is_empty() {
        return Ok(servers::failures(&asked.failed));
    }
    let group = servers::Group { aggregate: all.len() > 1, servers: all };
    let settings = servers::of_surface(&proxy, args.servers.name.as_deref());
    let surface = servers::surface(&group, &settings, &Client::default(), None, &Kept::default());
    let model = proxy.model.as_deref().map(|folder| Model::start(folder, exit::warn));
    let surface = surface.with_meaning(model.clone().map(|model| model as Arc<dyn Meaning>));
    if let Some(model) = model {
        // What a proxy learns beside its work is waited for here. The index tells it what to learn.
        let _ = surface.index();
        model.wait();
    }
    let found = found(&surface, &args.query, args.top);
    if args.json {
        exit::print(&json::text(&report(args, &found, &asked), false))?;
    } else {
        exit::print_told(&render::search(&found, &args.query, Screen::of_stdout()))?;
    }
    Ok(servers::failures(&asked.failed))
}

fn found(surface: &Surface, query: &str, top: usize) -> Found {
    let names =
        surface.names().map(|(shown, server, tool)| (shown.to_owned(), server.to_owned(), tool.to_owned()));
    Found {
        answer: surface.rank(None, query, top),
        names: names.collect(),
        servers: surface.servers().count(),
    }
}

fn report(args: &McpSearch, found: &Found, asked: &servers::Asked) -> Value {
    let reason = |reason: &Reason| {
        json!({
            "word": reason.word, "term": reason.term, "field": reason.field.label(), "part": reason.part,
        })
    };
    let hits = found.answer.hits.iter().map(|hit| {
        let (server, tool) = found.whose(&hit.id);
        json!({
            "tool": tool,
            "server": server,
            "name": hit.id,
            "score": hit.score,
            "reasons": hit.reasons.iter().map(reason).collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": "deadweight/mcp-search/1",
        "query": args.query,
        "abstains": found.answer.abstains(),
        "confidence": found.answer.confidence,
        "least_confidence": Answer::LEAST,
        "intents": found.answer.intents,
        "did_you_mean": found.answer.did_you_mean.iter().map(|near| &near.id).collect::<Vec<_>>(),
        "tools_searched": found.names.len(),
        "hits": hits.collect::<Vec<_>>(),
        "failures": asked.failed.iter()
            .map(|failed| json!({ "server": failed.label, "reason": failed.trouble.reason() }))
            .collect::<Vec<_>>(),
    })
}
