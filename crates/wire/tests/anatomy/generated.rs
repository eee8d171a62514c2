//! Conversations that are known, written in all four dialects in any spelling, and read back.

use crate::json_text::{Json, Writer};
use crate::outline::{check, read};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{AnomalyKind, BlockKind, Role, Slice};
use deadweight_wire::json::Value;
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Tool {
    name: String,
    description: Option<String>,
    schema: Json,
}

#[derive(Debug, Clone)]
enum Turn {
    User(String),
    Assistant(String),
    Instruction(String),
    Call { tool: String, input: Json, result: String },
}

#[derive(Debug, Clone)]
struct Conversation {
    system: Option<String>,
    tools: Vec<Tool>,
    turns: Vec<Turn>,
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{1,12}",
        "\\PC{0,8}",
        Just("quote \" and \\ and \n and \u{1}".to_owned()),
        Just("é漢🦀".to_owned()),
    ]
}

fn schema() -> impl Strategy<Value = Json> {
    let property = (words(), words()).prop_map(|(key, text)| {
        (key, Json::Object(vec![("type".into(), "string".into()), ("description".into(), Json::Text(text))]))
    });
    prop::collection::vec(property, 0..3).prop_map(|all| {
        Json::Object(vec![("type".into(), "object".into()), ("properties".into(), Json::Object(all))])
    })
}

fn conversation() -> impl Strategy<Value = Conversation> {
    let tool = ("[a-z_]{1,9}", prop::option::of(words()), schema())
        .prop_map(|(name, description, schema)| Tool { name, description, schema });
    let input = words().prop_map(|text| Json::Object(vec![("path".into(), Json::Text(text))]));
    let turn = prop_oneof![
        words().prop_map(Turn::User),
        words().prop_map(Turn::Assistant),
        words().prop_map(Turn::Instruction),
        ("[a-z_]{1,9}", input, words()).prop_map(|(tool, input, result)| Turn::Call { tool, input, result }),
    ];
    (prop::option::of(words()), prop::collection::vec(tool, 0..4), prop::collection::vec(turn, 0..7))
        .prop_map(|(system, tools, mut turns)| {
            // An instruction in the first place would be the system slice's.
            turns.insert(0, Turn::User("begin".into()));
            Conversation { system, tools, turns }
        })
}

