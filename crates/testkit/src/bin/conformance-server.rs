//! The server that the official conformance suites are run against, on standard streams or over HTTP.

fn main() -> std::process::ExitCode {
    deadweight_testkit::conformance::main()
}
