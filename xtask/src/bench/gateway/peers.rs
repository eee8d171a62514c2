//! Who is measured: nobody, the least that can be done, us, and others; started, asked where they listen, and ended.

use super::load::Door;
use crate::shell::{self, cargo, command};
use crate::{Context, Failure, Result, provision};

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use deadweight_testkit::processes;

/// The others, as the registries have them.
const FROM_PYPI: [(&str, &str); 2] =
    [("litellm", "litellm[proxy]==1.82.0"), ("mitmproxy", "mitmproxy==11.0.2")];
/// Portkey's gateway adds headers to what it streams. The releases of its server library since 1.14.2 hand it the provider's
/// own, which cannot be changed: every stream then ends in a 500. It asks for "1.3.3 or later", so that with what npm chooses
/// today it streams nothing; with this one it does.
const FROM_NPM: &str = r#"{
  "private": true,
  "dependencies": { "@portkey-ai/gateway": "1.15.2" },
  "overrides": { "@hono/node-server": "1.13.8" }
}"#;
/// lean-ctx has a proxy that shortens what tools answered. It is built as cargo builds it for everybody, which takes a while
/// the first time.
const FROM_CRATES: (&str, &str) = ("lean-ctx", "3.12.0");

/// Who.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Nobody,
    Bare,
    Deadweight,
    Portkey,
    Litellm,
    Mitmproxy,
    LeanCtx,
}

pub(super) const ALL: [(Who, &str); 7] = [
    (Who::Nobody, "nobody between"),
    (Who::Bare, "a bare hyper relay"),
    (Who::Deadweight, "deadweight gateway"),
    (Who::Portkey, "Portkey's gateway"),
    (Who::Litellm, "LiteLLM's proxy"),
    (Who::Mitmproxy, "mitmproxy"),
    (Who::LeanCtx, "lean-ctx's proxy"),
];

impl Who {
    pub(super) const fn is_other(self) -> bool {
        matches!(self, Self::Portkey | Self::Litellm | Self::Mitmproxy | Self::LeanCtx)
    }
}

/// The programs of a run.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) deadweight: PathBuf,
    pub(super) bare: PathBuf,
    pub(super) scratch: PathBuf,
}

/// A program that runs in front of the provider.
pub(super) struct Peer {
    pub(super) door: Door,
    child: Option<Child>,
}

impl Peer {
    /// Its processes.
    fn processes(&self) -> Vec<u32> {
        self.child.as_ref().map_or_else(Vec::new, |child| {
            std::iter::once(child.id()).chain(processes::below(child.id())).collect()
        })
    }

    /// The processor time that it has used, in ticks of a hundredth of a second.
    pub(super) fn ticks(&self) -> u64 {
        self.processes().into_iter().map(processes::ticks).sum()
    }

    /// The memory that it holds now, in bytes.
    pub(super) fn resident(&self) -> u64 {
        self.processes().into_iter().map(processes::resident).sum()
    }

    /// The most memory that it has held, in bytes.
    pub(super) fn most_resident(&self) -> u64 {
        self.processes().into_iter().map(processes::most_resident).sum()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let below: Vec<u32> = self.processes().into_iter().skip(1).collect();
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Only what this one started.
        for id in below {
            let _ = Command::new("kill").arg(id.to_string()).stderr(Stdio::null()).status();
        }
    }
}

