//! The pages of a list, put together; and how it is seen that they do not end.

use crate::error::Reason;
use crate::listing::{Anomaly, Options};
use crate::message::Page;
use bytes::Bytes;
use std::collections::HashMap;

/// Pages in a row without a new tool after which a list is held to be endless.
const BARREN_PAGES: usize = 64;

/// The pages read so far.
pub(crate) struct Collected {
    max_catalogue_bytes: usize,
    max_pages: usize,
    pub(crate) tools: Vec<Bytes>,
    /// Index of the first tool of each name.
    names: HashMap<String, usize>,
    pub(crate) duplicates: Vec<Anomaly>,
    /// The page that came with each cursor.
    cursors: HashMap<Bytes, usize>,
    pub(crate) pages: usize,
    barren: usize,
    bytes: usize,
}

impl Collected {
    /// No page yet.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            max_catalogue_bytes: options.max_catalogue_bytes,
            max_pages: options.max_pages,
            tools: Vec::new(),
            names: HashMap::new(),
            duplicates: Vec::new(),
            cursors: HashMap::new(),
            pages: 0,
            barren: 0,
            bytes: 0,
        }
    }

    /// Takes a page in and gives the cursor of the next one, or says why the list cannot be right.
    pub(crate) fn add(&mut self, page: Page) -> Result<Option<Bytes>, Reason> {
        self.pages += 1;
        let known = self.names.len();
        self.bytes = self.bytes.saturating_add(page.size);
        for (name, definition) in page.tools {
            let index = self.tools.len();
            self.tools.push(definition);
            let Some(name) = name else { continue };
            match self.names.entry(name) {
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(index);
                }
                std::collections::hash_map::Entry::Occupied(entry) => {
                    let (name, first) = (entry.key().clone(), *entry.get());
                    self.duplicates.push(Anomaly::DuplicateName { name, first, again: index });
                }
            }
        }
        if self.bytes > self.max_catalogue_bytes {
            return Err(Reason::CatalogueTooLarge { limit: self.max_catalogue_bytes });
        }
        let Some(next) = page.next else { return Ok(None) };
        if let Some(first) = self.cursors.insert(next.clone(), self.pages) {
            return Err(Reason::RepeatedCursor { first, again: self.pages });
        }
        self.barren = if self.names.len() > known { 0 } else { self.barren + 1 };
        let nothing_new = self.barren >= BARREN_PAGES;
        if nothing_new || self.pages >= self.max_pages {
            return Err(Reason::EndlessPages { pages: self.pages, tools: self.names.len(), nothing_new });
        }
        Ok(Some(next))
    }
}