fn block(kind: &str, members: Vec<(&'static str, Json)>) -> Json {
    let mut all = vec![("type", kind.into())];
    all.extend(members);
    Json::Read(all)
}

fn said(role: &str, content: Json) -> Json {
    Json::Read(vec![("role", role.into()), ("content", content)])
}

fn described(tool: &Tool, name: &'static str, schema: &'static str) -> Vec<(&'static str, Json)> {
    let mut all = vec![(name, (&tool.name).into())];
    all.extend(tool.description.iter().map(|text| ("description", text.into())));
    all.push((schema, tool.schema.clone()));
    all
}

/// The conversation as a request of `dialect`.
fn request(of: &Conversation, dialect: Dialect) -> Json {
    match dialect {
        Dialect::AnthropicMessages => anthropic(of),
        Dialect::OpenaiChat => chat(of),
        Dialect::OpenaiResponses => responses(of),
        Dialect::GeminiGenerate => gemini(of),
    }
}

fn anthropic(of: &Conversation) -> Json {
    let message = |(at, turn): (usize, &Turn)| match turn {
        Turn::User(text) if at % 2 == 0 => vec![said("user", text.into())],
        Turn::User(text) => {
            vec![said("user", Json::List(vec![block("text", vec![("text", text.into())])]))]
        }
        Turn::Assistant(text) => vec![said("assistant", text.into())],
        Turn::Instruction(text) => vec![said("system", text.into())],
        Turn::Call { tool, input, result } => {
            let id = || Json::Text(format!("toolu_{at}"));
            let call = vec![("id", id()), ("name", tool.into()), ("input", input.clone())];
            let answer = vec![("tool_use_id", id()), ("content", result.into())];
            vec![
                said("assistant", Json::List(vec![block("tool_use", call)])),
                said("user", Json::List(vec![block("tool_result", answer)])),
            ]
        }
    };
    let tools = of.tools.iter().map(|tool| Json::Read(described(tool, "name", "input_schema")));
    let mut all = vec![
        ("model", "m".into()),
        ("messages", Json::List(of.turns.iter().enumerate().flat_map(message).collect())),
        ("tools", Json::List(tools.collect())),
    ];
    all.extend(of.system.iter().map(|text| ("system", text.into())));
    Json::Read(all)
}

fn chat(of: &Conversation) -> Json {
    let message = |(at, turn): (usize, &Turn)| match turn {
        Turn::User(text) => vec![said("user", text.into())],
        Turn::Assistant(text) => {
            vec![said("assistant", Json::List(vec![block("text", vec![("text", text.into())])]))]
        }
        Turn::Instruction(text) => vec![said("developer", text.into())],
        Turn::Call { tool, input, result } => {
            let id = || Json::Text(format!("call_{at}"));
            let function =
                vec![("name", tool.into()), ("arguments", Json::Text(crate::json_text::plain(input)))];
            let call = block("function", vec![("id", id()), ("function", Json::Read(function))]);
            vec![
                Json::Read(vec![("role", "assistant".into()), ("tool_calls", Json::List(vec![call]))]),
                Json::Read(vec![("role", "tool".into()), ("tool_call_id", id()), ("content", result.into())]),
            ]
        }
    };
    let system = of.system.iter().map(|text| said("system", text.into()));
    let messages = system.chain(of.turns.iter().enumerate().flat_map(message)).collect();
    let tool =
        |tool| block("function", vec![("function", Json::Read(described(tool, "name", "parameters")))]);
    Json::Read(vec![
        ("model", "m".into()),
        ("messages", Json::List(messages)),
        ("tools", Json::List(of.tools.iter().map(tool).collect())),
    ])
}

fn responses(of: &Conversation) -> Json {
    let item = |(at, turn): (usize, &Turn)| match turn {
        Turn::User(text) => vec![said("user", text.into())],
        Turn::Assistant(text) => {
            let part = block("output_text", vec![("text", text.into())]);
            vec![block("message", vec![("role", "assistant".into()), ("content", Json::List(vec![part]))])]
        }
        Turn::Instruction(text) => vec![said("developer", text.into())],
        Turn::Call { tool, input, result } => {
            let id = || Json::Text(format!("call_{at}"));
            let arguments = Json::Text(crate::json_text::plain(input));
            vec![
                block(
                    "function_call",
                    vec![("call_id", id()), ("name", tool.into()), ("arguments", arguments)],
                ),
                block("function_call_output", vec![("call_id", id()), ("output", result.into())]),
            ]
        }
    };
    let function = |tool| block("function", described(tool, "name", "parameters"));
    let mut items = Vec::new();
    let mut all = vec![("model", "m".into())];
    // Half of the tools in `tools`, the others in a namespace of an item.
    let (own, hidden) = of.tools.split_at(of.tools.len() / 2);
    all.push(("tools", Json::List(own.iter().map(function).collect())));
    if !hidden.is_empty() {
        let inside = ("tools", Json::List(hidden.iter().map(function).collect()));
        let namespace = block("namespace", vec![("name", "ns".into()), inside]);
        let item = block("additional_tools", vec![("tools", Json::List(vec![namespace]))]);
        items.push(item);
    }
    items.extend(of.system.iter().map(|text| said("system", text.into())));
    items.extend(of.turns.iter().enumerate().flat_map(item));
    all.push(("input", Json::List(items)));
    Json::Read(all)
}

fn gemini(of: &Conversation) -> Json {
    let content = |role: &str, part: (&'static str, Json)| {
        Json::Read(vec![("role", role.into()), ("parts", Json::List(vec![Json::Read(vec![part])]))])
    };
    let contents = of.turns.iter().flat_map(|turn| match turn {
        Turn::User(text) => vec![content("user", ("text", text.into()))],
        Turn::Assistant(text) => vec![content("model", ("text", text.into()))],
        Turn::Instruction(text) => vec![content("system", ("text", text.into()))],
        Turn::Call { tool, input, result } => {
            let call = vec![("name", tool.into()), ("args", input.clone())];
            let answer = Json::Object(vec![("output".into(), result.into())]);
            let answer = vec![("name", tool.into()), ("response", answer)];
            vec![
                content("model", ("functionCall", Json::Read(call))),
                content("function", ("functionResponse", Json::Read(answer))),
            ]
        }
    });
    let declarations =
        of.tools.iter().map(|tool| Json::Read(described(tool, "name", "parametersJsonSchema")));
    let declarations = Json::List(declarations.collect());
    let mut all = vec![
        ("contents", Json::List(contents.collect())),
        ("tools", Json::List(vec![Json::Object(vec![("functionDeclarations".into(), declarations)])])),
    ];
    let system =
        of.system.iter().map(|text| Json::Read(vec![("parts", Json::Read(vec![("text", text.into())]))]));
    all.extend(system.map(|content| ("systemInstruction", content)));
    Json::Read(all)
}

/// What the anatomy must find: speaker, kind and what was read, in order.
fn expected(of: &Conversation, dialect: Dialect) -> Vec<(Role, BlockKind, Vec<String>)> {
    let answers = if dialect == Dialect::OpenaiChat { Role::Tool } else { Role::User };
    of.turns
        .iter()
        .flat_map(|turn| match turn {
            Turn::User(text) => vec![(Role::User, BlockKind::Text, vec![text.clone()])],
            Turn::Assistant(text) => vec![(Role::Assistant, BlockKind::Text, vec![text.clone()])],
            Turn::Instruction(text) => vec![(Role::System, BlockKind::SystemText, vec![text.clone()])],
            Turn::Call { tool, input, result } => vec![
                (
                    Role::Assistant,
                    BlockKind::ToolUse,
                    vec![tool.clone(), canonical(&crate::json_text::plain(input))],
                ),
                (answers, BlockKind::ToolResult, vec![result.clone()]),
            ],
        })
        .collect()
}

/// JSON text in one spelling; any other text as it is.
fn canonical(text: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value @ serde_json::Value::Object(_)) => value.to_string(),
        _ => text.to_owned(),
    }
}

