//! The verdict, printed.

use crate::args::{Gate, GateFormat};
use crate::exit::{self, Exit, Trouble};
use crate::render::gate::{self as text, Fix};
use crate::settings::{self, Screen};
use crate::target::gather;
use deadweight_estimate::Estimator;
use deadweight_gate::{Reason, Report, Update, Verdict, compare, format};
use deadweight_lock::Lock;
use deadweight_mcp::harmless::word;
use std::io::Write;
use std::path::Path;

/// The id of the JSON that an update prints.
const UPDATE_SCHEMA: &str = "deadweight/gate-update/1";

/// Prints a report in the form that was asked for, and says how the command ends.
pub(super) fn report(args: &Gate, report: &Report, troubles: &[Trouble]) -> Result<Exit, Trouble> {
    let lock = args.lock.display().to_string();
    let fix = fix(args, report);
    let command = fix.as_ref().map(|fix| fix.text.clone());
    let out = match args.format() {
        GateFormat::Text => text::report(report, &lock, fix.as_ref(), args.global.quiet, Screen::of_stdout()),
        GateFormat::Json => crate::render::json::text(report, false),
        GateFormat::Markdown => format::markdown(report, command.as_deref()),
        GateFormat::Sarif => format::sarif(report, &in_repository(args), env!("CARGO_PKG_VERSION")),
        GateFormat::Junit => format::junit(report),
        GateFormat::Github => format::github(report, &in_repository(args)),
    };
    if args.format() == GateFormat::Text {
        exit::print_told(&out)?;
        in_actions(args, report, command.as_deref())?;
    } else {
        exit::print(&out)?;
    }
    troubles.iter().for_each(Trouble::print);
    Ok(match report.verdict {
        Verdict::Holds => Exit::Done,
        Verdict::Refused => Exit::Refused,
        Verdict::Unmeasured => Exit::Unmeasured,
    })
}

/// Prints, as JSON, that there is no report and why.
pub(super) fn error(args: &Gate, trouble: &Trouble) -> Result<(), Trouble> {
    let verdict = if trouble.exit == Exit::Refused { Verdict::Refused } else { Verdict::Unmeasured };
    let lock = args.lock.display().to_string();
    let value = if args.update {
        serde_json::json!({
            "schema": UPDATE_SCHEMA, "lock": lock, "written": false, "error": trouble.json(),
        })
    } else {
        serde_json::json!({
            "schema": deadweight_gate::SCHEMA, "verdict": verdict, "lock": lock, "error": trouble.json(),
        })
    };
    exit::print(&crate::render::json::text(&value, false))
}

/// In GitHub Actions annotations and the step summary come by themselves.
fn in_actions(args: &Gate, report: &Report, fix: Option<&str>) -> Result<(), Trouble> {
    let Some(actions) = settings::github_actions() else { return Ok(()) };
    exit::print(&format::github(report, &in_repository(args)))?;
    if let Some(summary) = actions.summary {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&summary);
        let text = format::markdown(report, fix);
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            exit::note(&format!("the step summary could not be written: {error}"));
        }
    }
    Ok(())
}

/// The lock's path as the repository has it: what annotations and SARIF name. Outside of Actions the command
/// is taken to be run at the root.
fn in_repository(args: &Gate) -> String {
    let known = settings::github_actions().and_then(|actions| actions.in_repository(&args.lock));
    known.unwrap_or_else(|| {
        let directory = args.global.directory.as_deref().unwrap_or(Path::new(""));
        directory.join(&args.lock).display().to_string().replace('\\', "/")
    })
}

/// Shows a person what an update would have moved, had it a reason.
pub(super) fn unwritten(
    args: &Gate,
    old: &Lock,
    update: &Update,
    estimator: &dyn Estimator,
) -> Result<(), Trouble> {
    if args.format() == GateFormat::Text && !args.global.quiet {
        let movement = compare(old, &update.lock, estimator);
        if let Some(table) = text::movements(&movement, Screen::of_stdout()) {
            exit::print_told(&table)?;
        }
    }
    Ok(())
}

