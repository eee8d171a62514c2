//! The outline of a memory file: its sections, and where text, code and comments lie in it.

use super::front_matter::{FrontMatter, byte_order_mark};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A section of a memory file: what stands from one heading to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What opens it.
    pub kind: SectionKind,
    /// The heading's text as it is written, without its hashes; empty for the other kinds.
    pub title: String,
    /// How many headings it lies below: 0 at the top, whatever the number of hashes.
    pub depth: u32,
    /// The line it begins on, from 1: that of its heading.
    pub line: u64,
    /// Its own bytes: up to the next heading. All of them follow one another and make up the file.
    pub own: Range<usize>,
    /// With the sections below it: up to the next heading that is no deeper.
    pub inclusive: Range<usize>,
}

/// What opens a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// The front matter.
    FrontMatter,
    /// Nothing: what stands before the first heading.
    Preamble,
    /// A heading of so many hashes.
    Heading(u8),
}

/// What lies where in a memory file, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// The front matter.
    pub front_matter: Option<FrontMatter>,
    /// The sections, in order. Only ATX headings (`#` to `######`) outside lists, quotes, code and HTML open one.
    pub sections: Vec<Section>,
    /// HTML comments that stand on their own, outside paragraphs and code.
    pub comments: Vec<Range<usize>>,
    /// Runs of text: what is neither code nor HTML nor the target of a link, each without a break in it.
    pub(super) text: Vec<Range<usize>>,
    /// Code blocks and code spans.
    pub(super) code: Vec<Range<usize>>,
}

struct Heading {
    level: u8,
    at: usize,
    title: String,
}

impl Outline {
    /// Reads a text as CommonMark with tables, task lists and strikethrough. Every text has an outline.
    pub fn read(text: &str) -> Self {
        let front_matter = FrontMatter::find(text);
        let base = front_matter.as_ref().map_or_else(|| byte_order_mark(text), |found| found.block.end);
        let mut walk =
            Walk { text, headings: Vec::new(), comments: Vec::new(), runs: Vec::new(), code: Vec::new() };
        walk.all(base);
        Self {
            sections: sections(text, front_matter.as_ref(), &walk.headings),
            front_matter,
            comments: walk.comments,
            text: walk.runs,
            code: walk.code,
        }
    }

    /// The bytes of all comments.
    pub fn comment_bytes(&self) -> usize {
        self.comments.iter().map(Range::len).sum()
    }
}

/// One walk over a text's events.
struct Walk<'t> {
    text: &'t str,
    headings: Vec<Heading>,
    comments: Vec<Range<usize>>,
    runs: Vec<Range<usize>>,
    code: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn all(&mut self, base: usize) {
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
        let mut depth = 0_usize;
        // How many elements are open whose text is not text for our purpose: code, images, struck out.
        let mut silent = 0_usize;
        // Whether the last event was text, so that the next may go on with its run.
        let mut joined = false;
        let body = self.text.get(base..).unwrap_or_default();
        for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
            let range = range.start + base..range.end + base;
            let was_joined = std::mem::take(&mut joined);
            match event {
                Event::Start(tag) => {
                    match &tag {
                        Tag::Heading { .. } if depth == 0 => {
                            self.headings.extend(atx(self.text, range.start))
                        }
                        Tag::CodeBlock(_) => self.code.push(range),
                        Tag::HtmlBlock => self.html(range),
                        _ => {}
                    }
                    silent += usize::from(is_silent(&tag));
                    depth += 1;
                }
                Event::End(end) => {
                    silent -= usize::from(matches!(
                        end,
                        TagEnd::CodeBlock | TagEnd::Image | TagEnd::Strikethrough | TagEnd::HtmlBlock
                    ));
                    depth = depth.saturating_sub(1);
                }
                Event::Code(_) => self.code.push(range),
                Event::Text(_) if silent == 0 => {
                    joined = true;
                    match self.runs.last_mut().filter(|last| was_joined && last.end == range.start) {
                        Some(last) => last.end = range.end,
                        None => self.runs.push(range),
                    }
                }
                _ => {}
            }
        }
    }

    /// A block of HTML that begins with a comment: comments are taken out of it, and the rest is text again.
    fn html(&mut self, block: Range<usize>) {
        let Some(html) = self.text.get(block.clone()) else { return };
        if !html.trim_start().starts_with("<!--") || !html.contains("-->") {
            return;
        }
        let mut at = 0;
        let mut rest = |comments: &mut Vec<Range<usize>>, runs: &mut Vec<Range<usize>>| {
            let found = html.get(at..)?.find("<!--")? + at;
            let end = html.get(found..)?.find("-->")? + found + "-->".len();
            if found > at {
                runs.push(block.start + at..block.start + found);
            }
            comments.push(block.start + found..block.start + end);
            at = end;
            Some(())
        };
        while rest(&mut self.comments, &mut self.runs).is_some() {}
        if at < html.len() && !html.get(at..).is_some_and(|tail| tail.contains("<!--")) {
            self.runs.push(block.start + at..block.end);
        }
    }
}

