//! What is known of each model, with its date and source.
//!
//! Source of thresholds, multiples, windows and bindings: the providers' documentation as read in November 2026. The base prices
//! are list prices where one was found, else those of the family: what the judge compares is two bills made from one table.

/// The day on which the table was put together.
pub const TABLE_OF: &str = "2026-11-30";

/// A model as the judge knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The start of the model's name, without a provider's prefix.
    pub name: &'static str,
    /// The fewest tokens of a prefix that is cached.
    pub fewest_cached: u64,
    /// Whether thinking is bound to what stood before it.
    pub binds_thinking: bool,
    /// Whether the conversation must end with the user.
    pub ends_with_user: bool,
    /// Whether messages may have the role `system`.
    pub system_messages: bool,
    /// The most tokens of a prompt.
    pub window: u64,
    /// The most tokens with the beta for a long context.
    pub window_with_beta: u64,
    /// Nano-dollars for an input token at full price.
    pub input: u64,
    /// Nano-dollars for an output token.
    pub output: u64,
    /// Price of a token read from the cache, in thousandths of the full price.
    pub read: u64,
    /// Price of a token written for five minutes (or automatically), in thousandths of the full price.
    pub write: u64,
    /// Price of a token written for an hour, in thousandths of the full price.
    pub write_1h: u64,
}

const fn claude(name: &'static str, fewest_cached: u64, input: u64) -> Model {
    Model {
        name,
        fewest_cached,
        binds_thinking: false,
        ends_with_user: true,
        system_messages: false,
        window: 1_000_000,
        window_with_beta: 1_000_000,
        input,
        output: input * 5,
        read: 100,
        write: 1_250,
        write_1h: 2_000,
    }
}

const fn binding(mut model: Model, read: u64) -> Model {
    model.binds_thinking = true;
    model.system_messages = true;
    model.read = read;
    model
}

const fn speaks_system(mut model: Model) -> Model {
    model.system_messages = true;
    model
}

/// 200,000 tokens, or what the beta gives.
const fn short(mut model: Model, with_beta: u64) -> Model {
    model.window = 200_000;
    model.window_with_beta = with_beta;
    model
}

const fn prefills(mut model: Model) -> Model {
    model.ends_with_user = false;
    model
}

/// Models of others: writing costs nothing extra unless it is said.
const fn other(name: &'static str, fewest_cached: u64, input: u64, output: u64, write: u64) -> Model {
    Model {
        name,
        fewest_cached,
        binds_thinking: false,
        ends_with_user: false,
        system_messages: true,
        window: 1_000_000,
        window_with_beta: 1_000_000,
        input,
        output,
        read: 100,
        write,
        write_1h: write,
    }
}

const LONG: u64 = 1_000_000;

/// Longest names first where one is the start of another. Where the minimum is not published, that of the family's last
/// known model stands.
const MODELS: &[Model] = &[
    binding(claude("claude-fable-5-2", 512, 8_000), 25),
    binding(claude("claude-fable-5-1", 512, 10_000), 25),
    binding(claude("claude-mythos-5-2", 512, 8_000), 25),
    binding(claude("claude-mythos-5-1", 512, 10_000), 25),
    speaks_system(claude("claude-fable-5", 512, 10_000)),
    speaks_system(claude("claude-mythos-5", 512, 10_000)),
    binding(claude("claude-opus-5-5", 512, 4_000), 50),
    speaks_system(claude("claude-opus-5", 512, 5_000)),
    speaks_system(short(claude("claude-opus-4-8", 1_024, 5_000), LONG)),
    short(claude("claude-opus-4-7", 2_048, 5_000), LONG),
    short(claude("claude-opus-4-6", 4_096, 5_000), LONG),
    prefills(short(claude("claude-opus-4-5", 4_096, 5_000), 200_000)),
    prefills(short(claude("claude-opus-4-1", 1_024, 15_000), 200_000)),
    binding(claude("claude-sonnet-5-5", 1_024, 2_000), 100),
    claude("claude-sonnet-5", 1_024, 2_000),
    short(claude("claude-sonnet-4-6", 1_024, 3_000), LONG),
    prefills(short(claude("claude-sonnet-4-5", 1_024, 3_000), LONG)),
    binding(claude("claude-haiku-5-5", 4_096, 1_000), 100),
    prefills(short(claude("claude-haiku-4-5", 4_096, 1_000), 200_000)),
    prefills(short(claude("claude-3-5-haiku", 2_048, 800), 200_000)),
    other("gpt-6", 1_024, 1_250, 10_000, 1_250),
    other("gpt-5.6", 1_024, 1_250, 10_000, 1_250),
    other("gpt", 1_024, 1_250, 10_000, 1_000),
    other("gemini-3", 4_096, 2_000, 12_000, 1_000),
    other("gemini", 2_048, 1_250, 10_000, 1_000),
];

/// What a model that the table does not know is held to: the strictest of its provider.
const UNKNOWN_CLAUDE: Model = binding(claude("claude", 4_096, 5_000), 100);
const UNKNOWN: Model = other("", 1_024, 1_250, 10_000, 1_000);

/// The model of this name, also behind a cloud's prefix (`us.anthropic.claude-…`, `anthropic/claude-…`).
pub fn model(name: &str) -> Model {
    let own = name.rfind("claude").map_or(name, |at| &name[at..]);
    let own = own.strip_prefix("models/").unwrap_or(own);
    MODELS.iter().find(|model| own.starts_with(model.name)).copied().unwrap_or(if own.starts_with("claude") {
        UNKNOWN_CLAUDE
    } else {
        UNKNOWN
    })
}

/// Whether `reader` can use thinking that `maker` made. A model reads its own; the few exceptions are documented.
pub fn reads_thinking_of(reader: &str, maker: &str) -> bool {
    let family = |name: &str| model(name).name;
    if reader == maker || family(reader) == family(maker) && !family(reader).is_empty() {
        return true;
    }
    match family(maker) {
        "claude-haiku-5-5" => true,
        "claude-opus-5" | "claude-opus-5-5" => family(reader) == "claude-fable-5-1",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{model, reads_thinking_of};

    #[test]
    fn names_are_found_by_their_start_and_behind_prefixes() {
        assert_eq!(model("claude-opus-4-6-20260205").fewest_cached, 4_096);
        assert_eq!(model("us.anthropic.claude-sonnet-4-5-20250929-v1:0").name, "claude-sonnet-4-5");
        assert_eq!(model("claude-opus-5-5").read, 50);
        assert_eq!(model("claude-opus-5").read, 100);
        assert_eq!(model("gpt-5.6-sol").write, 1_250);
        assert_eq!(model("gpt-5.5").write, 1_000);
        assert_eq!(model("gemini-2.5-pro").fewest_cached, 2_048);
        assert!(model("claude-none-such").binds_thinking);
    }

    #[test]
    fn a_model_reads_its_own_thinking() {
        assert!(reads_thinking_of("claude-opus-5-5", "claude-opus-5-5"));
        assert!(!reads_thinking_of("claude-opus-5", "claude-fable-5-1"));
        assert!(reads_thinking_of("claude-fable-5-1", "claude-opus-5"));
        assert!(reads_thinking_of("claude-opus-5", "claude-haiku-5-5"));
    }
}
