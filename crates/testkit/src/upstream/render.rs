//! Puts an answer into the dialect of its request.

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::Response;
use super::{Answer, Endpoint, Recorded, Turn, Usage, anthropic, gemini, openai_chat, openai_responses};

/// What a dialect's rendering needs to know of the request.
pub(super) struct Asked {
    /// The model that was asked for.
    pub(super) model: String,
    /// The members of the body that say how to answer.
    pub(super) body: Value,
    /// The counters to report.
    pub(super) usage: Usage,
    /// Tells one answer's ids from another's: it follows from the request.
    pub(super) serial: String,
    /// What a provider that counts for itself adds.
    pub(super) extras: Extras,
}

/// What a provider that counts for itself says beside the turn.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// What the answer's ids are made with.
    pub(crate) serial: Option<String>,
    /// The usage in Anthropic's form, in full.
    pub(crate) anthropic_usage: Option<Value>,
    /// Further members of an Anthropic message.
    pub(crate) anthropic_members: Vec<(&'static str, Value)>,
    /// Whether OpenAI's usage says what was written to the cache.
    pub(crate) counts_writes: bool,
    /// Whether the path, and not the body, asks for a stream of Anthropic's events, or for none.
    pub(crate) anthropic_streams: Option<bool>,
}

pub(super) fn response(request: &Recorded, answer: Answer) -> Response {
    match answer {
        Answer::Raw(response) => response,
        Answer::Turn(turn) => turn_response(request, turn, Extras::default()),
    }
}

/// The turn in the dialect of the request.
pub(crate) fn turn_response(request: &Recorded, turn: Turn, extras: Extras) -> Response {
    let by_path = extras.anthropic_streams;
    let asked = asked(request, &turn, extras);
    if let Some(streams) = by_path {
        let mut response = if streams {
            Response::events(anthropic::events(&turn, &asked))
        } else {
            Response::json(200, &anthropic::message(&turn, &asked))
        };
        response.delivery = turn.delivery;
        return response;
    }
    let streams = asked.body["stream"] == true;
    let mut response = match request.endpoint() {
        Endpoint::AnthropicMessages if streams => Response::events(anthropic::events(&turn, &asked)),
        Endpoint::AnthropicMessages => Response::json(200, &anthropic::message(&turn, &asked)),
        Endpoint::OpenaiChat if streams => Response::events(openai_chat::events(&turn, &asked)),
        Endpoint::OpenaiChat => Response::json(200, &openai_chat::completion(&turn, &asked)),
        Endpoint::OpenaiResponses if streams => Response::events(openai_responses::events(&turn, &asked)),
        Endpoint::OpenaiResponses => Response::json(200, &openai_responses::response(&turn, &asked)),
        Endpoint::GeminiStream if request.path.contains("alt=sse") => {
            Response::events(gemini::events(&turn, &asked))
        }
        Endpoint::GeminiStream => Response::json(200, &Value::Array(vec![gemini::whole(&turn, &asked)])),
        Endpoint::GeminiGenerate => Response::json(200, &gemini::whole(&turn, &asked)),
        other => error(other, 404, "this is not a request for a turn"),
    };
    response.delivery = turn.delivery;
    response
}

/// The members of a body that say how the answer is to be given. The rest, which can be long, is passed over.
#[derive(Deserialize, Default)]
#[serde(default)]
struct How {
    model: Value,
    stream: Value,
    stream_options: Value,
}

fn asked(request: &Recorded, turn: &Turn, extras: Extras) -> Asked {
    let how: How = serde_json::from_slice(&request.body).unwrap_or_else(|_| {
        // A member that is there twice: the last one counts.
        let mut body = request.json();
        How {
            model: body["model"].take(),
            stream: body["stream"].take(),
            stream_options: body["stream_options"].take(),
        }
    });
    let model = how.model.as_str().map_or_else(|| gemini::model_of(&request.path), str::to_owned);
    let body = json!({ "stream": how.stream, "stream_options": how.stream_options });
    let usage = turn.usage.unwrap_or(Usage {
        input: request.body.len() as u64 / 4,
        cache_read: 0,
        cache_write: 0,
        output: turn.said().len() as u64 / 4 + 16 * turn.calls().count() as u64 + 1,
    });
    let serial = extras.serial.clone().unwrap_or_else(|| {
        let hashed = request.body.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{:016x}", hashed ^ request.body.len() as u64)
    });
    Asked { model, body, usage, serial, extras }
}

/// The answer to what is asked beside the conversation: lists of models, counts of tokens.
pub(crate) fn aside(request: &Recorded) -> Response {
    let count = request.body.len() / 4;
    match request.endpoint() {
        Endpoint::AnthropicCountTokens => Response::json(200, &json!({ "input_tokens": count })),
        Endpoint::GeminiCountTokens => Response::json(200, &json!({ "totalTokens": count })),
        Endpoint::Models => Response::json(
            200,
            &json!({
                "object": "list",
                "data": [{ "id": "mock-model", "object": "model", "type": "model", "created": 0, "owned_by": "testkit" }],
                "has_more": false
            }),
        ),
        Endpoint::Other if request.method == "HEAD" => Response::json(200, &Value::Null),
        other => error(other, 404, "the scripted provider has nothing at this path"),
    }
}

/// An error in the form of the endpoint's provider.
pub(super) fn error(endpoint: Endpoint, status: u16, message: &str) -> Response {
    let body = match endpoint {
        Endpoint::AnthropicMessages | Endpoint::AnthropicCountTokens => json!({
            "type": "error",
            "error": { "type": "invalid_request_error", "message": message },
            "request_id": "req_testkit"
        }),
        Endpoint::GeminiGenerate | Endpoint::GeminiStream | Endpoint::GeminiCountTokens => {
            json!({ "error": { "code": status, "message": message, "status": "FAILED_PRECONDITION" } })
        }
        _ => {
            json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": null } })
        }
    };
    Response::json(status, &body)
}

/// One event as it stands on the wire.
pub(super) fn event(name: Option<&str>, data: &Value) -> Vec<u8> {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n").into_bytes(),
        None => format!("data: {data}\n\n").into_bytes(),
    }
}

/// A text in two parts, cut at a character near its middle, so that every stream has deltas to put together.
pub(super) fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|half| !half.is_empty())
}
