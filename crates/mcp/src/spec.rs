//! What to ask: a server, how to reach it, and where that was written down.

use crate::text::{Folder, Text};
use std::fmt;
use std::path::{Path, PathBuf};

/// One MCP server that can be asked for its tools.
///
/// `Debug` and `Display` never print the values of environment variables and headers, userinfo and query
/// of a URL, or arguments that hold an expanded variable or look like a key.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The name the user gave it (`--name`, or its key in a config file); without one, the server's own
    /// name is used once it is known.
    pub label: Option<String>,
    /// How it is reached.
    pub transport: Transport,
    /// Where it is written down, if in a file.
    pub origin: Option<Origin>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that speaks over its standard streams.
    Stdio {
        /// The program, a path or a name looked up in `PATH`.
        command: Text,
        /// Its arguments.
        args: Vec<Text>,
        /// Environment variables set on top of those of this process.
        env: Vec<(String, Text)>,
        /// Its working directory; that of this process if absent.
        cwd: Option<Folder>,
    },
    /// Streamable HTTP; falls back to [`Transport::Sse`] where the server only speaks that.
    Http {
        /// The endpoint.
        url: Text,
        /// Headers sent with every request.
        headers: Vec<(String, Text)>,
    },
    /// The HTTP+SSE transport of 2024-11-05.
    Sse {
        /// The address of the event stream.
        url: Text,
        /// Headers sent with every request.
        headers: Vec<(String, Text)>,
    },
}

/// The place in a file where a server is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// The line of the server's key, counted from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {})", self.file.display(), self.line)
    }
}

impl ServerSpec {
    /// A server started by a command line; arguments that look like keys are hidden from output.
    pub fn stdio<S: Into<String>>(command: impl Into<String>, args: impl IntoIterator<Item = S>) -> Self {
        Self {
            label: None,
            transport: Transport::Stdio {
                command: Text::plain(command),
                args: crate::redact::args(args.into_iter().map(|arg| Text::plain(arg)).collect()),
                env: Vec::new(),
                cwd: None,
            },
            origin: None,
        }
    }

    /// A server reached over streamable HTTP (or the older SSE transport, if that is all it speaks).
    pub fn http(url: impl Into<String>, headers: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            label: None,
            transport: Transport::Http {
                url: crate::redact::url(Text::plain(url)),
                headers: headers.into_iter().map(|(name, value)| (name, Text::secret(value))).collect(),
            },
            origin: None,
        }
    }

    /// The same server under a name.
    #[must_use]
    pub fn named(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// A name to show before the server has told its own: the label, else what the command line or the
    /// URL suggests.
    pub fn display_name(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        match &self.transport {
            Transport::Stdio { command, args, .. } => name_of_command(command, args),
            Transport::Http { url, .. } | Transport::Sse { url, .. } => url.shown().to_owned(),
        }
    }

    /// The texts that must not appear in any output: hidden values, and the parts of them that what is shown
    /// does not have (the token after `Bearer`, the key in a query). The longest come first.
    #[cfg(feature = "client")]
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let texts: Vec<&Text> = match &self.transport {
            Transport::Stdio { command, args, env, .. } => {
                std::iter::once(command).chain(args).chain(env.iter().map(|(_, value)| value)).collect()
            }
            Transport::Http { url, headers } | Transport::Sse { url, headers } => {
                std::iter::once(url).chain(headers.iter().map(|(_, value)| value)).collect()
            }
        };
        let mut secrets = Vec::new();
        for text in texts.into_iter().filter(|text| text.is_hidden()) {
            secrets.push(text.reveal());
            secrets.extend(
                text.reveal()
                    .split(|c: char| c.is_whitespace() || "=&?#@,;:/\"'".contains(c))
                    .filter(|part| !matches!(*part, "Bearer" | "bearer" | "Basic"))
                    .filter(|part| !text.shown().contains(part)),
            );
        }
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }
}

/// What a command line starts, in one word: the package behind a runner, else the program's file name.
fn name_of_command(command: &Text, args: &[Text]) -> String {
    let stem = |text: &str| {
        Path::new(text)
            .file_stem()
            .map_or_else(|| text.to_owned(), |name| name.to_string_lossy().into_owned())
    };
    let program = stem(command.shown());
    match program.as_str() {
        "npx" | "uvx" | "bunx" | "pipx" | "pnpm" | "yarn" | "uv" => args
            .iter()
            .map(Text::shown)
            .find(|arg| !arg.starts_with('-') && !matches!(*arg, "run" | "dlx" | "exec" | "tool" | "x"))
            .map_or(program, str::to_owned),
        "node" | "python" | "python3" | "deno" | "bun" | "sh" | "bash" => args
            .iter()
            .map(Text::shown)
            .find(|arg| !arg.starts_with('-') && !arg.contains(' '))
            .map_or(program, str::to_owned),
        _ => program,
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, .. } => {
                f.write_str(&crate::harmless::word(command.shown()))?;
                for arg in args {
                    write!(f, " {}", crate::harmless::word(arg.shown()))?;
                }
                Ok(())
            }
            Self::Http { url, .. } | Self::Sse { url, .. } => {
                f.write_str(&crate::harmless::line(url.shown()))
            }
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment and header values are hidden whoever made them: only the names are printed.
        fn names(pairs: &[(String, Text)]) -> Vec<&str> {
            pairs.iter().map(|(name, _)| name.as_str()).collect()
        }
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &names(env))
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers } => {
                f.debug_struct("Http").field("url", url).field("headers", &names(headers)).finish()
            }
            Self::Sse { url, headers } => {
                f.debug_struct("Sse").field("url", url).field("headers", &names(headers)).finish()
            }
        }
    }
}

impl fmt::Display for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.label {
            write!(f, "{}: ", crate::harmless::line(label))?;
        }
        self.transport.fmt(f)
    }
}

impl fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSpec")
            .field("label", &self.label)
            .field("transport", &self.transport)
            .field("origin", &self.origin)
            .finish()
    }
}
