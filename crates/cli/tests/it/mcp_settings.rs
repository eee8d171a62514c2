//! Settings of the proxy: who comes first, and what is said about what cannot be read.

use crate::mcp::heavy;
use crate::sandbox::Sandbox;

const EXPLAIN: [&str; 4] = ["mcp", "--explain", "--config", "house.json"];

fn house() -> Sandbox {
    Sandbox::new().file("house.json", heavy(&["open_door", "close_door"]))
}

/// The settings that a run names, with where they came from.
fn settings(run: &str) -> Vec<&str> {
    run.lines().filter_map(|line| line.trim().strip_prefix("setting ")).collect()
}

fn warnings(run: &str) -> Vec<&str> {
    run.lines().filter_map(|line| line.strip_prefix("warning: ")).collect()
}

#[test]
fn flags_before_the_environment_before_files() {
    let sandbox = house()
        .file(
            "deadweight.toml",
            "[mcp]\nschema_budget = 1000\noptimistic = \"never\"\neager = \"open_door\"\n",
        )
        .file(".config/deadweight/deadweight.toml", "[mcp]\nschema-budget = 9\ntrust = \"quarantine\"\n");
    let run = sandbox.run(&EXPLAIN);
    assert_eq!(
        settings(&run),
        [
            "eager = open_door (deadweight.toml:4)",
            "schema_budget = 1000 (deadweight.toml:2)",
            "optimistic = never (deadweight.toml:3)",
            "trust = quarantine (.config/deadweight/deadweight.toml:3)",
        ],
        "{run}"
    );
    let sandbox = sandbox.env("DEADWEIGHT_SCHEMA_BUDGET", "70000").env("DEADWEIGHT_EAGER", "close_door");
    let run = sandbox.run(&EXPLAIN);
    assert!(settings(&run).contains(&"schema_budget = 70000 (DEADWEIGHT_SCHEMA_BUDGET)"), "{run}");
    // Pins of all places count.
    assert!(settings(&run).contains(&"eager = close_door (DEADWEIGHT_EAGER)"), "{run}");
    assert!(settings(&run).contains(&"eager = open_door (deadweight.toml:4)"), "{run}");
    let run = sandbox.run(&[&EXPLAIN[..], &["--schema-budget", "5"]].concat());
    assert!(settings(&run).contains(&"schema_budget = 5 (--schema-budget)"), "{run}");
}

#[test]
fn only_exactly_0_turns_it_off() {
    let off = house().env("DEADWEIGHT_LAZY", "0").run(&EXPLAIN);
    assert!(off.contains("deferral is turned off") && warnings(&off).is_empty(), "{off}");
    for on in ["1", ""] {
        let run = house().env("DEADWEIGHT_LAZY", on).run(&EXPLAIN);
        assert!(run.contains("deferred") && warnings(&run).is_empty(), "{run}");
    }
    for other in ["false", "no", "off", "00", " 0"] {
        let run = house().env("DEADWEIGHT_LAZY", other).run(&EXPLAIN);
        assert!(run.contains("is deferred"), "{run}");
        assert_eq!(
            warnings(&run),
            [format!(
                "DEADWEIGHT_LAZY: `{other}` cannot be read, and is passed over; it takes `0` or `1` (in a file, `false` or `true`)"
            )]
        );
    }
}

#[test]
fn what_cannot_be_read_is_warned_about_and_passed_over() {
    let file = "[mcp]\n\
                shema_budget = 4\n\
                schema_budget = \"four\"\n\
                surface = 7\n\
                command = \"house\"\n\
                token = \"hunter2\"\n\
                ledger = \"/etc/ledger\"\n\
                config = \"other.json\"\n\
                \n\
                [mcp.server.house]\n\
                eager = 3\n\
                lazy = false\n\
                \n\
                [gate]\n\
                strict = true\n";
    let run = house().file("deadweight.toml", file).run(&EXPLAIN);
    assert!(run.starts_with("exit: 0\n") && !run.contains("hunter2"), "{run}");
    insta::assert_snapshot!(warnings(&run).join("\n"));
}

#[test]
fn a_file_that_is_no_toml_is_passed_over_whole() {
    let run = house().file("deadweight.toml", "[mcp\nlazy = false\n").run(&EXPLAIN);
    assert!(run.starts_with("exit: 0\n") && run.contains("is deferred"), "{run}");
    insta::assert_snapshot!(warnings(&run).join("\n"));
}

#[test]
fn a_users_file_may_say_what_a_projects_may_not() {
    let file = "[mcp]\nledger = \"calls.sqlite\"\ntoken = \"hunter2\"\nconfig = \"servers.json\"\n";
    let sandbox = house().file(".config/deadweight/deadweight.toml", file);
    let run = sandbox.run(&EXPLAIN);
    assert!(warnings(&run).is_empty() && !run.contains("hunter2"), "{run}");
    assert!(settings(&run).contains(&"token = … (.config/deadweight/deadweight.toml:3)"), "{run}");
    // A path lies beside the file that names it.
    let status = sandbox.run(&["mcp", "status"]);
    assert!(status.contains(".config/deadweight/calls.sqlite"), "{status}");
}

#[test]
fn a_projects_file_is_found_from_below_within_its_repository_only() {
    let sandbox = Sandbox::new()
        .file("deadweight.toml", "[mcp]\ntrust = \"quarantine\"\n")
        .file("project/deeper/house.json", heavy(&["open_door"]));
    let call = ["mcp", "--explain", "-C", "project/deeper", "--config", "house.json"];
    assert!(settings(&sandbox.run(&call)).is_empty());
    let sandbox =
        sandbox.file("project/.git/HEAD", "x").file("project/deadweight.toml", "[mcp]\nlazy = false\n");
    let run = sandbox.run(&call);
    assert_eq!(settings(&run).len(), 1, "{run}");
    assert!(settings(&run)[0].starts_with("lazy = false ("), "{run}");
}
