//! One request for each rule that breaks just this rule, and the provider's words.

use std::collections::BTreeSet;
use std::time::Duration;

use deadweight_testkit::strict::{Account, Judge, Request, Rule, Verdict};
use serde_json::{Value, json};

use super::session::{OLDER, tool};

const MESSAGES: &str = "/v1/messages";
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const GEMINI: &str = "/v1beta/models/gemini-2.5-pro:generateContent";
const GEMINI_3: &str = "/v1beta/models/gemini-3-pro:generateContent";

fn judged(account: Account, path: &str, betas: &str, body: &[u8]) -> Verdict {
    let headers = vec![("Anthropic-Beta".to_owned(), betas.to_owned())];
    Judge::new(account).judge(Request { path, headers: &headers, body, at: Duration::ZERO })
}

/// A plain Anthropic request with these messages.
fn with(messages: Value) -> Value {
    json!({ "model": OLDER, "max_tokens": 100, "messages": messages })
}

/// A plain request with one more member.
fn member(name: &str, value: Value) -> Value {
    let mut body = with(json!([{ "role": "user", "content": "hello" }]));
    body[name] = value;
    body
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "look", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" })
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn assistant(content: Value) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn deferred(name: &str) -> Value {
    let mut tool = tool(name, 1);
    tool["defer_loading"] = true.into();
    tool
}

fn marked(text: &str, ttl: &str) -> Value {
    json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral", "ttl": ttl } })
}

fn thinking() -> Value {
    json!({ "type": "thinking", "thinking": "hm", "signature": "x" })
}

fn chat(messages: Value) -> Value {
    json!({ "model": "gpt-5.5", "messages": messages })
}

fn responses(input: Value) -> Value {
    json!({ "model": "gpt-5.5", "input": input })
}

fn gemini(contents: Value) -> Value {
    json!({ "contents": contents })
}

fn gemini_call(name: &str) -> Value {
    json!({ "functionCall": { "name": name, "args": {} } })
}

fn gemini_response(name: &str) -> Value {
    json!({ "functionResponse": { "name": name, "response": { "ok": true } } })
}

macro_rules! refused {
    ($($name:ident: $rule:ident, $path:expr, $betas:expr, $body:expr => $message:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let body: Value = $body;
                let account = if $betas == "old account" { Account::OLD } else { Account::NEW };
                let verdict = judged(account, $path, $betas, body.to_string().as_bytes());
                let refusal = verdict.refusal().expect("a refusal");
                assert_eq!(refusal.message, $message);
                assert_eq!((refusal.rule, refusal.status), (Rule::$rule, 400));
                assert!(refusal.body().to_string().contains("error"));
            }
        )+

        /// The rules above.
        const TABLE: &[Rule] = &[$(Rule::$rule,)+];
    };
}

/// Rules that need a conversation, or a body that is not JSON, to be broken; where they are tested.
const ELSEWHERE: &[Rule] = &[
    Rule::InvalidJson,      // below
    Rule::TooLarge,         // below
    Rule::Path,             // below
    Rule::PromptTooLong,    // bills.rs
    Rule::BoundPrefix,      // mutants.rs, thinking.rs
    Rule::BoundOrder,       // mutants.rs, thinking.rs
    Rule::LatestThinking,   // mutants.rs, thinking.rs
    Rule::ReasoningMissing, // others.rs
    Rule::ReasoningAlone,   // others.rs
    Rule::ReasoningForged,  // others.rs
];

