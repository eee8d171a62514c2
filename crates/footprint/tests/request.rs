//! The laws of a request's footprint, on generated requests in every dialect.
#![allow(clippy::expect_used, reason = "a test may fail")]

mod laws;

use deadweight_estimate::{Estimator, estimator};
use deadweight_footprint::origin::{Origin, Origins};
use deadweight_footprint::request::{RequestFootprint, estimate, price};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Anatomy;
use deadweight_wire::json::Parser;
use laws::Words;
use proptest::prelude::*;
use serde_json::{Value, json};

fn footprint(body: &str, dialect: Dialect, by: &dyn Estimator) -> RequestFootprint {
    Parser::new().scope(body.as_bytes(), |document| {
        let anatomy = Anatomy::read(document.expect("the body is JSON"), dialect);
        let report = price(&anatomy, by, &Origins::new());
        assert_eq!(estimate(&anatomy, by), report.total.map(|total| total.tokens));
        report
    })
}

fn calibrated() -> Box<dyn Estimator> {
    estimator("calibrated").expect("the default estimator is there")
}

/// One turn: what the user says and shows, what the model says and calls, what the call gives.
#[derive(Debug, Clone)]
struct Turn {
    user: String,
    image: Option<(u16, u16)>,
    model: String,
    call: Option<(String, Value, String)>,
}

#[derive(Debug, Clone)]
struct Conversation {
    system: Vec<String>,
    tools: Vec<(String, String, Value)>,
    turns: Vec<Turn>,
    last: String,
    pretty: bool,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{1,40}",
        "\\PC{1,20}",
        Just("quote \" slash \\ line\nbreak tab\t".to_owned()),
        Just("日本語 🎉 <|endoftext|> שלום".to_owned()),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(|text| json!({"type": "string", "description": text})),
        Just(json!({"type": "number", "minimum": 1.5e300})),
        Just(json!(true)),
    ];
    prop::collection::btree_map("[a-z]{1,8}", leaf, 0..4)
        .prop_map(|properties| json!({"type": "object", "properties": properties}))
}

fn turn() -> impl Strategy<Value = Turn> {
    let call = ("[a-z_]{1,12}", prop_oneof![Just(json!({})), Just(json!({"a": [1, "x"]}))], text());
    let image = prop::option::of((1u16..3000, 1u16..3000));
    (text(), image, text(), prop::option::of(call)).prop_map(|(user, image, model, call)| Turn {
        user,
        image,
        model,
        call,
    })
}

fn conversation() -> impl Strategy<Value = Conversation> {
    let tool = ("[a-z_]{1,12}", text(), schema());
    (
        prop::collection::vec(text(), 0..3),
        prop::collection::vec(tool, 0..4),
        prop::collection::vec(turn(), 0..4),
        text(),
        any::<bool>(),
    )
        .prop_map(|(system, tools, turns, last, pretty)| Conversation {
            system,
            tools,
            turns,
            last,
            pretty,
        })
}

/// The base64 of a PNG's beginning.
fn png(width: u16, height: u16) -> String {
    let mut bytes = vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R'];
    bytes.extend(u32::from(width).to_be_bytes());
    bytes.extend(u32::from(height).to_be_bytes());
    bytes.extend([8, 6, 0, 0]);
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let three = |group: &[u8]| {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift & 63) as usize] as char)
    };
    assert_eq!(bytes.len() % 3, 1);
    bytes.extend([0, 0]);
    bytes.chunks(3).flat_map(three).collect()
}

fn image_tokens(turns: &[Turn]) -> u64 {
    let cost = |(width, height): (u16, u16)| (u64::from(width) * u64::from(height) / 750).clamp(1, 1600);
    turns.iter().filter_map(|turn| turn.image).map(cost).sum()
}

impl Conversation {
    fn body(&self, dialect: Dialect) -> String {
        let value = match dialect {
            Dialect::AnthropicMessages => self.anthropic(),
            Dialect::OpenaiChat => self.chat(),
            Dialect::OpenaiResponses => self.responses(),
            Dialect::GeminiGenerate => self.gemini(),
        };
        if self.pretty {
            serde_json::to_string_pretty(&value).expect("it can be written")
        } else {
            value.to_string()
        }
    }

