//! `load_tool_schemas` and `call_tool`.

use crate::support::{Case, definitions, index, long, read, tool};
use bytes::Bytes;
use deadweight_lock::{Lock, NameRule, PolicyKind};
use deadweight_mcp::surface::{Own, Surface, Target, ToolState, Trust};
use serde_json::{Value, json};

fn two() -> Case {
    let issue = json!({"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}, "labels": {"type": "array"}}});
    let github = vec![
        tool("create_issue", &issue, &json!({"destructiveHint": true})),
        tool(
            "list_issues",
            &json!({"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}}),
            &json!({"readOnlyHint": true}),
        ),
        tool("search", &json!({"type": "object", "properties": {"query": {"type": "string"}}}), &json!({})),
    ];
    let files = vec![
        tool("read_file", &json!({"type": "object", "properties": {"path": {"type": "string"}}}), &json!({})),
        tool("search", &json!({"type": "object", "properties": {"pattern": {"type": "string"}}}), &json!({})),
    ];
    Case::many(&[("github", github), ("files", files)])
}

fn load(surface: &Surface, arguments: &Value) -> (String, bool, Vec<String>) {
    let loaded = surface.load(arguments.to_string().as_bytes());
    let (text, is_error) = read(&loaded.result);
    let names = loaded.tools.iter().map(|tool| surface.shown(*tool).to_owned()).collect();
    (text, is_error, names)
}

#[test]
fn definitions_are_whole_in_order_once_and_again() {
    let surface = two().surface();
    let asked = json!({"tools": ["files__read_file", "github__create_issue", "files__read_file"]});
    let (text, is_error, names) = load(&surface, &asked);
    assert!(!is_error);
    assert_eq!(names, ["files__read_file", "github__create_issue"]);
    let given = definitions(&text);
    for (given, name) in given.iter().zip(&names) {
        let tool = surface.tool(index(&surface, name)).unwrap();
        assert_eq!(*given, serde_json::from_slice::<Value>(&tool.full).unwrap());
        assert_eq!(given["name"], **name);
    }
    assert_eq!(load(&surface, &asked).0, text, "again the same");
}

#[test]
fn what_is_found_is_given_and_what_is_not_is_named() {
    let surface =
        two().and("mail", ToolState::Login { how: "run `deadweight mcp login mail`".to_owned() }).surface();
    let (text, is_error, names) =
        load(&surface, &json!({"tools": ["github__create_isue", "github__list_issues", "nothing_like_it"]}));
    assert!(!is_error);
    assert_eq!(names, ["github__list_issues"]);
    assert!(
        text.contains("There is no tool `github__create_isue`. Did you mean `github__create_issue`?"),
        "{text}"
    );
    assert!(text.contains("There is no tool `nothing_like_it`."), "{text}");
    assert!(text.ends_with("Server `mail` needs a login: run `deadweight mcp login mail`"), "{text}");
    let (_, is_error, names) = load(&surface, &json!({"tools": ["nothing_like_it"]}));
    assert!(is_error && names.is_empty());
    let many: Vec<String> = (0..400).map(|at| format!("nothing_{at}_{}", "x".repeat(500))).collect();
    let (text, ..) = load(&surface, &json!({ "tools": many }));
    assert!(text.len() < 8_000 && text.contains("Nor is there: nothing_10_xx"), "{text}");
}

#[test]
fn names_are_taken_as_models_write_them() {
    let surface = two().surface();
    for name in [
        "mcp__deadweight__github__create_issue",
        "mcp__whatever__github__create_issue",
        "deadweight_github__create_issue",
        "mcp_deadweight_github__create_issue",
        "github.create_issue",
        "github/create_issue",
        "create_issue",
        " github__create_issue ",
    ] {
        assert_eq!(load(&surface, &json!({"tools": [name]})).2, ["github__create_issue"], "{name}");
    }
    for name in ["delete_create_issue", "my_search", "gitlab__create_issue", "files__create_issue"] {
        let (text, is_error, names) = load(&surface, &json!({"tools": [name]}));
        assert!(is_error && names.is_empty() && text.starts_with("There is no tool"), "{name}: {text}");
    }
    for tools in [json!("create_issue, read_file"), json!("[\"create_issue\",\"read_file\"]")] {
        let names = load(&surface, &json!({"tools": tools})).2;
        assert_eq!(names, ["github__create_issue", "files__read_file"], "{tools}");
    }
    let (text, _, names) = load(&surface, &json!({"tools": ["search"]}));
    assert_eq!(names, [""; 0]);
    assert!(
        text.contains("Several servers have a tool `search`: `github__search`, `files__search`."),
        "{text}"
    );
    let (text, ..) = load(&surface, &json!({"tools": ["github"]}));
    assert!(text.contains("`github` is a server, not a tool."), "{text}");
    let (text, ..) = load(&surface, &json!({"tools": ["load_tool_schemas"]}));
    assert!(text.contains("`load_tool_schemas` is listed with its schema."), "{text}");
}

#[test]
fn a_server_or_what_is_to_be_done_can_be_loaded() {
    let surface = two().surface();
    assert_eq!(load(&surface, &json!({"server": "files"})).2, ["files__read_file", "files__search"]);
    assert_eq!(load(&surface, &json!({"server": "GitHub"})).2.len(), 3);
    let (text, is_error, _) = load(&surface, &json!({"server": "gitlab"}));
    assert!(is_error && text.contains("There is no server `gitlab`. There are: github, files."), "{text}");
    let (_, is_error, names) = load(&surface, &json!({"query": "create an issue"}));
    assert!(!is_error && names.first().is_some_and(|name| name == "github__create_issue"), "{names:?}");
    let (text, is_error, names) = load(&surface, &json!({"query": "bake bread with sourdough"}));
    assert!(is_error && names.is_empty() && text.starts_with("No tool seems to do this"), "{text}");
}

#[test]
fn nothing_asked_is_a_listing_and_wrong_arguments_are_explained() {
    let surface = two()
        .and("slow", ToolState::Starting)
        .and("dead", ToolState::Failed { reason: "the program `x` was not found".to_owned() })
        .surface();
    for arguments in ["{}", "null", r#"{"tools":[]}"#, r#"{"query":"  "}"#] {
        let loaded = surface.load(arguments.as_bytes());
        let (text, is_error) = read(&loaded.result);
        assert!(!is_error && loaded.tools.is_empty());
        assert!(
            text.starts_with("github: github__create_issue, github__list_issues, github__search\nfiles: "),
            "{text}"
        );
        assert!(text.contains("Server `slow` is starting; its tools come later."), "{text}");
        assert!(text.contains("Server `dead` is not available: the program `x` was not found"), "{text}");
    }
    for arguments in
        ["[", "[]", "7", r#"{"tools":[1]}"#, r#"{"tools":{}}"#, r#"{"names":["a"]}"#, r#"{"tools":"[1"}"#]
    {
        let loaded = surface.load(arguments.as_bytes());
        let (text, is_error) = read(&loaded.result);
        assert!(is_error && loaded.tools.is_empty(), "{arguments}");
        assert!(text.contains("`load_tool_schemas` takes `tools`"), "{text}");
    }
}

#[test]
fn an_answer_is_bounded_and_says_what_it_left_out() {
    let tools: Vec<Bytes> = (0..40).map(|at| long(&format!("tool_{at:02}"), 8_000)).collect();
    let surface = Case::one(tools).surface();
    let (text, is_error, names) = load(&surface, &json!({"server": "one"}));
    assert!(!is_error && text.len() < 140_000 && names.len() < 20, "{} {}", text.len(), names.len());
    assert_eq!(definitions(&text).len(), names.len());
    let rest = text.lines().last().unwrap();
    assert!(rest.starts_with("Left out, because one answer holds 128 KiB: tool_1"), "{rest}");
    assert!(rest.contains("tool_39") && rest.ends_with("Ask for them by name in `tools`."), "{rest}");
    let huge = Case::one(vec![long("huge", 500_000)]).surface();
    assert_eq!(load(&huge, &json!({"tools": ["huge"]})).2, ["huge"], "one is always whole");
}

#[test]
fn what_may_not_be_called_is_not_loaded() {
    let mut case = two();
    let rule = |tool: &str| NameRule {
        kind: PolicyKind::Deny,
        tool: tool.to_owned(),
        reason: "writes.".to_owned(),
        line: 0,
    };
    let mut lock = Lock::new("calibrated/1", "b");
    lock.rules.push(rule("create_issue"));
    case.lock = Some(lock);
    let surface = case.surface();
    let (text, is_error, names) = load(&surface, &json!({"tools": ["github__create_issue"]}));
    assert!(is_error && names.is_empty());
    let why = "`github__create_issue` is denied in deadweight.lock: writes. Do not try it again; the user can take the `deny` out.";
    assert_eq!(text, format!("Not loaded: {why}"));
    assert_eq!(surface.why_not(index(&surface, "github__create_issue")), format!("Not run: {why}"));
    assert!(!load(&surface, &json!({"server": "github"})).2.contains(&"github__create_issue".to_owned()));

    case.settings.trust = Trust::Quarantine;
    let surface = case.surface();
    let why = surface.why_not(index(&surface, "files__read_file"));
    assert!(why.contains("`files__read_file` is quarantined: it is not in deadweight.lock"), "{why}");
    assert!(why.contains("`deadweight gate --update`"), "{why}");
}

#[test]
fn a_call_is_unwrapped() {
    let surface = two().surface();
    let issue = Target::Tool(index(&surface, "github__create_issue"));
    for (arguments, expected) in [
        (r#"{"name":"github__create_issue","arguments":{ "title": 1.50 }}"#, r#"{ "title": 1.50 }"#),
        (r#"{"name":"create_issue","arguments":"{\"title\":\"x\"}"}"#, r#"{"title":"x"}"#),
        (r#"{"name":"create_issue","arguments":null}"#, "{}"),
        (r#"{"name":"create_issue","arguments":""}"#, "{}"),
        (r#"{"name":"create_issue"}"#, "{}"),
    ] {
        let (target, inner) = surface.unwrap_call(arguments.as_bytes()).unwrap();
        assert_eq!((target, &inner[..]), (issue, expected.as_bytes()), "{arguments}");
    }
    for (arguments, expected) in [
        (r#"{"name":"create_issue","title":"x"}"#, "It has no `arguments`."),
        (r#"{"name":"create_issue","arguments":[1]}"#, "Its `arguments` are no object."),
        (r#"{"name":"create_issue","arguments":"{"}"#, "Its `arguments` are no object."),
        (r#"{"name":"create_isue","arguments":{}}"#, "Did you mean `github__create_issue`?"),
        (r#"{"name":"search","arguments":{}}"#, "Several servers have a tool `search`"),
        (r#"{"arguments":{}}"#, "`call_tool` takes {\"name\""),
        ("[", "`call_tool` takes {\"name\""),
    ] {
        let (text, is_error) = read(&surface.unwrap_call(arguments.as_bytes()).unwrap_err());
        assert!(is_error && text.starts_with("Not run") && text.contains(expected), "{arguments}: {text}");
    }
    let own = surface.unwrap_call(br#"{"name":"load_tool_schemas","arguments":{}}"#);
    assert!(matches!(own, Ok((Target::Own(Own::Load), _))));
}

#[test]
fn what_is_said_of_a_tool() {
    let surface = two().surface();
    let issue = index(&surface, "github__create_issue");
    assert_eq!((surface.shown(issue), surface.own_name(issue)), ("github__create_issue", "create_issue"));
    assert_eq!(surface.server_of(index(&surface, "files__search")), 1);
    assert!(surface.definition_of(issue).starts_with(br#"{"name":"create_issue""#));
}
