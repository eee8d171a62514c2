//! What one captured request carries.
//!
//! - `Σ wire_bytes` of the slices `+ envelope_bytes = body_bytes`, exactly.
//! - A slice's content bytes are those of its parts: of its blocks for system, history and tail; of `tools` and
//!   `namespaces` for tools. Texts are weighed decoded, schemas and inputs as sent, images by size.
//! - A slice's tokens come from its own count, `floor` and `total` are sums of slices' tokens.
//! - A tool with `defer_loading` costs no content and no tokens until the request itself shows that it was found:
//!   the provider leaves it out of the prompt. Its definition is in the wire bytes of the tools slice all the same,
//!   and it is listed in `deferred` with what it would cost.
//! - A document's base64 is no text and its pages are not known: it is counted as a block, at the tokens of its
//!   title and context.

mod levers;
mod price;
mod report;
mod standing;
mod tools;

pub use price::{estimate, image_tokens, price};
pub use report::{
    AnomalyEntry, BlockFootprint, Image, Lever, Levers, NamespaceFootprint, OriginFootprint, Part,
    RequestFootprint, RequestTool, SCHEMA, Slices, Standing, StandingPart,
};
