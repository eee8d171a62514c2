//! Which models check thinking against what stood before it when it was made.

use deadweight_price::bare;
use deadweight_profiles::models::{BIND_THINKING, FREE_THINKING};

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

impl Binding {
    /// What the table says of a model, also behind a cloud's prefix (`us.anthropic.claude-…`, `anthropic/claude-…`).
    #[must_use]
    pub fn of(model: &str) -> Self {
        let own = bare(model);
        let is = |name: &&str| *name == own || (name.ends_with('-') && own.starts_with(*name));
        if BIND_THINKING.value.iter().any(is) {
            Self::Bound
        } else if FREE_THINKING.value.iter().any(is) {
            Self::Free
        } else {
            Self::Unknown
        }
    }

    /// Whether thinking has to be taken to be bound.
    #[must_use]
    pub const fn may_bind(self) -> bool {
        !matches!(self, Self::Free)
    }
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
