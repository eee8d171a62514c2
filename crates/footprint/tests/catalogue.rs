//! A catalogue's totals, on generated servers with everything that real ones get wrong.
#![allow(clippy::expect_used, reason = "a test may fail")]

use deadweight_estimate::{Estimator, estimator};
use deadweight_footprint::catalogue::{
    Anomaly, AnomalyKind, Catalogue, CatalogueFootprint, Failure, Server, SortBy, price,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn by(name: &str) -> Box<dyn Estimator> {
    estimator(name).expect("the estimator is known")
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,60}",
        "\\PC{0,20}",
        Just("<|endoftext|> \"quoted\" \\ \n\t".to_owned()),
        Just("日本語 🎉 שלום \u{1b}[31m\u{0}".to_owned()),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[$a-z]{1,6}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// A tool of any shape: members may be missing or of the wrong type, the whole may be no object.
fn tool() -> impl Strategy<Value = Value> {
    let member = |strategy: BoxedStrategy<Value>| prop::option::weighted(0.9, strategy);
    let name = prop_oneof![9 => "[a-c]{1,2}".prop_map(Value::from), 1 => json_value()].boxed();
    let description = prop_oneof![9 => text().prop_map(Value::from), 1 => json_value()].boxed();
    let object =
        (member(name), member(description), member(json_value().boxed()), member(json_value().boxed()))
            .prop_map(|(name, description, schema, output)| {
                let members = [
                    ("name", name),
                    ("description", description),
                    ("inputSchema", schema),
                    ("outputSchema", output),
                ];
                let present = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
                Value::Object(present.collect())
            });
    prop_oneof![12 => object, 1 => json_value()]
}

fn servers() -> impl Strategy<Value = Vec<(String, Vec<Value>)>> {
    prop::collection::vec(("[a-d]", prop::collection::vec(tool(), 0..6)), 0..4)
}

fn catalogue(servers: &[(String, Vec<Value>)], pretty: bool) -> Catalogue {
    let write =
        |tool: &Value| if pretty { serde_json::to_vec_pretty(tool) } else { serde_json::to_vec(tool) };
    let servers = servers.iter().map(|(label, tools)| Server {
        label: label.clone(),
        tools: tools.iter().map(|tool| write(tool).expect("it can be written")).collect(),
        ..Server::default()
    });
    Catalogue { servers: servers.collect(), failures: Vec::new() }
}

/// What a tool weighs, told from the value and not from its bytes.
fn expected(tool: &Value) -> u64 {
    let Value::Object(members) = tool else { return tool.to_string().len() as u64 };
    let counted = |value: &Value| match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    let name = members.get("name").map_or(0, counted);
    let description = members.get("description").filter(|value| !value.is_null()).map_or(0, counted);
    let schema = members.get("inputSchema").map_or(0, |schema| schema.to_string().len());
    (name + description + schema) as u64
}

/// A report without the order in which equals are listed.
fn placeless(report: &CatalogueFootprint) -> Value {
    let mut json = serde_json::to_value(report).expect("it can be written");
    for tool in json["tools"].as_array_mut().expect("tools are listed") {
        tool["position"] = Value::Null;
    }
    for list in ["tools", "servers", "advice", "anomalies"] {
        let rows = json[list].as_array_mut().expect("a list");
        for tools in rows.iter_mut().filter_map(|row| row.get_mut("tools")).filter_map(Value::as_array_mut) {
            tools.sort_by_key(Value::to_string);
        }
        rows.sort_by_key(Value::to_string);
    }
    json
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn totals_are_sums_and_whatever_is_served_is_counted(servers in servers()) {
        let report = price(&catalogue(&servers, false), &*by("calibrated"));
        let all: u64 = servers.iter().flat_map(|(_, tools)| tools).map(expected).sum();
        prop_assert_eq!(report.floor_bytes, all);
        prop_assert_eq!(report.floor_tokens.get(), all * 2 / 9);
        let count: usize = servers.iter().map(|(_, tools)| tools.len()).sum();
        prop_assert_eq!(report.tool_count, count as u64);
        prop_assert_eq!(report.shown, report.tools.len() as u64);
        for tool in &report.tools {
            prop_assert_eq!(tool.bytes, tool.name_bytes + tool.description_bytes + tool.schema_bytes);
            prop_assert_eq!(tool.tokens.get(), tool.bytes * 2 / 9);
            prop_assert_eq!(tool.description_tokens.get(), tool.description_bytes * 2 / 9);
        }
        let sum = |of: fn(&deadweight_footprint::catalogue::ServerFootprint) -> u64| -> u64 {
            report.servers.iter().map(of).sum()
        };
        prop_assert_eq!(sum(|server| server.bytes), all);
        prop_assert_eq!(sum(|server| server.description_bytes), report.descriptions.bytes);
        prop_assert_eq!(sum(|server| server.schema_bytes), report.schemas.bytes);
        prop_assert_eq!(sum(|server| server.served.output_schema.bytes), report.served.output_schema.bytes);
        prop_assert_eq!(sum(|server| server.tool_count), report.tool_count);
        prop_assert!(report.savings.bytes <= report.floor_bytes);
    }

    #[test]
    fn white_space_outside_strings_weighs_nothing(servers in servers()) {
        for name in ["calibrated", "chars4"] {
            let compact = price(&catalogue(&servers, false), &*by(name));
            let pretty = price(&catalogue(&servers, true), &*by(name));
            prop_assert_eq!(placeless(&compact), placeless(&pretty));
        }
    }

    #[test]
    fn the_order_of_servers_and_tools_changes_nothing(
        (servers, shuffled) in servers().prop_flat_map(|servers| {
            let tools = servers.iter().map(|(label, tools)| {
                (Just(label.clone()), Just(tools.clone()).prop_shuffle())
            });
            let shuffled = tools.collect::<Vec<_>>().prop_flat_map(|servers| Just(servers).prop_shuffle());
            (Just(servers), shuffled)
        })
    ) {
        let by = by("calibrated");
        let (one, other) = (price(&catalogue(&servers, false), &*by), price(&catalogue(&shuffled, false), &*by));
        prop_assert_eq!(placeless(&one), placeless(&other));
    }

    #[test]
    fn any_bytes_at_all_are_counted(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let server = Server { tools: vec![bytes], ..Server::default() };
        let report = price(&Catalogue { servers: vec![server], failures: Vec::new() }, &*by("calibrated"));
        prop_assert_eq!(report.tool_count, 1);
        prop_assert!(!report.anomalies.is_empty());
    }
}

fn one(tools: &[&str]) -> CatalogueFootprint {
    let tools = tools.iter().map(|tool| tool.as_bytes().to_vec()).collect();
    let server = Server { label: "s".to_owned(), tools, ..Server::default() };
    price(&Catalogue { servers: vec![server], failures: Vec::new() }, &*by("calibrated"))
}

#[test]
fn the_check_values_come_out() {
    for (bytes, tokens) in [
        (20_283, 4_507),
        (2_264, 503),
        (2_234, 496),
        (2_033, 451),
        (1_566, 348),
        (1_222, 271),
        (1_175, 261),
        (1_101, 244),
        (999, 222),
    ] {
        let description = "d".repeat(bytes - 4 - 2);
        let tool = json!({"name": "name", "description": description, "inputSchema": {}}).to_string();
        let report = one(&[&tool]);
        assert_eq!((report.floor_bytes, report.floor_tokens.get()), (bytes as u64, tokens));
    }
}

#[test]
fn what_is_wrong_is_named_and_counted() {
    let kinds = |tool: &str| -> Vec<(AnomalyKind, Option<String>)> {
        let named = |anomaly: Anomaly| (anomaly.kind, anomaly.detail);
        one(&[tool]).anomalies.into_iter().map(named).collect()
    };
    let wrong = |member: &str| (AnomalyKind::WrongType, Some(member.to_owned()));
    assert_eq!(kinds(r#"{"name":"n","description":"d","inputSchema":{}}"#), []);
    assert_eq!(kinds(r#"{"name":"n","inputSchema":{}}"#), [(AnomalyKind::MissingDescription, None)]);
    assert_eq!(kinds(r#"{"name":"n","description":"d"}"#), [(AnomalyKind::MissingSchema, None)]);
    assert_eq!(
        kinds(r#"{"name":"n","description":"d","inputSchema":true}"#),
        [(AnomalyKind::BooleanSchema, None)]
    );
    assert_eq!(kinds(r#"{"description":"d","inputSchema":{}}"#), [(AnomalyKind::MissingName, None)]);
    assert_eq!(
        kinds(r#"{"name":7,"description":"d","inputSchema":[]}"#),
        [wrong("inputSchema"), wrong("name")]
    );
    assert_eq!(
        kinds(r#"{"name":"n","name":"m","description":"d","inputSchema":{}}"#),
        [(AnomalyKind::DuplicateKey, Some("name".to_owned()))]
    );
    assert_eq!(kinds("null"), [(AnomalyKind::NotAnObject, None)]);
    assert_eq!(kinds("{").first().map(|(kind, _)| *kind), Some(AnomalyKind::InvalidJson));

    let report = one(&["7", r#"{"name":"a","description":5}"#, r#"{"name":"a"}"#, r#"{"name":"a"}"#]);
    assert_eq!(report.tool_count, 4);
    assert_eq!(report.floor_bytes, 1 + (1 + 1) + 1 + 1);
    let duplicate = report.anomalies.iter().find(|anomaly| anomaly.kind == AnomalyKind::DuplicateName);
    assert_eq!(
        duplicate.map(|anomaly| (&*anomaly.tool, anomaly.detail.as_deref())),
        Some(("a", Some("3 copies")))
    );
}

#[test]
fn a_server_that_could_not_be_measured_is_listed_and_not_priced() {
    let failures = vec![
        Failure { server: "b".to_owned(), reason: "it ended".to_owned() },
        Failure { server: "a".to_owned(), reason: "no answer".to_owned() },
    ];
    let report = price(&Catalogue { servers: Vec::new(), failures }, &*by("calibrated"));
    assert!(report.servers.is_empty());
    assert_eq!(report.failures.iter().map(|failure| &*failure.server).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_listing_can_be_sorted_and_cut_without_changing_totals() {
    let tool = |name: &str, description: usize, schema: usize| {
        let schema = json!({"x": "x".repeat(schema)});
        json!({"name": name, "description": "d".repeat(description), "inputSchema": schema}).to_string()
    };
    let tools = [tool("a", 90, 5), tool("b", 50, 200), tool("c", 1, 120)];
    let mut report = one(&tools.each_ref().map(|tool| &**tool));
    let names = |report: &CatalogueFootprint| -> Vec<String> {
        report.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    for (by, order) in [
        (SortBy::Tokens, ["b", "c", "a"]),
        (SortBy::Description, ["a", "b", "c"]),
        (SortBy::Schema, ["b", "c", "a"]),
        (SortBy::Name, ["a", "b", "c"]),
    ] {
        report.sort(by);
        assert_eq!(names(&report), order, "{by:?}");
    }
    report.sort(SortBy::Tokens);
    let (floor, last) = (report.floor_bytes, report.tools.last().map(|tool| tool.bytes));
    let dropped = report.keep(2);
    assert_eq!(names(&report), ["b", "c"]);
    assert_eq!((report.shown, report.floor_bytes, Some(dropped.bytes)), (2, floor, last));
    assert_eq!(report.keep(9).bytes, 0);
}

#[test]
fn instructions_are_prose_beside_the_floor() {
    let server = Server { instructions: Some("i".repeat(30)), ..Server::default() };
    let report = price(&Catalogue { servers: vec![server], failures: Vec::new() }, &*by("calibrated"));
    assert_eq!((report.instructions.bytes, report.instructions.tokens.get()), (30, 8));
    assert_eq!(report.floor_bytes, 0);
}

#[test]
fn the_basis_is_in_every_report() {
    let json = serde_json::to_value(one(&[r#"{"name":"n"}"#])).expect("it can be written");
    assert_eq!(json["schema"], "deadweight/footprint/1");
    assert_eq!(json["provenance"], json!({"kind": "ESTIMATED", "estimator": "calibrated/1"}));
    assert_eq!(json["basis"]["fields"], json!(["name", "description", "compact inputSchema"]));
    assert_eq!(json["basis"]["bytes_per_token"], json!({"tool_definition": 4.5, "prose": 3.75}));
    let text = one(&[]).basis.to_string();
    assert!(text.contains("calibrated/1 (tool definitions 4.5 B/tok, prose 3.75)"), "{text}");
}
