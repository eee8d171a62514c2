//! Small requests, each for one thing. A snapshot a dialect, to be read in a diff.

use crate::outline::{check, outline, read};
use deadweight_wire::Dialect;
use deadweight_wire::anatomy::Slice;

const ANTHROPIC: &[(&str, &str)] = &[
    ("no messages, no model", r#"{}"#),
    ("null is absent", r#"{"model":"m","system":null,"tools":null,"messages":[]}"#),
    ("system as a string", r#"{"model":"m","system":"be \u00e9","messages":[]}"#),
    ("wrong types at the top", r#"{"model":1,"system":2,"tools":{},"messages":"hi"}"#),
    (
        "the last of two keys counts",
        r#"{"model":"m","messages":[{"role":"user","content":"old"}],"model":"n","messages":[{"role":"user","content":"new"}]}"#,
    ),
    (
        "duplicates of unknown keys",
        r#"{"model":"m","x":1,"y":2,"x":3,"messages":[{"role":"user","content":"a","z":1,"z":2}]}"#,
    ),
    (
        "a role:system message stays, the first one too",
        r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"t"}]}]}"#,
    ),
    (
        "unknown, missing and wrong roles",
        r#"{"model":"m","messages":[{"role":"robot","content":"a"},{"content":"b"},{"role":7,"content":"c"}]}"#,
    ),
    ("messages that are no objects", r#"{"model":"m","messages":["a",null,[1]]}"#),
    (
        "contents that are no blocks",
        r#"{"model":"m","messages":[{"role":"user","content":["a",5,null]},{"role":"user","content":{"type":"text","text":"t"}},{"role":"user"}]}"#,
    ),
    (
        "unknown blocks are counted whole",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"hologram","size":3},{"text":"no type"},{"type":9}]}]}"#,
    ),
    (
        "an unknown name is cut",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"0123456789012345678901234567890123456789012345678901234567890123456789"}]}]}"#,
    ),
    (
        "blocks without what they need",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text"},{"type":"tool_use"},{"type":"tool_result"},{"type":"image"},{"type":"document"},{"type":"thinking"},{"type":"tool_addition"},{"type":"tool_reference"}]}]}"#,
    ),
    (
        "texts that are no strings",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":{"a":1}},{"type":"tool_use","id":"i","name":5,"input":"s"}]}]}"#,
    ),
    ("half a surrogate", r#"{"model":"m","messages":[{"role":"user","content":"a\ud800b"}]}"#),
    (
        "marks everywhere",
        r#"{"model":"m","cache_control":{"type":"ephemeral"},"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"name":"t","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"5m"}}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"r","cache_control":{"type":"ephemeral"}}],"cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#,
    ),
    (
        "marks that are none",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":null},{"type":"text","text":"b","cache_control":true},{"type":"text","text":"c","cache_control":{}},{"type":"text","text":"d","cache_control":{"type":"ephemeral","ttl":3600}}]}]}"#,
    ),
    (
        "tools of every kind",
        r#"{"model":"m","tools":[{"type":"custom","name":"a","description":"d","input_schema":true},{"type":"bash_20250124","name":"bash"},{"name":"b"},{"description":"nameless"},"stray",{"name":"c","input_schema":{},"defer_loading":true},{"name":"d","input_schema":{},"defer_loading":"yes"}],"messages":[]}"#,
    ),
    (
        "a tool result in a tool result, a document in a document",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_result","content":"inner"},{"type":"document","source":{"type":"content","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"deep"}]}}]}}]}]}]}"#,
    ),
    (
        "tool changes by every reference",
        r#"{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"mcp_tool_reference","server_name":"s","name":"n"}},{"type":"tool_removal","tool":{"type":"mcp_toolset_reference","server_name":"s"}}]}]}"#,
    ),
    (
        "a tool defined in the system prompt is cut out of it",
        r#"{"model":"m","system":[{"type":"text","text":"a"},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"t","input_schema":{}}}}],"messages":[{"role":"user","content":"b"}]}"#,
    ),
    (
        "a failed compaction",
        r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"compaction","content":null}]}]}"#,
    ),
    (
        "a fallback",
        r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}]}]}"#,
    ),
    (
        "white space between messages is of the run",
        "{ \"model\" : \"m\" , \"messages\" : [ {\"role\":\"user\",\"content\":\"a\"} ,\n {\"role\":\"assistant\",\"content\":\"b\"} , {\"role\":\"user\",\"content\":\"c\"} ] }",
    ),
];

