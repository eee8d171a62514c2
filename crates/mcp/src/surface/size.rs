//! What is to be priced of a surface: entries as they would be listed without it, and as they are.

use super::{Access, Surface, Tool};

/// The entries of a surface, as whoever prices tools takes them.
#[derive(Debug, Clone, Default)]
pub struct Lists<'s> {
    /// The definitions as the servers sent them; what is denied is not among them.
    pub before: Vec<&'s [u8]>,
    /// What is listed of them.
    pub after: Vec<&'s [u8]>,
    /// Our own tools that are listed. Those of a single server's surface are all there for its sake; those of an aggregate
    /// are there for all servers together.
    pub own: Vec<&'s [u8]>,
    /// The definitions that a load would answer with.
    pub loadable: Vec<&'s [u8]>,
}

impl Surface {
    /// The entries of all servers, or of one (then without our own tools, where there are other servers).
    pub fn lists(&self, server: Option<usize>) -> Lists<'_> {
        let chosen = |tool: &&Tool| server.is_none_or(|server| tool.server == server);
        let tools = || self.all().map(|(_, tool)| tool).filter(chosen);
        let own = server.is_none() || !self.is_aggregate();
        Lists {
            before: tools()
                .filter(|tool| tool.access != Access::Denied)
                .map(|tool| &*tool.definition)
                .collect(),
            after: tools().filter_map(|tool| tool.entry.as_deref()).collect(),
            own: self.own().iter().filter(|_| own).map(|own| &*own.entry).collect(),
            loadable: tools()
                .filter(|tool| tool.access == Access::Deferred)
                .map(|tool| &*tool.full)
                .collect(),
        }
    }
}
