//! The four dialects at a glance.

use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, BlockKind, Slice};
use deadweight_wire::json::Parser;

#[test]
fn a_small_request_of_each_dialect_falls_into_its_slices() {
    let cases = [
        (
            Dialect::AnthropicMessages,
            r#"{"model":"m","messages":[{"role":"user","content":"one"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"p":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"yes"}]}],"system":"be good","tools":[{"name":"Read","description":"reads","input_schema":{}}]}"#,
        ),
        (
            Dialect::OpenaiChat,
            r#"{"model":"m","messages":[{"role":"system","content":"be good"},{"role":"user","content":"one"},{"role":"assistant","tool_calls":[{"id":"t","type":"function","function":{"name":"Read","arguments":"{\"p\":1}"}}]},{"role":"tool","tool_call_id":"t","content":"yes"}],"tools":[{"type":"function","function":{"name":"Read","description":"reads","parameters":{}}}]}"#,
        ),
        (
            Dialect::OpenaiResponses,
            r#"{"model":"m","instructions":"be good","input":[{"role":"user","content":"one"},{"type":"function_call","call_id":"t","name":"Read","arguments":"{\"p\":1}"},{"type":"function_call_output","call_id":"t","output":"yes"}],"tools":[{"type":"function","name":"Read","description":"reads","parameters":{}}]}"#,
        ),
        (
            Dialect::GeminiGenerate,
            r#"{"systemInstruction":{"parts":[{"text":"be good"}]},"contents":[{"role":"user","parts":[{"text":"one"}]},{"role":"model","parts":[{"functionCall":{"name":"Read","args":{"p":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"yes"}}}]}],"tools":[{"functionDeclarations":[{"name":"Read","description":"reads","parametersJsonSchema":{}}]}]}"#,
        ),
    ];
    for (dialect, body) in cases {
        Parser::new().scope(body.as_bytes(), |document| {
            let anatomy = Anatomy::read(document.unwrap(), dialect);
            assert_eq!(anatomy.anomalies, [], "{dialect}");
            assert_eq!(anatomy.tools.len(), 1, "{dialect}");
            assert_eq!(
                anatomy.tools[0].content().map(|value| value.raw()).collect::<String>(),
                r#""Read""reads"{}"#
            );
            let kinds: Vec<_> = anatomy.blocks().map(|(slice, block)| (slice, block.kind)).collect();
            let expected = [
                (Slice::System, BlockKind::Text),
                (Slice::History, BlockKind::Text),
                (Slice::History, BlockKind::ToolUse),
                (Slice::Tail, BlockKind::ToolResult),
            ];
            assert_eq!(kinds, expected, "{dialect}");
            let slices: usize = Slice::ALL.iter().map(|&slice| anatomy.wire_bytes(slice)).sum();
            assert_eq!(slices + anatomy.envelope_bytes(), body.len());
            assert!(anatomy.runs.windows(2).all(|pair| pair[0].1.end() <= pair[1].1.start()));
        });
    }
}

/// Two members of one slice stay two runs, and what stands between them belongs to nobody.
#[test]
fn members_of_one_slice_are_not_joined() {
    let body = r#"{"tools":[{"type":"function","function":{"name":"a"}}],"functions":[{"name":"b"}],"model":"m","messages":[{"role":"user","content":"one"}]}"#;
    Parser::new().scope(body.as_bytes(), |document| {
        let anatomy = Anatomy::read(document.unwrap(), Dialect::OpenaiChat);
        let tools = anatomy.runs.iter().filter(|(slice, _)| *slice == Slice::Tools);
        let runs: Vec<&str> = tools.map(|(_, span)| &body[span.start()..span.end()]).collect();
        assert_eq!(runs, [r#"[{"type":"function","function":{"name":"a"}}]"#, r#"[{"name":"b"}]"#]);
    });
}