const CHAT: &[(&str, &str)] = &[
    (
        "only system messages",
        r#"{"model":"m","messages":[{"role":"system","content":"a"},{"role":"developer","content":[{"type":"text","text":"b"}]}]}"#,
    ),
    (
        "a system message further down",
        r#"{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"system","content":"c"}]}"#,
    ),
    (
        "flat tools are read too",
        r#"{"model":"m","messages":[],"tools":[{"type":"function","name":"f","parameters":{}},{"type":"function","function":{"name":"g"}},{"type":"function"},{"type":"web_search"},{"name":"h"},{}]}"#,
    ),
    (
        "content null and calls that are none",
        r#"{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":"x"},{"role":"assistant","tool_calls":["x",{"id":"i"},{"function":"f"},{"function":{"arguments":"{}"}}]}]}"#,
    ),
    (
        "a result as parts, and none",
        r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"i","content":[{"type":"text","text":"r"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},{"role":"tool","tool_call_id":"j"}]}"#,
    ),
    (
        "a mark on a message",
        r#"{"model":"m","messages":[{"role":"user","content":"a","cache_control":{"type":"ephemeral"}}]}"#,
    ),
    (
        "thoughts under every name, once",
        r#"{"model":"m","messages":[{"role":"assistant","content":"a","reasoning":"r","reasoning_content":"rc"},{"role":"assistant","content":"b","reasoning_details":[{"type":"x"}]}]}"#,
    ),
    (
        "an image without its URL",
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url"},{"type":"image_url","image_url":"https://x"},{"type":"video_url","video_url":{"url":"https://v"}}]}]}"#,
    ),
    ("a wrong root member", r#"{"model":"m","messages":{},"functions":7}"#),
];