const fn is_silent(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::CodeBlock(_) | Tag::Image { .. } | Tag::Strikethrough | Tag::HtmlBlock)
}

/// The heading that stands at an offset, when it is written with hashes.
fn atx(text: &str, at: usize) -> Option<Heading> {
    let start = text.get(..at)?.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    // A byte order mark is no part of the line.
    let start = start.max(byte_order_mark(text));
    let line = text.get(start..)?.split(['\n', '\r']).next()?.trim_matches([' ', '\t']);
    let content = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - content.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !content.is_empty() && !content.starts_with([' ', '\t']) {
        return None;
    }
    let closed = content.trim_end_matches('#');
    let title = if closed.is_empty() || closed.ends_with([' ', '\t']) { closed } else { content };
    Some(Heading { level, at: start, title: title.trim_matches([' ', '\t']).to_owned() })
}

/// Cuts a text into its sections. White space before the first heading belongs to what follows it.
fn sections(text: &str, front_matter: Option<&FrontMatter>, headings: &[Heading]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut from = 0;
    if let Some(found) = front_matter {
        sections.push(alone(SectionKind::FrontMatter, 1, found.block.clone()));
        from = found.block.end;
    }
    let first = headings.first().map_or(text.len(), |heading| heading.at);
    let before = text.get(from..first).unwrap_or_default();
    if !before.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty()
        || (headings.is_empty() && from < text.len())
    {
        sections.push(alone(SectionKind::Preamble, lines.of(from), from..first));
        from = first;
    }
    // The sections that are open, the innermost last, with their levels.
    let mut open: Vec<(u8, usize)> = Vec::new();
    for (index, heading) in headings.iter().enumerate() {
        let end = headings.get(index + 1).map_or(text.len(), |next| next.at);
        close(&mut sections, &mut open, heading.level, heading.at);
        open.push((heading.level, sections.len()));
        sections.push(Section {
            kind: SectionKind::Heading(heading.level),
            title: heading.title.clone(),
            depth: u32::try_from(open.len() - 1).unwrap_or(u32::MAX),
            line: lines.of(heading.at),
            own: from..end,
            inclusive: from..end,
        });
        from = end;
    }
    close(&mut sections, &mut open, 0, text.len());
    sections
}

/// Ends the open sections that a heading of this level at this place does not belong to.
fn close(sections: &mut [Section], open: &mut Vec<(u8, usize)>, level: u8, at: usize) {
    while let Some((_, index)) = open.pop_if(|(outer, _)| *outer >= level) {
        if let Some(section) = sections.get_mut(index) {
            section.inclusive.end = at.max(section.own.end);
        }
    }
}

fn alone(kind: SectionKind, line: u64, span: Range<usize>) -> Section {
    Section { kind, title: String::new(), depth: 0, line, own: span.clone(), inclusive: span }
}

/// Counts lines on the way through a text: offsets are asked for in rising order.
pub(super) struct Lines<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) line: u64,
}

impl Lines<'_> {
    /// The line, from 1, that an offset lies on.
    pub(super) fn of(&mut self, offset: usize) -> u64 {
        let passed = self.text.as_bytes().get(self.at..offset).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = self.at.max(offset);
        self.line
    }
}
