//! Serves the dashboard of a made-up fortnight, or of the ledger that is named, to be looked at.
#![allow(clippy::print_stdout, reason = "it is a program")]

#[path = "../tests/sample/mod.rs"]
mod sample;
#[path = "../tests/sample/serve.rs"]
mod serve;

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let named = std::env::args_os().nth(1).map(PathBuf::from);
    let made_up = std::env::temp_dir().join(format!("deadweight-pages-{}.sqlite", std::process::id()));
    let address = match &named {
        Some(file) => serve::serve(file, || {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
            u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
        })?,
        None => {
            sample::fill(&made_up);
            serve::serve(&made_up, || sample::NOW)?
        }
    };
    println!("{address}/deadweight/");
    loop {
        std::thread::park();
    }
}
