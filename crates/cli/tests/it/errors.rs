//! What a person is told when a file or a call is wrong: what was wrong, where, and what to do.

use crate::sandbox::{Sandbox, TOOLS};

#[test]
fn no_target() {
    assert_run!(Sandbox::new().run(&["footprint"]));
}

/// A token that cannot be read would be none, and let everybody in.
#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["gateway", "--listen", "127.0.0.1:0"]);
    command.env("DEADWEIGHT_TOKEN", std::ffi::OsStr::from_bytes(b"hunter\xff22"));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the environment variable DEADWEIGHT_TOKEN holds bytes that are no UTF-8"),
        "{said}"
    );
    assert!(said.contains("unset DEADWEIGHT_TOKEN") && !said.contains("hunter"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn no_command() {
    let run = Sandbox::new().run(&[]);
    assert!(run.starts_with("exit: 2\n") && run.contains("Usage: deadweight <COMMAND>"), "{run}");
}

#[test]
fn missing_file() {
    assert_run!(Sandbox::new().run(&["footprint", "tools.json"]));
}

#[test]
fn a_command_taken_for_a_file() {
    assert_run!(Sandbox::new().run(&["footprint", "npx", "-q"]));
}

#[test]
fn a_command_in_quotes_taken_for_a_file() {
    assert_run!(Sandbox::new().run(&["footprint", "npx some-server"]));
}

#[test]
fn a_url_taken_for_a_file() {
    assert_run!(Sandbox::new().run(&["footprint", "https://mcp.example.com/mcp"]));
}

#[test]
fn broken_json() {
    let broken = "{\n  \"tools\": [\n    { \"name\": \"é\", description: \"x\" }\n  ]\n}\n";
    assert_run!(Sandbox::new().file("tools.json", broken).run(&["footprint", "tools.json"]));
}

#[test]
fn json_that_was_cut_off() {
    assert_run!(Sandbox::new().file("tools.json", &TOOLS[..200]).run(&["footprint", "tools.json"]));
}

#[test]
fn json_lines() {
    let lines = "{\"messages\":[]}\n{\"messages\":[]}\n";
    assert_run!(Sandbox::new().file("requests.jsonl", lines).run(&["footprint", "requests.jsonl"]));
}

#[test]
fn text_that_is_no_json() {
    assert_run!(Sandbox::new().file("notes.txt", "hello there\n").run(&["footprint", "notes.txt"]));
}

#[test]
fn not_utf8() {
    assert_run!(
        Sandbox::new()
            .file("tools.json", b"{\"tools\":[{\"name\":\"caf\xe9\"}]}")
            .run(&["footprint", "tools.json"])
    );
}

#[test]
fn utf16() {
    let utf16: Vec<u8> = [0xFEFF].into_iter().chain("[]".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_run!(Sandbox::new().file("tools.json", utf16).run(&["footprint", "tools.json"]));
}

#[test]
fn empty_file() {
    assert_run!(Sandbox::new().file("tools.json", "").run(&["footprint", "tools.json"]));
}

#[test]
fn empty_standard_input() {
    assert_run!(Sandbox::new().run_with(&["footprint", "-"], "\n"));
}

#[test]
fn a_directory() {
    assert_run!(Sandbox::new().file("project/readme.md", "x").run(&["footprint", "project"]));
}

#[test]
fn a_directory_with_a_config() {
    assert_run!(Sandbox::new().file("project/.mcp.json", "{}").run(&["footprint", "project"]));
}

#[cfg(unix)]
#[test]
fn unreadable_file() {
    // Root may read everything, so a link to itself stands for what cannot be read.
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("loop.json", sandbox.path().join("loop.json")).unwrap();
    assert_run!(sandbox.run(&["footprint", "loop.json"]));
}

#[test]
fn json_of_another_kind() {
    assert_run!(
        Sandbox::new()
            .file("package.json", r#"{"name":"x","version":"1","scripts":{}}"#)
            .run(&["footprint", "package.json"])
    );
}

#[test]
fn a_servers_error_instead_of_its_list() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
    assert_run!(Sandbox::new().file("tools.json", error).run(&["footprint", "tools.json"]));
}

#[test]
fn wrong_kind() {
    let sandbox = Sandbox::new().file("tools.json", TOOLS);
    assert_run!(sandbox.run(&["footprint", "tools.json", "--as", "request"]));
}

#[test]
fn wrong_kind_tools() {
    let sandbox = Sandbox::new().file("request.json", r#"{"model":"m","messages":[]}"#);
    assert_run!(sandbox.run(&["footprint", "request.json", "--as", "tools"]));
}

#[test]
fn wrong_kind_config() {
    assert_run!(Sandbox::new().file("tools.json", TOOLS).run(&["footprint", "tools.json", "--as", "config"]));
}

#[test]
fn unknown_kind() {
    assert_run!(Sandbox::new().file("tools.json", TOOLS).run(&["footprint", "tools.json", "--as", "list"]));
}

#[test]
fn unknown_estimator() {
    assert_run!(Sandbox::new().file("tools.json", TOOLS).run(&[
        "footprint",
        "tools.json",
        "--estimator",
        "claude"
    ]));
}

#[test]
fn unknown_flag() {
    assert_run!(Sandbox::new().run(&["footprint", "--jsno"]));
}

#[test]
fn bad_window() {
    assert_run!(Sandbox::new().run(&["footprint", "x.json", "--window", "big"]));
}

#[test]
fn bad_timeout() {
    assert_run!(Sandbox::new().run(&["footprint", "x.json", "--timeout", "0"]));
}

#[test]
fn a_name_for_several_targets() {
    assert_run!(Sandbox::new().run(&["footprint", "a.json", "b.json", "--name", "x"]));
}

#[test]
fn a_header_for_several_servers() {
    assert_run!(Sandbox::new().run(&[
        "footprint",
        "--url",
        "http://127.0.0.1:1/a",
        "--url",
        "http://127.0.0.1:1/b",
        "--header",
        "A: secret"
    ]));
}

#[test]
fn a_header_without_a_colon() {
    assert_run!(Sandbox::new().run(&[
        "footprint",
        "--url",
        "http://127.0.0.1:1/a",
        "--header",
        "Authorization=secret"
    ]));
}

#[test]
fn a_header_with_an_unset_variable() {
    assert_run!(Sandbox::new().run(&[
        "footprint",
        "--url",
        "http://127.0.0.1:1/a",
        "--header",
        "Authorization: Bearer ${HOUSE_TOKEN}"
    ]));
}

#[test]
fn no_such_directory() {
    assert_run!(Sandbox::new().run(&["footprint", "-C", "nowhere"]));
}

#[test]
fn a_page_that_cannot_be_written() {
    assert_run!(Sandbox::new().file("tools.json", TOOLS).run(&[
        "footprint",
        "tools.json",
        "--html",
        "nowhere/page.html"
    ]));
}

#[test]
fn standard_input_twice() {
    assert_run!(Sandbox::new().run(&["footprint", "-", "-"]));
}

#[test]
fn a_request_of_an_unclear_dialect() {
    let sandbox = Sandbox::new()
        .file("request.json", r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#);
    assert_run!(sandbox.run(&["footprint", "request.json"]));
}

#[test]
fn a_request_of_another_dialect_than_is_said() {
    let sandbox = Sandbox::new()
        .file("gemini.json", r#"{"contents":[]}"#)
        .file("either.json", r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#)
        .file("none.json", r#"{"name":"x"}"#);
    assert_run!(sandbox.run(&["footprint", "gemini.json", "--dialect", "openai-chat"]));
    assert_run!(sandbox.run(&["footprint", "either.json", "--dialect", "gemini-generate"]));
    assert_run!(sandbox.run(&["footprint", "none.json", "--as", "request", "--dialect", "openai-chat"]));
    let run = sandbox.run(&["footprint", "either.json", "--dialect", "openai-chat"]);
    assert!(run.starts_with("exit: 0\n"), "{run}");
}

#[test]
fn help_by_name() {
    let sandbox = Sandbox::new();
    for command in ["footprint", "gate"] {
        assert_eq!(sandbox.run(&["help", command]), sandbox.run(&[command, "--help"]), "{command}");
    }
}

#[test]
fn an_empty_list() {
    assert_run!(Sandbox::new().file("tools.json", r#"{"tools":[]}"#).run(&["footprint", "tools.json"]));
}

#[test]
fn compressed() {
    assert_run!(
        Sandbox::new().file("tools.json.gz", b"\x1f\x8b\x08\x00").run(&["footprint", "tools.json.gz"])
    );
}

#[test]
fn tools_compared_with_a_request() {
    let sandbox = Sandbox::new()
        .file("tools.json", TOOLS)
        .file("request.json", r#"{"model":"m","system":"x","messages":[]}"#);
    assert_run!(sandbox.run(&["footprint", "tools.json", "--compare", "request.json"]));
}

#[test]
fn compared_with_what_is_not_there() {
    assert_run!(Sandbox::new().file("tools.json", TOOLS).run(&[
        "footprint",
        "tools.json",
        "--compare",
        "old.json"
    ]));
}

#[test]
fn one_of_two_targets_fails() {
    let sandbox = Sandbox::new().file("house.json", TOOLS);
    assert_run!(sandbox.run(&["footprint", "house.json", "nope.json"]));
}

#[test]
fn nothing_could_be_measured_as_json() {
    let run = Sandbox::new().run(&["footprint", "nope.json", "--json"]);
    assert!(run.starts_with("exit: 3\n"), "{run}");
    assert!(
        run.contains("\"floor_tokens\": null,") && run.contains("\"reason\": \"the target does not exist"),
        "{run}"
    );
}