refused! {
    max_tokens_is_asked_for: Shape, MESSAGES, "", json!({ "model": OLDER, "messages": [user("hi".into())] })
        => "max_tokens: Field required";
    a_use_without_result: OrphanUse, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1"), call("t2")])), user(json!([result("t1")]))]))
        => "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2. Each `tool_use` block \
            must have a corresponding `tool_result` block in the next message.";
    a_result_after_text: OrphanUse, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1")])), user(json!([{ "type": "text", "text": "so" }, result("t1")]))]))
        => "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block \
            must have a corresponding `tool_result` block in the next message.";
    a_use_at_the_end: OrphanUse, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1")])), user("so".into())]))
        => "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block \
            must have a corresponding `tool_result` block in the next message.";
    a_result_without_use: OrphanResult, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1")])), user(json!([result("t1"), result("t9")]))]))
        => "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: t9. Each `tool_result` block must \
            have a corresponding `tool_use` block in the previous message.";
    a_search_result_without_search: OrphanResult, MESSAGES, "",
        with(json!([
            user("hi".into()),
            assistant(json!([{ "type": "tool_search_tool_result", "tool_use_id": "s1", "content": { "type": "tool_search_tool_search_result", "tool_references": [] } }])),
            user("so".into())
        ]))
        => "messages.1.content.0: unexpected `tool_use_id` found in `tool_search_tool_result` blocks: s1.";
    a_second_result: DoubledResult, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1")])), user(json!([result("t1"), result("t1")]))]))
        => "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1";
    an_id_used_twice: DoubledUse, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1"), call("t1")])), user(json!([result("t1")]))]))
        => "messages.1.content.1: `tool_use` ids must be unique";
    a_use_of_the_user: WrongRole, MESSAGES, "", with(json!([user(json!([call("t1")]))]))
        => "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages";
    an_empty_text: EmptyText, MESSAGES, "", with(json!([user(json!([{ "type": "text", "text": "" }]))]))
        => "messages: text content blocks must be non-empty";
    a_blank_text: EmptyText, MESSAGES, "", with(json!([user(" \n".into())]))
        => "messages: text content blocks must contain non-whitespace text";
    an_empty_text_in_a_result: EmptyText, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1")])), user(json!([
            { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "" }] }
        ]))]))
        => "messages: text content blocks must be non-empty";
    an_empty_message: EmptyMessage, MESSAGES, "", with(json!([user(json!([]))]))
        => "messages.0: all messages must have non-empty content except for the optional final assistant message";
    an_assistant_first: FirstUser, MESSAGES, "", with(json!([assistant("hi".into()), user("hi".into())]))
        => "messages: first message must use the \"user\" role";
    an_assistant_last: Prefill, MESSAGES, "", with(json!([user("hi".into()), assistant("so".into())]))
        => "This model does not support assistant message prefill. The conversation must end with a user message.";
    a_system_message_on_an_older_model: SystemRole, MESSAGES, "",
        json!({ "model": "claude-sonnet-5", "max_tokens": 9, "messages": [user("hi".into()), { "role": "system", "content": "so" }] })
        => "messages.1.role: role 'system' is not supported on this model";
    a_fifth_breakpoint: Breakpoints, MESSAGES, "",
        with(json!([user(json!([marked("a", "5m"), marked("b", "5m"), marked("c", "5m"), marked("d", "5m"), marked("e", "5m")]))]))
        => "A maximum of 4 blocks with cache_control may be provided. Found 5.";
    an_hour_after_five_minutes: TtlOrder, MESSAGES, "", member("system", json!([marked("a", "5m"), marked("b", "1h")]))
        => "system.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
    tools_come_before_the_system: TtlOrder, MESSAGES, "",
        {
            let mut body = member("system", json!([marked("a", "1h")]));
            body["tools"] = json!([tool("look", 1)]);
            body["tools"][0]["cache_control"] = json!({ "type": "ephemeral" });
            body
        }
        => "system.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
    a_mark_on_thinking: MarkedThinking, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([
            { "type": "thinking", "thinking": "hm", "signature": "x", "cache_control": { "type": "ephemeral" } },
            { "type": "text", "text": "so" }
        ])), user("hi".into())]))
        => "messages.1.content.0.cache_control: Extra inputs are not permitted";
    a_name_with_a_dot: ToolName, MESSAGES, "", member("tools", json!([tool("look.at", 1)]))
        => "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
    a_name_twice: ToolNameTwice, MESSAGES, "", member("tools", json!([tool("look", 1), tool("look", 2)]))
        => "tools: Tool names must be unique.";
    a_choice_of_schemas: ToolSchema, MESSAGES, "",
        member("tools", json!([{ "name": "look", "input_schema": { "type": "object", "oneOf": [] } }]))
        => "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level";
    a_marked_deferred_tool: DeferredMarked, MESSAGES, "",
        {
            let mut body = member("tools", json!([tool("look", 1), deferred("edit")]));
            body["tools"][1]["cache_control"] = json!({ "type": "ephemeral" });
            body
        }
        => "Tool 'edit' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt \
            caching.";
    every_tool_deferred: AllDeferred, MESSAGES, "", member("tools", json!([deferred("look"), deferred("edit")]))
        => "All tools have defer_loading set. At least one tool must be non-deferred.";
    too_many_deferred: TooManyDeferred, MESSAGES, "",
        member("tools", (0..10_002).map(|at| json!({
            "name": format!("t{at}"), "input_schema": { "type": "object" }, "defer_loading": at > 0
        })).collect())
        => "tools: at most 10000 tools may have defer_loading set. Found 10001.";
    a_reference_to_nothing: MissingReference, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([call("t1")])), user(json!([
            { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "tool_reference", "tool_name": "gone" }] }
        ]))]))
        => "Tool reference 'gone' has no corresponding tool definition";
    a_choice_of_nothing: ChoiceMissing, MESSAGES, "", member("tool_choice", json!({ "type": "tool", "name": "gone" }))
        => "tool_choice: Tool 'gone' not found in provided tools";
    a_search_without_its_beta: ToolSearchBeta, MESSAGES, "old account",
        member("tools", json!([{ "type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex" }]))
        => "tools.0: Input tag 'tool_search_tool_regex_20251119' found using 'type' does not match any of the expected tags";
    a_late_tool_without_its_beta: ToolChangeBeta, MESSAGES, "",
        with(json!([user("hi".into()), { "role": "system", "content": [
            { "type": "tool_removal", "tool": { "type": "tool_reference", "name": "look" } }
        ] }]))
        => "messages.1.content.0: Input tag 'tool_removal' found using 'type' does not match any of the expected tags";
    a_tool_by_value_without_its_beta: InlineToolBeta, MESSAGES, "mid-conversation-tool-changes-2026-07-01",
        with(json!([user("hi".into()), { "role": "system", "content": [
            { "type": "tool_addition", "tool": { "type": "tool_definition", "definition": tool("late", 1) } }
        ] }]))
        => "messages.1.content.0.tool_addition.tool: Input tag 'tool_definition' found using 'type' does not match any of the \
            expected tags";
    a_system_message_behind_the_assistant: SystemPlace, MESSAGES, "",
        with(json!([
            user("hi".into()), assistant("so".into()), { "role": "system", "content": "one" },
            { "role": "system", "content": "two" }, user("hi".into())
        ]))
        => "messages.2: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result; \
            the directive-only form (content: [] with output_config) is accepted at any position";
    a_system_message_before_the_user: SystemPlace, MESSAGES, "",
        with(json!([user("hi".into()), { "role": "system", "content": "one" }, user("hi".into())]))
        => "messages.1: role 'system' must precede an 'assistant' message or end the array; the directive-only form (content: \
            [] with output_config) is accepted at any position";
    a_forged_signature: ForgedSignature, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([thinking(), { "type": "text", "text": "so" }])), user("hi".into())]))
        => "messages.1.content.0: Invalid `signature` in `thinking` block";
    a_turn_without_thinking: ManualStart, MESSAGES, "",
        {
            let mut body = with(json!([user("hi".into()), assistant(json!([call("t1")])), user(json!([result("t1")]))]));
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1_024 });
            body
        }
        => "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is \
            enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` \
            and `tool_result` blocks).";
    thinking_at_the_end: ThinkingLast, MESSAGES, "",
        with(json!([user("hi".into()), assistant(json!([thinking()])), user("hi".into())]))
        => "messages.1: The final block in an assistant message cannot be `thinking`.";
    thinking_of_the_user: ThinkingRole, MESSAGES, "", with(json!([user(json!([thinking()]))]))
        => "messages.0.content.0: `thinking` blocks can only be in `assistant` messages";
    a_binding_without_its_beta: BindingBeta, MESSAGES, "",
        member("thinking", json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "error" } }))
        => "thinking.adaptive.block_binding: Extra inputs are not permitted";
    an_unknown_behaviour: BindingValue, MESSAGES, "thinking-binding-controls-2026-08-01",
        member("thinking", json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "ignore" } }))
        => "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'";
    an_edit_without_its_beta: ContextBeta, MESSAGES, "", member("context_management", json!({ "edits": [] }))
        => "context_management: Extra inputs are not permitted";
    a_compaction_without_its_beta: ContextBeta, MESSAGES, "context-management-2025-06-27",
        member("context_management", json!({ "edits": [{ "type": "compact_20260112" }] }))
        => "context_management.edits.0: 'compact_20260112' requires the `compact-2026-01-12` value in the `anthropic-beta` header";
    an_unknown_edit: ContextEdit, MESSAGES, "context-management-2025-06-27",
        member("context_management", json!({ "edits": [{ "type": "forget_everything" }] }))
        => "context_management.edits.0: Input tag 'forget_everything' found using 'type' does not match any of the expected tags";
    an_early_compaction: CompactTrigger, MESSAGES, "compact-2026-01-12",
        member("context_management", json!({ "edits": [{ "type": "compact_20260112", "trigger": { "type": "input_tokens", "value": 49_999 } }] }))
        => "context_management.edits.0.trigger.value: Input should be greater than or equal to 50000";
    clearing_thinking_second: ClearThinkingFirst, MESSAGES, "context-management-2025-06-27",
        member("context_management", json!({ "edits": [{ "type": "clear_tool_uses_20250919" }, { "type": "clear_thinking_20251015" }] }))
        => "context_management.edits: `clear_thinking_20251015` strategy must be first in the list";
    diagnostics_without_their_beta: DiagnosticsBeta, MESSAGES, "", member("diagnostics", json!({ "previous_message_id": null }))
        => "diagnostics: Extra inputs are not permitted";
    a_server_tool_is_not_counted: CountServerTools, "/v1/messages/count_tokens", "",
        json!({
            "model": OLDER, "messages": [user("hi".into())],
            "tools": [{ "type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25" }]
        })
        => "tools: server tools are not supported in the token counting endpoint: tool_search_tool_bm25";

    a_chat_call_without_output: ChatOrphanCall, CHAT, "",
        chat(json!([
            { "role": "user", "content": "hi" },
            { "role": "assistant", "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } }] },
            { "role": "user", "content": "so" }
        ]))
        => "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The \
            following tool_call_ids did not have response messages: c1";
    a_chat_output_without_call: ChatOrphanOutput, CHAT, "",
        chat(json!([{ "role": "user", "content": "hi" }, { "role": "tool", "tool_call_id": "c1", "content": "ok" }]))
        => "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    a_call_without_output: ResponsesOrphanCall, RESPONSES, "",
        responses(json!([{ "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}" }]))
        => "No tool output found for function call c1.";
    an_output_without_call: ResponsesOrphanOutput, RESPONSES, "",
        responses(json!([{ "type": "function_call_output", "call_id": "c1", "output": "ok" }]))
        => "No tool call found for function call output with call_id c1.";
    a_long_openai_name: OpenaiName, CHAT, "",
        {
            let mut body = chat(json!([{ "role": "user", "content": "hi" }]));
            body["tools"] = json!([{ "type": "function", "function": { "name": "n".repeat(65) } }]);
            body
        }
        => "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with \
            length 65 instead.";
    a_dotted_name_in_a_namespace: OpenaiName, RESPONSES, "",
        {
            let mut body = responses("hi".into());
            body["tools"] = json!([{ "type": "namespace", "name": "n", "tools": [{ "type": "function", "name": "a.b" }] }]);
            body
        }
        => "Invalid 'tools[0].tools[0].name': string does not match pattern. Expected a string that matches the pattern \
            '^[a-zA-Z0-9_-]+$'.";

    a_response_too_few: GeminiCount, GEMINI, "",
        gemini(json!([
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [gemini_call("look"), gemini_call("edit")] },
            { "role": "user", "parts": [gemini_response("look")] }
        ]))
        => "Please ensure that the number of function response parts is equal to the number of function call parts of the \
            function call turn.";
    a_call_after_the_model: GeminiCallOrder, GEMINI, "",
        gemini(json!([
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [{ "text": "so" }] },
            { "role": "model", "parts": [gemini_call("look")] },
            { "role": "user", "parts": [gemini_response("look")] }
        ]))
        => "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    a_response_after_text: GeminiResponseOrder, GEMINI, "",
        gemini(json!([
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [{ "text": "so" }] },
            { "role": "user", "parts": [gemini_response("look")] }
        ]))
        => "Please ensure that function response turn comes immediately after a function call turn.";
    a_call_without_signature: GeminiSignature, GEMINI_3, "",
        gemini(json!([
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [gemini_call("look")] },
            { "role": "user", "parts": [gemini_response("look")] }
        ]))
        => "Unable to submit request because function call `look` in the 1. content block is missing a `thought_signature`.";
    a_forged_thought: GeminiForged, GEMINI, "",
        gemini(json!([
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [{ "text": "so", "thoughtSignature": "AAAA" }] },
            { "role": "user", "parts": [{ "text": "hi" }] }
        ]))
        => "Corrupted thought signature.";
    a_gemini_name_with_a_space: GeminiName, GEMINI, "",
        {
            let mut body = gemini(json!([{ "role": "user", "parts": [{ "text": "hi" }] }]));
            body["tools"] = json!([{ "functionDeclarations": [{ "name": "look at" }] }]);
            body
        }
        => "Invalid value at 'tools[0].function_declarations[0].name': Invalid function name. Must start with a letter or an \
            underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum \
            length of 128.";
}

