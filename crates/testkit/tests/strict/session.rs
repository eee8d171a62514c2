//! A client with a scripted session: what it would send, what a rewriter makes of it, what the judge says.

use std::time::Duration;

use deadweight_testkit::strict::{Account, Bill, Judge, Request, Verdict};
use deadweight_testkit::upstream::{Call, Step, Turn};
use serde_json::{Value, json};

pub(crate) const BINDING: &str = "claude-opus-5-5";
pub(crate) const OLDER: &str = "claude-opus-4-8";
pub(crate) const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// A text of our own, so many bytes long, that tells its number.
pub(crate) fn prose(number: usize, bytes: usize) -> String {
    let mut text = format!("Part {number}:");
    while text.len() < bytes {
        text.push_str(" the quick brown fox looks at line ");
        text.push_str(&(text.len() * 7 + number).to_string());
    }
    text.truncate(bytes);
    text
}

/// An image that is 750 × 4: four tokens.
pub(crate) fn picture() -> String {
    use base64::Engine as _;
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(750u32.to_be_bytes());
    png.extend(4u32.to_be_bytes());
    png.extend([8; 40]);
    base64::engine::general_purpose::STANDARD.encode(png)
}

/// One request on its way.
pub(crate) struct Sent {
    pub(crate) body: Value,
    /// Sent instead of the body.
    pub(crate) raw: Option<String>,
    pub(crate) betas: Vec<String>,
}

impl Sent {
    pub(crate) fn messages(&mut self) -> &mut Vec<Value> {
        self.body["messages"].as_array_mut().unwrap()
    }

    pub(crate) fn tools(&mut self) -> &mut Vec<Value> {
        self.body["tools"].as_array_mut().unwrap()
    }

    /// A block of a message.
    pub(crate) fn block(&mut self, message: usize, at: usize) -> &mut Value {
        &mut self.body["messages"][message]["content"][at]
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.raw.clone().unwrap_or_else(|| self.body.to_string()).into_bytes()
    }

    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        vec![("anthropic-beta".into(), self.betas.join(","))]
    }
}

/// How a session is to go.
pub(crate) struct Plan {
    pub(crate) account: Account,
    pub(crate) model: &'static str,
    pub(crate) turns: usize,
    pub(crate) thinking: Value,
    pub(crate) gap: Duration,
}

impl Plan {
    pub(crate) fn new(model: &'static str) -> Self {
        Self {
            account: Account::NEW,
            model,
            turns: 9,
            thinking: json!({ "type": "adaptive" }),
            gap: Duration::from_secs(20),
        }
    }
}

/// What became of a session.
pub(crate) struct Run {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) bills: Vec<Bill>,
    /// Whether the rewriter changed anything.
    pub(crate) rewritten: bool,
}

impl Run {
    pub(crate) fn nanos(&self) -> u64 {
        self.bills.iter().map(|bill| bill.nanos).sum()
    }

    pub(crate) fn dropped(&self) -> usize {
        self.verdicts.iter().filter_map(Verdict::accepted).map(|accepted| accepted.dropped().count()).sum()
    }
}

pub(crate) fn tool(name: &str, number: usize) -> Value {
    json!({
        "name": name,
        "description": prose(number, 400),
        "input_schema": {
            "type": "object",
            "properties": { "path": { "type": "string" }, "seconds": { "type": "number" } }
        }
    })
}

pub(crate) fn tools() -> Value {
    let mut deferred = tool("deploy", 4);
    deferred["defer_loading"] = true.into();
    let mut other = tool("rollback", 5);
    other["defer_loading"] = true.into();
    json!([tool("look", 1), tool("edit", 2), tool("find_tools", 3), deferred, other])
}

pub(crate) fn system() -> Value {
    json!([
        { "type": "text", "text": "You are an agent for tests." },
        { "type": "text", "text": prose(6, 3_000), "cache_control": { "type": "ephemeral" } }
    ])
}

fn call(turn: usize, at: usize, name: &str) -> Step {
    let input = json!({ "path": format!("src/{turn}/{at}.rs"), "seconds": 1.5 });
    Step::Call(Call::new(format!("toolu_{turn}_{at}"), name, input))
}

fn thought(text: String) -> Step {
    Step::Thinking { text, signature: String::new() }
}