    fn anthropic(&self) -> Value {
        let mut messages = Vec::new();
        for (n, turn) in self.turns.iter().enumerate() {
            let mut user = vec![json!({"type": "text", "text": turn.user})];
            if let Some((width, height)) = turn.image {
                let source = json!({"type": "base64", "media_type": "image/png", "data": png(width, height)});
                user.push(json!({"type": "image", "source": source}));
            }
            messages.push(json!({"role": "user", "content": user}));
            let mut model = vec![json!({"type": "text", "text": turn.model})];
            if let Some((name, input, _)) = &turn.call {
                model.push(json!({"type": "tool_use", "id": format!("t{n}"), "name": name, "input": input}));
            }
            messages.push(json!({"role": "assistant", "content": model}));
            if let Some((_, _, result)) = &turn.call {
                let result =
                    json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": result});
                messages.push(json!({"role": "user", "content": [result]}));
            }
        }
        messages.push(json!({"role": "user", "content": self.last}));
        let system: Vec<_> = self.system.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let tool = |(name, description, schema): &(String, String, Value)| json!({"name": name, "description": description, "input_schema": schema});
        let tools: Vec<_> = self.tools.iter().map(tool).collect();
        json!({"model": "m", "messages": messages, "system": system, "tools": tools, "max_tokens": 1})
    }

    fn chat(&self) -> Value {
        let mut messages: Vec<_> =
            self.system.iter().map(|text| json!({"role": "system", "content": text})).collect();
        for (n, turn) in self.turns.iter().enumerate() {
            let mut user = vec![json!({"type": "text", "text": turn.user})];
            if let Some((width, height)) = turn.image {
                let url = format!("data:image/png;base64,{}", png(width, height));
                user.push(json!({"type": "image_url", "image_url": {"url": url}}));
            }
            messages.push(json!({"role": "user", "content": user}));
            let mut model = json!({"role": "assistant", "content": turn.model});
            if let Some((name, input, result)) = &turn.call {
                let function = json!({"name": name, "arguments": input.to_string()});
                model["tool_calls"] =
                    json!([{"id": format!("t{n}"), "type": "function", "function": function}]);
                messages.push(model);
                messages.push(json!({"role": "tool", "tool_call_id": format!("t{n}"), "content": result}));
            } else {
                messages.push(model);
            }
        }
        messages.push(json!({"role": "user", "content": self.last}));
        let tool = |(name, description, schema): &(String, String, Value)| json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}});
        let tools: Vec<_> = self.tools.iter().map(tool).collect();
        json!({"model": "m", "messages": messages, "tools": tools})
    }

    fn responses(&self) -> Value {
        let mut input: Vec<_> = self
            .system
            .iter()
            .map(|text| {
                let content = json!([{"type": "input_text", "text": text}]);
                json!({"type": "message", "role": "developer", "content": content})
            })
            .collect();
        for (n, turn) in self.turns.iter().enumerate() {
            let mut user = vec![json!({"type": "input_text", "text": turn.user})];
            if let Some((width, height)) = turn.image {
                let url = format!("data:image/png;base64,{}", png(width, height));
                user.push(json!({"type": "input_image", "image_url": url}));
            }
            input.push(json!({"type": "message", "role": "user", "content": user}));
            let model = json!([{"type": "output_text", "text": turn.model}]);
            input.push(json!({"type": "message", "role": "assistant", "content": model}));
            if let Some((name, arguments, result)) = &turn.call {
                let (id, arguments) = (format!("t{n}"), arguments.to_string());
                let call =
                    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
                input.push(call);
                input.push(json!({"type": "function_call_output", "call_id": id, "output": result}));
            }
        }
        input.push(json!({"type": "message", "role": "user", "content": self.last}));
        let tool = |(name, description, schema): &(String, String, Value)| json!({"type": "function", "name": name, "description": description, "parameters": schema});
        let tools: Vec<_> = self.tools.iter().map(tool).collect();
        json!({"model": "m", "input": input, "tools": tools})
    }

    fn gemini(&self) -> Value {
        let mut contents = Vec::new();
        for turn in &self.turns {
            let mut user = vec![json!({"text": turn.user})];
            if let Some((width, height)) = turn.image {
                user.push(json!({"inlineData": {"mimeType": "image/png", "data": png(width, height)}}));
            }
            contents.push(json!({"role": "user", "parts": user}));
            let mut model = vec![json!({"text": turn.model})];
            if let Some((name, args, result)) = &turn.call {
                model.push(json!({"functionCall": {"name": name, "args": args}}));
                contents.push(json!({"role": "model", "parts": model}));
                let response = json!({"name": name, "response": {"output": result}});
                contents.push(json!({"role": "user", "parts": [{"functionResponse": response}]}));
            } else {
                contents.push(json!({"role": "model", "parts": model}));
            }
        }
        contents.push(json!({"role": "user", "parts": [{"text": self.last}]}));
        let system: Vec<_> = self.system.iter().map(|text| json!({"text": text})).collect();
        let tool = |(name, description, schema): &(String, String, Value)| json!({"name": name, "description": description, "parametersJsonSchema": schema});
        let declarations: Vec<_> = self.tools.iter().map(tool).collect();
        json!({
            "contents": contents,
            "systemInstruction": {"parts": system},
            "tools": [{"functionDeclarations": declarations}],
        })
    }

    /// What the model reads of the tools, told from the conversation itself. `pretty` schemas are longer.
    fn tool_bytes(&self, body: &str) -> u64 {
        let mut bytes = 0;
        for (name, description, schema) in &self.tools {
            bytes += name.len() + description.len();
            bytes += if self.pretty { indented_len(schema, body) } else { schema.to_string().len() };
        }
        bytes as u64
    }

    fn system_bytes(&self) -> u64 {
        self.system.iter().map(|text| text.len() as u64).sum()
    }
}

