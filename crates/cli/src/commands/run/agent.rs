//! Which agent a command line starts, and where its own arguments begin.

use crate::args::AgentArg;
use std::ffi::OsString;
use std::path::Path;

/// Programs and packages by which the agents are started.
const NAMES: [(&str, AgentArg); 14] = [
    ("claude", AgentArg::Claude),
    ("@anthropic-ai/claude-code", AgentArg::Claude),
    ("claude-code", AgentArg::Claude),
    ("codex", AgentArg::Codex),
    ("@openai/codex", AgentArg::Codex),
    ("opencode", AgentArg::Opencode),
    ("opencode-ai", AgentArg::Opencode),
    ("gemini", AgentArg::Gemini),
    ("@google/gemini-cli", AgentArg::Gemini),
    ("gemini-cli", AgentArg::Gemini),
    ("qwen", AgentArg::Qwen),
    ("@qwen-code/qwen-code", AgentArg::Qwen),
    ("aider", AgentArg::Aider),
    ("aider-chat", AgentArg::Aider),
];

/// Programs that start another one, which their arguments name.
const RUNNERS: [&str; 13] =
    ["npx", "bunx", "pnpm", "pnpx", "yarn", "npm", "bun", "uvx", "uv", "pipx", "env", "nice", "mise"];

/// How far into the arguments of a runner its program is looked for.
const FAR: usize = 10;

/// The agent, and the place behind the word that names it.
pub(super) fn find(words: &[OsString], said: Option<AgentArg>) -> (AgentArg, usize) {
    let name = |word: &OsString| {
        let word = word.to_str()?;
        let file = Path::new(word).file_name()?.to_str()?;
        let stem = file.trim_end_matches(".exe").trim_end_matches(".cmd");
        // A package may come with its version, which stands behind an `@` that is not its first.
        let package =
            word.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(word, |(at, _)| &word[..at]);
        let known = |name: &str| NAMES.iter().find(|(own, _)| *own == name).map(|(_, agent)| *agent);
        known(stem).or_else(|| known(package))
    };
    let first = words.first().and_then(name).map(|agent| (agent, 1));
    let runner = words.first().and_then(|word| Path::new(word).file_stem()?.to_str());
    let found = first.or_else(|| {
        runner.filter(|runner| RUNNERS.contains(runner))?;
        let behind = words.iter().enumerate().skip(1).take(FAR);
        behind.filter(|(_, word)| !word.to_string_lossy().starts_with('-')).find_map(|(at, word)| {
            // What is set in a word is not started.
            (!word.to_string_lossy().contains('=')).then_some(())?;
            Some((name(word)?, at + 1))
        })
    });
    match (found, said) {
        (Some((_, at)), Some(agent)) => (agent, at),
        (None, Some(agent)) => (agent, 1),
        (Some(found), None) => found,
        (None, None) => (AgentArg::Other, 1),
    }
}

/// What an agent is called.
pub(super) const fn name(agent: AgentArg) -> &'static str {
    match agent {
        AgentArg::Claude => "claude-code",
        AgentArg::Codex => "codex",
        AgentArg::Opencode => "opencode",
        AgentArg::Gemini => "gemini-cli",
        AgentArg::Qwen => "qwen-code",
        AgentArg::Aider => "aider",
        AgentArg::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_found_by_their_program_or_package() {
        for (line, agent, at) in [
            ("claude -p go", AgentArg::Claude, 1),
            ("/opt/bin/codex exec go", AgentArg::Codex, 1),
            ("npx -y @anthropic-ai/claude-code@2.1.332 -p go", AgentArg::Claude, 3),
            ("npx -y opencode-ai run go", AgentArg::Opencode, 3),
            ("env A=codex gemini -p go", AgentArg::Gemini, 3),
            ("uvx --python 3.12 aider", AgentArg::Aider, 4),
            ("uv tool run aider", AgentArg::Aider, 4),
            ("python bot.py claude", AgentArg::Other, 1),
            ("claudette", AgentArg::Other, 1),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(find(&words, None), (agent, at), "{line}");
        }
        let words = [OsString::from("my-agent")];
        assert_eq!(find(&words, Some(AgentArg::Codex)), (AgentArg::Codex, 1));
    }
}
