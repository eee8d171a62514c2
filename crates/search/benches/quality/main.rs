//! How well tools are found, and how fast: recall and mean reciprocal rank on public sets of requests, the curve of
//! abstention, and time and memory at 10,000 tools; by words, and with the model that `DEADWEIGHT_MODEL` names. Run by `cargo xtask bench search`; `--check` fails when a bar is
//! missed.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and says what is wrong by failing"
)]

#[path = "../../tests/sets/mod.rs"]
mod sets;

mod abstention;
mod finder;
mod recall;
mod speed;

use finder::Finder;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo runs benches as tests, too; there is nothing to test here.
    if arguments.iter().any(|argument| argument == "--test")
        || !arguments.iter().any(|argument| argument == "--bench")
    {
        return;
    }
    let mut held = true;
    match sets::read() {
        Some(sets) => {
            for finder in std::iter::once(Finder::words()).chain(Finder::with_model(&sets)) {
                held &= recall::run(&sets, &finder);
                held &= abstention::run(&sets, &finder);
            }
        }
        None => println!(
            "the sets of requests are not there ({}): recall is not measured",
            sets::folder().display()
        ),
    }
    held &= speed::run();
    if arguments.iter().any(|argument| argument == "--check") && !held {
        std::process::exit(1);
    }
}

/// `holds` or `MISSES`, for a table.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSES" }
}
