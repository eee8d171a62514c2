//! The ledger: what was called and carried, on SQLite.
