//! A request from its beginning to its end, as the provider reads it: the strip that a page draws.

use deadweight_estimate::{Estimator, Surface, Tally, Tokens};
use deadweight_store::Segment;
use deadweight_wire::anatomy::{Anatomy, Block, CacheControl};

/// The stretches of a request, tools first, then system, then messages. Neighbours of one kind in one slice are joined
/// up to the next cache breakpoint. Tools that are left out of the prompt until they are searched for are left out.
pub(super) fn segments(anatomy: &Anatomy<'_, '_>, estimator: &dyn Estimator) -> Vec<Segment> {
    let mut strip = Strip { estimator, segments: Vec::new(), open: None };
    for tool in anatomy.tools.iter().filter(|tool| !tool.deferred) {
        let open = strip.open("tools", "tools", Surface::ToolDefinition);
        open.count += 1;
        for value in tool.content() {
            let length = value.decoded_len().unwrap_or_else(|| value.raw().len()) as u64;
            open.tally.add(length, || value.as_str().unwrap_or_else(|| value.raw().into()));
        }
        strip.mark(tool.cache_control);
    }
    for (slice, block) in anatomy.blocks() {
        strip.block(slice.name(), block);
    }
    strip.mark(anatomy.cache_control);
    strip.close();
    strip.segments
}

struct Strip<'e> {
    estimator: &'e dyn Estimator,
    segments: Vec<Segment>,
    open: Option<Open<'e>>,
}

struct Open<'e> {
    slice: &'static str,
    kind: &'static str,
    count: u64,
    tally: Tally<'e>,
    images: Tokens<deadweight_estimate::Estimated>,
}

impl<'e> Strip<'e> {
    fn block(&mut self, slice: &'static str, block: &Block<'_, '_>) {
        let images = block.images().map(deadweight_footprint::request::image_tokens).sum();
        let open = self.open(slice, block.kind.name(), Surface::Prose);
        open.count += 1;
        open.images += images;
        for value in block.content.iter() {
            let length = value.decoded_len().unwrap_or_else(|| value.raw().len()) as u64;
            open.tally.add(length, || value.as_str().unwrap_or_else(|| value.raw().into()));
        }
        let marks = block.inner.iter().filter_map(|inner| inner.cache_control).chain(block.cache_control);
        self.mark(marks.max_by_key(CacheControl::one_hour));
    }

    fn open(&mut self, slice: &'static str, kind: &'static str, surface: Surface) -> &mut Open<'e> {
        if self.open.as_ref().is_some_and(|open| (open.slice, open.kind) != (slice, kind)) {
            self.close();
        }
        let estimator = self.estimator;
        self.open.get_or_insert_with(|| Open {
            slice,
            kind,
            count: 0,
            tally: Tally::new(estimator, surface),
            images: Tokens::ZERO,
        })
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.segments.push(Segment {
                slice: open.slice.to_owned(),
                kind: open.kind.to_owned(),
                count: open.count,
                content_bytes: open.tally.bytes(),
                tokens: (open.tally.tokens() + open.images).get(),
                breakpoint: None,
            });
        }
    }

    /// What was read last ends with a breakpoint.
    fn mark(&mut self, mark: Option<CacheControl<'_, '_>>) {
        let Some(mark) = mark else { return };
        self.close();
        if let Some(last) = self.segments.last_mut() {
            last.breakpoint = Some(if mark.one_hour() { "1h" } else { "5m" }.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadweight_estimate::calibrated;
    use deadweight_wire::Dialect;
    use deadweight_wire::json::Parser;

    #[test]
    fn neighbours_are_joined_up_to_a_breakpoint() {
        let body = br#"{"model":"m","messages":[
            {"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
            {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"done","cache_control":{"type":"ephemeral"}}]}],
            "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"t"}],
            "tools":[{"name":"t","input_schema":{"type":"object"}},{"name":"u","input_schema":{"type":"object"},"defer_loading":true}]}"#;
        let strip = Parser::new().scope(body, |document| {
            let anatomy = Anatomy::read(document.unwrap(), Dialect::AnthropicMessages);
            segments(&anatomy, &calibrated())
        });
        let short: Vec<(&str, &str, u64, Option<&str>)> = strip
            .iter()
            .map(|one| (one.slice.as_str(), one.kind.as_str(), one.count, one.breakpoint.as_deref()))
            .collect();
        assert_eq!(
            short,
            [
                ("tools", "tools", 1, None),
                ("system", "text", 1, Some("1h")),
                ("system", "text", 1, None),
                ("history", "text", 2, None),
                ("history", "tool_use", 1, None),
                ("tail", "tool_result", 1, Some("5m")),
            ]
        );
    }
}