/// Says what an update wrote.
pub(super) fn updated(
    args: &Gate,
    old: Option<&Lock>,
    update: &Update,
    changed: bool,
    estimator: &dyn Estimator,
) -> Result<Exit, Trouble> {
    let empty = Lock::new(update.lock.estimator.clone(), update.lock.basis.clone());
    let movement = compare(old.unwrap_or(&empty), &update.lock, estimator);
    let lock = args.lock.display().to_string();
    let out = match args.format() {
        GateFormat::Text => text::updated(&movement, &lock, changed, args.global.quiet, Screen::of_stdout()),
        GateFormat::Json => {
            let value = serde_json::json!({
                "schema": UPDATE_SCHEMA,
                "lock": lock,
                "written": changed,
                "raised": update.raised,
                "tools": movement.tools,
                "texts": movement.texts,
            });
            crate::render::json::text(&value, false)
        }
        GateFormat::Markdown | GateFormat::Sarif | GateFormat::Junit | GateFormat::Github => {
            return Err(Trouble::usage("--update reports in text or JSON").attempt("leave out --format"));
        }
    };
    if args.format() == GateFormat::Text {
        exit::print_told(&out)?
    } else {
        exit::print(&out)?
    }
    Ok(Exit::Done)
}

/// What accepts what was found: one thing to do, for the first refusal that has one.
fn fix(args: &Gate, report: &Report) -> Option<Fix> {
    if report.verdict == Verdict::Unmeasured {
        let unasked = report.failures.iter().any(|failure| failure.reason == deadweight_gate::NOT_ASKED);
        return unasked.then(|| Fix {
            lead: "Ask every server of the lock, give yours its label of the lock, or narrow the run:",
            text: format!("{} (or --name LABEL)", words(args, &["--only", "LABEL"])),
        });
    }
    if report.verdict != Verdict::Refused {
        return None;
    }
    let reasons: Vec<Reason> = report.refusals().filter_map(|check| check.reason).collect();
    if args.base.is_some() {
        let told = "reason = \"WHY\"".to_owned();
        return reasons.contains(&Reason::RaiseWithoutCause).then_some(Fix {
            lead: "If the raise is wanted, say why: --update with --reason does, or beside the entry",
            text: told,
        });
    }
    if reasons.contains(&Reason::BasisMismatch) {
        let text = words(args, &["--update"]);
        return Some(Fix { lead: "To price the lock anew on this basis:", text });
    }
    for (reason, key) in [
        (Reason::CeilingExceeded, "ceiling_tokens"),
        (Reason::ToolTooLarge, "max_tool_tokens"),
        (Reason::ToolCountExceeded, "max_tools"),
    ] {
        let over = report.refusals().filter(|check| check.reason == Some(reason));
        if let Some(most) = over.filter_map(|check| check.measured).max() {
            let text = format!("{key} = {{ limit = {most}, reason = \"WHY\" }}");
            return Some(Fix { lead: "Carry less, or raise the limit in the lock with its reason:", text });
        }
    }
    Some(if rises(report) || reasons.contains(&Reason::DescBudgetExceeded) {
        Fix { lead: "If this growth is wanted, commit it with its reason:", text: update_command(args) }
    } else if reasons.iter().all(|reason| reason.name().ends_with("_STALE")) {
        Fix { lead: "To bank the reduction, commit what this writes:", text: words(args, &["--update"]) }
    } else {
        Fix {
            lead: "To accept what is served now, commit what this writes:",
            text: words(args, &["--update"]),
        }
    })
}

/// Whether an update would be asked for a reason.
fn rises(report: &Report) -> bool {
    use deadweight_gate::Status::{Added, Grew};
    report.tools.iter().chain(&report.texts).any(|movement| matches!(movement.status, Added | Grew))
}

/// The command that re-pins growth.
pub(super) fn update_command(args: &Gate) -> String {
    words(args, &["--update", "--reason", "\"WHY\""])
}

/// The command that makes the first lock.
pub(super) fn first_command(args: &Gate) -> String {
    words(args, &["--update"])
}

fn words(args: &Gate, own: &[&str]) -> String {
    let mut out = String::from("deadweight gate");
    for word in own {
        out.push(' ');
        out.push_str(word);
    }
    if let Some(directory) = &args.global.directory {
        out.push_str(&format!(" -C {}", word(&directory.to_string_lossy())));
    }
    if args.lock.as_os_str() != deadweight_lock::LOCK_FILE {
        out.push_str(&format!(" --lock {}", word(&args.lock.to_string_lossy())));
    }
    for label in &args.only {
        out.push_str(&format!(" --only {}", word(label)));
    }
    if let Some(estimator) = &args.estimator {
        out.push_str(&format!(" --estimator {estimator}"));
    }
    out.push_str(&gather::written(&args.targets));
    out
}
