//! The four request formats, and how a request tells which one it is: by its path, else by its shape.

mod path;
mod shape;

pub use path::model_of_path;

use std::fmt;

/// One request format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Anthropic Messages: `POST /v1/messages`, also below Bedrock's and Vertex's paths.
    AnthropicMessages,
    /// OpenAI Chat Completions: `POST /v1/chat/completions`.
    OpenaiChat,
    /// OpenAI Responses: `POST /v1/responses`.
    OpenaiResponses,
    /// Gemini `generateContent` and `streamGenerateContent`.
    GeminiGenerate,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] =
        [Self::AnthropicMessages, Self::OpenaiChat, Self::OpenaiResponses, Self::GeminiGenerate];

    /// The name used in output and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::GeminiGenerate => "gemini-generate",
        }
    }

    /// The dialect of that [`name`](Self::name).
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