fn text_of(value: &Value<'_, '_>) -> String {
    value.as_str().map_or_else(|| canonical(value.raw()), |text| canonical(&text))
}

proptest! {
    #[test]
    fn what_was_said_is_read_in_every_dialect_and_spelling(of in conversation(), seed: u64) {
        for dialect in Dialect::ALL {
            let mut writer = Writer::wild(seed);
            writer.write(&request(&of, dialect));
            read(&writer.out, dialect, |anatomy| {
                check(anatomy);
                let system: Vec<_> = anatomy.system.iter().flat_map(|block| &block.content).map(text_of).collect();
                let wanted: Vec<_> = of.system.iter().map(|text| canonical(text)).collect();
                assert_eq!(system, wanted, "{dialect}");

                let messages = anatomy.messages.iter();
                let blocks = messages.flat_map(|message| {
                    let blocks = anatomy.blocks_of(message).iter();
                    blocks.map(|block| (message.role, block.kind, block.content.iter().map(text_of).collect()))
                });
                let wanted: Vec<_> = expected(&of, dialect).into_iter().map(|(role, kind, texts)| {
                    (role, kind, texts.iter().map(|text| canonical(text)).collect::<Vec<_>>())
                }).collect();
                assert_eq!(blocks.collect::<Vec<(_, _, Vec<_>)>>(), wanted, "{dialect}");

                let tools: Vec<Vec<_>> =
                    anatomy.tools.iter().map(|tool| tool.content().map(|part| text_of(&part)).collect()).collect();
                let wanted: Vec<Vec<_>> = of.tools.iter().map(|tool| {
                    let schema = canonical(&crate::json_text::plain(&tool.schema));
                    let texts = [Some(tool.name.clone()), tool.description.as_deref().map(canonical), Some(schema)];
                    texts.into_iter().flatten().collect()
                }).collect();
                assert_eq!(tools, wanted, "{dialect}");

                // Nothing but the keys that were written twice is out of the ordinary.
                let twice = |kind: &AnomalyKind| matches!(kind, AnomalyKind::DuplicateKey(_));
                assert!(anatomy.anomalies.iter().all(|anomaly| twice(&anomaly.kind)), "{:?}", anatomy.anomalies);
                assert_eq!(anatomy.anomalies.len(), writer.twice, "{dialect}");
                assert!(anatomy.wire_bytes(Slice::Tail) > 0);
            });
        }
    }
}
