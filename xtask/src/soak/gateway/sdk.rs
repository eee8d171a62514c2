//! The SDKs of Anthropic and OpenAI, which take their addresses from the environment: a loop with tools each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadweight_testkit::upstream::Upstream;
use serde_json::json;

use super::script::{Beat, Bill, Played};
use super::{Ran, Way, judge, launch};
use crate::{Failure, Result, place, provision};

/// Loops of the three ways in which the SDKs stream, each until the model calls no more tools.
const PROGRAM: &str = r#"
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
const schema = { type: 'object', properties: { limit: { type: 'integer' } } };
const name = 'note_list', description = 'Lists notes.';
const anthropic = new Anthropic();
let messages = [{ role: 'user', content: 'go' }];
for (;;) {
  const stream = anthropic.messages.stream({ model: 'claude-opus-4-8', max_tokens: 64, messages, tools: [{ name, description, input_schema: schema }] });
  const answer = await stream.finalMessage();
  messages.push({ role: 'assistant', content: answer.content });
  const calls = answer.content.filter((block) => block.type === 'tool_use');
  if (calls.length === 0) break;
  messages.push({ role: 'user', content: calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: 'one, two' })) });
}
const openai = new OpenAI();
messages = [{ role: 'user', content: 'go' }];
for (let turn = 0; turn < 2; turn++) {
  const stream = await openai.chat.completions.create({ model: 'gpt-5', messages, stream: true, stream_options: { include_usage: true }, tools: [{ type: 'function', function: { name, description, parameters: schema } }] });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'go on' });
}
const stream = await openai.responses.create({ model: 'gpt-5', input: 'go', stream: true, tools: [{ type: 'function', name, description, parameters: schema, strict: false }] });
for await (const event of stream) if (event.type === 'response.completed') console.log(event.response.usage.input_tokens);
"#;

/// Installs them, with exact versions.
pub(crate) fn install() -> Result<PathBuf> {
    provision::kept_as("clients/sdk-1.14.0-7.59.0", |folder| {
        provision::npm_install(folder, &["@anthropic-ai/sdk@1.14.0", "openai@7.59.0"])
    })
}

/// Runs them, straight and through the gateway.
pub(super) fn run(deadweight: &Path) -> Result<String> {
    let folder = place::workspace().join("recorded/gateway/sdk");
    let packages = install()?;
    let program = packages.join("loop.mjs");
    fs::write(&program, PROGRAM)?;
    let play = |way: &Way<'_>, name: &str| -> Result<Ran> {
        let folder = folder.join(name);
        fs::create_dir_all(&folder)?;
        let bill = Bill::default();
        let list = || Beat::Call("note_list", json!({ "limit": 3 }));
        let beats = vec![list(), Beat::Refuse(529), list(), Beat::Slow("note_list", json!({ "limit": 4 }))];
        let upstream = Upstream::with_script(Played::new(beats, false, bill.clone()))?;
        let mut node = Command::new("node");
        node.env_clear().env("PATH", std::env::var("PATH").unwrap_or_default()).env("HOME", &folder);
        node.env("ANTHROPIC_API_KEY", "sk-ant-dummy").env("OPENAI_API_KEY", "dummy");
        node.env("ANTHROPIC_BASE_URL", upstream.url())
            .env("OPENAI_BASE_URL", format!("{}/v1", upstream.url()));
        node.current_dir(&folder).arg(&program);
        let ran = launch(node, way, &folder.join("client.log"), &folder)?;
        Ok(Ran { requests: upstream.requests(), billed: bill.sums(), ..ran })
    };
    let direct = play(&Way::Direct, "direct")?;
    let through = play(&Way::Through { deadweight, flags: &["--ledger", "off"] }, "through")?;
    judge::same(&direct, &through)?;
    judge::failures(&through, &[("529", 1)])?;
    if through.ended != "0" {
        return Err(Failure::new(format!("the loops ended with {}", through.ended)));
    }
    judge::billed(&through)?;
    Ok(format!(
        "{:<20} as without the gateway; {} turns told as they were billed",
        "sdk", through.billed.turns
    ))
}