/// The length of a schema as it stands in a pretty-printed body, whose indentation depends on the depth.
fn indented_len(schema: &Value, body: &str) -> usize {
    let plain = serde_json::to_string_pretty(schema).expect("it can be written");
    if !plain.contains('\n') {
        return plain.len();
    }
    (0..24)
        .map(|depth| plain.replace('\n', &format!("\n{}", " ".repeat(depth))))
        .find(|candidate| body.match_indices(candidate.as_str()).any(|(at, _)| body[..at].ends_with("\": ")))
        .map_or(0, |candidate| candidate.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_laws_hold_in_every_dialect(conversation in conversation()) {
        let by = calibrated();
        let mut contents = Vec::new();
        for dialect in Dialect::ALL {
            let body = conversation.body(dialect);
            let report = footprint(&body, dialect, &*by);
            laws::check(&report, &body);
            let slices = report.slices;
            prop_assert_eq!(slices.system.content_bytes, conversation.system_bytes());
            prop_assert_eq!(slices.tools.content_bytes, conversation.tool_bytes(&body));
            prop_assert_eq!(slices.tools.tokens.get(), slices.tools.content_bytes * 2 / 9);
            prop_assert_eq!(slices.system.tokens.get(), slices.system.content_bytes * 4 / 15);
            prop_assert_eq!(slices.tail.content_bytes, conversation.last.len() as u64);
            prop_assert_eq!(slices.tail.tokens.get(), slices.tail.content_bytes * 4 / 15);
            let images = image_tokens(&conversation.turns);
            prop_assert_eq!(slices.history.tokens.get(), slices.history.content_bytes * 4 / 15 + images);
            prop_assert_eq!(report.images.iter().map(|image| image.tokens.get()).sum::<u64>(), images);
            prop_assert!(report.images.iter().all(|image| image.size.is_some()));
            if dialect != Dialect::GeminiGenerate && !conversation.pretty {
                // Gemini answers with an object, and Anthropic's input is indented with the rest.
                contents.push(slices.history.content_bytes);
            }
        }
        contents.dedup();
        prop_assert!(contents.len() <= 1, "one conversation, several weights: {contents:?}");
    }

    #[test]
    fn a_tokenizer_counts_tool_by_tool_and_text_by_text(conversation in conversation()) {
        for dialect in Dialect::ALL {
            let body = conversation.body(dialect);
            let report = footprint(&body, dialect, &Words);
            laws::check(&report, &body);
            let words = |text: &str| text.split_whitespace().count() as u64;
            let system: u64 = conversation.system.iter().map(|text| words(text)).sum();
            prop_assert_eq!(report.slices.system.tokens.get(), system);
            prop_assert_eq!(report.slices.tail.tokens.get(), words(&conversation.last));
            let tools: u64 = report.tools.iter().map(|tool| tool.tokens.get()).sum();
            prop_assert_eq!(report.slices.tools.tokens.get(), tools);
            if !conversation.pretty {
                let expected: u64 = conversation.tools.iter()
                    .map(|(name, description, schema)| words(&format!("{name}\n{description}\n{schema}")))
                    .sum();
                prop_assert_eq!(tools, expected);
            }
            for kind in ["system", "history", "tail"] {
                let blocks = report.blocks.iter().filter(|block| block.slice == kind);
                let sum: u64 = blocks.map(|block| block.tokens.get()).sum();
                let slice = match kind {
                    "system" => report.slices.system,
                    "history" => report.slices.history,
                    _ => report.slices.tail,
                };
                prop_assert_eq!(sum, slice.tokens.get());
            }
        }
    }
}

#[test]
fn a_deferred_tool_costs_nothing_until_it_is_found() {
    let tool = |name: &str| json!({"name": name, "description": "does it", "input_schema": {"type": "object"}, "defer_loading": true});
    let eager = json!({"name": "ToolSearch", "description": "finds tools", "input_schema": {}});
    let request = |messages: Value| {
        json!({"model": "m", "tools": [eager.clone(), tool("mcp__a__x"), tool("mcp__a__y")], "messages": messages})
            .to_string()
    };
    let by = calibrated();
    let before = request(json!([{"role": "user", "content": "hi"}]));
    let report = footprint(&before, Dialect::AnthropicMessages, &*by);
    assert_eq!(report.tools.len(), 1);
    assert_eq!(
        report.deferred.iter().map(|tool| &*tool.name).collect::<Vec<_>>(),
        ["mcp__a__x", "mcp__a__y"]
    );
    assert_eq!(report.slices.tools.content_bytes, 10 + 11 + 2);
    assert!(report.slices.tools.wire_bytes > 200, "the definitions are still in the body");
    assert!(report.deferred.iter().all(|tool| tool.content_bytes == 9 + 7 + 17));

    let found = json!([{"type": "tool_reference", "tool_name": "mcp__a__x"}]);
    let after = request(json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ToolSearch", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": found}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "u", "name": "mcp__a__x", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u", "content": "ok"}]},
    ]));
    let report = footprint(&after, Dialect::AnthropicMessages, &*by);
    assert_eq!(report.tools.len(), 2);
    assert_eq!(report.deferred.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["mcp__a__y"]);
    let x = report.tools.iter().find(|tool| tool.name == "mcp__a__x").expect("it was found");
    assert!(x.deferred);
    assert_eq!(x.calls, 1);
    assert_eq!(x.origin, Origin::Mcp { server: "a".to_owned() });
}