/// Starts one of them in front of `upstream`.
pub(super) fn start(who: Who, programs: &Programs, upstream: SocketAddr) -> Result<Peer> {
    let plain = |address| Door { address, path: "/v1/messages".to_owned(), headers: key() };
    match who {
        Who::Nobody => Ok(Peer { door: plain(upstream), child: None }),
        Who::Bare => {
            let mut bare = Command::new(&programs.bare);
            said(bare.arg(format!("http://{upstream}")), |line| line.trim().to_owned(), plain)
        }
        Who::Deadweight => {
            let ledger = programs.scratch.join(format!("ledger-{}.sqlite", free()?.port()));
            let mut gateway = Command::new(&programs.deadweight);
            gateway.args(["gateway", "--listen", "127.0.0.1:0", "--json", "--quiet", "--ledger"]).arg(ledger);
            // The bodies of this bench set no breakpoint; a lever would, and they are to arrive as they were sent.
            gateway.args(["--profile", "faithful"]);
            gateway.arg("--upstream").arg(format!("anthropic=http://{upstream}"));
            gateway.env("HOME", &programs.scratch).env("NO_PROXY", "*").current_dir(&programs.scratch);
            let url = |line: &str| {
                let ready: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                ready["url"].as_str().unwrap_or_default().to_owned()
            };
            said(&mut gateway, url, plain)
        }
        Who::Portkey => {
            let folder = provision::kept_as("bench-portkey-1.15.2-1.13.8", |folder| {
                fs::write(folder.join("package.json"), FROM_NPM)?;
                let mut npm = command("npm");
                npm.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]).arg(folder);
                shell::run(&mut npm)
            })?;
            let address = free()?;
            let script = folder.join("node_modules/@portkey-ai/gateway/build/start-server.js");
            let mut node = Command::new("node");
            node.arg(script).arg(format!("--port={}", address.port())).arg("--headless");
            node.env("TRUSTED_CUSTOM_HOSTS", "127.0.0.1,localhost");
            let headers = format!(
                "{}x-portkey-provider: anthropic\r\nx-portkey-custom-host: http://{upstream}/v1\r\n",
                key()
            );
            listens(&mut node, Door { address, path: "/v1/messages".to_owned(), headers })
        }
        Who::Litellm => {
            let folder = python("litellm")?;
            let address = free()?;
            let file = programs.scratch.join("litellm.yaml");
            fs::write(
                &file,
                format!(
                    "model_list:\n  - model_name: claude-opus-4-8\n    litellm_params:\n      model: anthropic/claude-opus-4-8\n      api_base: http://{upstream}\n      api_key: sk-ant-x\n"
                ),
            )?;
            let mut litellm = Command::new(folder.join("bin/litellm"));
            litellm.arg("--config").arg(file).args([
                "--host",
                "127.0.0.1",
                "--port",
                &address.port().to_string(),
            ]);
            litellm.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_LOG", "ERROR");
            litellm.env("PATH", path_with(&folder.join("bin")));
            listens(&mut litellm, plain(address))
        }
        Who::Mitmproxy => {
            let folder = python("mitmproxy")?;
            let address = free()?;
            let mut mitmdump = Command::new(folder.join("bin/mitmdump"));
            mitmdump.args(["--quiet", "--mode"]).arg(format!("reverse:http://{upstream}"));
            mitmdump.args(["--listen-host", "127.0.0.1", "--listen-port", &address.port().to_string()]);
            mitmdump.arg("--set").arg(format!("confdir={}", programs.scratch.display()));
            listens(&mut mitmdump, plain(address))
        }
        Who::LeanCtx => {
            let (package, version) = FROM_CRATES;
            let folder = provision::kept_as(&format!("bench-{package}-{version}"), |folder| {
                let mut install = cargo();
                // Its own build folder is a temporary one: it shares nothing with the workspace.
                install.env_remove("CARGO_TARGET_DIR").args(["install", "--locked", "--quiet"]);
                shell::run(install.args(["--version", version, "--root"]).arg(folder).arg(package))
            })?;
            let address = free()?;
            let mut proxy = Command::new(folder.join("bin/lean-ctx"));
            proxy.args(["proxy", "start"]).arg(format!("--port={}", address.port()));
            proxy.env("LEAN_CTX_ANTHROPIC_UPSTREAM", format!("http://{upstream}"));
            // What it writes stays here, and it asks nobody for anything.
            for name in ["LEAN_CTX_DATA_DIR", "LEAN_CTX_CONFIG_DIR"] {
                proxy.env(name, programs.scratch.join("lean-ctx"));
            }
            proxy.env("HOME", &programs.scratch).current_dir(&programs.scratch);
            proxy.env("DO_NOT_TRACK", "1").env("LEAN_CTX_TELEMETRY", "0");
            proxy.env("LEAN_CTX_NO_UPDATE_CHECK", "1").env("LEAN_CTX_LIVE_PRICING", "off");
            listens(&mut proxy, plain(address))
        }
    }
}

fn key() -> String {
    "x-api-key: sk-ant-x\r\nanthropic-version: 2023-06-01\r\n".to_owned()
}

fn path_with(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// A folder with a package of PyPI, each in its own: they want different releases of the same things.
fn python(name: &str) -> Result<PathBuf> {
    let package = FROM_PYPI.iter().find(|(own, _)| *own == name).map(|(_, package)| *package);
    let package = package.ok_or_else(|| Failure::new(format!("no package {name}")))?;
    let key: String =
        package.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    provision::kept_as(&format!("bench-{key}"), |folder| {
        shell::run(command("python3").args(["-m", "venv"]).arg(folder))?;
        let mut pip = command(folder.join("bin/pip"));
        shell::run(pip.args(["install", "--quiet", "--disable-pip-version-check", package]))
    })
}

/// An address that nobody listens on, for programs that do not choose one themselves.
fn free() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Starts a program that says in its first line where it listens.
fn said(
    command: &mut Command,
    url: impl Fn(&str) -> String,
    door: impl Fn(SocketAddr) -> Door,
) -> Result<Peer> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let out = child.stdout.take().ok_or_else(|| Failure::new("it has no output"))?;
    let mut peer = Peer { door: door(SocketAddr::from(([127, 0, 0, 1], 0))), child: Some(child) };
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let url = url(&line);
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    peer.door = door(address.parse().context(format_args!("it said `{}`", line.trim()))?);
    Ok(peer)
}

/// Starts a program that was told where to listen, and waits until it does.
fn listens(command: &mut Command, door: Door) -> Result<Peer> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peer = Peer { door, child: Some(child) };
    let until = Instant::now() + Duration::from_secs(90);
    while TcpStream::connect(peer.door.address).is_err() {
        if let Some(child) = &mut peer.child
            && let Some(status) = child.try_wait()?
        {
            return Err(Failure::new(format!("it ended with {status}")));
        }
        if Instant::now() > until {
            return Err(Failure::new("it does not listen after 90 s"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(peer)
}
