//! Whether a call of a tool runs whose schema the model may not have seen.

use super::envelope::open;
use super::known::Known;
use super::reply::{Reply, short};
use super::settings::Optimistic;
use super::validate::Checked;
use super::{Surface, Tool, ToolIx};
use bytes::Bytes;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prepared {
    /// It runs.
    Run {
        /// The arguments to run it with, where they are not those that were given.
        arguments: Option<Bytes>,
    },
    /// It does not run, and this is the answer. It holds the full definition: the tool counts as loaded now.
    Answer {
        /// A `CallToolResult`, without `resultType`.
        result: Bytes,
    },
}

impl Surface {
    /// Whether a call of a deferred tool may run though its schema was not shown: the tool declares itself harmless, or every
    /// valid call shall run.
    pub fn runs_unseen(&self, tool: ToolIx) -> bool {
        let Some(tool) = self.tool(tool) else { return false };
        self.settings().optimistic == Optimistic::All || is_harmless(&Known::of(&tool.full), tool)
    }

    /// Decides about a call of a deferred tool. `loaded`: whether this client was given the tool's full definition.
    ///
    /// Arguments that were written as strings are coerced where the schema leaves no choice. A loaded tool then runs, and its
    /// server has the last word. One that was not loaded runs when the arguments fit the schema and it declares itself
    /// read-only or not destructive (or when every valid call shall run); otherwise nothing runs.
    pub fn prepare(&self, tool: ToolIx, arguments: Option<&[u8]>, loaded: bool) -> Prepared {
        self.prepare_for(tool, arguments, loaded, None)
    }

    /// The same where clients cannot be told apart, so that nothing is remembered of them: that its definition was shown is
    /// said by a further argument of the call, with this value.
    pub fn prepare_for(
        &self,
        tool: ToolIx,
        arguments: Option<&[u8]>,
        loaded: bool,
        code: Option<&str>,
    ) -> Prepared {
        let Some(tool) = self.tool(tool) else { return Prepared::Run { arguments: None } };
        let known = Known::of(&tool.full);
        let envelope = self.client().envelope();
        let opened =
            envelope.zip(arguments).and_then(|(envelope, given)| open(given, envelope, known.schema()));
        let arguments = opened.as_deref().or(arguments);
        let coerced = known.schema().zip(arguments).and_then(|(schema, given)| schema.coerce(given));
        let coerced = coerced.or_else(|| opened.clone());
        if loaded {
            return Prepared::Run { arguments: coerced };
        }
        let optimistic = self.settings().optimistic;
        if optimistic == Optimistic::Never {
            let text = format!(
                "Not run: the schema of {} was not loaded. Call it again with arguments that fit{}:",
                name(tool),
                and_code(code)
            );
            return answer(&known, &text);
        }
        let given = coerced.as_deref().or(arguments).unwrap_or(b"{}");
        let checked = match known.schema() {
            Some(schema) => schema.check(given),
            None => Checked::Unable("it has no input schema that can be read"),
        };
        let hints = known.hints();
        match checked {
            Checked::Valid if is_harmless(&known, tool) || optimistic == Optimistic::All => {
                Prepared::Run { arguments: coerced }
            }
            Checked::Valid => {
                let annotations = match &hints.annotations {
                    Some(annotations) => format!("its annotations are {}", short(annotations, 400)),
                    None => "it has no annotations".to_owned(),
                };
                let repeat = match code {
                    None => "Repeat the same call to run it.".to_owned(),
                    Some(_) => format!("Repeat the same call{} to run it.", and_code(code)),
                };
                let annotations = if tool.doubtful {
                    format!("{annotations}, but its server lists another tool of that name")
                } else {
                    annotations
                };
                let text = format!(
                    "Not run yet: {} is not declared read-only or non-destructive ({annotations}), and its schema was not loaded. \
                     The arguments fit. {repeat}",
                    name(tool)
                );
                answer(&known, &text)
            }
            Checked::Violations(violations) => {
                let mut text = format!("Not run: the arguments do not fit the schema of {}.", name(tool));
                for violation in &violations {
                    text.push_str("\n- ");
                    text.push_str(violation);
                }
                text.push_str("\nCall it again with arguments that fit");
                text.push_str(&and_code(code));
                text.push(':');
                answer(&known, &text)
            }
            Checked::Unable(why) => {
                let text = format!(
                    "Not run: the schema of {} was not loaded, and the arguments cannot be checked here ({why}). \
                     Compare them with its definition and call it again{}:",
                    name(tool),
                    and_code(code)
                );
                answer(&known, &text)
            }
        }
    }
}

/// The argument by which a client says that it was shown a tool's definition.
pub const CONFIRM: &str = "deadweight_confirm";

/// What is to be added to a call.
fn and_code(code: Option<&str>) -> String {
    code.map_or_else(String::new, |code| {
        format!(" and with the further argument `\"{CONFIRM}\":\"{code}\"`, which says that you were shown this definition")
    })
}

/// Whether a tool declares itself harmless, and nothing speaks against it.
fn is_harmless(known: &Known, tool: &Tool) -> bool {
    known.hints().harmless && !tool.doubtful
}

fn name(tool: &Tool) -> String {
    format!("`{}`", tool.shown)
}

fn answer(known: &Known, text: &str) -> Prepared {
    let mut reply = Reply::of(text);
    reply.line().push_escaped(known.rendered());
    Prepared::Answer { result: reply.error() }
}
