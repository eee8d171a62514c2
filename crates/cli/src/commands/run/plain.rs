//! Agents that take their providers' addresses from the environment alone.

use super::around::{Around, text};
use super::plan::Plan;
use deadweight_gateway::Provider;

/// Variables that hold the address of a provider, and where they lead by default. Those of the same provider are one.
const VARIABLES: [(&str, Provider, &str); 6] = [
    ("ANTHROPIC_BASE_URL", Provider::Anthropic, "https://api.anthropic.com"),
    ("ANTHROPIC_API_BASE", Provider::Anthropic, "https://api.anthropic.com"),
    ("OPENAI_BASE_URL", Provider::OpenAi, "https://api.openai.com/v1"),
    ("OPENAI_API_BASE", Provider::OpenAi, "https://api.openai.com/v1"),
    ("GOOGLE_GEMINI_BASE_URL", Provider::Gemini, "https://generativelanguage.googleapis.com"),
    ("GEMINI_API_BASE", Provider::Gemini, "https://generativelanguage.googleapis.com"),
];

/// Plans the run of a program that is not known.
pub(super) fn other(around: &Around<'_>, plan: &mut Plan) {
    for (variable, provider, default) in VARIABLES {
        // Where only the other variable of a pair is set, that one says where both lead.
        let twin = VARIABLES.iter().find(|(own, of, _)| *own != variable && *of == provider);
        let default = twin.and_then(|(twin, ..)| around.set(twin)).unwrap_or_else(|| default.to_owned());
        plan.redirect(around, provider, variable, &default);
    }
    // It may start Claude Code.
    if around.set("ANTHROPIC_BASE_URL").is_none() && (around.env)("ENABLE_TOOL_SEARCH").is_none() {
        plan.set("ENABLE_TOOL_SEARCH", "true");
    }
}

/// Plans a run of aider, which has settings of its own for OpenAI's address, and reads `.env` files over its environment.
/// As of version 0.86.
pub(super) fn aider(around: &Around<'_>, plan: &mut Plan, at: usize) {
    let words: Vec<String> =
        plan.words.iter().skip(at).map(|word| word.to_string_lossy().into_owned()).collect();
    let flag =
        words.iter().enumerate().find_map(|(number, word)| match word.strip_prefix("--openai-api-base") {
            Some("") => words.get(number + 1).cloned(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None => None,
        });
    let folders = || around.project().into_iter().chain(around.home(""));
    let written = |name: &str, separator: char, files: &[&str]| {
        folders().find_map(|folder| {
            let text = files.iter().find_map(|file| text(&folder.join(file)))?;
            let line = text.lines().rev().find_map(|line| {
                let (key, value) = line.trim().trim_start_matches("export ").split_once(separator)?;
                (key.trim() == name).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
            });
            line.filter(|value| !value.is_empty())
        })
    };
    let of_env = |name: &str| written(name, '=', &[".env"]);
    let of_config = || written("openai-api-base", ':', &[".aider.conf.yml"]);
    let openai = flag
        .clone()
        .or_else(|| around.set("AIDER_OPENAI_API_BASE"))
        .or_else(of_config)
        .or_else(|| of_env("OPENAI_API_BASE"))
        .or_else(|| around.set("OPENAI_API_BASE"))
        .or_else(|| around.set("OPENAI_BASE_URL"))
        .unwrap_or_else(|| "https://api.openai.com/v1".to_owned());
    if let Some(address) = plan.door(Provider::OpenAi, "OPENAI_API_BASE", &openai) {
        // Its own variable goes before its files; a flag goes before both.
        plan.set("OPENAI_API_BASE", address.as_str());
        plan.set("AIDER_OPENAI_API_BASE", address.as_str());
        if flag.is_some() {
            plan.words.push(format!("--openai-api-base={address}").into());
        }
    }
    let anthropic = of_env("ANTHROPIC_API_BASE")
        .or_else(|| around.set("ANTHROPIC_API_BASE"))
        .or_else(|| around.set("ANTHROPIC_BASE_URL"))
        .unwrap_or_else(|| "https://api.anthropic.com".to_owned());
    if let Some(address) = plan.door(Provider::Anthropic, "ANTHROPIC_API_BASE", &anthropic) {
        plan.set("ANTHROPIC_API_BASE", address.as_str());
        if of_env("ANTHROPIC_API_BASE").is_some() {
            plan.insert(at, ["--set-env".to_owned(), format!("ANTHROPIC_API_BASE={address}")]);
        }
        plan.set("ANTHROPIC_BASE_URL", address);
    }
}
