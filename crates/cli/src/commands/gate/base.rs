//! `--base`: the committed lock against an earlier one. No server is started.

use super::file::LockFile;
use super::{broken, output, settle};
use crate::args::Gate;
use crate::exit::{Exit, Trouble, note};
use deadweight_gate::compare;
use std::path::Path;
use std::process::Command;

pub(super) fn run(args: &Gate, file: &LockFile, base: &str) -> Result<Exit, Trouble> {
    let Some(lock) = file.lock() else { return Err(file.missing(args)) };
    settle(lock, file)?;
    let Some(text) = earlier(args, base)? else {
        if !args.global.quiet {
            note(&format!(
                "{base} has no {}: this lock is the first, and nothing can have risen",
                args.lock.display()
            ));
        }
        return output::report(
            args,
            &compare(lock, lock, &*super::estimator(&lock.estimator, file, args)?),
            &[],
        );
    };
    let earlier = deadweight_lock::read(&text)
        .map_err(|error| broken(Path::new(&format!("{base}:{}", args.lock.display())), &error))?;
    let estimator = super::estimator(&lock.estimator, file, args)?;
    output::report(args, &compare(&earlier, lock, &*estimator), &[])
}

/// The text of the earlier lock; `None` when the revision exists and has none.
fn earlier(args: &Gate, base: &str) -> Result<Option<String>, Trouble> {
    let path = Path::new(base);
    if path.is_file() {
        return std::fs::read_to_string(path).map(Some).map_err(|error| {
            Trouble::unmeasured("the base could not be read").at("base", base).at("system", error.to_string())
        });
    }
    let folder = args.lock.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = args.lock.file_name().unwrap_or_default().to_string_lossy();
    let git = |arguments: &[&str]| {
        Command::new("git").arg("-C").arg(folder).args(arguments).output().map_err(|error| {
            Trouble::unmeasured("git could not be started, and the base is no file")
                .at("base", base)
                .at("system", error.to_string())
                .attempt("install git, or name a file with --base")
        })
    };
    // `--end-of-options`: a revision that begins with a dash is no option.
    let revision = format!("{base}^{{commit}}");
    let known = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])?;
    if !known.status.success() {
        return Err(Trouble::unmeasured(format!("`{base}` is neither a file nor a revision that git knows here"))
            .at("in", folder.display().to_string())
            .attempt("fetch the history first (actions/checkout: fetch-depth: 0), or name the lock of the base as a file"));
    }
    let commit = String::from_utf8_lossy(&known.stdout).trim().to_owned();
    let listed = git(&["ls-tree", "--name-only", &commit, "--", &name])?;
    if listed.stdout.is_empty() {
        return Ok(None);
    }
    let shown = git(&["show", &format!("{commit}:./{name}")])?;
    if !shown.status.success() {
        return Err(Trouble::unmeasured("git could not show the lock of the base")
            .at("base", base)
            .at("git", String::from_utf8_lossy(&shown.stderr).trim().to_owned()));
    }
    String::from_utf8(shown.stdout)
        .map(Some)
        .map_err(|_| Trouble::unmeasured("the lock of the base is not UTF-8").at("base", base))
}
