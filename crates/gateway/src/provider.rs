//! The providers, and what is known of their addresses.

use std::fmt;

/// Who answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    /// Anthropic's own API.
    Anthropic,
    /// OpenAI, and whoever speaks its formats.
    OpenAi,
    /// Google's Gemini API.
    Gemini,
    /// Anthropic's models on Amazon Bedrock.
    Bedrock,
    /// Anthropic's and Google's models on Vertex AI.
    Vertex,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 5] = [Self::Anthropic, Self::OpenAi, Self::Gemini, Self::Bedrock, Self::Vertex];

    /// Its name in output, in the ledger, on the command line and as first segment of a path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
        }
    }

    /// The provider of that [`name`](Self::name).
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Where it is asked when nobody says otherwise; none where the address depends on the account or region.
    /// As documented by each provider, read on 2026-11-28.
    pub const fn default_upstream(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Bedrock | Self::Vertex => None,
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
