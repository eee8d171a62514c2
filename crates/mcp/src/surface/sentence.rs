//! What a tool is for, in one sentence: the first of its description.

/// The most bytes that a stub's description has.
pub const DESCRIPTION_BYTES: usize = 180;

/// What a description that was cut ends with.
const CUT: char = '…';

/// A line that is at least so long was probably broken to fit a page, and its sentence goes on below.
const WRAPPED: usize = 56;

/// Words after which a full stop ends nothing.
const ABBREVIATIONS: [&str; 22] = [
    "e.g", "i.e", "eg", "ie", "vs", "cf", "approx", "incl", "no", "nr", "fig", "dr", "mr", "mrs", "ms", "st",
    "resp", "ca", "al", "ex", "ver", "viz",
];

/// The first sentence of `text`, its white space made single spaces, at most [`DESCRIPTION_BYTES`] long and then cut after
/// a word. Titles and tags before the first sentence are left out where there is one. Doing it again changes nothing.
pub fn first_sentence(text: &str) -> String {
    let mut out = once(text);
    // What is left may begin like a title again. From here on it is short, and each round makes it shorter.
    loop {
        let next = once(&out);
        if next == out {
            return out;
        }
        out = next;
    }
}

fn once(text: &str) -> String {
    let mut out = joined(sentence(opening(text)));
    if out.is_empty() {
        out = joined(sentence(text.trim_start()));
    }
    shorten(&mut out);
    out
}

/// The text without headings, rules, fences and bare tags before the first line that says something.
fn opening(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        let below = below.trim_start();
        let rule = !line.is_empty() && line.chars().all(|char| "-=*_#`~".contains(char));
        let heading = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
        if (rule || heading || is_tag(line)) && !below.is_empty() {
            rest = below;
            continue;
        }
        let bare = if heading { rest.trim_start_matches('#').trim_start() } else { rest };
        // `<usecase>Does this.</usecase>`
        let inner = bare.strip_prefix('<').and_then(|tag| tag.split_once('>'));
        return match inner {
            Some((tag, inner)) if is_tag_name(tag) && !inner.trim().is_empty() => {
                inner.trim_start().split("</").next().unwrap_or_default()
            }
            _ => bare,
        };
    }
}

/// Whether a line is a tag alone, opening or closing.
fn is_tag(line: &str) -> bool {
    line.strip_prefix('<').and_then(|line| line.strip_suffix('>')).is_some_and(is_tag_name)
}

fn is_tag_name(name: &str) -> bool {
    let name = name.strip_prefix('/').unwrap_or(name);
    !name.is_empty()
        && name.len() <= 32
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The beginning of `text` that is its first sentence.
fn sentence(text: &str) -> &str {
    let mut line_start = 0;
    for (at, char) in text.char_indices() {
        let after = at + char.len_utf8();
        let (before, rest) = (text.get(..at).unwrap_or_default(), text.get(after..).unwrap_or_default());
        match char {
            '。' | '！' | '？' | '｡' | '।' => {
                return text.get(..after + closing(rest)).unwrap_or(text);
            }
            '.' | '!' | '?' | '؟' => {
                let closed = closing(rest);
                let next = rest.get(closed..).unwrap_or_default();
                let ends = next.is_empty() || next.starts_with(char::is_whitespace);
                if ends && is_stop(char, before, next) {
                    return text.get(..after + closed).unwrap_or(text);
                }
            }
            '\n' => {
                let line = before.get(line_start..).unwrap_or_default().trim();
                if !goes_on(line, rest) {
                    return before;
                }
                line_start = after;
            }
            _ => {}
        }
    }
    text
}

/// How many bytes of quotes and brackets close right here.
fn closing(rest: &str) -> usize {
    let closers = |char: char| "\"'”’»)]}`*_」』）".contains(char);
    rest.chars().take_while(|char| closers(*char)).map(char::len_utf8).sum()
}

/// Whether `mark` between these ends a sentence.
fn is_stop(mark: char, before: &str, next: &str) -> bool {
    let next = next.trim_start();
    if next.starts_with(char::is_lowercase) {
        return false;
    }
    if mark != '.' {
        return true;
    }
    let word = before
        .rsplit(|char: char| char.is_whitespace() || "([{\"'`*".contains(char))
        .next()
        .unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    // `1. First`, `J. Smith`, `U.S. law`, `e.g. JSON`; a description that is but one such word has ended.
    let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) && before.trim() == word;
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    let initials = word.contains('.') && word.split('.').all(|part| part.chars().count() == 1);
    next.is_empty() || !(number || initial || initials || ABBREVIATIONS.contains(&lower.as_str()))
}

