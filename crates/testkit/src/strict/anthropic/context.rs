//! What the provider itself takes out before the model reads: dropped thinking, everything before a compaction, and what
//! context editing clears. It works on what was sent, request by request, and remembers nothing.

use std::collections::HashMap;

use super::super::cache::{Hash, hash};
use super::super::json::Json;
use super::super::verdict::AppliedEdit;
use super::prompt::Prompt;
use super::{Place, Rendered};

/// Tokens of what stands where a result was cleared.
const PLACEHOLDER: u64 = 10;
/// From how many tokens results are cleared, and how many are kept, unless the request says so.
const TRIGGER: u64 = 100_000;
const KEEP: u64 = 3;

/// How one place is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    AsSent,
    Not,
    /// Something shorter in its place.
    Cleared(Hash, u64),
}

/// How each place is read, and what was edited.
pub(super) fn shown(
    prompt: &Prompt<'_>,
    rendered: &Rendered<'_, '_>,
    dropped: &[(usize, usize)],
) -> (Vec<Shown>, Vec<AppliedEdit>) {
    let mut shown = vec![Shown::AsSent; rendered.places.len()];
    let by_place: HashMap<(usize, usize), usize> =
        rendered.places.iter().enumerate().filter_map(|(at, place)| Some((place.at?, at))).collect();
    for place in dropped.iter().filter_map(|at| by_place.get(at)) {
        shown[*place] = Shown::Not;
    }
    let compactions = prompt.blocks().filter(|(_, _, block)| block.kind() == "compaction");
    if let Some(&start) = compactions.last().and_then(|(at, place, _)| by_place.get(&(at, place))) {
        shown[rendered.messages..start].fill(Shown::Not);
    }
    let mut applied = Vec::new();
    for edit in prompt.body.get("context_management").get("edits").items() {
        let done = match edit.kind() {
            "clear_tool_uses_20250919" => clear_tools(prompt, edit, &by_place, &rendered.places, &mut shown),
            "clear_thinking_20251015" => {
                clear_thinking(prompt, edit, &by_place, &rendered.places, &mut shown)
            }
            _ => None,
        };
        applied.extend(done);
    }
    (shown, applied)
}

fn tokens(places: &[Place], shown: &[Shown]) -> u64 {
    let each = places.iter().zip(shown).map(|(place, shown)| match shown {
        Shown::AsSent => place.tokens,
        Shown::Not => 0,
        Shown::Cleared(_, tokens) => *tokens,
    });
    each.sum()
}

fn value(json: &Json<'_>) -> Option<u64> {
    json.get("value").number().map(|value| value as u64)
}

fn clear_tools(
    prompt: &Prompt<'_>,
    edit: &Json<'_>,
    by_place: &HashMap<(usize, usize), usize>,
    places: &[Place],
    shown: &mut Vec<Shown>,
) -> Option<AppliedEdit> {
    let excluded: Vec<&str> = edit.get("exclude_tools").items().iter().filter_map(Json::text).collect();
    let mut results = HashMap::new();
    let mut uses = Vec::new();
    for (at, place, block) in prompt.blocks() {
        let Some(&number) = by_place.get(&(at, place)).filter(|number| shown[**number] == Shown::AsSent)
        else {
            continue;
        };
        match block.kind() {
            "tool_result" => {
                results.insert(block.get("tool_use_id").text().unwrap_or_default(), number);
            }
            "tool_use" if !excluded.contains(&block.get("name").text().unwrap_or_default()) => {
                uses.push((block.get("id").text().unwrap_or_default(), number));
            }
            _ => {}
        }
    }
    let trigger = edit.get("trigger");
    let reached = match trigger.kind() {
        "tool_uses" => uses.len() as u64 > value(trigger).unwrap_or_default(),
        _ => tokens(places, shown) > value(trigger).unwrap_or(TRIGGER),
    };
    let keep = value(edit.get("keep")).unwrap_or(KEEP) as usize;
    if !reached || uses.len() <= keep {
        return None;
    }
    let inputs = edit.get("clear_tool_inputs").is_true();
    let mut after = shown.clone();
    let mut count = 0;
    for (id, number) in &uses[..uses.len() - keep] {
        let Some(&result) = results.get(id) else { continue };
        after[result] = Shown::Cleared(hash(&[b"cleared result", id.as_bytes()]), PLACEHOLDER);
        if inputs {
            after[*number] = Shown::Cleared(hash(&[b"cleared input", id.as_bytes()]), PLACEHOLDER);
        }
        count += 1;
    }
    let freed = tokens(places, shown).saturating_sub(tokens(places, &after));
    if freed == 0 || value(edit.get("clear_at_least")).is_some_and(|least| freed < least) {
        return None;
    }
    *shown = after;
    Some(AppliedEdit { kind: "clear_tool_uses_20250919", count, tokens: freed })
}

fn clear_thinking(
    prompt: &Prompt<'_>,
    edit: &Json<'_>,
    by_place: &HashMap<(usize, usize), usize>,
    places: &[Place],
    shown: &mut [Shown],
) -> Option<AppliedEdit> {
    if edit.get("keep").text() == Some("all") {
        return None;
    }
    let keep = value(edit.get("keep")).unwrap_or(1) as usize;
    let thinks = |at: usize| prompt.messages[at].blocks.iter().any(super::prompt::Block::is_thinking);
    let turns: Vec<usize> = (0..prompt.messages.len()).filter(|at| thinks(*at)).collect();
    let before = tokens(places, shown);
    let cleared = turns.get(..turns.len().saturating_sub(keep)).unwrap_or_default();
    for &at in cleared {
        for (place, block) in prompt.messages[at].blocks.iter().enumerate() {
            if let (true, Some(&number)) = (block.is_thinking(), by_place.get(&(at, place))) {
                shown[number] = Shown::Not;
            }
        }
    }
    let freed = before - tokens(places, shown);
    (freed > 0).then_some(AppliedEdit {
        kind: "clear_thinking_20251015",
        count: cleared.len() as u64,
        tokens: freed,
    })
}
