//! Large results: cut, and read on in.

use bytes::Bytes;
use deadweight_mcp::surface::{LEAST, PAGE, Results};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

const NOW: Duration = Duration::from_secs(5);

fn result(content: &Value) -> Bytes {
    Bytes::from(json!({ "content": content }).to_string())
}

fn texts(result: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(result).unwrap();
    let texts = value["content"].as_array().unwrap().iter().filter(|item| item["type"] == "text");
    texts.map(|item| item["text"].as_str().unwrap().to_owned()).collect()
}

/// The id in a cut result, and the offset from which to read on.
fn told(text: &str) -> (String, usize) {
    let told = text.split("read_result ").nth(1).unwrap();
    let told = told.split_once('}').unwrap().0;
    let told: Value = serde_json::from_str(&format!("{told}}}")).unwrap();
    (told["id"].as_str().unwrap().to_owned(), told["offset"].as_u64().unwrap() as usize)
}

/// A page, and where to read on.
fn page(results: &mut Results, id: &str, offset: usize) -> (String, Option<usize>) {
    let answer = results.read(json!({"id": id, "offset": offset}).to_string().as_bytes(), NOW);
    let text = texts(&answer).remove(0);
    let (page, words) = text.rsplit_once('\n').unwrap();
    let next = words.contains("Read on").then(|| told(words).1);
    (page.to_owned(), next)
}

#[test]
fn what_is_short_or_no_text_stays() {
    let mut results = Results::default();
    for bytes in [
        result(&json!([{"type": "text", "text": "x".repeat(2_000)}])),
        result(&json!([{"type": "image", "data": "x".repeat(9_000), "mimeType": "image/png"}])),
        result(&json!([{"type": "resource", "resource": {"uri": "a:b", "text": "x".repeat(9_000)}}])),
        Bytes::from(json!({"structuredContent": {"a": "x".repeat(9_000)}, "content": []}).to_string()),
        Bytes::from(json!({"inputRequests": "x".repeat(9_000)}).to_string()),
        Bytes::from(format!("[{}1]", "1,".repeat(9_000))),
        Bytes::from("x".repeat(9_000)),
    ] {
        assert_eq!(results.cut(&bytes, 2_000, NOW), None, "{}", String::from_utf8_lossy(&bytes[..80]));
    }
}

#[test]
fn a_long_text_is_cut_and_the_rest_stays_byte_for_byte() {
    let long: String = (0..1_000).map(|at| format!("line {at}\n")).collect();
    let image = r#"{ "type":"image","data":"AAAA" ,"mimeType":"image/png"}"#;
    let text = Value::from(long.as_str());
    let whole = format!(
        r#"{{"_meta": {{"a": 1.50}}, "content":[{image}, {{"annotations":{{"priority":1}}, "type":"text","text":{text}}}] ,"structuredContent": {{"b" : 2}},"isError":true, "x":[null]}}"#
    );
    let mut results = Results::default();
    let cut = results.cut(&Bytes::from(whole.clone()), 2_048, NOW).unwrap();
    let short = texts(&cut).remove(0);
    assert!(short.len() <= 2_048, "{}", short.len());
    let expected = whole.replace(&text.to_string(), &Value::from(short.as_str()).to_string());
    assert_eq!(String::from_utf8(cut.to_vec()).unwrap(), expected);
    assert_eq!(results.cut(&cut, 2_048, NOW), None, "once");
    assert_eq!(results.cut(&Bytes::from(whole), 2_048, NOW), Some(cut), "the same again");

    let (head, rest) = short.split_once("\n[… ").unwrap();
    let (words, tail) = rest.split_once(" …]\n").unwrap();
    assert!(long.starts_with(head) && long.ends_with(tail));
    let missing = long.len() - head.len() - tail.len();
    assert!(words.starts_with(&format!("{missing} of {} bytes are left out here.", long.len())), "{words}");
    let (id, offset) = told(&short);
    assert_eq!(offset, head.len());
    let mut read = head.to_owned();
    let mut next = Some(offset);
    while let Some(at) = next {
        let (text, after) = page(&mut results, &id, at);
        assert!(text.len() <= 2_048 && !text.is_empty());
        read.push_str(&text);
        next = after;
    }
    assert_eq!(read, long);
}

#[test]
fn several_texts_are_cut_as_one() {
    let item = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let content = json!([
        item(&"a".repeat(600)),
        item(&"b".repeat(900)),
        image,
        item(""),
        item(&"c".repeat(900)),
        item(&"d".repeat(900)),
        item("end")
    ]);
    let mut results = Results::default();
    let cut = results.cut(&result(&content), 1_500, NOW).unwrap();
    let left = texts(&cut);
    assert_eq!(left.len(), 4, "{left:?}");
    assert_eq!(left[0], "a".repeat(600));
    assert!(left[1].starts_with("bbb") && left[1].ends_with(" …]\n"), "{}", left[1]);
    assert!(left[2].bytes().all(|byte| byte == b'd'));
    assert_eq!(left[3], "end");
    assert!(left.iter().map(String::len).sum::<usize>() <= 1_500);
    assert!(String::from_utf8_lossy(&cut).contains(&image.to_string()));
    let (id, _) = told(&left[1]);
    let whole =
        format!("{}\n{}\n\n{}\n{}\nend", "a".repeat(600), "b".repeat(900), "c".repeat(900), "d".repeat(900));
    let (text, _) = page(&mut results, &id, 550);
    assert!(whole[550..].starts_with(&text) && !text.is_empty());
}

