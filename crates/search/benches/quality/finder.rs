//! Who searches: words alone, or with a model of meaning.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use deadweight_embed::{Key, Meanings, State, Vector};
use deadweight_search::{Answer, Index, Second};

use crate::sets::Set;

/// Searches the way that is measured.
pub(crate) struct Finder {
    meanings: Option<Meanings>,
    /// Parts of requests that were embedded before: each is asked of several catalogues.
    known: RefCell<HashMap<String, Vector>>,
}

impl Finder {
    pub(crate) fn words() -> Self {
        Self { meanings: None, known: RefCell::default() }
    }

    /// With the model whose folder `DEADWEIGHT_MODEL` names, all tools of these sets embedded; kept in
    /// `DEADWEIGHT_VECTORS`.
    pub(crate) fn with_model(sets: &[Set]) -> Option<Self> {
        let model = std::env::var_os("DEADWEIGHT_MODEL").map(PathBuf::from)?;
        let cache = std::env::var_os("DEADWEIGHT_VECTORS").map(PathBuf::from);
        let start = Instant::now();
        let meanings = Meanings::start(Path::new(&model), cache.as_deref());
        meanings.learn(sets.iter().flat_map(|set| set.tools.iter().map(deadweight_search::Tool::texts)));
        meanings.wait();
        if let State::Failed(error) = meanings.state() {
            println!("there is no model: {error}\n");
            return None;
        }
        println!("model and vectors there in {:.1} s", start.elapsed().as_secs_f64());
        let mut times: Vec<f64> = sets[0]
            .requests
            .iter()
            .map(|request| {
                let start = Instant::now();
                std::hint::black_box(meanings.of(&[&request.text]));
                start.elapsed().as_secs_f64() * 1000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "a short request embedded in {:.1} ms (the fastest), {:.1} ms (median)\n",
            times[0],
            times[times.len() / 2]
        );
        Some(Self { meanings: Some(meanings), known: RefCell::default() })
    }

    pub(crate) fn name(&self) -> &'static str {
        if self.meanings.is_some() { "words and meaning" } else { "words" }
    }

    pub(crate) fn has_model(&self) -> bool {
        self.meanings.is_some()
    }

    /// Gets ready for a set's tools.
    pub(crate) fn of<'f>(&'f self, set: &'f Set) -> InSet<'f> {
        InSet {
            finder: self,
            ids: set.tools.iter().map(|tool| tool.id.as_str()).collect(),
            keys: set.tools.iter().map(|tool| Key::of(&tool.texts())).collect(),
        }
    }
}

pub(crate) struct InSet<'f> {
    finder: &'f Finder,
    ids: Vec<&'f str>,
    keys: Vec<Key>,
}

impl InSet<'_> {
    pub(crate) fn search(&self, index: &Index, request: &str, limit: usize) -> Answer {
        let fits = self.finder.meanings.as_ref().and_then(|meanings| {
            let mut known = self.finder.known.borrow_mut();
            let mut parts = Vec::new();
            for part in index.parts(request) {
                if !known.contains_key(&part) {
                    known.insert(part.clone(), meanings.of(&[&part])?.pop()?);
                }
                parts.push(known.get(&part)?.clone());
            }
            meanings.cosines(&parts, &self.keys)
        });
        match fits {
            Some(fits) => {
                let second = Second { ids: &self.ids, fits: &fits, share: Second::SHARE };
                index.search_with(request, limit, Some(&second))
            }
            None => index.search(request, limit),
        }
    }
}
