//! Signed thinking: making signatures, and what is asked of thinking that comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::account::Account;
use super::super::cache::{Hash, hash};
use super::super::models::{Model, reads_thinking_of};
use super::super::rules::Rule;
use super::super::verdict::{Refusal, Transformed};
use super::betas::{BINDING_BETA, Mismatch};
use super::prompt::{Block, Prompt};
use super::shape::turns;

/// What the judge knows of one thinking block that it made.
#[derive(Debug)]
struct Made {
    model: String,
    /// Which response it came in, and how many thinking blocks that had.
    response: u64,
    of: u32,
    /// All that was sent and said before it, thinking apart.
    bound: Hash,
    /// The thinking that stood before it, by number.
    before: Vec<u32>,
}

/// All signatures that were ever made.
#[derive(Debug)]
pub(crate) struct Signatures {
    secret: Hash,
    made: Vec<Made>,
}

impl Default for Signatures {
    fn default() -> Self {
        Self { secret: hash(&[b"the strict provider"]), made: Vec::new() }
    }
}

/// Where a new thinking block stands.
pub(crate) struct Origin<'a> {
    pub(crate) model: &'a str,
    pub(crate) response: u64,
    pub(crate) of: u32,
    pub(crate) bound: Hash,
    pub(crate) before: &'a [u32],
}

impl Signatures {
    /// A signature for `text`, and the number of the block.
    pub(crate) fn sign(&mut self, kind: &str, text: &str, origin: Origin<'_>) -> (u32, String) {
        let number = self.made.len() as u32;
        self.made.push(Made {
            model: origin.model.to_owned(),
            response: origin.response,
            of: origin.of,
            bound: origin.bound,
            before: origin.before.to_vec(),
        });
        let code = self.code(number, kind, text).unwrap_or_default();
        (number, STANDARD.encode([&number.to_le_bytes()[..], &code].concat()))
    }

    fn code(&self, number: u32, kind: &str, text: &str) -> Option<Hash> {
        let made = self.made.get(number as usize)?;
        // The kind and the model cannot hold a zero byte, so the parts cannot be shifted.
        let parts: [&[u8]; 8] = [
            &self.secret,
            &number.to_le_bytes(),
            kind.as_bytes(),
            b"\0",
            made.model.as_bytes(),
            b"\0",
            &made.bound,
            text.as_bytes(),
        ];
        Some(hash(&parts))
    }

    /// The number of the block that `signature` was made for; whether the block is still that one.
    fn read(&self, block: &Block<'_>) -> Option<(u32, bool)> {
        let kind = block.kind();
        let (signature, text) = match kind {
            "redacted_thinking" => (block.get("data"), ""),
            _ => (block.get("signature"), block.get("thinking").text().unwrap_or_default()),
        };
        let bytes = STANDARD.decode(signature.text()?).ok()?;
        let (number, code) = bytes.split_first_chunk::<4>()?;
        let number = u32::from_le_bytes(*number);
        self.made.get(number as usize)?;
        Some((number, self.code(number, kind, text)?.as_slice() == code))
    }
}

/// A thinking block of a request: where it stands and what stands before it.
pub(super) struct Sent<'p, 'a> {
    pub(super) at: (usize, usize),
    pub(super) block: &'p Block<'a>,
    pub(super) bound: Hash,
}

/// What became of the thinking of a request.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) transformed: Vec<Transformed>,
    /// The numbers of all thinking blocks, as sent.
    pub(super) numbers: Vec<u32>,
    /// Where blocks were left out.
    pub(super) dropped: Vec<(usize, usize)>,
}

fn forged((at, place): (usize, usize), kind: &str) -> Refusal {
    let message = format!("messages.{at}.content.{place}: Invalid `signature` in `{kind}` block");
    Refusal::new(Rule::ForgedSignature, message)
}

fn modified((at, place): (usize, usize)) -> Refusal {
    Refusal::new(
        Rule::LatestThinking,
        format!(
            "messages.{at}.content.{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot \
             be modified. These blocks must remain as they were in the original response."
        ),
    )
}