#[test]
fn structure_that_repeats_the_text_goes_when_it_is_large() {
    let rows: Vec<Value> = (0..500).map(|at| json!({"row": at})).collect();
    let structured = json!({ "rows": rows });
    let pretty = serde_json::to_string_pretty(&structured).unwrap();
    let with = |structured: &Value| {
        Bytes::from(
            json!({"content": [{"type": "text", "text": pretty}], "structuredContent": structured})
                .to_string(),
        )
    };
    let mut results = Results::default();
    let has =
        |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap().get("structuredContent").is_some();
    assert!(!has(&results.cut(&with(&structured), 2_000, NOW).unwrap()));
    assert!(has(&results.cut_text(&with(&structured), 2_000, NOW).unwrap()));
    assert!(has(&results.cut(&with(&json!({"rows": 500})), 2_000, NOW).unwrap()), "small");
    let mut other = structured.clone();
    other["rows"][0]["row"] = json!(7);
    assert!(has(&results.cut(&with(&other), 2_000, NOW).unwrap()), "it says something else");
}

#[test]
fn what_is_kept_is_bounded_and_what_is_gone_says_so() {
    let mut results = Results::default();
    let cut = |results: &mut Results, text: &str, now| {
        let cut = results.cut(&result(&json!([{"type": "text", "text": text}])), LEAST, now).unwrap();
        texts(&cut).remove(0)
    };
    let text = |at: usize| format!("{at} {}", "x".repeat(3_000));
    let (first, _) = told(&cut(&mut results, &text(0), NOW));
    assert_eq!(told(&cut(&mut results, &text(0), NOW)).0, first, "the same text has the same id");
    for at in 1..200 {
        cut(&mut results, &text(at), NOW);
        assert!(page(&mut results, &first, 0).0.starts_with("0 x"), "what is read stays");
    }
    let (last, _) = told(&cut(&mut results, &text(1), NOW));
    assert!(page(&mut results, &last, 0).0.starts_with("1 x"));
    let gone = |results: &mut Results, arguments: &str, now| {
        let answer = results.read(arguments.as_bytes(), now);
        let value: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(value["isError"], true);
        texts(&answer).remove(0)
    };
    let later = NOW + Duration::from_secs(3_601);
    let asked = json!({ "id": first }).to_string();
    assert!(gone(&mut results, &asked, later).contains(&format!("There is no result `{first}` here")));
    assert!(gone(&mut results, r#"{"id":"r1"}"#, NOW).contains("Call the tool again."));
    assert!(gone(&mut results, "{}", NOW).contains("`read_result` takes"));
    assert!(gone(&mut results, "[", NOW).contains("`read_result` takes"));
    assert!(gone(&mut results, r#"{"id":"r1","offset":-1}"#, NOW).contains("`offset` must be"));
    let (id, _) = told(&cut(&mut results, &text(2), later));
    let asked = json!({"id": id, "offset": "99999"}).to_string();
    assert!(gone(&mut results, &asked, later).contains("ends at byte 3002"));
    let huge = cut(&mut results, &"x".repeat(65 << 20), later);
    assert!(huge.contains("were too many to keep"), "{huge}");
    assert!(format!("{results:?}").len() < 100);
}

#[test]
fn pages_are_bounded() {
    let mut results = Results::default();
    let long = "é".repeat(100_000);
    let cut = results.cut(&result(&json!([{"type": "text", "text": long}])), 100_000, NOW).unwrap();
    let (id, _) = told(&texts(&cut)[0]);
    let (text, next) = page(&mut results, &id, 1);
    assert!(
        text.len() <= PAGE && text.len() > PAGE - 400 && next == Some(text.len()),
        "from the character's beginning"
    );
}

proptest! {
    #[test]
    fn a_cut_is_bounded_and_true(parts in prop::collection::vec("[a-z\\né日😀\"\\\\]{0,400}", 1..12), max in 0..4_000_usize) {
        let content: Vec<Value> = parts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let mut results = Results::default();
        let whole = result(&Value::from(content));
        let total: usize = parts.iter().map(String::len).sum();
        match results.cut(&whole, max, NOW) {
            None => prop_assert!(total <= max.max(LEAST)),
            Some(cut) => {
                let left = texts(&cut);
                prop_assert!(left.iter().map(String::len).sum::<usize>() <= max.max(LEAST));
                prop_assert!(left.iter().all(|text| !text.is_empty()) || parts.iter().any(String::is_empty));
                let (left, whole) = (left.join("\n"), parts.join("\n"));
                let (head, rest) = left.split_once("\n[… ").unwrap();
                let (_, tail) = rest.split_once(" …]\n").unwrap();
                prop_assert!(whole.starts_with(head), "{head:?}");
                prop_assert!(whole.ends_with(tail.trim_start_matches('\n')), "{tail:?}");
                prop_assert_eq!(results.cut(&cut, max, NOW), None);
            }
        }
    }
}
