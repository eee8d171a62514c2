//! The whole command, run in a directory of its own; what it prints, with what differs from run to run
//! taken out.

use assert_cmd::Command;
use deadweight_testkit::scripted_mcp::Script;
use std::path::{Path, PathBuf};

/// A directory to run the command in.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Writes the script of a scripted server; it is played by [`server`] with `@NAME`.
    pub(crate) fn script(self, name: &str, script: &Script) -> Self {
        self.file(name, script.to_json())
    }

    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command, ready to run: nothing of this process's environment reaches it but PATH.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deadweight"));
        command.env_clear().env("PATH", std::env::var("PATH").unwrap_or_default()).env("HOME", self.path());
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command.current_dir(self.path()).args(args);
        command
    }

    /// Runs it; exit code, output and errors as one text.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.run_with(args, "")
    }

    /// Runs it with something on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> String {
        let output = self.command(args).write_stdin(input).output().unwrap();
        let text = |bytes: &[u8]| self.filtered(std::str::from_utf8(bytes).unwrap());
        format!(
            "exit: {}\n--- stdout ---\n{}--- stderr ---\n{}",
            output.status.code().map_or("by signal".to_owned(), |code| code.to_string()),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn filtered(&self, text: &str) -> String {
        let real = self.path().canonicalize().unwrap();
        text.replace(server(), "[SERVER]")
            .replace(&*real.to_string_lossy(), "[DIR]")
            .replace(&*self.path().to_string_lossy(), "[DIR]")
    }
}

/// The program that plays scripts.
pub(crate) fn server() -> &'static str {
    deadweight_testkit::scripted_mcp().to_str().unwrap()
}

/// Takes out of snapshots what differs from run to run: times, ports, versions.
pub(crate) fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"(after|within) \d+(\.\d+)? s", "$1 [TIME]"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
        (r"deadweight \d+\.\d+\.\d+", "deadweight [VERSION]"),
        (r#""deadweight","version":"\d+\.\d+\.\d+""#, r#""deadweight","version":"[VERSION]""#),
    ]
}

/// Asserts a whole run.
macro_rules! assert_run {
    ($run:expr) => {
        insta::with_settings!({ filters => $crate::sandbox::filters(), omit_expression => true }, {
            insta::assert_snapshot!($run);
        });
    };
}

/// A dump of tools: three of them, the middle one with everything a tool can have.
pub(crate) const TOOLS: &str = r#"{
  "tools": [
    { "name": "list_rooms", "description": "Lists the rooms of the house.", "inputSchema": { "type": "object" } },
    {
      "name": "book_room",
      "title": "Book a room",
      "description": "Books a room for some days. The days are counted from the day of arrival; the room is held until noon.",
      "inputSchema": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
          "room": { "type": "string", "description": "The number of the room" },
          "from": { "type": "string", "format": "date" },
          "days": { "type": "integer", "minimum": 1 }
        },
        "required": ["room", "from", "days"]
      },
      "outputSchema": { "type": "object", "properties": { "booking": { "type": "string" } } },
      "annotations": { "destructiveHint": false }
    },
    { "name": "ring", "inputSchema": { "type": "object", "properties": { "bell": { "type": "string" } } } }
  ]
}"#;

/// The path of the folder with data that is not part of the project, if it is there.
pub(crate) fn shared() -> Option<PathBuf> {
    let asked = std::env::var_os("DEADWEIGHT_SHARED").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let roots = asked.iter().flat_map(|asked| [asked.clone(), asked.join("data")]).chain([beside]);
    roots.into_iter().find(|root| root.join("toolslist").is_dir())
}
