//! The rules that the judge knows. Every refusal names one.

/// Where a rule is written down, or who has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The provider's documentation.
    Documented,
    /// Errors that users of the provider have published, word for word.
    Seen,
    /// Documented in substance; the words of the error are ours.
    Worded,
}

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $source:ident;)+) => {
        /// A documented rule. Its text is what the provider asks of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// A stable name, as in `anthropic.pairing.orphan-use`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)+ }
            }

            /// The rule in one sentence.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+).trim_ascii(),)+ }
            }

            /// Where it comes from. All were read or seen in November 2026.
            pub fn source(self) -> Source {
                match self { $(Self::$name => Source::$source,)+ }
            }
        }
    };
}

rules! {
    /// A body is one JSON document.
    InvalidJson = "any.body.json", Worded;
    /// A request of more than 32 MB is refused with 413.
    TooLarge = "any.body.size", Documented;
    /// A member that every request has is missing or of the wrong kind.
    Shape = "any.body.shape", Worded;
    /// A prompt fits into the model's window.
    PromptTooLong = "any.prompt.too-long", Seen;
    /// A request goes to a path that the provider serves.
    Path = "any.path", Worded;

    /// Every tool_use has its tool_result at the start of the next user message.
    OrphanUse = "anthropic.pairing.orphan-use", Documented;
    /// Every tool_result answers a tool_use of the message before.
    OrphanResult = "anthropic.pairing.orphan-result", Documented;
    /// A tool_use has one result.
    DoubledResult = "anthropic.pairing.doubled-result", Documented;
    /// Ids of tool_use blocks are unique.
    DoubledUse = "anthropic.pairing.doubled-use", Seen;
    /// A tool_use stands in assistant messages only, a tool_result in user messages only.
    WrongRole = "anthropic.pairing.wrong-role", Worded;
    /// Text blocks are not empty, and not white space alone.
    EmptyText = "anthropic.shape.empty-text", Documented;
    /// Messages have content.
    EmptyMessage = "anthropic.shape.empty-message", Seen;
    /// The conversation begins with the user.
    FirstUser = "anthropic.shape.first-user", Seen;
    /// On recent models the conversation ends with the user.
    Prefill = "anthropic.shape.prefill", Seen;
    /// A message of the role system is legal on recent models only.
    SystemRole = "anthropic.shape.system-role", Documented;
    /// Messages of the role system follow one of the user (or a server tool's result), and precede one of the assistant or end
    /// the conversation.
    SystemPlace = "anthropic.shape.system-place", Seen;

    /// At most four blocks are marked with cache_control; automatic caching takes one of them.
    Breakpoints = "anthropic.cache.breakpoints", Documented;
    /// One-hour marks come before five-minute marks.
    TtlOrder = "anthropic.cache.ttl-order", Documented;
    /// Thinking cannot be marked with cache_control.
    MarkedThinking = "anthropic.cache.marked-thinking", Documented;

    /// Names of tools match ^[a-zA-Z0-9_-]{1,128}$.
    ToolName = "anthropic.tools.name", Documented;
    /// Names of tools are unique.
    ToolNameTwice = "anthropic.tools.name-twice", Seen;
    /// An input schema has no oneOf, allOf or anyOf at its top.
    ToolSchema = "anthropic.tools.schema", Documented;
    /// A deferred tool has no cache_control.
    DeferredMarked = "anthropic.tools.deferred-marked", Documented;
    /// At least one tool is not deferred.
    AllDeferred = "anthropic.tools.all-deferred", Documented;
    /// At most 10,000 tools are deferred.
    TooManyDeferred = "anthropic.tools.too-many-deferred", Documented;
    /// A tool_reference names a tool that the request defines.
    MissingReference = "anthropic.tools.missing-reference", Documented;
    /// tool_choice names a tool that the request defines.
    ChoiceMissing = "anthropic.tools.choice-missing", Worded;
    /// On older accounts tool search needs its beta.
    ToolSearchBeta = "anthropic.tools.search-beta", Documented;
    /// tool_addition and tool_removal stand in system messages and need their beta.
    ToolChangeBeta = "anthropic.tools.change-beta", Documented;
    /// A tool that a system message defines by value needs a beta of its own.
    InlineToolBeta = "anthropic.tools.inline-beta", Documented;

    /// A signature that the provider did not make, or whose thinking was edited, is refused on every model.
    ForgedSignature = "anthropic.thinking.forged", Documented;
    /// On models that bind thinking, nothing before a thinking block may have changed.
    BoundPrefix = "anthropic.thinking.prefix", Documented;
    /// Thinking may be taken from the start, from the end or altogether: not from the middle, and it is not put back.
    BoundOrder = "anthropic.thinking.order", Documented;
    /// In the latest assistant message thinking stands as it was returned.
    LatestThinking = "anthropic.thinking.latest", Documented;
    /// With manual thinking, the assistant turn before trailing tool results starts with thinking.
    ManualStart = "anthropic.thinking.manual-start", Documented;
    /// An assistant turn does not end with thinking.
    ThinkingLast = "anthropic.thinking.last", Seen;
    /// Thinking stands in assistant messages only.
    ThinkingRole = "anthropic.thinking.role", Worded;
    /// thinking.block_binding needs its beta.
    BindingBeta = "anthropic.thinking.binding-beta", Documented;
    /// prefix_mismatch_behavior is error or drop_block.
    BindingValue = "anthropic.thinking.binding-value", Worded;

    /// context_management needs its beta, and each edit its own.
    ContextBeta = "anthropic.context.beta", Documented;
    /// An edit of context_management is one that the provider knows.
    ContextEdit = "anthropic.context.edit", Documented;
    /// Compaction triggers at 50,000 tokens or more.
    CompactTrigger = "anthropic.context.compact-trigger", Documented;
    /// clear_thinking comes first among the edits.
    ClearThinkingFirst = "anthropic.context.clear-thinking-first", Documented;
    /// diagnostics needs its beta.
    DiagnosticsBeta = "anthropic.diagnostics.beta", Documented;
    /// count_tokens refuses server tools.
    CountServerTools = "anthropic.count.server-tools", Documented;

    /// Every tool call is answered before the next message (chat completions).
    ChatOrphanCall = "openai.chat.orphan-call", Seen;
    /// Every tool message answers a call of the assistant message before (chat completions).
    ChatOrphanOutput = "openai.chat.orphan-output", Seen;
    /// Every function call has its output (responses).
    ResponsesOrphanCall = "openai.responses.orphan-call", Seen;
    /// Every output answers a function call (responses).
    ResponsesOrphanOutput = "openai.responses.orphan-output", Seen;
    /// An item that was made after reasoning comes with that reasoning (responses).
    ReasoningMissing = "openai.responses.reasoning-missing", Seen;
    /// Reasoning comes with the item that was made after it (responses).
    ReasoningAlone = "openai.responses.reasoning-alone", Seen;
    /// Encrypted reasoning is as the provider made it (responses).
    ReasoningForged = "openai.responses.reasoning-forged", Seen;
    /// Names of functions match ^[a-zA-Z0-9_-]+$ and have at most 64 characters.
    OpenaiName = "openai.tools.name", Seen;

    /// A turn has as many function responses as the turn before has function calls.
    GeminiCount = "gemini.pairing.count", Seen;
    /// A function call comes after the user or after a function response.
    GeminiCallOrder = "gemini.pairing.call-order", Seen;
    /// A function response comes immediately after a function call.
    GeminiResponseOrder = "gemini.pairing.response-order", Seen;
    /// The calls of the current turn carry their thought signatures.
    GeminiSignature = "gemini.thinking.signature", Documented;
    /// A thought signature is as the provider made it.
    GeminiForged = "gemini.thinking.forged", Seen;
    /// Names of functions start with a letter or underscore and have at most 128 characters.
    GeminiName = "gemini.tools.name", Documented;
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}
