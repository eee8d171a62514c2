//! Which models check thinking against what stood before it when it was made.

/// The day on which the table was put together.
pub const TABLE_OF: &str = "2026-11-30";

/// What a model does about thinking whose prefix changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// It refuses it, or drops it.
    Bound,
    /// It does not look.
    Free,
    /// The table does not know the model; it is treated as bound.
    Unknown,
}

/// Beginnings of model ids, without a cloud's prefix. The first that fits counts, so longer ones stand first.
///
/// Source: the provider's documentation of thinking that is bound to its prefix, read in November 2026. OpenAI's and
/// Google's reasoning is signed as an item and not bound to what stands before it (their documentation, same time).
pub const BINDINGS: &[(&str, Binding)] = &[
    ("claude-fable-5-1", Binding::Bound),
    ("claude-fable-5-2", Binding::Bound),
    ("claude-mythos-5-1", Binding::Bound),
    ("claude-mythos-5-2", Binding::Bound),
    ("claude-opus-5-5", Binding::Bound),
    ("claude-sonnet-5-5", Binding::Bound),
    ("claude-haiku-5-5", Binding::Bound),
    ("claude-opus-4-8", Binding::Free),
    ("claude-opus-4-7", Binding::Free),
    ("claude-opus-4-6", Binding::Free),
    ("claude-opus-4-5", Binding::Free),
    ("claude-opus-4-1", Binding::Free),
    ("claude-sonnet-4-6", Binding::Free),
    ("claude-sonnet-4-5", Binding::Free),
    ("claude-haiku-4-5", Binding::Free),
    ("claude-3-5-haiku", Binding::Free),
    ("gpt-", Binding::Free),
    ("gemini-", Binding::Free),
];

/// Models that have no minor version: `claude-opus-5`, also with a date behind it, and not `claude-opus-5-5`.
const WHOLE: &[&str] = &["claude-fable-5", "claude-mythos-5", "claude-opus-5", "claude-sonnet-5"];

impl Binding {
    /// What the table says of a model, also behind a cloud's prefix (`us.anthropic.claude-…`, `anthropic/claude-…`).
    #[must_use]
    pub fn of(model: &str) -> Self {
        let own = model.rfind("claude").and_then(|at| model.get(at..)).unwrap_or(model);
        let own = own.rsplit('/').next().unwrap_or(own);
        if let Some((_, binding)) = BINDINGS.iter().find(|(name, _)| is(own, name)) {
            return *binding;
        }
        let whole = WHOLE.iter().filter_map(|name| own.strip_prefix(name));
        // A date has eight digits; anything shorter would be a version that nobody has told us of.
        let dated = |rest: &str| {
            let rest = rest.strip_prefix(['-', '@']).unwrap_or(rest);
            rest.is_empty() || rest.bytes().take_while(u8::is_ascii_digit).count() >= 8
        };
        if whole.into_iter().any(dated) { Self::Free } else { Self::Unknown }
    }

    /// Whether thinking has to be taken to be bound.
    #[must_use]
    pub const fn may_bind(self) -> bool {
        !matches!(self, Self::Free)
    }
}

/// Whether a model's id is this name with nothing but a date or a version of the service behind it. A name that ends in
/// a hyphen stands for a family.
fn is(own: &str, name: &str) -> bool {
    own.strip_prefix(name)
        .is_some_and(|rest| name.ends_with('-') || !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::Binding;

    #[test]
    fn what_is_not_in_the_table_is_unknown() {
        for (model, binding) in [
            ("claude-opus-5-5", Binding::Bound),
            ("claude-opus-5-5-20261001", Binding::Bound),
            ("claude-opus-5", Binding::Free),
            ("claude-opus-5-20260401", Binding::Free),
            ("claude-opus-5-6", Binding::Unknown),
            ("claude-opus-4-8", Binding::Free),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Binding::Free),
            ("anthropic/claude-fable-5-2", Binding::Bound),
            ("claude-sonnet-4-5@20250929", Binding::Free),
            ("gpt-6.1", Binding::Free),
            ("models/gemini-3-pro", Binding::Free),
            ("qwen3-coder", Binding::Unknown),
            ("", Binding::Unknown),
        ] {
            assert_eq!(Binding::of(model), binding, "{model}");
        }
    }
}
