//! Large results: cut at first sight to their beginning and end, with the original kept to read on in.
//!
//! What counts is the text of a result, as its reader sees it. Pictures, resources, `_meta`, `isError` and unknown members keep
//! their bytes. `structuredContent` stays, unless it is large itself and repeats the text: then it would bring back what was cut,
//! and it goes.

use super::Own;
use super::reply::{Reply, ceiling, floor, short};
use super::stub::quoted;
use bytes::Bytes;
use deadweight_lock::Hash;
use deadweight_wire::definition::compact;
use deadweight_wire::json::{Kind, Parser, Value};
use deadweight_wire::splice::Edits;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// A limit that is smaller counts as this, in bytes: the words of the cut need room.
pub const LEAST: usize = 1_024;

/// What one page holds at most, in bytes.
pub const PAGE: usize = 32 * 1024;

/// What is kept: how many originals, how many bytes of them, and for how long after they were last asked for.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 32 << 20;
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);

/// Up to this size texts that are spelt differently are compared by what they say.
const COMPARED: usize = 4 << 20;

/// Room for the words of a cut, and for those below a page.
const WORDS: usize = 320;

/// The originals of results that were cut, and the cutting.
#[derive(Default)]
pub struct Results {
    kept: HashMap<String, Original>,
    bytes: usize,
    /// Counts uses, so that of two that were last used at one time the order is known.
    uses: u64,
    /// The name of the tool that reads on, where it is another than usual.
    reader: Option<String>,
}

struct Original {
    text: String,
    /// The size of a page of it.
    page: usize,
    at: Duration,
    used: u64,
}

impl fmt::Debug for Results {
    /// Without the originals: they are nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results").field("kept", &self.kept.len()).field("bytes", &self.bytes).finish()
    }
}

impl Results {
    /// Under which name the tool is listed that reads on. It is in what stands in the place of what was cut.
    pub fn call_reader(&mut self, shown: &str) {
        self.reader = Some(shown.to_owned());
    }

    fn reader(&self) -> &str {
        self.reader.as_deref().unwrap_or(Own::ReadResult.name())
    }

    /// The result with its text cut to about `max` bytes; `None` when it is not longer, or no result with text. Cutting again
    /// changes nothing. Of a `structuredContent` that is longer than `max` and repeats the text nothing is left.
    pub fn cut(&mut self, result: &Bytes, max: usize, now: Duration) -> Option<Bytes> {
        self.cut_with(result, max, now, true)
    }

    /// [`Results::cut`], with `structuredContent` left in place: for tools whose clients were told to expect it.
    pub fn cut_text(&mut self, result: &Bytes, max: usize, now: Duration) -> Option<Bytes> {
        self.cut_with(result, max, now, false)
    }

    fn cut_with(&mut self, result: &Bytes, max: usize, now: Duration, structure: bool) -> Option<Bytes> {
        let max = max.max(LEAST);
        // The text is no longer than the JSON it stands in.
        if result.len() <= max {
            return None;
        }
        Parser::new().scope(result, |document| {
            let document = document.ok()?;
            let root = document.root();
            let texts = texts(root);
            let total: usize = texts.iter().filter_map(|(_, text)| text.decoded_len()).sum();
            if total <= max {
                return None;
            }
            let (whole, places) = joined(&texts);
            let (head, tail) = parts(&whole, max);
            let words = self.keep(&whole, (head, tail), max, now);
            let mut edits = Edits::new(document);
            // They stand once, where the first text is cut.
            let mut words = Some(words);
            for ((item, text), (start, end)) in texts.iter().zip(places) {
                if end <= head || start >= tail {
                    continue;
                }
                let part = |from: usize, to: usize| whole.get(from..to).unwrap_or_default();
                let words = words.take().unwrap_or_default();
                let left = format!("{}{words}{}", part(start, head), part(tail, end));
                // No provider takes an empty text.
                if left.is_empty() {
                    edits.remove(*item);
                } else {
                    edits.replace(*text, quoted(&left));
                }
            }
            if structure {
                for entry in root.entries().filter(|entry| entry.key.is_str("structuredContent")) {
                    if entry.value.span().len() > max && repeats(entry.value, &texts) {
                        edits.remove(entry);
                    }
                }
            }
            let spliced = edits.apply(&mut Parser::new()).ok()?;
            Some(Bytes::from(spliced.into_bytes()))
        })
    }

