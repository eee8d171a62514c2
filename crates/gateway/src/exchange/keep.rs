//! Bodies, kept where a person asks for it.

use super::{Answer, Copied, Event};
use deadweight_store::{Bodies, Side};

/// Keeps what an event has of bodies, as it was received and sent. What passed without being copied as a whole is not
/// kept.
pub(crate) fn keep(bodies: &Bodies, event: &Event) {
    let keep = |id: String, side, body: &Copied| {
        if body.whole && body.length > 0 {
            // The pieces are shared with whoever forwards and measures, not copied.
            bodies.keep(&id, side, body.chunks.clone());
        }
    };
    match event {
        Event::Begun(begun) => {
            keep(begun.id.to_string(), Side::Received, &begun.received);
            if begun.edited.is_some() {
                keep(begun.id.to_string(), Side::Sent, &begun.sent);
            }
        }
        Event::Ended(ended) => {
            if let Answer::Body { body, .. } = &ended.answer {
                keep(ended.id.to_string(), Side::Answer, body);
            }
        }
        Event::Frame(_) => {}
    }
}