#[test]
fn every_rule_has_a_test() {
    let tested: BTreeSet<Rule> = TABLE.iter().chain(ELSEWHERE).copied().collect();
    let missing: Vec<_> = Rule::ALL.iter().filter(|rule| !tested.contains(rule)).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}

#[test]
fn rules_have_names_of_their_own_and_a_sentence() {
    let ids: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(ids.len(), Rule::ALL.len());
    for rule in Rule::ALL {
        assert!(rule.text().ends_with('.'), "{rule}: {}", rule.text());
    }
}

#[test]
fn the_error_is_in_the_form_of_its_provider() {
    let anthropic = judged(Account::NEW, MESSAGES, "", b"{\"model\":");
    let refusal = anthropic.refusal().unwrap();
    assert_eq!(refusal.rule, Rule::InvalidJson);
    let body = refusal.body();
    assert_eq!(
        (body["type"].as_str(), body["error"]["type"].as_str()),
        (Some("error"), Some("invalid_request_error"))
    );
    let openai = judged(Account::NEW, CHAT, "", b"{}");
    assert_eq!(openai.refusal().unwrap().body()["error"]["type"], "invalid_request_error");
    let gemini = judged(Account::NEW, GEMINI, "", b"{}");
    assert_eq!(gemini.refusal().unwrap().body()["error"]["status"], "INVALID_ARGUMENT");
}