#[test]
fn a_deferred_tool_that_a_search_has_brought_is_read() {
    let tool = |name: &str| json!({"type": "function", "name": name, "description": "does it", "parameters": {}, "defer_loading": true});
    let body = json!({
        "model": "m",
        "input": [
            {"type": "message", "role": "user", "content": "hi"},
            {"type": "tool_search_call", "call_id": "c", "arguments": {"query": "it"}},
            {"type": "tool_search_output", "call_id": "c", "tools": [tool("found")]},
        ],
        "tools": [{"type": "tool_search"}, tool("hidden")],
    });
    let report = footprint(&body.to_string(), Dialect::OpenaiResponses, &*calibrated());
    let names = |tools: &[deadweight_footprint::request::RequestTool]| -> Vec<String> {
        tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(names(&report.deferred), ["hidden"]);
    assert!(names(&report.tools).contains(&"found".to_owned()), "{:?}", report.tools);
}

#[test]
fn a_delta_has_no_total() {
    let body = json!({"model": "m", "previous_response_id": "r", "input": "more"}).to_string();
    let report = footprint(&body, Dialect::OpenaiResponses, &*calibrated());
    assert_eq!(report.delta, Some("previous_response"));
    assert!(report.total.is_none());
    assert_eq!(report.slices.tail.content_bytes, 4);
    let json = serde_json::to_value(&report).expect("it can be written");
    assert_eq!(json["total"], Value::Null);
}

#[test]
fn standing_text_is_found_where_agents_put_it() {
    let memory = "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n\
                  # claudeMd\nBe brief.\n</system-reminder>";
    let skills = "<system-reminder>\nThe following skills are available for use with the Skill tool:\n- a: b\n\
                  </system-reminder>";
    let environment = "# Environment\n - Platform: linux\n\n";
    let names = "The following deferred tools are now available via ToolSearch:\nmcp__a__x\nmcp__a__y\n\n";
    let agents = "Available agent types for the Agent tool:\n- a: b";
    let body = json!({
        "model": "m",
        "system": [{"type": "text", "text": "You are Claude Code, Anthropic's official CLI for Claude."}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": format!("{memory}\n{skills}\n")},
                {"type": "text", "text": "fix the bug in <system-reminder> handling"},
            ]},
            {"role": "system", "content": format!("{environment}{names}{agents}")},
            {"role": "system", "content": "Something else."},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": "<system-reminder>late, so not standing</system-reminder>"},
        ],
    })
    .to_string();
    let report = footprint(&body, Dialect::AnthropicMessages, &*calibrated());
    assert_eq!(report.agent, Some("claude-code"));
    let found: Vec<_> = report.standing.parts.iter().map(|part| (part.kind, part.price.bytes)).collect();
    let expected = [
        ("agents", agents.len() as u64),
        ("environment", environment.len() as u64),
        ("memory_file", memory.len() as u64),
        ("skills", skills.len() as u64),
        ("system_message", 15),
        ("tool_names", names.len() as u64),
    ];
    assert_eq!(found, expected);
    assert!(report.standing.parts.iter().all(|part| part.slice == "history"));
    let sum: u64 = expected.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(report.standing.content_bytes, sum);
    assert_eq!(report.standing.tokens.get(), sum * 4 / 15);
    // Beside the floor, and within history.
    assert_eq!(report.floor.content_bytes, report.slices.system.content_bytes);
    assert!(report.standing.content_bytes < report.slices.history.content_bytes);

    // Escaped as some writers do it.
    let escaped = body.replace('<', "\\u003c").replace('>', "\\u003e");
    let again = footprint(&escaped, Dialect::AnthropicMessages, &*calibrated());
    assert_eq!(again.standing, report.standing);
}

