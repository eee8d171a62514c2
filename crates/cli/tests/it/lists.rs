//! `deadweight footprint` on files: what a person sees when all is well.

use crate::sandbox::{Sandbox, TOOLS};

#[test]
fn a_dump_of_tools() {
    assert_run!(Sandbox::new().file("house.json", TOOLS).run(&["footprint", "house.json"]));
}

#[test]
fn a_dump_as_json() {
    assert_run!(Sandbox::new().file("house.json", TOOLS).run(&[
        "footprint",
        "house.json",
        "--json",
        "--top",
        "1"
    ]));
}

#[test]
fn a_dump_as_markdown() {
    assert_run!(Sandbox::new().file("house.json", TOOLS).run(&[
        "footprint",
        "house.json",
        "--markdown",
        "--top",
        "1"
    ]));
}

#[test]
fn several_dumps_in_80_columns() {
    let sandbox = Sandbox::new().file("house.json", TOOLS).file("a/garden.json", r#"[{"name":"water_the_plants_in_the_greenhouse_and_on_the_balcony","description":"Waters.","inputSchema":{}}]"#).env("COLUMNS", "80");
    assert_run!(sandbox.run(&["footprint", "house.json", "a/garden.json", "--window", "200k"]));
}

#[test]
fn totals_only() {
    assert_run!(Sandbox::new().file("house.json", TOOLS).run(&["footprint", "-q", "house.json"]));
}

#[test]
fn standard_input() {
    assert_run!(Sandbox::new().run_with(&["footprint", "-", "--name", "house", "--sort", "name"], TOOLS));
}

#[test]
fn every_shape_of_a_dump_has_the_same_price() {
    let shapes = [
        r#"[{"name":"a","description":"b","inputSchema":{"c":1}}]"#,
        r#"{"tools":[{"name":"a","description":"b","inputSchema":{"c":1}}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"b","inputSchema":{"c":1}}]}}"#,
        r#"[{"type":"function","function":{"name":"a","description":"b","parameters":{"c":1}}}]"#,
        r#"[{"name":"a","description":"b","input_schema":{"c":1}}]"#,
        r#"[{"functionDeclarations":[{"name":"a","description":"b","parametersJsonSchema":{"c":1}}]}]"#,
    ];
    let price = |shape: &&str| Sandbox::new().file("x.json", shape).run(&["footprint", "x.json"]);
    let first = price(&shapes[0]);
    assert!(first.contains("≈ 2 tok on every turn (9 B)"), "{first}");
    for shape in &shapes {
        assert_eq!(price(shape), first, "{shape}");
    }
}

#[test]
fn two_versions_side_by_side() {
    let old = r#"[{"name":"list_rooms","description":"Lists rooms.","inputSchema":{"type":"object"}},{"name":"gone","inputSchema":{}},{"name":"ring","inputSchema":{"type":"object","properties":{"bell":{"type":"string"}}}}]"#;
    let sandbox = Sandbox::new().file("old.json", old).file("new.json", TOOLS);
    assert_run!(sandbox.run(&["footprint", "new.json", "--compare", "old.json"]));
}

#[test]
fn nothing_moved() {
    let sandbox = Sandbox::new().file("old.json", TOOLS).file("new.json", TOOLS);
    assert_run!(sandbox.run(&["footprint", "new.json", "--compare", "old.json", "--markdown"]));
}

#[test]
fn harmful_names_are_harmless() {
    let tools = r#"[
      {"name":"\u001b[31mred\u001b[0m\u0007","description":"x","inputSchema":{}},
      {"name":"查询数据库","description":"查询","inputSchema":{}},
      {"name":"👩‍👩‍👧 family","description":"x","inputSchema":{}},
      {"name":"שלום_עולם","description":"x","inputSchema":{}},
      {"name":"user\u202egnp.exe\nsecond line\u200b","description":"<|endoftext|>","inputSchema":{}}
    ]"#;
    let run = Sandbox::new().file("x.json", tools).run(&["footprint", "x.json", "--color", "never"]);
    assert!(!run.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}']), "{run}");
    assert_run!(run);
}

#[test]
fn colours_only_where_asked_for() {
    let sandbox = Sandbox::new().file("x.json", TOOLS);
    assert!(!sandbox.run(&["footprint", "x.json"]).contains('\u{1b}'));
    assert!(sandbox.run(&["footprint", "x.json", "--color", "always"]).contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let tools: Vec<String> =
        (0..20_000).map(|n| format!(r#"{{"name":"tool_{n}","inputSchema":{{}}}}"#)).collect();
    let sandbox = Sandbox::new().file("x.json", format!("[{}]", tools.join(",")));
    let binary = env!("CARGO_BIN_EXE_deadweight");
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{{ '{binary}' footprint x.json --top 0; echo \"exit $?\" >&2; }} | head -n 1"))
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "exit 0\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
}

#[test]
fn short_help() {
    assert_run!(Sandbox::new().run(&["footprint", "-h"]));
}

#[test]
fn long_help() {
    assert_run!(Sandbox::new().run(&["footprint", "--help"]));
}

#[test]
fn a_page() {
    let sandbox = Sandbox::new().file("house.json", TOOLS);
    assert_run!(sandbox.run(&["footprint", "house.json", "-q", "--html", "page.html"]));
    let page = std::fs::read_to_string(sandbox.path().join("page.html")).unwrap();
    for part in [
        "<!DOCTYPE html>",
        "<svg",
        "<title id=\"map-t\">",
        "book_room",
        "prefers-color-scheme",
        "@media print",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // One file, nothing loaded, nothing run; links go nowhere.
    for outside in ["<script", "<link", "<img", "url(", "@import", " src=", " href="] {
        assert!(!page.contains(outside), "{outside}");
    }
    // What the chart shows, the table beside it says too.
    assert!(page.contains("2 of 3") || page.contains("makes up half"), "{page}");
}

#[test]
fn an_exact_estimator_says_so() {
    let run =
        Sandbox::new().file("house.json", TOOLS).run(&["footprint", "house.json", "--estimator", "o200k"]);
    let words: Vec<&str> = run.split_whitespace().collect();
    assert!(words.join(" ").contains("estimator o200k/1 · the exact count of that vocabulary"), "{run}");
}