#[test]
fn large_bodies_and_unknown_paths_have_their_own_status() {
    let large = judged(Account::NEW, MESSAGES, "", &vec![b' '; (32 << 20) + 1]);
    let refusal = large.refusal().unwrap();
    assert_eq!((refusal.status, refusal.rule), (413, Rule::TooLarge));
    assert_eq!(refusal.body()["error"]["type"], "request_too_large");
    let path = judged(Account::NEW, "/v1/complete", "", b"{}");
    assert_eq!((path.refusal().unwrap().status, path.refusal().unwrap().rule), (404, Rule::Path));
}

#[test]
fn what_is_legal_is_accepted() {
    let bodies = [
        // Neighbours of one role are one turn.
        with(json!([user("a".into()), user("b".into())])),
        with(json!([
            user("hi".into()),
            assistant(json!([call("t1"), call("t2")])),
            user(json!([result("t2")])),
            user(json!([result("t1")]))
        ])),
        // A result may be empty, and text may follow the results.
        with(json!([
            user("hi".into()),
            assistant(json!([call("t1")])),
            user(json!([
                { "type": "tool_result", "tool_use_id": "t1" }, { "type": "text", "text": "so" }
            ]))
        ])),
        // The system speaks in between on models that allow it.
        with(json!([user("hi".into()), { "role": "system", "content": "so" }])),
        // Hours before minutes, in the order of rendering.
        member("system", json!([marked("a", "1h"), marked("b", "5m")])),
        // A server tool beside deferred ones, with and without a date.
        member(
            "tools",
            json!([{ "type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25" }, deferred("look")]),
        ),
        // A client's own search.
        member("tools", json!([tool("search", 1), deferred("look")])),
    ];
    for body in bodies {
        let verdict = judged(Account::NEW, MESSAGES, "", body.to_string().as_bytes());
        assert!(verdict.accepted().is_some(), "{body}: {verdict:?}");
    }
    let prefill = json!({ "model": "claude-haiku-4-5", "max_tokens": 9, "messages": [user("hi".into()), assistant("so".into())] });
    assert!(judged(Account::NEW, MESSAGES, "", prefill.to_string().as_bytes()).accepted().is_some());
}

