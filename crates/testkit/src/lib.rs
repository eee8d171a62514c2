//! Scripted upstreams, scripted MCP servers and fixtures for tests.