const RESPONSES: &[(&str, &str)] = &[
    ("input as a string", r#"{"model":"m","input":"hi"}"#),
    ("nothing to read", r#"{"model":"m"}"#),
    ("wrong types", r#"{"model":"m","input":5,"instructions":["a"],"tools":"x"}"#),
    (
        "tools come last: the tail is the last message",
        r#"{"model":"m","input":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"type":"additional_tools","tools":[{"type":"function","name":"f"}]}]}"#,
    ),
    (
        "tools in the lead do not end it",
        r#"{"model":"m","input":[{"role":"system","content":"a"},{"type":"additional_tools","tools":[{"type":"function","name":"f"}]},{"role":"developer","content":"b"},{"role":"user","content":"c"},{"role":"developer","content":"d"}]}"#,
    ),
    (
        "only tools and system: no tail",
        r#"{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"function","name":"f"}]},{"role":"developer","content":"b"}]}"#,
    ),
    (
        "an item without tools",
        r#"{"model":"m","input":[{"type":"additional_tools"},{"type":"tool_search_output","call_id":"c"},{"type":"tool_search_output","call_id":"d","tools":[]}]}"#,
    ),
    (
        "items that are none",
        r#"{"model":"m","input":["a",{"content":"b"},{"type":"hologram"},{"type":"message","content":"c"},{"type":"message","role":"robot","content":"d"}]}"#,
    ),
    (
        "an output that is an object",
        r#"{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":{"a":1}},{"type":"function_call_output","call_id":"d","output":5},{"type":"function_call_output","call_id":"e"}]}"#,
    ),
    (
        "calls of the provider's tools",
        r#"{"model":"m","input":[{"type":"file_search_call","id":"f","queries":["q"],"results":[{"text":"t"}]},{"type":"shell_call","call_id":"s","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"s","output":[{"stdout":"o"}]},{"type":"apply_patch_call","call_id":"p","operation":{"type":"delete_file","path":"a"}},{"type":"apply_patch_call_output","call_id":"p","status":"completed","output":"ok"},{"type":"mcp_approval_request","id":"a","name":"n","arguments":"{}"},{"type":"mcp_approval_response","approval_request_id":"a","approve":true,"reason":"why not"}]}"#,
    ),
    (
        "a message of another agent",
        r#"{"model":"m","input":[{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"input_text","text":"t"},{"type":"encrypted_content","encrypted_content":"xyz"}]}]}"#,
    ),
    (
        "a conversation, and null ids",
        r#"{"model":"m","conversation":{"id":"c"},"previous_response_id":null,"input":"a"}"#,
    ),
    (
        "null ids alone are no delta",
        r#"{"model":"m","previous_response_id":null,"conversation":null,"prompt":null,"input":"a"}"#,
    ),
    ("a frame that steers", r#"{"type":"response.steer","previous_response_id":"r","input":"stop"}"#),
    (
        "compaction by every name",
        r#"{"model":"m","input":[{"type":"compaction","encrypted_content":"a"},{"type":"compaction_summary","encrypted_content":"b"},{"type":"context_compaction","encrypted_content":"c"}]}"#,
    ),
];

const GEMINI: &[(&str, &str)] = &[
    ("no contents", r#"{"model":"models/m"}"#),
    ("wrong types", r#"{"systemInstruction":"s","tools":3,"contents":"c","cachedContent":null}"#),
    (
        "contents that are none",
        r#"{"contents":["a",{"role":"robot","parts":[{"text":"b"}]},{"role":"user","parts":"c"},{"role":"user","parts":["d"]},{"role":"user"}]}"#,
    ),
    ("parts nobody knows", r#"{"contents":[{"parts":[{"hologram":{}},{},{"text":5}]}]}"#),
    ("one content, one part", r#"{"contents":{"role":"model","parts":{"text":"a"}}}"#),
    (
        "answers as they come",
        r#"{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{"error":"no"}}},{"functionResponse":{"name":"f","response":{"a":"x","b":"y"}}},{"functionResponse":{"name":"f","response":{"a":1}}},{"functionResponse":{"name":"f"}}]}]}"#,
    ),
    (
        "media without a type",
        r#"{"contents":[{"parts":[{"inlineData":{"data":"AA=="}},{"fileData":{"fileUri":"gs://x"}},{"inlineData":{"mimeType":"audio/wav"}}]}]}"#,
    ),
    ("one tool, wrong declarations", r#"{"contents":[],"tools":{"functionDeclarations":{"name":"f"}}}"#),
    (
        "both schemas",
        r#"{"contents":[],"tools":[{"function_declarations":[{"name":"f","parameters":{"a":1},"parametersJsonSchema":{"b":2}},{"description":"nameless"},7]}]}"#,
    ),
    (
        "a wrapped request of another key",
        r#"{"generateContentRequest":{"model":"models/m","contents":[{"parts":[{"text":"a"}]}]}}"#,
    ),
];

fn outlines(cases: &[(&str, &str)], dialect: Dialect) -> String {
    let outlines = cases.iter().map(|(name, body)| {
        let outline = read(body, dialect, |anatomy| {
            check(anatomy);
            outline(anatomy)
        });
        format!("=== {name}\n{outline}\n")
    });
    outlines.collect()
}

#[test]
fn anthropic() {
    insta::assert_snapshot!(outlines(ANTHROPIC, Dialect::AnthropicMessages));
}

#[test]
fn chat() {
    insta::assert_snapshot!(outlines(CHAT, Dialect::OpenaiChat));
}

#[test]
fn responses() {
    insta::assert_snapshot!(outlines(RESPONSES, Dialect::OpenaiResponses));
}

#[test]
fn gemini() {
    insta::assert_snapshot!(outlines(GEMINI, Dialect::GeminiGenerate));
}

#[test]
fn marks_come_in_the_order_of_the_prompt() {
    let body = ANTHROPIC.iter().find(|(name, _)| *name == "marks everywhere").unwrap().1;
    read(body, Dialect::AnthropicMessages, |anatomy| {
        let one_hour: Vec<_> = anatomy.marks().map(|mark| mark.one_hour()).collect();
        assert_eq!(one_hour, [false, true, false, true, false], "tool, system, inner, outer, request");
    });
}

#[test]
fn slices_are_the_bytes_one_would_point_at() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"a"} , {"role":"assistant","content":"b"},{"role":"user","content":"c"}],"system":"s","tools":[ {"name":"t"} ]}"#;
    read(body, Dialect::AnthropicMessages, |anatomy| {
        let runs: Vec<_> =
            anatomy.runs.iter().map(|(slice, span)| (*slice, anatomy.document.text(*span))).collect();
        let history = r#"{"role":"user","content":"a"} , {"role":"assistant","content":"b"}"#;
        let expected = [
            (Slice::History, history),
            (Slice::Tail, r#"{"role":"user","content":"c"}"#),
            (Slice::System, r#""s""#),
            (Slice::Tools, r#"[ {"name":"t"} ]"#),
        ];
        assert_eq!(runs, expected);
    });
}