    /// Keeps an original, and says what stands in the place of its middle.
    fn keep(&mut self, whole: &str, (head, tail): (usize, usize), max: usize, now: Duration) -> String {
        let missing = tail - head;
        let total = whole.len();
        if total > KEPT_BYTES {
            return format!(
                "\n[… {missing} of {total} bytes are left out here, and were too many to keep. Ask for less at a time. …]\n"
            );
        }
        let id = id(whole);
        self.forget(now);
        if let Some(old) = self.kept.remove(&id) {
            self.bytes -= old.text.len();
        }
        while self.kept.len() >= KEPT || self.bytes + total > KEPT_BYTES {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(id, _)| id.clone());
            let Some(old) = oldest.and_then(|id| self.kept.remove(&id)) else { break };
            self.bytes -= old.text.len();
        }
        self.uses += 1;
        self.bytes += total;
        let page = max.min(PAGE);
        self.kept.insert(id.clone(), Original { text: whole.to_owned(), page, at: now, used: self.uses });
        let reader = self.reader();
        format!(
            "\n[… {missing} of {total} bytes are left out here. Read on with {reader} {{\"id\": \"{id}\", \"offset\": {head}}}. …]\n"
        )
    }

    /// Forgets what was not asked for in a long time.
    fn forget(&mut self, now: Duration) {
        self.kept.retain(|_, kept| now.saturating_sub(kept.at) <= KEPT_FOR);
        self.bytes = self.kept.values().map(|kept| kept.text.len()).sum();
    }

    /// Answers `read_result {id, offset?}`: a page of the original from that byte on, and how to read on.
    pub fn read(&mut self, arguments: &[u8], now: Duration) -> Bytes {
        self.forget(now);
        let reader = self.reader().to_owned();
        let value: Json = serde_json::from_slice(arguments).unwrap_or_default();
        let Some(id) = value.get("id").and_then(Json::as_str).map(str::trim) else {
            return Reply::of(
                "`read_result` takes {\"id\": …, \"offset\": …}, as they stand in the cut result.",
            )
            .error();
        };
        let offset = match value.get("offset") {
            None | Some(Json::Null) => Some(0),
            Some(Json::Number(number)) => number.as_u64(),
            Some(Json::String(number)) => number.trim().parse().ok(),
            Some(_) => None,
        };
        let Some(offset) = offset.and_then(|offset| usize::try_from(offset).ok()) else {
            return Reply::of("`offset` must be a number of bytes, 0 or more.").error();
        };
        self.uses += 1;
        let uses = self.uses;
        let Some(kept) = self.kept.get_mut(id) else {
            let (id, minutes) = (short(id, 80), KEPT_FOR.as_secs() / 60);
            return Reply::of(&format!(
                "There is no result `{id}` here: results are kept for {minutes} minutes, and the oldest go first. Call the tool again."
            ))
            .error();
        };
        (kept.at, kept.used) = (now, uses);
        let total = kept.text.len();
        if offset >= total {
            return Reply::of(&format!(
                "The result `{id}` ends at byte {total}; there is nothing from {offset} on."
            ))
            .error();
        }
        let start = floor(&kept.text, offset);
        let end = floor(&kept.text, start + kept.page.saturating_sub(WORDS));
        let mut reply = Reply::of(kept.text.get(start..end).unwrap_or_default());
        let end_words = if end < total {
            format!("Read on with {reader} {{\"id\": \"{id}\", \"offset\": {end}}}.")
        } else {
            "This is the end.".to_owned()
        };
        reply.line().push(&format!("[… bytes {start} to {end} of {total}. {end_words} …]"));
        reply.done()
    }
}

/// The name of an original: the same text has the same name, and another text has another.
fn id(text: &str) -> String {
    let hash = Hash::of_text(text).to_string();
    let digits: String = hash.rsplit(':').next().unwrap_or_default().chars().take(12).collect();
    format!("r{digits}")
}

/// The texts of a result, each with the element it stands in.
fn texts<'id, 'd>(root: Value<'id, 'd>) -> Vec<(Value<'id, 'd>, Value<'id, 'd>)> {
    let elements = root.get("content").into_iter().flat_map(|content| content.elements());
    let text = |element: Value<'id, 'd>| {
        let is_text = element.get("type").is_some_and(|kind| kind.is_str("text"));
        let text = element.get("text").filter(|text| is_text && text.kind() == Kind::String)?;
        Some((element, text))
    };
    elements.filter_map(text).collect()
}

/// All texts as one, a line break between them, and where each lies in it.
fn joined(texts: &[(Value<'_, '_>, Value<'_, '_>)]) -> (String, Vec<(usize, usize)>) {
    let mut whole = String::new();
    let mut places = Vec::with_capacity(texts.len());
    for (index, (_, text)) in texts.iter().enumerate() {
        if index > 0 {
            whole.push('\n');
        }
        let start = whole.len();
        whole.push_str(&text.as_str().unwrap_or_default());
        places.push((start, whole.len()));
    }
    (whole, places)
}

/// Where the beginning ends and the end begins: two thirds and one third of what fits beside the words between them.
fn parts(whole: &str, max: usize) -> (usize, usize) {
    let room = max - WORDS;
    let head = floor(whole, room - room / 3);
    let tail = ceiling(whole, whole.len() - room / 3);
    (head, tail)
}

/// Whether a text says the same as `structuredContent`.
fn repeats(structured: Value<'_, '_>, texts: &[(Value<'_, '_>, Value<'_, '_>)]) -> bool {
    let structured = compact(structured.raw());
    texts.iter().any(|(_, text)| {
        let text = text.as_str().unwrap_or_default();
        let same = Parser::new().scope(text.as_bytes(), |document| {
            document.is_ok_and(|document| compact(document.root().raw()) == structured)
        });
        same || text.len() <= COMPARED
            && serde_json::from_str::<Json>(&text).ok().is_some_and(|value| {
                serde_json::from_str::<Json>(&structured).is_ok_and(|other| other == value)
            })
    })
}
