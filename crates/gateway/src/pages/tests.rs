//! The pages of a made-up fortnight, and of nothing.

#[path = "../../tests/sample/mod.rs"]
mod sample;

use super::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A ledger with a fortnight, filled once for all tests of a process.
fn file() -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        sample::fill(&folder.path().join("ledger.sqlite"));
        folder
    });
    folder.path().join("ledger.sqlite")
}

fn dashboard(ledger: Place) -> Dashboard {
    Dashboard::new(ledger, "http://127.0.0.1:8787".to_owned()).with_clock(|| sample::NOW)
}

fn get(ledger: Place, target: &str) -> (u16, String) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reply = runtime.block_on(dashboard(ledger).answer("GET", path, query));
    match reply.body {
        ReplyBody::Whole(body) => (reply.status, String::from_utf8(body).unwrap()),
        ReplyBody::Events => (reply.status, String::new()),
    }
}

fn page(target: &str) -> String {
    let (status, page) = get(Place::File(file()), target);
    assert_eq!(status, 200, "{target}");
    page
}

/// What a page says, a line for each block: charts by their titles and sentences, links by their words.
fn lines(page: &str) -> String {
    let inner = page.split_once("<main").and_then(|(_, rest)| rest.split_once('>')).unwrap().1;
    let inner = inner.split_once("</main>").unwrap().0;
    let mut out = String::new();
    let mut quiet = 0;
    for (at, part) in inner.split('<').enumerate() {
        let (tag, text) = if at == 0 { ("", part) } else { part.split_once('>').unwrap() };
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap();
        // Within a chart every column and cell has a title of its own.
        match (name, tag.starts_with('/')) {
            ("g", false) => quiet += 1,
            ("g", true) => quiet -= 1,
            _ => {}
        }
        let block = [
            "p",
            "li",
            "tr",
            "h1",
            "h2",
            "title",
            "desc",
            "figcaption",
            "pre",
            "svg",
            "nav",
            "section",
            "caption",
        ];
        if block.contains(&name) {
            out.push('\n');
        } else if ["td", "th", "b", "span", "option"].contains(&name)
            && !tag.starts_with('/')
            && !out.ends_with(['\n', ' '])
        {
            out.push_str(if name == "td" || name == "th" { " | " } else { " " });
        }
        if quiet == 0 {
            out.push_str(text);
        }
    }
    let lines: Vec<&str> =
        out.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "|").collect();
    lines.join("\n")
}

const PAGES: [&str; 14] = [
    "/deadweight/",
    "/deadweight/?days=1",
    "/deadweight/?days=30",
    "/deadweight/?days=all",
    "/deadweight/sessions",
    "/deadweight/sessions?order=money&agent=codex&days=30",
    "/deadweight/session/5c1e0f2a-77aa-4d1f-9a52-1c2f8a0b6d3e",
    "/deadweight/session/5c1e0f2a-77aa-4d1f-9a52-1c2f8a0b6d3e?conversation=main",
    "/deadweight/requests",
    "/deadweight/requests?kind=any&failed=1&days=all",
    "/deadweight/requests?class=tool_set&order=lost&page=1",
    "/deadweight/tools",
    "/deadweight/tools?server=github&order=name",
    "/deadweight/servers?days=30",
];

#[test]
fn every_page_is_well_formed_and_harmless() {
    let long = request_of_turn(27);
    let ids = [long.as_str(), &"a4".repeat(16), &"a3".repeat(16), &request_of_turn(12), &request_of_turn(33)]
        .map(|id| format!("/deadweight/request/{id}"));
    for target in PAGES.iter().copied().chain(ids.iter().map(String::as_str)) {
        let page = page(target);
        assert!(page.contains("<h1>"), "{target}");
        for harm in [
            "<script>alert",
            "<img",
            "javascript:",
            " style=",
            "onload",
            "\u{202e}",
            "NaN",
            "inf",
            "http://www",
        ] {
            assert!(!page.contains(harm), "{target}: {harm}");
        }
        assert_eq!(page.matches("<script").count(), 1, "{target}");
        balanced(&page, target);
        unique_ids(&page, target);
        links_lead_somewhere(&page, target);
    }
}

/// The id of a turn of the long session.
fn request_of_turn(turn: u64) -> String {
    let (_, text) = get(Place::File(file()), &format!("/deadweight/v1/session?session={}", sample::LONG));
    let value: Value = serde_json::from_str(&text).unwrap();
    let turns = value["turns"].as_array().unwrap();
    let of = |one: &&Value| one["turn"] == turn && one["conversation"] == "main";
    turns.iter().find(of).unwrap()["id"].as_str().unwrap().to_owned()
}

