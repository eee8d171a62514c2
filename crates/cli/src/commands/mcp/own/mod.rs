//! `deadweight mcp --own`: the tools that belong to no server.

mod context;
mod restore;

use crate::exit::{Exit, Trouble};
use crate::target::file::system;
use deadweight_mcp::Alone;
use std::io::{self, BufRead, Read, Write};

/// The longest line that is read. Nothing that is meant for these tools comes near.
const LONGEST: u64 = 16 << 20;

/// Serves the client on the standard streams until its input ends.
pub(super) fn run() -> Result<Exit, Trouble> {
    match serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => Ok(Exit::Done),
        // A client that does not read any more is gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => {
            Err(Trouble::unmeasured("the standard streams cannot be used").at("system", system(&error)))
        }
    }
}

fn serve(mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    let mut alone = Alone::new(vec![
        Box::new(context::ContextValue::of_environment()),
        Box::new(restore::Restore::of_settings()),
    ]);
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") && line.len() as u64 == LONGEST {
            // Too long to be looked at; what is left of it is passed over.
            from.skip_until(b'\n')?;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = alone.answer(line.trim_ascii()) {
            to.write_all(&answer)?;
            to.write_all(b"\n")?;
            to.flush()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_one_error() {
        let mut input = vec![b'x'; usize::try_from(LONGEST).unwrap() + 5_000];
        input.extend_from_slice(b"\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let mut output = Vec::new();
        serve(&input[..], &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("-32700"));
        assert_eq!(lines[1], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }
}
