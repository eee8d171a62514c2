//! `deadweight ledger export`.

use super::{none, trouble, wait};
use crate::args::{FormArg, LedgerExport, TableArg};
use crate::exit::{self, Exit, Trouble};
use crate::render::number::count;
use deadweight_store::{Export, ExportError, Form, Ledger, Table, Which, now_ms};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::NamedTempFile;

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
        // Only now, when there is something to export, is anything touched.
        let output = args.output.as_deref();
        if let Some(output) = output.filter(|output| is_of(output, file)) {
            return Err(Trouble::usage("the ledger is not exported into itself")
                .at("to", output.display().to_string())
                .attempt("name another file: --output FILE"));
        }
        let mut out =
            Out::open(output).map_err(|error| to(output.unwrap_or(Path::new("standard output")), &error))?;
        let exported = ledger.export(&export, &mut out).await;
        match exported.and_then(|lines| out.done().map(|()| lines).map_err(ExportError::Out)) {
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

/// Whether a path is the ledger, or one of the files that SQLite keeps beside it.
fn is_of(output: &Path, ledger: &Path) -> bool {
    let Ok(output) = output.canonicalize() else { return false };
    let beside = ["-wal", "-shm", "-journal"].map(|end| {
        let mut name = ledger.as_os_str().to_owned();
        name.push(end);
        name.into()
    });
    let own = std::iter::once(ledger.to_owned()).chain(beside);
    own.into_iter().any(|own: std::path::PathBuf| own.canonicalize().is_ok_and(|own| own == output))
}

/// Where an export goes.
enum Out {
    Standard(BufWriter<io::Stdout>),
    /// A file that takes the place of what was there once all of it is written; its owner's alone.
    File(BufWriter<NamedTempFile>, std::path::PathBuf),
    /// A pipe or a device, which is written to as it is.
    Other(BufWriter<File>),
}

impl Out {
    fn open(output: Option<&Path>) -> io::Result<Self> {
        let Some(output) = output else { return Ok(Self::Standard(BufWriter::new(io::stdout()))) };
        // What a link leads to is replaced, not the link.
        let file = output.canonicalize().unwrap_or_else(|_| output.to_owned());
        if file.metadata().is_ok_and(|there| !there.is_file()) {
            return Ok(Self::Other(BufWriter::new(OpenOptions::new().write(true).open(file)?)));
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Self::File(BufWriter::new(NamedTempFile::new_in(folder)?), file))
    }

    fn to(&mut self) -> &mut dyn Write {
        match self {
            Self::Standard(out) => out,
            Self::File(out, _) => out,
            Self::Other(out) => out,
        }
    }

    fn done(mut self) -> io::Result<()> {
        self.to().flush()?;
        match self {
            Self::File(out, file) => {
                let written = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                written.persist(file).map(drop).map_err(|error| error.error)
            }
            Self::Standard(_) | Self::Other(_) => Ok(()),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to().flush()
    }
}

fn to(file: &Path, error: &io::Error) -> Trouble {
    let error = error.to_string();
    let error = error.split(" (os error").next().unwrap_or_default();
    Trouble::unmeasured(format!("the export could not be written: {error}"))
        .at("to", file.display().to_string())
        .attempt("name a file that may be written to: --output FILE")
}
