//! Which levers could cut which slice. Names only; the levers themselves live elsewhere.

use super::report::Lever;
use deadweight_wire::anatomy::Slice;

const fn lever(name: &'static str, does: &'static str) -> Lever {
    Lever { name, does }
}

const STEADY_PREFIX: Lever = lever(
    "steady-prefix",
    "keeps it in the order the provider has cached, so that it is read and not written",
);
const DEDUP: Lever =
    lever("dedup", "replaces a block that stands earlier in the same request by a pointer to it");
const ELIDE_RESULTS: Lever =
    lever("elide-results", "cuts a large tool result to its head and tail, with a way back");

const PRUNE_TOOLS: Lever = lever("prune-tools", "drops tools that the policy never allows");
const DEFER_TOOLS: Lever =
    lever("defer-tools", "leaves cold tools out of the prompt until the provider's tool search finds them");
const COMPACT_HISTORY: Lever =
    lever("compact-history", "gives the middle of a long history way to one stub, with a way back");
const SERVER_EDIT: Lever = lever("server-edit", "leaves the work to the provider's own context editing");

/// The levers for a slice, in the order in which to look at them.
pub(super) const fn for_slice(slice: Slice) -> &'static [Lever] {
    match slice {
        Slice::System => &[STEADY_PREFIX],
        Slice::Tools => &[PRUNE_TOOLS, DEFER_TOOLS, STEADY_PREFIX],
        Slice::History => &[DEDUP, ELIDE_RESULTS, COMPACT_HISTORY, SERVER_EDIT],
        Slice::Tail => &[DEDUP, ELIDE_RESULTS],
    }
}
