//! `search_tools`.

use crate::support::{Case, long, read, tool};
use bytes::Bytes;
use deadweight_mcp::surface::{Choice, Surface, ToolState};
use serde_json::{Value, json};

fn office() -> Case {
    let mail = json!({"type": "object", "required": ["to"], "properties": {"subject": {"type": "string"}, "to": {"type": "string"}}});
    let file = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}});
    let office = vec![tool("send_mail", &mail, &json!({})), tool("delete_mail", &mail, &json!({}))];
    let disk = vec![tool("read_file", &file, &json!({})), tool("delete_file", &file, &json!({}))];
    Case::many(&[("office", office), ("disk", disk)]).with(|settings| settings.surface = Choice::Search)
}

fn search(surface: &Surface, arguments: &Value) -> (String, bool) {
    read(&surface.search(arguments.to_string().as_bytes()))
}

#[test]
fn hits_say_what_a_tool_is_for_and_what_it_takes() {
    let surface = office().surface();
    let (text, is_error) = search(&surface, &json!({"query": "send a mail"}));
    assert!(!is_error);
    let first = text.lines().next().unwrap();
    assert_eq!(first, "office__send_mail: Does what send_mail says. (subject?, to)");
    assert_eq!(text.lines().last().unwrap(), "Schemas: `load_tool_schemas`. Calls: `call_tool`.");
    let (text, _) = search(&surface, &json!({"query": "delete", "limit": 1}));
    assert_eq!(text.lines().count(), 2, "{text}");
    let (text, _) =
        search(&surface, &json!({"query": "delete mail or file", "server": "disk", "limit": "5"}));
    assert!(text.starts_with("disk__delete_file") && !text.contains("office__"), "{text}");
}

#[test]
fn it_says_when_nothing_fits() {
    let surface = office().and("dead", ToolState::Failed { reason: "gone".to_owned() }).surface();
    let (text, is_error) =
        search(&surface, &json!({"query": "mail a loaf of sourdough bread to the baker's oven"}));
    assert!(!is_error);
    assert!(text.starts_with("No tool seems to do this: mail a loaf"), "{text}");
    assert!(text.contains("The nearest, which may be of no use: office__"), "{text}");
    assert!(text.ends_with("Server `dead` is not available: gone"), "{text}");
    let (text, _) = search(&surface, &json!({"query": "send_mial"}));
    assert!(text.contains("office__send_mail"), "{text}");
}

#[test]
fn nothing_asked_and_nothing_found_is_the_listing() {
    let surface = office().surface();
    for arguments in [json!({}), json!({"query": ""}), json!(null)] {
        let (text, is_error) = search(&surface, &arguments);
        assert!(
            !is_error && text.starts_with("office: office__send_mail, office__delete_mail\ndisk: "),
            "{text}"
        );
    }
    let (text, is_error) = search(&surface, &json!({"query": "qqqq zzzz"}));
    assert!(
        !is_error && text.starts_with("No tool seems to do this: qqqq zzzz. There are:\noffice: "),
        "{text}"
    );
    for arguments in [json!([]), json!({"query": 7}), json!({"query": "mail", "server": "nowhere"})] {
        assert!(search(&surface, &arguments).1, "{arguments}");
    }
}

#[test]
fn answers_are_bounded() {
    let tools: Vec<Bytes> =
        (0..3_000).map(|at| long(&format!("{}_{at}", "send_mail".repeat(8)), 10)).collect();
    let surface = Case::one(tools).surface();
    let (text, _) = search(&surface, &json!({"query": "send mail", "limit": 1_000_000}));
    assert!(text.len() < 20_000, "{}", text.len());
    let (text, _) = search(&surface, &json!({}));
    assert!(text.len() < 40_000 && text.contains("more\n"), "{}", text.len());
}