/// All that is asked of thinking. `sent` are the thinking blocks in their order.
pub(super) fn check(
    prompt: &Prompt<'_>,
    own: &Model,
    account: &Account,
    mismatch: Mismatch,
    signatures: &Signatures,
    sent: &[Sent<'_, '_>],
) -> Result<Outcome, Refusal> {
    manual_start(prompt)?;
    let latest = prompt.messages.iter().rposition(|message| message.role == "assistant");
    let mut outcome = Outcome::default();
    for one in sent {
        match signatures.read(one.block) {
            Some((number, true)) => outcome.numbers.push(number),
            Some((_, false)) if Some(one.at.0) == latest => return Err(modified(one.at)),
            _ => return Err(forged(one.at, one.block.kind())),
        }
    }
    latest_is_whole(signatures, sent, &outcome.numbers, latest)?;
    for (order, one) in sent.iter().enumerate() {
        let (before, number) = (&outcome.numbers[..order], outcome.numbers[order]);
        let Some(made) = signatures.made.get(number as usize) else { continue };
        let path = || format!("messages.{}.content.{}", one.at.0, one.at.1);
        if !reads_thinking_of(prompt.model, &made.model) {
            let reason = "model_binding_mismatch";
            outcome.transformed.push(Transformed { path: path(), dropped: true, reason });
            outcome.dropped.push(one.at);
            continue;
        }
        if !own.binds_thinking {
            continue;
        }
        let rule = if made.bound != one.bound {
            Rule::BoundPrefix
        } else if made.before.ends_with(before) {
            continue;
        } else {
            Rule::BoundOrder
        };
        let enforced = account.checks_binding || mismatch != Mismatch::Default;
        if enforced && mismatch != Mismatch::Drop {
            return Err(bound(rule, one.at, one.block.kind(), prompt.has_beta(BINDING_BETA)));
        }
        let reason = "prefix_binding_mismatch";
        outcome.transformed.push(Transformed { path: path(), dropped: enforced, reason });
        if enforced {
            outcome.dropped.push(one.at);
        }
    }
    Ok(outcome)
}

fn bound(rule: Rule, (at, place): (usize, usize), kind: &str, beta: bool) -> Refusal {
    let hint = if beta {
        String::new()
    } else {
        format!(" This setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header.")
    };
    Refusal::new(
        rule,
        format!(
            "messages.{at}.content.{place}: Invalid `signature` in `{kind}` block. The block is bound to a different \
             conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".{hint}"
        ),
    )
}

/// In the latest assistant message, what a response thought is there whole and in order, or not at all.
fn latest_is_whole(
    signatures: &Signatures,
    sent: &[Sent<'_, '_>],
    numbers: &[u32],
    latest: Option<usize>,
) -> Result<(), Refusal> {
    let start = sent.iter().position(|one| Some(one.at.0) == latest).unwrap_or(sent.len());
    let mut at = start;
    while let Some(&first) = numbers.get(at) {
        let Some(made) = signatures.made.get(first as usize) else { return Ok(()) };
        let whole = (0..made.of as usize).all(|offset| {
            numbers.get(at + offset) == Some(&(first + offset as u32))
                && signatures
                    .made
                    .get(first as usize + offset)
                    .is_some_and(|other| other.response == made.response)
        });
        if !whole {
            return Err(modified(sent[at].at));
        }
        at += made.of as usize;
    }
    Ok(())
}

/// Manual thinking: the assistant turn before trailing tool results starts with thinking.
fn manual_start(prompt: &Prompt<'_>) -> Result<(), Refusal> {
    if prompt.body.get("thinking").kind() != "enabled" {
        return Ok(());
    }
    let turns = turns(prompt);
    let answers = |at: usize| {
        let mut blocks = turns[at].1.iter().flat_map(|message| &message.blocks);
        turns[at].1[0].role == "user" && blocks.all(|block| block.kind() == "tool_result")
    };
    // Back over calls and results to the first assistant message of the turn.
    let mut first = None;
    let mut at = turns.len();
    while at >= 2 && answers(at - 1) && turns[at - 2].1[0].role == "assistant" {
        first = Some(at - 2);
        at -= 2;
    }
    let Some((number, turn)) = first.map(|first| &turns[first]) else { return Ok(()) };
    let Some(block) = turn[0].blocks.first() else { return Ok(()) };
    if block.is_thinking() {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::ManualStart,
        format!(
            "messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is \
             enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of \
             `tool_use` and `tool_result` blocks).",
            block.kind()
        ),
    ))
}