/// Whether a sentence goes on in the line below `line`.
fn goes_on(line: &str, below: &str) -> bool {
    let next = below.split('\n').next().unwrap_or_default();
    let shown = next.trim_start();
    let ended = line.ends_with([':', ';']);
    let item = shown.starts_with(['-', '*', '#', '•', '|', '<', '>', '+', '@'])
        || shown.starts_with("```")
        || shown.trim_start_matches(|char: char| char.is_ascii_digit()).starts_with(['.', ')']);
    if line.is_empty() || shown.is_empty() || ended || item {
        return false;
    }
    shown.starts_with(char::is_lowercase) || line.len() >= WRAPPED
}

/// The text with every run of white space made one space.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Cuts what is too long at the end of a word.
fn shorten(text: &mut String) {
    if text.len() <= DESCRIPTION_BYTES {
        return;
    }
    let mut end = DESCRIPTION_BYTES - CUT.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    // A script without spaces is cut where it is full.
    let word = if text.get(end..).is_some_and(|rest| rest.starts_with(' ')) {
        end
    } else {
        head.rfind(' ').unwrap_or(end)
    };
    let word = if word < DESCRIPTION_BYTES / 2 { end } else { word };
    text.truncate(word);
    let kept = text.trim_end_matches(|char: char| char.is_whitespace() || ",;:-–—(".contains(char)).len();
    text.truncate(kept);
    text.push(CUT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sentence_ends_where_a_reader_ends_it() {
        for (text, expected) in [
            ("", ""),
            ("  \n ", ""),
            ("List tables", "List tables"),
            ("Gets details. Includes more.", "Gets details."),
            ("Reads files, e.g. JSON or CSV. More.", "Reads files, e.g. JSON or CSV."),
            ("Reads files (i.e. bytes). More.", "Reads files (i.e. bytes)."),
            (
                "Opens https://example.com/a.b.c and v1.2.3 files. More",
                "Opens https://example.com/a.b.c and v1.2.3 files.",
            ),
            ("Searches U.S. law. More.", "Searches U.S. law."),
            ("Asks \"Are you sure?\" first. More.", "Asks \"Are you sure?\" first."),
            ("Lists all (every one.) Then more.", "Lists all (every one.)"),
            ("Really?! Yes.", "Really?!"),
            ("Notion | Retrieve a user\nError Responses:\n400", "Notion | Retrieve a user"),
            (
                "Search assignable users in a project\nor issue. More",
                "Search assignable users in a project or issue.",
            ),
            (
                "Search for issues with a very long query that is wrapped by\nJira at the page. More",
                "Search for issues with a very long query that is wrapped by Jira at the page.",
            ),
            ("Lists:\n- a\n- b", "Lists:"),
            ("Does a\n\nDoes b", "Does a"),
            ("Does a\r\n\r\nDoes b", "Does a"),
            ("# create_issue\n\nCreates an issue. Well.", "Creates an issue."),
            ("## Overview", "Overview"),
            ("---\nname: x", "name: x"),
            ("<usecase>Gets pages.</usecase>", "Gets pages."),
            ("<usecase>\nGets pages.\n</usecase>", "Gets pages."),
            ("Compares a < b. More.", "Compares a < b."),
            ("1. First do this. Then that.", "1. First do this."),
            ("获取用户信息。然后更多。", "获取用户信息。"),
            ("取得する！次", "取得する！"),
            ("Ищет задачи. Потом ещё.", "Ищет задачи."),
            ("Uses etc. The rest.", "Uses etc."),
            ("Runs node.js code", "Runs node.js code"),
            ("</b>", "</b>"),
            ("<b></b>", "<b></b>"),
        ] {
            assert_eq!(first_sentence(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_after_a_word() {
        let text = format!("{} end", "word ".repeat(60));
        let cut = first_sentence(&text);
        assert!(cut.len() <= DESCRIPTION_BYTES && cut.ends_with("word…"), "{cut}");
        let unbroken = first_sentence(&"長".repeat(100));
        assert!(unbroken.len() <= DESCRIPTION_BYTES && unbroken.len() > 170, "{}", unbroken.len());
        assert!(first_sentence(&"😀".repeat(100)).len() <= DESCRIPTION_BYTES);
    }

    proptest! {
        #[test]
        fn a_sentence_is_short_and_its_own_first_sentence(
            text in r"([a-zA-Z#*<>/`.!?。,;:()\-0-9é長 \n]|e\.g\. |\. |\n\n|# |1\. |<a>|…){0,120}"
        ) {
            let once = first_sentence(&text);
            prop_assert!(once.len() <= DESCRIPTION_BYTES);
            prop_assert_eq!(first_sentence(&once), once);
        }
    }
}
