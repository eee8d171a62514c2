//! The servers, and the agents' own tools: what each weighs, and what to do about it.

use super::model::{DeadWeight, Server, Servers};
use super::query::{Query, address};
use super::shell::{Here, ROOT, bar, basis, command, here_with, name, page, ranges, scroll, when};
use super::words;
use deadweight_present::harmless::short;
use deadweight_present::money::estimated_usd;
use deadweight_present::number::{NONE, count, estimated, share, signed, thousands};
use deadweight_store::{Listing, OWN_ENTRY, Origin};
use maud::{Markup, html};

pub(crate) fn render(model: &Servers, query: &Query) -> String {
    let body = html! {
        div class="title" { h1 { "Servers" } (ranges(query, model.range)) }
        @if model.servers.is_empty() {
            div class="empty" {
                p { "No request carried a tool " (model.range.words()) "." }
                p { a href=(here_with(query, "days", Some("all"))) { "Look further back" } ", or price a server before anybody carries it:" }
                (command("deadweight footprint -- npx -y @modelcontextprotocol/server-everything"))
            }
        } @else {
            p {
                "Each server's tools, and each agent's own, over " (count(model.sums.measured, "turn", "turns")) " " (model.range.words()) "."
            }
            (table(model))
            (advice(model))
        }
        (lists(&model.listings, model.range.now_ms))
        (basis(&model.basis))
    };
    page(Here::Servers, "Servers", &body)
}

fn label(server: &Server) -> Markup {
    html! {
        @match server.origin {
            Origin::Mcp => (name(&server.label)),
            Origin::Builtin => { "built-in" @if !server.label.is_empty() { " of " (name(&server.label)) } },
            Origin::Unknown => { "unknown" @if !server.label.is_empty() { ", carried by " (name(&server.label)) } },
        }
    }
}

fn href(server: &Server, days: &str) -> String {
    let path = format!("{ROOT}/tools");
    match server.origin {
        Origin::Mcp => address(&path, &[("days", days), ("server", &server.label)]),
        Origin::Builtin => address(&path, &[("days", days), ("origin", "builtin"), ("agent", &server.label)]),
        Origin::Unknown => address(&path, &[("days", days)]),
    }
}

fn table(model: &Servers) -> Markup {
    let weighted: u64 =
        model.servers.iter().map(|server| server.weighted_tokens).fold(0, u64::saturating_add);
    let heaviest = model.servers.iter().map(|server| server.weighted_tokens).max().unwrap_or(0);
    let days = model.range.word();
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "server" } th scope="col" { "tools" } th scope="col" { "used" } th scope="col" { "tok a turn" } th scope="col" { "turns" }
                th scope="col" { "tok × turns" } th scope="col" { "share" } th scope="col" { "cost" } th scope="col" { "calls" } th scope="col" { "last call" }
                th class="text" scope="col" { "listed by" } th scope="col" aria-hidden="true" {}
            } }
            tbody {
                @for server in &model.servers {
                    tr {
                        th class="text" scope="row" { a href=(href(server, &days)) { (label(server)) } }
                        td { (thousands(server.tools)) } td { (thousands(server.used)) } td { (estimated(server.tokens)) } td { (thousands(server.turns)) }
                        td { (estimated(server.weighted_tokens)) } td { (share(server.weighted_tokens, weighted)) }
                        td { (server.nano.map_or_else(|| NONE.to_owned(), estimated_usd)) }
                        td class=[(server.calls == 0 && server.turns >= 5).then_some("warn")] { (thousands(server.calls)) }
                        td { @match server.called_ms { Some(at) => (when(at, model.range.now_ms)), None => "never" } }
                        td class="text" { @match server.origin { Origin::Builtin => "the agent", _ if server.proxied => "the proxy", _ => "itself" } }
                        (bar(server.weighted_tokens, heaviest, if server.calls > 0 { "tools" } else { "tools-soft" }))
                    }
                }
            }
        }
    };
    scroll("Servers by what they weigh", &table)
}

fn advice(model: &Servers) -> Markup {
    let idle: Vec<&Server> = model
        .servers
        .iter()
        .filter(|server| {
            let own = server.label == OWN_ENTRY;
            server.origin == Origin::Mcp
                && server.turns >= 5
                && server.weighted_tokens > 0
                && !server.proxied
                && !own
        })
        .take(6)
        .collect();
    html! {
        @if !idle.is_empty() {
            section {
                h2 id="advice" { "What to do" }
                ul class="cards" {
                    @for server in idle {
                        @let dead = DeadWeight {
                            origin: server.origin, whose: server.label.clone(), tools: Vec::new(), tokens: server.tokens,
                            weighted_tokens: server.weighted_tokens, turns: server.turns, nano: server.nano, proxied: server.proxied,
                        };
                        @let (remedy, text) = words::remedy(&dead);
                        li {
                            p class="lead" { (name(&server.label)) " " b { (estimated(server.tokens)) " tok a turn" } }
                            p {
                                @if server.calls == 0 { "Never called. If nobody needs it, take it out of the agent's configuration. " }
                                @else { (count(server.used, "tool", "tools")) " of " (thousands(server.tools)) " were called, " (count(server.calls, "time", "times")) ". " }
                                (remedy)
                            }
                            @if let Some(text) = text { (command(&text)) }
                        }
                    }
                }
            }
        }
    }
}

/// What the proxy lists of the servers behind it.
fn lists(listings: &[Listing], now_ms: u64) -> Markup {
    let table = html! {
        table {
            thead { tr {
                th class="text" scope="col" { "server" } th class="text" scope="col" { "client" } th scope="col" { "tools" } th scope="col" { "as served" } th scope="col" { "as listed" }
                th scope="col" { "net a turn" } th scope="col" { "break-even" } th scope="col" { "listed" } th class="text" scope="col" { "why" }
            } }
            tbody {
                @for one in listings {
                    tr {
                        th class="text" scope="row" { @if one.server.is_empty() { "all of " (name(&one.entry)) } @else { (name(&one.server)) } }
                        td class="text" { @if one.client.is_empty() { "any" } @else { (name(&one.client)) } }
                        td { (thousands(one.tools)) } td { (estimated(one.before_tokens)) } td { (estimated(one.after_tokens)) }
                        td { "≈ " (signed(one.net_tokens.saturating_neg())) }
                        td { @match one.break_even { Some(loads) => (count(loads, "load", "loads")), None => (NONE) } }
                        td { (when(one.at_ms, now_ms)) }
                        td class="text" { (short(&one.why)) }
                    }
                }
            }
        }
    };
    html! {
        section {
            h2 id="lists" { "Behind the proxy" }
            @if listings.is_empty() {
                p { "No server is behind the proxy yet. It leaves schemas out of the list until they are needed:" }
                (command("deadweight mcp --explain --config .mcp.json"))
            } @else { (scroll("Servers behind the proxy", &table)) }
        }
    }
}
