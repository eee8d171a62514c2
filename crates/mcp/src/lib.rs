//! MCP servers as deadweight needs them: raw bytes, every page, both eras.