/// Every element that is opened is closed.
fn balanced(page: &str, target: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap();
        if ["meta", "link", "input", "br"].contains(&name) || name.is_empty() {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{target}");
        } else {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{target}: {open:?}");
}

fn unique_ids(page: &str, target: &str) {
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{target}");
}

/// Every link within is answered.
fn links_lead_somewhere(page: &str, target: &str) {
    let path = target.split('?').next().unwrap();
    let mut seen: Vec<String> = Vec::new();
    for href in page.split(" href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let href = href.replace("&amp;", "&");
        let whole = if href.starts_with('?') { format!("{path}{href}") } else { href };
        // One of each kind is enough.
        let kind: String = whole.split('?').next().unwrap().split('/').take(3).collect::<Vec<_>>().join("/");
        if whole.starts_with('#') || seen.iter().filter(|own| **own == kind).count() > 2 {
            continue;
        }
        seen.push(kind);
        let (status, _) = get(Place::File(file()), &whole);
        assert_eq!(status, 200, "{target} leads to {whole}");
    }
}

#[test]
fn the_pages_as_they_are() {
    for (name, target) in [
        ("overview", "/deadweight/".to_owned()),
        ("session", format!("/deadweight/session/{}?conversation=main", sample::LONG)),
        ("request", format!("/deadweight/request/{}", request_of_turn(27))),
        ("tools", "/deadweight/tools?server=github".to_owned()),
        ("servers", "/deadweight/servers".to_owned()),
    ] {
        insta::assert_snapshot!(name, lines(&page(&target)));
    }
}

#[test]
fn where_nothing_was_recorded_the_page_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let none = Place::File(folder.path().join("none.sqlite"));
    for target in ["/deadweight/", "/deadweight/sessions", "/deadweight/tools"] {
        let (status, page) = get(none.clone(), target);
        assert_eq!(status, 200);
        assert!(
            page.contains("deadweight run -- claude") && page.contains("http://127.0.0.1:8787/anthropic"),
            "{page}"
        );
    }
    insta::assert_snapshot!("empty", lines(&get(none.clone(), "/deadweight/?days=all").1));
    let (status, page) = get(Place::Off, "/deadweight/");
    assert!(status == 200 && page.contains("without a ledger"), "{page}");
    assert_eq!(get(none, "/deadweight/request/abcd").0, 404);
    std::fs::write(folder.path().join("noise.sqlite"), "noise ".repeat(10_000)).unwrap();
    let (status, page) = get(Place::File(folder.path().join("noise.sqlite")), "/deadweight/");
    assert_eq!(status, 503);
    assert!(page.contains("move that file away"), "{page}");
}

#[test]
fn what_is_not_there_is_said() {
    for target in [
        "/deadweight/session/nobody",
        "/deadweight/request/nothing",
        "/deadweight/request/../../etc/passwd",
        "/deadweight/nowhere",
        "/deadweight/v1/nowhere",
        "/deadweight/v1/request",
    ] {
        assert_eq!(get(Place::File(file()), target).0, 404, "{target}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reply = runtime.block_on(dashboard(Place::Off).answer("POST", "/deadweight/", ""));
    assert_eq!(reply.status, 405);
    assert_eq!(get(Place::Off, "/deadweight").0, 308);
}

#[test]
fn the_interface_says_the_same() {
    for what in ["overview", "sessions", "requests", "tools", "servers"] {
        let (status, text) = get(Place::File(file()), &format!("/deadweight/v1/{what}?days=30"));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, value["schema"].as_str()), (200, Some(format!("deadweight/{what}/1").as_str())));
    }
    let (_, text) = get(Place::File(file()), "/deadweight/v1/overview?days=30");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(value["sums"]["turns"].as_u64().unwrap() > 300);
    let dead: Vec<&str> =
        value["dead_weight"].as_array().unwrap().iter().map(|one| one["whose"].as_str().unwrap()).collect();
    assert!(dead.contains(&"github") && !dead.contains(&"postgres"), "{dead:?}");
    let id = request_of_turn(27);
    let (_, text) = get(Place::File(file()), &format!("/deadweight/v1/request?id={id}"));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["request"]["receipt"]["splices"][0]["lever"], "dedup");
}

#[test]
fn any_query_is_answered() {
    for query in [
        "days=0",
        "days=99999999999999999999",
        "days=-1",
        "page=0",
        "page=4294967295",
        "order=%00",
        "agent=%ff",
        "class='; DROP TABLE exchange; --",
    ] {
        for path in [
            "/deadweight/",
            "/deadweight/sessions",
            "/deadweight/requests",
            "/deadweight/tools",
            "/deadweight/servers",
        ] {
            assert_eq!(get(Place::File(file()), &format!("{path}?{query}")).0, 200, "{path}?{query}");
        }
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for path in ["/deadweight/style.css", "/deadweight/page.js", "/deadweight/icon.svg", "/deadweight/"] {
        let reply = runtime.block_on(dashboard(Place::File(file())).answer("GET", path, ""));
        assert_eq!(reply.status, 200);
        assert!(
            reply
                .headers
                .iter()
                .any(|(name, value)| *name == "content-security-policy"
                    && value.contains("default-src 'none'"))
        );
        let ReplyBody::Whole(body) = reply.body else { panic!("{path}") };
        let text = String::from_utf8(body).unwrap().replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("https://") && !text.contains("@import") && !text.contains("url("), "{path}");
    }
}
