//! Running other programs, said aloud.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Context, Failure, Result, place, say};

/// A command that runs in the workspace's root, without input.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(place::workspace()).stdin(Stdio::null());
    command
}

/// `cargo`, the one that runs this chore, in the workspace's root.
pub fn cargo() -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo says to an xtask about the package it runs is not meant for what the xtask builds.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO_BIN_NAME" {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs `command` with its output on this terminal.
///
/// # Errors
///
/// When it cannot be started, or ends with anything but success.
pub fn run(command: &mut Command) -> Result {
    let line = line_of(command);
    say(format_args!("$ {line}"));
    let status = command.status().context(format_args!("cannot start `{line}`"))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{line}` ended with {status}"))) }
}

/// Runs `command` and gives its stdout; its stderr is part of the error, if there is one.
///
/// # Errors
///
/// When it cannot be started, ends with anything but success, or prints what is not UTF-8.
pub fn output(command: &mut Command) -> Result<String> {
    let line = line_of(command);
    let output = command.output().context(format_args!("cannot start `{line}`"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("`{line}` ended with {}\n{}", output.status, told.trim_end())));
    }
    String::from_utf8(output.stdout).context(format_args!("`{line}` printed what is not UTF-8"))
}

/// Whether `program` with `arguments` runs and succeeds, silently.
pub fn answers(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    command(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as a person would type it.
fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    std::iter::once(program)
        .chain(command.get_args().map(|argument| argument.to_string_lossy()))
        .map(|word| {
            if word.contains(char::is_whitespace) || word.is_empty() {
                format!("'{word}'").into()
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_with_what_it_said() {
        let failure = output(command("sh").args(["-c", "echo no luck >&2; exit 3"]))
            .map_err(|failure| failure.to_string());
        assert_eq!(
            failure,
            Err("`sh -c 'echo no luck >&2; exit 3'` ended with exit status: 3\nno luck".to_owned())
        );
    }

    #[test]
    fn a_program_that_is_not_there_does_not_answer() {
        assert!(answers("true", &[]));
        assert!(!answers("false", &[]));
        assert!(!answers("no-such-program-anywhere", &[]));
    }
}
