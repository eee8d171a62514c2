//! The lists: tools, prompts, resources.

use serde_json::{Value, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Tools without arguments, and what they are for.
const PLAIN: [(&str, &str); 29] = [
    ("test_simple_text", "Returns one text."),
    ("test_image_content", "Returns one image."),
    ("test_audio_content", "Returns one sound."),
    ("test_embedded_resource", "Returns one embedded resource."),
    ("test_multiple_content_types", "Returns a text, an image and a resource."),
    ("test_tool_with_logging", "Logs three messages while it runs."),
    ("test_tool_with_progress", "Reports its progress three times while it runs."),
    ("test_error_handling", "Fails, and says so in its result."),
    (
        "test_reconnection",
        "Ends its stream before it answers; the answer is fetched with the last event's id.",
    ),
    ("test_elicitation_sep1034_defaults", "Asks the user for values that have defaults."),
    ("test_elicitation_sep1330_enums", "Asks the user to choose, in five ways."),
    ("test_missing_capability", "Needs a client that can sample."),
    ("test_streaming_elicitation", "Asks the user in its result."),
    ("test_logging_tool", "Logs one message where the request wants messages."),
    ("test_trigger_tool_change", "Tells everybody who listens that the tools have changed."),
    ("test_trigger_prompt_change", "Tells everybody who listens that the prompts have changed."),
    (
        "test_trigger_resource_change",
        "Tells everybody who listens that the resources, and one of them, have changed.",
    ),
    ("test_input_required_result_elicitation", "Asks for a name in its result."),
    ("test_input_required_result_sampling", "Asks the client's model in its result."),
    ("test_input_required_result_list_roots", "Asks for the client's roots in its result."),
    ("test_input_required_result_request_state", "Asks, and checks that its state comes back."),
    ("test_input_required_result_multiple_inputs", "Asks three things at once."),
    ("test_input_required_result_multi_round", "Asks twice, one after the other."),
    ("test_input_required_result_tampered_state", "Refuses a state that was changed."),
    ("test_input_required_result_capabilities", "Asks only what the client can answer."),
    ("test_tool_with_task", "Asks for a name, then goes on as a task."),
    ("failing_job", "Fails after a while, as a task."),
    ("protocol_error_job", "Breaks, as a task."),
    ("multi_input", "Asks two things at once, as a task."),
];

fn tool(name: &str, description: &str, properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    // So that a deferred tool's first call runs: the suites do not confirm.
    let annotations = json!({ "readOnlyHint": false, "destructiveHint": false });
    json!({ "name": name, "description": description, "inputSchema": schema, "annotations": annotations })
}

/// Every tool, always in this order.
pub(super) fn tools() -> Vec<Value> {
    let mut tools: Vec<Value> =
        PLAIN.iter().map(|(name, description)| tool(name, description, &json!({}), &[])).collect();
    let words = |meaning: &str| json!({ "type": "string", "description": meaning });
    tools.extend([
        tool("test_sampling", "Asks the client's model.", &json!({ "prompt": words("What it is asked.") }), &["prompt"]),
        tool("test_elicitation", "Asks the user.", &json!({ "message": words("What the user reads.") }), &["message"]),
        tool("greet", "Greets somebody.", &json!({ "name": words("Who is greeted.") }), &["name"]),
        tool(
            "slow_compute",
            "Takes its time, as a task where the client knows tasks.",
            &json!({ "seconds": { "type": "number", "description": "How long." }, "label": words("Comes back.") }),
            &["seconds"],
        ),
        tool(
            "confirm_delete",
            "Asks before it goes on, as a task.",
            &json!({ "filename": words("What would be deleted.") }),
            &["filename"],
        ),
        custom_header(),
        json_schema(),
    ]);
    tools
}

/// The tool whose arguments are also in headers.
pub(super) const CUSTOM_HEADER: &str = "test_custom_header";
/// Its one argument, and the end of that header's name.
pub(super) const REGION: (&str, &str) = ("region", "Region");

fn custom_header() -> Value {
    let region = json!({ "type": "string", "description": "Where.", "x-mcp-header": REGION.1 });
    tool(CUSTOM_HEADER, "Says where it was sent.", &json!({ (REGION.0): region }), &[])
}

/// The tool whose schema uses what simple readers drop.
fn json_schema() -> Value {
    json!({
        "name": "json_schema_2020_12_tool",
        "description": "Has a schema with references, anchors, conditions and compositions.",
        "inputSchema": {
            "$schema": DRAFT,
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
                }
            },
            "properties": {
                "name": { "type": "string" },
                "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" },
                "email": { "type": "string" }
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false
        }
    })
}

/// Every prompt.
pub(super) fn prompts() -> Value {
    let argument = |name: &str| json!({ "name": name, "description": "Comes back.", "required": true });
    json!([
        { "name": "test_simple_prompt", "description": "One message." },
        {
            "name": "test_prompt_with_arguments",
            "description": "One message with two arguments in it.",
            "arguments": [argument("arg1"), argument("arg2")]
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A resource and a message.",
            "arguments": [argument("resourceUri")]
        },
        { "name": "test_prompt_with_image", "description": "An image and a message." },
        { "name": "test_input_required_result_prompt", "description": "Asks for what it needs in its result." }
    ])
}

/// The resource that changes.
pub(super) const WATCHED: &str = "test://watched-resource";

/// Every resource that is no template.
pub(super) fn resources() -> Value {
    let resource = |uri: &str, name: &str, mime: &str| json!({ "uri": uri, "name": name, "description": "For tests.", "mimeType": mime });
    json!([
        resource("test://static-text", "text", "text/plain"),
        resource("test://static-binary", "binary", "image/png"),
        resource(WATCHED, "watched", "text/plain")
    ])
}

/// The templates.
pub(super) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "For tests.",
        "mimeType": "application/json"
    }])
}
