//! `deadweight ledger export`.

use super::{none, trouble, wait};
use crate::args::{FormArg, LedgerExport, TableArg};
use crate::exit::{self, Exit, Trouble};
use crate::render::number::count;
use deadweight_store::{Export, ExportError, Form, Ledger, Table, Which, now_ms};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(super) fn run(args: &LedgerExport, file: &Path) -> Result<Exit, Trouble> {
    let since_ms = args.days.map(|days| now_ms().saturating_sub(u64::from(days) * 86_400_000));
    let mut export = Export {
        table: match args.table {
            TableArg::Requests => Table::Exchanges,
            TableArg::Tools => Table::Tools,
            TableArg::Called => Table::Called,
            TableArg::Levers => Table::Levers,
            TableArg::Calls => Table::Calls,
        },
        form: match args.format {
            FormArg::Jsonl => Form::JsonLines,
            FormArg::Csv => Form::Csv,
        },
        which: Which { since_ms, ..Which::default() },
    };
    let mut out: Box<dyn Write> = match &args.output {
        Some(output) => Box::new(BufWriter::new(private(output).map_err(|error| to(output, &error))?)),
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let outcome = wait(async {
        let Some(mut ledger) = Ledger::open(file).await.map_err(trouble)? else { return Err(none(file)) };
        if let (Some(_), TableArg::Calls) = (&args.session, args.table) {
            return Err(Trouble::usage("calls that went through a proxy belong to no session of a gateway")
                .attempt(
                    "leave out --session, or export what requests show to have been called: --table called",
                ));
        }
        if let Some(session) = &args.session {
            let found = ledger.session_that_begins(session).await.map_err(trouble)?;
            export.which.session = Some(found.ok_or_else(|| {
                Trouble::refused(format!(
                    "there is no session, or more than one, whose name begins with `{session}`"
                ))
                .at("ledger", file.display().to_string())
            })?);
        }
        match ledger.export(&export, &mut out).await {
            Ok(lines) => Ok(lines),
            // A reader that has seen enough is no error.
            Err(ExportError::Out(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            Err(ExportError::Out(error)) => {
                Err(to(args.output.as_deref().unwrap_or(Path::new("standard output")), &error))
            }
            Err(ExportError::Ledger(error)) => Err(trouble(error)),
        }
    })?;
    let lines = outcome?;
    if let (Some(output), false) = (&args.output, args.common.global.quiet) {
        exit::note(&format!("{} written to {}", count(lines, "line", "lines"), output.display()));
    }
    Ok(Exit::Done)
}

fn private(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

fn to(file: &Path, error: &io::Error) -> Trouble {
    let error = error.to_string();
    let error = error.split(" (os error").next().unwrap_or_default();
    Trouble::unmeasured(format!("the export could not be written: {error}"))
        .at("to", file.display().to_string())
        .attempt("name a file that may be written to: --output FILE")
}
