//! The model of meaning that a user names, as the proxy and `mcp search` ask it.

use super::serve;
use deadweight_embed::{Key, Meanings, State};
use deadweight_mcp::config::process_env;
use deadweight_mcp::surface::Meaning;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The model in a folder, opened beside everything else: until it knows all tools, they are found by their words.
pub(super) struct Model {
    meanings: Meanings,
    /// Whether it was told that the model cannot be used.
    told: Mutex<bool>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("meanings", &self.meanings).finish_non_exhaustive()
    }
}

impl Model {
    /// Begins to open the model; its vectors are kept in the user's cache.
    pub(super) fn start(folder: &Path, tell: impl Fn(&str) + Send + Sync + 'static) -> Arc<Self> {
        let cache = serve::cache(&process_env);
        let meanings = Meanings::start(folder, cache.as_deref());
        Arc::new(Self { meanings, told: Mutex::new(false), tell: Box::new(tell) })
    }

    /// Waits until it knows everything it was told of, or cannot be used.
    pub(super) fn wait(&self) {
        self.meanings.wait();
    }
}

impl Meaning for Model {
    fn learn(&self, tools: &[[String; 2]]) {
        self.meanings.learn(tools.to_vec());
    }

    fn fits(&self, parts: &[String], tools: &[[String; 2]]) -> Option<Vec<f32>> {
        if let State::Failed(error) = self.meanings.state() {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if !std::mem::replace(&mut *told, true) {
                (self.tell)(&format!(
                    "the model cannot be used, and tools are found by their words: {error}"
                ));
            }
            return None;
        }
        let keys: Vec<Key> = tools.iter().map(|texts| Key::of(texts)).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let parts = self.meanings.of(&parts)?;
        self.meanings.cosines(&parts, &keys)
    }
}