/// What the model says in each turn: every fourth time it comes to an end.
fn model_turn(turn: usize) -> Turn {
    let start = Turn::default()
        .then(thought(format!("Thinking about {turn}.")))
        .then(Step::Text(format!("This is step {turn}.")));
    match turn % 4 {
        3 => start,
        2 => start.then(call(turn, 0, "find_tools")),
        1 => start
            .then(call(turn, 0, "look"))
            .then(thought(format!("More on {turn}.")))
            .then(call(turn, 1, "edit")),
        _ => start.then(call(turn, 0, "look")).then(call(turn, 1, "edit")),
    }
}

/// What the user says after it.
fn user_turn(turn: usize) -> Value {
    let result = |at: usize, content: Value| json!({ "type": "tool_result", "tool_use_id": format!("toolu_{turn}_{at}"), "content": content });
    let text = |at: usize| json!(prose(turn * 10 + at, 1_200));
    let content = match turn % 4 {
        3 => json!([{ "type": "text", "text": format!("Go on after {turn}.") }]),
        2 => json!([result(0, json!([{ "type": "tool_reference", "tool_name": "deploy" }]))]),
        1 => {
            let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": picture() } });
            json!([
                result(0, json!([{ "type": "text", "text": prose(turn, 900) }, image])),
                result(1, text(1))
            ])
        }
        _ => json!([result(0, text(0)), result(1, text(1))]),
    };
    json!({ "role": "user", "content": content })
}

/// The content that a client keeps of a turn.
pub(crate) fn content(turn: &Turn) -> Value {
    turn.steps
        .iter()
        .map(|step| match step {
            Step::Text(text) => json!({ "type": "text", "text": text }),
            Step::Thinking { text, signature } => {
                json!({ "type": "thinking", "thinking": text, "signature": signature })
            }
            Step::Call(call) => {
                json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.input })
            }
            Step::Raw(raw) => raw.clone(),
        })
        .collect()
}

/// Runs a session until it ends or a request is refused. `rewrite` is given the number of each request and what the
/// client would send.
pub(crate) fn run(plan: &Plan, rewrite: &mut dyn FnMut(usize, &mut Sent)) -> Run {
    let mut judge = Judge::new(plan.account);
    let mut messages =
        vec![json!({ "role": "user", "content": [{ "type": "text", "text": "Please do the work." }] })];
    let mut run = Run { verdicts: Vec::new(), bills: Vec::new(), rewritten: false };
    let mut at = Duration::ZERO;
    for turn in 0..plan.turns {
        let mut marked = messages.clone();
        let last = marked.last_mut().unwrap()["content"].as_array_mut().unwrap().last_mut().unwrap();
        last["cache_control"] = json!({ "type": "ephemeral" });
        let mut sent = Sent {
            body: json!({
                "model": plan.model, "messages": marked, "system": system(), "tools": tools(),
                "max_tokens": 4_000, "thinking": plan.thinking
            }),
            raw: None,
            betas: vec!["interleaved-thinking-2025-05-14".into()],
        };
        if plan.thinking.get("block_binding").is_some() {
            sent.betas.push(BINDING_BETA.into());
        }
        let before = (sent.bytes(), sent.betas.clone());
        rewrite(turn, &mut sent);
        run.rewritten |= before != (sent.bytes(), sent.betas.clone());
        let (headers, body) = (sent.headers(), sent.bytes());
        let verdict =
            judge.judge(Request { path: "/v1/messages?beta=true", headers: &headers, body: &body, at });
        run.verdicts.push(verdict);
        let Some(Verdict::Accepted(accepted)) = run.verdicts.last() else { return run };
        judge.begin(&accepted.ticket, at + Duration::from_secs(1));
        let (said, bill) = judge.answer(&accepted.ticket, model_turn(turn));
        run.bills.push(bill);
        messages.push(json!({ "role": "assistant", "content": content(&said) }));
        messages.push(user_turn(turn));
        at += plan.gap;
    }
    run
}

/// The session as the client has it.
pub(crate) fn faithful(plan: &Plan) -> Run {
    let run = run(plan, &mut |_, _| {});
    if let Some(refusal) = run.verdicts.last().and_then(Verdict::refusal) {
        panic!("turn {}: {} {}", run.verdicts.len() - 1, refusal.rule, refusal.message);
    }
    run
}
