//! A model at work beside everything else: it is opened, and texts are embedded, on a thread of its own.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::ModelError;
use crate::model::Model;
use crate::vector::{Key, Vector};
use crate::vectors::Vectors;

/// How many things are embedded between two looks at what else is asked for.
const TOGETHER: usize = 16;
/// No more wait than this; the rest is asked for again when it is needed.
const WAITING: usize = 100_000;
/// No more of a text is kept while it waits: models read far less.
const LENGTH: usize = 1 << 14;

/// What waits for its vector, in its texts.
type Thing = (Key, Vec<String>);

/// Vectors of texts, made and found in the background. Clones share one model and one thread, which ends with the last
/// of them.
///
/// Nothing that this type does waits for the model, apart from [`of`](Self::of), which embeds a request where it is
/// called, and [`wait`](Self::wait).
#[derive(Debug, Clone)]
pub struct Meanings {
    shared: Arc<Shared>,
    /// Tells the thread that the last clone is gone.
    _alive: Arc<Alive>,
}

/// How far the model is.
#[derive(Debug, Clone)]
pub enum State {
    /// It is being read.
    Opening,
    /// It is there, and so many things are waiting for their vectors.
    Learning(usize),
    /// It is there, and nothing is waiting.
    Ready,
    /// It cannot be used; nothing more will come.
    Failed(Arc<ModelError>),
}

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    model: Option<Arc<Model>>,
    /// What was asked for and is there. The file's vectors are the thread's: nobody else ever waits for a file.
    known: HashMap<Key, Vector>,
    failed: Option<Arc<ModelError>>,
    /// What went wrong with the file of vectors; without it they are in memory only.
    trouble: Option<String>,
    queue: VecDeque<Thing>,
    /// What is in the queue or being embedded.
    asked: HashSet<Key>,
    closed: bool,
}

#[derive(Debug)]
struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl Meanings {
    /// Begins to open the model in `model`, and returns at once. Vectors are kept in `cache`, in a file that belongs to
    /// this model; without it they are made anew each time.
    #[must_use]
    pub fn start(model: &Path, cache: Option<&Path>) -> Self {
        let shared = Arc::new(Shared::default());
        let (model, cache, own) = (model.to_owned(), cache.map(PathBuf::from), Arc::clone(&shared));
        // Without a thread there is no model, and what is searched for is found by its words.
        let started = thread::Builder::new()
            .name("meanings".to_owned())
            .spawn(move || work(&own, &model, cache.as_deref()));
        if let Err(source) = started {
            let path = PathBuf::from("the model's thread");
            shared.lock().failed = Some(Arc::new(ModelError::Unreadable { path, source }));
        }
        Self { _alive: Arc::new(Alive(Arc::clone(&shared))), shared }
    }

    /// Asks for vectors, the first ones first. Each item is one thing in one or several texts: its vector lies between
    /// theirs. What is there or asked for already costs nothing.
    pub fn learn<I, T>(&self, things: I)
    where
        I: IntoIterator,
        I::Item: AsRef<[T]>,
        T: AsRef<str>,
    {
        let things: Vec<(Key, I::Item)> =
            things.into_iter().map(|texts| (Key::of(texts.as_ref()), texts)).collect();
        let mut inner = self.shared.lock();
        for (key, texts) in things {
            let full = inner.queue.len() >= WAITING || inner.failed.is_some();
            let known = inner.known.contains_key(&key);
            if !full && !known && inner.asked.insert(key) {
                inner.queue.push_back((key, texts.as_ref().iter().map(|text| cut(text.as_ref())).collect()));
            }
        }
        drop(inner);
        self.shared.changed.notify_all();
    }

    /// Forgets all vectors but these; the cache keeps them.
    pub fn keep_only(&self, keys: &[Key]) {
        let kept: HashSet<&Key> = keys.iter().collect();
        self.shared.lock().known.retain(|key, _| kept.contains(key));
    }

    /// How far the model is.
    #[must_use]
    pub fn state(&self) -> State {
        let inner = self.shared.lock();
        match (&inner.failed, &inner.model, inner.asked.len()) {
            (Some(error), ..) => State::Failed(Arc::clone(error)),
            (None, None, _) => State::Opening,
            (None, Some(_), 0) => State::Ready,
            (None, Some(_), waiting) => State::Learning(waiting),
        }
    }

    /// Why vectors are not kept in the cache, where that failed.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.shared.lock().trouble.clone()
    }

    /// Waits until all that was asked for is there or the model has failed.
    pub fn wait(&self) {
        let mut inner = self.shared.lock();
        while inner.failed.is_none() && (inner.model.is_none() || !inner.asked.is_empty()) {
            inner = self.shared.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The vectors of requests, embedded here and now; `None` before the model is there.
    #[must_use]
    pub fn of(&self, requests: &[&str]) -> Option<Vec<Vector>> {
        let model = self.shared.lock().model.clone()?;
        Some(model.embed(requests).iter().map(|numbers| Vector::new(numbers)).collect())
    }

    /// How well each thing fits each of some parts of a request: the cosines of a thing side by side, in the order of
    /// `parts`, then those of the next. `None` while some thing has no vector: where only some were compared, the others
    /// would be passed over for no fault of theirs.
    #[must_use]
    pub fn cosines(&self, parts: &[Vector], things: &[Key]) -> Option<Vec<f32>> {
        let inner = self.shared.lock();
        inner.model.as_ref()?;
        let mut cosines = Vec::with_capacity(parts.len() * things.len());
        for key in things {
            let vector = inner.known.get(key)?;
            cosines.extend(parts.iter().map(|part| part.cosine(vector)));
        }
        Some(cosines)
    }
}

/// A text's beginning.
fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LENGTH)].to_owned()
}

