//! An MCP server on standard streams that does what its command line says.

fn main() -> std::process::ExitCode {
    deadweight_testkit::scripted_mcp::stdio::main()
}
