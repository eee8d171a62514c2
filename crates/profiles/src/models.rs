//! What single models do and know, by their ids as their makers write them: without cloud, date and window.

use crate::Fact;

const THINKING: &str = "the provider's documentation of thinking that is bound to its prefix";

/// Models that refuse or drop thinking whose prefix changed.
pub const BIND_THINKING: Fact<&[&str]> = Fact {
    value: &[
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-1",
        "claude-mythos-5-2",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
    ],
    date: "2026-11-30",
    source: THINKING,
};

/// Models that can search for tools which are not in the prompt. An entry that ends in `*` is the beginning of an id.
pub const SEARCH_TOOLS: Fact<&[&str]> = Fact {
    value: &[
        "claude-fable-5-2",
        "claude-mythos-5-2",
        "claude-fable-5-1",
        "claude-mythos-5-1",
        "claude-fable-5",
        "claude-mythos-5",
        "claude-opus-5-5",
        "claude-opus-5",
        "claude-sonnet-5-5",
        "claude-sonnet-5",
        "claude-haiku-5-5",
        "claude-haiku-4-5",
        "claude-opus-4-8",
        "claude-opus-4-7",
        "claude-opus-4-6",
        "claude-sonnet-4-6",
        "claude-opus-4-5",
        "claude-sonnet-4-5",
        "gpt-5.4*",
        "gpt-5.5*",
        "gpt-6*",
    ],
    date: "2026-11-30",
    source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool; OpenAI's guide to tool search",
};

/// Models that can be told in mid-conversation which tools come and go.
pub const TOOL_CHANGES: Fact<&[&str]> = Fact {
    value: &[
        "claude-fable-5-1",
        "claude-mythos-5-1",
        "claude-fable-5",
        "claude-mythos-5",
        "claude-opus-5-5",
        "claude-opus-5",
        "claude-opus-4-8",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
    ],
    date: "2026-12-01",
    source: "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages",
};

/// Models that do not look at what stood before their thinking. An entry that ends in `-` is a family: reasoning of
/// OpenAI's and Google's models is signed as an item and not bound to what stands before it (their documentation, same
/// time).
pub const FREE_THINKING: Fact<&[&str]> = Fact {
    value: &[
        "claude-fable-5",
        "claude-mythos-5",
        "claude-opus-5",
        "claude-sonnet-5",
        "claude-opus-4-8",
        "claude-opus-4-7",
        "claude-opus-4-6",
        "claude-opus-4-5",
        "claude-opus-4-1",
        "claude-sonnet-4-6",
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-3-5-haiku",
        "gpt-",
        "gemini-",
    ],
    date: "2026-11-30",
    source: THINKING,
};
