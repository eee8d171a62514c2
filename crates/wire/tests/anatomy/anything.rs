//! Whatever is valid JSON gives an anatomy, and the laws hold for it.

use crate::json_text::{Json, Writer, from_their_words, plain};
use crate::outline::{check, read};
use deadweight_testkit::layouts::{Size, all};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{AnomalyKind, Slice};
use deadweight_wire::json::Parser;
use proptest::prelude::*;

fn check_in_every_dialect(body: &str) {
    for dialect in Dialect::ALL {
        read(body, dialect, check);
    }
    Parser::new().scope(body.as_bytes(), |document| {
        let _ = Dialect::of_shape(document.unwrap());
    });
}

proptest! {
    #[test]
    fn words_of_the_dialects_in_any_order(value in from_their_words()) {
        check_in_every_dialect(&plain(&value));
    }

    #[test]
    fn requests_whose_parts_are_anything(
        members in prop::collection::vec(
            (
                prop::sample::select(
                    &["system", "messages", "tools", "input", "contents", "instructions", "systemInstruction"][..],
                ),
                prop::collection::vec(from_their_words(), 0..4),
            ),
            1..4,
        ),
        seed: u64,
    ) {
        let members = members.into_iter().map(|(key, all)| (key, Json::List(all))).collect();
        let mut writer = Writer::wild(seed);
        writer.write(&Json::Read(members));
        check_in_every_dialect(&writer.out);
    }

    #[test]
    fn layouts_with_something_changed(
        pick in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, from_their_words()), 1..4),
    ) {
        let layouts = all(Size { tools: 2, turns: 1, text: 20 });
        let layout = pick.get(&layouts);
        let mut json = Json::from(&serde_json::from_str::<serde_json::Value>(&layout.body).unwrap());
        for (place, change, with) in changes {
            let place = place.index(size(&json));
            mutate(&mut json, &mut { place }, change, &with);
        }
        check_in_every_dialect(&plain(&json));
    }

    #[test]
    fn any_text_is_an_error_or_an_anatomy(text in "[\\[\\]{}\",:0-9a-z\\\\ ]{0,40}") {
        Parser::new().scope(text.as_bytes(), |document| {
            if let Ok(document) = document {
                for dialect in Dialect::ALL {
                    check(&deadweight_wire::anatomy::Anatomy::read(document, dialect));
                }
            }
        });
    }
}

/// The number of values in `json`.
fn size(json: &Json) -> usize {
    1 + match json {
        Json::List(all) => all.iter().map(size).sum(),
        Json::Object(all) => all.iter().map(|(_, value)| size(value)).sum(),
        _ => 0,
    }
}

/// Changes the value at `place` in the order of the text.
fn mutate(json: &mut Json, place: &mut usize, change: usize, with: &Json) {
    if *place == 0 {
        match (change, &mut *json) {
            (0, Json::List(all)) => all.push(with.clone()),
            (0, Json::Object(all)) => all.push(("type".into(), with.clone())),
            (1, Json::List(all)) => {
                all.pop();
            }
            (1, Json::Object(all)) => {
                all.pop();
            }
            (2, Json::Object(all)) => {
                let again = all.clone();
                all.extend(again);
            }
            _ => *json = with.clone(),
        }
        // Never zero again.
        *place = usize::MAX;
        return;
    }
    *place = place.wrapping_sub(1);
    match json {
        Json::List(all) => all.iter_mut().for_each(|value| step(value, place, change, with)),
        Json::Object(all) => all.iter_mut().for_each(|(_, value)| step(value, place, change, with)),
        _ => {}
    }
}

fn step(json: &mut Json, place: &mut usize, change: usize, with: &Json) {
    if *place < usize::MAX / 2 {
        mutate(json, place, change, with);
    }
}

#[test]
fn what_is_no_object_is_all_envelope() {
    for body in ["[]", "3", "\"text\"", "null", "true", " [ {\"messages\":[]} ] "] {
        for dialect in Dialect::ALL {
            read(body, dialect, |anatomy| {
                assert_eq!(anatomy.envelope_bytes(), body.len());
                assert_eq!(anatomy.anomalies.len(), 1);
                assert_eq!(anatomy.anomalies[0].kind, AnomalyKind::WrongType("request"));
            });
        }
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = 20_000;
    let nested = |before: &str, open: &str, middle: &str, close: &str, after: &str| {
        format!("{before}{}{middle}{}{after}", open.repeat(deep), close.repeat(deep))
    };
    let bodies = [
        nested("", "[", "1", "]", ""),
        nested("", r#"{"messages":"#, "1", "}", ""),
        nested("", r#"{"request":"#, r#"{"contents":[]}"#, "}", ""),
        nested(r#"{"messages":["#, r#"{"role":"user","content":["#, "", "]}", "]}"),
        nested(
            r#"{"messages":[{"role":"user","content":["#,
            r#"{"type":"tool_result","content":["#,
            "",
            "]}",
            "]}]}",
        ),
        nested(
            r#"{"messages":[{"role":"user","content":["#,
            r#"{"type":"document","source":{"type":"content","content":["#,
            "",
            "]}}",
            "]}]}",
        ),
        nested(r#"{"tools":["#, r#"{"type":"namespace","name":"n","tools":["#, "", "]}", "]}"),
        nested(r#"{"input":["#, r#"{"type":"additional_tools","tools":["#, "", "]}", "]}"),
        nested(
            r#"{"contents":[{"parts":["#,
            r#"{"functionResponse":{"name":"n","response":{},"parts":["#,
            "",
            "]}}",
            "]}]}",
        ),
        nested(r#"{"tools":[{"name":"t","input_schema":"#, r#"{"properties":"#, "1", "}", "}]}"),
    ];
    // A small stack, so that recursion would show.
    let run = move || bodies.iter().for_each(|body| check_in_every_dialect(body));
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn nested_namespaces_keep_their_tools() {
    let body = r#"{"model":"m","input":"x","tools":[{"type":"namespace","name":"a","tools":[
        {"type":"namespace","name":"b","tools":[{"type":"function","name":"f"}]},
        {"type":"function","name":"g"}]},{"type":"function","name":"h"}]}"#;
    read(body, Dialect::OpenaiResponses, |anatomy| {
        let tools: Vec<_> = anatomy
            .tools
            .iter()
            .map(|tool| (tool.name.unwrap().raw(), tool.namespace.map(|name| name.raw())))
            .collect();
        assert_eq!(tools, [("\"f\"", Some("\"b\"")), ("\"g\"", Some("\"a\"")), ("\"h\"", None)]);
        assert_eq!(anatomy.namespaces.len(), 2);
        assert_eq!(anatomy.wire_bytes(Slice::Tail), 3);
    });
}
