//! Imports: the `@path` references of a memory file.

use super::outline::{Lines, Outline};
use deadweight_profiles::memory::ImportSyntax;
use std::ops::Range;

/// One `@path` as an agent reads it. Whether there is such a file is another question: `@name` in a text looks the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Where it lies, with its `@`.
    pub span: Range<usize>,
    /// The line it stands on, from 1.
    pub line: u64,
    /// The path: escaped spaces are spaces, a fragment is cut off.
    pub path: String,
}

/// The imports of a text, in order.
pub fn imports(text: &str, outline: &Outline, syntax: ImportSyntax) -> Vec<Import> {
    let mut found = Vec::new();
    match syntax {
        ImportSyntax::ClaudeCode => {
            for run in &outline.text {
                in_run(text, run, &mut found);
            }
            // Text beside comments is found with its block, before the text inside earlier blocks may be.
            found.sort_by_key(|(span, _)| span.start);
        }
        ImportSyntax::GeminiCli => between_spaces(text, &between_backticks(text), &mut found),
        ImportSyntax::QwenCode => between_spaces(text, &outline.code, &mut found),
    }
    let mut lines = Lines { text, at: 0, line: 1 };
    found.into_iter().map(|(span, path)| Import { line: lines.of(span.start), span, path }).collect()
}

/// Claude Code's: each `@` that begins a run of text or follows white space.
fn in_run(text: &str, run: &Range<usize>, found: &mut Vec<(Range<usize>, String)>) {
    let content = text.get(run.clone()).unwrap_or_default();
    let escaped = text.get(..run.start).is_some_and(|before| before.ends_with('\\'));
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| rest.find('@')).map(|at| at + from) {
        from = at + 1;
        let before = content.get(..at).and_then(|before| before.chars().next_back());
        let starts = match before {
            None => !escaped,
            Some(before) => is_space(before),
        };
        if !starts {
            continue;
        }
        let (length, path) = word(content.get(from..).unwrap_or_default());
        from += length;
        let path = path.split('#').next().unwrap_or_default();
        if claude_code_takes(path) {
            found.push((run.start + at..run.start + from, path.to_owned()));
        }
    }
}

/// The text up to white space or a backslash; a backslash before a space makes the space part of it.
fn word(text: &str) -> (usize, String) {
    let mut path = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if characters.next_if(|(_, next)| *next == ' ').is_some() => path.push(' '),
            '\\' => return (at, path),
            other if is_space(other) => return (at, path),
            other => path.push(other),
        }
    }
    (text.len(), path)
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

fn claude_code_takes(path: &str) -> bool {
    match path.as_bytes() {
        [b'/'] | [] => false,
        [b'~', b'/', ..] | [b'/', ..] => true,
        [first, ..] => first.is_ascii_alphanumeric() || matches!(first, b'.' | b'_' | b'-'),
    }
}

/// gemini-cli's and qwen-code's: each `@` after white space, not inside any of `code`, which is in order.
fn between_spaces(text: &str, code: &[Range<usize>], found: &mut Vec<(Range<usize>, String)>) {
    let ascii_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('@')).map(|at| at + from) {
        from = at + 1;
        if !text.get(..at).is_none_or(|before| before.is_empty() || before.ends_with(ascii_space)) {
            continue;
        }
        let rest = text.get(from..).unwrap_or_default();
        let path = rest.split(ascii_space).next().unwrap_or_default();
        from += path.len();
        let takes = path.starts_with(|c: char| c == '.' || c == '/' || c.is_ascii_alphabetic());
        let behind = code.partition_point(|region| region.end <= at);
        let inside = code.get(behind).is_some_and(|region| region.start <= at);
        if takes && !inside {
            found.push((at..from, path.to_owned()));
        }
    }
}

/// What gemini-cli takes for code: from as many backticks as can be matched to the next as many. A run of backticks
/// without a like one behind it is matched in part, if need be with itself.
fn between_backticks(text: &str) -> Vec<Range<usize>> {
    let runs = backtick_runs(text);
    // The longest run from each one on.
    let mut longest: Vec<usize> = runs.iter().map(Range::len).collect();
    for index in (1..longest.len()).rev() {
        if let [before, behind] = &mut longest[index - 1..=index] {
            *before = (*before).max(*behind);
        }
    }
    let mut regions = Vec::new();
    let mut next = 0;
    let mut at = 0;
    while let Some(run) = runs.get(next) {
        let start = at.max(run.start);
        let left = run.end.saturating_sub(start);
        let behind = longest.get(next + 1).copied().unwrap_or_default();
        let length = (left / 2).max(left.min(behind));
        if length == 0 {
            next += 1;
            continue;
        }
        let end = if left >= 2 * length {
            start + 2 * length
        } else {
            next += 1;
            while runs.get(next).is_some_and(|run| run.len() < length) {
                next += 1;
            }
            runs.get(next).map_or(text.len(), |run| run.start + length)
        };
        regions.push(start..end);
        at = end;
    }
    regions
}

fn backtick_runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('`') {
        match runs.last_mut().filter(|run| run.end == at) {
            Some(run) => run.end = at + 1,
            None => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backticks(text: &str) -> Vec<&str> {
        between_backticks(text).into_iter().map(|region| &text[region]).collect()
    }

    #[test]
    fn regions_between_backticks() {
        for (text, expected) in [
            ("a `b` c `d`", vec!["`b`", "`d`"]),
            ("``a`b`` c", vec!["``a`b``"]),
            ("```\nx\n``` y", vec!["```\nx\n```"]),
            ("a ` b", vec![]),
            ("``", vec!["``"]),
            ("```", vec!["``"]),
            ("`````", vec!["````"]),
            ("```a `b", vec!["``", "`a `"]),
            ("``` x ```` y", vec!["``` x ```"]),
            ("```a ``b", vec!["```a ``"]),
            ("", vec![]),
        ] {
            assert_eq!(backticks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn many_backticks_take_no_time() {
        let text = format!("{}{}", "`".repeat(200_000), " `".repeat(200_000));
        assert!(!between_backticks(&text).is_empty());
    }
}
