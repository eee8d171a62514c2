//! The account that the requests are made with.

/// What depends on when an account was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Whether thinking that is bound to its prefix is checked although the request does not say so: so for accounts made
    /// since 2026-08-31.
    pub checks_binding: bool,
    /// Whether tool search needs its beta, as on older accounts.
    pub tool_search_needs_beta: bool,
}

impl Account {
    /// An account made today: everything is checked.
    pub const NEW: Self = Self { checks_binding: true, tool_search_needs_beta: false };
    /// An account made before 2026-08-31.
    pub const OLD: Self = Self { checks_binding: false, tool_search_needs_beta: true };
}

impl Default for Account {
    fn default() -> Self {
        Self::NEW
    }
}