#[test]
fn a_late_tool_with_its_beta_is_accepted() {
    let mut body = with(json!([user("hi".into()), { "role": "system", "content": [
        { "type": "tool_addition", "tool": { "type": "tool_reference", "name": "late" } }
    ] }]));
    body["tools"] = json!([tool("look", 1), deferred("late")]);
    let beta = "x, mid-conversation-tool-changes-2026-07-01";
    assert!(judged(Account::NEW, MESSAGES, beta, body.to_string().as_bytes()).accepted().is_some());
    body["tools"] = json!([tool("look", 1)]);
    let missing = judged(Account::NEW, MESSAGES, beta, body.to_string().as_bytes());
    assert_eq!(missing.refusal().map(|refusal| refusal.rule), Some(Rule::MissingReference));
}

#[test]
fn clouds_name_the_model_in_the_path_and_betas_in_the_body() {
    let body = json!({
        "anthropic_version": "bedrock-2023-05-31", "anthropic_beta": ["context-management-2025-06-27"], "max_tokens": 9,
        "messages": [user("hi".into())], "context_management": { "edits": [{ "type": "clear_tool_uses_20250919" }] }
    });
    let path = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke";
    let verdict = judged(Account::NEW, path, "", body.to_string().as_bytes());
    assert_eq!(verdict.accepted().unwrap().ticket.model, "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0");
    let vertex =
        "/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-4-8:streamRawPredict";
    assert_eq!(
        judged(Account::NEW, vertex, "", body.to_string().as_bytes()).accepted().unwrap().ticket.model,
        "claude-opus-4-8"
    );
}
