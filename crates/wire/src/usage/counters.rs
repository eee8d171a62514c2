//! Counters as they are sent, and in their one meaning.

use super::state::Source;
use crate::Dialect;
use crate::json::Value;

/// Counters as the provider sent them (OBSERVED, in tokens). Of several reports the last wins, counter by
/// counter: one that a later report leaves out, or sends as `null`, stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reported {
    /// `input_tokens`, `prompt_tokens`, `promptTokenCount`. What it includes differs by dialect.
    pub input: Option<u64>,
    /// `cache_read_input_tokens`, `cached_tokens`, `cachedContentTokenCount`.
    pub cache_read: Option<u64>,
    /// `cache_creation_input_tokens`, `cache_write_tokens`: writes of every time to live.
    pub cache_write: Option<u64>,
    /// `cache_creation.ephemeral_5m_input_tokens`: the part of `cache_write` that lives 5 minutes.
    pub cache_write_5m: Option<u64>,
    /// `cache_creation.ephemeral_1h_input_tokens`: the part of `cache_write` that lives an hour.
    pub cache_write_1h: Option<u64>,
    /// `output_tokens`, `completion_tokens`, `candidatesTokenCount`.
    pub output: Option<u64>,
    /// `thinking_tokens`, `reasoning_tokens`, `thoughtsTokenCount`.
    pub reasoning: Option<u64>,
    /// `toolUsePromptTokenCount`.
    pub tool_prompt: Option<u64>,
    /// `total_tokens`, `totalTokenCount`.
    pub total: Option<u64>,
}

/// Counters with one meaning in every dialect (OBSERVED, in tokens). `None`: the provider did not say,
/// which is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Prompt tokens that were neither read from the cache nor, as far as is known, written to it.
    /// Where only an inclusive number is sent, it is that less the cached parts, and `None` when the
    /// cache reads were not sent or exceed it. A provider that does not count writes has them in here.
    pub input_uncached: Option<u64>,
    /// Prompt tokens read from the cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens written to the cache for 5 minutes.
    pub cache_write_5m: Option<u64>,
    /// Prompt tokens written to the cache for an hour.
    pub cache_write_1h: Option<u64>,
    /// Prompt tokens written to the cache for a time that was not sent; the rest, where only a part of
    /// the writes came with its time.
    pub cache_write_unspecified: Option<u64>,
    /// All output tokens, reasoning included.
    pub output: Option<u64>,
    /// The part of `output` that is reasoning.
    pub reasoning_output: Option<u64>,
    /// The whole prompt, in the dialects that report it as one number (OpenAI, Gemini). See
    /// [`Counters::prompt`].
    pub total_prompt: Option<u64>,
    /// Gemini: prompt tokens of the provider's own tool use, which its prompt number leaves out.
    pub tool_prompt: Option<u64>,
}

/// One pass behind a response (Anthropic `usage.iterations[]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iteration {
    /// Its type: `message`, `compaction`, `advisor_message`, `fallback_message`, …
    pub kind: Option<String>,
    /// Its model, where it is named. It may differ from the response's.
    pub model: Option<String>,
    /// Its counters.
    pub counters: Counters,
    /// The same as sent.
    pub reported: Reported,
}

/// How often a tool of the provider's own was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTool {
    /// The counter's name, such as `web_search_requests`.
    pub name: String,
    /// Its value (OBSERVED, in requests).
    pub count: u64,
}

impl Reported {
    /// Takes over what `later` holds and keeps the rest.
    pub(super) fn update(&mut self, later: &Self) {
        let slots = [
            (&mut self.input, later.input),
            (&mut self.cache_read, later.cache_read),
            (&mut self.cache_write, later.cache_write),
            (&mut self.cache_write_5m, later.cache_write_5m),
            (&mut self.cache_write_1h, later.cache_write_1h),
            (&mut self.output, later.output),
            (&mut self.reasoning, later.reasoning),
            (&mut self.tool_prompt, later.tool_prompt),
            (&mut self.total, later.total),
        ];
        for (slot, value) in slots {
            *slot = value.or(*slot);
        }
    }