#[test]
fn codex_memory_files_are_standing_text() {
    let memory = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>";
    let environment = "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>";
    let message = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let body = json!({
        "model": "m",
        "instructions": "You are Codex, a coding agent.",
        "input": [message(memory), message(environment), message("go")],
        "tools": [{"type": "namespace", "name": "mcp__everything__", "description": "A server.", "tools": [
            {"type": "function", "name": "echo", "description": "Echoes.", "parameters": {}},
        ]}],
    })
    .to_string();
    let report = footprint(&body, Dialect::OpenaiResponses, &*calibrated());
    let found: Vec<_> = report.standing.parts.iter().map(|part| (part.kind, part.price.bytes)).collect();
    assert_eq!(found, [("environment", environment.len() as u64), ("memory_file", memory.len() as u64)]);
    assert_eq!(report.namespaces.content_bytes, 17 + 9);
    let echo = report.tools.first().expect("the tool is listed");
    assert_eq!(echo.origin, Origin::Mcp { server: "everything".to_owned() });
    assert_eq!(echo.namespace.as_deref(), Some("mcp__everything__"));
    assert_eq!(report.slices.tools.content_bytes, 17 + 9 + 4 + 7 + 2);
}

#[test]
fn the_largest_slice_names_the_levers_that_could_cut_it() {
    let long = "word ".repeat(400);
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": long}, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go"},
    ]})
    .to_string();
    let report = footprint(&body, Dialect::AnthropicMessages, &*calibrated());
    let largest = report.largest.expect("something is largest");
    assert_eq!(largest.slice, "history");
    assert!(largest.levers.iter().any(|lever| lever.name == "compact-history"));
    let empty = footprint("{}", Dialect::AnthropicMessages, &*calibrated());
    assert!(empty.largest.is_none());
    assert_eq!(empty.envelope_bytes, 2);
}

#[test]
fn images_of_unknown_size_cost_the_most_and_never_their_base64() {
    let source = json!({"type": "base64", "media_type": "image/png", "data": "A".repeat(100_000)});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image", "source": source}]}]})
        .to_string();
    let report = footprint(&body, Dialect::AnthropicMessages, &*calibrated());
    assert_eq!(report.slices.tail.tokens.get(), 1600);
    assert_eq!(report.slices.tail.content_bytes, 0);
    assert_eq!(report.images.first().map(|image| image.size), Some(None));
}
