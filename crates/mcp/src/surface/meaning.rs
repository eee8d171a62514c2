//! A second opinion on which tool is meant, by a model of meaning that whoever serves may bring along.

use super::Surface;
use deadweight_search::{Answer, Index, Second, Tool as Indexed};
use std::fmt;
use std::sync::Arc;

/// What tools and requests mean. It may not know yet; then tools are found by their words alone.
pub trait Meaning: fmt::Debug + Send + Sync {
    /// Is told the texts of every tool that requests will be held against. Returns at once.
    fn learn(&self, tools: &[[String; 2]]);

    /// How well each tool fits each part of a request, the numbers of a tool side by side: about 0 for what has nothing to do
    /// with each other, 1 for one and the same. `None` while some of it is not known.
    fn fits(&self, parts: &[String], tools: &[[String; 2]]) -> Option<Vec<f32>>;
}

/// A surface's tools as they are searched.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) index: Index,
    ids: Vec<String>,
    texts: Vec<[String; 2]>,
}

impl Searched {
    /// Of these tools; with texts only where someone asks for their meaning.
    pub(super) fn new(tools: impl Iterator<Item = Indexed>, meaning: Option<&Arc<dyn Meaning>>) -> Self {
        let mut searched = Self { index: Index::new(), ids: Vec::new(), texts: Vec::new() };
        for tool in tools {
            searched.index.add(&tool);
            if meaning.is_some() {
                searched.texts.push(tool.texts());
                searched.ids.push(tool.id);
            }
        }
        if let Some(meaning) = meaning {
            meaning.learn(&searched.texts);
        }
        searched
    }

    /// The tools that fit a request best.
    pub(super) fn search(&self, meaning: Option<&Arc<dyn Meaning>>, request: &str, limit: usize) -> Answer {
        let fits = meaning.and_then(|meaning| meaning.fits(&self.index.parts(request), &self.texts));
        let Some(fits) = fits else { return self.index.search(request, limit) };
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        let second = Second { ids: &ids, fits: &fits, share: Second::SHARE };
        self.index.search_with(request, limit, Some(&second))
    }
}

impl Surface {
    /// The same, with a second opinion when it is searched.
    #[must_use]
    pub fn with_meaning(mut self, meaning: Option<Arc<dyn Meaning>>) -> Self {
        self.meaning = meaning;
        self
    }

    /// The tools that can be called and fit a request best, those of one server or of all.
    pub fn rank(&self, server: Option<usize>, request: &str, limit: usize) -> Answer {
        let meaning = self.meaning.as_ref();
        match server {
            // Among the hits of all servers those of one may come late, or not at all.
            Some(_) => self.searched_of(server).search(meaning, request, limit),
            None => self.searched().search(meaning, request, limit),
        }
    }
}