impl Shared {
    /// A thread that panicked leaves nothing half done behind.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread: opens the model, then embeds what is asked for until nobody asks any more.
fn work(shared: &Shared, folder: &Path, cache: Option<&Path>) {
    let model = match Model::open(folder) {
        Ok(model) => Arc::new(model),
        Err(error) => {
            let mut inner = shared.lock();
            *inner = Inner { failed: Some(Arc::new(error)), ..Inner::default() };
            drop(inner);
            shared.changed.notify_all();
            return;
        }
    };
    let (mut vectors, trouble) = match cache.map(|cache| Vectors::open(cache, &model)) {
        None => (Vectors::in_memory(&model), None),
        Some(Ok(vectors)) => (vectors, None),
        Some(Err(error)) => (Vectors::in_memory(&model), Some(error.to_string())),
    };
    let mut inner = shared.lock();
    inner.model = Some(Arc::clone(&model));
    inner.trouble = trouble;
    while !inner.closed {
        let batch = inner.take(&vectors);
        if batch.is_empty() {
            shared.changed.notify_all();
            inner = shared.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        drop(inner);
        let texts: Vec<&str> = batch.iter().flat_map(|(_, texts)| texts).map(String::as_str).collect();
        let mut embedded = model.embed(&texts);
        let made: Vec<(Key, Vector)> = batch
            .iter()
            .map(|(key, texts)| (*key, Vector::between(&embedded.drain(..texts.len()).collect::<Vec<_>>())))
            .collect();
        let kept = vectors.add(made.iter().cloned());
        inner = shared.lock();
        for (key, vector) in made {
            inner.asked.remove(&key);
            inner.known.insert(key, vector);
        }
        if let Err(error) = kept {
            inner.trouble = Some(error.to_string());
        }
    }
}

impl Inner {
    /// The next texts to embed. Those before them that the file has are known from here on.
    fn take(&mut self, vectors: &Vectors) -> Vec<Thing> {
        let mut batch = Vec::new();
        while batch.len() < TOGETHER
            && let Some((key, texts)) = self.queue.pop_front()
        {
            match vectors.get(&key) {
                Some(vector) => {
                    self.asked.remove(&key);
                    self.known.insert(key, vector.clone());
                }
                None => batch.push((key, texts)),
            }
        }
        batch
    }
}
