//! What the tools do.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::content::{WAV, embedded, fails, form, image, prompt, says, text};
use super::definitions::{CUSTOM_HEADER, REGION, WATCHED};
use super::protocol::{Answer, Fault, TASKS};
use super::rounds;
use super::server::Asked;
use super::tasks::Job;

const MOMENT: Duration = Duration::from_millis(50);

/// Answers `tools/call`.
pub(super) fn call(asked: &Asked<'_>) -> Answer {
    let name = asked.params["name"].as_str().unwrap_or_default();
    let argument = |name: &str| asked.params["arguments"][name].as_str().unwrap_or_default();
    if let Some(answer) = job(name, asked) {
        return answer;
    }
    if asked.modern
        && let Some(answer) = rounds::tool(name, asked.params, &asked.server.tasks)
    {
        return answer;
    }
    Ok(match name {
        "test_simple_text" => says("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [image()] }),
        "test_audio_content" => {
            json!({ "content": [{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }] })
        }
        "test_embedded_resource" => {
            let words = "This is an embedded resource content.";
            json!({ "content": [embedded("test://embedded-resource", "text/plain", words)] })
        }
        "test_multiple_content_types" => {
            let data = json!({ "test": "data", "value": 123 }).to_string();
            let resource = embedded("test://mixed-content-resource", "application/json", &data);
            json!({ "content": [text("Multiple content types test:"), image(), resource] })
        }
        "test_tool_with_logging" => {
            asked.log("info", "Tool execution started");
            thread::sleep(MOMENT);
            asked.log("info", "Tool processing data");
            thread::sleep(MOMENT);
            asked.log("info", "Tool execution completed");
            says("Three messages were logged.")
        }
        "test_logging_tool" => {
            asked.log("info", "This request wanted messages.");
            says("Done.")
        }
        "test_tool_with_progress" => progress(asked),
        "test_error_handling" => fails("This tool intentionally returns an error for testing"),
        "test_reconnection" => {
            asked.peer.hang_up();
            thread::sleep(MOMENT * 4);
            says("This came after the stream had ended.")
        }
        "test_sampling" => sampling(asked, argument("prompt")),
        "test_elicitation" => {
            let properties = json!({
                "username": { "type": "string", "description": "The user's name" },
                "email": { "type": "string", "description": "The user's e-mail address" }
            });
            elicitation(asked, "User response", &form(argument("message"), &properties))
        }
        "test_elicitation_sep1034_defaults" => elicitation(asked, "Elicitation completed", &defaults()),
        "test_elicitation_sep1330_enums" => elicitation(asked, "Elicitation completed", &choices()),
        "test_missing_capability" => {
            if asked.capabilities.get("sampling").is_none() {
                return Err(Fault::missing(json!({ "sampling": {} })));
            }
            says("The client can sample.")
        }
        "test_trigger_tool_change" => {
            asked.server.changed("tools");
            says("Everybody knows.")
        }
        "test_trigger_prompt_change" => {
            asked.server.changed("prompts");
            says("Everybody knows.")
        }
        "test_trigger_resource_change" => {
            asked.server.changed("resources");
            asked.server.updated(WATCHED);
            says("Everybody knows.")
        }
        "greet" => says(format!("Hello, {}!", argument("name"))),
        CUSTOM_HEADER => says(format!("Sent to {}.", argument(REGION.0))),
        "json_schema_2020_12_tool" => says("Valid."),
        _ if super::definitions::tools().iter().any(|tool| tool["name"] == name) => {
            fails("This needs a client of 2026-07-28.")
        }
        _ => return Err(Fault::invalid(format!("there is no tool {name}"))),
    })
}

/// Calls a tool that can be a task; `None` when it is none.
fn job(name: &str, asked: &Asked<'_>) -> Option<Answer> {
    let arguments = &asked.params["arguments"];
    let seconds = arguments["seconds"].as_f64().unwrap_or_default().clamp(0.0, 3600.0);
    let label = arguments["label"].as_str().unwrap_or_default().to_owned();
    let job = match name {
        "slow_compute" => Job::Computes { time: Duration::from_secs_f64(seconds), label },
        "failing_job" => Job::Fails,
        "protocol_error_job" => Job::Breaks,
        "confirm_delete" => Job::Asks { questions: vec![("confirm", "Delete it?")] },
        "multi_input" => Job::Asks { questions: vec![("first", "Go on?"), ("second", "Really?")] },
        "test_tool_with_task" if asked.modern && !asked.knows_tasks() => Job::Fails,
        _ => return None,
    };
    if asked.knows_tasks() && !(name == "slow_compute" && seconds == 0.0) {
        return Some(Ok(asked.server.tasks.create(job)));
    }
    Some(match job {
        Job::Computes { time, label } => {
            thread::sleep(time);
            Ok(says(format!("Computed {label}.")))
        }
        // It can only be done as a task.
        _ if asked.modern => Err(Fault::missing(json!({ "extensions": { TASKS: {} } }))),
        _ => Ok(fails("This needs a client that knows tasks.")),
    })
}

fn progress(asked: &Asked<'_>) -> Value {
    let token = &asked.params["_meta"]["progressToken"];
    for done in [0, 50, 100] {
        if !token.is_null() {
            let params = json!({ "progressToken": token, "progress": done, "total": 100 });
            asked.peer.notify("notifications/progress", &params);
        }
        if done < 100 {
            thread::sleep(MOMENT);
        }
    }
    says("All of it is done.")
}

fn sampling(asked: &Asked<'_>, words: &str) -> Value {
    if asked.modern || asked.capabilities.get("sampling").is_none() {
        return fails("The client cannot sample.");
    }
    match asked.peer.ask("sampling/createMessage", &prompt(words, 100)) {
        Some(result) => {
            says(format!("LLM response: {}", result["content"]["text"].as_str().unwrap_or_default()))
        }
        None => fails("The client did not sample."),
    }
}

fn elicitation(asked: &Asked<'_>, label: &str, params: &Value) -> Value {
    if asked.modern || asked.capabilities.get("elicitation").is_none() {
        return fails("The client cannot ask its user.");
    }
    match asked.peer.ask("elicitation/create", params) {
        Some(result) => {
            let action = result["action"].as_str().unwrap_or_default();
            says(format!("{label}: action={action}, content={}", result["content"]))
        }
        None => fails("The client did not ask its user."),
    }
}

fn defaults() -> Value {
    form(
        "Check the values.",
        &json!({
            "name": { "type": "string", "description": "A name", "default": "John Doe" },
            "age": { "type": "integer", "description": "An age", "default": 30 },
            "score": { "type": "number", "description": "A score", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "description": "Whether it was checked", "default": true }
        }),
    )
}

fn choices() -> Value {
    let titled = |pairs: [(&str, &str); 3]| -> Vec<Value> {
        pairs.iter().map(|(value, title)| json!({ "const": value, "title": title })).collect()
    };
    let options = json!(["option1", "option2", "option3"]);
    let single =
        titled([("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")]);
    let several =
        titled([("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]);
    let mut form = form(
        "Choose.",
        &json!({
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": single },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": several } }
        }),
    );
    form["requestedSchema"]["required"] = json!([]);
    form
}