    /// Reads a usage object of `dialect`. Counters that are no counters are tallied in `bad`.
    pub(super) fn read(usage: Value<'_, '_>, dialect: Dialect, bad: &mut u64) -> Self {
        let mut number = |path: &[&str]| {
            let found = path.iter().try_fold(usage, |value, key| value.get(key))?;
            if found.is_null() {
                return None;
            }
            let count = found.as_u64();
            *bad += u64::from(count.is_none());
            count
        };
        match dialect {
            Dialect::AnthropicMessages => Self {
                input: number(&["input_tokens"]),
                cache_read: number(&["cache_read_input_tokens"]),
                cache_write: number(&["cache_creation_input_tokens"]),
                cache_write_5m: number(&["cache_creation", "ephemeral_5m_input_tokens"]),
                cache_write_1h: number(&["cache_creation", "ephemeral_1h_input_tokens"]),
                output: number(&["output_tokens"]),
                reasoning: number(&["output_tokens_details", "thinking_tokens"]),
                tool_prompt: None,
                total: None,
            },
            Dialect::OpenaiChat => Self {
                input: number(&["prompt_tokens"]),
                cache_read: number(&["prompt_tokens_details", "cached_tokens"]),
                cache_write: number(&["prompt_tokens_details", "cache_write_tokens"])
                    .or_else(|| number(&["cache_write_tokens"])),
                output: number(&["completion_tokens"]),
                reasoning: number(&["completion_tokens_details", "reasoning_tokens"]),
                total: number(&["total_tokens"]),
                ..Self::default()
            },
            Dialect::OpenaiResponses => Self {
                input: number(&["input_tokens"]),
                cache_read: number(&["input_tokens_details", "cached_tokens"]),
                cache_write: number(&["input_tokens_details", "cache_write_tokens"])
                    .or_else(|| number(&["cache_write_tokens"])),
                output: number(&["output_tokens"]),
                reasoning: number(&["output_tokens_details", "reasoning_tokens"]),
                total: number(&["total_tokens"]),
                ..Self::default()
            },
            Dialect::GeminiGenerate => Self {
                input: number(&["promptTokenCount"]),
                cache_read: number(&["cachedContentTokenCount"]),
                output: number(&["candidatesTokenCount"]),
                reasoning: number(&["thoughtsTokenCount"]),
                tool_prompt: number(&["toolUsePromptTokenCount"]),
                total: number(&["totalTokenCount"]),
                ..Self::default()
            },
        }
    }

    /// The counters in their one meaning.
    pub fn counters(&self, dialect: Dialect) -> Counters {
        let timed = sum([self.cache_write_5m, self.cache_write_1h]);
        let mut counters = Counters {
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write_5m,
            cache_write_1h: self.cache_write_1h,
            cache_write_unspecified: match (self.cache_write, timed) {
                (Some(all), Some(timed)) => all.checked_sub(timed).filter(|&rest| rest > 0),
                (all, _) => all,
            },
            output: self.output,
            reasoning_output: self.reasoning,
            tool_prompt: self.tool_prompt,
            ..Counters::default()
        };
        match dialect {
            Dialect::AnthropicMessages => counters.input_uncached = self.input,
            Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::GeminiGenerate => {
                counters.total_prompt = self.input;
                counters.input_uncached = self.cache_read.and_then(|read| {
                    self.input?.checked_sub(read)?.checked_sub(self.cache_write.unwrap_or(0))
                });
            }
        }
        if dialect == Dialect::GeminiGenerate {
            counters.output = sum([self.output, self.reasoning]);
        }
        counters
    }
}

impl Counters {
    /// The whole prompt: the inclusive number where one was sent, else the sum of the uncached part and
    /// of the cached parts that were sent. `None` when neither was sent.
    pub fn prompt(&self) -> Option<u64> {
        self.total_prompt.or_else(|| {
            self.input_uncached?;
            sum([self.input_uncached, self.cache_read, self.cache_write()])
        })
    }

    /// Every cache write that was sent, of whatever time to live.
    pub fn cache_write(&self) -> Option<u64> {
        sum([self.cache_write_5m, self.cache_write_1h, self.cache_write_unspecified])
    }

    /// The most that can have been uncached: the prompt less every cached part that was sent. It equals
    /// [`Counters::input_uncached`] where that is known; Gemini, for one, leaves out a zero cache read.
    pub fn input_uncached_at_most(&self) -> Option<u64> {
        self.input_uncached.or_else(|| {
            let cached = sum([self.cache_read, self.cache_write()]).unwrap_or(0);
            Some(self.total_prompt?.saturating_sub(cached))
        })
    }
}

impl Iteration {
    pub(super) fn read(value: Value<'_, '_>, bad: &mut u64) -> Self {
        let reported = Reported::read(value, Dialect::AnthropicMessages, bad);
        Self {
            kind: value.text("type"),
            model: value.text("model"),
            counters: reported.counters(Dialect::AnthropicMessages),
            reported,
        }
    }
}

/// The sum of what is there; `None` when nothing is.
fn sum<const N: usize>(parts: [Option<u64>; N]) -> Option<u64> {
    parts.into_iter().flatten().reduce(u64::saturating_add)
}
