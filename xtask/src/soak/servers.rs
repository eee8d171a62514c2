//! The public servers that install, each listed bare and through the proxy: eagerly byte for byte, deferred under the same
//! names, and every deferred tool loaded once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use deadweight_testkit::client::Client;
use deadweight_testkit::processes;
use serde_json::{Value, json};

use crate::shell;
use crate::{Context, Failure, Result, fixtures, print, provision, say, test};

/// A public server, with what it is started with.
#[derive(Debug, Clone, Copy)]
struct Public {
    /// Its name here.
    name: &'static str,
    /// Its package and version, as its registry names it.
    package: &'static str,
    /// Its command.
    command: &'static str,
    /// Whether it comes from PyPI instead of npm.
    python: bool,
    arguments: &'static [&'static str],
    /// Keys that open nothing.
    env: &'static [(&'static str, &'static str)],
}

const fn npm(name: &'static str, package: &'static str, command: &'static str) -> Public {
    Public { name, package, command, python: false, arguments: &[], env: &[] }
}

const fn pypi(name: &'static str, package: &'static str, command: &'static str) -> Public {
    Public { name, package, command, python: true, arguments: &[], env: &[] }
}

const PUBLIC: [Public; 14] = [
    Public {
        env: &[
            ("JIRA_URL", "http://127.0.0.1:9"),
            ("JIRA_USERNAME", "nobody"),
            ("JIRA_API_TOKEN", "dummy"),
            ("CONFLUENCE_URL", "http://127.0.0.1:9"),
            ("CONFLUENCE_USERNAME", "nobody"),
            ("CONFLUENCE_API_TOKEN", "dummy"),
        ],
        ..pypi("atlassian", "mcp-atlassian==0.23.1", "mcp-atlassian")
    },
    Public {
        env: &[("NOTION_TOKEN", "ntn_dummy")],
        ..npm("notion", "@notionhq/notion-mcp-server@2.5.2", "notion-mcp-server")
    },
    Public {
        env: &[("FIRECRAWL_API_KEY", "fc-dummy")],
        ..npm("firecrawl", "firecrawl-mcp@3.22.2", "firecrawl-mcp")
    },
    Public {
        arguments: &["--no-usage-statistics"],
        ..npm("chrome-devtools", "chrome-devtools-mcp@1.11.0", "chrome-devtools-mcp")
    },
    Public {
        arguments: &["--access-token", "sbp_0000000000000000000000000000000000000000"],
        ..npm("supabase", "@supabase/mcp-server-supabase@0.13.0", "mcp-server-supabase")
    },
    npm("playwright", "@playwright/mcp@0.0.83", "playwright-mcp"),
    Public {
        env: &[("GITHUB_PERSONAL_ACCESS_TOKEN", "dummy")],
        ..npm("github-npm", "@modelcontextprotocol/server-github@2025.4.8", "mcp-server-github")
    },
    Public {
        arguments: &["."],
        ..npm("filesystem", "@modelcontextprotocol/server-filesystem@2026.8.31", "mcp-server-filesystem")
    },
    Public {
        env: &[("AIRTABLE_API_KEY", "pat000.dummy")],
        ..npm("airtable", "airtable-mcp-server@1.14.0", "airtable-mcp-server")
    },
    pypi("py-git", "mcp-server-git==2026.10.19", "mcp-server-git"),
    npm("context7", "@upstash/context7-mcp@4.1.1", "context7-mcp"),
    npm("memory", "@modelcontextprotocol/server-memory@2026.8.31", "mcp-server-memory"),
    npm("everything", "@modelcontextprotocol/server-everything@2026.8.31", "mcp-server-everything"),
    Public {
        arguments: &["--local-timezone=UTC"],
        ..pypi("py-time", "mcp-server-time==2026.10.19", "mcp-server-time")
    },
];

impl Public {
    /// Its command, installed into the user's cache once.
    fn install(&self) -> Result<PathBuf> {
        let folder = provision::kept_as(
            &format!("servers/{}", self.package.replace(['/', '@', '='], "-")),
            |folder| {
                if self.python {
                    provision::venv(folder, [self.package])
                } else {
                    provision::npm_install(folder, &[self.package])
                }
            },
        )?;
        Ok(folder.join(if self.python { "bin" } else { "node_modules/.bin" }).join(self.command))
    }
}

/// Lists every public server that installs.
pub(super) fn run(cut_off: bool) -> Result {
    let deadweight = test::deadweight()?;
    let mut installed = Vec::new();
    for public in PUBLIC {
        match public.install() {
            Ok(program) => installed.push((public, program)),
            Err(failure) => say(format_args!("{} does not install: {failure}", public.package)),
        }
    }
    if !cut_off
        && let Some(mut again) = fixtures::cut_off(["soak", "servers", "--cut-off"].map(str::to_owned))?
    {
        return shell::run(again.env("DEADWEIGHT_BIN", &deadweight));
    }
    print("server             tools   list, bytes   deferred   saved");
    let mut failed = Vec::new();
    for (public, program) in &installed {
        match one(public, program, &deadweight) {
            Ok(line) => print(line),
            Err(failure) => {
                say(format_args!("{}: {failure}", public.name));
                failed.push(public.name);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("not as it must be: {}", failed.join(", "))))
    }
}

