//! The book: which model costs what, on which day.

use crate::data;
use crate::entry::Entry;
use std::borrow::Cow;

/// A day, counted from 1970-01-01 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u32);

impl Day {
    /// Before all prices.
    pub const EVER: Self = Self(0);
    /// After all prices: what is in force in the end.
    pub const LAST: Self = Self(u32::MAX);

    /// The day of a time in milliseconds since 1970.
    #[must_use]
    pub fn of_unix_ms(ms: u64) -> Self {
        Self(u32::try_from(ms / 86_400_000).unwrap_or(u32::MAX))
    }

    /// A day of the calendar; months and days beyond theirs run on.
    #[must_use]
    pub const fn ymd(year: u32, month: u32, day: u32) -> Self {
        // Years that begin in March, so that a leap day comes last.
        let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
        let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
        Self(days.saturating_sub(719_469))
    }
}

/// The prices that are built in, and a user's before them.
#[derive(Debug, Clone, Default)]
pub struct Book {
    own: Vec<Entry>,
}

impl Book {
    /// The prices that are built in.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Vec::new() }
    }

    /// With a user's prices, which come before those that are built in; of two for one model the later counts.
    #[must_use]
    pub const fn with(own: Vec<Entry>) -> Self {
        Self { own }
    }

    /// What a model costs on a day. `None` for a model that is not in the book: a version that is not known is not priced
    /// like the one before it.
    ///
    /// Ids are found as providers, clouds and clients write them: `claude-opus-4-6-20260205`, `claude-opus-4-6[1m]`,
    /// `us.anthropic.claude-opus-4-6-v1:0`, `claude-opus-4-6@20260205`, `anthropic/claude-opus-4.6`. The prices are those
    /// of the maker's own API also for a cloud's ids; clouds may add to them.
    #[must_use]
    pub fn find(&self, model: &str, on: Day) -> Option<&Entry> {
        let (whole, bare) = (spelled(windowless(last(model))), bare(model));
        let own = self.own.iter().rev().find(|entry| matches(&entry.model, &whole, &bare));
        own.or_else(|| in_book(&whole, &bare, on))
    }

    /// A model's window: the largest prompt and answer together, in tokens. A user's prices that say nothing of it leave it
    /// to what is built in.
    #[must_use]
    pub fn window(&self, model: &str, on: Day) -> Option<u64> {
        let built_in = || in_book(&spelled(windowless(last(model))), &bare(model), on)?.context;
        self.find(model, on).and_then(|entry| entry.context).or_else(built_in)
    }

    /// Everything that is built in.
    #[must_use]
    pub fn built_in() -> &'static [Entry] {
        data::all()
    }
}

/// What is built in of a model. A dated version has a row of its own where its price is another.
fn in_book(whole: &str, bare: &str, on: Day) -> Option<&'static Entry> {
    in_force(whole, on).or_else(|| in_force(bare, on))
}

/// The row of a model that is in force on a day; before the first, the first.
fn in_force(model: &str, on: Day) -> Option<&'static Entry> {
    let rows = || data::all().iter().filter(|entry| entry.model == model);
    let latest = rows().filter(|entry| entry.from <= on).max_by_key(|entry| entry.from);
    latest.or_else(|| rows().min_by_key(|entry| entry.from))
}

/// Whether a user's entry is for a model: by its whole id, by the bare one, or by the beginning of either.
fn matches(pattern: &str, whole: &str, bare: &str) -> bool {
    let pattern = spelled(last(pattern));
    match pattern.strip_suffix('*') {
        Some(start) => whole.starts_with(start) || bare.starts_with(start),
        None => *pattern == *whole || *pattern == *bare,
    }
}

/// Without a path or a vendor before it: `anthropic/…`, `models/…`, an ARN.
fn last(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// Without the size of its window (`[1m]`) and a cloud's version (`@…`).
fn windowless(id: &str) -> &str {
    id.split_once(['[', '@']).map_or(id, |(before, _)| before)
}

/// A model's id as its maker writes it, without cloud, region, version, date and size of window.
///
/// ```
/// assert_eq!(deadweight_price::bare("us.anthropic.claude-opus-4-6-20260205-v1:0"), "claude-opus-4-6");
/// ```
#[must_use]
pub fn bare(id: &str) -> Cow<'_, str> {
    let mut id = last(id);
    // Bedrock: `us.anthropic.claude-…-v1:0`.
    if let Some((_, rest)) = id.split_once("anthropic.") {
        id = rest;
    }
    id = windowless(id);
    if let Some((before, version)) = id.rsplit_once("-v")
        && version.split(':').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        id = before;
    }
    id = id.strip_suffix("-latest").unwrap_or(id);
    spelled(undated(id))
}

/// Without a date at its end: `-20250929` or `-2025-09-29`.
fn undated(id: &str) -> &str {
    for (length, dashes) in [(9, 1), (11, 3)] {
        let Some(start) = id.len().checked_sub(length) else { continue };
        let Some((before, date)) = id.split_at_checked(start) else { continue };
        let digits = date.bytes().filter(u8::is_ascii_digit).count();
        let dashed = date.bytes().filter(|&byte| byte == b'-').count();
        if date.starts_with("-20") && digits == 8 && dashed == dashes {
            return before;
        }
    }
    id
}

/// In small letters; Claude's versions with a dash, as in its ids.
fn spelled(id: &str) -> Cow<'_, str> {
    let claude = id.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("claude"));
    if id.bytes().any(|byte| byte.is_ascii_uppercase()) || (claude && id.contains('.')) {
        let small = id.to_ascii_lowercase();
        return if claude { small.replace('.', "-").into() } else { small.into() };
    }
    id.into()
}

#[cfg(test)]
mod tests {
    use super::{Day, bare};

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(Day::ymd(1970, 1, 1), Day(0));
        assert_eq!(Day::ymd(2000, 3, 1), Day(11_017));
        assert_eq!(Day::ymd(2026, 12, 1), Day::of_unix_ms(1_796_083_200_000));
        assert_eq!(Day::of_unix_ms(86_399_999), Day(0));
        assert_eq!(Day::of_unix_ms(u64::MAX), Day::LAST);
    }

    #[test]
    fn ids_are_made_bare() {
        for id in [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5[1m]",
            "claude-sonnet-4-5@20250929",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic.claude-sonnet-4-5-v1",
            "arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "anthropic/claude-sonnet-4.5",
            "Claude-Sonnet-4-5-latest",
        ] {
            assert_eq!(bare(id), "claude-sonnet-4-5", "{id}");
        }
        assert_eq!(bare("models/gemini-2.5-pro"), "gemini-2.5-pro");
        assert_eq!(bare("gpt-5.2-2025-12-11"), "gpt-5.2");
        assert_eq!(bare("openai/GPT-5.2"), "gpt-5.2");
        for id in ["", "-", "é-20250929x", "-20250929", "[", "a-v", "a-v:", "deepseek-v3"] {
            let _ = bare(id);
        }
    }
}
