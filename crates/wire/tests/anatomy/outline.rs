//! An anatomy as text that a person can check.

use deadweight_wire::Dialect;
use deadweight_wire::anatomy::{Anatomy, Block, CacheControl, Slice};
use deadweight_wire::json::{Kind, Parser, Span, Value};
use std::fmt::Write;

/// Reads `body` as a request of `dialect` and hands the anatomy to `f`.
pub(crate) fn read<R>(
    body: &str,
    dialect: Dialect,
    f: impl for<'id, 'd> FnOnce(&Anatomy<'id, 'd>) -> R,
) -> R {
    Parser::new().scope(body.as_bytes(), |document| f(&Anatomy::read(document.unwrap(), dialect)))
}

/// The beginning of a value: a string's text in quotes, anything else as it stands.
fn short(value: &Value<'_, '_>) -> String {
    let text = value.as_str().map_or_else(|| value.raw().to_owned(), |text| text.into_owned());
    let mut out: String = text.chars().take(24).collect::<String>().escape_debug().collect();
    if text.chars().count() > 24 {
        out.push('…');
    }
    if value.kind() == Kind::String { format!("\"{out}\"") } else { out }
}

fn mark(mark: Option<CacheControl<'_, '_>>) -> &'static str {
    match mark {
        None => "",
        Some(mark) if mark.one_hour() => " [mark 1h]",
        Some(_) => " [mark 5m]",
    }
}

fn block(out: &mut String, block: &Block<'_, '_>) {
    let named = [block.tool_name, block.tool_id].into_iter().flatten().map(|value| short(&value));
    let named: String = named.map(|name| format!(" {name}")).collect();
    let content: Vec<_> = block.content.iter().map(short).collect();
    writeln!(out, "    {}{named}: {}{}", block.kind.name(), content.join(" + "), mark(block.cache_control))
        .unwrap();
    for inner in &block.inner {
        let content: Vec<_> = block.inner_content(inner).iter().map(short).collect();
        writeln!(out, "      {}: {}{}", inner.kind.name(), content.join(" + "), mark(inner.cache_control))
            .unwrap();
    }
    for media in &block.media {
        let source = media.source.as_ref().map(short).unwrap_or_default();
        writeln!(out, "      ({:?} by {:?}: {source})", media.kind, media.form).unwrap();
    }
}

/// The whole anatomy.
pub(crate) fn outline(anatomy: &Anatomy<'_, '_>) -> String {
    let mut out = String::new();
    let model = anatomy.model.as_ref().map_or_else(|| "no model".to_owned(), short);
    let delta = anatomy.delta.map(|delta| format!(", delta: {}", delta.name())).unwrap_or_default();
    writeln!(out, "{} {model}{delta}{}", anatomy.dialect, mark(anatomy.cache_control)).unwrap();
    writeln!(out, "system").unwrap();
    for own in &anatomy.system {
        block(&mut out, own);
    }
    writeln!(out, "tools").unwrap();
    for namespace in &anatomy.namespaces {
        let content: Vec<_> = namespace.content().map(|value| short(&value)).collect();
        writeln!(out, "    namespace: {}", content.join(" + ")).unwrap();
    }
    for tool in &anatomy.tools {
        let content: Vec<_> = tool.content().map(|value| short(&value)).collect();
        let namespace = tool.namespace.map(|name| format!(" in {}", short(&name))).unwrap_or_default();
        let server = tool.server_type.map(|kind| format!(" of type {}", short(&kind))).unwrap_or_default();
        let deferred = if tool.deferred { " [deferred]" } else { "" };
        let mark = mark(tool.cache_control);
        writeln!(out, "    {}{namespace}{server}{deferred}{mark}", content.join(" + ")).unwrap();
    }
    writeln!(out, "messages").unwrap();
    for message in &anatomy.messages {
        writeln!(out, "  {} ({})", message.role.name(), message.slice.name()).unwrap();
        for own in anatomy.blocks_of(message) {
            block(&mut out, own);
        }
    }
    writeln!(out, "runs").unwrap();
    for (slice, span) in &anatomy.runs {
        let text = span_text(anatomy, *span);
        writeln!(out, "    {}: {text}", slice.name()).unwrap();
    }
    for anomaly in &anatomy.anomalies {
        writeln!(out, "anomaly: {} at {}", anomaly.kind, span_text(anatomy, anomaly.span)).unwrap();
    }
    out
}

/// The two ends of a span's text.
fn span_text<'id>(anatomy: &Anatomy<'id, '_>, span: Span<'id>) -> String {
    let text = anatomy.document.text(span);
    let (head, tail) = (text.chars().take(16), text.chars().rev().take(12).collect::<Vec<_>>());
    let (head, tail): (String, String) = (head.collect(), tail.into_iter().rev().collect());
    let whole = text.chars().count() <= 28;
    let shown = if whole { text.to_owned() } else { format!("{head}…{tail}") };
    shown.escape_debug().to_string().replace("\\\"", "\"")
}

/// What holds for every anatomy: Σ wire bytes + envelope = body length; runs are in order and disjoint;
/// tools lie in runs of the tools slice, messages and system blocks in runs of theirs (tools cut out);
/// blocks lie in their messages and contents in their blocks; the tail is the last message.
pub(crate) fn check(anatomy: &Anatomy<'_, '_>) {
    let slices: usize = Slice::ALL.iter().map(|&slice| anatomy.wire_bytes(slice)).sum();
    assert_eq!(slices + anatomy.envelope_bytes(), anatomy.body_bytes);
    let mut from = 0;
    for (_, span) in &anatomy.runs {
        assert!(!span.is_empty() && from <= span.start() && span.end() <= anatomy.body_bytes);
        from = span.end();
    }
    let run_at = |at: usize| anatomy.runs.iter().find(|(_, run)| run.start() <= at && at < run.end());
    let ends_in = |slice: Slice, value: &Value<'_, '_>| {
        let span = value.span();
        // A tool definition may be cut out of the middle, never of either end.
        [span.start(), span.end() - 1].iter().all(|&at| run_at(at).is_some_and(|(own, _)| *own == slice))
    };
    for tool in &anatomy.tools {
        let run = run_at(tool.value.span().start()).unwrap();
        assert!(run.0 == Slice::Tools && tool.value.span().end() <= run.1.end());
        assert!(tool.description.iter().chain(&tool.schema).all(|part| inside(part, &tool.value)));
    }
    for block in &anatomy.system {
        assert!(ends_in(Slice::System, &block.value));
    }
    for (at, message) in anatomy.messages.iter().enumerate() {
        let last = at + 1 == anatomy.messages.len();
        assert_eq!(message.slice, if last { Slice::Tail } else { Slice::History });
        assert!(ends_in(message.slice, &message.value));
        assert!(anatomy.blocks_of(message).iter().all(|block| inside(&block.value, &message.value)));
    }
    for (_, block) in anatomy.blocks() {
        assert!(block.content.iter().all(|value| inside(value, &block.value)));
        assert!(
            block.media.iter().filter_map(|media| media.source).all(|value| inside(&value, &block.value))
        );
        let mut from = 0;
        for inner in &block.inner {
            assert!(inside(&inner.value, &block.value) && from <= inner.content.start);
            assert!(block.inner_content(inner).iter().all(|value| inside(value, &inner.value)));
            from = inner.content.end;
        }
        assert!(from <= block.content.len());
    }
}

fn inside(part: &Value<'_, '_>, whole: &Value<'_, '_>) -> bool {
    let (part, whole) = (part.span(), whole.span());
    whole.start() <= part.start() && part.end() <= whole.end()
}
