//! Tools and prompts of the modern era that ask in their result and are called again with the answers.

use serde_json::{Map, Value, json};

use super::content::{form, prompt, says, text};
use super::protocol::{Answer, CAPABILITIES, Fault};
use super::tasks::{Job, Tasks};

/// A call that may carry answers to earlier questions.
pub(super) struct Round<'r> {
    params: &'r Value,
    responses: Option<&'r Map<String, Value>>,
}

impl<'r> Round<'r> {
    /// # Errors
    ///
    /// When the answers are not an object of objects.
    pub(super) fn of(params: &'r Value) -> Result<Self, Fault> {
        let responses = match params.get("inputResponses") {
            None => None,
            Some(Value::Object(responses)) => Some(responses),
            Some(_) => return Err(Fault::invalid("inputResponses is not an object")),
        };
        if responses.into_iter().flatten().any(|(_, response)| !response.is_object()) {
            return Err(Fault::invalid("a response is not an object"));
        }
        Ok(Self { params, responses })
    }

    fn response(&self, key: &str) -> Option<&'r Value> {
        self.responses?.get(key)
    }

    /// # Errors
    ///
    /// When the state is not the one that was given.
    fn check(&self, state: &str) -> Result<(), Fault> {
        if self.params["requestState"] == *state {
            Ok(())
        } else {
            Err(Fault::invalid("requestState is not the one that was given"))
        }
    }
}

/// A result that asks.
fn asks(requests: &Value, state: Option<&str>) -> Value {
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    result
}

fn elicit(message: &str, properties: &Value) -> Value {
    json!({ "method": "elicitation/create", "params": form(message, properties) })
}

fn name_form(message: &str) -> Value {
    elicit(message, &json!({ "name": { "type": "string" } }))
}

fn sample(words: &str, most: u64) -> Value {
    json!({ "method": "sampling/createMessage", "params": prompt(words, most) })
}

fn roots() -> Value {
    json!({ "method": "roots/list", "params": {} })
}

fn confirm() -> Value {
    elicit("Please confirm", &json!({ "ok": { "type": "boolean" } }))
}

/// A state that cannot be changed unseen: it carries a sum of what it says.
fn sealed(words: &str) -> String {
    let sum = words.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{words}.{sum:016x}")
}

/// Calls the tool `name`; `None` when it is not one of these.
pub(super) fn tool(name: &str, params: &Value, tasks: &Tasks) -> Option<Answer> {
    let round = match Round::of(params) {
        Ok(round) => round,
        Err(fault) => return Some(Err(fault)),
    };
    Some(match name {
        "test_input_required_result_elicitation" => Ok(match round.response("user_name") {
            Some(response) => {
                says(format!("Hello, {}!", response["content"]["name"].as_str().unwrap_or("somebody")))
            }
            None => asks(&json!({ "user_name": name_form("What is your name?") }), None),
        }),
        "test_input_required_result_sampling" => Ok(match round.response("capital_question") {
            Some(response) => says(response["content"]["text"].as_str().unwrap_or_default()),
            None => asks(&json!({ "capital_question": sample("What is the capital of France?", 100) }), None),
        }),
        "test_input_required_result_list_roots" => Ok(match round.response("client_roots") {
            Some(response) => says(format!("The roots are {}.", response["roots"])),
            None => asks(&json!({ "client_roots": roots() }), None),
        }),
        "test_input_required_result_request_state" => confirmed(&round, &sealed("confirm"), "state-ok"),
        "test_input_required_result_tampered_state" => confirmed(&round, &sealed("tamper"), "state-ok"),
        "test_input_required_result_multiple_inputs" => several(&round),
        "test_input_required_result_multi_round" => twice(&round),
        "test_input_required_result_capabilities" => Ok(answerable(params)),
        "test_streaming_elicitation" => Ok(match round.response("answer") {
            Some(_) => says("Thank you."),
            None => asks(&json!({ "answer": name_form("What is your name?") }), None),
        }),
        "test_tool_with_task" => match round.response("user_name") {
            Some(response) => {
                let name = response["content"]["name"].as_str().unwrap_or_default().to_owned();
                round.check(&sealed("task")).map(|()| tasks.create(Job::Greets { name }))
            }
            None => Ok(asks(&json!({ "user_name": name_form("What is your name?") }), Some(&sealed("task")))),
        },
        _ => return None,
    })
}

fn confirmed(round: &Round<'_>, state: &str, words: &str) -> Answer {
    match round.response("confirm") {
        Some(_) => round.check(state).map(|()| says(words)),
        None => Ok(asks(&json!({ "confirm": confirm() }), Some(state))),
    }
}

fn several(round: &Round<'_>) -> Answer {
    let state = sealed("several");
    let requests = json!({
        "user_name": name_form("What is your name?"),
        "greeting": sample("Generate a greeting", 50),
        "client_roots": roots()
    });
    if ["user_name", "greeting", "client_roots"].iter().all(|key| round.response(key).is_some()) {
        return round.check(&state).map(|()| says("All three are answered."));
    }
    Ok(asks(&requests, Some(&state)))
}

fn twice(round: &Round<'_>) -> Answer {
    let (first, second) = (sealed("round-1"), sealed("round-2"));
    if round.response("step2").is_some() {
        return round.check(&second).map(|()| says("Both steps are done."));
    }
    if round.response("step1").is_some() {
        round.check(&first)?;
        let question =
            elicit("Step 2: What is your favorite color?", &json!({ "color": { "type": "string" } }));
        return Ok(asks(&json!({ "step2": question }), Some(&second)));
    }
    Ok(asks(&json!({ "step1": name_form("Step 1: What is your name?") }), Some(&first)))
}

/// Asks what the client has said that it can answer.
fn answerable(params: &Value) -> Value {
    let capabilities = &params["_meta"][CAPABILITIES];
    let mut requests = Map::new();
    for (capability, request) in
        [("sampling", sample("Say something.", 50)), ("elicitation", confirm()), ("roots", roots())]
    {
        if capabilities.get(capability).is_some() {
            requests.insert(capability.to_owned(), request);
        }
    }
    if requests.is_empty() || params.get("inputResponses").is_some() {
        return says("Nothing more to ask.");
    }
    asks(&Value::Object(requests), None)
}

/// The prompt that asks.
pub(super) fn prompt_that_asks(params: &Value) -> Answer {
    let round = Round::of(params)?;
    Ok(match round.response("user_context") {
        Some(response) => json!({
            "messages": [{ "role": "user", "content": text(format!("Given: {}", response["content"])) }]
        }),
        None => {
            let question =
                elicit("What context should the prompt use?", &json!({ "context": { "type": "string" } }));
            asks(&json!({ "user_context": question }), None)
        }
    })
}
