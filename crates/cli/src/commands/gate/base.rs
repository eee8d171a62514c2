//! `--base`: the committed lock against an earlier one. No server is started.

use super::file::LockFile;
use super::{broken, output, settle};
use crate::args::Gate;
use crate::exit::{Exit, Trouble, note};
use deadweight_gate::compare;
use std::path::Path;
use std::process::{Command, Output};

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
    let earlier =
        deadweight_lock::read(&text).map_err(|error| broken(Path::new(&place(args, base)), &error))?;
    let estimator = super::estimator(&lock.estimator, file, args)?;
    output::report(args, &compare(&earlier, lock, &*estimator), &[])
}

/// What the earlier lock is called: a file, git's `REV:PATH`, or this lock at a revision.
fn place(args: &Gate, base: &str) -> String {
    if Path::new(base).is_file() || base.contains(':') {
        base.to_owned()
    } else {
        format!("{base}:{}", args.lock.display())
    }
}

/// The text of the earlier lock; `None` when the revision exists and has none.
fn earlier(args: &Gate, base: &str) -> Result<Option<String>, Trouble> {
    let path = Path::new(base);
    if path.is_file() {
        return deadweight_mcp::file::text(path, crate::target::file::LARGEST_LOCK).map(Some).map_err(
            |error| {
                Trouble::unmeasured("the base could not be read")
                    .at("base", base)
                    .at("system", error.to_string())
            },
        );
    }
    // A link is followed: git would show where it points to.
    let real = std::fs::canonicalize(&args.lock).unwrap_or_else(|_| args.lock.clone());
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let git = Git { folder, base };
    // As git itself words it, `REV:PATH` names a lock that lay elsewhere.
    if base.contains(':') {
        return git.text(base).map(Some);
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let commit = match git.commit(base)? {
        Ok(commit) => commit,
        Err(said) => return Err(Trouble::unmeasured(format!("`{base}` is neither a file nor a revision that git knows here"))
            .at("in", folder.display().to_string())
            .said(said)
            .attempt("fetch the history first (actions/checkout: fetch-depth: 0), or name the lock of the base as a file")),
    };
    if git.run(&["ls-tree", "--name-only", &commit, "--", &name])?.stdout.is_empty() {
        return match git.moved(&commit, &name)? {
            Some(old) => git.text(&format!("{commit}:{old}")).map(Some),
            None => Ok(None),
        };
    }
    git.text(&format!("{commit}:./{name}")).map(Some)
}

/// git, in the folder of the lock.
struct Git<'a> {
    folder: &'a Path,
    base: &'a str,
}

impl Git<'_> {
    fn run(&self, arguments: &[&str]) -> Result<Output, Trouble> {
        let mut git = Command::new("git");
        for name in deadweight_mcp::OWN_SECRETS {
            git.env_remove(name);
        }
        git.arg("-C").arg(self.folder).args(arguments).output().map_err(|error| {
            Trouble::unmeasured("git could not be started, and the base is no file")
                .at("base", self.base)
                .at("system", error.to_string())
                .attempt("install git, or name a file with --base")
        })
    }

    /// The commit of a revision, or what git says about it. `--end-of-options`: one that begins with a dash is no option.
    fn commit(&self, revision: &str) -> Result<Result<String, String>, Trouble> {
        let revision = format!("{revision}^{{commit}}");
        let known = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        Ok(if known.status.success() { Ok(text(&known.stdout)) } else { Err(text(&known.stderr)) })
    }

    /// The path, from the root of the repository, that the lock had at `commit` if it was moved since. A lock
    /// that moves is not a first lock: what rose with the move says why.
    fn moved(&self, commit: &str, name: &str) -> Result<Option<String>, Trouble> {
        let prefix = self.run(&["rev-parse", "--show-prefix"])?;
        let here =
            format!("{}{name}", String::from_utf8_lossy(&prefix.stdout).trim_end_matches(['\r', '\n']));
        let renames = self.run(&[
            "diff",
            "--no-relative",
            "--name-status",
            "--find-renames=30%",
            "--diff-filter=R",
            "-z",
            commit,
        ])?;
        let text = String::from_utf8_lossy(&renames.stdout);
        let mut parts = text.split('\0');
        while let (Some(_), Some(old), Some(new)) = (parts.next(), parts.next(), parts.next()) {
            if new == here {
                return Ok(Some(old.to_owned()));
            }
        }
        Ok(None)
    }

    /// The text of a file at a revision, as it is stored.
    fn text(&self, object: &str) -> Result<String, Trouble> {
        let known = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", object])?;
        let id = String::from_utf8_lossy(&known.stdout).trim().to_owned();
        let shown = if known.status.success() { self.run(&["cat-file", "blob", &id])? } else { known };
        if !shown.status.success() {
            let said = String::from_utf8_lossy(&shown.stderr).trim().to_owned();
            return Err(Trouble::unmeasured("git has no lock there")
                .at("base", self.base)
                .said(said)
                .attempt("name a revision, REV:PATH, or the lock of the base as a file"));
        }
        String::from_utf8(shown.stdout)
            .map_err(|_| Trouble::unmeasured("the lock of the base is not UTF-8").at("base", self.base))
    }
}