/// A server, bare or behind the proxy with these flags.
fn start(public: &Public, program: &Path, home: &Path, proxy: Option<(&Path, &[&str])>) -> Result<Client> {
    let mut command = match proxy {
        None => Command::new(program),
        Some((deadweight, flags)) => {
            let mut command = Command::new(deadweight);
            command.arg("mcp").args(flags).arg("--").arg(program);
            command
        }
    };
    command.args(public.arguments).env_clear().env("HOME", home).current_dir(home);
    command.env("PATH", std::env::var("PATH").unwrap_or_default()).envs(public.env.iter().copied());
    // Clients that only pass some variables on would be asked for these in their settings.
    let mut client = Client::start(&mut command).context("it does not start")?;
    client.initialize("proof", "1.0").context("it does not begin")?;
    Ok(client)
}

fn leave(mut client: Client, marker: &str) -> Result {
    client.close();
    client
        .ended(Duration::from_secs(20))
        .ok_or_else(|| Failure::new("it does not end when its client leaves"))?;
    match processes::left(marker, Duration::from_secs(10)).as_slice() {
        [] => Ok(()),
        left => Err(Failure::new(format!("processes are left: {left:?}"))),
    }
}

/// One server; a line of the table.
fn one(public: &Public, program: &Path, deadweight: &Path) -> Result<String> {
    let home = std::env::temp_dir().join(format!("deadweight-soak-{}-{}", public.name, std::process::id()));
    fs::create_dir_all(&home)?;
    let marker = program.display().to_string();
    let list = || start(public, program, &home, None)?.definitions().map_err(Failure::from);
    let definitions = match list() {
        Ok(definitions) => definitions,
        Err(failure) => return Ok(format!("{:<18} lists nothing here, bare: {failure}", public.name)),
    };
    let again = list()?;
    let mut eager = start(public, program, &home, Some((deadweight, &["--surface", "eager"])))?;
    let through = eager.definitions()?;
    // A server that writes its list anew at every start, its sets in another order, can only be held to its lengths.
    let lengths = |list: &[String]| list.iter().map(String::len).collect::<Vec<_>>();
    let stable = again == definitions;
    let same = if stable { through == definitions } else { lengths(&through) == lengths(&definitions) };
    if !same {
        return Err(Failure::new("the eager list has other bytes than the server's own"));
    }
    leave(eager, &marker)?;
    let mut stubs =
        start(public, program, &home, Some((deadweight, &["--surface", "stubs", "--schema-budget", "0"])))?;
    let shown = stubs.definitions()?;
    let names = names(&definitions)?;
    let shown_names: Vec<String> = self::names(&shown)?;
    let missing: Vec<&String> = names.iter().filter(|name| !shown_names.contains(name)).collect();
    if !missing.is_empty() {
        return Err(Failure::new(format!("deferred, these are not shown: {missing:?}")));
    }
    let deferred: Vec<(&String, &String)> =
        names.iter().zip(&definitions).filter(|(_, definition)| !shown.contains(definition)).collect();
    for (name, definition) in &deferred {
        load(&mut stubs, name, definition)?;
    }
    leave(stubs, &marker)?;
    fs::remove_dir_all(&home)?;
    let bytes = |list: &[String]| list.iter().map(|definition| definition.len() + 1).sum::<usize>() + 1;
    let (before, after) = (bytes(&definitions), bytes(&shown));
    let saved = 100.0 * (before as f64 - after as f64) / before as f64;
    let remark = if stable { "" } else { "   (its own list differs from start to start)" };
    Ok(format!("{:<18} {:>5} {before:>13} {after:>10} {saved:>5.1} %{remark}", public.name, names.len()))
}

/// Loads one tool, whose schema must come as the server has it.
fn load(client: &mut Client, name: &str, definition: &str) -> Result {
    let answer = client.call("load_tool_schemas", &json!({ "tools": [name] }))?;
    let mut text = String::new();
    for content in answer["result"]["content"].as_array().into_iter().flatten() {
        text.push_str(content["text"].as_str().unwrap_or_default());
    }
    let schema = &serde_json::from_str::<Value>(definition)?["inputSchema"];
    let properties = schema["properties"].as_object().into_iter().flatten();
    let absent: Vec<&String> =
        properties.map(|(name, _)| name).filter(|name| !text.contains(name.as_str())).collect();
    if answer["result"]["isError"] == true || !text.contains(name) || !absent.is_empty() {
        return Err(Failure::new(format!("a load of {name} brings no {absent:?}: {answer}")));
    }
    Ok(())
}

fn names(definitions: &[String]) -> Result<Vec<String>> {
    definitions
        .iter()
        .map(|definition| {
            let definition: Value = serde_json::from_str(definition)?;
            definition["name"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| Failure::new("a tool without a name"))
        })
        .collect()
}
